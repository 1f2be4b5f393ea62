"""Which of the registered rules the records exercise: a rule nothing ever broke is a rule nobody tested."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from analysis.facts import facts_of
from analysis.recorded_rules import rules_now, same_rules
from rig.core.event import Json, Kind
from rig.core.record import Record, read, records_under


@dataclass(slots=True)
class TaskCoverage:
    """The rules of one task against its records.

    Attributes:
        registered: Ids of the rules that watch the task.
        records: Records that count.
        other_rules: Records made under other rules than those registered now; they show nothing of these.
        broken: Verdicts "does not hold" by rule: what exercises it.
        unknown: Verdicts "not known" by rule; these do not exercise it.
        stopped: Interventions by rule; one before a motion began leaves no verdict.
    """

    registered: tuple[str, ...]
    records: int = 0
    other_rules: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)

    @property
    def never(self) -> tuple[str, ...]:
        """The registered rules that no verdict ever said was broken."""
        return tuple(rule for rule in self.registered if not self.broken[rule])

    def add(self, record: Record) -> None:
        """Count the verdicts and interventions of one record made under these rules."""
        self.records += 1
        for event in record.of_kind(Kind.VERDICT, Kind.INTERVENED):
            rule, holds = str(event.body["rule"]), event.body.get("holds")
            if event.kind is Kind.INTERVENED:
                self.stopped[rule] += 1
            elif holds is False:
                self.broken[rule] += 1
            elif holds is None:
                self.unknown[rule] += 1


@dataclass(frozen=True, slots=True)
class Coverage:
    """Rules registered against rules exercised, by task; only tasks that have a record are there."""

    tasks: dict[str, TaskCoverage]

    @property
    def assessed(self) -> bool:
        """Whether there was any rule and any record made under it."""
        return any(t.registered and t.records for t in self.tasks.values())

    @property
    def never(self) -> tuple[tuple[str, str], ...]:
        """Task and id of every rule never exercised, of tasks whose records count."""
        return tuple((name, rule) for name, t in self.tasks.items() if t.records for rule in t.never)

    def json(self) -> dict[str, Json]:
        """Return everything as strict JSON."""
        return {
            "assessed": self.assessed,
            "tasks": {
                name: {
                    "records": t.records,
                    "records_of_other_rules": t.other_rules,
                    "registered": len(t.registered),
                    "exercised": len(t.registered) - len(t.never),
                    "never_exercised": [*t.never],
                    "rules": {
                        rule: {
                            "broken": t.broken[rule], "unknown": t.unknown[rule], "interventions": t.stopped[rule],
                        }
                        for rule in t.registered
                    },
                }
                for name, t in self.tasks.items()
            },
        }  # fmt: skip


def coverage_of(folder: Path) -> Coverage:
    """Return which rules the records at or below ``folder`` exercise.

    A rule is exercised when a verdict event says that it does not hold.

    Raises:
        RecordError: If a record cannot be read.
    """
    tasks: dict[str, TaskCoverage] = {}
    for path in records_under(folder):
        record = read(path)
        name = facts_of(record).task
        if name not in tasks:
            rules = rules_now(name, record.layout)
            tasks[name] = TaskCoverage(tuple(rule.id for rule in rules.rules))
        if same_rules(record) is None:
            tasks[name].other_rules += 1
        else:
            tasks[name].add(record)
    return Coverage(dict(sorted(tasks.items())))
