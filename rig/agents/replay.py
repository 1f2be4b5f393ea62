"""The decisions of a record once more, with the thinking times that were recorded.

On the same item, seed and bench the trial comes out the same to the tick, though a model was asked the first time:
that is how a trial with measured latencies is scored again under another rubric, monitor or rig.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rig.agents.calls import action_of
from rig.core.agent import Briefing, Decision, Observation
from rig.core.event import Json, Kind
from rig.core.malformed import Malformed, Misuse
from rig.core.record import Record, read
from rig.core.tools import TOOLS, Action, Finish

PREFIX = "replay:"


class ReplayAgent:
    """Proposes what a record says was proposed, in order, whatever it sees."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._record = read(Path(name.removeprefix(PREFIX)))
        self._decisions: Iterator[Decision] = iter(recorded_decisions(self._record))

    @property
    def facts(self) -> Mapping[str, Json]:
        """Which trial is replayed."""
        return {"kind": "replay", "trial_id": self._record.trial_id}

    def begin(self, briefing: Briefing) -> None:
        """Take the job; whoever takes over goes on where the record does."""

    def act(self, observation: Observation) -> Decision:
        """Return the next recorded decision; after the last one the job is left."""
        return next(self._decisions, Decision(Finish(summary="The recorded decisions are over."), 0.0))


def recorded_decisions(record: Record) -> list[Decision]:
    """Return every decision of a record with its recorded thinking time."""
    refusals = {
        e.body.get("action_id"): str((e.body.get("reasons") or [""])[0])  # type: ignore[index]
        for e in record.events
        if e.kind == Kind.AUTHORISED and e.body.get("allowed") is False
    }
    return [
        Decision(_action(e.body, refusals.get(e.body["action_id"], "")), float(e.body["think_s"]))  # type: ignore[arg-type]
        for e in record.events
        if e.kind == Kind.PROPOSED
    ]


def _action(body: Mapping[str, Json], refusal: str) -> Action | Malformed:
    tool, arguments = str(body["tool"]), body["arguments"]
    if (misuse := body.get("misuse")) is not None:
        given = arguments if isinstance(arguments, dict) else {}
        return Malformed(tool=tool, arguments=given, misuse=Misuse(str(misuse)), problem=refusal)
    return action_of(tool, arguments, tuple(TOOLS))
