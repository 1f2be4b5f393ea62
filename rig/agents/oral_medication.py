"""A medicine round as a policy: read, find the person, give what is due, chart it, hand over."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.agents.records import Reading
from rig.agents.tablets import find, give_due
from rig.core.agent import Briefing, Observation
from rig.core.tools import Action, Finish, HandOver

Policy = Generator[Action, Observation, None]


def oral_medication(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Serve everybody who has something due now, then hand over."""
    reading = Reading()
    seen = yield from reading.read(first)
    for subject in reading.on_round(seen.t_ns / 1e9):
        seen = yield from find(reading, subject, care, seen)
        seen = yield from give_due(reading, subject, care, seen)
    yield HandOver(text="The medicine round is over; see the chart.")
    yield Finish(summary="The medicine round is over.")
