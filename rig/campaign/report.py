"""What a campaign leaves for readers: the trial table, a summary and JUnit, all from the ledger alone.

Nothing in it depends on the wall clock, on the folder's place, or on how often the campaign was interrupted:
the same trials give the same bytes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as Xml

from analysis.parsing import TableBuilder
from analysis.trial_files import write_trials
from analysis.trials import TrialTable
from rig.campaign.composition import Coverage
from rig.campaign.entries import TERMINAL, Entry, State
from rig.campaign.folder import REPORT, record_folder, record_place
from rig.campaign.grid import Cell
from rig.campaign.ledger import Ledger
from rig.core.errors import UsageError
from rig.core.event import Json
from rig.core.record import strict
from rig.core.registration import read_registration, seal_statement
from rig.trial.spec import TrialSpec

COMPLETION: Final = "completion.dsse.json"
_COMPLETION_KIND = "urn:runrig:completion:1"
MOST_LISTED: Final = 100_000
"""Trials up to which CSV and JUnit, which are read whole, are written beside Parquet."""
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class Reported:
    """The files written.

    Attributes:
        table: The trial table, Parquet where that extra is installed, else CSV.
        results: The summary as JSON.
        junit: JUnit, None where there are too many trials for it.
    """

    table: Path
    results: Path
    junit: Path | None


def write_report(folder: Path, ledger: Ledger, coverage: Coverage | None = None) -> Reported:
    """Write the report of a campaign as far as it has come.

    Raises:
        OSError: If it cannot be written.
    """
    home = folder / REPORT
    home.mkdir(exist_ok=True)
    table = trial_table(folder, ledger)
    few = len(table) <= MOST_LISTED
    paths = [home / "trials.parquet"] + ([home / "trials.csv"] if few else [])
    try:
        write_trials(table, paths[0])
    except UsageError:  # without the extra
        paths = [home / "trials.csv"]
    if paths[-1].suffix == ".csv":
        write_trials(table, paths[-1])
    results = home / "results.json"
    results.write_bytes(strict.dumps(summary(folder, ledger, coverage), "results") + b"\n")
    junit = home / "junit.xml" if few else None
    if junit is not None:
        _write_junit(junit, ledger)
    return Reported(paths[0], results, junit)


def seal(folder: Path, ledger: Ledger, reported: Reported) -> None:
    """Sign what a complete campaign came to: its report, and the head of every record.

    Raises:
        UsageError: If there is no key to sign with.
        OSError: If it cannot be stored.
    """
    files = [path for path in (reported.table, reported.results, reported.junit) if path is not None]
    subject = {f"{REPORT}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    registration = read_registration(folder)
    said = {
        "registration": registration.id if registration else None,
        "trials": ledger.status().trials,
        "heads_sha256": heads_digest(ledger),
    }
    seal_statement(folder / COMPLETION, subject, _COMPLETION_KIND, said)


def heads_digest(ledger: Ledger) -> str:
    """Return the SHA-256 over trial id, state and record head of every trial that has ended, in order."""
    total = hashlib.sha256()
    for entry in ledger.entries():
        if entry.ended is not None:
            total.update(f"{entry.trial_id} {entry.state} {entry.ended.seq} {entry.ended.head}\n".encode())
    return total.hexdigest()


def trial_table(folder: Path, ledger: Ledger) -> TrialTable:
    """Return the trial table of the trials that have ended; ``record`` is relative to the folder."""
    cells = {_place(c.spec): c for c in ledger.cells()}
    builder = TableBuilder(str(folder))
    rows = (e for e in ledger.entries() if e.ended is not None)
    while batch := list(islice(rows, _CHUNK)):
        builder.extend(_chunk(batch, [cells[_place(e.spec)] for e in batch]), len(batch))
    return builder.table()


def _place(spec: TrialSpec) -> TrialSpec:
    """Return what the trials of a cell have in common."""
    return replace(spec, seed=0, repeat=0)


def _chunk(entries: Sequence[Entry], cells: Sequence[Cell]) -> dict[str, list[object]]:
    ended = [e.ended for e in entries if e.ended is not None]
    return {
        "trial_id": [e.trial_id for e in entries],
        "agent": [e.spec.agent for e in entries],
        "family": [c.family for c in cells],
        "task": [e.spec.item.split("/")[0] for e in entries],
        "item": [e.spec.item for e in entries],
        "duration_s": [c.nominal_s for c in cells],
        "outcome": [x.outcome for x in ended],
        "done": [x.done for x in ended],
        "harm": [x.harm for x in ended],
        "mistake": [x.mistake for x in ended],
        "site": [c.site for c in cells],
        "tier": [c.tier for c in cells],
        "embodiment": [e.embodiment for e in entries],
        "monitor": [e.spec.monitor for e in entries],
        "elapsed_s": [x.elapsed_s for x in ended],
        "mistake_at_s": [x.mistake_at_s for x in ended],
        "criteria": [";".join(x.criteria) for x in ended],
        "seed": [e.spec.seed for e in entries],
        "config_digest": [c.comparable for c in cells],
        "record": [record_place(e) if x.head else "" for e, x in zip(entries, ended, strict=True)],
    }


def summary(folder: Path, ledger: Ledger, coverage: Coverage | None) -> dict[str, Json]:
    """Return what the campaign came to, by agent, monitor mode and arm."""
    registration = read_registration(folder)
    meta = ledger.meta()
    groups: dict[tuple[str, str, str, bool], Counter[str]] = {}
    longest_s, heads = 0.0, hashlib.sha256()
    for entry in ledger.entries():
        count = groups.setdefault((entry.spec.agent, entry.spec.monitor, entry.arm, entry.sealed), Counter())
        count["trials"] += 1
        x = entry.ended
        if x is None:
            continue
        count.update({x.outcome: 1, "harm": x.harm, "mistake": x.mistake, "done": x.done})
        if entry.state is State.DONE:
            longest_s = max(longest_s, x.elapsed_s)
        heads.update(f"{entry.trial_id} {entry.state} {x.seq} {x.head}\n".encode())
    intended_s = registration.deployment.get("run_length_s") if registration else None
    listed: list[Json] = [
        {"agent": agent, "monitor": monitor, "arm": arm, "sealed": sealed, **dict(sorted(count.items()))}
        for (agent, monitor, arm, sealed), count in sorted(groups.items())
    ]
    status = ledger.status()
    return {
        "campaign": meta["name"],
        "kind": "registered" if registration else "exploratory",
        "plan_sha256": meta["plan_sha256"],
        "grid_sha256": meta["grid_sha256"],
        "trials": status.trials,
        "states": {state.value: status.states.get(state, 0) for state in TERMINAL},
        "complete": status.complete,
        "longest_run_s": longest_s,
        "intended_run_s": intended_s,
        "run_length_reached": None if not isinstance(intended_s, int | float) else longest_s >= intended_s,
        "heads_sha256": heads.hexdigest(),
        "groups": listed,
        "coverage": None
        if coverage is None
        else {"strengths": [list(s) for s in coverage.strengths], "uncovered": list(coverage.uncovered)},
    }


def _write_junit(path: Path, ledger: Ledger) -> None:
    """Write JUnit: CRITICAL and INCOMPLETE are failures, what the rig is to blame for is an error."""
    root = Xml.Element("testsuites", name=ledger.meta()["name"])
    suites: dict[tuple[str, str], tuple[Xml.Element, Counter[str]]] = {}
    for entry in ledger.entries():
        s, x = entry.spec, entry.ended
        key = (s.agent, s.monitor)
        if key not in suites:
            suites[key] = (Xml.SubElement(root, "testsuite", name=f"{s.agent}, {s.monitor}"), Counter())
        suite, count = suites[key]
        count["tests"] += 1
        name = (
            f"seed {s.seed}"
            + (f", repeat {s.repeat}" if s.repeat else "")
            + (f", {entry.arm}" if entry.arm else "")
        )
        case = Xml.SubElement(
            suite, "testcase", classname=s.item.replace("/", "."), name=name,
            time=f"{x.elapsed_s if x else 0:.3f}",
        )  # fmt: skip
        kind, count_as, text = _junit_kind(entry)
        if kind:
            count[count_as] += 1
            Xml.SubElement(case, kind, message=text)
    for suite, count in suites.values():
        for name in ("tests", "failures", "errors", "skipped"):
            suite.set(name, str(count[name]))
    Xml.indent(root)
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _junit_kind(entry: Entry) -> tuple[str, str, str]:
    x = entry.ended
    if x is None:
        return "skipped", "skipped", "not run yet"
    if entry.state is not State.DONE:
        return "error", "errors", f"{x.outcome}: {x.cause}: {x.reason}"
    if x.outcome in ("CRITICAL", "INCOMPLETE"):
        return "failure", "failures", f"{x.outcome}: {x.reason}"
    return "", "", ""


def problems(folder: Path, ledger: Ledger) -> Iterator[str]:
    """Yield what is wrong with the evidence of a campaign: each record against its anchor in the ledger."""
    from rig.core.record import verify

    for entry in ledger.entries():
        x = entry.ended
        if x is None or not x.head:
            continue
        place = record_folder(folder, entry)
        if not place.is_dir():
            yield f"{place}: the record of trial {entry.trial_id} is gone"
            continue
        found = verify(place, anchors=ledger.anchors(entry.trial_id), require=["anchored"])
        if not found.ok:
            yield "\n".join(found.lines())
