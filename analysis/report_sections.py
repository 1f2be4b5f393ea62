"""The sections of a horizon report beside the horizons."""

import math
from collections.abc import Iterator

from analysis.exposure import END_WORDS, Exposure
from analysis.page import Content, Html, figure, flag, grid, join, paragraph, section, tag
from analysis.sensitivity import BASE, Sensitivity, Variant
from analysis.supplement import Supplement
from analysis.survival_plots import hazard_plot, survival_plot
from analysis.tier_plots import ratio_plot
from analysis.tiers import HorizonRatio, Reconciliation
from analysis.words import duration, percent, span

MOST_CURVES = 6  # in one plot
SURVIVAL_CAPTION = (
    "Probability that an agent is still without a mistake after so much time under way (Kaplan-Meier, "
    "log-log bands). Trials that ended without one count up to their end. With the monitor, only effected "
    "harm counts."
)
HAZARD_CAPTION = (
    "Mistakes per hour in stretches of equal exposure, with exact intervals: whether mistakes get rarer or "
    "more frequent as a trial goes on."
)
TIER_NOTE = (
    "One logistic model over all stages, with task items (and sites, where there are enough) as random "
    "effects. t80 typical is for an item of average difficulty at an average site; t80 marginal is for one "
    "drawn at random, and is the shorter. t50 is the same either way."
)


def supplement_sections(found: Supplement) -> Iterator[Html]:
    """Yield a section for each part there is."""
    if found.exposures:
        yield section("How long until a mistake", *_survival(found.exposures))
    if found.tiers:
        parts = [part for tiers in found.tiers for part in _tiers(tiers)]
        yield section("Do the tiers agree?", paragraph(TIER_NOTE, "note"), *parts)
    if found.sensitivities:
        yield section("What if it had been counted differently?", _sensitivity(found.sensitivities))


def _survival(exposures: tuple[Exposure, ...]) -> Iterator[Html]:
    stages: dict[str, list[Exposure]] = {}
    for one in exposures:
        stages.setdefault(f"tier {one.tier} {one.embodiment}".rstrip(), []).append(one)
    for stage, own in stages.items():
        for start in range(0, len(own), MOST_CURVES):
            some = own[start : start + MOST_CURVES]
            yield tag("h3", stage.capitalize())
            yield figure(survival_plot(some, f"Time to the first mistake, {stage}"), SURVIVAL_CAPTION)
            yield figure(hazard_plot(some, f"Rate of mistakes as time goes on, {stage}"), HAZARD_CAPTION)
    heads = [
        "agent", "counted", "trials", "time under way", "mistakes", "mean time between", "interval",
        "shape", "how trials end",
    ]  # fmt: skip
    rows = [_exposure_row(one) for one in exposures]
    yield grid(
        "The mean time assumes a constant rate; a Weibull shape below 1 means that mistakes get rarer.",
        heads,
        rows,
        range(2, 8),
    )


def _exposure_row(one: Exposure) -> list[Content]:
    rate = one.rate
    ends = ""
    if one.incidence is not None:
        reached = one.incidence.probability[:, -1]
        shares = [(words, float(reached[end - 1])) for end, words in END_WORDS.items()]
        ends = ", ".join(f"{words} {percent(share)}" for words, share in shares if share > 0.0)
    untimed = f" ({one.untimed} without times left out)" if one.untimed else ""
    return [
        f"{one.agent}, tier {one.tier} {one.embodiment}".rstrip(),
        str(one.definition),
        f"{one.trials}{untimed}",
        duration(rate.exposure_s),
        str(rate.events),
        duration(rate.mean_s) if rate.events else "none seen",
        span(duration(rate.interval.low), duration(rate.interval.high)),
        f"{one.weibull.shape:.2f}" if one.weibull else "",
        ends,
    ]


def _tiers(tiers: Reconciliation) -> Iterator[Html]:
    yield tag("h3", str(tiers.definition).capitalize())
    if tiers.ratios:
        yield figure(
            ratio_plot(tiers),
            "How many times longer t50 is at one stage than at another, agent by agent, with 95 % intervals.",
        )
    rows: list[list[Content]] = []
    for horizon in tiers.horizons:
        shown = span(duration(horizon.interval.low), duration(horizon.interval.high))
        name = f"t{100 * horizon.q:g}"
        marginal = duration(horizon.marginal_t_s)
        rows.append([horizon.agent, horizon.stage, name, duration(horizon.t_s), shown, marginal])
    yield grid(
        "Horizons by stage from the one model.",
        ["agent", "stage", "level", "typical", "interval", "marginal"],
        rows,
        range(2, 6),
    )
    drawn = [ratio for ratio in tiers.ratios if ratio.bootstrap is not None]
    if drawn:
        yield grid(
            "Ratios of t50 with intervals by the delta method and from trials drawn anew from the model.",
            ["agent", "stage", "over", "ratio", "delta method", "bootstrap"],
            [_ratio_row(ratio) for ratio in drawn],
            range(3, 6),
        )
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in tiers.sd) or "none"
    facts = [f"Standard deviations of log odds: {spread}."]
    if tiers.interaction is not None:
        test = tiers.interaction
        facts.append(
            f"Test whether agents differ in how stages change them: chi-square {test.chi_square:.1f} "
            f"on {test.degrees} degrees of freedom, p = {test.p_value:.2g}."
        )
    if tiers.laplace_gap is not None:
        facts.append(f"Laplace's method is off by {tiers.laplace_gap:+.2f} in the largest of them.")
    yield paragraph(" ".join(facts))
    marks = [flag(words) for words in (*tiers.warnings, *(f"left out: {words}" for words in tiers.left_out))]
    if marks:
        yield paragraph(join(marks))


def _ratio_row(ratio: HorizonRatio) -> list[Content]:
    ends = [f"{i.low:.2f} to {i.high:.2f}" if i else "" for i in (ratio.interval, ratio.bootstrap)]
    return [ratio.agent, ratio.stage, ratio.reference, f"{ratio.ratio:.2f}", *ends]


def _sensitivity(sensitivities: tuple[Sensitivity, ...]) -> Html:
    rows: list[list[Content]] = []
    for one in sensitivities:
        name = f"{one.agent}, tier {one.tier} {one.embodiment}".rstrip()
        rows += [[name if variant.choice == BASE else "", *_variant_row(variant)] for variant in one.variants]
    return grid(
        "Agent alone; every line differs from the first of its agent in one choice.",
        ["agent", "choice", "passed", "t50", "t80", "t50 over the first"],
        rows,
        range(2, 6),
    )


def _variant_row(variant: Variant) -> list[Content]:
    passed = f"{variant.passes}/{variant.trials}"
    if variant.t50_s is None or variant.t80_s is None:
        return [variant.choice, passed, f"none: {variant.refusal}", "", ""]
    ratio = f"{variant.ratio:.2f}" if variant.ratio is not None and math.isfinite(variant.ratio) else ""
    return [variant.choice, passed, duration(variant.t50_s), duration(variant.t80_s), ratio]
