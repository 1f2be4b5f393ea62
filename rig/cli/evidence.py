"""`runrig replay`, `whatif`, `export` and `trials`: what records say, said again and said otherwise."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from rig.cli.output import print_json
from rig.core.clock import MonotonicClock, clock_text
from rig.core.errors import UsageError
from rig.core.record import Record, read, records_under

if TYPE_CHECKING:
    from analysis.replay import Replay
    from safety_monitor.timeliness import Scored


def show_replays(folder: Path, as_json: bool) -> int:
    """Replay every record at or below a folder; exit 1 unless each one's decisions are identical."""
    from analysis.replay import Result, replay

    found: list[tuple[Path, Replay]] = []
    for path in records_under(folder):
        clock = MonotonicClock()
        done = replay(read(path))
        found.append((path, done))
        if not as_json:
            _print_replay(path, done, clock.now_ns())
    identical = sum(done.result is Result.IDENTICAL for _, done in found)
    if as_json:
        print_json([{"record": path, **done.json()} for path, done in found])
    elif not found:
        print(f"NOT ASSESSED: there is no record at or below {folder}")  # noqa: T201
    elif len(found) > 1:
        print(f"{identical} of {len(found)} identical")  # noqa: T201
    return 0 if found and identical == len(found) else 1


def _print_replay(path: Path, done: "Replay", took_ns: int) -> None:
    word = done.result.value.replace("_", " ")
    lines = [f"{word}: {path}"]
    if done.ticks:
        speed = done.span_ns / max(1, took_ns)
        lines.append(
            f"  {done.ticks:,} ticks, {clock_text(done.span_ns)} of trial time, {done.rules} rules; "
            f"{done.decisions} decisions the same ({speed:,.0f} x real time)"
        )
    if done.difference is not None:
        lines.append(f"  first difference, decision {done.difference.number}:")
        lines += [f"    {line}" for line in done.difference.lines()]
    if done.reason:
        lines.append(f"  {done.reason}")
    print("\n".join(lines))  # noqa: T201


def show_what_if(
    folder: Path, files: Sequence[Path], *, with_task: bool, out: Path | None, as_json: bool
) -> int:
    """Feed a record's readings to other rules, print what would change, and write it beside the record."""
    from analysis.whatif import as_json as plain
    from analysis.whatif import other_rules, what_if, write

    record = read(folder)
    found = what_if(record, other_rules(record, files, with_task), files)
    path = write(record, found, out)
    if as_json:
        print_json({**plain(record, found), "written": path})
        return 0
    console = Console()
    console.print(
        f"{len(found.rules.rules)} rules over {found.ticks:,} recorded ticks: {len(found.gained)} alarms gained, "
        f"{len(found.lost)} lost, {len(found.moved)} moved, {found.same} as recorded"
    )
    rows = [("gained", a.rule, "", _at(a.start_s), a.response.value) for a in found.gained]
    rows += [("lost", a.rule, _at(a.start_s), "", a.response.value) for a in found.lost]
    rows += [
        ("moved", m.instead.rule, _at(m.recorded.start_s), _at(m.instead.start_s), f"{m.later_s:+.3f} s")
        for m in found.moved
    ]
    if rows:
        table = Table("", "Rule", "Recorded", "With these rules", "")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for harm in found.harm:
        console.print(
            f"{harm.recorded.hazard.name} at {_at(harm.recorded.hazard.irreversible_s or 0.0)}: "
            f"recorded {_in_time(harm.recorded)}; with these rules {_in_time(harm.instead)}"
        )
    console.print(
        "The course of the trial is the recorded one; what an alarm would have changed is not known."
    )
    console.print(f"Written to {path}", soft_wrap=True)
    return 0


def _at(t_s: float) -> str:
    return clock_text(round(t_s * 1e9))


def _in_time(scored: "Scored") -> str:
    if scored.alarm is None or scored.lead_s is None:
        return scored.timing.value.replace("_", " ")
    word = "in the window" if scored.timing.value == "timely" else scored.timing.value.replace("_", " ")
    return f"{word} ({scored.alarm.rule}, lead {scored.lead_s:.3f} s)"


def export(folder: Path, *, csv: bool, parquet: bool, channels: str, out: Path | None, as_json: bool) -> int:
    """Write a record as CSV or Parquet and print the files."""
    from rig.core.record import export_csv, export_parquet

    if not (csv or parquet):
        raise UsageError("say as what: --csv, --parquet, or both")
    record: Record = read(folder)
    wanted = [name.strip() for name in channels.split(",") if name.strip()] or None
    paths: list[Path] = []
    for asked, write in ((csv, export_csv), (parquet, export_parquet)):
        if asked:
            paths += [path for path in write(record, out, wanted) if path not in paths]
    if as_json:
        print_json({"record": folder, "complete": record.complete, "files": paths})
    else:
        if not record.complete:
            print(f"The record is not complete: {record.problem}")  # noqa: T201
        print("\n".join(map(str, paths)))  # noqa: T201
    return 0
