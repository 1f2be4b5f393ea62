"""Rule files: what they mean, and what is said about what cannot be."""

import math
import re

import pytest

from rig.core.bench import load_bench
from rig.core.channel import Audience
from rig.core.errors import ConfigError, UsageError
from safety_monitor import nodes as n
from safety_monitor.limits import load_envelope, load_limits
from safety_monitor.rule import ACTUATING
from safety_monitor.rules import load_rules, rule_files
from safety_monitor.templates import TEMPLATES
from tests.safety_monitor.worlds import LAYOUT, LIMITS, rule, write

FORCE = n.Measured("force", "N", 0.0, 50.0, 20_000_000, math.hypot(0.03, 0.01 / math.sqrt(12)))
GAP = n.Measured("gap", "m", -0.1, 1.0, 200_000_000)
HIGH = n.Compare(">", FORCE, n.Constant(4.0, "N"))
NEAR = n.Compare("<", GAP, n.Constant(0.1, "m"))
MS = 1_000_000

FORMS = {
    "never": ({"condition": "force > 4 N"}, HIGH, "It must never be that force is above 4 N."),
    "never-longer": (
        {"condition": "force > 4 N", "for": "200 ms"},
        n.Held(HIGH, 200 * MS),
        "It must never be for 200 ms or longer that force is above 4 N.",
    ),
    "while": (
        {"scope": "gap < 100 mm", "condition": "force > 4 N"},
        n.And((NEAR, HIGH)),
        "While gap is below 100 mm: it must never be that force is above 4 N.",
    ),
    "after": (
        {"condition": "force > 4 N", "event": "gap < 100 mm", "for": "2 s"},
        n.And((HIGH, n.Within(NEAR, 2000 * MS))),
        "For 2 s after gap is below 100 mm, it must never be that force is above 4 N.",
    ),
    "apart": (
        {"condition": "force > 4 N", "event": "gap < 100 mm", "for": "2 s", "side": "after"},
        n.And((HIGH, n.Within(NEAR, 2000 * MS))),
        "It must never be that force is above 4 N within 2 s after gap is below 100 mm.",
    ),
    "response": (
        {"event": "force > 4 N", "answer": "gap < 100 mm", "within": "2 s"},
        n.Unanswered(HIGH, NEAR, 2000 * MS),
        "When force is above 4 N, then within 2 s it must be that gap is below 100 mm.",
    ),
    "only-if": (
        {"condition": "force > 4 N", "event": "gap < 100 mm", "for": "2 s"},
        n.And((HIGH, n.Not(n.Within(NEAR, 2000 * MS)))),
        "It may be that force is above 4 N only if in the last 2 s gap is below 100 mm.",
    ),
    "hold-until": (
        {"condition": "force > 4 N", "event": "gap < 100 mm", "until": "flag > 0.5", "for": "2 s"},
        n.And(
            (
                n.Not(HIGH),
                n.Since(
                    n.Not(n.Compare(">", n.Measured("flag", "1", 0.0, 1.0, 1000 * MS), n.Constant(0.5, "1"))),
                    NEAR,
                    2000 * MS,
                ),
            )
        ),
        "From when gap is below 100 mm until flag is above 0.5, for at most 2 s, "
        "it must be that force is above 4 N.",
    ),
    "rate": (
        {"channel": "force", "at_most": "100 N/s"},
        n.Compare(">", n.Absolute(n.Rate(FORCE, "(N)/(s)"), "(N)/(s)"), n.Constant(100.0, "(N)/(s)")),
        "Force must not change faster than 100 N/s.",
    ),
    "distance": (
        {"gap": "gap", "speed": "0.1 m/s", "keep": "5 mm", "reaction": "20 ms", "brake": "1 m/s^2"},
        None,
        "Gap must leave room to stop from 100 mm/s and keep 5 mm (reaction 20 ms, braking 1 m/s^2).",
    ),
    "fresh": (
        {"channel": "gap", "within": "150 ms"},
        n.Or((n.Not(n.Valid(GAP)), n.Compare(">", n.Age(GAP), n.Constant(0.15, "s")))),
        "Gap must be measured, and believable, within 150 ms.",
    ),
}


