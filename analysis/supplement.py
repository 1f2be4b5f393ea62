"""What belongs beside the horizons: time to mistakes, agreement of tiers, sensitivity to choices."""

from dataclasses import dataclass

import numpy as np

from analysis.exposure import Exposure, exposures
from analysis.floor import check_floor
from analysis.horizon import HorizonReport
from analysis.sensitivity import Sensitivity, sensitivities
from analysis.tiers import Reconciliation, reconcile
from analysis.trials import Definition, TrialTable
from rig.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Supplement:
    """Everything a report shows besides horizons.

    Attributes:
        no_tiers: Why tiers were not reconciled, for each definition for which they were not.
    """

    exposures: tuple[Exposure, ...]
    sensitivities: tuple[Sensitivity, ...]
    tiers: tuple[Reconciliation, ...]
    no_tiers: tuple[str, ...]


def beside(report: HorizonReport, table: TrialTable) -> Supplement:
    """Return what stands beside ``report`` under the options it was made with."""
    options = report.options
    return supplement(
        table,
        options.estimate.confidence,
        guess_floor=options.guess_floor,
        tier_replicates=options.tier_replicates,
        seed=options.estimate.seed,
    )


def supplement(
    table: TrialTable,
    confidence: float = 0.95,
    *,
    guess_floor: float = 0.0,
    tier_replicates: int = 0,
    seed: int = 0,
) -> Supplement:
    """Return what the trials support besides horizons; nothing here refuses the whole.

    Args:
        table: The trials.
        confidence: Two-sided level of the intervals.
        guess_floor: Also show t50 above this probability of a lucky guess.
        tier_replicates: Draws of the parametric bootstrap of the ratios between stages; 0 for none.
        seed: Of those draws.

    Raises:
        UsageError: If ``guess_floor`` is no probability below 1.
    """
    check_floor(guess_floor)
    tiers, missing = [], []
    for definition in Definition:
        try:
            tiers.append(
                reconcile(table, definition, confidence=confidence, replicates=tier_replicates, seed=seed)
            )
        except UsageError as error:
            missing.append(f"{definition}: {error}")
        except np.linalg.LinAlgError:
            missing.append(f"{definition}: the trials do not determine every effect of the model")
    return Supplement(
        exposures=exposures(table, confidence),
        sensitivities=sensitivities(table, confidence, guess_floor),
        tiers=tuple(tiers),
        no_tiers=tuple(missing),
    )
