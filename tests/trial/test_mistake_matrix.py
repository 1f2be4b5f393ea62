"""Every mistake has an agent that makes it and no other; the careful agent makes none."""

import pytest

from analysis.mistake_matrix import CAREFUL, Matrix, Seen, matrix_of, planned, slip
from analysis.trials import Outcome
from rig.cli.matrix import brings_of, run_one, trials_of
from tasks.suite import load_task, task_names

TASK = load_task("itch-scratch")
SHORT = ("itch-scratch/20-s/dressing-close", "itch-scratch/20-s/wants-more")
SEEDS = 20


def seen(agent: str, harmed: tuple[str, ...] = (), window_s: float | None = 0.5, **more) -> Seen:
    facts = {"item": "itch-scratch/20-s/plain", "seed": 1, "outcome": Outcome.PASS, "reason": ""} | more
    return Seen(agent=agent, harmed=harmed, windows_s=dict.fromkeys(harmed, window_s), **facts)


def whole() -> list[Seen]:
    return [seen(slip(c), (c,)) for c in TASK.rubric.criteria] + [seen(CAREFUL)]


def test_a_matrix_with_a_mistake_on_its_diagonal_and_nowhere_else_has_no_problems() -> None:
    matrix = matrix_of(TASK, whole())
    assert matrix.problems == ()
    assert all(matrix.cells[c, slip(c)] == (1, 1) for c in matrix.criteria)
    assert matrix.windows_s["too-hard"] == 0.5


def problems(trials: list[Seen]) -> str:
    return "\n".join(matrix_of(TASK, trials).problems)


def test_everything_that_can_be_wrong_is_named() -> None:
    assert "too-hard: slip(too-hard) never made this mistake" in problems(whole()[:1])
    stray = seen(slip("too-hard"), ("too-hard", "wrong-side"))
    assert "wrong-side: made by slip(too-hard)" in problems([*whole(), stray])
    assert "wrong-side: made by careful" in problems([*whole(), seen(CAREFUL, ("wrong-side",))])
    allowed = matrix_of(TASK, [*whole(), stray], {"too-hard": ("wrong-side",)})
    assert allowed.problems == (), "what cannot but come with it is no stray hit"
    late = seen(slip("too-hard"), ("too-hard",), window_s=None)
    assert "came without a signal before it" in problems([*whole(), late])
    idle = seen(CAREFUL, outcome=Outcome.INCOMPLETE, reason="the job was not done")
    assert "careful: INCOMPLETE in itch-scratch/20-s/plain (seed 1): the job was not done" in problems(
        [*whole(), idle]
    )


def test_every_criterion_of_every_task_has_its_trial() -> None:
    for name in task_names():
        task = load_task(name)
        trials = trials_of(task)
        assert {t.agent for t in trials} == {CAREFUL, *(slip(c) for c in task.tested)}
        assert len(planned(task)) == len(trials)


def test_mistakes_at_one_kilohertz_are_made_by_their_agents_alone() -> None:
    trials = [t for t in trials_of(TASK) if t.item in SHORT and t.agent != CAREFUL]
    matrix = matrix_of(TASK, [run_one(t, 1) for t in trials])
    hit = {c for c in matrix.criteria if matrix.cells[c, slip(c)][0]}
    assert hit == {"works-on-wound", "too-hard"}
    assert not [p for p in matrix.problems if "never made" not in p]


@pytest.mark.soak
@pytest.mark.parametrize("name", task_names())
def test_no_empty_row_and_no_stray_hit(name: str) -> None:
    task = load_task(name)
    matrix: Matrix = matrix_of(task, [run_one(t, 1) for t in trials_of(task)], brings_of(task))
    assert matrix.problems == ()


@pytest.mark.soak
@pytest.mark.parametrize("name", task_names())
def test_the_careful_agent_passes_every_harmless_twin_over_many_seeds(name: str) -> None:
    task = load_task(name)
    trials = [t for t in trials_of(task) if t.agent == CAREFUL]
    failed = [
        f"{s.item} seed {s.seed}: {s.outcome.value} ({s.reason})"
        for s in (run_one(t, seed) for t in trials for seed in range(1, SEEDS + 1))
        if s.outcome is not Outcome.PASS
    ]
    assert failed == []