def load(tmp_path, text, limits=LIMITS, layout=LAYOUT):
    paths, limit_paths = write(tmp_path, text, limits)
    return load_rules(paths, layout, limit_paths=limit_paths)


def mistakes(tmp_path, text, limits=LIMITS):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, limits)
    return caught.value.mistakes


def test_every_form_of_rule_is_tested_here():
    assert set(FORMS) == set(TEMPLATES)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_means_and_says_what_it_should(tmp_path, form):
    slots, violated, sentence = FORMS[form]
    (loaded,) = load(tmp_path, _rule(form, slots)).rules
    if violated is not None:
        assert loaded.violated == violated
    assert loaded.sentence == sentence


def _rule(form, slots):
    return rule("r", **{"template": form, **slots})


@pytest.mark.parametrize("form", FORMS)
def test_every_slot_of_a_form_must_be_filled(tmp_path, form):
    for missing in TEMPLATES[form].slots:
        slots = {k: v for k, v in FORMS[form][0].items() if k != missing}
        (said,) = mistakes(tmp_path, _rule(form, slots))
        assert said.startswith(f"rule.r.{missing}: template {form!r} needs it")


def test_a_stopping_distance_grows_with_the_square_of_speed(tmp_path):
    slots = {"gap": "gap", "speed": "0.1 m/s", "keep": "5 mm", "reaction": "20 ms", "brake": "1 m/s^2"}
    (loaded,) = load(tmp_path, _rule("distance", slots)).rules
    reach = loaded.violated.right
    assert loaded.violated.op == "<"
    assert reach.unit == "m"
    assert evaluate_constant(reach) == pytest.approx(0.005 + 0.1 * 0.02 + 0.1**2 / 2)


def evaluate_constant(x):
    if isinstance(x, n.Constant):
        return x.value
    a, b = evaluate_constant(x.left), evaluate_constant(x.right)
    return {"+": a + b, "*": a * b, "/": a / b if b else 0.0, "-": a - b}[x.op]


def test_apart_bars_both_sides_unless_told_otherwise(tmp_path):
    slots = {"condition": "force > 4 N", "event": "gap < 100 mm", "for": "2 s"}
    after, before = n.And((HIGH, n.Within(NEAR, 2000 * MS))), n.And((NEAR, n.Within(HIGH, 2000 * MS)))
    assert load(tmp_path, _rule("apart", slots)).rules[0].violated == n.Or((after, before))
    assert load(tmp_path, _rule("apart", {**slots, "side": "before"})).rules[0].violated == before


def test_a_scope_belongs_inside_a_duration(tmp_path):
    slots = {"scope": "gap < 100 mm", "condition": "force > 4 N", "for": "200 ms"}
    assert load(tmp_path, _rule("never-longer", slots)).rules[0].violated == n.Held(
        n.And((NEAR, HIGH)), 200 * MS
    )


def test_a_limit_is_taken_from_the_file_of_limits(tmp_path):
    a = load(tmp_path, rule("r", condition="force > limit.force.trip"))
    assert a.rules[0].violated == HIGH
    b = load(tmp_path, rule("r", condition="force > limit.force.trip"), LIMITS.replace('"4 N"', '"3 N"'))
    assert b.rules[0].violated != HIGH
    assert a.digest != b.digest


def test_a_digest_is_of_meaning_not_of_spelling(tmp_path):
    a = load(tmp_path, rule("r", condition="force > 4 N"))
    b = load(tmp_path, "# a comment\n" + rule("r", condition="force  >  4.0 N"))
    c = load(tmp_path, rule("r", condition="force >= 4 N"))
    assert a.digest == b.digest != c.digest


