"""Plots as SVG text that reads on light and on dark pages.

Lines and letters that are not data take the colour of the surrounding text (``currentColor``); data
colours keep at least 3:1 contrast on both white and near-black, and never carry a meaning alone.
"""

import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from analysis.findings import Estimate
from analysis.horizon import Entry, HorizonReport
from analysis.trials import Definition
from analysis.words import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#010203"  # becomes currentColor
COLOURS = ("#3b82c4", "#c96a12", "#12936b", "#b8578f", "#8468c9", "#9a7b0a", "#2a93a8", "#c2514b")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
TICKS_S = (
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 604800,
)  # fmt: skip
STYLE = (
    "<style>.run-plot{color:#222}@media (prefers-color-scheme:dark){.run-plot{color:#ddd}}"
    "[data-theme=dark] .run-plot{color:#ddd}[data-theme=light] .run-plot{color:#222}</style>"
)


def fit_plot(entries: Sequence[Entry], title: str) -> str:
    """Plot fitted curves with their bands over the observed pass rates.

    Args:
        entries: Up to eight estimates, e.g. one agent under both definitions.
        title: Also the text that stands in for the picture.
    """
    figure, axes = plain_figure(7.2, 4.0)
    for number, entry in enumerate(entries[: len(COLOURS)]):
        _draw_entry(axes, entry, number, bands=len(entries) <= 2)
    ends = [
        end for e in entries if e.estimate.trials for end in (e.estimate.shortest_s, e.estimate.longest_s)
    ]
    set_duration_axis(axes, ends)
    margin = 0.08 + 0.035 * (len(entries) - 1)
    axes.set_ylim(-margin, 1.0 + margin)
    axes.set_yticks([0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0])
    axes.set_ylabel("pass rate")
    for q in (0.5, 0.8):
        axes.axhline(q, color=INK, linewidth=0.6, alpha=0.45, linestyle=(0, (1, 3)))
    set_legend(axes)
    return as_svg(figure, title)


def forest_plot(report: HorizonReport, q: float = 0.5) -> str:
    """Plot the horizon of every agent with its bands, one line each, agent alone and with the monitor."""
    entries = [e for e in report.entries if e.subject.family is None and e.estimate.trials]
    figure, axes = plain_figure(7.2, 0.9 + 0.42 * max(1, len(entries)))
    ends: list[float] = []
    for line, entry in enumerate(entries):
        number = list(Definition).index(entry.subject.definition)
        ends += [entry.estimate.shortest_s, entry.estimate.longest_s]
        horizon = entry.estimate.horizon(q)
        if horizon is None:
            middle = math.sqrt(entry.estimate.shortest_s * entry.estimate.longest_s)
            reason = entry.estimate.refusal or ""
            axes.annotate(str(reason), (middle, line), ha="center", va="center", color=INK, fontsize=8)
            continue
        ends += [horizon.t_s]
        for band, width in zip(horizon.bands, (5.0, 1.6, 0.8, 0.8), strict=False):
            axes.plot(
                [max(band.low_s, 1e-3), min(band.high_s, 1e12)],
                [line, line],
                color=COLOURS[number],
                linewidth=width,
                alpha=0.45 if width > 2 else 0.9,
                solid_capstyle="butt",
            )
        axes.plot(horizon.t_s, line, MARKERS[number], color=COLOURS[number], markersize=7)
    set_duration_axis(axes, ends)
    axes.set_yticks(range(len(entries)), [_line_name(entry) for entry in entries])
    axes.set_ylim(len(entries) - 0.4, -0.6)
    schemes = report.options.estimate.schemes
    thick = f"thick: {schemes[0]}" + (f", thin: {schemes[1]}" if len(schemes) > 1 else "")
    axes.set_xlabel(f"t{100 * q:g} ({thick})")
    return as_svg(figure, f"t{100 * q:g} of every agent")


