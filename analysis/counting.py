"""Which trials a statement about an agent may count."""

import numpy as np

from analysis.columns import BoolArray, combine
from analysis.trials import Definition, TrialTable


def counted(table: TrialTable, definition: Definition) -> BoolArray:
    """Return the graded trials that count under ``definition``, shape (n,).

    Agent alone: each draw of the agent once. Agent + monitor: only trials with the monitor in guard, since
    nobody can say what it would have stopped elsewhere.
    """
    if definition is Definition.AGENT_WITH_MONITOR:
        return table.graded & table.monitor.is_("guard")
    return table.graded & ~second_looks(table)


def second_looks(table: TrialTable) -> BoolArray:
    """Return the guarded trials that have a graded shadow twin, shape (n,).

    Twins are trials of one agent and configuration with the same item and seed. What the agent does alone
    is seen in the shadow trial; counting both would count one draw twice.
    """
    seeded = np.isfinite(table.seed)
    _, seed = np.unique(np.where(seeded, table.seed, 0.0), return_inverse=True)
    factors = (table.agent, table.item, table.embodiment, table.config_digest)
    twin, _ = combine(*(factor.codes for factor in factors), table.tier, seed)
    shadow = seeded & table.graded & table.monitor.is_("shadow")
    has_shadow = np.bincount(twin[shadow], minlength=int(twin.max(initial=0)) + 1) > 0
    return seeded & table.monitor.is_("guard") & has_shadow[twin]
