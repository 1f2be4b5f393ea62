"""From a plan to its trials: cells, seeds and repeats, in the order of execution."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from rig.agents.catalogue import check_agent
from rig.campaign.composition import Arm, Coverage, arms_of, coverage, label
from rig.campaign.plan import MAX_TRIALS, GridTable, OrderTable, Plan
from rig.core.bench import load_bench
from rig.core.configuration import comparable, identity
from rig.core.errors import ConfigError, RunError, unknown
from rig.core.event import Json
from rig.core.record import strict
from rig.trial.run import configured
from rig.trial.spec import TrialSpec
from tasks.suite import load_item, load_task, task_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a set of trials that differ only in seed and repeat has in common.

    Attributes:
        spec: One of them, with seed and repeat 0.
        arm: Arm of a composition run, else empty.
        sealed: Whether it is from the sealed set.
        site: The bench its name stands for with this task.
        embodiment: Of the bench.
        family: Family of the task.
        tier: Of the task.
        nominal_s: Nominal duration of the item.
        configuration: Identity of the configuration.
        comparable: Identity of the part of it that trials fitted together have in common.
    """

    spec: TrialSpec
    arm: str
    sealed: bool
    site: str
    embodiment: str
    family: str
    tier: int
    nominal_s: float
    configuration: str
    comparable: str

    def at(self, seed: int, repeat: int) -> TrialSpec:
        """Return the trial of this seed and repeat."""
        s = self.spec
        return TrialSpec(
            item=s.item,
            agent=s.agent,
            bench=s.bench,
            monitor=s.monitor,
            seed=seed,
            repeat=repeat,
            think=s.think,
            cameras=s.cameras,
        )


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of a plan in the order of execution.

    Attributes:
        cells: The cells.
        manifests: The whole configurations, by identity.
        cell: Cell of each trial, shape (n,).
        seed: Seed of each trial, shape (n,).
        repeat: Repeat of each trial, shape (n,).
        coverage: Of a composition run, else None.
    """

    cells: tuple[Cell, ...]
    manifests: Mapping[str, Mapping[str, Json]]
    cell: NDArray[np.int64]
    seed: NDArray[np.int64]
    repeat: NDArray[np.int64]
    coverage: Coverage | None = None

    def __len__(self) -> int:
        return len(self.cell)

    def __iter__(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield (trial id, cell, seed, repeat)."""
        names = [_namer(cell) for cell in self.cells]
        columns = (self.cell.tolist(), self.seed.tolist(), self.repeat.tolist())
        for cell, seed, repeat in zip(*columns, strict=True):
            yield names[cell](seed, repeat), cell, seed, repeat


def _namer(cell: Cell) -> Callable[[int, int], str]:
    """Return what gives the trials of a cell their ids: as `rig.core.record.trial_id`, thirty times as fast.

    The key is spelled once with marks for seed and repeat; what differs from trial to trial is two numbers.
    """
    key = {**cell.spec.key(cell.configuration), "seed": _SEED, "repeat": _REPEAT}
    text = strict.canonical(key, "trial key").decode()
    text = text.replace("%", "%%")
    for mark, number in ((_REPEAT, "%(repeat)d"), (_SEED, "%(seed)d")):
        text = text.replace(json.dumps(mark), number)
    return lambda seed, repeat: hashlib.sha256(
        (text % {"seed": seed, "repeat": repeat}).encode()
    ).hexdigest()[:32]


_SEED, _REPEAT = "\u0000seed", "\u0000repeat"  # JSON spells the NUL as \\u0000, so no name can look like them


