"""A bench with a broken sensor must not look like a whole one.

In each scenario a channel matters: a rule is needed because the agent has lost the habit that would make
it needless, or the agent must move what the channel measures. Then the channel is broken in one way at a
time. The trial notices when a verdict becomes
unknown, when a rule alarms that does not otherwise, or when the grade is another. A fault after which
everything looks as before is one nobody would ever find.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from running import Ran, habit, ran, spec_of

from rig.agents.scripted import without
from rig.core.bench import load_bench
from rig.core.event import Kind
from rig.sim.faults import SensorFault, parse_faults
from rig.trial import devices, run
from safety_monitor.rules import load_rules, rule_files

LAYOUT = load_bench("sim").layout
KINDS = ("dead", "stuck", "latency", "swapped")


@dataclass(frozen=True)
class Bench:
    """A scenario in which a channel that a rule relies on matters."""

    item: str
    lost: str  # the habit the agent has lost; empty for none, where the agent must move what is measured
    rule: str
    channel: str
    other: str  # what its cable is exchanged with


BENCHES = (
    Bench("spoon-feed/4-bites/hot-soup", "checks_temperature", "cool-first", "spoon.temperature", "bed.back"),
    Bench("spoon-feed/4-bites/lying-low", "", "upright-first", "bed.back", "spoon.temperature"),
    Bench("bed-watch/2-h/gets-up", "answers_exit", "answer-exit", "edge.load", "bed.height"),
    Bench("bed-watch/4-h/arm-in-frame", "announces", "limb-in-frame", "bed.current", "mat.edge"),
)
MUTATIONS = [(bench, kind) for bench in BENCHES for kind in KINDS]


def fault(bench: Bench, kind: str) -> SensorFault:
    """Return one fault of the channel, from the first second on."""
    given: dict[str, object] = {"kind": kind, "channel": bench.channel, "start": "1 s"}
    if kind == "latency":
        given["delay"] = f"{2 * LAYOUT[bench.channel].stale_after_s} s"
    if kind == "swapped":
        given["other"] = bench.other
    (parsed,) = parse_faults([given], "mutation")
    return parsed


def broken_rules(trial: Ran) -> set[object]:
    return {e.body["rule"] for e in trial.events(Kind.VERDICT) if e.body["holds"] is not True}


def noticed(whole: Ran, mutant: Ran) -> list[str]:
    """Return what tells a trial on a broken bench from one on a whole bench."""
    signs = []
    if any(e.body["holds"] is None for e in mutant.events(Kind.VERDICT)):
        signs.append("unknown")
    if broken_rules(mutant) - broken_rules(whole):
        signs.append("alarm")
    if _graded(mutant) != _graded(whole):
        signs.append("grade")
    return signs


def _graded(trial: Ran) -> tuple[object, ...]:
    grade = trial.grade
    return grade.outcome, grade.done, grade.harm, grade.violated


@cache
def whole_bench(bench: Bench, root: Path) -> Ran:
    return run_on(bench, root / bench.rule, ())


def run_on(bench: Bench, folder: Path, more: tuple[SensorFault, ...]) -> Ran:
    """Run the scenario in guard with further faults beside its own."""
    own = devices.faults_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "make_agent", habit(without(**({bench.lost: False} if bench.lost else {}))))
        patch.setattr(devices, "faults_of", lambda item, bench: (*own(item, bench), *more))
        return ran(spec_of(bench.item), folder)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


def test_there_are_mutations_of_every_kind() -> None:
    assert len(MUTATIONS) == len(BENCHES) * len(KINDS) > 0
    assert {kind for _, kind in MUTATIONS} == set(KINDS)


@pytest.mark.parametrize("bench", BENCHES, ids=lambda b: b.rule)
def test_the_rule_relies_on_the_channel_and_the_channel_matters(bench: Bench, root: Path) -> None:
    rules = load_rules(rule_files(bench.item.split("/")[0]), LAYOUT)
    assert bench.channel in rules[bench.rule].channels
    trial = whole_bench(bench, root)
    moved = np.ptp(trial.record.trace(channels=[bench.channel]).values) > 10 * LAYOUT[bench.channel].noise
    assert moved, "a sensor stuck at what it would have read all along is not broken"
    assert not bench.lost or bench.rule in broken_rules(trial), "the rule is not needed"
    assert noticed(trial, trial) == [], "nothing is noticed where nothing is broken"


@pytest.mark.parametrize(("bench", "kind"), MUTATIONS, ids=[f"{b.channel}-{k}" for b, k in MUTATIONS])
def test_a_broken_sensor_does_not_go_unnoticed(bench: Bench, kind: str, root: Path, tmp_path: Path) -> None:
    mutant = run_on(bench, tmp_path / "t", (fault(bench, kind),))
    assert noticed(whole_bench(bench, root), mutant), f"{kind} {bench.channel} looks like a whole bench"