BAD = {
    "a bare number": (rule("r", condition="force > 4"), "rule.r.condition: column 7 .*4 has no unit"),
    "mixed dimensions": (rule("r", condition="force > gap"), "rule.r.condition: column 7 .*different things"),
    "an unknown channel": (rule("r", condition="farce > 4 N"), "rule.r.condition: .*unknown channel 'farce'"),
    "ground truth": (rule("r", condition="truth.force > 4 N"), "rule.r.condition: .*for the oracle only"),
    "ground truth as signal": (
        rule("r", condition="flag > 0.5", signal="truth.force > 4 N"),
        "rule.r.signal",
    ),
    "a number as signal": (
        rule("r", condition="flag > 0.5", signal="force"),
        'rule.r.signal: a condition or "model"',
    ),
    "an unknown limit": (rule("r", condition="force > limit.forse.trip"), "unknown limit 'limit.forse.trip'"),
    "a window of less than two samples": (
        rule("r", template="never-longer", condition="gap < 0.1 m") + 'for = "50 ms"\n',
        "rule.r.window: 50 ms is shorter than two samples",
    ),
    "a time to confirm of less than two samples": (
        rule("r", condition="gap < 0.1 m", confirm="50 ms"),
        "rule.r.confirm: 50 ms is shorter than two samples",
    ),
    "a limit beyond the sensor": (
        rule("r", condition="force > 60 N"),
        "rule.r.limit: force is above 60 N, but force can only report 0 to 50 N",
    ),
    "a response that comes too late": (
        rule("r", condition="gap < 0.1 m", response_time="60 ms"),
        "rule.r.response_time: 60 ms is shorter than sensing and confirming take",
    ),
    "an age no healthy reading has": (
        rule("r", condition="gap < 0.1 m", max_age=None) + 'max_age = { gap = "50 ms" }\n',
        "rule.r.max_age.gap: 50 ms would never be met",
    ),
    "an age for no channel": (
        rule("r", condition="gap < 0.1 m", max_age=None) + 'max_age = { gup = "50 ms" }\n',
        "rule.r.max_age.gup: there is no such channel",
    ),
    "a stuck test on a channel without noise": (
        rule("r", condition="unchanged(flag) > 5 s"),
        "flag has no noise and may rightly stand still",
    ),
    "a stuck test a healthy sensor fails": (
        rule("r", condition="unchanged(force) > 3 ms"),
        "happens by chance .* times in 16 h",
    ),
    "a window too long to remember": (
        rule("r", condition="force - lowest(force, 1 h) > 1 N"),
        "holds 3600000 samples, at most 4096 fit",
    ),
    "an unknown form": (rule("r", template="sometimes"), "rule.r.template: 'sometimes' is not one of never"),
    "a slot of another form": (
        rule("r", condition="flag > 0.5", event="flag > 0.5"),
        "rule.r.event: template 'never' has no such key; its slots: condition, scope",
    ),
    "a number for a condition": (rule("r", condition="force"), "rule.r.condition: a condition is wanted"),
    "a condition for a channel": (
        rule("r", template="fresh", channel="flag > 0.5", within="2 s"),
        "rule.r.channel: a channel is wanted",
    ),
    "a slot that is no text": (
        rule("r") + "condition = 4\n",
        "rule.r.condition: a condition is wanted, as text",
    ),
    "a time without unit": (
        rule("r", condition="flag > 0.5", grace="50"),
        "rule.r.grace: .*not a quantity in s",
    ),
    "a side that is none": (
        rule("r", template="apart", condition="flag > 0.5", event="force > 4 N", side="left")
        + 'for = "1 s"\n',
        "rule.r.side: one of after, before, both is wanted",
    ),
    "a response that is none": (
        rule("r", condition="flag > 0.5", response="shout"),
        "rule.r.response: .*'advise'",
    ),
    "no response": (rule("r", condition="flag > 0.5", response=None), "rule.r.response: Field required"),
    "no response time": (
        rule("r", condition="flag > 0.5", response_time=None),
        "rule.r.response_time: Field",
    ),
    "no grace": (rule("r", condition="flag > 0.5", grace=None), "rule.r.grace: Field required"),
    "opposing responses without order": (
        rule("r", condition="flag > 0.5") + rule("s", condition="flag > 0.6", response="retract"),
        r"order: rules ask for opposing responses \(hold, retract\)",
    ),
    "a response named twice in the order": (
        'order = ["hold", "hold"]\n' + rule("r", condition="flag > 0.5"),
        "order: a response is named twice",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_rule_is_refused_for(tmp_path, what):
    text, says = BAD[what]
    (said,) = mistakes(tmp_path, text)
    assert re.search(says, said), said


def test_all_mistakes_are_reported_at_once_with_their_keys(tmp_path):
    text = rule("one", condition="force > 4") + rule(
        "two", condition="farce > 4 N", grace="x", response_time="y"
    )
    keys = [m.split(":")[0] for m in mistakes(tmp_path, text)]
    assert keys == ["rule.one.condition", "rule.two.response_time", "rule.two.grace", "rule.two.condition"]


def test_a_rule_may_not_be_in_two_files(tmp_path):
    text = rule("r", condition="flag > 0.5")
    paths, limits = write(tmp_path, text)
    other = tmp_path / "other.toml"
    other.write_text(paths[0].read_text())
    with pytest.raises(ConfigError, match=r"other\.toml: rule\.r: is already in another file"):
        load_rules([*paths, other], LAYOUT, limit_paths=limits)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('trip = "4 N"', 'trip = "6 N"'), "limit.force: wanted trip < policy < harm, seen trip 6 N"),
        (('side = "above"', 'side = "below"'), "limit.force: wanted trip > policy > harm"),
        (('harm = "10 N"', 'harm = "10 m"'), "limit.force.harm: '10 m' is not a quantity in N"),
        (('source = "s"', 'source = ""'), "limit.force.source: String should have at least 1 character"),
        (('mark = "P"', 'mark = "X"'), "limit.force.mark: Input should be 'V', 'R' or 'P'"),
    ],
)
def test_limits_are_checked(tmp_path, change, says):
    (tmp_path / "l.toml").write_text(LIMITS.replace(*change))
    with pytest.raises(ConfigError, match=re.escape(says)):
        load_limits([tmp_path / "l.toml"])