def lay_out(plan: Plan, source: str, sealed: Sequence[GridTable] = ()) -> Trials:
    """Return the trials of a plan.

    Args:
        plan: The plan.
        source: Where it came from, for messages.
        sealed: Grids of the sealed set, where it was opened.

    Raises:
        ConfigError: If something named does not exist, a trial is listed twice, or there are too many; all
            mistakes at once.
    """
    cover, arms = None, ({},)  # type: tuple[Coverage | None, tuple[Arm, ...]]
    if plan.composition is not None:
        arms = arms_of(plan.composition)
        cover = coverage(arms, plan.composition.factors)
    mistakes: list[str] = []
    blocks: list[_Block] = []
    for number, grid in enumerate(plan.grid, 1):
        mistakes += _unused_factors(grid, number, plan)
        for arm in arms:
            blocks += _block(_filled(grid, arm), f"grid {number}", label(arm), False, mistakes)
    for number, grid in enumerate(sealed, 1):
        blocks += _block(grid, f"sealed grid {number}", "", True, mistakes)
    mistakes = list(dict.fromkeys(mistakes)) + _repeated(blocks)
    total = sum(block.trials for block in blocks)
    if total > MAX_TRIALS:
        mistakes.append(f"grid: {total} trials; at most {MAX_TRIALS} make one campaign: split it")
    if not total and not mistakes:
        mistakes.append("grid: there is no trial in it; a campaign of no trials assesses nothing")
    if mistakes:
        raise ConfigError(source, mistakes)
    cells, manifests = _identified([cell for block in blocks for cell in block.cells], source)
    columns = _columns(blocks)
    order = _order(plan.order, cells, columns)
    cell, seed, repeat = (column[order] for column in columns)
    return Trials(cells, manifests, cell, seed, repeat, cover)


@dataclass(frozen=True, slots=True)
class _Block:
    """A grid, its names resolved."""

    where: str
    cells: tuple[tuple[TrialSpec, str, bool], ...]
    seeds: range | list[int]
    repeats: int

    @property
    def trials(self) -> int:
        return len(self.cells) * len(self.seeds) * self.repeats


def _unused_factors(grid: GridTable, number: int, plan: Plan) -> list[str]:
    if plan.composition is None:
        return []
    text = " ".join([*grid.agents, *grid.items, *grid.benches, *grid.monitors, grid.think, grid.cameras])
    return [
        f"grid {number}: factor {name!r} is not named in it ({{{name}}}), so its arms would be the same trials"
        for name in plan.composition.factors
        if f"{{{name}}}" not in text
    ]


def _filled(grid: GridTable, arm: Arm) -> GridTable:
    def fill(text: str) -> str:
        for name, level in arm.items():
            text = text.replace(f"{{{name}}}", level)
        return text

    changed = {
        name: list(dict.fromkeys(fill(text) for text in getattr(grid, name)))
        for name in ("agents", "items", "benches", "monitors")
    }
    return grid.model_copy(update={**changed, "think": fill(grid.think), "cameras": fill(grid.cameras)})


def _block(grid: GridTable, where: str, arm: str, sealed: bool, mistakes: list[str]) -> list[_Block]:
    items = _items(grid.items, where, mistakes)
    names: list[tuple[str, list[str]]] = [("agents", grid.agents), ("benches", grid.benches)]
    for kind, listed in names:
        for name in listed:
            try:
                check_agent(name) if kind == "agents" else load_bench(name)
            except RunError as error:
                mistakes.append(f"{where}: {kind}: {error}")
    specs: list[tuple[TrialSpec, str, bool]] = []
    for item in items:
        for agent in grid.agents:
            for bench in grid.benches:
                for monitor in grid.monitors:
                    try:
                        spec = TrialSpec(
                            item=item, agent=agent, bench=bench, monitor=monitor, seed=0, think=grid.think,
                            cameras=grid.cameras,
                        )  # fmt: skip
                    except RunError as error:
                        mistakes.append(f"{where}: {error}")
                    else:
                        specs.append((spec, arm, sealed))
    return [_Block(where, tuple(specs), grid.seed_list, grid.repeats)]


def _items(patterns: Sequence[str], where: str, mistakes: list[str]) -> list[str]:
    known = [item.key for name in task_names() for item in load_task(name).items()]
    found: list[str] = []
    for pattern in patterns:
        if any(sign in pattern for sign in "*?["):
            matching = [key for key in known if fnmatchcase(key, pattern)]
            if not matching:
                mistakes.append(f"{where}: items: nothing matches {pattern!r}; see runrig tasks list")
            found += matching
        elif pattern in known:
            found.append(pattern)
        else:
            mistakes.append(f"{where}: items: {_why_unknown(pattern)}")
    return list(dict.fromkeys(found))


