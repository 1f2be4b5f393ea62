"""What the monitor says, in words a technician can act on."""

from rig.console.standing import Standing, words
from rig.core.bench import load_bench
from rig.core.event import Kind, Severity
from rig.core.record import StoredEvent
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_task

BENCH = load_bench(load_task("spoon-feed").bench("sim"))
RULES = load_rules(rule_files("spoon-feed"), BENCH.layout)


def event(seq: int, t_s: float, kind: Kind, **body: object) -> StoredEvent:
    return StoredEvent(seq, int(t_s * 1e9), kind, "test", Severity.WARNING, body, "")  # type: ignore[arg-type]


def broken(seq: int, t_s: float, holds: object = False) -> StoredEvent:
    return event(
        seq,
        t_s,
        Kind.VERDICT,
        rule="force-at-face",
        holds=holds,
        values={"wrist.force": 4.2, "face.gap": 0.01},
    )


def test_a_broken_rule_is_told_with_value_limit_and_time():
    standing = Standing(RULES)
    standing.take([broken(1, 2.0)])
    (alarm,) = standing.alarms.values()
    assert alarm.text == "wrist.force is 4.2 N, allowed at most 1.2 N for 2 ms"
    assert (alarm.response, alarm.since_s, alarm.unknown) == ("retract", 2.0, False)
    standing.take([broken(2, 3.0, holds=None)])
    assert standing.alarms["force-at-face"].since_s == 2.0, "it is the same alarm"
    standing.take([broken(3, 4.0, holds=True)])
    assert not standing.alarms


def test_what_is_unknown_is_named():
    text = words(
        RULES["force-at-face"], "force-at-face", {"wrist.force": None, "face.gap": 0.01}, unknown=True
    )
    assert text == "wrist.force not known for longer than 50 ms"


def test_a_call_is_a_prompt_until_somebody_answers_it():
    standing = Standing(RULES)
    standing.take([event(7, 1.0, Kind.CALLED, level="urgent", reason="coughs", by="agent")])
    assert standing.prompts[7].urgent
    standing.take([event(8, 2.0, Kind.OPERATOR, did="acknowledged", text="#7")])
    assert not standing.prompts


def test_rules_nobody_knows_here_do_not_break_it():
    standing = Standing(None)
    standing.take([broken(1, 2.0)])
    assert "force-at-face" in standing.alarms["force-at-face"].text
