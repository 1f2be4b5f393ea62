"""What-if replay: other rules over recorded readings, derived and never over the record."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.recorded_rules import rules_now
from analysis.whatif import merged, other_rules, what_if, write
from rig.core.errors import ConfigError, RecordError, UsageError
from rig.core.record import Record, read, verify
from safety_monitor.rules import load_rules, rule_files
from safety_monitor.timeliness import Timing
from tests.recorded import EXIT, copy_of, folder_of

TASK, COMMON = rule_files("bed-watch")[::-1]


@pytest.fixture
def shadow() -> Record:
    return read(folder_of(EXIT, "shadow"))


def rules_file(folder: Path, *changes: tuple[str, str], only: str = "") -> Path:
    """Return a copy of the task's rules with some text changed, or with one rule alone."""
    text = TASK.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    if only:
        head, *rules = text.split("[rule.")
        text = head + "".join(f"[rule.{r}" for r in rules if r.startswith(f"{only}]"))
    path = folder / "other.toml"
    path.write_text(text)
    return path


def test_the_same_rules_change_nothing(shadow: Record) -> None:
    found = what_if(shadow, other_rules(shadow, [COMMON, TASK], False), [COMMON, TASK])
    assert found.rules.digest == rules_now("bed-watch", shadow.layout).digest
    assert (found.gained, found.lost, found.moved) == ((), (), ()) and found.same > 0
    assert all(a.recorded == a.instead for a in found.harm) and found.harm


def test_a_slower_rule_moves_its_alarm_and_shortens_the_lead(shadow: Record, tmp_path: Path) -> None:
    path = rules_file(tmp_path, ('for = "3 s"', 'for = "9 s"'))
    found = what_if(shadow, other_rules(shadow, [COMMON, path], False), [path])
    (moved,) = found.moved
    assert (moved.instead.rule, moved.later_s) == ("answer-exit", 6.0)
    exits = next(a for a in found.harm if a.recorded.hazard.name == "unanswered-exit")
    assert exits.recorded.timing is Timing.TIMELY and exits.instead.lead_s is not None
    assert exits.recorded.lead_s == pytest.approx(exits.instead.lead_s + 6.0)


def test_a_rule_too_slow_for_anything_loses_its_alarm(shadow: Record, tmp_path: Path) -> None:
    path = rules_file(tmp_path, ('for = "3 s"', 'for = "2 h"'))
    found = what_if(shadow, other_rules(shadow, [COMMON, path], False), [path])
    assert [a.rule for a in found.lost] == ["answer-exit"]
    exits = next(a for a in found.harm if a.recorded.hazard.name == "unanswered-exit")
    assert exits.instead.timing is Timing.MISSED


def test_a_new_rule_gains_alarms(shadow: Record, tmp_path: Path) -> None:
    path = rules_file(
        tmp_path, ("[rule.turn-soon]", "[rule.turn-sooner]"), ("mat.dose > 0.6", "mat.dose > 0.05"), only="turn-sooner"
    )  # fmt: skip
    found = what_if(shadow, other_rules(shadow, [path], True), [path])
    assert {a.rule for a in found.gained} == {"turn-sooner"} and found.lost == ()
    alone = what_if(shadow, other_rules(shadow, [path], False), [path])
    assert alone.lost and {a.rule for a in alone.gained} == {"turn-sooner"}


def test_with_the_task_s_rules_a_namesake_takes_its_place(shadow: Record, tmp_path: Path) -> None:
    path = rules_file(tmp_path, ('for = "3 s"', 'for = "9 s"'), only="answer-exit")
    base, other = rules_now("bed-watch", shadow.layout), load_rules([path], shadow.layout)
    both = merged(base, other)
    assert [r.id for r in both.rules] == [r.id for r in base.rules]
    assert both["answer-exit"] == other["answer-exit"] != base["answer-exit"]
    assert set(base.order) <= set(both.order) and both.digest not in (base.digest, other.digest)
    assert [m.instead.rule for m in what_if(shadow, both, [path]).moved] == ["answer-exit"]


def test_what_is_written_names_its_sources_and_leaves_the_record_alone(tmp_path: Path) -> None:
    folder = copy_of(EXIT, "shadow", tmp_path / "record")
    before = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    record = read(folder)
    path = rules_file(tmp_path, ('for = "3 s"', 'for = "9 s"'))
    found = what_if(record, other_rules(record, [COMMON, path], False), [COMMON, path])
    written = write(record, found)
    assert written.parent == folder / "exports"
    said = json.loads(written.read_text())
    assert said["derived_from"] == {"trial_id": record.trial_id, "head": record.head, "complete": True}
    assert said["rules"]["files"][str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert said["rules"]["digest"] != said["rules"]["recorded_digest"]
    assert [m["later_s"] for m in said["moved"]] == [6.0]
    assert before == {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    assert verify(folder).ok
    assert write(record, found, tmp_path / "elsewhere").parent == tmp_path / "elsewhere"


def test_bad_input_is_named(shadow: Record, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file: .*nowhere\.toml"):
        other_rules(shadow, [tmp_path / "nowhere.toml"], False)
    with pytest.raises(ConfigError, match=r"rule\.answer-exit\.condition"):
        other_rules(shadow, [rules_file(tmp_path, ("edge.load >", "edge.lode >"))], False)
    (tmp_path / "none.toml").write_text(TASK.read_text().split("[rule.")[0] + "\n[rule]\n")
    with pytest.raises(UsageError, match="NOT ASSESSED"):
        other_rules(shadow, [tmp_path / "none.toml"], True)
    (tmp_path / "file").write_text("")
    found = what_if(shadow, rules_now("bed-watch", shadow.layout), [TASK])
    with pytest.raises(UsageError, match="cannot write"):
        write(shadow, found, tmp_path / "file")


def test_a_record_of_unknown_rules_says_nothing_of_its_alarms(shadow: Record) -> None:
    configuration = {**shadow.manifest["configuration"], "rules": "0" * 64}  # type: ignore[dict-item]
    other = replace(shadow, manifest={**shadow.manifest, "configuration": configuration})
    with pytest.raises(RecordError, match="made under rules 000000000000"):
        what_if(other, rules_now("bed-watch", shadow.layout), [TASK])
