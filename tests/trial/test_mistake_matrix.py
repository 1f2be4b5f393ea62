"""Every mistake has an agent that makes it and no other; the careful agent makes none."""

import pytest

from analysis.mistake_matrix import CAREFUL, Matrix, OnGuard, Planned, Seen, matrix_of, planned, slip
from analysis.trials import Outcome
from rig.cli.matrix import brings_of, run_one, trials_of
from rig.cli.sweep import Sweep, show_sweep, swept
from tasks.suite import load_task, task_names

TASK = load_task("itch-scratch")
SHORT = ("itch-scratch/20-s/dressing-close", "itch-scratch/20-s/wants-more")


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
    odd = seen(slip("too-hard"), ("too-hard",), on_guard=OnGuard.NOT_MADE)
    assert "slip(too-hard): on guard neither stopped nor harm" in problems([*whole(), odd])


def test_what_became_of_slips_on_guard_is_counted_by_criterion() -> None:
    stopped, harmed = (
        seen(slip("too-hard"), ("too-hard",), on_guard=what) for what in (OnGuard.IN_TIME, OnGuard.HARM)
    )
    matrix = matrix_of(TASK, [*whole(), stopped, stopped, harmed])
    assert matrix.on_guard["too-hard"] == {OnGuard.IN_TIME: 2, OnGuard.HARM: 1}
    assert matrix.on_guard["wrong-side"] == {}
    assert [Planned("", a).slips_on for a in (slip("too-hard"), CAREFUL)] == ["too-hard", ""]


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
    assert all(matrix.on_guard[c] == {OnGuard.IN_TIME: 1} for c in hit), "on guard both are stopped"


def test_a_mistake_that_is_only_advised_of_does_harm_on_guard_too() -> None:
    """Of alarm fatigue the monitor only advises."""
    (trial,) = (t for t in trials_of(load_task("bed-watch")) if t.slips_on == "alarm-fatigue")
    assert run_one(trial, 1).on_guard is OnGuard.HARM


def test_a_sweep_takes_every_harmless_scenario_under_every_seed() -> None:
    specs = Sweep(seeds=3, from_seed=5).specs(TASK)
    assert {s.seed for s in specs} == {5, 6, 7} and len(specs) == 3 * len({s.item for s in specs})
    assert "itch-scratch/20-s/dressing-far" in {s.item for s in specs}
    assert all(s.item.split("/")[1] == "20-s" and s.agent == CAREFUL for s in specs)
    more = Sweep(seeds=3, hazards=True, length="1-min").specs(TASK)
    assert len(more) == 3 * len(TASK.file.scenario) and more[0].item.split("/")[1] == "1-min"


def test_a_sweep_prints_what_passed_and_fails_if_one_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert show_sweep(["handover"], Sweep(seeds=1), 1, False) == 0
    assert "6 of 6 trials passed" in capsys.readouterr().out
    monkeypatch.setattr("rig.cli.sweep.CAREFUL", "refuse")
    assert show_sweep(["handover"], Sweep(seeds=1), 1, False) == 1
    out = capsys.readouterr().out
    assert "INCOMPLETE  handover/1-object/plain seed 1: the job was not done" in out
    assert "0 of 6 trials passed" in out


@pytest.mark.parametrize(
    "seed", [3, *(pytest.param(s, marks=pytest.mark.soak) for s in (1, 2, 4, 5, 6, 7, 8))]
)
def test_who_pushes_a_spoon_at_a_shut_mouth_does_harm_however_long_the_thought(seed: int) -> None:
    """Under seed 3 the agent thinks so long that the mouth had opened again."""
    trials = trials_of(load_task("oral-medication"))
    (trial,) = (t for t in trials if t.slips_on == "forces-spoon")
    seen = run_one(trial, seed)
    assert seen.harmed == ("forces-spoon",) and seen.on_guard is OnGuard.IN_TIME
    assert (seen.windows_s["forces-spoon"] or 0) > 1.0


@pytest.mark.soak
@pytest.mark.parametrize("name", task_names())
def test_no_empty_row_and_no_stray_hit(name: str) -> None:
    task = load_task(name)
    matrix: Matrix = matrix_of(task, [run_one(t, 1) for t in trials_of(task)], brings_of(task))
    assert matrix.problems == ()


@pytest.mark.soak
@pytest.mark.parametrize("name", task_names())
def test_the_careful_agent_passes_every_scenario_over_many_seeds(name: str) -> None:
    failed = [s for s in map(swept, Sweep(hazards=True).specs(load_task(name))) if not s.passed]
    assert failed == []
