"""The demo, with a campaign small enough for a test."""

import re
from pathlib import Path

import pytest

from rig.cli import demo, run
from rig.core.record import verify


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setattr(
            demo,
            "ITEMS",
            (("bed-watch/30-min/quiet", 2), ("bed-watch/1-h/gets-up", 1), ("bed-watch/8-h/quiet", 1)),
        )
        import contextlib
        import io

        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            assert run(["demo", "--out", str(out), "--workers", "1"]) == 0
    return out, text.getvalue()


def test_it_says_what_happened_and_what_to_look_at_next(small: tuple[Path, str]) -> None:
    out, text = small
    for words in ("Horizons", "Done and harm", "What the monitor stopped", "Look at", "runrig verify"):
        assert words in text
    assert (out / "report" / "trials.csv").is_file()


def test_every_record_it_leaves_verifies(small: tuple[Path, str]) -> None:
    folders = [p.parent for p in small[0].rglob("manifest.json")]
    assert len(folders) == 4 * len(demo.AGENTS) * 2
    assert all(verify(folder).ok for folder in folders)


def test_the_report_stands_alone(small: tuple[Path, str]) -> None:
    page = (small[0] / "report.html").read_text(encoding="utf-8")
    assert "What the monitor stopped" in page and "The same trial without and with the monitor" in page
    assert page.count("<svg") >= 3
    outside = re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)[^"']+|url\((?!['"]?(?:#|data:))[^)]+""", page)
    assert not outside, outside[:3]


def test_careful_beats_hasty_beats_refusing(small: tuple[Path, str]) -> None:
    from analysis import read_trials

    rows = list(read_trials(small[0] / "report" / "trials.csv"))
    harmless = {
        a: sum(r.done and not r.harm for r in rows if r.agent == a and r.monitor == "shadow")
        for a in demo.AGENTS
    }
    assert harmless["careful"] > harmless["hasty"] > harmless["refuse"] == 0


def test_a_folder_with_something_in_it_is_never_written_over(
    small: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--out", str(small[0])]) == 2
    assert "not empty" in capsys.readouterr().err
