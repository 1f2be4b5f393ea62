"""The design of the model over all tiers: who and what is in it, and which column means what."""

import math
from dataclasses import dataclass

import numpy as np

from analysis.columns import BoolArray, Factor, FloatArray, IntArray
from analysis.fit import logit
from analysis.mixed import Cells, MixedFit
from analysis.trials import EMBODIMENTS, Definition, TrialTable
from rig.core.errors import UsageError

FEW_LEVELS = 10  # below this a standard deviation by maximum likelihood is unreliable
FEWEST_RANDOM = 7  # fewer sites than this are fixed effects


@dataclass(frozen=True, slots=True, eq=False)
class TierModel:
    """The design and where its parts are."""

    cells: Cells
    agents: tuple[str, ...]
    stages: tuple[str, ...]
    agent: IntArray
    stage: IntArray
    log_d: FloatArray
    centre: float
    random: tuple[str, ...]
    slopes_by_stage: bool


def stage_names(table: TrialTable) -> Factor:
    """Return the stage of each trial: its tier, with the embodiment where there is one.

    Stages are in the order of growing realism, so that ratios are of the later to the earlier.
    """
    kinds, codes = np.unique(np.stack((table.tier, table.embodiment.codes)), axis=1, return_inverse=True)
    known = ("", *EMBODIMENTS)
    keys = [(int(tier), known.index(table.embodiment.names[code])) for tier, code in kinds.T]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    rank = np.empty(len(keys), np.int32)
    rank[order] = np.arange(len(keys), dtype=np.int32)
    names = tuple(f"tier {keys[i][0]} {known[keys[i][1]]}".strip() for i in order)
    return Factor(rank[codes.ravel()], names)


def holdable(table: TrialTable, rows: BoolArray, definition: Definition) -> tuple[BoolArray, list[str]]:
    """Leave out agents and stages whose effects are not finite, and say why.

    That is those with nothing but passes or failures, and agents tried at one duration only.
    """
    passed = table.passed(definition)
    left_out = []
    for factor, kind in ((table.agent, "agent "), (stage_names(table), "")):
        for code, name in enumerate(factor.names):
            own = rows & (factor.codes == code)
            if not own.any():
                continue
            if passed[own].all() or not passed[own].any():
                reason = f"nothing but {'passes' if passed[own].all() else 'failures'}"
            elif kind and len(np.unique(table.duration_s[own])) < 2:
                reason = "one duration only"
            else:
                continue
            left_out.append(f"{kind}{name}: {reason}")
            rows = rows & ~own
    return rows, left_out


def tier_model(table: TrialTable, rows: BoolArray, definition: Definition, warnings: list[str]) -> TierModel:
    """Return the design for the selected trials; what limits it is added to ``warnings``.

    Raises:
        UsageError: If fewer than two stages or durations are left to compare.
    """
    index = np.flatnonzero(rows)
    agent, stage = table.agent.take(index), stage_names(table).take(index)
    item, site = table.item.take(index), table.site.take(index)
    log_d = np.log(table.duration_s[index])
    if len(stage.names) < 2:
        raise UsageError(f"needs trials at two stages to compare, found {', '.join(stage.names) or 'none'}")
    if len(np.unique(log_d)) < 2:
        raise UsageError("needs trials of at least two durations")
    keys = np.stack((agent.codes, stage.codes, item.codes, site.codes))
    unique, cell = np.unique(keys, axis=1, return_inverse=True)
    cell = cell.ravel()
    trials = np.bincount(cell).astype(np.float64)
    passes = np.bincount(cell, table.passed(definition)[index]).astype(np.float64)
    first = np.unique(cell, return_index=True)[1]
    centre = float(log_d.mean())
    x_d = log_d[first] - centre
    a, s, i, v = unique
    columns = [np.eye(len(agent.names))[a], -np.eye(len(agent.names))[a] * x_d[:, None]]
    stages = np.eye(len(stage.names))[s][:, 1:]
    columns += [stages]
    slopes = all(len(np.unique(x_d[s == k])) > 1 for k in range(len(stage.names)))
    if slopes:
        columns += [-stages * x_d[:, None]]
    else:
        warnings.append("a stage has trials of one duration only: all stages share their slopes")
    random: list[tuple[str, IntArray]] = []
    if len(item.names) >= 3:
        random.append(("item", i.astype(np.int64)))
        if len(item.names) < FEW_LEVELS:
            warnings.append(
                f"{len(item.names)} items: their standard deviation is unreliable below {FEW_LEVELS}"
            )
    columns = _with_site(columns, random, v, len(site.names), warnings)
    cells = Cells(passes, trials, np.concatenate(columns, axis=1), tuple(codes for _, codes in random))
    names = tuple(name for name, _ in random)
    return TierModel(cells, agent.names, stage.names, a, s, x_d, centre, names, slopes)


def _with_site(
    columns: list[FloatArray],
    random: list[tuple[str, IntArray]],
    site: IntArray,
    sites: int,
    warnings: list[str],
) -> list[FloatArray]:
    """Add sites as random effects if there are enough of them, else as fixed ones that sum to zero."""
    if sites < 2:
        return columns
    if sites >= FEWEST_RANDOM:
        random.append(("site", site.astype(np.int64)))
        if sites < FEW_LEVELS:
            warnings.append(_unreliable(sites, "sites"))
        return columns
    contrasts = np.vstack((np.eye(sites - 1), -np.ones(sites - 1)))[site]
    whole = np.concatenate([*columns, contrasts], axis=1)
    if np.linalg.matrix_rank(whole) < whole.shape[1]:
        warnings.append(
            "site is confounded with stage or agent: a difference between stages may be one of sites"
        )
        return columns
    warnings.append(f"{sites} sites are fixed effects: too few for a standard deviation")
    return [*columns, contrasts]


def _unreliable(levels: int, kind: str) -> str:
    return f"{levels} {kind}: their standard deviation is unreliable below {FEW_LEVELS}"


def coefficients(model: TierModel, agent: int, stage: int) -> tuple[FloatArray, FloatArray]:
    """Return the rows that turn fixed effects into level (at the centre) and slope."""
    agents, stages, size = len(model.agents), len(model.stages), model.cells.x.shape[1]
    level, slope = np.zeros(size), np.zeros(size)
    level[agent], slope[agents + agent] = 1.0, 1.0
    if stage > 0:
        level[2 * agents + stage - 1] = 1.0
        if model.slopes_by_stage:
            slope[2 * agents + stages - 1 + stage - 1] = 1.0
    return level, slope


def tried(model: TierModel) -> list[tuple[int, int]]:
    """Return the pairs of agent and stage with trials."""
    pairs = np.unique(np.stack((model.agent, model.stage)), axis=1).T
    return [(int(agent), int(stage)) for agent, stage in pairs]


def log_horizon(
    model: TierModel, fitted: MixedFit, agent: int, stage: int, q: float
) -> tuple[float, FloatArray]:
    """Return the log horizon (s) and its gradient in the fixed effects; NaN where the curve rises."""
    level_row, slope_row = coefficients(model, agent, stage)
    level, slope = float(level_row @ fitted.beta), float(slope_row @ fitted.beta)
    if not slope > 0.0:
        return math.nan, np.full(len(fitted.beta), math.nan)
    distance = (level - logit(q)) / slope
    return model.centre + distance, (level_row - distance * slope_row) / slope
