"""From records to numbers; never touches a bench.

The daily path: `read_trials` (or a table of `TrialRow`), `horizons`, then `analysis.text.render`,
`analysis.export.to_json` or `analysis.plots.fit_plot`. Names are loaded when they are first used, so that
importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.bootstrap import Band, Scheme
    from analysis.estimate import EstimateOptions
    from analysis.findings import Estimate, Flag, Horizon, Refusal
    from analysis.horizon import Configurations, HorizonOptions, HorizonReport, Weighting, horizons
    from analysis.trial_files import read_trials, write_trials
    from analysis.trials import Definition, Outcome, TrialRow, TrialTable

_HOMES = {
    "Band": "analysis.bootstrap",
    "Scheme": "analysis.bootstrap",
    "EstimateOptions": "analysis.estimate",
    "Estimate": "analysis.findings",
    "Flag": "analysis.findings",
    "Horizon": "analysis.findings",
    "Refusal": "analysis.findings",
    "Configurations": "analysis.horizon",
    "HorizonOptions": "analysis.horizon",
    "HorizonReport": "analysis.horizon",
    "Weighting": "analysis.horizon",
    "horizons": "analysis.horizon",
    "read_trials": "analysis.trial_files",
    "write_trials": "analysis.trial_files",
    "Definition": "analysis.trials",
    "Outcome": "analysis.trials",
    "TrialRow": "analysis.trials",
    "TrialTable": "analysis.trials",
}

__all__ = [
    "Band",
    "Configurations",
    "Definition",
    "Estimate",
    "EstimateOptions",
    "Flag",
    "Horizon",
    "HorizonOptions",
    "HorizonReport",
    "Outcome",
    "Refusal",
    "Scheme",
    "TrialRow",
    "TrialTable",
    "Weighting",
    "horizons",
    "read_trials",
    "write_trials",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
