"""Twins: trials alike in everything but whether the monitor only watched or stepped in."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from analysis.facts import TrialFacts, facts_of
from analysis.recorded_rules import same_rules
from rig.core.bench import load_bench
from rig.core.clock import seconds
from rig.core.errors import UsageError
from rig.core.event import Json, Kind
from rig.core.record import Record, StoredEvent, read, records_under

NOT_COMPARED = (Kind.TRIAL_STARTED, Kind.TELEMETRY_CLOSED)
"""Events that say how the record was made; twins may differ in them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The records of two twins."""

    shadow: Path
    guard: Path


@dataclass(frozen=True, slots=True)
class Twins:
    """The pairs among some records, and why the other records are in none.

    Attributes:
        records: How many records there were.
        pairs: In order of item, agent and seed.
        left_out: How many records are in no pair, by reason.
        configurations: Per task, how many configurations the pairs were made under.
    """

    records: int
    pairs: tuple[Pair, ...]
    left_out: Mapping[str, int]
    configurations: Mapping[str, int]


def find_twins(folder: Path) -> Twins:
    """Pair the records at or below a folder: same item, agent, bench, seed, repeat and configuration.

    Raises:
        RecordError: If a record cannot be read.
        UsageError: If one trial is there twice, so that nobody knows which is whose twin.
    """
    left_out: Counter[str] = Counter()
    found: dict[tuple[object, ...], dict[str, Path]] = defaultdict(dict)
    made: dict[str, set[str]] = defaultdict(set)
    records = 0
    for path in records_under(folder):
        record, records = read(path), records + 1
        facts = facts_of(record)
        if reason := why_not(record, facts):
            left_out[reason] += 1
            continue
        key = facts.key
        twin = (key.item, key.agent, key.bench, key.seed, key.repeat, facts.comparable)
        if key.monitor in found[twin]:
            raise UsageError(f"{path} and {found[twin][key.monitor]} are the same trial; give one of them")
        found[twin][key.monitor] = path
        made[facts.task].add(_circumstances(record))
    pairs = []
    for _, modes in sorted(found.items(), key=lambda item: str(item[0])):
        if len(modes) == 2:
            pairs.append(Pair(modes["shadow"], modes["guard"]))
        else:
            left_out[f"no twin: {next(iter(modes))} only"] += 1
    return Twins(records, tuple(pairs), dict(left_out), {task: len(all_) for task, all_ in made.items()})


def why_incomplete(record: Record) -> str:
    """Return why a record shows no whole trial, empty if it does."""
    ended = next((e for e in reversed(record.events) if e.kind is Kind.TRIAL_ENDED), None)
    if not record.complete or ended is None:
        return "not complete"
    if ended.body.get("ending") == "aborted":
        return "aborted"
    return ""


def why_not(record: Record, facts: TrialFacts) -> str:
    """Return why a record can be nobody's twin, empty if it can."""
    if reason := why_incomplete(record):
        return reason
    if same_rules(record) is None:
        return "made under other rules"
    if _bench_digest(facts.site) != _recorded_bench(record):
        return "made on another bench"
    return ""


@lru_cache(maxsize=16)
def _bench_digest(bench: str) -> str | None:
    try:
        return load_bench(bench).digest
    except UsageError:
        return None


def _recorded_bench(record: Record) -> Json:
    """Return the digest of the bench file the manifest states; older manifests state nothing else."""
    match configuration_of(record).get("bench"):
        case {"file": str(digest)}:
            return digest
        case other:
            return other


def configuration_of(record: Record) -> Mapping[str, Json]:
    """Return what the manifest says the trial depended on."""
    configuration = record.manifest.get("configuration")
    return configuration if isinstance(configuration, Mapping) else {}


_MAY_DIFFER: Final = ("agent", "monitor", "instructions")
"""Fields in which trials of one task differ by design; a scenario's own notes stand in the task's file too."""


def _circumstances(record: Record) -> str:
    """Return what two trials of one task must have in common to be counted together."""
    shared = {k: v for k, v in configuration_of(record).items() if k not in _MAY_DIFFER}
    return json.dumps(shared, sort_keys=True)


def parted_early(shadow: Record, guard: Record, until_ns: int) -> str:
    """Return the first thing that differs between twins before ``until_ns``, empty if nothing does.

    Until the monitor first speaks, twins are the same trial; if they are not, something else differs.
    """
    a, b = (_before(record, until_ns) for record in (shadow, guard))
    for x, y in zip(a, b, strict=False):
        if (x.t_ns, x.kind, x.source, x.body) != (y.t_ns, y.kind, y.source, y.body):
            return f"{x.kind} at {seconds(x.t_ns):.3f} s against {y.kind} at {seconds(y.t_ns):.3f} s"
    return "" if len(a) == len(b) else "something happened in one of them only"


def _before(record: Record, until_ns: int) -> list[StoredEvent]:
    return [e for e in record.events if e.t_ns < until_ns and e.kind not in NOT_COMPARED]
