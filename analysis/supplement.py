"""What belongs beside the horizons: time to mistakes, agreement of tiers, sensitivity to choices."""

from dataclasses import dataclass

import numpy as np

from analysis.exposure import Exposure, exposures
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


def supplement(table: TrialTable, confidence: float = 0.95) -> Supplement:
    """Return what the trials support besides horizons; nothing here refuses the whole."""
    tiers, missing = [], []
    for definition in Definition:
        try:
            tiers.append(reconcile(table, definition, confidence=confidence))
        except UsageError as error:
            missing.append(f"{definition}: {error}")
        except np.linalg.LinAlgError:
            missing.append(f"{definition}: the trials do not determine every effect of the model")
    return Supplement(
        exposures=exposures(table, confidence),
        sensitivities=sensitivities(table, confidence),
        tiers=tuple(tiers),
        no_tiers=tuple(missing),
    )
