"""One trial from beginning to end: briefing, decisions, ending; the record is the result."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from rig.agents.catalogue import make_agent
from rig.agents.human import NAME as HUMAN
from rig.core.agent import Agent, Closable, Decision, Described, Instrument, Seated
from rig.core.bench import BenchSpec, load_bench
from rig.core.channel import Layout
from rig.core.clock import Clock, MonotonicClock, nanoseconds, seconds
from rig.core.configuration import comparable, elided, identity
from rig.core.errors import (
    AgentUnreachable,
    ConfigurationChanged,
    RigFault,
    UsageError,
)
from rig.core.event import Json
from rig.core.record import RecordWriter, trial_id
from rig.doctor.permit import require_permit
from rig.kinematics import JOINTS, Kinematics
from rig.trial.attended import Attendance, Attended, StoppedByPerson
from rig.trial.devices import drawable, eyes_of, looked_at, open_bench, start_of, world_of
from rig.trial.faults import camera_faults_of
from rig.trial.parts import Mode, Parts
from rig.trial.rig import Rig
from rig.trial.session import Ending, Progress, Session, TrialResult
from rig.trial.sight import Sight, streams
from rig.trial.spec import RENDERED, Ticket, TrialSpec, configuration
from rig.trial.think import ThinkMode, parse_think
from safety_monitor.gate import Envelope
from safety_monitor.limits import limit_files, load_envelope
from safety_monitor.monitor import Monitor
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import Item, load_item, load_task

EPOCH_NS = int(datetime(2026, 1, 5, 17, 0, tzinfo=UTC).timestamp()) * 1_000_000_000
"""Date on the simulated room's clock at trial time 0, so that records are the same byte for byte."""

SIM_FLUSH_NS = nanoseconds(60.0)
LOOK_S = 0.02
"""How finely a bench that does not wait goes on while an agent thinks."""


def run_trial(
    spec: TrialSpec,
    folder: Path,
    progress: Progress | None = None,
    ticket: Ticket | None = None,
    item: Item | None = None,
    attendance: Attendance | None = None,
) -> TrialResult:
    """Run one trial and leave its record in ``folder``.

    Whatever happens the bench is left safe and the record closed and readable. A fault of the rig
    and an interruption from the keyboard end the trial as ABORTED.

    Args:
        spec: Which trial.
        folder: Where its record goes.
        progress: Told what happens.
        ticket: Its place in a campaign, if it is part of one.
        item: The item itself, for one that is in no file of the suite; ``spec.item`` is its key.
        attendance: The people at the bench, None where nobody is.

    Raises:
        UsageError: If something asked for does not exist, before anything is written.
        RigFault: After the record was closed, if the rig misbehaved.
        KeyboardInterrupt: After the record was closed, if a person stopped the trial.
        StoppedByPerson: The same, where the trial was attended.
    """
    with ExitStack() as stack:
        agent = _come(spec, agent_randomness(spec), attendance, stack)
        # Left after the session: the bench is safe and the record closed before anybody waits for a thought.
        thinking = stack.enter_context(ThreadPoolExecutor(1, "agent"))
        session = stack.enter_context(
            open_session(spec, folder, _described(agent), progress, ticket, item, attendance)
        )
        _seat(agent, session, stack)
        agent.begin(session.briefing)
        relief = partial(_relieve, spec, session, attendance, stack)
        if parse_think(spec.think).mode is ThinkMode.REALTIME:
            return _run_beside(session, agent, MonotonicClock(), relief, thinking)
        while session.result is None:
            segment = session.segment
            session.step(agent.act(session.observation))
            if session.segment != segment:
                agent = relief()
        return session.result


def _run_beside(
    session: Session, agent: Agent, clock: Clock, relief: Callable[[], Agent], thinking: Executor
) -> TrialResult:
    """Run a trial on a bench that does not wait: it goes on, and stays safe, while the agent thinks."""
    while session.result is None:
        asked_ns = clock.now_ns()
        answer = thinking.submit(agent.act, session.observation)
        keep_going(session, answer, clock)
        if session.result is not None:
            return session.result
        decision = answer.result()
        think_s = seconds(clock.now_ns() - asked_ns)
        segment = session.segment
        session.step(Decision(decision.action, think_s, decision.consulted))
        if session.segment != segment:
            agent = relief()
    return session.result


def _relieve(spec: TrialSpec, session: Session, attendance: Attendance | None, stack: ExitStack) -> Agent:
    """Return the agent that takes over: of the same kind, knowing nothing but its briefing."""
    seed = _seeds(spec)[0].spawn(session.segment)[-1]
    agent = _come(spec, np.random.default_rng(seed), attendance, stack)
    _seat(agent, session, stack)
    agent.begin(session.briefing)
    return agent


