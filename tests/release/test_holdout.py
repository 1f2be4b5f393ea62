"""A sealed set answers seldom and coarsely, and burns rather than leak."""

from datetime import timedelta
from pathlib import Path

import pytest

from analysis.release.holdout import LEDGER, Answer, answer, ask, open_holdout, scan
from rig.core.errors import ConfigError, RecordError, UsageError

from .conftest import NOW

CANARY = "canary-7f3a91c2-of-this-set"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = f'sha256 = "{"a" * 64}"\nbudget = 2\ncanary = "{CANARY}"\nrotate_by = {(NOW + timedelta(days=30)).isoformat()}\n'
    (tmp_path / "holdout.toml").write_text(text)
    return tmp_path


def test_questions_count_whether_answered_or_not(folder: Path) -> None:
    first = ask(folder, "c1", "release owner", NOW)
    answer(folder, first.number, passed=True)
    ask(folder, "c2", "release owner", NOW)
    found = open_holdout(folder, NOW)
    assert [q.answer for q in found.queries] == [Answer.PASS, None]
    assert found.left == 0 and not found.burnt


def test_one_question_too_many_burns_it_for_good(folder: Path) -> None:
    for _ in range(2):
        ask(folder, "c", "release owner", NOW)
    for words in ("question 3 of a budget of 2", "is burnt"):
        with pytest.raises(UsageError, match=words):
            ask(folder, "c", "release owner", NOW)
    assert open_holdout(folder, NOW).burnt == "question 3 of a budget of 2"


def test_a_canary_found_elsewhere_burns_it(folder: Path, tmp_path: Path) -> None:
    leak = tmp_path / "prompts" / "memory.txt"
    leak.parent.mkdir()
    leak.write_text("nothing here")
    sealed = tmp_path / "sealed.toml"
    sealed.write_text(CANARY)
    assert scan(folder, [tmp_path], sealed, NOW) == ()
    leak.write_text(f"the answer is {CANARY}")
    assert scan(folder, [tmp_path], sealed, NOW) == (leak,)
    assert "its canary was found in 1 files" in open_holdout(folder, NOW).burnt


def test_it_is_burnt_by_its_date(folder: Path) -> None:
    assert "rotated" in open_holdout(folder, NOW + timedelta(days=31)).burnt


@pytest.mark.parametrize("change", ["remove", "edit", "swap"])
def test_an_altered_ledger_is_named(folder: Path, change: str) -> None:
    for candidate in ("c1", "c2"):
        ask(folder, candidate, "release owner", NOW)
    path = folder / LEDGER
    first, second = path.read_text().splitlines()
    lines = {"remove": [second], "edit": [first.replace("c1", "c9"), second], "swap": [second, first]}[change]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match=r"line [12]"):
        open_holdout(folder, NOW)


def test_a_wrong_commitment_is_refused(folder: Path) -> None:
    (folder / "holdout.toml").write_text('sha256 = "short"\nbudget = 0\n')
    with pytest.raises(ConfigError) as raised:
        open_holdout(folder, NOW)
    assert len(raised.value.mistakes) == 4
