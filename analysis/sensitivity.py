"""How far t50 moves when choices that could have been made otherwise are made otherwise.

The first line of an agent is the RUN protocol: every trial counts alike, without any penalty.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.columns import BoolArray, FloatArray, combine
from analysis.counting import counted
from analysis.estimate import refuse
from analysis.findings import Refusal
from analysis.fit import Cells, fit
from analysis.floor import beats_guessing, fit_above_floor
from analysis.horizon import Weighting, weights
from analysis.trials import Definition, TrialTable
from rig.core.errors import UsageError

BASE = "every trial alike"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of looking at the trials of one agent.

    Attributes:
        choice: What was done differently, e.g. "without family feeding".
        t50_s: None where there is no horizon this way.
        ratio: ``t50_s`` over that of the first variant; None where either is missing.
    """

    choice: str
    trials: int
    passes: int
    t50_s: float | None
    t80_s: float | None
    ratio: float | None
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """All variants for one agent on one kind of bench, the protocol's own first."""

    agent: str
    tier: int
    embodiment: str
    variants: tuple[Variant, ...]


def sensitivities(
    table: TrialTable, confidence: float = 0.95, guess_floor: float = 0.0
) -> tuple[Sensitivity, ...]:
    """Return the variants of every agent on every kind of bench, agent alone.

    With a ``guess_floor`` above 0 one more variant is fitted above it.
    """
    group, _ = combine(table.agent.codes, table.tier, table.embodiment.codes)
    found = []
    counts = counted(table, Definition.AGENT_ALONE)
    for number in np.flatnonzero(np.bincount(group[counts])):
        rows = counts & (group == number)
        first = int(np.flatnonzero(rows)[0])
        variants: list[Variant] = []
        for choice, chosen, passed, weighting in _choices(table, rows):
            base = variants[0] if variants else None
            variants.append(_variant(table, choice, chosen, passed, weighting, confidence, base))
        if guess_floor > 0.0:
            variants.append(_above_floor(table, rows, guess_floor, variants[0], confidence))
        names = (table.agent[first], int(table.tier[first]), table.embodiment[first])
        found.append(Sensitivity(*names, tuple(variants)))
    return tuple(found)


def _choices(table: TrialTable, rows: BoolArray) -> Iterator[tuple[str, BoolArray, BoolArray, Weighting]]:
    passed = table.passed(Definition.AGENT_ALONE)
    yield BASE, rows, passed, Weighting.NONE
    yield "each task item alike", rows, passed, Weighting.TASK
    yield "families weighted by 1/sqrt(items)", rows, passed, Weighting.INVSQRT_FAMILY
    families = np.flatnonzero(np.bincount(table.family.codes[rows])).tolist()
    if len(families) > 1:
        for code in families:
            name = table.family.names[code]
            yield f"without family {name}", rows & (table.family.codes != code), passed, Weighting.NONE
    sites = np.flatnonzero(np.bincount(table.site.codes[rows])).tolist()
    if len(sites) > 1:
        for code in sites:
            name = table.site.names[code]
            yield f"without site {name}", rows & (table.site.codes != code), passed, Weighting.NONE
    shortest = rows & (table.duration_s > table.duration_s[rows].min())
    yield "without the shortest duration", shortest, passed, Weighting.NONE
    # The scorings a reader may dispute: what counts as a pass.
    yield "job done, mistakes or not", rows, table.done, Weighting.NONE
    yield "no critical mistake, job done or not", rows, ~table.mistake, Weighting.NONE
    yield "prevented mistakes forgiven", rows, table.done & ~table.harm, Weighting.NONE


def _variant(
    table: TrialTable,
    choice: str,
    rows: BoolArray,
    passed: BoolArray,
    weighting: Weighting,
    confidence: float,
    base: Variant | None,
) -> Variant:
    index = np.flatnonzero(rows)
    weight = weights(table, index, weighting)
    duration_s, ok = table.duration_s[index], passed[index]
    plain = Cells.of(duration_s, ok)
    refusal = refuse(plain, int(np.count_nonzero(np.bincount(table.item.codes[index]))), confidence)
    t50 = t80 = ratio = None
    if refusal is None:
        fitted = fit(Cells.of(duration_s, ok, _mean_one(weight)))
        t50, t80 = fitted.t_s(0.5), fitted.t_s(0.8)
        reported = t50 if base is None else base.t50_s
        ratio = t50 / reported if reported else None
    return Variant(choice, len(index), int(ok.sum()), t50, t80, ratio, refusal)


def _above_floor(
    table: TrialTable, rows: BoolArray, floor: float, base: Variant, confidence: float
) -> Variant:
    """Return the variant fitted above a guess floor, refused where the base is or no maximum exists."""
    passed = table.passed(Definition.AGENT_ALONE)[rows]
    choice = f"above a guess floor of {100 * floor:g} %"
    counts = len(passed), int(passed.sum())
    if base.refusal is not None:
        return Variant(choice, *counts, None, None, None, base.refusal)
    try:
        cells = Cells.of(table.duration_s[rows], passed)
        fitted = fit_above_floor(cells, floor)
    except UsageError:
        return Variant(choice, *counts, None, None, None, Refusal.GUESSING)
    if not beats_guessing(cells, fitted, floor, confidence):
        return Variant(choice, *counts, None, None, None, Refusal.GUESSING)
    if fitted.beta <= 0.0:
        return Variant(choice, *counts, None, None, None, Refusal.RISING)
    t50 = fitted.t_s(0.5)
    return Variant(choice, *counts, t50, fitted.t_s(0.8), t50 / base.t50_s if base.t50_s else None, None)


def _mean_one(weight: FloatArray | None) -> FloatArray | None:
    return None if weight is None else weight / weight.mean()