def _come(
    spec: TrialSpec, rng: np.random.Generator, attendance: Attendance | None, stack: ExitStack
) -> Agent:
    """Return the agent of a trial, let go of when the trial is."""
    at_the_desk = attendance.person if attendance is not None and spec.agent == HUMAN else None
    agent = at_the_desk() if at_the_desk is not None else make_agent(spec.agent, rng)
    _let_go_after(stack, agent)
    if isinstance(agent, Instrument):
        agent.place(spec.item, spec.seed, spec.repeat)
    return agent


def _seat(agent: Agent, session: Session, stack: ExitStack) -> None:
    """Let a person sit down who gets up before anybody waits for a thought."""
    if isinstance(agent, Seated):
        agent.sit_down(session.interrupt)
        stack.callback(agent.get_up)


def _let_go_after(stack: ExitStack, agent: Agent) -> None:
    if isinstance(agent, Closable):
        stack.callback(agent.close)


def keep_going(session: Session, answer: "Future[Any]", clock: Clock) -> None:
    """Let the bench go on at the pace of ``clock`` until there is an answer."""
    passed_ns = clock.now_ns()
    while not answer.done() and session.result is None:
        clock.sleep_until(passed_ns + nanoseconds(LOOK_S))
        now_ns = clock.now_ns()
        session.wait(seconds(now_ns - passed_ns))
        passed_ns = now_ns


@contextmanager
def open_session(
    spec: TrialSpec, folder: Path, described: Mapping[str, Json], progress: Progress | None = None,
    ticket: Ticket | None = None, item: Item | None = None, attendance: Attendance | None = None,
) -> Iterator[Session]:  # fmt: skip
    """Yield a trial that has begun, for whoever decides from outside; close it safely and completely.

    Args:
        spec: Which trial; its agent is only a name here.
        folder: Where its record goes.
        described: What there is to the agent beside its name.
        progress: Told what happens.
        ticket: Its place in a campaign, if it is part of one.
        item: The item itself, for one that is in no file of the suite.
        attendance: The people at the bench, None where nobody is.

    Raises:
        UsageError: If something asked for does not exist, before anything is written.
        ConfigurationChanged: If the trial would not be the one on the ticket, before anything is written.
        CannotArm: If a camera the bench needs is not fit for use, before anything is written.
        RigFault: After the record was closed, if the rig misbehaved.
    """
    item = item or load_item(spec.item)
    bench = load_bench(item.task.bench(spec.bench))
    require_permit(bench)
    seeds = _seeds(spec)
    person = item.person(np.random.default_rng(seeds[1]))
    monitor, envelope = _guards(item.task.name, bench)
    facts = configuration(item, spec, bench, monitor.rules.digest, described)
    manifest: dict[str, Json] = {
        "key": spec.key(identity(facts)),
        "configuration": elided(facts, "code"),
        **_about(item, bench, facts),
    }
    if ticket is not None:
        manifest["wall"] = _admitted(ticket, spec, facts)
    if bench.embodiment == "physical" and parse_think(spec.think).mode is not ThinkMode.REALTIME:
        raise UsageError(
            f"bench {bench.name} is physical and does not wait while an agent thinks: give --think realtime"
        )
    eyes = eyes_of(bench) if spec.cameras == RENDERED else ()
    devices = open_bench(bench, int(seeds[2].generate_state(1)[0]), item, spec.monitor, eyes)
    sight = Sight(bench, MonotonicClock(), camera_faults_of(item, bench), int(seeds[2].generate_state(2)[1]))
    flush_ns = attendance.flush_every_ns if attendance else SIM_FLUSH_NS
    with ExitStack() as stack:
        stack.enter_context(sight)  # nothing is written where there is nothing to see with
        record = stack.enter_context(
            RecordWriter(
                folder, manifest, bench.layout, epoch_utc_ns=EPOCH_NS, flush_every_ns=flush_ns,
                cameras=streams(bench),
            )
        )  # fmt: skip
        backend = stack.enter_context(devices)
        stack.callback(backend.make_safe)  # first on the way out, whatever happened
        if (world := world_of(backend)) is not None:
            sight.look_at(world)
            if eyes:
                backend = stack.enter_context(looked_at(world, eyes, sight, record))
        backend.place(**start_of(item, bench, backend.starts))
        attended = Attended(backend, record, attendance) if attendance else None
        parts = Parts(
            bench=bench, backend=attended or backend, person=person, monitor=monitor, envelope=envelope, arm=_arm_of(bench),
            recorder=record, mode=Mode(spec.monitor), slow_tick_ns=nanoseconds(item.task.file.slow_tick_s),
            limit_ns=nanoseconds(item.length.limit_s), observes=item.task.file.observes,
            tools=item.task.file.tools, sight=sight,
        )  # fmt: skip
        rig = Rig(parts)
        if attended is not None:
            attended.gives_way = rig.gives_way
        session = Session(item, rig, record, parse_think(spec.think), progress)
        try:
            session.begin()
            yield session
        except BaseException as error:
            session.abort(*_blame(error))
            raise
        if session.result is None:
            session.end(Ending.ABORTED, "the trial was left before the job was over")


