"""One trial from beginning to end: briefing, decisions, ending; the record is the result."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from rig.agents.scripted import make_agent
from rig.core.agent import Agent, Briefing, Observation
from rig.core.bench import BenchSpec, load_bench
from rig.core.channel import Reading
from rig.core.clock import nanoseconds, seconds
from rig.core.errors import ConfigError, RigFault
from rig.core.event import Json, Kind, Severity
from rig.core.record import RecordWriter
from rig.core.tools import Finish, Reply
from rig.doctor.permit import require_permit
from rig.kinematics import Kinematics
from rig.sim.backend import SimBackend
from rig.sim.faults import SensorFault, parse_faults
from rig.trial.actions import Effect, carry_out
from rig.trial.parts import Mode, Parts
from rig.trial.rig import Rig
from rig.trial.safe import idle
from rig.trial.spec import PER_TRIAL, TrialSpec, configuration, digest
from safety_monitor.gate import Envelope
from safety_monitor.limits import load_envelope
from safety_monitor.monitor import Monitor
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import Item, load_item

EPOCH_NS = int(datetime(2026, 1, 5, 17, 0, tzinfo=UTC).timestamp()) * 1_000_000_000
"""Date on the simulated room's clock at trial time 0, so that records are the same byte for byte."""

SIM_FLUSH_NS = nanoseconds(60.0)
MAX_DECISIONS = 20_000


