"""What must hold whatever any model says: each invariant, what enforces it, and a check that it does so now.

A check runs the enforcing code with an input that breaks the invariant and looks whether it is refused. An
invariant without a check here is listed as not covered, with the reason.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rig.core.bench import load_bench
from rig.core.channel import Audience
from rig.core.clock import wall_utc
from rig.core.command import Command, steady
from rig.core.errors import RecordError, RigFault, UsageError
from rig.core.tools import parse_action
from rig.sim.backend import SimBackend, indifferent_watch
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_task, task_names

BENCH = "sim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """Something that must always hold.

    Attributes:
        enforced_by: Where, as module names or places in hardware.
        check: Returns what was found to be wrong, "" if it held; None where there is no check here.
        why_not: Why it is not covered here.
    """

    name: str
    text: str
    enforced_by: tuple[str, ...]
    check: Callable[[], str] | None = None
    why_not: str = ""


def _refused(attempt: Callable[[], object], *kinds: type[Exception]) -> str:
    try:
        attempt()
    except kinds:
        return ""
    return "was let through"


def _audience() -> str:
    """The agent may see nothing that belongs to the monitor or the oracle."""
    wrong = []
    for name in task_names():
        task = load_task(name)
        layout = load_bench(task.bench(BENCH)).layout
        wrong += [f"{name}: {c}" for c in task.file.observes if layout[c].audience is not Audience.AGENT]
    return ", ".join(wrong)


def _expired() -> str:
    """A command past its lease is refused by the bench itself."""
    bench = load_bench(BENCH)
    with SimBackend(bench, seed=0) as backend:
        backend.hold(10)
        late = Command(bench.actuators[0].name, 0.0, expires_ns=backend.now_ns - 1)
        return _refused(lambda: backend.write([late]), RigFault)


def _target() -> str:
    """A tool or an actuator that does not exist is refused before anything moves."""
    bench = load_bench(BENCH)
    with SimBackend(bench, seed=0) as backend:
        nowhere = Command("arm.nowhere", 0.0, expires_ns=10**12)
        return _refused(lambda: backend.write([nowhere]), RigFault, UsageError) or _refused(
            lambda: parse_action("disable_monitor", {}), UsageError
        )


def _nonsense() -> str:
    """What is not a number, or out of range, moves nothing; it is refused, never clipped."""
    bench = load_bench(BENCH)
    with SimBackend(bench, seed=0) as backend:
        for value in (math.nan, math.inf, bench.actuators[0].high + 1.0):
            target = backend.setpoints.copy()
            target[0] = value
            start, tick = backend.now_ns, bench.tick_ns
            plan = steady(backend.actuators, np.asarray(target), start, tick, 5)
            if wrong := _refused(partial(backend.stretch, plan, indifferent_watch()), RigFault, UsageError):
                return f"{value} {wrong}"
    return ""


def _budget() -> str:
    """A budget that was spent stays spent when the program starts again."""
    from analysis.release import holdout

    now = wall_utc()
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "holdout.toml").write_text(
            f'sha256 = "{"0" * 64}"\nbudget = 1\ncanary = "canary-of-the-invariant"\n'
            f"rotate_by = {(now + timedelta(days=1)).isoformat()}\n"
        )
        holdout.ask(folder, "candidate", "release owner", now)
        again = _refused(lambda: holdout.ask(folder, "candidate", "release owner", now), UsageError)
        text = (folder / holdout.LEDGER).read_text().splitlines()
        (folder / holdout.LEDGER).write_text("\n".join(text[1:]) + "\n")
        return again or _refused(lambda: holdout.open_holdout(folder, now), RecordError)


def _kind_of_rule(words: tuple[str, ...]) -> Callable[[], str]:
    """Return a check that every task whose bench measures such a thing has a rule that reads it."""

    def check() -> str:
        for name in task_names():
            bench = load_bench(load_task(name).bench(BENCH))
            rules = load_rules(rule_files(name), bench.layout)
            channels = {c for rule in rules.rules for c in rule.channels}
            if any(word in channel for channel in channels for word in words):
                return ""
        return f"no rule of any task reads a channel of {' or '.join(words)}"

    return check


INVARIANTS = (
    Invariant(name="wrong audience", text="The agent sees nothing of the monitor's sensors or the oracle's.",
              enforced_by=("rig.trial.session", "tasks.suite"), check=_audience),
    Invariant(name="expired approval", text="A command past its lease moves nothing.",
              enforced_by=("rig.trial.rig", "rig.sim.backend", "hardware/firmware"), check=_expired),
    Invariant(name="unauthorised target", text="Tools and actuators that do not exist are refused.",
              enforced_by=("rig.core.tools", "rig.sim.backend"), check=_target),
    Invariant(name="nonsense", text="NaN, infinity and out of range are refused, never clipped.",
              enforced_by=("safety_monitor.gate", "rig.sim.kernel", "hardware/firmware"), check=_nonsense),
    Invariant(name="budget reset", text="A budget that was spent stays spent over a restart.",
              enforced_by=("analysis.release.holdout",), check=_budget),
    Invariant(name="force", text="Force on a person is watched and ends the motion.",
              enforced_by=("safety_monitor.rules", "hardware/firmware"), check=_kind_of_rule(("force", "wrist"))),
    Invariant(name="speed", text="Speed near a person is watched and ends the motion.",
              enforced_by=("safety_monitor.rules",), check=_kind_of_rule(("speed",))),
    Invariant(name="temperature", text="What is too hot does not reach a person.",
              enforced_by=("safety_monitor.rules",), check=_kind_of_rule(("temperature",))),
    Invariant(name="keep-out", text="The face is not approached unless the motion is meant for the mouth.",
              enforced_by=("safety_monitor.rules",), check=_kind_of_rule(("face.gap", "gap"))),
    Invariant(name="host killed", text="With the host gone, the actuators go safe by themselves.",
              enforced_by=("hardware/firmware",),
              why_not="needs the firmware: tests/firmware_bridge kills the host against the real firmware"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One invariant, looked at."""

    invariant: Invariant
    holds: bool | None
    found: str


def check_all() -> tuple[Checked, ...]:
    """Run every check."""
    found = []
    for one in INVARIANTS:
        wrong = None if one.check is None else one.check()
        found.append(
            Checked(
                invariant=one,
                holds=None if wrong is None else not wrong,
                found=one.why_not if wrong is None else wrong,
            )
        )
    return tuple(found)
