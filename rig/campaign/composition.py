"""Composition runs: which changes are made together, and which togethernesses stay untested."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from rig.campaign.plan import CompositionTable
from rig.core.errors import UsageError

Arm = Mapping[str, str]
Levels = tuple[tuple[str, str], ...]
"""Some factors with a level each, in the order of the factors."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the togetherness of changes a set of arms tests.

    Attributes:
        strengths: (t, covered, all): combinations of levels of t factors that occur in some arm.
        uncovered: Pairs of levels that occur in no arm, in words.
    """

    strengths: tuple[tuple[int, int, int], ...]
    uncovered: tuple[str, ...]

    def lines(self) -> tuple[str, ...]:
        """Return the coverage for people, the gap last."""
        said = [
            f"{covered} of {of} combinations of {t} levels are tested" for t, covered, of in self.strengths
        ]
        gap = [f"not tested: {pair}" for pair in self.uncovered]
        return (*said, *(gap or ["every pair is tested"]))


def label(arm: Arm) -> str:
    """Return the name of an arm: its levels.

    >>> label({"carer": "hasty", "mode": "guard"})
    'carer=hasty mode=guard'
    """
    return " ".join(f"{name}={level}" for name, level in arm.items())


def arms_of(table: CompositionTable) -> tuple[Arm, ...]:
    """Return the arms: baseline, each change alone, all together, then what the design adds.

    Raises:
        UsageError: If there would be too many, or the baseline itself is excluded.
    """
    factors = table.factors
    baseline = {name: levels[0] for name, levels in factors.items()}
    if _excluded(baseline, table.exclude):
        raise UsageError(
            f"composition: the baseline ({label(baseline)}) is excluded; nothing could be compared"
        )
    singles = [{**baseline, name: level} for name, levels in factors.items() for level in levels[1:]]
    joint = {name: levels[-1] for name, levels in factors.items()}
    arms = _distinct(arm for arm in (baseline, *singles, joint) if not _excluded(arm, table.exclude))
    if table.design == "factorial":
        total = prod(len(levels) for levels in factors.values())
        if total > table.max_arms:
            raise UsageError(
                f'composition: {total} arms, more than max_arms = {table.max_arms}; use design = "pairwise"'
            )
        every = (dict(zip(factors, levels, strict=True)) for levels in product(*factors.values()))
        arms = _distinct((*arms, *(arm for arm in every if not _excluded(arm, table.exclude))))
    elif table.design == "pairwise":
        arms = _cover_pairs(arms, table)
    if len(arms) > table.max_arms:
        raise UsageError(f"composition: {len(arms)} arms, more than max_arms = {table.max_arms}")
    return arms


def coverage(arms: Sequence[Arm], factors: Mapping[str, Sequence[str]]) -> Coverage:
    """Return how much of the combinations of 2, 3 and 4 levels the arms test."""
    strengths = []
    for t in range(2, min(len(factors), 4) + 1):
        seen = {tuple((n, arm[n]) for n in names) for arm in arms for names in combinations(factors, t)}
        total = sum(prod(len(factors[n]) for n in names) for names in combinations(factors, t))
        strengths.append((t, len(seen), total))
    missing = sorted(_all_pairs(factors) - {p for arm in arms for p in _pairs(arm)})
    return Coverage(tuple(strengths), tuple(" with ".join(f"{n}={v}" for n, v in pair) for pair in missing))


def _cover_pairs(arms: tuple[Arm, ...], table: CompositionTable) -> tuple[Arm, ...]:
    """Add arms, each covering as many new pairs as a greedy choice finds, until every pair that can be is."""
    left = _all_pairs(table.factors) - {p for arm in arms for p in _pairs(arm)}
    found = list(arms)
    for pair in sorted(left):
        if pair not in left:
            continue
        arm = _completed(dict(pair), table, left)
        if arm is None:  # excluded with everything: stays uncovered, and `coverage` says so
            left.discard(pair)
            continue
        found.append(arm)
        left -= set(_pairs(arm))
    return tuple(found)


def _completed(fixed: dict[str, str], table: CompositionTable, left: set[Levels]) -> Arm | None:
    """Return a whole arm with the levels given, preferring levels that cover pairs; None if none is allowed."""
    if _excluded(fixed, table.exclude):
        return None
    open_factors = [name for name in table.factors if name not in fixed]
    if not open_factors:
        return {name: fixed[name] for name in table.factors}
    name = open_factors[0]

    def gain(level: str) -> int:
        trial = {**fixed, name: level}
        return sum(p in left for p in _pairs({n: trial[n] for n in table.factors if n in trial}))

    for level in sorted(table.factors[name], key=gain, reverse=True):
        arm = _completed({**fixed, name: level}, table, left)
        if arm is not None:
            return arm
    return None


def _pairs(arm: Arm) -> Iterable[Levels]:
    return combinations(arm.items(), 2)


def _all_pairs(factors: Mapping[str, Sequence[str]]) -> set[Levels]:
    return {
        ((a, x), (b, y)) for (a, xs), (b, ys) in combinations(factors.items(), 2) for x, y in product(xs, ys)
    }


def _excluded(arm: Arm, exclude: Sequence[Arm]) -> bool:
    return any(all(arm.get(name) == level for name, level in wrong.items()) for wrong in exclude)


def _distinct(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    found: dict[Levels, Arm] = {}
    for arm in arms:
        found.setdefault(tuple(arm.items()), arm)
    return tuple(found.values())
