"""A horizon report as strict JSON: no NaN and no infinity, a null with a word that says why instead."""

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from analysis.findings import Estimate
from analysis.fit import Cells, LogisticFit
from analysis.horizon import Entry, HorizonReport
from analysis.published import Comparison
from analysis.supplement import Supplement

FORMAT = "runrig.horizon/1"


def to_json(
    report: HorizonReport, beside: Supplement | None = None, comparisons: Sequence[Comparison] = ()
) -> dict[str, Any]:
    """Return the report as values that `json.dumps(..., allow_nan=False)` accepts.

    A number that is not finite becomes ``null`` and its name, with ``_quality`` appended, says whether it
    is ``unbounded`` (infinite), ``below every duration`` or ``undefined``. What stands beside the horizons
    is added under ``supplement`` where it is given, and published horizons under ``published``.
    """
    values = {
        "format": FORMAT,
        "source": report.source,
        "data_digest": report.data_digest,
        "trials": report.trials,
        "options": _value(report.options),
        "versions": dict(report.versions),
        "entries": [_entry(entry) for entry in report.entries],
        "done_harm": [_value(line) | {"trials": line.trials} for line in report.done_harm],
        "excluded": _value(report.excluded),
        "pooled": [{"agent": agent, "config_digests": list(digests)} for agent, digests in report.pooled],
    }
    if beside is not None:
        values["supplement"] = _value(beside)
    if comparisons:
        values["published"] = [_value(line) for line in comparisons]
    return values


def _entry(entry: Entry) -> dict[str, Any]:
    return {**_value(entry.subject), **_estimate(entry.estimate), "records": list(entry.records)}


def _estimate(found: Estimate) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "trials": found.trials,
        "passes": found.passes,
        "items": found.items,
        "assessed": found.trials > 0,
        "statement": found.statement,
        "refusal": found.refusal.name.lower() if found.refusal else None,
        "flags": [flag.name.lower() for flag in found.flags],
    }
    plain |= _number("shortest_s", found.shortest_s) | _number("longest_s", found.longest_s)
    horizons = []
    for horizon in found.horizons:
        values = _value(horizon) | {"name": horizon.name} | _number("lower_s", horizon.lower_s)
        values["flags"] = [flag.name.lower() for flag in horizon.flags]
        horizons.append(values)
    return plain | {
        "horizons": horizons,
        "fit": _fit(found.fitted),
        "slope": _value(found.slope),
        "pass_rate": _value(found.pass_rate),
        "brackets": _value(found.brackets),
        "rates": _value(found.rates),
    }


def _fit(fitted: LogisticFit | None) -> dict[str, Any] | None:
    if fitted is None:
        return None
    return {
        **_value(fitted),
        **_number("alpha", fitted.alpha),
        **_number("se_beta", fitted.se_beta),
    }


def _number(name: str, value: float) -> dict[str, Any]:
    if math.isfinite(value):
        return {name: value}
    word = "undefined" if math.isnan(value) else "unbounded" if value > 0 else "below every duration"
    return {name: None, f"{name}_quality": word}


def _value(value: Any) -> Any:  # noqa: ANN401
    """Turn frozen values into plain ones, field by field."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        members: dict[str, Any] = {}
        for part in fields(value):
            inner = getattr(value, part.name)
            if isinstance(inner, Cells):
                continue
            members |= _number(part.name, inner) if isinstance(inner, float) else {part.name: _value(inner)}
        return members
    if isinstance(value, np.generic):
        return _value(value.item())
    if isinstance(value, tuple | list):
        return [_value(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return [_value(inner) for inner in value.tolist()]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
