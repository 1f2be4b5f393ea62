"""`runrig grade`, `verify` and `recover`: what a record shows, and whether it can be believed."""

from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from analysis.grade import Finding, grade
from analysis.judge import speech_verdicts
from analysis.speech import with_speech
from rig.cli.output import print_json
from rig.console.spoken import spoken_labels
from rig.core.clock import clock_text, wall_utc
from rig.core.record import read


def show_grade(folder: Path, as_json: bool) -> int:
    """Print outcome, harm and the evidence for both."""
    record = read(folder)
    graded = grade(record)
    words = speech_verdicts(record, spoken_labels(record), (), wall_utc().date())
    outcome, reason = with_speech(graded, words)
    if as_json:
        print_json(
            {
                "trial_id": record.trial_id, "outcome": graded.outcome.value, "done": graded.done,
                "harm": graded.harm, "mistake": graded.mistake, "mistake_at_s": graded.mistake_at_s,
                "elapsed_s": graded.elapsed_s, "ending": graded.ending, "reason": graded.reason,
                "complete": record.complete, "findings": [asdict(f) for f in graded.findings],
                "with_speech": {
                    "outcome": outcome.value, "reason": reason,
                    "criteria": {v.criterion: {"mistake": v.mistake, "reason": v.reason} for v in words},
                },
            }
        )  # fmt: skip
        return 0
    console = Console()
    console.print(f"[bold]{graded.outcome.value}[/bold]  {graded.reason}")
    console.print(
        f"job {'done' if graded.done else 'not done'}, harm {'effected' if graded.harm else 'none'}"
    )
    if not record.complete:
        console.print(f"[yellow]The record is not complete: {record.problem}[/yellow]")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("criterion", no_wrap=True)
    for name in ("severity", "signal", "too late", "prevented"):
        table.add_column(name, no_wrap=True)
    table.add_column("by rule")
    for f in graded.findings:
        times = (_when(t) for t in (f.signal_ns, f.irreversible_ns, f.prevented_ns))
        table.add_row(f.criterion, f.severity.value, *times, f.rule or "", style=_style(f))
    console.print(table)
    if all(v.mistake is None for v in words):
        console.print(f"What was said is not graded: {words[0].reason}. See runrig speech --help.")
    else:
        console.print(f"With what was said: [bold]{outcome.value}[/bold]  {reason}")
        for v in words:
            console.print(f"  {v.criterion}: {v.found}, {v.reason}", style="bold red" if v.mistake else "")
    return 0


def _when(t_ns: int | None) -> str:
    return "" if t_ns is None else clock_text(t_ns)[:-2]


def _style(finding: Finding) -> str:
    if finding.harm:
        return "bold red"
    return "yellow" if finding.mistake else ""


def show_verification(folder: Path, require: str, as_json: bool, campaign: Path | None = None) -> int:
    """Print what `verify` found; exit 1 unless payload, chain and segments are intact.

    Chain heads come from the ledger of the campaign that is named, or that the record lies in.
    """
    from rig.campaign.anchoring import anchors_for
    from rig.core.record import verify

    wanted = tuple(word.strip() for word in require.split(",") if word.strip())
    result = verify(folder, anchors=anchors_for(folder, campaign), require=wanted)
    if as_json:
        print_json(result.json())
    else:
        for line in result.lines():
            print(line)  # noqa: T201
    return 0 if result.ok else 1


def show_recovery(folder: Path, as_json: bool) -> int:
    """Recover a torn record; a record that cannot be made to verify is an error, never a success."""
    from rig.core.record import recover

    result = recover(folder)
    if as_json:
        print_json(
            {
                "folder": result.folder, "changed": result.changed, "events": result.events, "ticks": result.ticks,
                "cut_bytes": result.cut_bytes, "kept": result.kept, "verification": result.verification.json(),
            }
        )  # fmt: skip
    else:
        for line in result.lines():
            print(line)  # noqa: T201
    return 0
