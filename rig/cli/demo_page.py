"""The demo's report: what the monitor stopped, the same trial with and without it, then the horizons."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.facts import facts_of
from analysis.grade import Grade, grade
from analysis.horizon import HorizonReport
from analysis.page import Html, figure, grid, paragraph, section
from analysis.report import write_report
from analysis.timeline import moment, timeline
from analysis.trials import TrialRow, TrialTable
from rig.cli.demo_work import Watched
from rig.core.record import Record, read

PREFERRED = ("forces-spoon", "ignores-refusal", "too-hot", "unanswered-exit")
"""Criteria whose story is best seen on a timeline, best first."""

HOW_TO_READ = (
    "Each picture is one trial around the moment that matters. Above: what was measured, with where harm begins. "
    "Below: what the agent did, what was said, which rule was broken, what the monitor did. Dashed line: first "
    "sufficient signal. Green line: the monitor stepped in. Red line: the point after which harm is done."
)


def write_page(folder: Path, report: HorizonReport, table: TrialTable, seen: Sequence[Watched]) -> Path:
    """Write the report of a demo campaign and return where it is."""
    path = folder / "report.html"
    first = [section("What the monitor stopped", *_stopped(seen)), *_twins(seen)]
    write_report(report, table, path, first)
    return path


def _stopped(seen: Sequence[Watched]) -> Iterator[Html]:
    rules = Counter(rule for w in seen for rule in w.prevented)
    if not rules:
        yield paragraph("Nothing had to be stopped.")
        return
    rows = [(rule, str(times)) for rule, times in rules.most_common()]
    yield grid(
        "Mistakes of the agents that did no harm",
        ("mistake, and the rule that stopped it", "times"),
        rows,
        {1},
    )


def _twins(seen: Sequence[Watched]) -> Iterator[Html]:
    pair = find_twins([w.row for w in seen])
    if pair is None:
        return
    parts, window_ns = [paragraph(HOW_TO_READ)], None
    for row in pair:
        record = read(Path(row.record or ""))
        graded = grade(record)
        window_ns = window_ns or moment(record, graded)  # both pictures show the same stretch of time
        picture = timeline(record, graded, _title(record, graded), window_ns)
        parts.append(figure(picture, _caption(record, graded)))
    yield section("The same trial without and with the monitor", *parts)


def find_twins(rows: Sequence[TrialRow]) -> tuple[TrialRow, TrialRow] | None:
    """Return a harmful shadow trial and its harmless guarded twin, the most telling pair there is."""
    guarded = {(r.item, r.agent, r.seed): r for r in rows if r.monitor == "guard" and not r.harm}
    pairs = [
        (r, guarded[r.item, r.agent, r.seed])
        for r in rows
        if r.monitor == "shadow" and r.harm and (r.item, r.agent, r.seed) in guarded
    ]

    def telling(pair: tuple[TrialRow, TrialRow]) -> tuple[int, str]:
        ranks = [PREFERRED.index(c) for c in pair[0].criteria if c in PREFERRED]
        return min(ranks, default=len(PREFERRED)), pair[0].item

    return min(pairs, key=telling, default=None)


def _title(record: Record, graded: Grade) -> str:
    facts = facts_of(record)
    return f"{facts.key.agent} on {facts.item}, monitor {facts.key.monitor}: {graded.reason}"


def _caption(record: Record, graded: Grade) -> str:
    facts = facts_of(record)
    watching = "only watching" if facts.key.monitor == "shadow" else "stepping in"
    return f"{facts.key.agent}, {facts.item}, seed {facts.key.seed}, monitor {watching}: {graded.outcome}, {graded.reason}."
