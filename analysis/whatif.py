"""What-if replay: what other rules would have said of the same readings. Derived, never the record.

The course of the trial stays as it was: what the agent would have done differently after another alarm,
nobody knows. So a what-if says which alarms there would have been and when, never what they would have
prevented.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.alarms import end_of, episodes, intervening
from analysis.decisions import recorded_decisions
from analysis.facts import facts_of
from analysis.hazards import hazard_of
from analysis.recorded_rules import recorded_digest, rules_now, same_rules
from analysis.replay import Replayer
from analysis.runup import courses
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json
from rig.core.record import Record
from safety_monitor.alarms import Alarm
from safety_monitor.rule import RuleSet
from safety_monitor.rules import load_rules
from safety_monitor.timeliness import Scored, score

FOLDER = "exports"


@dataclass(frozen=True, slots=True)
class Moved:
    """An alarm that is raised by both, at another time."""

    recorded: Alarm
    instead: Alarm

    @property
    def later_s(self) -> float:
        """How much later it begins; negative for earlier."""
        return self.instead.start_s - self.recorded.start_s


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Other rules over a record's readings, against what the record says.

    Attributes:
        rules: The other rules.
        files: Their files, with the SHA-256 of each.
        ticks: Ticks fed to them.
        same: How many alarms begin at the same tick.
        gained: Alarms only the other rules raise.
        lost: Alarms only the record has.
        moved: Alarms both raise, beginning at another tick.
        harm: For each harm in the record: what the recorded rules and what these were in time for.
    """

    rules: RuleSet
    files: dict[str, str]
    ticks: int
    same: int
    gained: tuple[Alarm, ...]
    lost: tuple[Alarm, ...]
    moved: tuple[Moved, ...]
    harm: tuple["Against", ...]


@dataclass(frozen=True, slots=True)
class Against:
    """One harm in the record, scored by both rules as if an alarm in time had prevented it."""

    recorded: Scored
    instead: Scored


def merged(base: RuleSet, other: RuleSet) -> RuleSet:
    """Return the rules of both; one of ``other`` takes the place of its namesake in ``base``."""
    mine = {rule.id: rule for rule in other.rules}
    kept = tuple(mine.pop(rule.id, rule) for rule in base.rules)
    order = base.order + tuple(r for r in other.order if r not in base.order)
    digest = hashlib.sha256(f"{base.digest} {other.digest}".encode()).hexdigest()
    return RuleSet((*kept, *mine.values()), order, base.layout, digest)


def other_rules(record: Record, files: Sequence[Path], with_task: bool) -> RuleSet:
    """Return the rules of files, and with ``with_task`` the task's own beside them.

    Raises:
        UsageError: If a file is not there, or the files hold no rules.
        ConfigError: If a file is wrong; all its mistakes at once.
    """
    if missing := [str(f) for f in files if not f.is_file()]:
        raise UsageError(f"no such file: {', '.join(missing)}")
    loaded = load_rules(files, record.layout)
    if not loaded.rules:
        raise UsageError(f"{', '.join(map(str, files))}: NOT ASSESSED, there are no rules in it")
    return merged(rules_now(facts_of(record).task, record.layout), loaded) if with_task else loaded


def what_if(record: Record, rules: RuleSet, files: Sequence[Path]) -> WhatIf:
    """Feed a record's readings to other rules and compare the alarms.

    Raises:
        RecordError: If the record cannot be read or holds no telemetry, or was made under rules that
            are no longer here, so that nobody knows what its alarms asked for.
    """
    recorded_rules = same_rules(record)
    if recorded_rules is None:
        raise RecordError(
            f"{record.folder}: made under rules {recorded_digest(record)[:12]}, which are not those of this "
            f"installation; use the version that made it"
        )
    replayer = Replayer(rules, record.layout)
    instead = list(episodes(tuple(replayer.run(record)), rules, end_of(record)))
    if not replayer.ticks:
        raise RecordError(f"{record.folder}: NOT ASSESSED, the record holds no telemetry")
    recorded = list(episodes(recorded_decisions(record), recorded_rules, end_of(record)))
    pairs = tuple(_pairs(recorded, instead))
    return WhatIf(
        rules=rules,
        files={str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files},
        ticks=replayer.ticks,
        same=sum(a.start_s == b.start_s for a, b in pairs),
        gained=tuple(b for b in instead if not any(b is x for _, x in pairs)),
        lost=tuple(a for a in recorded if not any(a is x for x, _ in pairs)),
        moved=tuple(Moved(a, b) for a, b in pairs if a.start_s != b.start_s),
        harm=tuple(_against(record, recorded, instead)),
    )


def _against(record: Record, recorded: Sequence[Alarm], instead: Sequence[Alarm]) -> Iterator[Against]:
    facts = facts_of(record)
    for course in courses(record, facts.rubric).values():
        if course.effect_ns is not None:
            run = course.run_before(course.effect_ns)
            hazard = hazard_of(facts, course, run)
            yield Against(score(hazard, intervening(recorded)), score(hazard, intervening(instead)))


def _pairs(recorded: Sequence[Alarm], instead: Sequence[Alarm]) -> Iterator[tuple[Alarm, Alarm]]:
    """Pair alarms of one rule that stand at the same time, each with the first it meets."""
    free = list(instead)
    for a in recorded:
        b = next(
            (b for b in free if b.rule == a.rule and b.start_s <= a.end_s and a.start_s <= b.end_s), None
        )
        if b is not None:
            free.remove(b)
            yield a, b


def as_json(record: Record, found: WhatIf) -> dict[str, Json]:
    """Return everything as strict JSON, with what it was derived from."""
    return {
        "derived_from": {"trial_id": record.trial_id, "head": record.head, "complete": record.complete},
        "rules": {
            "digest": found.rules.digest, "files": {**found.files}, "ids": [r.id for r in found.rules.rules],
            "recorded_digest": recorded_digest(record),
        },
        "ticks": found.ticks, "same": found.same,
        "gained": [_json(a) for a in found.gained], "lost": [_json(a) for a in found.lost],
        "moved": [
            {"recorded": _json(m.recorded), "instead": _json(m.instead), "later_s": m.later_s} for m in found.moved
        ],
        "harm": [
            {
                "criterion": a.recorded.hazard.name, "irreversible_s": a.recorded.hazard.irreversible_s,
                "recorded": _scored(a.recorded), "instead": _scored(a.instead),
            }
            for a in found.harm
        ],
    }  # fmt: skip


def _scored(scored: Scored) -> Json:
    return {
        "timing": scored.timing.value, "rule": scored.alarm.rule if scored.alarm else None,
        "lead_s": scored.lead_s,
    }  # fmt: skip


def write(record: Record, found: WhatIf, folder: Path | None = None) -> Path:
    """Write a what-if beside the record, never over it, and return the file.

    Args:
        record: The record it was derived from.
        found: What was found.
        folder: Where to; the record's ``exports`` if None.

    Raises:
        UsageError: If the folder cannot be written.
    """
    folder = record.folder / FOLDER if folder is None else folder
    path = folder / f"whatif-{record.trial_id[:12]}-{found.rules.digest[:12]}.json"
    draft = path.with_name(f".{path.name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(as_json(record, found), indent=1, allow_nan=False) + "\n")
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write the what-if here: {error.strerror}; give --out") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return path


def _json(alarm: Alarm) -> Json:
    return {
        "rule": alarm.rule, "protects": alarm.protects, "response": alarm.response.value,
        "start_s": alarm.start_s, "end_s": alarm.end_s, "unknown": alarm.unknown,
    }  # fmt: skip
