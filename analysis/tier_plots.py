"""A plot of how far the horizons of the stages agree."""

from analysis.plots import COLOURS, INK, MARKERS, as_svg, plain_figure
from analysis.tiers import Reconciliation

TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def ratio_plot(tiers: Reconciliation) -> str:
    """Plot the ratio of t50 between stages for every agent, with intervals; 1 is agreement."""
    from matplotlib.ticker import FixedLocator, NullLocator

    figure, axes = plain_figure(7.2, 0.9 + 0.34 * len(tiers.ratios))
    pairs = list(dict.fromkeys((ratio.stage, ratio.reference) for ratio in tiers.ratios))
    lines = sorted(tiers.ratios, key=lambda ratio: pairs.index((ratio.stage, ratio.reference)))
    axes.axvline(1.0, color=INK, linewidth=0.8, alpha=0.6)
    ends = [1.0]
    for line, ratio in enumerate(lines):
        number = pairs.index((ratio.stage, ratio.reference)) % len(COLOURS)
        low, high = max(ratio.interval.low, 1e-4), min(ratio.interval.high, 1e4)
        axes.plot([low, high], [line, line], color=COLOURS[number], linewidth=2)
        axes.plot(ratio.ratio, line, MARKERS[number], color=COLOURS[number], markersize=6)
        ends += [max(low, ratio.ratio / 20), min(high, ratio.ratio * 20)]
    names = [f"{ratio.agent}: {ratio.stage} / {ratio.reference}" for ratio in lines]
    axes.set_yticks(range(len(lines)), names)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlim(min(ends) / 1.2, max(ends) * 1.2)
    inside = [tick for tick in TICKS if min(ends) / 1.2 <= tick <= max(ends) * 1.2]
    axes.xaxis.set_major_locator(FixedLocator(inside))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{tick:g}" for tick in inside])
    axes.set_xlabel("ratio of t50")
    return as_svg(figure, f"Ratios of t50 between stages, {tiers.definition}")
