"""What stands beside the horizons, as tables on a terminal: stages, other choices, published figures."""

import math
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.bounds import Interval
from analysis.published import Comparison
from analysis.sensitivity import BASE, Sensitivity, Variant
from analysis.supplement import Supplement
from analysis.text import REASONS
from analysis.tiers import Reconciliation
from analysis.words import duration, span

MOST_OMISSIONS = 6


def render_beside(found: Supplement) -> RenderableType:
    """Return the ratios between stages and what other choices would give."""
    parts: list[RenderableType] = []
    for tiers in found.tiers:
        parts += _stages(tiers)
    parts += [Text(f"Stages are not compared: {reason}", style="dim") for reason in found.no_tiers]
    if found.sensitivities:
        parts.append(_choices(found.sensitivities))
    return Group(*parts)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _stages(tiers: Reconciliation) -> Iterator[RenderableType]:
    table = _table(f"t50 at one stage over another, {tiers.definition}")
    for name in ("agent", "stage", "over"):
        table.add_column(name, overflow="fold")
    drawn = any(ratio.bootstrap for ratio in tiers.ratios)
    for name in ("ratio", "delta method", *(["bootstrap"] if drawn else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for ratio in tiers.ratios:
        cells = [ratio.agent, ratio.stage, ratio.reference, f"{ratio.ratio:.2f}", _range(ratio.interval)]
        table.add_row(*cells, *([_range(ratio.bootstrap)] if ratio.bootstrap else []))
    yield table
    for warning in (*tiers.warnings, *(f"left out: {words}" for words in tiers.left_out)):
        yield Text(warning, style="dim")


def _range(interval: Interval) -> str:
    return f"{interval.low:.2f}–{interval.high:.2f}"


def _choices(sensitivities: tuple[Sensitivity, ...]) -> Table:
    table = _table("Counted differently (agent alone)")
    table.add_column("agent, choice", overflow="fold", min_width=30)
    for name in ("passed", "t50", "t80", "t50 over\nthe first"):
        table.add_column(name, justify="right")
    for one in sensitivities:
        table.add_section()
        shown, hidden = _telling(one.variants)
        for variant in shown:
            name = f"{one.agent}, {BASE}" if variant.choice == BASE else f"  {variant.choice}"
            passed = f"{variant.passes}/{variant.trials}"
            if variant.t50_s is None or variant.t80_s is None:
                table.add_row(name, passed, REASONS[variant.refusal] if variant.refusal else "none", "", "")
                continue
            ratio = "" if variant.ratio is None else f"{variant.ratio:.2f}"
            table.add_row(name, passed, duration(variant.t50_s), duration(variant.t80_s), ratio)
        if hidden:
            ratios = [variant.ratio for variant in hidden if variant.ratio is not None]
            ends = f"{min(ratios):.2f}–{max(ratios):.2f}"
            table.add_row(f"  without one of {len(hidden)} other families or sites", "", "", "", ends)
    return table


def _telling(variants: tuple[Variant, ...]) -> tuple[list[Variant], list[Variant]]:
    """Return the variants to show and those left out: of many omissions only the most telling are shown."""
    left_out = [v for v in variants if v.choice.startswith("without ") and v.ratio is not None]
    ranked = sorted(left_out, key=lambda v: abs(math.log(v.ratio or 1.0)), reverse=True)
    hidden = ranked[MOST_OMISSIONS:]
    return [v for v in variants if v not in hidden], hidden


def comparison_table(lines: tuple[Comparison, ...]) -> Table:
    """Return published t50s beside ours."""
    table = _table("Beside published t50s (agent alone)")
    table.add_column("agent, table", overflow="fold", min_width=12)
    for name in ("published", "their\ninterval", "ours", "off by", "ours in\ntheirs", "theirs\nin ours"):
        table.add_column(name, justify="right")
    for line in lines:
        agent, of, *rest = comparison_cells(line)
        table.add_row(f"{agent}, {of}" if of else agent, *rest)
    return table


def comparison_cells(line: Comparison) -> tuple[str, ...]:
    """Return one comparison as words."""
    theirs = line.published
    interval = "none given"
    if theirs.low_s is not None and theirs.high_s is not None:
        interval = span(duration(theirs.low_s), duration(theirs.high_s))
    ours = duration(line.ours.t_s) if line.ours else f"none: {line.reason}"
    difference = "" if line.relative is None else f"{100 * line.relative:+.3g} %"
    words = {True: "yes", False: "no", None: "?"}
    ends = (words[line.inside], words[line.overlap])
    return (theirs.agent, theirs.table, duration(theirs.t50_s), interval, ours, difference, *ends)
