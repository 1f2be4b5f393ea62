"""Plots of time under way: survival without a mistake, and the rate of mistakes as time goes on."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from analysis.exposure import Exposure
from analysis.plots import COLOURS, as_svg, plain_figure, set_legend
from analysis.words import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def survival_plot(exposures: Sequence[Exposure], title: str) -> str:
    """Plot the probability of no mistake against time under way, with log-log bands."""
    figure, axes = plain_figure(7.2, 3.2 + 0.12 * len(exposures))
    for number, one in enumerate(exposures[: len(COLOURS)]):
        colour, curve = COLOURS[number], one.survival
        time = np.r_[0.0, curve.time_s]
        axes.step(
            time,
            np.r_[1.0, curve.survival],
            where="post",
            color=colour,
            linestyle="-" if number % 2 == 0 else "--",
            linewidth=1.8,
            label=f"{one.agent}, {one.definition}: {one.rate.events} in {duration(one.rate.exposure_s)}",
        )
        if len(exposures) <= 3:
            low, high = np.r_[1.0, curve.low], np.r_[1.0, curve.high]
            axes.fill_between(time, low, high, step="post", color=colour, alpha=0.18, linewidth=0)
    _time_axis(axes, max(float(one.survival.time_s[-1]) for one in exposures))
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("no mistake so far")
    set_legend(axes)
    return as_svg(figure, title)


def hazard_plot(exposures: Sequence[Exposure], title: str) -> str:
    """Plot the rate of mistakes per hour in stretches of equal exposure, with exact intervals."""
    figure, axes = plain_figure(7.2, 2.6 + 0.12 * len(exposures))
    for number, one in enumerate(exposures[: len(COLOURS)]):
        colour, edges = COLOURS[number], one.stretches_s
        for (low, high), rate in zip(pairwise(edges), one.hazard, strict=True):
            axes.plot([low, high], [3600.0 * rate.events / rate.exposure_s] * 2, color=colour, linewidth=2)
            middle = low + (high - low) * (0.4 + 0.2 * (number % 2))
            ends = [3600.0 / rate.interval.high, 3600.0 / rate.interval.low]
            axes.plot([middle, middle], ends, color=colour, linewidth=1)
        axes.plot([], [], color=colour, label=f"{one.agent}, {one.definition}")
    _time_axis(axes, max(float(one.survival.time_s[-1]) for one in exposures))
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("mistakes per hour")
    set_legend(axes)
    return as_svg(figure, title)


def _time_axis(axes: "Axes", end_s: float) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    units = ((1.0, "s"), (60.0, "min"), (3600.0, "h"))
    scale, unit = next(((s, u) for s, u in units if end_s / s < 200.0), units[-1])
    axes.set_xlim(0.0, end_s * 1.02)
    ticks = [tick * scale for tick in MaxNLocator(8).tick_values(0.0, end_s / scale)]
    axes.set_xticks([tick for tick in ticks if tick <= end_s * 1.02])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    axes.set_xlabel(f"time under way ({unit})")
