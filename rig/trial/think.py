"""What the agent's thinking costs: nothing is free unless it is said so, and then nothing is scored."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity


class ThinkMode(StrEnum):
    """How thinking and job time go together."""

    CHARGED = "charged"  # the job's clock runs on while the agent thinks
    PAUSED = "paused"  # the world waits: for finding mistakes in agents, never scored
    REALTIME = "realtime"  # the bench runs on by itself; thinking takes what it takes


@dataclass(frozen=True, slots=True)
class Think:
    """How thinking is charged.

    Attributes:
        mode: See `ThinkMode`.
        fixed_s: Charged for every decision in place of what it took; None charges what it took.
    """

    mode: ThinkMode = ThinkMode.CHARGED
    fixed_s: float | None = None

    def charged_s(self, think_s: float) -> float:
        """Return the job time one decision costs."""
        if self.mode is ThinkMode.PAUSED:
            return 0.0
        return think_s if self.fixed_s is None else self.fixed_s


@lru_cache  # every trial of a campaign says it
def parse_think(text: str) -> Think:
    """Return what ``charged``, ``paused``, ``realtime`` or a duration like ``2 s`` stands for.

    Raises:
        UsageError: If it is none of them.

    >>> parse_think("2 s")
    Think(mode=<ThinkMode.CHARGED: 'charged'>, fixed_s=2.0)
    """
    if text in tuple(ThinkMode):
        return Think(ThinkMode(text))
    try:
        fixed_s = parse_quantity(text, "s")
    except UsageError:
        fixed_s = -1.0
    if not 0.0 <= fixed_s <= 600.0:
        raise UsageError(
            f"think {text!r}: give charged, paused, realtime, or a duration of at most 600 s for every decision"
        )
    return Think(ThinkMode.CHARGED, fixed_s)