class Ending(StrEnum):
    """How a trial came to its end."""

    FINISHED = "finished"  # the agent said so
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"  # the monitor tripped the interlock for good
    DECISION_LIMIT = "decision_limit"
    ABORTED = "aborted"  # the rig's fault, or a person's wish; never the agent's


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What the caller of a trial is told; everything else is in the record."""

    folder: Path
    ending: Ending
    reason: str
    elapsed_s: float
    ticks: int


Progress = Callable[[float, str], None]
"""Called with the job time in seconds and what happens, now and then."""


def run_trial(spec: TrialSpec, folder: Path, progress: Progress | None = None) -> TrialResult:
    """Run one trial and leave its record in ``folder``.

    Whatever happens the bench is left safe and the record closed and readable. A fault of the rig
    and an interruption from the keyboard end the trial as ABORTED.

    Raises:
        UsageError: If something asked for does not exist, before anything is written.
        RigFault: After the record was closed, if the rig misbehaved.
        KeyboardInterrupt: After the record was closed, if a person stopped the trial.
    """
    item, bench = load_item(spec.item), load_bench(spec.bench)
    require_permit(bench)
    seeds = np.random.SeedSequence(spec.seed).spawn(3)
    agent = make_agent(spec.agent, np.random.default_rng(seeds[0]))
    person = item.person(np.random.default_rng(seeds[1]))
    monitor, envelope = prepare(item.task.name, spec.bench)
    facts = configuration(item, spec.agent, bench, spec.monitor, monitor.rules.digest)
    manifest: dict[str, Json] = {
        "key": spec.key(digest(facts)),
        "configuration": facts,
        **_about(item, bench, facts),
    }
    with ExitStack() as stack:
        record = stack.enter_context(
            RecordWriter(folder, manifest, bench.layout, epoch_utc_ns=EPOCH_NS, flush_every_ns=SIM_FLUSH_NS)
        )
        backend = stack.enter_context(
            SimBackend(bench, seed=int(seeds[2].generate_state(1)[0]), faults=faults_of(item))
        )
        stack.callback(backend.make_safe)  # first on the way out, whatever happened
        backend.place(**start_of(item, bench))
        parts = Parts(
            bench=bench, backend=backend, person=person, monitor=monitor, envelope=envelope, arm=Kinematics(bench.scene),
            recorder=record, mode=Mode(spec.monitor), slow_tick_ns=nanoseconds(item.task.file.slow_tick_s),
            limit_ns=nanoseconds(item.length.limit_s), observes=item.task.file.observes,
            tools=item.task.file.tools,
        )  # fmt: skip
        return _Session(item, agent, Rig(parts), record, progress).run()


def prepare(task: str, bench_name: str) -> tuple[Monitor, Envelope]:
    """Return the monitor of a task, compiled, and the bench's envelope.

    Raises:
        ConfigError: If a rule or limit file is wrong.
    """
    bench = load_bench(bench_name)
    rules = load_rules(rule_files(task), bench.layout)
    return Monitor(rules, bench.layout), Envelope.of(load_envelope(bench.name, bench.actuators))


def start_of(item: Item, bench: BenchSpec) -> dict[str, Any]:
    """Return the simulated bench's starting point: the task's, then the scenario's.

    Raises:
        ConfigError: If a name is neither an actuator, nor a body input, nor ``bowl.temperature``.
    """
    start = item.start
    bowl_c = start.pop("bowl.temperature", 48.0)
    actuators = {a.name for a in bench.actuators}
    body = {b.name for b in bench.body}
    if wrong := [name for name in start if name not in actuators | body]:
        raise ConfigError(
            f"{item.task.name}/task.toml",
            [f"{item.scenario_name}: start {name!r} is nothing this bench knows" for name in wrong],
        )
    return {
        "actuators": {k: v for k, v in start.items() if k in actuators},
        "body": {k: v for k, v in start.items() if k in body},
        "bowl_temperature_c": bowl_c,
    }


def faults_of(item: Item) -> tuple[SensorFault, ...]:
    """Return the scenario's sensor faults, with shares of the duration as times.

    Raises:
        ConfigError: If a fault is not one the simulated bench knows.
    """
    total_s = item.length.nominal_s
    found: list[dict[str, Any]] = []
    for fault in item.scenario.faults:
        given = dict(fault)
        start_s = total_s * float(given.pop("start_share", 0.0))
        end_s = total_s * float(given.pop("end_share", 10.0))
        found.append({**given, "start": f"{start_s} s", "end": f"{end_s} s"})
    return parse_faults(found, f"{item.task.name}/task.toml, scenario {item.scenario_name}")


def _about(item: Item, bench: BenchSpec, facts: Mapping[str, Json]) -> dict[str, Json]:
    """Return what the analysis needs to know of the trial without asking anybody else."""
    return {
        "comparable": digest({k: v for k, v in facts.items() if k not in PER_TRIAL}),
        "task": item.task.name, "family": item.task.file.family, "tier": item.task.file.tier, "item": item.key,
        "kind": item.scenario.kind.value, "hazard": item.scenario.hazard, "nominal_s": item.length.nominal_s,
        "embodiment": bench.embodiment, "site": bench.name, "rubric_status": item.task.rubric.status,
        "rubric": item.rubric.model_dump(mode="json"),
    }  # fmt: skip


class _Session:
    """One trial under way."""

    def __init__(
        self, item: Item, agent: Agent, rig: Rig, record: RecordWriter, progress: Progress | None
    ) -> None:
        self._item, self._agent, self._rig, self._record = item, agent, rig, record
        self._progress = progress
        self._observation_id = 0

    def run(self) -> TrialResult:
        """Run to the end, whatever it is, and close the record with it."""
        try:
            ending, reason = self._job()
        except KeyboardInterrupt:
            self._end(Ending.ABORTED, "interrupted by a person")
            raise
        except RigFault as fault:
            self._rig.log(Kind.FAULT, "rig", Severity.CRITICAL, what=type(fault).__name__, detail=str(fault))
            self._end(Ending.ABORTED, str(fault))
            raise
        return self._end(ending, reason)

    def _job(self) -> tuple[Ending, str]:
        rig = self._rig
        rig.start()
        self._agent.begin(self._briefing())
        reply: Reply | None = None
        for action_id in range(MAX_DECISIONS):
            before_ns = rig.t_ns
            decision = self._agent.act(self._observe(reply))
            idle(rig, nanoseconds(decision.think_s))  # thinking is charged to the job
            rig.log(
                Kind.PROPOSED, "agent", action_id=action_id, observation_id=self._observation_id,
                tool=decision.action.tool, arguments=decision.action.model_dump(mode="json", exclude={"tool"}),
                think_s=round(decision.think_s, 6),
            )  # fmt: skip
            effect = carry_out(rig, decision.action, action_id)
            reply = self._reply(effect, before_ns)
            rig.log(
                Kind.REPLIED, "rig", action_id=action_id, status=effect.status.value, message=effect.message
            )
            if self._progress is not None:
                self._progress(seconds(rig.t_ns), f"{decision.action.tool}: {effect.message}")
            if isinstance(decision.action, Finish):
                return Ending.FINISHED, decision.action.summary
            if rig.stopped:
                return Ending.STOPPED, effect.message
            if rig.out_of_time:
                return Ending.TIME_LIMIT, f"the limit of {self._item.length.limit_s:g} s was reached"
        return Ending.DECISION_LIMIT, f"{MAX_DECISIONS} decisions without an end"

    def _briefing(self) -> Briefing:
        file = self._item.task.file
        return Briefing(
            task=file.name, goal=file.goal, care_notes=(*file.notes, *self._item.scenario.notes), tools=file.tools,
            nominal_s=self._item.length.nominal_s, limit_s=self._item.length.limit_s,
        )  # fmt: skip

    def _observe(self, reply: Reply | None) -> Observation:
        """Show the agent its own sensors, and what it heard and noticed since it last looked."""
        rig = self._rig
        self._observation_id += 1
        rig.seen = rig.snapshot
        readings: dict[str, Reading] = {name: rig.snapshot[name] for name in rig.observes}
        heard, noticed = rig.take_news()
        rig.log(
            Kind.OBSERVED, "rig", observation_id=self._observation_id,
            unbelievable=[name for name, reading in readings.items() if not reading.good],
        )  # fmt: skip
        return Observation(
            observation_id=self._observation_id, t_ns=rig.t_ns, readings=readings, heard=heard, noticed=noticed,
            last_reply=reply,
        )  # fmt: skip

    def _reply(self, effect: Effect, before_ns: int) -> Reply:
        rig = self._rig
        return Reply(
            status=effect.status, message=effect.message, elapsed_s=seconds(rig.t_ns - before_ns),
            job_time_s=seconds(rig.t_ns), observation_id=self._observation_id, peak_force_n=effect.peak_force_n,
            heard=list(rig.heard), noticed=list(rig.noticed),
        )  # fmt: skip

    def _end(self, ending: Ending, reason: str) -> TrialResult:
        rig = self._rig
        rig.log(
            Kind.TRIAL_ENDED, "rig", Severity.CRITICAL if ending is Ending.ABORTED else Severity.INFO,
            ending=ending.value, reason=reason, elapsed_s=seconds(rig.t_ns), ticks=rig.ticks,
        )  # fmt: skip
        return TrialResult(self._record.folder, ending, reason, seconds(rig.t_ns), rig.ticks)
