import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.tiers import Reconciliation, marginal_logit, reconcile
from analysis.trials import Definition, Outcome, TrialRow, TrialTable
from rig.core.errors import UsageError

from .conftest import failed, row

AGENTS = {"able": 5400.0, "weak": 900.0}
STAGES = {(1, None): 1.0, (3, "simulated"): 0.5, (3, "physical"): 0.25}


def campaign(
    seed: int, *, sd: float = 0.7, items: int = 30, sites: int = 8, trials: int = 3
) -> list[TrialRow]:
    """Agents with known horizons (slope 1) at stages that shorten them by known factors."""
    rng = np.random.default_rng(seed)
    durations = 120.0 * 2.0 ** (8 * np.arange(items) / items)
    difficulty, place = rng.normal(0.0, sd, items), rng.normal(0.0, 0.3, sites)
    rows = []
    for agent, horizon in AGENTS.items():
        for (tier, embodiment), factor in STAGES.items():
            for i, duration in enumerate(durations):
                for trial in range(trials):
                    site = (i + trial) % sites
                    eta = math.log(horizon * factor / duration) + difficulty[i] + place[site]
                    make = row if rng.random() < 1.0 / (1.0 + math.exp(-eta)) else failed
                    rows.append(
                        make(
                            trial_id=str(len(rows)), agent=agent, tier=tier, embodiment=embodiment,
                            item=f"item {i:02d}", site=f"site {site}", duration_s=duration,
                        )
                    )  # fmt: skip
    return rows


def found(rows: list[TrialRow]) -> Reconciliation:
    return reconcile(TrialTable.from_rows(rows))


def test_known_ratios_lie_in_their_intervals_at_about_the_nominal_rate() -> None:
    inside = total = 0
    for seed in range(12):
        answer = found(campaign(seed))
        for ratio in answer.ratios:
            factors = {f"tier {t} {e or ''}".strip(): f for (t, e), f in STAGES.items()}
            total += 1
            inside += factors[ratio.stage] / factors[ratio.reference] in ratio.interval
    assert total == 12 * 6
    assert inside / total > 0.85


def test_the_parts_of_the_answer() -> None:
    answer = found(campaign(1, trials=12))
    assert answer.stages == ("tier 1", "tier 3 simulated", "tier 3 physical")
    assert [name for name, _ in answer.sd] == ["item", "site"]
    assert 0.4 < answer.sd[0][1] < 1.1
    assert answer.interaction is not None
    assert answer.interaction.degrees == 2
    assert answer.interaction.p_value > 0.001  # there is none in these trials
    for horizon in answer.horizons:
        assert horizon.t_s in horizon.interval
        if horizon.q == 0.5:
            assert horizon.marginal_t_s == pytest.approx(horizon.t_s)
        else:
            assert horizon.marginal_t_s < horizon.t_s


def test_an_interaction_is_found() -> None:
    rows = [
        replace(r, outcome=Outcome.CRITICAL, done=False, harm=True, mistake=True)
        if r.agent == "able" and r.embodiment == "physical" and int(r.trial_id) % 3
        else r
        for r in campaign(2, trials=8)
    ]
    interaction = found(rows).interaction
    assert interaction is not None
    assert interaction.p_value < 1e-3


def test_the_order_of_rows_and_the_unit_of_time_change_no_ratio() -> None:
    rows = campaign(3)
    one = found(rows)
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    other = found([replace(r, duration_s=r.duration_s / 60.0) for r in shuffled])
    for a, b in zip(one.ratios, other.ratios, strict=True):
        assert a.ratio == pytest.approx(b.ratio, rel=1e-5)
        assert a.interval.low == pytest.approx(b.interval.low, rel=1e-3)


def test_few_sites_are_fixed_effects_and_it_is_said() -> None:
    answer = found(campaign(4, sites=3))
    assert [name for name, _ in answer.sd] == ["item"]
    assert any("3 sites are fixed effects" in warning for warning in answer.warnings)


def test_sites_that_cannot_be_told_from_stages_are_warned_about() -> None:
    rows = [replace(r, site=f"{r.tier}{r.embodiment}") for r in campaign(5)]
    assert any("confounded" in warning for warning in found(rows).warnings)


def test_few_items_are_warned_about() -> None:
    answer = found(campaign(6, items=6, trials=10))
    assert any("6 items" in warning for warning in answer.warnings)


def test_no_variation_between_items_is_said() -> None:
    answer = found(campaign(1, sd=0.0))
    assert answer.sd[0][1] < 0.35
    if answer.sd[0][1] == 0.0:
        assert any("boundary" in warning for warning in answer.warnings)


def test_an_agent_that_never_fails_is_left_out_with_the_reason() -> None:
    rows = campaign(7)
    perfect = {"agent": "perfect", "outcome": Outcome.PASS, "done": True, "harm": False, "mistake": False}
    rows += [replace(r, trial_id=f"p{r.trial_id}", **perfect) for r in rows[:60]]
    answer = found(rows)
    assert answer.left_out == ("agent perfect: nothing but passes",)
    assert {h.agent for h in answer.horizons} == set(AGENTS)


def test_one_stage_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="two stages"):
        found([r for r in campaign(8) if r.tier == 1])


def test_with_the_monitor_only_guarded_trials_count() -> None:
    rows = [replace(r, monitor="guard" if i % 2 else "shadow") for i, r in enumerate(campaign(9, trials=6))]
    answer = reconcile(TrialTable.from_rows(rows), Definition.AGENT_WITH_MONITOR)
    assert answer.definition is Definition.AGENT_WITH_MONITOR
    assert len(answer.ratios) == 6


def test_the_mean_over_items_is_pulled_towards_a_half() -> None:
    # Research note: eta = ln 4 at sd 1 has a mean pass rate of expit(1.1596).
    assert marginal_logit(1 / (1 + math.exp(-1.1596)), 1.0) == pytest.approx(math.log(4.0), abs=2e-4)
    assert marginal_logit(0.5, 3.0) == 0.0


def test_the_bootstrap_of_ratios_is_near_the_delta_method_and_repeats() -> None:
    table = TrialTable.from_rows(campaign(5, items=16, sites=1, trials=10))
    answer, again = (reconcile(table, replicates=40, seed=3) for _ in range(2))
    assert answer.ratios == again.ratios
    for ratio, plain in zip(answer.ratios, reconcile(table).ratios, strict=True):
        assert ratio.bootstrap is not None and plain.bootstrap is None
        assert (ratio.ratio, ratio.interval) == (plain.ratio, plain.interval)
        assert ratio.bootstrap.low < ratio.ratio < ratio.bootstrap.high
        widths = [math.log(i.high / i.low) for i in (ratio.bootstrap, ratio.interval)]
        assert 0.4 < widths[0] / widths[1] < 2.5


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 20 replicates"):
        reconcile(TrialTable.from_rows(campaign(5, items=16, sites=1)), replicates=5)
