"""What predictors rest on: the bench's own times, and a kappa with its provenance."""

import numpy as np
import pytest

from rig.core.bench import load_bench
from rig.core.errors import ConfigError, UsageError
from rig.core.quantity import parse_quantity
from safety_monitor.expression import parse
from safety_monitor.limits import limit_files, load_limits
from safety_monitor.nodes import Ahead, Stiffness, walk
from safety_monitor.predict import calibrate
from safety_monitor.predictions import constants_of, load_predictions, named, prediction_files
from safety_monitor.rules import load_rules, rule_files

PREDICTIONS = load_predictions(prediction_files())
ENTRIES = sorted(PREDICTIONS)


@pytest.mark.parametrize("name", ENTRIES)
def test_it_looks_as_far_ahead_as_the_bench_takes_to_sense_and_react(name):
    p = PREDICTIONS[name]
    bench = load_bench(p.bench)
    channel = bench.layout[p.channel]
    assert p.reaction_s == pytest.approx(bench.reaction_ns / 1e9)
    assert p.ahead_s == pytest.approx(channel.period_s + channel.latency_s + bench.reaction_ns / 1e9)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_kappa_keeps_the_promise_it_states(name):
    p = PREDICTIONS[name]
    assert p.trials > 0, "not calibrated"
    assert p.kappa <= p.least or p.guaranteed >= 2 / (p.trials + 1)
    assert 0 < p.guaranteed <= p.allowed == pytest.approx(p.budget_per_h * p.hours / p.trials, rel=1e-3)
    assert calibrate([p.least] * p.trials, p.allowed).guaranteed == pytest.approx(p.guaranteed)


@pytest.mark.parametrize("name", ENTRIES)
def test_rules_use_it_and_look_out_for_its_limit(name):
    p = PREDICTIONS[name]
    layout = load_bench(p.bench).layout
    limit = load_limits(limit_files())[p.limit.split(".")[1]]
    rules = [
        r for r in load_rules(rule_files(p.task), layout).rules if f"predict.{name}." in str(dict(r.slots))
    ]
    assert {type(node) for r in rules for node in walk(r.violated)} >= {Stiffness}
    for rule in rules:
        assert rule.leading.right.value == getattr(limit, p.limit.split(".")[2])
        for node in walk(rule.violated):
            if isinstance(node, Ahead):
                assert (node.kappa, node.span_ns) == (p.kappa, round(p.ahead_s * 1e9))


def test_every_stopping_distance_allows_for_the_camera_and_the_bench():
    bench = load_bench("sim")
    for rule in load_rules(rule_files("spoon-feed"), bench.layout).rules:
        if rule.template == "distance":
            slowest = max(bench.layout[c].period_s + bench.layout[c].latency_s for c in rule.channels)
            reaction_s = parse_quantity(rule.slots["reaction"], "s")
            assert reaction_s >= slowest + bench.reaction_ns / 1e9


def test_mistakes_in_a_calibration_are_named(tmp_path):
    text = prediction_files()[0].read_text()
    path = tmp_path / "c.toml"
    path.write_text(text.replace('sense = "1 ms"', 'sense = "1 N"').replace("kappa =", "kapa ="))
    with pytest.raises(ConfigError, match=r"predict\.press\.kap"):
        load_predictions([path])
    path.write_text(text.replace('sense = "1 ms"', 'sense = "1 N"'))
    with pytest.raises(ConfigError, match=r"predict\.press: .*N"):
        load_predictions([path])
    with pytest.raises(ConfigError, match="already in another file"):
        load_predictions([prediction_files()[0], prediction_files()[0]])
    with pytest.raises(UsageError, match="unknown prediction 'pres'"):
        named(PREDICTIONS, "pres")


def test_stiffness_is_written_with_a_force_a_speed_a_touch_and_the_stiffest_thing():
    layout, limits = load_bench("sim").layout, constants_of(PREDICTIONS)
    node = next(
        x
        for x in walk(parse("stiffness(wrist.force, spoon.speed, 0.3 N, 75 N/mm) > 1 N/mm", layout).node)
        if isinstance(x, Stiffness)
    )
    assert (node.touch, node.most, node.unit) == (0.3, 75_000.0, "N/m")
    for wrong, says in (
        ("stiffness(wrist.force, wrist.force, 0.3 N, 75 N/mm) > 1 N/mm", "no speed"),
        ("stiffness(wrist.force, spoon.speed, 0.01 N, 75 N/mm) > 1 N/mm", "lost in the noise"),
        ("stiffness(wrist.force, spoon.speed, 0.3 N, 75 N) > 1 N/mm", "."),
        ("predict.pres.kappa * wrist.force > 1 N", "unknown prediction"),
    ):
        with pytest.raises(UsageError, match=says):
            parse(wrong, layout, limits=limits)
    assert np.isfinite(node.most)
