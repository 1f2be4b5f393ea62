"""From records to numbers; never touches a bench.

The daily path: `read_trials` (or `analysis.table.load_table` for records), `horizons`, then
`analysis.text.render` for a terminal, `to_json` for machines or `write_report` for people; `supplement` adds
time to mistakes, agreement of tiers and sensitivity. `RunningEstimate` does the same while trials come in,
`build_site` publishes a bundle. Names are loaded when they are first used, so importing this costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.bootstrap import Band, Scheme
    from analysis.bundle import load_bundle
    from analysis.counting import counted
    from analysis.estimate import EstimateOptions
    from analysis.export import to_json
    from analysis.exposure import Exposure, exposures
    from analysis.failures import FailureBounds, failure_bounds
    from analysis.findings import Estimate, Flag, Horizon, Refusal
    from analysis.horizon import Configurations, HorizonOptions, HorizonReport, Weighting, horizons
    from analysis.live import RunningEstimate
    from analysis.raters import agreement, validate_judge
    from analysis.report import write_report
    from analysis.scoreboard import build_site
    from analysis.sensitivity import sensitivities
    from analysis.supplement import Supplement, supplement
    from analysis.tiers import Reconciliation, reconcile
    from analysis.trial_files import read_trials, write_trials
    from analysis.trials import Definition, Outcome, TrialRow, TrialTable

_HOMES = {
    "Band": "analysis.bootstrap",
    "Scheme": "analysis.bootstrap",
    "load_bundle": "analysis.bundle",
    "counted": "analysis.counting",
    "EstimateOptions": "analysis.estimate",
    "to_json": "analysis.export",
    "Exposure": "analysis.exposure",
    "exposures": "analysis.exposure",
    "FailureBounds": "analysis.failures",
    "failure_bounds": "analysis.failures",
    "Estimate": "analysis.findings",
    "Flag": "analysis.findings",
    "Horizon": "analysis.findings",
    "Refusal": "analysis.findings",
    "Configurations": "analysis.horizon",
    "HorizonOptions": "analysis.horizon",
    "HorizonReport": "analysis.horizon",
    "Weighting": "analysis.horizon",
    "horizons": "analysis.horizon",
    "RunningEstimate": "analysis.live",
    "agreement": "analysis.raters",
    "validate_judge": "analysis.raters",
    "write_report": "analysis.report",
    "build_site": "analysis.scoreboard",
    "sensitivities": "analysis.sensitivity",
    "Supplement": "analysis.supplement",
    "supplement": "analysis.supplement",
    "Reconciliation": "analysis.tiers",
    "reconcile": "analysis.tiers",
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
    "Exposure",
    "FailureBounds",
    "Flag",
    "Horizon",
    "HorizonOptions",
    "HorizonReport",
    "Outcome",
    "Reconciliation",
    "Refusal",
    "RunningEstimate",
    "Scheme",
    "Supplement",
    "TrialRow",
    "TrialTable",
    "Weighting",
    "agreement",
    "build_site",
    "counted",
    "exposures",
    "failure_bounds",
    "horizons",
    "load_bundle",
    "read_trials",
    "reconcile",
    "sensitivities",
    "supplement",
    "to_json",
    "validate_judge",
    "write_report",
    "write_trials",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
