import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from analysis.bundle import load_bundle
from analysis.errata import load_errata
from analysis.estimate import EstimateOptions
from analysis.horizon import HorizonOptions
from analysis.scoreboard import build_site
from analysis.trial_files import write_trials
from analysis.trials import Definition, TrialTable
from rig.core.errors import ConfigError, UsageError

from .conftest import campaign

QUICK = HorizonOptions(estimate=EstimateOptions(replicates=100))
PASSES = {60.0: [5, 5], 240.0: [5, 4], 960.0: [3, 3], 3840.0: [1, 0], 7680.0: [0, 0]}
ERRATA = """
[[erratum]]
date = 2026-08-03
trial = "careful/240/1/4"
action = "regrade"
reason = "the oracle's threshold was read in the wrong unit"
outcome = "PASS"
done = true
harm = false
mistake = false

[[erratum]]
date = 2026-11-20
trial = "careful/3840/0/0"
action = "retract"
reason = "the persona's sentence was not the signed one"
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "transcripts").mkdir(parents=True)
    table = TrialTable.from_rows(campaign(PASSES))
    write_trials(table, folder / "trials.csv")
    for row in table:
        path = folder / "transcripts" / f"{row.trial_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"trial": "{row.trial_id}"}}\n')
    for name in ("rubric.toml", "persona.toml", "prompt.md"):
        (folder / name).write_text(name)
    (folder / "errata.toml").write_text(ERRATA)
    (folder / "bundle.toml").write_text(
        'title = "Care <board>"\nperiod = "2026-Q4"\ntrials = "trials.csv"\n'
        'transcripts = "transcripts/{trial_id}.jsonl"\nerrata = "errata.toml"\n'
        '[task.spoon-feed]\nrubric = "rubric.toml"\npersonas = ["persona.toml"]\ngrading_prompt = "prompt.md"\n'
    )
    return folder


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


def test_every_link_of_the_site_leads_to_a_file_in_it(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    build_site(load_bundle(bundle), out, QUICK)
    count = 0
    for name in ("index.html", "trials.html", "errata.html", "report.html"):
        links = Links()
        links.feed((out / name).read_text())
        for link in links.found:
            if not link.startswith("#"):
                # A transcript's name keeps its percent signs: a browser undoes one round of quoting.
                assert (out / unquote(link)).is_file(), link
                count += 1
    assert count > 50 + 4
    assert "Care <board>" not in (out / "index.html").read_text()


def test_the_site_can_be_checked_against_its_digests(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    build_site(load_bundle(bundle), out, QUICK)
    digests = json.loads((out / "digests.json").read_text())
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()} - {"digests.json"}
    assert set(digests) == files
    for name, digest in digests.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest


def test_the_same_bundle_gives_the_same_site(bundle: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        build_site(load_bundle(bundle), tmp_path / name, QUICK)
    assert (tmp_path / "a/digests.json").read_bytes() == (tmp_path / "b/digests.json").read_bytes()


def test_a_retraction_changes_the_fit_and_stays_listed(bundle: Path, tmp_path: Path) -> None:
    corrected = build_site(load_bundle(bundle), tmp_path / "corrected", QUICK)
    text = (bundle / "bundle.toml").read_text()
    (bundle / "bundle.toml").write_text(text.replace('errata = "errata.toml"\n', ""))
    original = build_site(load_bundle(bundle), tmp_path / "original", QUICK)
    (new,), (old,) = (r.of("careful", Definition.AGENT_ALONE) for r in (corrected, original))
    assert old.estimate.trials == new.estimate.trials + 1
    assert new.estimate.passes == old.estimate.passes  # one pass gained, one retracted
    assert [e.trial_id for e in corrected.excluded] == ["careful/3840/0/0"]
    page = (tmp_path / "corrected/errata.html").read_text()
    assert page.index("2026-Q4") < page.index("2026-Q3")
    assert "PASS became UNSCORED" in page
    assert "CRITICAL became PASS" in page
    assert "t50 before" in page
    assert "retract 2026-11-20" in (tmp_path / "corrected/trials.html").read_text()
    assert "Nothing has been corrected" in (tmp_path / "original/errata.html").read_text()


def test_a_bundle_with_anything_missing_is_refused_with_all_of_it(bundle: Path) -> None:
    (bundle / "rubric.toml").unlink()
    (bundle / "prompt.md").unlink()
    (bundle / "errata.toml").unlink()
    (bundle / "transcripts/careful/60/0/0.jsonl").unlink()
    with pytest.raises(ConfigError) as caught:
        load_bundle(bundle)
    said = "\n".join(caught.value.mistakes)
    for words in (
        "task 'spoon-feed': rubric rubric.toml is missing",
        "grading prompt prompt.md is missing",
        "errata errata.toml is missing",
        "trial 'careful/60/0/0': transcript transcripts/careful/60/0/0.jsonl is missing",
    ):
        assert words in said
    assert len(caught.value.mistakes) == 4


def test_a_task_without_sources_is_refused(bundle: Path) -> None:
    text = (bundle / "bundle.toml").read_text()
    (bundle / "bundle.toml").write_text(text.replace("[task.spoon-feed]", "[task.other]"))
    with pytest.raises(ConfigError, match="task 'spoon-feed' has trials but no sources"):
        load_bundle(bundle)


def test_a_source_outside_the_bundle_is_refused(bundle: Path) -> None:
    (bundle.parent / "secret.toml").write_text("x")
    text = (bundle / "bundle.toml").read_text()
    (bundle / "bundle.toml").write_text(text.replace('rubric = "rubric.toml"', 'rubric = "../secret.toml"'))
    with pytest.raises(ConfigError, match=r"rubric \.\./secret\.toml is missing"):
        load_bundle(bundle)


def test_an_erratum_for_an_unknown_trial_is_refused(bundle: Path, tmp_path: Path) -> None:
    text = (bundle / "errata.toml").read_text().replace("careful/3840/0/0", "nobody")
    (bundle / "errata.toml").write_text(text)
    with pytest.raises(ConfigError, match="'nobody': no such trial"):
        build_site(load_bundle(bundle), tmp_path / "site", QUICK)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('action = "retract"', 'action = "delete"'), "retract"),
        (("mistake = false\n", ""), "needs outcome, done, harm and mistake"),
        (('reason = "the persona\'s sentence was not the signed one"', 'reason = "wrong"'), "10 characters"),
        (("date = 2026-11-20", 'date = "later"'), "date"),
        (('action = "retract"', 'action = "retract"\nharm = true'), "no new verdict"),
    ],
)
def test_a_malformed_erratum_is_refused(bundle: Path, change: tuple[str, str], words: str) -> None:
    (bundle / "errata.toml").write_text(ERRATA.replace(*change))
    with pytest.raises(ConfigError, match=words):
        load_errata(bundle / "errata.toml")


def test_a_folder_in_use_is_not_overwritten(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/keep.txt").write_text("x")
    with pytest.raises(UsageError, match="new or empty"):
        build_site(load_bundle(bundle), tmp_path / "site", QUICK)
