"""The person whose arm itches: names, corrects, moves, refuses, agrees, is relieved."""

import pytest
from stage import Stage

LENGTH = "1-min"  # half a metre of scratching is enough


def sitting(scenario: str = "plain") -> Stage:
    return Stage(f"itch-scratch/{LENGTH}/{scenario}")


def scratch(stage: Stage, share: float, for_s: float = 0.5) -> None:
    stage.run(for_s, truth__arm_force=2.0, truth__relief=share * 0.5)


def test_the_arm_is_named_when_asked_and_not_before() -> None:
    stage = sitting()
    assert (stage.body["said.side"], stage.body["point.side"]) == (0.0, 1.0)
    assert "left" in stage.ask("Where?")
    assert stage.body["said.side"] == 1.0


def test_the_other_arm_can_itch() -> None:
    stage = sitting("on-the-right")
    assert "right" in stage.ask("Where?")
    assert (stage.body["said.side"], stage.body["point.side"]) == (-1.0, -1.0)


def test_who_mixes_sides_puts_it_right_when_asked_again() -> None:
    stage = sitting("mixes-sides")
    stage.ask("Where?")
    assert stage.body["said.side"] * stage.body["point.side"] == -1.0
    assert "right" in stage.ask("That one?").lower()
    assert stage.body["said.side"] == stage.body["point.side"] == -1.0
    assert stage.ask("Ready?") in ("Yes, please.", "Go on.")


def test_who_mixes_sides_the_other_way_is_corrected_too() -> None:
    stage = sitting("mixes-sides")
    stage.person._means, stage.person._says_first = 1.0, -1.0
    stage.ask("Where?")
    assert "left" in stage.ask("That one?").lower()


def test_a_script_can_put_the_answer_in_other_words() -> None:
    assert sitting("names-both").ask("Where?") == "The left one is fine today. It's the right one."


def test_a_drowsy_person_mumbles_first() -> None:
    stage = sitting("sleepy")
    assert stage.ask("Where?") in ("Mm.", "Hm?")
    assert stage.body["said.side"] == 0.0
    stage.ask("Where?")
    assert stage.body["said.side"] == 1.0


def test_relief_is_said_once() -> None:
    stage = sitting()
    scratch(stage, 0.9)
    assert not stage.said
    scratch(stage, 1.0)
    scratch(stage, 1.2)
    assert len(stage.said) == 1 and "better" in stage.said[0]


def test_nothing_scripted_happens_before_it_helps_or_without_touch() -> None:
    stage = sitting("has-enough")
    scratch(stage, 0.1)
    stage.run(0.5, truth__arm_force=0.0, truth__relief=0.3)
    assert "person.refusal" not in stage.body


@pytest.mark.parametrize("scenario", ["has-enough", "has-enough-politely", "draws-away"])
def test_a_refusal_stands_until_it_is_asked_away_after_its_time(scenario: str) -> None:
    stage = sitting(scenario)
    stage.ask("Where?")
    scratch(stage, 0.5)
    assert stage.body["person.refusal"] == 1.0
    assert (stage.body.get("limb.left", 0.0) < 0) == (scenario == "draws-away")
    assert stage.ask("Shall I go on?") in ("No, leave it.", "Not now.")
    assert stage.body["person.refusal"] == 1.0
    stage.run(13.0, truth__arm_force=0.0)
    assert stage.ask("Shall I go on?") in ("All right, a little more.", "Yes, gently.")
    assert (stage.body["person.refusal"], stage.body["limb.left"]) == (0.0, 0.0)


def test_a_start_moves_the_arm_and_back() -> None:
    stage = sitting("starts")
    scratch(stage, 0.5)
    assert stage.body["limb.left"] == 0.02
    stage.run(4.0)
    assert stage.body["limb.left"] == 0.0


def test_a_tremor_goes_to_and_fro_and_ends() -> None:
    stage = sitting("trembles")
    scratch(stage, 0.5, 0.1)
    seen = set()
    for _ in range(30):
        stage.run(0.1)
        seen.add(round(stage.body.get("limb.left", 0.0), 4))
    assert {0.0015, -0.0015} <= seen
    stage.run(4.0)
    assert stage.body["limb.left"] == 0.0


def test_words_alone_change_nothing_but_the_words() -> None:
    stage = sitting("do-not-stop")
    scratch(stage, 0.5)
    assert stage.said and "person.refusal" not in stage.body


def test_a_called_carer_comes_sees_which_arm_it_is_and_leaves() -> None:
    stage = sitting("mixes-sides")
    stage.ask("Where?")
    stage.take(stage.person.called(stage.t_ns, 2, "which arm?"))
    stage.run(300.0)
    assert stage.body["said.side"] == -1.0
    assert (stage.body["carer.present"], stage.body["call.level"]) == (0.0, 0.0)


def test_what_is_said_without_a_question_is_not_answered() -> None:
    stage = sitting()
    stage.take(stage.person.hear(stage.t_ns, "Here I am.", False))
    assert not stage.said
