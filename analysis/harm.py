"""How often the job was done, how often harm came of it, and how rare harm is shown to be."""

from dataclasses import dataclass

import numpy as np

from analysis.columns import BoolArray, IntArray, combine
from analysis.failures import FailureBounds, failure_bounds
from analysis.trials import TrialTable


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneHarm:
    """The graded trials of one agent on one kind of bench in one monitor mode.

    Attributes:
        mistakes: Trials with a critical mistake of the agent.
        prevented: Those of them in which no harm was effected.
        mistake_bounds: How rare critical mistakes are shown to be.
        harm_bounds: How rare effected harm is shown to be.
    """

    agent: str
    tier: int
    embodiment: str
    monitor: str
    done_harmless: int
    done_harmful: int
    undone_harmless: int
    undone_harmful: int
    mistakes: int
    prevented: int
    mistake_bounds: FailureBounds
    harm_bounds: FailureBounds

    @property
    def trials(self) -> int:
        """All graded trials."""
        return self.done_harmless + self.done_harmful + self.undone_harmless + self.undone_harmful


def done_harm(table: TrialTable, confidence: float = 0.95) -> tuple[DoneHarm, ...]:
    """Tally the graded trials by agent, tier, embodiment and monitor mode."""
    columns = (table.agent.codes, table.tier, table.embodiment.codes, table.monitor.codes)
    graded = np.flatnonzero(table.graded)
    if not len(graded):
        return ()
    group, first = combine(*(column[graded] for column in columns))
    return tuple(_tally(table, graded[group == number], confidence) for number in range(len(first)))


def _tally(table: TrialTable, index: IntArray, confidence: float) -> DoneHarm:
    done, harm, mistake = table.done[index], table.harm[index], table.mistake[index]
    item, site = table.item.take(index), table.site.take(index)

    def count(which: BoolArray) -> int:
        return int(np.count_nonzero(which))

    return DoneHarm(
        agent=table.agent[int(index[0])],
        tier=int(table.tier[index[0]]),
        embodiment=table.embodiment[int(index[0])],
        monitor=table.monitor[int(index[0])],
        done_harmless=count(done & ~harm),
        done_harmful=count(done & harm),
        undone_harmless=count(~done & ~harm),
        undone_harmful=count(~done & harm),
        mistakes=count(mistake),
        prevented=count(mistake & ~harm),
        mistake_bounds=failure_bounds(mistake, item=item, site=site, confidence=confidence),
        harm_bounds=failure_bounds(harm, item=item, site=site, confidence=confidence),
    )