def _draw_entry(axes: "Axes", entry: Entry, number: int, bands: bool) -> None:
    colour, marker = COLOURS[number], MARKERS[number]
    found = entry.estimate
    shift = 1.0 + 0.025 * number  # so that intervals of two definitions do not hide each other
    for rate in found.rates:
        axes.errorbar(
            rate.centre_s * shift,
            rate.value,
            # Rounding can leave the end of an interval at 0 or 1 just inside the rate.
            yerr=[
                [max(0.0, rate.value - rate.interval.low)],
                [max(0.0, rate.interval.high - rate.value)],
            ],
            fmt=marker,
            color=colour,
            markersize=4 + min(4.0, math.sqrt(rate.trials) / 3),
            linewidth=1,
            capsize=2,
            markerfacecolor="none" if number % 2 else colour,
        )
    _draw_trials(axes, found, number)
    label = f"{entry.subject.agent}, {entry.subject.definition}: {_summary(entry)}"
    if found.curve is None:
        axes.plot([], [], marker, color=colour, label=label)
        return
    style = "-" if number % 2 == 0 else "--"
    axes.plot(found.curve.duration_s, found.curve.p, style, color=colour, linewidth=2, label=label)
    if bands:
        for (_, low, high), alpha in zip(found.curve.bands, (0.22, 0.13, 0.08, 0.08), strict=False):
            axes.fill_between(found.curve.duration_s, low, high, color=colour, alpha=alpha, linewidth=0)


def _draw_trials(axes: "Axes", found: Estimate, number: int) -> None:
    """Mark the single trials: passes above the plot, failures below, larger where there are more."""
    failures = found.cells.trials - found.cells.passes
    for counts, height in ((found.cells.passes, 1.05 + 0.035 * number), (failures, -0.05 - 0.035 * number)):
        some = counts > 0
        axes.scatter(
            found.cells.duration_s[some],
            [height] * int(some.sum()),
            s=3.0 + 2.0 * counts[some] ** 0.75,
            color=COLOURS[number],
            alpha=0.7,
            linewidths=0,
        )


def _summary(entry: Entry) -> str:
    found = entry.estimate
    if not found.horizons:
        return str(found.refusal)
    return ", ".join(f"{horizon.name} {duration(horizon.t_s)}" for horizon in found.horizons)


def _line_name(entry: Entry) -> str:
    where = f", tier {entry.subject.tier} {entry.subject.embodiment}".rstrip()
    return f"{entry.subject.agent}, {entry.subject.definition}{where}"


def plain_figure(width: float, height: float) -> "tuple[Figure, Axes]":
    """Return a figure of that size in inches with one plain pair of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    plain_axes(axes)
    return figure, axes


def plain_axes(axes: "Axes") -> None:
    """Strip ``axes`` to two spines in the colour of the text, on no background."""
    axes.patch.set_alpha(0.0)
    axes.tick_params(colors=INK, labelsize=8)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)


def set_duration_axis(axes: "Axes", ends: Iterable[float]) -> None:
    """Make x logarithmic over ``ends`` (s), with ticks at durations people use."""
    from matplotlib.ticker import FixedLocator, NullLocator

    finite = [end for end in ends if end > 0 and math.isfinite(end)] or [60.0, 3600.0]
    low, high = min(finite) / 1.3, max(finite) * 1.3
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks: list[float] = []
    for tick in TICKS_S:
        apart = math.log(high / low) / 9  # labels of neighbours must not touch
        if low <= tick <= high and (not ticks or math.log(tick / ticks[-1]) >= apart):
            ticks.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([duration(tick) for tick in ticks])
    axes.set_xlabel("nominal duration of the job")


def set_legend(axes: "Axes") -> None:
    """Put the legend, if there is anything in it, above the axes."""
    handles, _ = axes.get_legend_handles_labels()
    columns = 1 if len(handles) < 3 else 2
    if handles:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            fontsize=8,
            labelcolor=INK,
            frameon=False,
            ncols=columns,
        )


def as_svg(figure: "Figure", title: str) -> str:
    """Return ``figure`` as SVG text for inlining: the same bytes each time, named for screen readers."""
    from html import escape

    from matplotlib import rc_context

    text = io.StringIO()
    settings: Any = {
        "svg.hashsalt": "runrig",  # the same picture gives the same bytes
        "svg.fonttype": "none",
        "font.family": "sans-serif",
    }
    with rc_context(settings):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # Two decimals of a point are finer than any screen, and half the size.
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    head, body = svg.split(">", 1)
    name = escape(title)
    head = head.replace("<svg", f'<svg class="run-plot" role="img" aria-label="{name}"', 1)
    return f"{head}><title>{name}</title>{STYLE}{body}"