def _admitted(ticket: Ticket, spec: TrialSpec, facts: Mapping[str, Json]) -> dict[str, Json]:
    """Return what the record says of its campaign.

    Raises:
        ConfigurationChanged: If the trial would not be the one on the ticket.
    """
    found = trial_id(spec.key(identity(facts)))
    if found != ticket.trial_id:
        raise ConfigurationChanged(
            f"{spec.agent} on {spec.item}, seed {spec.seed}: would be trial {found}, not {ticket.trial_id} as planned: "
            f"something it depends on has changed since the campaign began"
        )
    return {"campaign": ticket.campaign, "registration": ticket.registration}


def _blame(error: BaseException) -> tuple[str, str]:
    """Return what an aborted trial says of its cause, in a word and in a sentence."""
    match error:
        case KeyboardInterrupt():
            return "interrupted", "interrupted by a person"
        case StoppedByPerson():
            return "stopped", str(error)
        case AgentUnreachable():
            return error.what, str(error)
        case RigFault():
            return type(error).__name__, str(error)
    return type(error).__name__, f"a fault of the program: {type(error).__name__}: {error}"


def agent_randomness(spec: TrialSpec) -> np.random.Generator:
    """Return the randomness of a trial's agent."""
    return np.random.default_rng(_seeds(spec)[0])


def _seeds(spec: TrialSpec) -> list[np.random.SeedSequence]:
    """Return the seeds of agent, person and sensors."""
    return np.random.SeedSequence(spec.seed).spawn(3)


def _arm_of(bench: BenchSpec) -> Kinematics | None:
    """Return the kinematics of the bench's arm, None where it has none."""
    has_arm = {*JOINTS} <= {a.name for a in bench.actuators}
    return Kinematics(bench.scene, bench.tool) if has_arm else None


def configured(spec: TrialSpec) -> dict[str, Json]:
    """Return the whole configuration a trial would be run under, without running it.

    Raises:
        UsageError: If something it names does not exist.
    """
    item = load_item(spec.item)
    bench = load_bench(item.task.bench(spec.bench))
    if spec.cameras == RENDERED:
        drawable(bench)
    rules = _meaning(rule_files(item.task.name), bench.layout)
    with ExitStack() as stack:
        agent = make_agent(spec.agent, np.random.default_rng(0))
        _let_go_after(stack, agent)
        return configuration(item, spec, bench, rules, _described(agent))


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rule files as they are now, for a layout; the same bytes on the same layout mean the same."""

    contents: tuple[bytes, ...]
    layout_digest: str
    paths: tuple[Path, ...] = field(compare=False)
    layout: Layout = field(compare=False)


def _meaning(paths: tuple[Path, ...], layout: Layout) -> str:
    """Return the digest of what rule files mean on a bench."""
    contents = tuple(path.read_bytes() for path in (*paths, *limit_files()))
    return _kept_meaning(_Rules(contents, layout.digest(), paths, layout))


@lru_cache(maxsize=256)  # a grid asks for every cell
def _kept_meaning(rules: _Rules) -> str:
    return load_rules(rules.paths, rules.layout).digest


def _described(agent: Agent) -> Mapping[str, Json]:
    return agent.facts if isinstance(agent, Described) else {}


def prepare(task: str, bench_name: str) -> tuple[Monitor, Envelope]:
    """Return the monitor of a task, compiled, and the bench's envelope.

    Raises:
        ConfigError: If a rule or limit file is wrong.
    """
    return _guards(task, load_bench(load_task(task).bench(bench_name)))


def _guards(task: str, bench: BenchSpec) -> tuple[Monitor, Envelope]:
    rules = load_rules(rule_files(task), bench.layout)
    return Monitor(rules, bench.layout), Envelope.of(load_envelope(bench.base, bench.actuators))


def _about(item: Item, bench: BenchSpec, facts: Mapping[str, Json]) -> dict[str, Json]:
    """Return what the analysis needs to know of the trial without asking anybody else."""
    return {
        "comparable": comparable(facts),
        "task": item.task.name, "family": item.task.file.family, "tier": item.task.file.tier, "item": item.key,
        "kind": item.scenario.kind.value, "hazard": item.scenario.hazard, "nominal_s": item.length.nominal_s,
        "embodiment": bench.counts_as, "site": bench.name, "rubric_status": item.task.rubric.status,
        "rubric": item.rubric.model_dump(mode="json"),
    }  # fmt: skip
