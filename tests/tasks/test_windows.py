"""Windows measured once are kept as data, for the conditions they were measured for and no others."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analysis import task_lint
from analysis.mistake_matrix import CAREFUL, Seen, matrix_of, slip
from analysis.task_lint import lint, windows_of
from analysis.trials import Outcome
from rig.cli.matrix import windows_in
from rig.core.bench import load_bench
from rig.core.errors import ConfigError, UsageError
from tasks import windows
from tasks.suite import Task, load_task, task_names
from tasks.windows import PATH, Window, conditions_of, measured, save

TASK = load_task("handover")
BENCH = load_bench(TASK.bench("sim"))


def window(shortest_s: float, criterion: str = "releases-early") -> Window:
    return Window(shortest_s=shortest_s, conditions=conditions_of(TASK.rubric.criteria[criterion]))


def linted(monkeypatch: pytest.MonkeyPatch, task: Task = TASK, **found: Window) -> tuple[str, str]:
    """Return the problems and notes of a task whose criteria (``_`` for ``-``) have these windows."""
    kept = {task.name: {name.replace("_", "-"): w for name, w in found.items()}}
    monkeypatch.setattr(task_lint, "measured", lambda: kept)
    report = lint(task, BENCH)
    return "\n".join(report.problems), "\n".join(report.notes)


def test_what_is_saved_is_read_back_beside_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_text(windows.HEAD)
    save("handover", {"releases-early": window(0.15)}, path)
    save("drink-assist", {"too-thin": Window(shortest_s=1.99, conditions="abc")}, path)
    save("handover", {"blade-first": window(3.5, "blade-first")}, path)
    assert {t: list(w) for t, w in measured(path).items()} == {
        "drink-assist": ["too-thin"], "handover": ["blade-first"],
    }  # fmt: skip
    assert measured(path)["drink-assist"]["too-thin"].shortest_s == 1.99
    before = path.read_bytes()
    save("drink-assist", measured(path)["drink-assist"], path)
    assert path.read_bytes() == before, "the same windows are the same file"


def test_a_wrong_file_is_refused_and_one_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_text('[handover]\nblade-first = { shortest_s = "long" }\n')
    with pytest.raises(ConfigError, match="blade-first") as refused:
        measured(path)
    assert "conditions" in str(refused.value)
    gone = tmp_path / "gone" / "windows.toml"
    gone.parent.mkdir()
    gone.write_text(windows.HEAD)
    measured(gone)
    shutil.rmtree(gone.parent)
    with pytest.raises(UsageError, match="cannot be written"):
        save("handover", {}, gone)


def test_harm_before_any_signal_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    problems, _ = linted(monkeypatch, releases_early=window(0.0))
    assert "criterion releases-early: the irreversible point came without a signal before it" in problems


def test_a_window_shorter_than_the_bench_s_reaction_is_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_s = (BENCH.reaction_ns + BENCH.tick_ns) / 1e9
    problems, notes = linted(monkeypatch, releases_early=window(needs_s))
    assert not problems and "criterion releases-early: no_window" in notes and BENCH.name in notes
    assert "no_window" not in linted(monkeypatch, releases_early=window(needs_s + 1e-4))[1]


def test_what_was_measured_for_other_conditions_counts_as_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    criterion = TASK.rubric.criteria["releases-early"].model_copy(update={"signal": "object.share < 0.1"})
    changed = TASK.rubric.model_copy(
        update={"criteria": {**TASK.rubric.criteria, "releases-early": criterion}}
    )
    task = replace(TASK, rubric=changed)
    problems, notes = linted(monkeypatch, task, releases_early=window(0.0))
    assert not problems and "no window was measured for releases-early" in notes
    assert "runrig tasks matrix handover --save" in notes and windows_of(task) == {}


def test_a_matrix_saves_the_shortest_window_and_zero_where_there_was_none() -> None:
    def seen(criterion: str, window_s: float | None) -> Seen:
        return Seen(
            item="handover/1-object/plain", agent=slip(criterion), seed=1, harmed=(criterion,),
            windows_s={criterion: window_s}, outcome=Outcome.CRITICAL, reason="",
        )  # fmt: skip

    trials = [seen("releases-early", 0.4), seen("releases-early", 0.2), seen("blade-first", None)]
    found = windows_in(TASK, matrix_of(TASK, trials))
    assert {c: w.shortest_s for c, w in found.items()} == {"releases-early": 0.2, "blade-first": 0.0}
    assert CAREFUL not in found


@pytest.mark.parametrize("name", measured(PATH))
def test_every_window_kept_is_of_a_criterion_as_it_stands(name: str) -> None:
    assert name in task_names()
    assert windows_of(load_task(name)).keys() == measured()[name].keys()
    assert all(w.shortest_s > 0 for w in measured()[name].values())