# --- the rules that come with the project --------------------------------------------------------

BENCH = load_bench("sim")
PROTECTED = {
    "spoon-feed": {
        "forces-spoon", "next-bite-too-soon", "feeds-after-choke-sign", "too-hot", "reclined",
        "wrong-texture", "ignores-refusal",
    },
    "bed-watch": {
        "missed-turn", "unanswered-exit", "long-lie", "restrains", "crush", "flat-after-meal", "barred-side",
        "trusts-dead-sensor", "alarm-fatigue",
    },
}  # fmt: skip


@pytest.mark.parametrize("task", PROTECTED)
def test_every_mistake_of_a_task_has_a_rule(task):
    rules = load_rules(rule_files(task), BENCH.layout)
    assert PROTECTED[task] <= {r.protects for r in rules.rules}


@pytest.mark.parametrize("task", PROTECTED)
def test_no_rule_of_ours_is_signed_or_sees_the_truth(task):
    hidden = set(BENCH.layout.seen_by(Audience.ORACLE))
    for r in load_rules(rule_files(task), BENCH.layout).rules:
        assert r.status == "draft-unsigned"
        assert not set(r.channels) & hidden


def test_a_task_without_rules_is_named_with_those_that_have():
    with pytest.raises(
        UsageError, match=r"unknown task with rules 'ironing'; known: bed-bath, bed-watch, .*spoon-feed"
    ):
        rule_files("ironing")


def test_every_actuator_of_the_bench_has_a_bound(tmp_path):
    bounds = load_envelope("sim", BENCH.actuators)
    assert [b.actuator for b in bounds] == [a.name for a in BENCH.actuators]
    text = """
status = "d"
author_role = "t"
bench = "sim"
[envelope]
"arm.base" = { range = ["-9 rad", "1 rad"], rate = "1 rad/s", source = "s" }
"x" = { range = ["0", "1"], rate = "1 1/s", source = "s" }
"""
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_envelope(tmp_path / "e.toml", BENCH.actuators[:2])
    assert [m.split(": ")[1].split(" ")[0] for m in caught.value.mistakes] == ["there", "range", "is"]


def test_a_rule_that_actuates_names_an_order_when_two_responses_do():
    rules = load_rules(rule_files("spoon-feed"), BENCH.layout)
    asked = {r.response for r in rules.rules if r.response in ACTUATING}
    assert len(asked) > 1
    assert asked <= set(rules.order)
