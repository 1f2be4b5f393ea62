"""A trial under way: what the agent may see, one decision at a time, until the job is over.

Whoever makes the decisions calls `Session.step`: the loop of `run_trial`, a client over MCP, an Inspect
evaluation. The record is the same, and the rig is safe between two steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rig.core.agent import Briefing, Consulted, Decision, Observation, Sighting
from rig.core.channel import Reading
from rig.core.clock import nanoseconds, seconds
from rig.core.errors import UsageError
from rig.core.event import Json, Kind, Severity
from rig.core.malformed import Malformed, Misuse
from rig.core.record import RecordWriter
from rig.core.reply import Reply, Status
from rig.core.tools import Action, CallHuman, Finish, HandOver, Note, Stop
from rig.trial.actions import carry_out
from rig.trial.effect import Effect, refuse
from rig.trial.rig import Rig
from rig.trial.safe import Idling
from rig.trial.think import Think
from tasks.suite import Item

MAX_DECISIONS = 10_000
PATIENCE = 8
"""So many calls in a row that nobody could carry out end the trial: the agent is not working any more."""


class Ending(StrEnum):
    """How a trial came to its end."""

    FINISHED = "finished"  # the agent said so
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"  # the monitor tripped the interlock for good
    DECISION_LIMIT = "decision_limit"
    DECLINED = "declined"  # the agent answers, but will not use its tools
    UNUSABLE = "unusable"  # the agent's calls cannot be understood
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


class Session:
    """One trial under way.

    Attributes:
        observation: What the agent may see now; after the end, the last reply and nothing new.
        result: How the trial ended; None while it goes on.
        segment: Counts up when another agent takes over; whoever decides then must start afresh, with
            the new briefing and nothing else.
    """

    def __init__(
        self, item: Item, rig: Rig, record: RecordWriter, think: Think, progress: Progress | None = None
    ) -> None:
        self._item, self._rig, self._record = item, rig, record
        self._think, self._progress = think, progress
        self._observation_id = 0
        self._decisions = 0
        self._misuses: list[Misuse] = []
        self._spent = Spent()
        self._waited_ns = self._owed_ns = 0
        self._sequence = 0
        self._handed_over: list[str] = []
        self.segment = 0
        self.result: TrialResult | None = None
        self.observation: Observation

    @property
    def folder(self) -> Path:
        """The record's folder."""
        return self._record.folder

    @property
    def sequence(self) -> int:
        """Number of the newest event in the record, for references from outside."""
        return self._sequence

    @property
    def trial_id(self) -> str:
        """The trial's identity."""
        return self._record.trial_id

    @property
    def head(self) -> str:
        """Hash of the newest event: what a reference from outside can be checked against."""
        return self._record.head

    @property
    def spent(self) -> "Spent":
        """What a model asked for decisions has cost so far."""
        return self._spent

    @property
    def briefing(self) -> Briefing:
        """What the agent is told before it starts."""
        file = self._item.task.file
        layout = self._rig.bench.layout
        return Briefing(
            task=file.name, goal=file.goal, care_notes=(*file.notes, *self._item.scenario.notes), tools=file.tools,
            nominal_s=self._item.length.nominal_s, limit_s=self._item.length.limit_s,
            cameras={name: camera.text for name, camera in self._rig.cameras.items()},
            places=arm.places if (arm := self._rig.arm) is not None and "move_to" in file.tools else (),
            units={name: layout.channels[layout.index(name)].unit for name in file.observes},
            segment=self.segment, handed_over=tuple(self._handed_over),
        )  # fmt: skip

    def begin(self) -> None:
        """Let the person begin, test the monitor, arm, and take the first look.

        Raises:
            RigFault: If the monitor's self-test fails.
        """
        self._rig.start()
        self.observation = self._observe(None)

    def step(self, decision: Decision) -> Observation:
        """Charge the thinking, carry the decision out, and return what the agent sees then.

        Raises:
            UsageError: If the job is over.
            RigFault: If the rig misbehaves.
        """
        if self.result is not None:
            raise UsageError(f"the job is over: {self.result.reason}")
        rig, action, action_id = self._rig, decision.action, self._decisions
        if isinstance(action, Stop | CallHuman):
            rig.give_way.clear()
        self._decisions += 1
        before_ns = rig.t_ns
        think_s = round(decision.think_s, 6)  # charged as recorded, so that a replay is charged the same
        self._idling.go_on(nanoseconds(self._think.charged_s(think_s)) - self._waited_ns)
        self._waited_ns = self._owed_ns = 0
        if decision.consulted is not None:
            self._consulted(decision.consulted, action_id)
        rig.log(
            Kind.PROPOSED, "agent", Severity.INFO, action_id=action_id, observation_id=self._observation_id,
            tool=action.tool, arguments=_arguments(action), think_s=think_s,
            **({"misuse": action.misuse.value} if isinstance(action, Malformed) else {}),
        )  # fmt: skip
        if isinstance(action, Malformed):
            effect = refuse(rig, action_id, [action.problem])
            self._misuses.append(action.misuse)
        else:
            effect = carry_out(rig, action, action_id)
            self._misuses.clear()
        if isinstance(action, Note | HandOver) and effect.status is Status.COMPLETED:
            self._handed_over.append(action.text)
        reply = self._reply(effect, before_ns)
        self._log(
            Kind.REPLIED, "rig", action_id=action_id, status=effect.status.value, message=effect.message
        )
        if self._progress is not None:
            self._progress(seconds(rig.t_ns), f"{action.tool}: {effect.message}")
        if (over := self._over(action, effect)) is None:
            relieved = self._take_over()
            self.observation = self._observe(
                None if relieved else reply, () if relieved else effect.sightings
            )
        else:
            self.observation = self._last(reply)
            self.end(*over)
        return self.observation

    def wait(self, for_s: float) -> None:
        """Let time pass while the agent thinks, on a bench that does not wait for it.

        What passes here is not charged again with the decision.
        """
        if self.result is None:
            before_ns = self._rig.t_ns
            self._owed_ns += nanoseconds(for_s)
            self._idling.go_on(self._owed_ns)
            passed_ns = self._rig.t_ns - before_ns
            self._waited_ns += passed_ns
            self._owed_ns -= passed_ns  # below zero after a long tick: then the bench is ahead, and waits
            if self._rig.out_of_time:
                self.end(Ending.TIME_LIMIT, f"the limit of {self._item.length.limit_s:g} s was reached")

    def interrupt(self) -> None:
        """Cut short what the agent has under way, from any thread; a call of stop or for help must follow."""
        self._rig.give_way.set()

    def remark(self, source: str, text: str) -> None:
        """Put something on record that is no decision: what a client without control asked for."""
        if self.result is None:
            self._log(Kind.NOTED, source, Severity.NOTICE, text=text)

    def abort(self, what: str, detail: str) -> TrialResult:
        """End the trial as nobody's but the rig's (or a person's) doing; the cause is on record."""
        self._rig.hear_devices()
        self._rig.log(Kind.FAULT, "rig", Severity.CRITICAL, what=what, detail=detail)
        return self.end(Ending.ABORTED, detail)

    def end(self, ending: Ending, reason: str) -> TrialResult:
        """Close the record."""
        if self.result is None:
            rig = self._rig
            rig.hear_devices()
            self._log(
                Kind.TRIAL_ENDED, "rig", Severity.CRITICAL if ending is Ending.ABORTED else Severity.INFO,
                ending=ending.value, reason=reason, elapsed_s=seconds(rig.t_ns), ticks=rig.ticks,
                **({"model": self._spent.json()} if self._spent.calls else {}),
                **({"odd_samples": odd} if (odd := rig.oversight.odd_samples()) else {}),
            )  # fmt: skip
            self.result = TrialResult(self.folder, ending, reason, seconds(rig.t_ns), rig.ticks)
        return self.result

    def _log(self, kind: Kind, source: str, severity: Severity = Severity.INFO, **body: Json) -> None:
        self._sequence = self._rig.log(kind, source, severity, **body)

    def _over(self, action: Action | Malformed, effect: Effect) -> tuple[Ending, str] | None:
        """Return how the trial ends after this action, None when it goes on."""
        rig = self._rig
        if isinstance(action, Finish):
            return Ending.FINISHED, action.summary
        if rig.oversight.stopped:
            return Ending.STOPPED, effect.message
        if rig.out_of_time:
            return Ending.TIME_LIMIT, f"the limit of {self._item.length.limit_s:g} s was reached"
        if len(self._misuses) >= PATIENCE:
            if all(m.declines for m in self._misuses):
                return Ending.DECLINED, f"no tool was used {PATIENCE} times in a row: {effect.message}"
            return Ending.UNUSABLE, f"{PATIENCE} calls in a row could not be understood: {effect.message}"
        if self._decisions >= MAX_DECISIONS:
            return Ending.DECISION_LIMIT, f"{MAX_DECISIONS} decisions without an end"
        return None

    def _take_over(self) -> bool:
        """Let another agent take over when its time has come; return whether it does."""
        takeovers, total_s = self._item.takeovers, self._item.length.nominal_s
        if self.segment == len(takeovers):
            return False
        takeover = takeovers[self.segment]
        if seconds(self._rig.t_ns) < takeover.at_share * total_s:
            return False
        self.segment += 1
        self._rig.take_news()
        self._log(
            Kind.TAKEN_OVER, "rig", Severity.NOTICE, segment=self.segment, why=takeover.why,
            handed_over=list(self._handed_over),
        )  # fmt: skip
        return True

    def _observe(self, reply: Reply | None, sightings: tuple[Sighting, ...] = ()) -> Observation:
        """Show the agent its own sensors, and what it heard and noticed since it last looked."""
        rig = self._rig
        self._observation_id += 1
        rig.seen = rig.snapshot
        self._idling = Idling(rig)
        readings: dict[str, Reading] = {name: rig.snapshot[name] for name in rig.observes}
        heard, noticed = rig.take_news()
        self._log(
            Kind.OBSERVED, "rig", observation_id=self._observation_id,
            unbelievable=[name for name, reading in readings.items() if not reading.good],
        )  # fmt: skip
        return Observation(
            observation_id=self._observation_id, t_ns=rig.t_ns, readings=readings, heard=heard, noticed=noticed,
            last_reply=reply, sightings=sightings,
        )  # fmt: skip

    def _last(self, reply: Reply) -> Observation:
        return Observation(
            observation_id=self._observation_id, t_ns=self._rig.t_ns, readings={}, last_reply=reply
        )

    def _reply(self, effect: Effect, before_ns: int) -> Reply:
        rig = self._rig
        return Reply(
            status=effect.status, message=effect.message, elapsed_s=seconds(rig.t_ns - before_ns),
            job_time_s=seconds(rig.t_ns), observation_id=self._observation_id, peak_force_n=effect.peak_force_n,
            entries=list(effect.entries),
        )  # fmt: skip

    def _consulted(self, consulted: Consulted, action_id: int) -> None:
        self._spent.add(consulted)
        self._rig.log(Kind.CONSULTED, "agent", Severity.INFO, action_id=action_id, **consulted.json())


class Spent:
    """Tokens, money and time a model has cost in one trial."""

    def __init__(self) -> None:
        self.calls = self.input_tokens = self.output_tokens = 0
        self.latency_s = 0.0
        self.cost_usd: float | None = None

    def add(self, consulted: Consulted) -> None:
        """Count one call."""
        self.calls += 1
        self.input_tokens += consulted.input_tokens or 0
        self.output_tokens += consulted.output_tokens or 0
        self.latency_s += consulted.latency_s
        if consulted.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + consulted.cost_usd

    def json(self) -> dict[str, Json]:
        """Return the totals; a cost nobody stated is null, not zero."""
        return {
            "calls": self.calls, "input_tokens": self.input_tokens, "output_tokens": self.output_tokens,
            "latency_s": round(self.latency_s, 6), "cost_usd": self.cost_usd,
        }  # fmt: skip


def _arguments(action: Action | Malformed) -> dict[str, Json]:
    if isinstance(action, Malformed):
        return dict(action.arguments)
    return action.model_dump(mode="json", exclude={"tool"})
