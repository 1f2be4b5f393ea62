"""The rules a trial was watched by, found again by the digest its manifest keeps of them."""

from functools import lru_cache
from pathlib import Path

from analysis.facts import facts_of
from rig.core.channel import Layout
from rig.core.errors import RecordError
from rig.core.record import Record
from safety_monitor.rule import RuleSet
from safety_monitor.rules import load_rules, rule_files


@lru_cache(maxsize=16)
def rules_now(task: str, layout: Layout, proposed: tuple[Path, ...] = ()) -> RuleSet:
    """Return a task's rules as they stand in this installation, and with them those of files proposed.

    Raises:
        UsageError: If the task has no rules.
        ConfigError: If a rule file is wrong, or names a channel that is not in ``layout``.
    """
    return load_rules((*rule_files(task), *proposed), layout)


def recorded_digest(record: Record) -> str:
    """Return the digest of the rules, limits and channels the trial was watched by.

    Raises:
        RecordError: If the manifest does not state it.
    """
    match record.manifest.get("configuration"):
        case {"rules": {"meaning": str(digest)}} | {"rules": str(digest)}:  # the latter in older records
            return digest
        case _:
            raise RecordError(
                f"{record.folder}: the manifest states no digest of rules (configuration.rules)"
            )


def same_rules(record: Record) -> RuleSet | None:
    """Return the rules the trial was watched by; None if this installation has others.

    Raises:
        RecordError: If the record is not a trial's.
        UsageError: If its task has no rules here.
        ConfigError: If the rules here are wrong.
    """
    now = rules_now(facts_of(record).task, record.layout)
    return now if now.digest == recorded_digest(record) else None
