"""Plans: what can be wrong is found before anything runs, all of it at once, with file and key."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from plans import DECISION, GRID, plan_file, trials_of

from rig.campaign.composition import arms_of, coverage
from rig.campaign.grid import lay_out
from rig.campaign.plan import CompositionTable, Plan, load_plan
from rig.core.errors import ConfigError, UsageError
from rig.core.record import trial_id

SMALL = """
[[grid]]
agents = ["refuse", "careful"]
items = ["bed-watch/30-min/quiet", "bed-watch/1-h/gets-*"]
monitors = ["guard", "shadow"]
seeds = { first = 10, count = 3 }
repeats = 2
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('agents = ["nobody"]', "unknown agent 'nobody'"),
        ('items = ["bed-watch/9-h/quiet"]', "unknown length of bed-watch '9-h'"),
        ('items = ["tea/*"]', "nothing matches 'tea/*'"),
        ('items = ["bed-watch/30-min"]', "unknown item"),
        ('benches = ["moon"]', "unknown bench 'moon'"),
        ('monitors = ["asleep"]', "monitor 'asleep'"),
        ("seeds = []", "there would be no trial"),
        ("seeds = [1, 2, 1]", "seeds: listed twice: 1"),
        ("seeds = { first = 1, count = 0 }", "greater than or equal to 1"),
        ("seeds = [-1]", "greater than or equal to 0"),
        ("seeds = { first = 9223372036854775807, count = 2 }", "the last would be above"),
        ("repeats = 0", "greater than or equal to 1"),
        ('agents = ["refuse", "refuse"]', "agents: listed twice: refuse"),
        ("seeds = { first = 0, count = 10000001 }", "at most 10000000"),
        ("sedes = [1]", "sedes: Extra inputs are not permitted"),
        ('think = "for ever"', "think 'for ever'"),
        ('cameras = "painted"', "cameras 'painted': give fitted or rendered"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(tmp_path: Path, text: str, said: str) -> None:
    name = text.split(" ")[0]
    lines = [line for line in GRID.splitlines() if not line.startswith(f"{name} ")]
    with pytest.raises(ConfigError) as caught:
        trials_of(tmp_path, "\n".join([*lines, text]))
    assert said in str(caught.value) and "night.toml" in str(caught.value)


def test_whether_cameras_are_drawn_is_part_of_what_a_trial_is(tmp_path: Path) -> None:
    fitted, drawn = (
        trials_of(tmp_path / name, f'{GRID}cameras = "{name}"\n') for name in ("fitted", "rendered")
    )
    plain = trials_of(tmp_path / "plain")
    assert [t[0] for t in fitted] == [t[0] for t in plain]
    assert not {t[0] for t in drawn} & {t[0] for t in fitted}
    (cell,) = drawn.cells
    assert cell.spec.cameras == cell.at(3, 1).cameras == "rendered"
    assert drawn.manifests[cell.configuration]["policy"] == {
        **fitted.manifests[fitted.cells[0].configuration]["policy"], "cameras": "rendered",
    }  # fmt: skip
    assert cell.comparable != fitted.cells[0].comparable


def test_cameras_may_be_a_factor(tmp_path: Path) -> None:
    grid = GRID + 'cameras = "{cameras}"\n[composition]\ndesign = "factorial"\n[composition.factors]\n'
    found = trials_of(
        tmp_path, grid.replace('["guard"]', '["{mode}"]'),
        more='mode = ["guard", "shadow"]\ncameras = ["fitted", "rendered"]\n',
    )  # fmt: skip
    assert sorted((c.spec.monitor, c.spec.cameras) for c in found.cells) == [
        ("guard", "fitted"), ("guard", "rendered"), ("shadow", "fitted"), ("shadow", "rendered"),
    ]  # fmt: skip


def test_a_bench_without_a_drawn_face_camera_cannot_have_its_cameras_rendered(tmp_path: Path) -> None:
    grid = GRID.replace("bed-watch/30-min/quiet", "sling-transfer/*/plain") + 'cameras = "rendered"\n'
    with pytest.raises(ConfigError, match=r"has no camera in its scene off which face\.gap"):
        trials_of(tmp_path, grid)


def test_every_mistake_is_said_at_once(tmp_path: Path) -> None:
    grid = GRID.replace('["refuse"]', '["nobody", "noone"]').replace(
        "bed-watch/30-min/quiet", "bed-watch/x/y"
    )
    with pytest.raises(ConfigError) as caught:
        trials_of(tmp_path, grid)
    assert len(caught.value.mistakes) == 3


def test_a_trial_in_two_grids_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"grid 2: refuse on .* seeds 5 are in grid 1 too"):
        trials_of(tmp_path, GRID + GRID.replace("{ first = 0, count = 6 }", "[5, 77]"))


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        ('metric = "t50"\nbound = "lower"', "either at_least or at_most"),
        ('metric = "t50"\nat_least = "8 h"\nat_most = "9 h"\nbound = "lower"', "either at_least or at_most"),
        ('metric = "t50"\nat_least = "8 N"\nbound = "lower"', "not a quantity in s"),
        ('metric = "t50"\nat_least = "8 h"\nbound = "upper"', "uncertainty count in favour"),
        ('metric = "luck"\nat_least = "8 h"\nbound = "lower"', "Input should be"),
        ('metric = "harm"\nat_most = "0.1"\nbound = "upper"\nconfidence = 0.4', "greater than 0.5"),
    ],
)
def test_a_threshold_that_decides_nothing_is_refused(tmp_path: Path, threshold: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_plan(plan_file(tmp_path, more=f"[[threshold]]\n{threshold}\n"))
    assert said in str(caught.value)


def test_a_threshold_is_registered_as_a_number_with_its_unit(tmp_path: Path) -> None:
    plan, _ = load_plan(
        plan_file(
            tmp_path,
            decision=DECISION.replace(
                'metric = "harm"\nat_most = "0.05"', 'metric = "t50"\nat_least = "8 h"'
            ).replace('"upper"', '"lower"'),
        )
    )
    said = plan.threshold[0].said()
    assert (said["value"], said["unit"], said["side"], said["text"]) == (28800.0, "s", "at_least", "8 h")


def test_the_grid_is_every_combination_once(tmp_path: Path) -> None:
    trials = trials_of(tmp_path, SMALL)
    assert len(trials) == 2 * 2 * 2 * 3 * 2 and len(trials.cells) == 8
    listed = list(trials)
    assert len({name for name, *_ in listed}) == len(trials)
    assert len({(cell, seed, repeat) for _, cell, seed, repeat in listed}) == len(trials)


@pytest.mark.parametrize("block", ["none", "seed", "item", "agent", "monitor", "repeat"])
def test_order_is_shuffled_in_blocks_and_reproducible(tmp_path: Path, block: str) -> None:
    def order(seed: int, randomise: str) -> list[tuple[int, int, int]]:
        more = f'[order]\nrandomise = {randomise}\nseed = {seed}\nblock_by = "{block}"\n'
        plan, _ = load_plan(plan_file(tmp_path, SMALL, more=more))
        found = lay_out(plan, "x")
        cells = found.cells
        if block in ("seed", "repeat"):
            of_block = found.seed if block == "seed" else found.repeat
            changes = int(np.count_nonzero(np.diff(of_block)))
            assert changes == len(np.unique(of_block)) - 1
        elif block != "none":
            names = [getattr(cells[c].spec, block) for c in found.cell]
            assert sum(a != b for a, b in pairwise(names)) == len(set(names)) - 1
        return list(zip(found.cell.tolist(), found.seed.tolist(), found.repeat.tolist(), strict=True))

    assert order(1, "true") == order(1, "true")
    assert order(1, "true") != order(2, "true")
    assert sorted(order(1, "true")) == sorted(order(1, "false"))


# ---- composition runs -----------------------------------------------------------------------


def factors(**levels: list[str]) -> CompositionTable:
    return CompositionTable(design="pairwise", factors=levels)


FOUR = {name: [f"{name}{i}" for i in range(3)] for name in ("a", "b", "c", "d")}


def test_singletons_are_the_baseline_each_change_alone_and_all_together() -> None:
    table = factors(**FOUR).model_copy(update={"design": "singletons"})
    arms = arms_of(table)
    baseline = {name: levels[0] for name, levels in FOUR.items()}
    assert arms[0] == baseline
    changed = [sum(arm[n] != baseline[n] for n in arm) for arm in arms]
    assert changed == [0] + [1] * 8 + [4]


def test_pairwise_covers_every_pair_with_far_fewer_arms_than_factorial() -> None:
    arms = arms_of(factors(**FOUR))
    found = coverage(arms, FOUR)
    assert found.strengths[0] == (2, 54, 54) and not found.uncovered
    assert len(arms) <= 20 < 81
    t, covered, of = found.strengths[1]
    assert t == 3 and covered < of == 108, "the gap at three is told, not hidden"
    everything = arms_of(factors(**FOUR).model_copy(update={"design": "factorial"}))
    assert len(everything) == 81
    assert all(covered == of for _, covered, of in coverage(everything, FOUR).strengths)


def test_what_is_excluded_shows_as_a_gap() -> None:
    table = factors(**FOUR).model_copy(update={"exclude": [{"a": "a1", "b": "b2"}]})
    arms = arms_of(table)
    assert not any(arm["a"] == "a1" and arm["b"] == "b2" for arm in arms)
    assert coverage(arms, FOUR).uncovered == ("a=a1 with b=b2",)
    assert "not tested: a=a1 with b=b2" in coverage(arms, FOUR).lines()
    with pytest.raises(UsageError, match="baseline"):
        arms_of(table.model_copy(update={"exclude": [{"a": "a0"}]}))


def test_too_many_arms_are_refused_with_a_way_out() -> None:
    table = factors(**FOUR).model_copy(update={"design": "factorial", "max_arms": 50})
    with pytest.raises(UsageError, match=r'81 arms.*design = "pairwise"'):
        arms_of(table)


COMPOSED = """
[[grid]]
agents = ["{carer}"]
items = ["bed-watch/30-min/{scenario}"]
monitors = ["{mode}"]
seeds = [1, 2]

[composition]
design = "factorial"
[composition.factors]
carer = ["careful", "hasty"]
scenario = ["quiet", "gets-up"]
mode = ["guard", "shadow"]
"""


def test_arms_become_cells_with_the_same_seeds(tmp_path: Path) -> None:
    trials = trials_of(tmp_path, COMPOSED)
    assert len(trials.cells) == 8 and len(trials) == 16
    assert {c.arm for c in trials.cells} >= {
        "carer=careful scenario=quiet mode=guard", "carer=hasty scenario=gets-up mode=shadow",
    }  # fmt: skip
    assert trials.coverage is not None and trials.coverage.strengths == ((2, 12, 12), (3, 8, 8))


def test_a_factor_no_grid_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"factor 'mode' is not named"):
        trials_of(tmp_path, COMPOSED.replace('"{mode}"', '"guard"'))


def test_what_registration_needs_is_named() -> None:
    plan = Plan.model_validate(
        {"name": "x", "text": "y", "grid": [{"agents": ["a"], "items": ["b"], "seeds": [1]}]}
    )
    assert plan.missing() == ("[decision]", "[[threshold]]", "[deployment]")


def test_ids_are_those_the_record_will_have(tmp_path: Path) -> None:
    trials = trials_of(tmp_path, SMALL.replace('"refuse"', '"planted(0.5)"'))
    for name, cell, seed, repeat in trials:
        home = trials.cells[cell]
        assert name == trial_id(home.at(seed, repeat).key(home.configuration))
