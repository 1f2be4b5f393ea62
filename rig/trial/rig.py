"""The rig: a bench with its person, monitor, gate and recorder, moved forward in time as one thing.

Everything that reaches an actuator goes through `Rig.advance`: rows of setpoints are decided on by
the gate, run by the backend while the monitor watches every tick, recorded, and answered by the
person. What the monitor demands is carried out here, not by the agent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event as Flag

import numpy as np

from rig.core.agent import Sighting
from rig.core.backend import Reporting, Stop
from rig.core.camera import CameraSpec
from rig.core.channel import FloatArray, Snapshot
from rig.core.clock import nanoseconds
from rig.core.command import Plan, actuator_index
from rig.core.errors import UsageError
from rig.core.event import Event, Json, Kind, Severity
from rig.core.person import Behaviour, Fixture
from rig.core.watch import Guard
from rig.trial.oversight import Oversight
from rig.trial.parts import Parts, Why
from rig.trial.phases import Here, Phase
from rig.trial.skills import from_skin_m, here_of
from safety_monitor.gate import Authorisation, authorise, decide
from safety_monitor.interlock import Motion, Signal, State
from safety_monitor.rule import Response

PERSON_NS = nanoseconds(0.1)  # between two looks of the person while the arm moves
MOMENT_NS = nanoseconds(0.001)
LONGEST_STRETCH = 20_000  # ticks per call: bounds memory and the time until Ctrl-C is heard
LEASE_NS = nanoseconds(2.0)
NEAR_M = 0.15
SETTLING_NS = nanoseconds(2.0)
FORCE = "wrist.force"
_CALLS = {"info": 1, "assist": 2, "urgent": 3}


class Rig:
    """A bench in use; owned by one trial."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.bench, self.arm = parts.bench, parts.arm
        self.observes, self.tools = parts.observes, parts.tools
        self.snapshot: Snapshot = parts.backend.read(0)
        self.seen: Snapshot = self.snapshot  # what the agent was last shown
        self.setpoints: FloatArray = parts.backend.setpoints
        self.oversight = Oversight(parts.monitor, parts.mode, self.log)
        self.heard: list[str] = []
        self.noticed: list[str] = []
        self.handset: dict[str, float] = {}  # set by somebody at the bedside, not carried out yet
        self.peak_force_n = 0.0
        self.ticks = 0
        self.give_way = Flag()  # set from any thread: what the agent has under way makes room
        self._giving_way = False
        self._next_ns = 0
        layout = parts.bench.layout
        self._force = layout.index(FORCE) if FORCE in layout else None

    # --- time ----------------------------------------------------------------------------------

    @property
    def t_ns(self) -> int:
        """Trial time of the newest tick."""
        return self.snapshot.t_ns

    @property
    def out_of_time(self) -> bool:
        """Whether the trial's time limit has been reached."""
        return self.t_ns >= self._parts.limit_ns

    def take_news(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what was heard and noticed since the last call."""
        news = tuple(self.heard), tuple(self.noticed)
        self.heard, self.noticed = [], []
        return news

    def log(self, kind: Kind, source: str, severity: Severity = Severity.INFO, **body: Json) -> int:
        """Append an event at the present trial time; return its number in the record."""
        return self._parts.recorder.append(Event(self.t_ns, kind, source, body, severity))

    def start(self) -> None:
        """Let the person begin, test the monitor and arm: from here on motion is allowed and watched.

        Raises:
            RigFault: If a rule does not fire, or fires without cause, on the traces made for it.
        """
        self._behave(self._parts.person.begin())
        self.declare({})
        self.oversight.arm()
        self.rest(SETTLING_NS)  # every sensor has measured the person before anybody decides
        self.oversight.signal(Signal.ARM)

    def advance(self, phase: Phase, motion: Motion = Motion.ORDINARY, enforce: bool = True) -> Why:
        """Run a phase until it ends or something cuts it short.

        Args:
            phase: Setpoints and guards.
            motion: What kind of motion it is, for the gate.
            enforce: False while a demand of the monitor is itself being carried out.
        """
        done = 0
        while done < len(phase.rows):
            if self.out_of_time:
                return Why.TIME
            if self.gives_way():
                return Why.SUPERSEDED
            if phase.period_ns > self.bench.tick_ns and self._parts.backend.why_not_slow() is not None:
                rest = replace(phase, rows=phase.rows[done:])
                phase, done = rest.finer(self.setpoints, self.bench.tick_ns), 0
            rows = phase.rows[done : done + self._stretch_ticks(phase.period_ns)]
            plan = self._plan(rows, phase.period_ns)
            decision = decide(
                plan, self._parts.envelope, self.oversight.state, self.setpoints, self.t_ns, motion
            )
            if decision.passed is None:
                self.log(
                    Kind.AUTHORISED, "gate", Severity.WARNING, allowed=False, reasons=list(decision.reasons)
                )
                return Why.GATE
            stop, ran = self._run(decision.passed, phase.guards + phase.until)
            done += ran
            if stop is Stop.WATCH and self._verdicts() and enforce:
                self._coast(phase, done)
                return Why.MONITOR
            if stop is Stop.GUARD:
                return self._which_guard(phase)
            self._behave(self._parts.person.update(self.t_ns, self.snapshot))
            if self.handset and motion is Motion.NONE:
                return Why.END  # whoever rests makes room for it
        return Why.END

    def gives_way(self) -> bool:
        """Return whether what runs now is to be cut short."""
        return self._giving_way and self.give_way.is_set()

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """Let what runs meanwhile be cut short by `give_way`; what the rig does by itself never is."""
        self._giving_way = True
        try:
            yield
        finally:
            self._giving_way = False

    def _plan(self, rows: FloatArray, period_ns: int) -> Plan:
        lease_ns = max(LEASE_NS, len(rows) * period_ns)
        return Plan(
            self.bench.actuators, self.t_ns, period_ns, np.ascontiguousarray(rows), self.t_ns + lease_ns
        )

    def _run(self, plan: Plan, guards: tuple[Guard, ...] = ()) -> tuple[Stop, int]:
        """Run a plan that the gate has passed; record what was measured and make it the present."""
        stretch = self._parts.backend.stretch(plan, self._parts.monitor.watch, guards)
        trace, ran = stretch.trace, len(stretch.trace)
        self._parts.recorder.telemetry(trace)
        self.ticks += ran
        self.setpoints = plan.setpoints[ran - 1].copy()
        self.snapshot = trace.row(ran - 1)
        self.hear_devices()
        if self._force is not None:
            peak_n = float(np.fmax.reduce(trace.values[:, self._force]))
            self.peak_force_n = max(self.peak_force_n, peak_n)
        return stretch.stop, ran

    def hear_devices(self) -> None:
        """Put on record what devices have reported since the last time."""
        if not isinstance(self._parts.backend, Reporting):
            return
        for r in self._parts.backend.reports():
            severity = Severity.CRITICAL if r.grave else Severity.NOTICE
            self.log(
                Kind.REPORTED, r.device, severity, device=r.device, number=r.number, what=r.what, reason=r.reason,
                detail=r.detail,
            )  # fmt: skip

    def _stretch_ticks(self, period_ns: int) -> int:
        if period_ns == self.bench.tick_ns:
            return max(1, PERSON_NS // period_ns)
        until_person = -(-(self._next_ns - self.t_ns) // period_ns)
        until_limit = -(-(self._parts.limit_ns - self.t_ns) // period_ns)
        return max(1, min(until_person, until_limit, LONGEST_STRETCH))

    def _which_guard(self, phase: Phase) -> Why:
        return Why.END if any(_holds(g, self.snapshot) for g in phase.until) else Why.GUARD

    def _coast(self, phase: Phase, done: int) -> None:
        """Go on with what the gate had passed for the bench's reaction time: no bench stops at once."""
        ticks = self.bench.reaction_ns // phase.period_ns
        rest = phase.rows[done : done + ticks]
        while len(rest):
            stop, ran = self._run(self._plan(rest, phase.period_ns))
            if stop is Stop.WATCH:
                self._verdicts()
            rest = rest[ran:]

    # --- the person ----------------------------------------------------------------------------

    def _behave(self, behaviour: Behaviour) -> None:
        self._next_ns = behaviour.next_ns
        self.handset |= behaviour.handset
        if behaviour.body:
            self._parts.backend.set_body(behaviour.body)
        for text in behaviour.says:
            self.heard.append(text)
            self.log(Kind.SAID, "person", who="person", text=text)
        for what in behaviour.did:
            self.log(Kind.PERSON, "person", what=what)

    def tell(self, text: str, answer_wanted: bool) -> None:
        """Say something to the person."""
        self.log(Kind.SAID, "agent", who="agent", text=text)
        self._behave(self._parts.person.hear(self.t_ns, text, answer_wanted))

    def call(self, level: str, reason: str, by: str) -> None:
        """Call a carer; always possible."""
        self.log(Kind.CALLED, by, Severity.NOTICE, level=level, reason=reason, by=by)
        self._behave(self._parts.person.called(self.t_ns, _CALLS[level], reason))

    @property
    def fixture(self) -> Fixture | None:
        """The room that tools act on, None where there is nothing of the kind."""
        person = self._parts.person
        return person if isinstance(person, Fixture) else None

    def happen(self, behaviour: Behaviour) -> None:
        """Let what the room and the person did take effect."""
        self._behave(behaviour)

    # --- sight ---------------------------------------------------------------------------------

    @property
    def cameras(self) -> Mapping[str, CameraSpec]:
        """The cameras that may be looked through, by name."""
        return {} if self._parts.sight is None else self._parts.sight.cameras

    def look(self, camera: str, width: int, wait: Callable[[int], None]) -> Sighting:
        """Look through a camera; the frame goes on record, and that it was looked at.

        Args:
            camera: Its name.
            width: Of the picture wanted, pixels.
            wait: Lets trial time pass, nanoseconds.

        Raises:
            UsageError: If there is no such camera, or no picture can be made here.
        """
        if self._parts.sight is None:
            raise UsageError("this bench has no cameras")
        found = self._parts.sight.look(camera, width, lambda: self.t_ns, wait)
        if found.image is not None:
            self._parts.recorder.image(found.image)
        severity = Severity.WARNING if found.sighting.flaws else Severity.INFO
        self.log(Kind.SEEN, "rig", severity, **found.body)
        return found.sighting

    # --- intents, and what the monitor says -----------------------------------------------------------

    @property
    def here(self) -> Here:
        """Where everything stands, for a skill."""
        return here_of(self.setpoints, self.snapshot, self.bench, self.arm)

    def declare(self, intents: Mapping[str, float]) -> None:
        """Tell the rules what is intended; everything not named is what already stands."""
        parts = {"intent.back": "bed.back", "intent.tilt": "bed.tilt", "intent.rails": "bed.rails"}
        standing = {i: self.setpoint(part) for i, part in parts.items() if i in self.bench.intents}
        neutral = {name: standing.get(name, 0.0) for name in self.bench.intents}
        self._parts.backend.set_intent({**neutral, **intents})

    def setpoint(self, actuator: str) -> float:
        """Return the setpoint last commanded."""
        return float(self.setpoints[actuator_index(self.bench.actuators, actuator)])

    def authorise(self, intents: Mapping[str, float], motion: Motion) -> Authorisation:
        """Ask gate and monitor whether a motion may begin, and let the record show the intent.

        In shadow nothing is forbidden but what the interlock and the envelope forbid.
        """
        self.oversight.review(self.near_person)
        answer = authorise(
            self.oversight.state, motion, self._parts.monitor.preview(self._intending(intents))
        )
        self.declare(intents)
        self.rest(self._tick_ns(), enforce=False)
        return answer if self.oversight.enforcing else Authorisation(True, answer.reasons, answer.verdicts)

    def forbidden(self, intents: Mapping[str, float], motion: Motion) -> tuple[str, ...]:
        """Ask whether something may begin; where it may not, record why and return it in words."""
        answer = self.authorise(intents, motion)
        if answer.allowed:
            return ()
        for verdict in answer.verdicts:
            self.oversight.intervene(verdict)
        self.declare({})
        return answer.reasons

    def outside(self, phases: Sequence[Phase], motion: Motion) -> tuple[str, ...]:
        """Return why the gate would not pass all of a skill: better to refuse it whole than to stop half-way."""
        previous = self.setpoints
        for phase in phases:
            lease_ns = self.t_ns + len(phase.rows) * phase.period_ns
            plan = Plan(self.bench.actuators, self.t_ns, phase.period_ns, phase.rows, lease_ns)
            decision = decide(plan, self._parts.envelope, self.oversight.state, previous, self.t_ns, motion)
            if decision.passed is None:
                return decision.reasons
            previous = phase.rows[-1]
        return ()

    def _intending(self, intents: Mapping[str, float]) -> Snapshot:
        """Return the present snapshot as it would be a moment later with the intent declared."""
        now, t_ns = self.snapshot, self.snapshot.t_ns + MOMENT_NS
        values, sampled_ns = now.values.copy(), now.sampled_ns.copy()
        for name in self.bench.intents:
            i = now.layout.index(name)
            values[i], sampled_ns[i] = intents.get(name, values[i]), t_ns
        return Snapshot(now.layout, t_ns, values, sampled_ns, now.quality)

    def _verdicts(self) -> bool:
        """Act on what changed at this tick; return whether the motion must be cut short."""
        for verdict in self.oversight.changes():
            if not self.oversight.enforcing:
                continue
            self.noticed.append(f"alarm: {verdict.rule.sentence}")
            if verdict.response is Response.CALL:
                self.oversight.intervene(verdict)
                self.call("urgent", f"monitor: {verdict.rule.id}", by="monitor")
        before = self.oversight.state
        self.oversight.review(self.near_person)
        return self.oversight.state not in (before, State.ARMED)

    # --- keeping still -------------------------------------------------------------------------

    def near_person(self) -> bool:
        """Whether the tool is so near the person that it may not simply stay there.

        From the joints and where the person was last seen: the controller has no ground truth.
        """
        return not from_skin_m(self.here) > NEAR_M  # NaN counts as near

    def _tick_ns(self) -> int:
        slow = self._parts.backend.why_not_slow() is None
        return self._parts.slow_tick_ns if slow else self.bench.tick_ns

    def rest_until(self, end_ns: int, guards: Sequence[Guard]) -> Why:
        """Rest until ``end_ns`` or until the person next does something, whichever is first."""
        next_ns = self._next_ns if self._next_ns > self.t_ns else end_ns
        return self.rest(max(1, min(end_ns, next_ns) - self.t_ns), guards)

    def rest(
        self, for_ns: int, guards: Sequence[Guard] = (), enforce: bool = True, to_the_tick: bool = False
    ) -> Why:
        """Keep every setpoint for a while, or until a handset is used; sensing, watching and the person go on.

        Where nothing moves, time goes in long ticks and the while is rounded up to one, unless ``to_the_tick``.
        """
        end_ns = min(self.t_ns + for_ns, self._parts.limit_ns)
        while self.t_ns < end_ns:
            period_ns = self.bench.tick_ns if to_the_tick else self._tick_ns()
            ticks = max(1, (end_ns - self.t_ns) // period_ns)
            if period_ns == self.bench.tick_ns:
                ticks = min(
                    ticks, max(1, PERSON_NS // period_ns)
                )  # then look again whether long ticks will do
            phase = Phase(
                np.broadcast_to(self.setpoints, (ticks, len(self.setpoints))), period_ns, tuple(guards)
            )
            why = self.advance(phase, Motion.NONE, enforce)
            if why is not Why.END or self.handset:
                return why
        return Why.TIME if self.out_of_time else Why.END


def _holds(guard: Guard, snapshot: Snapshot) -> bool:
    value = snapshot.value(guard.channel)
    return not guard.below < value < guard.above
