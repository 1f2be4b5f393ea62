"""A horizon report as tables on a terminal."""

import math
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.bootstrap import Band
from analysis.failures import CAVEAT
from analysis.findings import Estimate, Flag, Refusal
from analysis.harm import DoneHarm
from analysis.horizon import Entry, HorizonReport
from analysis.trials import Definition
from analysis.words import clamped, percent, span

MARKS = {
    Flag.REDUCED_RELIABILITY: "a",
    Flag.OUTSIDE_TESTED: "b",
    Flag.EXPLORATORY: "c",
    Flag.TWO_DURATIONS: "d",
    Flag.SEPARATED: "e",
    Flag.NON_FINITE: "f",
    Flag.CONFIGS_POOLED: "g",
    Flag.PENALISED: "h",
    Flag.WEIGHTED: "i",
}

COUNTED = {Definition.AGENT_ALONE: "alone", Definition.AGENT_WITH_MONITOR: "+ monitor"}

REASONS = {
    Refusal.NO_TRIALS: "no trials",
    Refusal.NO_GUARD: "no guard trials",
    Refusal.ALL_PASS: "all passed",
    Refusal.ALL_FAIL: "all failed",
    Refusal.ONE_DURATION: "one duration",
    Refusal.TOO_FEW_ITEMS: "too few items",
    Refusal.RISING: "rate rises",
    Refusal.SLOPE_UNCERTAIN: "slope uncertain",
    Refusal.GUESSING: "like guessing",
}


def render(report: HorizonReport) -> RenderableType:
    """Return the whole report for `rich.console.Console.print`."""
    parts: list[RenderableType] = [horizon_table(report)]
    parts += [Text(line, style="dim") for line in _notes(report)]
    parts += [done_harm_table(report), bounds_table(report), Text(CAVEAT, style="dim")]
    if report.excluded:
        parts.append(excluded_table(report))
    return Group(*parts)


