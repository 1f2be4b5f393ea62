"""Every transition of every person is taken by some test; one that is not is named and fails."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEOPLE = [
    *ROOT.glob("tasks/*/person.py"),
    *(ROOT / "tasks" / n for n in ("ward/resident.py", "carer.py", "script.py")),
]
TESTS = [*HERE.glob("test_*_person.py"), HERE / "test_ward.py"]


def traced(files: list[Path], tests: list[Path], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "branches", "-p", "no:cacheprovider", *more,
            *(f"--branches={file}" for file in files), *map(str, tests),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip


def test_no_branch_of_a_person_is_left_untried() -> None:
    ran = traced(sorted(PEOPLE), sorted(TESTS), "-k", "not neither_made")
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]


def test_a_branch_that_no_test_takes_is_named(tmp_path: Path) -> None:
    person, test = tmp_path / "person.py", tmp_path / "test_it.py"
    person.write_text("def answer(asked):\n    if asked:\n        return 'yes'\n    return 'no'\n")
    test.write_text("from person import answer\n\n\ndef test_it():\n    assert answer(True) == 'yes'\n")
    more = ("--rootdir", str(tmp_path), "--import-mode=prepend")
    ran = traced([person], [test], *more)
    assert ran.returncode == 1 and f"{person}:2: if asked:  never led to line 4" in ran.stdout
    test.write_text(test.read_text() + "    assert answer(False) == 'no'\n")
    assert traced([person], [test], *more).returncode == 0
