"""Horizons that others published, and how ours lie beside them.

A table of published horizons is a CSV file with the columns of `COLUMNS`, in minutes: the agent, t50 with
its interval and t80. Columns not named here are ignored, since such tables carry much else.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from analysis.findings import Horizon
from analysis.horizon import HorizonReport
from analysis.trials import Definition
from rig.core.errors import ConfigError, UsageError

COLUMNS = {
    "agent": ("agent", "model"),
    "t50_min": ("t50_min", "p50_min", "p50", "horizon"),
    "low_min": ("t50_low", "p50_lo", "p50q0.025"),
    "high_min": ("t50_high", "p50_hi", "p50q0.975"),
    "t80_min": ("t80_min", "p80_min", "p80"),
}
"""Names under which each value is found, ours first; only the agent and t50 must be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One published horizon.

    Attributes:
        table: Which table of the file it stands in, "" where the file holds one.
        low_s: Ends of the published interval of t50; None where none was given, infinite where open.
        t80_s: None where none was given.
    """

    agent: str
    table: str
    t50_s: float
    low_s: float | None
    high_s: float | None
    t80_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Our horizon of an agent beside a published one.

    Attributes:
        ours: None where we give no horizon; ``reason`` says why.
        relative: Ours over the published t50, less 1.
        inside: Whether ours lies in the published interval; None where there is none.
        overlap: Whether the published t50 lies in our widest band.
    """

    published: Published
    ours: Horizon | None
    reason: str
    relative: float | None
    inside: bool | None
    overlap: bool | None


def read_published(path: Path) -> tuple[Published, ...]:
    """Read a table of published horizons.

    Raises:
        UsageError: If the file is missing.
        ConfigError: With everything wrong in it, by row and column.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    with path.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.DictReader(stream)
        header = reader.fieldnames or []
        found = {key: next((n for n in names if n in header), None) for key, names in COLUMNS.items()}
        missing = [
            f"has none of the columns {', '.join(COLUMNS[k])}" for k in ("agent", "t50_min") if not found[k]
        ]
        if missing:
            raise ConfigError(str(path), missing)
        wrong: list[str] = []
        rows = [_published(row, found, number, wrong) for number, row in enumerate(reader, start=2)]
    if wrong or not rows:
        raise ConfigError(str(path), wrong or ["holds no rows"])
    return tuple(row for row in rows if row is not None)


def _published(
    row: dict[str, str], found: dict[str, str | None], number: int, wrong: list[str]
) -> Published | None:
    values: dict[str, float | None] = {}
    for key in ("t50_min", "low_min", "high_min", "t80_min"):
        name = found[key]
        text = (row.get(name) or "").strip() if name else ""
        try:
            value = float(text) if text else None
        except ValueError:
            value = math.nan
        if value is not None and not value >= 0.0:
            wrong.append(f"line {number}, {name}: {text!r} is no duration in minutes")
            value = None
        values[key] = None if value is None else 60.0 * value
    agent = (row.get(found["agent"] or "") or "").strip()
    t50 = values["t50_min"]
    if not agent or t50 is None:
        wrong.append(f"line {number}: an agent and its t50 are needed")
        return None
    return Published(
        agent=agent,
        table=(row.get("table") or "").strip(),
        t50_s=t50,
        low_s=values["low_min"],
        high_s=values["high_min"],
        t80_s=values["t80_min"],
    )


def compare(report: HorizonReport, published: tuple[Published, ...]) -> tuple[Comparison, ...]:
    """Return every published horizon of an agent in ``report`` beside ours (agent alone, all families).

    Raises:
        UsageError: If no agent of the report is in the table.
    """
    found = []
    for line in published:
        for entry in report.of(line.agent, Definition.AGENT_ALONE):
            horizon = next((h for h in entry.estimate.horizons if h.q == 0.5), None)
            known = horizon is not None and line.t50_s > 0.0
            found.append(
                Comparison(
                    published=line,
                    ours=horizon,
                    reason="" if entry.estimate.refusal is None else str(entry.estimate.refusal),
                    relative=horizon.t_s / line.t50_s - 1.0 if horizon and known else None,
                    inside=_inside(line, horizon),
                    overlap=_overlap(line, horizon),
                )
            )
    if not found:
        ours = sorted({entry.subject.agent for entry in report.entries})
        theirs = sorted({line.agent for line in published})
        raise UsageError(
            f"no agent is in both: the trials have {', '.join(ours)}; the published table has "
            f"{', '.join(theirs[:20])}{', ...' if len(theirs) > 20 else ''}"
        )
    return tuple(found)


def _inside(line: Published, horizon: Horizon | None) -> bool | None:
    if horizon is None or line.low_s is None or line.high_s is None:
        return None
    return line.low_s <= horizon.t_s <= line.high_s


def _overlap(line: Published, horizon: Horizon | None) -> bool | None:
    if horizon is None or not horizon.bands:
        return None
    low, high = min(b.low_s for b in horizon.bands), max(b.high_s for b in horizon.bands)
    return low <= line.t50_s <= high
