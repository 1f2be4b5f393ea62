"""Alarms as episodes in time, and the load they put on people (after EEMUA 191 and ISA-18.2)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rig.core.errors import UsageError
from safety_monitor.rule import ACTUATING, Response

PERIOD_S = 600.0
"""Alarm rates are counted over ten minutes."""
FLOOD = 10
"""More alarms than this in one period are a flood."""
CHATTER_S, CHATTER_N = 60.0, 3
"""Three of one rule within a minute are chatter."""
STANDING_S = 3600.0
"""An alarm that stands longer than this informs nobody any more. Our choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One episode of one rule: from the tick it was broken or lost until it cleared.

    Attributes:
        rule: Id of the rule.
        protects: Id of the criterion it guards.
        response: What it asked for.
        start_s: Sensor time of the tick it began.
        end_s: When it cleared; the end of the trial if it never did.
        unknown: It was raised because too much was unknown.
        near: The least distance from the limit over the trial, as a share of the limit; used on
            trials without harm to tell a near miss from a nuisance. Infinite where not known.
    """

    rule: str
    protects: str
    response: Response
    start_s: float
    end_s: float
    unknown: bool = False
    near: float = float("inf")

    def __post_init__(self) -> None:
        if not self.start_s <= self.end_s:  # also refuses NaN
            raise UsageError(f"alarm of {self.rule}: start {self.start_s} s is not before end {self.end_s} s")

    @property
    def actuates(self) -> bool:
        """Whether it interrupts the job rather than informing somebody."""
        return self.response in ACTUATING


@dataclass(frozen=True, slots=True)
class Load:
    """What the alarms of one or more trials ask of people.

    Attributes:
        alarms: How many there were.
        per_period: Mean number in ten minutes.
        flooded: Share of ten-minute periods with more than ten.
        chattering: Rules that alarmed three times within a minute.
        standing: How many stood for more than an hour.
        time_in_alarm: Share of the time in which at least one was standing.
    """

    alarms: int
    per_period: float
    flooded: float
    chattering: tuple[str, ...]
    standing: int
    time_in_alarm: float


def time_in_alarm_s(alarms: Sequence[Alarm]) -> float:
    """Return the time in which at least one alarm of a trial stood."""
    total_s, reached_s = 0.0, -np.inf
    for alarm in sorted(alarms, key=lambda a: a.start_s):
        total_s += max(0.0, alarm.end_s - max(alarm.start_s, reached_s))
        reached_s = max(reached_s, alarm.end_s)
    return float(total_s)


def _chattering(alarms: Sequence[Alarm]) -> set[str]:
    starts: dict[str, list[float]] = defaultdict(list)
    for alarm in alarms:
        starts[alarm.rule].append(alarm.start_s)
    found = set()
    for rule, times in starts.items():
        ordered = np.sort(times)
        if len(ordered) >= CHATTER_N and np.any(
            ordered[CHATTER_N - 1 :] - ordered[: 1 - CHATTER_N] <= CHATTER_S
        ):
            found.add(rule)
    return found


def load(trials: Sequence[tuple[Sequence[Alarm], float]]) -> Load:
    """Return the alarm load of trials, each its alarms and its duration in seconds.

    Raises:
        UsageError: If there is no time to count over.
    """
    total_s = sum(duration_s for _, duration_s in trials)
    if not total_s > 0:
        raise UsageError("alarm load needs trials that lasted longer than nothing")
    counts = np.concatenate([_per_period(alarms, duration_s) for alarms, duration_s in trials])
    every = [alarm for alarms, _ in trials for alarm in alarms]
    return Load(
        alarms=len(every),
        per_period=len(every) * PERIOD_S / total_s,
        flooded=float(np.mean(counts > FLOOD)),
        chattering=tuple(sorted(set().union(*(_chattering(alarms) for alarms, _ in trials)))),
        standing=sum(a.end_s - a.start_s > STANDING_S for a in every),
        time_in_alarm=sum(time_in_alarm_s(alarms) for alarms, _ in trials) / total_s,
    )


def _per_period(
    alarms: Sequence[Alarm], duration_s: float
) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    periods = max(1, int(np.ceil(duration_s / PERIOD_S)))
    which = np.minimum(np.array([a.start_s for a in alarms]) // PERIOD_S, periods - 1).astype(np.int64)
    return np.bincount(which, minlength=periods)