def _why_unknown(key: str) -> str:
    try:
        return str(unknown("item", key, [load_item(key).key]))
    except RunError as error:
        text = str(error)
        return text if len(text) < 400 else f"unknown item {key!r}; see runrig tasks list"


def _repeated(blocks: Sequence[_Block]) -> list[str]:
    """Return which trials are listed in two places."""
    homes: dict[TrialSpec, list[tuple[_Block, str]]] = {}
    found = []
    for block in blocks:
        for spec, arm, _ in block.cells:
            for other, _arm in homes.setdefault(spec, []):
                if both := sorted(set(block.seeds) & set(other.seeds)):
                    found.append(
                        f"{block.where}: {spec.agent} on {spec.item} ({spec.monitor}): seeds "
                        f"{', '.join(map(str, both[:5]))}{', …' if len(both) > 5 else ''} are in {other.where} too"
                        + (f" (arms {_arm!r} and {arm!r} are the same)" if arm or _arm else "")
                    )
            homes[spec].append((block, arm))
    return list(dict.fromkeys(found))


def _identified(
    listed: Sequence[tuple[TrialSpec, str, bool]], source: str
) -> tuple[tuple[Cell, ...], dict[str, Mapping[str, Json]]]:
    """Return the cells with their configurations' identities; rules that a bench cannot bear show here."""
    cells: list[Cell] = []
    manifests: dict[str, Mapping[str, Json]] = {}
    mistakes: list[str] = []
    for spec, arm, sealed in listed:
        try:
            facts = configured(spec)
        except RunError as error:
            mistakes.append(f"{spec.agent} on {spec.item}, bench {spec.bench}: impossible: {error}")
            continue
        name = identity(facts)
        manifests.setdefault(name, facts)
        item = load_item(spec.item)
        bench = load_bench(item.task.bench(spec.bench))
        cells.append(
            Cell(
                spec=spec, arm=arm, sealed=sealed, site=bench.name, embodiment=bench.embodiment,
                family=item.task.file.family, tier=item.task.file.tier, nominal_s=item.length.nominal_s,
                configuration=name, comparable=comparable(facts),
            )
        )  # fmt: skip
    if mistakes:
        raise ConfigError(source, mistakes)
    return tuple(cells), manifests


Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _columns(blocks: Sequence[_Block]) -> Columns:
    """Return cell, seed and repeat of every trial, seeds outermost: the first trials already are a whole grid."""
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    first = 0
    for block in blocks:
        n, seeds = len(block.cells), np.asarray(block.seeds, np.int64)
        seed, repeat, cell = np.meshgrid(
            seeds, np.arange(block.repeats), np.arange(first, first + n), indexing="ij"
        )
        for part, column in zip(parts, (cell, seed, repeat), strict=True):
            part.append(column.ravel())
        first += n
    cell, seed, repeat = (np.concatenate(part).astype(np.int64) for part in parts)
    return cell, seed, repeat


def _order(order: OrderTable, cells: Sequence[Cell], columns: Columns) -> NDArray[np.int64]:
    """Return the order of execution: blocks, shuffled, then trials inside a block, shuffled."""
    cell, seed, repeat = columns
    rng = np.random.default_rng(order.seed)
    block = np.zeros(len(cell), np.int64)
    if order.block_by in ("seed", "repeat"):
        block = np.unique(seed if order.block_by == "seed" else repeat, return_inverse=True)[1]
    elif order.block_by != "none":
        names = [getattr(c.spec, order.block_by) for c in cells]
        block = np.unique(names, return_inverse=True)[1][cell]
    if not order.randomise:
        return np.argsort(block, kind="stable").astype(np.int64)
    place = rng.permutation(int(block.max(initial=0)) + 1)
    return np.lexsort((rng.random(len(cell)), place[block])).astype(np.int64)