def horizon_table(report: HorizonReport) -> Table:
    """Return one block per agent: each family, definition and level with its bands."""
    options = report.options.estimate
    tiers = {(entry.subject.tier, entry.subject.embodiment) for entry in report.entries}
    where = f", {_tier(report.entries[0])}" if len(tiers) == 1 else ""
    table = Table(
        title=f"Horizons{where}: how long a job may be",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("agent, family", overflow="fold", min_width=12)
    table.add_column("counted", no_wrap=True)
    table.add_column("passed", justify="right", no_wrap=True)
    table.add_column("items", justify="right", no_wrap=True)
    table.add_column("horizon", justify="right", no_wrap=True)
    for scheme in options.schemes:
        table.add_column(f"{100 * options.confidence:g} % over\n{scheme}", justify="right", overflow="fold")
    table.add_column("notes")
    agent, family = "", ""
    for entry in report.entries:
        name, part = _name(entry, with_tier=len(tiers) > 1)
        if agent not in ("", name):
            table.add_section()
        shown = "" if (name, part) == (agent, family) else f"  {part}" if part else name
        agent, family = name, part
        found = entry.estimate
        first = [shown, COUNTED[entry.subject.definition], f"{found.passes}/{found.trials}", str(found.items)]
        for number, line in enumerate(_lines(found, len(options.schemes))):
            table.add_row(*(first if number == 0 else [""] * 4), *line)
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _tier(entry: Entry) -> str:
    return f"tier {entry.subject.tier} {entry.subject.embodiment}".strip()


def _name(entry: Entry, with_tier: bool) -> tuple[str, str]:
    subject = entry.subject
    agent = subject.agent + (f"\n{_tier(entry)}" if with_tier else "")
    agent += f"\n{subject.config_digest[:12]}" if subject.config_digest else ""
    return agent, subject.family or ""


def _lines(found: Estimate, schemes: int) -> Iterator[list[str]]:
    if not found.horizons:
        yield ["none", REASONS[found.refusal] if found.refusal else "", *[""] * schemes]
    for horizon in found.horizons:
        marks = "".join(MARKS[flag] for flag in MARKS if flag in (*horizon.flags, *found.flags))
        bands = [_band(found, band) for band in horizon.bands]
        yield [f"{horizon.name} {clamped(horizon.t_s, found.shortest_s, found.longest_s)}", *bands, marks]


def _band(found: Estimate, band: Band) -> str:
    low, high = (clamped(end, found.shortest_s, found.longest_s) for end in (band.low_s, band.high_s))
    return span(low, high)


def _notes(report: HorizonReport) -> Iterator[str]:
    found = [entry.estimate for entry in report.entries]
    bands = [band for each in found for horizon in each.horizons for band in horizon.bands]
    used = {flag for each in found if each.horizons for flag in each.flags}
    used |= {flag for each in found for horizon in each.horizons for flag in horizon.flags}
    for flag, mark in MARKS.items():
        if flag in used:
            worst = max((band.non_finite for band in bands), default=0)
            yield f"{mark}: {flag}" + (f" (at most {worst})" if flag is Flag.NON_FINITE else "")
    for entry in report.entries:
        if entry.estimate.refusal is not None and entry.subject.family is None:
            yield f"{entry.subject}: {entry.estimate.statement}"
    for agent, digests in report.pooled:
        yield f"{agent}: trials of {len(digests)} configurations are pooled, as asked"
    options = report.options.estimate
    errors = [(band.mc_low_s, band.low_s) for band in bands] + [
        (band.mc_high_s, band.high_s) for band in bands
    ]
    relative = [error / bound for error, bound in errors if bound > 0 and error < bound < math.inf]
    yield (
        f"{report.trials} trials from {report.source}; {options.replicates} replicates, seed {options.seed}"
        + (f", Monte-Carlo error of a bound at most {percent(max(relative))}" if relative else "")
        + f"; data {report.data_digest[:12]}. A gate uses the lower of the lower bounds."
    )


def done_harm_table(report: HorizonReport) -> Table:
    """Return how often each agent did the job, and how often harm came of it."""
    table = _table("Done and harm")
    table.add_column("agent", overflow="fold", min_width=12)
    table.add_column("monitor")
    harms = ("no harm", "harm")
    corners = [f"{done},\n{harm}" for done in ("done", "not done") for harm in harms]
    for name in (*corners, "critical\nmistakes", "of them\nprevented"):
        table.add_column(name, justify="right")
    for line in report.done_harm:
        tallies = (line.done_harmless, line.done_harmful, line.undone_harmless, line.undone_harmful)
        counts = (*tallies, line.mistakes, line.prevented)
        agent = line.agent + (f"\n{_where(line)}" if len(_kinds(report)) > 1 else "")
        table.add_row(agent, line.monitor or "none", *(str(count) for count in counts))
    return table


def _kinds(report: HorizonReport) -> set[str]:
    return {_where(line) for line in report.done_harm}


def _where(line: DoneHarm) -> str:
    return f"tier {line.tier} {line.embodiment}".strip()


def bounds_table(report: HorizonReport) -> Table:
    """Return how rare mistakes and harm are shown to be, by what counts as independent."""
    confidence = f"{100 * report.options.estimate.confidence:g} %"
    table = _table(f"At most this often, with {confidence} confidence, if what is independent are")
    table.add_column("agent", overflow="fold")
    table.add_column("monitor")
    table.add_column("event")
    table.add_column("seen", justify="right")
    for unit in ("trials", "task items", "sites"):
        table.add_column(unit, justify="right")
    table.add_column("trials, looking\nat any time", justify="right")
    for line in report.done_harm:
        for event, bounds in (("critical mistake", line.mistake_bounds), ("harm", line.harm_bounds)):
            seen = f"{bounds.by_unit[0].failed}/{line.trials}"
            uppers = [f"{percent(unit.upper)} ({unit.failed}/{unit.units})" for unit in bounds.by_unit[1:]]
            names = (line.agent, line.monitor or "none") if event == "critical mistake" else ("", "")
            shown = (percent(bounds.by_unit[0].upper), *uppers, percent(bounds.anytime))
            table.add_row(*names, event, seen, *shown)
    return table


def excluded_table(report: HorizonReport, most: int = 20) -> RenderableType:
    """Return the trials that say nothing about their agent."""
    table = _table(f"Excluded, never counted as failures ({len(report.excluded)})")
    for name in ("trial", "agent", "outcome", "record"):
        table.add_column(name, overflow="fold")
    for line in report.excluded[:most]:
        table.add_row(line.trial_id, line.agent, line.outcome, line.record)
    if len(report.excluded) > most:
        table.add_row(f"and {len(report.excluded) - most} more", "", "", "")
    return table
