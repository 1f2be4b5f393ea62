"""A horizon report as one self-contained HTML page, with its data inside for machines."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.bootstrap import Band
from analysis.export import to_json
from analysis.failures import CAVEAT
from analysis.findings import Estimate, Horizon
from analysis.horizon import Entry, HorizonReport
from analysis.page import Content, Html, figure, flag, fold, grid, join, page, paragraph, section, tag
from analysis.plots import fit_plot, forest_plot
from analysis.published import Comparison
from analysis.report_sections import supplement_sections
from analysis.supplement import Supplement, beside
from analysis.text_beside import comparison_cells
from analysis.trials import TrialTable
from analysis.words import clamped, duration, percent, span

METHOD = (
    "A pass is a job done without a critical mistake. The pass rate is fitted as a logistic function of the "
    "logarithm of the nominal duration of the job (a competent carer's time), by maximum likelihood without "
    "any penalty; where passes and failures do not overlap in duration, by Firth's method. t50 and t80 are "
    "the durations at which the fitted pass rate is 50 % and 80 %. Agent alone counts every critical mistake "
    "of the agent, prevented or not; agent + monitor counts only harm that was effected with the monitor in "
    "guard. Bands come from drawing trials, or whole task items, with replacement and fitting again; "
    "replicates without a finite horizon lie beyond every finite one and are counted. Where no horizon is "
    "given, the reason is, with what the trials show without a curve."
)


def write_report(
    report: HorizonReport,
    table: TrialTable,
    path: Path,
    first: Sequence[Html] = (),
    *,
    comparisons: Sequence[Comparison] = (),
) -> None:
    """Write the page for ``report`` and the trials it came from.

    Args:
        report: The horizons.
        table: Their trials.
        path: The file to write.
        first: Sections to begin with.
        comparisons: Published horizons that are to stand beside ours.
    """
    path.write_text(render(report, table, first, comparisons), encoding="utf-8")


def render(
    report: HorizonReport,
    table: TrialTable,
    first: Sequence[Html] = (),
    comparisons: Sequence[Comparison] = (),
) -> str:
    """Return the page as text."""
    found = beside(report, table)
    subtitle = (
        f"{report.trials} trials from {report.source}; {len(report.excluded)} excluded. "
        f"Data {report.data_digest[:12]}, seed {report.options.estimate.seed}."
    )
    parts = [
        *first,
        horizon_section(report),
        section("Curves", *_curves(report)),
        section("Done and harm", _done_harm(report), _bounds(report), paragraph(CAVEAT, "note")),
        *([section("Beside published horizons", _published(comparisons))] if comparisons else []),
        *supplement_sections(found),
        section("Excluded trials", _excluded(report)),
        section("Method", paragraph(METHOD), _settings(report)),
        _records(report),
        _data(report, found, comparisons),
    ]
    return page("Horizon report", subtitle, *parts)


def horizon_section(report: HorizonReport) -> Html:
    """Return the horizons of all agents as a plot and a table."""
    caption = "t50 of each agent with its bands over trials (thick) and over task items (thin)."
    return section("Horizons", figure(forest_plot(report), caption), _horizons(report))


def _name(entry: Entry) -> str:
    where = f"tier {entry.subject.tier} {entry.subject.embodiment}".strip()
    family = entry.subject.family or "all families"
    return f"{entry.subject.agent}, {family}, {where}"


def _horizons(report: HorizonReport) -> Html:
    together = [entry for entry in report.entries if entry.subject.family is None]
    families = [entry for entry in report.entries if entry.subject.family is not None]
    shown = _horizon_grid(report, together, "A gate uses the lower of the lower bounds.")
    if not families:
        return shown
    return join([shown, fold("By task family", _horizon_grid(report, families, "Each family on its own."))])


def _horizon_grid(report: HorizonReport, entries: Sequence[Entry], caption: str) -> Html:
    schemes = report.options.estimate.schemes
    confidence = f"{100 * report.options.estimate.confidence:g} %"
    bands = [f"{confidence} over {scheme}" for scheme in schemes]
    rows: list[list[Content]] = []
    previous = ""
    for entry in entries:
        found, name = entry.estimate, _name(entry)
        counts = [str(entry.subject.definition), f"{found.passes}/{found.trials}", str(found.items)]
        start: list[Content] = [name if name != previous else "", *counts]
        previous = name
        if not found.horizons:
            reason = tag("div", found.statement, class_="notes")
            rows.append([*start, "none", *[""] * len(schemes), reason])
        for number, horizon in enumerate(found.horizons):
            first = start if number == 0 else ["", "", "", ""]
            ends = (_band(found, band) for band in horizon.bands)
            rows.append([*first, _value(found, horizon), *ends, _flags(found, horizon)])
    heads = ["agent", "counted", "passed", "items", "horizon", *bands, "notes"]
    return grid(caption, heads, rows, range(2, 5 + len(schemes)))


def _value(found: Estimate, horizon: Horizon) -> Html:
    return tag("strong", f"{horizon.name} {clamped(horizon.t_s, found.shortest_s, found.longest_s)}")


def _band(found: Estimate, band: Band) -> Html:
    low, high = (clamped(end, found.shortest_s, found.longest_s) for end in (band.low_s, band.high_s))
    errors = [
        f"±{duration(error)}" if math.isfinite(error) else "unknown"
        for error in (band.mc_low_s, band.mc_high_s)
    ]
    small = f"Monte-Carlo error {errors[0]} and {errors[1]}"
    if band.non_finite:
        small += f"; {band.above} of {band.replicates} replicates above, {band.below} below every duration"
    return join([tag("div", span(low, high)), tag("div", small, class_="small")])


def _flags(found: Estimate, horizon: Horizon) -> Html:
    marks = [flag(str(words)) for words in (*horizon.flags, *found.flags)]
    others = [
        f"{interval.method} {span(duration(interval.low), duration(interval.high))}"
        for interval in horizon.intervals
    ]
    return tag("div", join([*marks, tag("div", "; ".join(others), class_="small")]), class_="notes")


def _curves(report: HorizonReport) -> Iterator[Html]:
    groups: dict[str, list[Entry]] = {}
    for entry in report.entries:
        if entry.estimate.trials:
            groups.setdefault(_name(entry), []).append(entry)
    caption = (
        "Points: observed pass rates with Wilson intervals; dots above and below: the single trials, larger "
        "where there are more. Shaded: bands of the curve over trials (darker) and over task items."
    )
    families: list[Html] = []
    for name, entries in groups.items():
        shown = join([tag("h3", name), figure(fit_plot(entries, name), caption)])
        if entries[0].subject.family is None:
            yield shown
        else:
            families.append(shown)
    if families:
        yield fold("By task family", *families)


def _done_harm(report: HorizonReport) -> Html:
    heads = [
        "agent", "monitor", "done, no harm", "done, harm", "not done, no harm", "not done, harm",
        "critical mistakes", "of them prevented",
    ]  # fmt: skip
    rows = [
        [
            f"{line.agent}, tier {line.tier} {line.embodiment}".rstrip(),
            line.monitor or "none",
            *(
                str(count)
                for count in (
                    line.done_harmless, line.done_harmful, line.undone_harmless, line.undone_harmful,
                    line.mistakes, line.prevented,
                )
            ),
        ]
        for line in report.done_harm
    ]  # fmt: skip
    return grid("Every graded trial is in one of four corners.", heads, rows, range(2, 8))


def _bounds(report: HorizonReport) -> Html:
    confidence = f"{100 * report.options.estimate.confidence:g} %"
    rows = []
    for line in report.done_harm:
        for event, bounds in (("critical mistake", line.mistake_bounds), ("effected harm", line.harm_bounds)):
            units = [f"{percent(u.upper)} ({u.failed} of {u.units})" for u in bounds.by_unit]
            where = f"tier {line.tier} {line.embodiment}".strip()
            name = f"{line.agent}, {where}, {line.monitor or 'no monitor'}"
            name = name if event == "critical mistake" else ""
            rows.append([name, event, *units, percent(bounds.anytime)])
    heads = ["agent", "event", "trials", "task items", "sites", "trials, looking at any time"]
    caption = f"Upper {confidence} bounds on the probability of an event, by what is taken as independent."
    return grid(caption, heads, rows, range(2, 6))


def _excluded(report: HorizonReport) -> Html:
    if not report.excluded:
        return paragraph("None.")
    rows = [[line.trial_id, line.agent, line.outcome, line.record] for line in report.excluded]
    caption = "They say nothing about the agent and are never counted as failures."
    shown = grid(caption, ["trial", "agent", "outcome", "record"], rows)
    return shown if len(rows) <= 20 else fold(f"{len(rows)} trials", shown)


def _settings(report: HorizonReport) -> Html:
    options = report.options.estimate
    versions = ", ".join(f"{name} {version}" for name, version in report.versions)
    lines = [
        f"{options.replicates} replicates, seed {options.seed}, {100 * options.confidence:g} % bands",
        f"weights: {report.options.weighting}; penalty on the slope: {options.ridge_per_log2:g}",
        f"data digest {report.data_digest}",
        versions,
        *(f"{agent}: {len(digests)} configurations pooled, as asked" for agent, digests in report.pooled),
    ]
    return tag("ul", join(tag("li", line) for line in lines))


def _records(report: HorizonReport) -> Html:
    parts = [
        fold(
            f"{entry.subject}: {len(entry.records)} records",
            tag("ul", join(tag("li", tag("code", record)) for record in entry.records)),
        )
        for entry in report.entries
        if entry.records
    ]
    return section("Records behind the numbers", *(parts or [paragraph("The table names no records.")]))


def _published(comparisons: Sequence[Comparison]) -> Html:
    return grid(
        "t50 of the agent alone, all families; nothing here changes a figure of ours.",
        [
            "agent",
            "table",
            "published",
            "their interval",
            "ours",
            "difference",
            "ours in theirs",
            "theirs in ours",
        ],
        [list(comparison_cells(line)) for line in comparisons],
        range(2, 8),
    )


def _data(report: HorizonReport, found: Supplement, comparisons: Sequence[Comparison]) -> Html:
    # "</" would end the element early; escaped like this it is still the same JSON.
    text = json.dumps(to_json(report, found, comparisons), allow_nan=False).replace("</", "<\\/")
    return Html(f'<script type="application/json" id="report">{text}</script>')
