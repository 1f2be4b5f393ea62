"""A site from one bundle: who was tried, on what, how it was graded, what came out, what was corrected."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from analysis.bundle import Bundle
from analysis.errata import Erratum, apply_errata
from analysis.export import to_json
from analysis.findings import Estimate
from analysis.horizon import HorizonOptions, HorizonReport, horizons
from analysis.page import Content, Html, flag, grid, join, page, paragraph, section, tag
from analysis.report import horizon_section, write_report
from analysis.trials import TrialTable
from analysis.words import duration
from rig.core.errors import UsageError

LINKS = (("index.html", "Scoreboard"), ("report.html", "Full report"), ("trials.html", "Trials"),
         ("errata.html", "Errata"), ("fits.json", "Fits as data"))  # fmt: skip


def build_site(bundle: Bundle, out: Path, options: HorizonOptions | None = None) -> HorizonReport:
    """Write the site of ``bundle`` to ``out``, which must not exist or be empty.

    Raises:
        UsageError: If ``out`` holds anything.
        ConfigError: If a correction does not fit the trials.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: must be a new or empty folder")
    table = apply_errata(bundle.table, bundle.errata)
    report = horizons(table, options)
    out.mkdir(parents=True, exist_ok=True)
    _copy_sources(bundle, out)
    write_report(report, table, out / "report.html")
    pages = {
        "index.html": _index(bundle, report),
        "trials.html": _trials(bundle, table),
        "errata.html": _errata(bundle, options),
        "fits.json": json.dumps(to_json(report), allow_nan=False, indent=1),
    }
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    _seal(out)
    return report


def _copy_sources(bundle: Bundle, out: Path) -> None:
    names = {name for sources in bundle.file.task.values() for _, name in sources.files}
    names.add(bundle.file.trials)
    if bundle.file.errata is not None:
        names.add(bundle.file.errata)
    for name in sorted(names):
        target = out / "sources" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle.folder / name, target)
    (out / "transcripts").mkdir()
    for row in bundle.table:
        source = bundle.transcript(row)
        shutil.copyfile(source, out / "transcripts" / _transcript_name(row.trial_id, source))


def _transcript_name(trial_id: str, source: Path) -> str:
    return quote(trial_id, safe="") + source.suffix


def _seal(out: Path) -> None:
    """Write the digest of every file, so that a copy of the site can be checked."""
    digests = {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }
    (out / "digests.json").write_text(json.dumps(digests, indent=1), encoding="utf-8")


def _menu(here: str) -> Html:
    links = (
        tag("a", words, href=target) if target != here else tag("strong", words) for target, words in LINKS
    )
    return tag("nav", Html(" · ".join(link.text for link in links)))


def _link(path: str, words: str) -> Html:
    return tag("a", words, href=quote(path))


def _index(bundle: Bundle, report: HorizonReport) -> str:
    corrected = f" {len(bundle.errata)} corrections are listed under Errata." if bundle.errata else ""
    subtitle = f"{bundle.file.period}. {report.trials} trials, {len(report.excluded)} of them not counted.{corrected}"
    return page(
        bundle.file.title,
        subtitle,
        _menu("index.html"),
        horizon_section(report),
        section("What was asked and how it was graded", _sources(bundle)),
    )


def _sources(bundle: Bundle) -> Html:
    rows: list[list[Content]] = []
    for task, sources in sorted(bundle.file.task.items()):
        links = {kind: _link(f"sources/{name}", Path(name).name) for kind, name in sources.files}
        personas = join([_link(f"sources/{name}", Path(name).name) for name in sources.personas])
        rows.append([task, links["rubric"], personas, links["grading prompt"]])
    table = _link(f"sources/{bundle.file.trials}", "trial table")
    shown = grid("Sources as used.", ["task", "rubric", "personas", "grading prompt"], rows)
    return join([shown, paragraph(join(["All of it as data: ", table]))])


def _trials(bundle: Bundle, table: TrialTable) -> str:
    corrections: dict[str, list[Erratum]] = {}
    for erratum in bundle.errata:
        corrections.setdefault(erratum.trial, []).append(erratum)
    rows: list[list[Content]] = []
    for row in table:
        source = bundle.transcript(row)
        link = _link(f"transcripts/{_transcript_name(row.trial_id, source)}", "transcript")
        marks = [flag(f"{e.action} {e.day}") for e in corrections.get(row.trial_id, [])]
        where = f"tier {row.tier} {row.embodiment or ''}".strip()
        cells = [row.agent, row.item, where, row.monitor or "none", str(row.outcome)]
        rows.append([row.trial_id, *cells, join([link, *marks])])
    heads = ["trial", "agent", "item", "stage", "monitor", "outcome", "transcript"]
    shown = grid("Every trial, counted or not, as corrected.", heads, rows)
    return page(f"{bundle.file.title}: trials", bundle.file.period, _menu("trials.html"), shown)


def _errata(bundle: Bundle, options: HorizonOptions | None) -> str:
    parts = list(_quarters(bundle, options)) or [paragraph("Nothing has been corrected.")]
    note = (
        "A correction changes the fits and stays listed here. A retracted trial is in no fit any more; its "
        "transcript stays published."
    )
    title = f"{bundle.file.title}: errata"
    return page(title, bundle.file.period, _menu("errata.html"), paragraph(note, "note"), *parts)


def _quarters(bundle: Bundle, options: HorizonOptions | None) -> Iterator[Html]:
    """Yield the corrections of each quarter, the newest first, with what they did to the horizons."""
    for quarter in sorted({erratum.quarter for erratum in bundle.errata}, reverse=True):
        before = [erratum for erratum in bundle.errata if erratum.quarter < quarter]
        own = [erratum for erratum in bundle.errata if erratum.quarter == quarter]
        old_table = apply_errata(bundle.table, before)
        new_table = apply_errata(bundle.table, [*before, *own])
        old, new = horizons(old_table, options), horizons(new_table, options)
        yield section(quarter, _listed(old_table, new_table, own), _changed(old, new))


def _listed(old: TrialTable, new: TrialTable, errata: list[Erratum]) -> Html:
    verdicts = {
        row.trial_id: (str(row.outcome), str(after.outcome)) for row, after in zip(old, new, strict=True)
    }
    rows = [
        [str(e.day), e.trial, e.action, f"{verdicts[e.trial][0]} became {verdicts[e.trial][1]}", e.reason]
        for e in errata
    ]
    return grid("Corrections.", ["date", "trial", "action", "outcome", "reason"], rows)


def _changed(old: HorizonReport, new: HorizonReport) -> Html:
    befores = {entry.subject: entry.estimate for entry in old.entries}
    rows: list[list[Content]] = []
    for entry in new.entries:
        if entry.subject.family is not None:
            continue
        found = (befores.get(entry.subject), entry.estimate)
        shown = [_t50(one) if one is not None else "not there" for one in found]
        counts = [f"{one.passes}/{one.trials}" if one is not None else "" for one in found]
        if shown[0] != shown[1] or counts[0] != counts[1]:
            rows.append([str(entry.subject), counts[0], counts[1], *shown])
    heads = ["whose", "passed before", "after", "t50 before", "after"]
    return grid("What that changed.", heads, rows, range(1, 5)) if rows else paragraph("No horizon changed.")


def _t50(found: Estimate) -> str:
    horizon = found.horizon(0.5)
    return duration(horizon.t_s) if horizon is not None else f"none: {found.refusal}"
