"""Somebody who is helped to drink: opens, sips, swallows, talks, coughs, turns away, dozes."""

from stage import Stage

from tasks.scenario import Step


def drinking(scenario: str = "plain") -> Stage:
    stage = Stage(f"drink-assist/half-cup/{scenario}")
    stage.run(0.1, truth__gap=0.5)
    return stage


def bring(stage: Stage) -> None:
    stage.run(0.5, truth__gap=0.05)
    stage.run(0.3, truth__gap=0.003)


def swallow(stage: Stage, within_s: float = 10.0) -> float:
    """Let time pass until what is in the mouth is swallowed; return how long that took."""
    before, waited_s = stage.body.get("drink.swallows", 0.0), 0.0
    while stage.body.get("drink.swallows", 0.0) == before and waited_s < within_s:
        stage.run(0.05)
        waited_s += 0.05
    stage.run(0.1, truth__mouth_ml=0.0)
    return waited_s


def sip(stage: Stage, ml: float = 4.0) -> None:
    """Bring the cup, let it flow, take it away, wait for the swallow."""
    bring(stage)
    stage.run(0.3, truth__mouth_ml=ml)
    stage.run(0.2, truth__gap=0.2)
    swallow(stage)


def test_the_cup_is_filled_for_the_length_of_the_job() -> None:
    assert drinking().body["cup.filled"] == 40.0


def test_the_mouth_opens_for_the_cup_and_shuts_behind_it() -> None:
    stage = drinking()
    assert stage.body.get("mouth.opening", 0.0) == 0.0
    bring(stage)
    assert stage.body["mouth.opening"] == 0.020
    stage.run(0.3, truth__gap=0.2)
    assert stage.body["mouth.opening"] == 0.0


def test_a_sip_is_swallowed_once_and_the_next_again() -> None:
    stage = drinking()
    sip(stage)
    assert stage.body["drink.swallows"] == 1
    sip(stage)
    assert stage.body["drink.swallows"] == 2


def test_a_drop_is_no_sip() -> None:
    stage = drinking()
    bring(stage)
    stage.run(8.0, truth__mouth_ml=0.2)
    assert "drink.swallows" not in stage.body


def test_a_question_is_answered_by_what_the_mouth_is_doing() -> None:
    stage = drinking()
    assert stage.ask() in ("Yes, please.", "I'm ready.", "Go on.")
    bring(stage)
    stage.run(0.2, truth__mouth_ml=4.0)
    assert stage.ask() == "Mm-mm."


def test_a_slow_swallow_comes_late_and_once() -> None:
    stage = drinking("keeps-it-in-the-mouth")
    bring(stage)
    stage.run(0.1, truth__mouth_ml=4.0)
    assert 19.0 < swallow(stage, 30.0) < 21.0
    stage.run(20.0)
    assert stage.body["drink.swallows"] == 1


def test_who_talks_has_an_open_airway_until_the_story_is_told() -> None:
    stage = drinking("talks-at-the-cup")
    bring(stage)
    assert (stage.body["voice.talks"], stage.body["airway.closed"]) == (1.0, 0.0)
    assert stage.said
    stage.run(46.0)
    assert (stage.body["voice.talks"], stage.body["airway.closed"]) == (0.0, 1.0)


def test_drink_at_an_open_airway_is_coughed_on_once() -> None:
    stage = drinking()
    bring(stage)
    stage.run(1.0, truth__unsafe_ml=2.0)
    assert "voice.coughs" not in stage.body
    stage.run(1.0, truth__unsafe_ml=4.0)
    assert (stage.body["voice.coughs"], stage.body["airway.closed"]) == (1, 0.0)
    stage.run(3.0)
    assert (stage.body["voice.coughs"], stage.body["airway.closed"]) == (1, 1.0)


def test_a_single_cough_passes() -> None:
    stage = drinking("coughs-before")
    sip(stage)
    bring(stage)
    assert (stage.body["voice.coughs"], stage.body["airway.closed"]) == (1, 0.0)
    stage.run(3.0)
    assert stage.body["airway.closed"] == 1.0


def test_a_refusal_turns_the_head_shuts_the_mouth_and_is_asked_away_in_time() -> None:
    stage = drinking("turns-away")
    sip(stage)
    bring(stage)
    assert (stage.body["person.refusal"], stage.body["head.yaw"]) == (1.0, 12.0)
    assert stage.body["mouth.opening"] == 0.0
    assert stage.ask() in ("No, not yet.", "Not now.")
    stage.run(21.0, truth__gap=0.2)
    assert stage.ask() in ("All right, another sip.", "Yes, now.")
    assert (stage.body["person.refusal"], stage.body["head.yaw"]) == (0.0, 0.0)


def test_who_nods_off_does_not_drink() -> None:
    stage = drinking("nods-off")
    sip(stage)
    bring(stage)
    assert (stage.body["person.awake"], stage.body["person.refusal"]) == (0.0, 1.0)


def test_a_glance_is_over_at_once() -> None:
    stage = drinking("looks-aside")
    sip(stage)
    stage.run(0.2, truth__gap=0.05)
    assert stage.body["head.yaw"] == 8.0
    stage.run(2.0)
    assert stage.body["head.yaw"] == 0.0 and "person.refusal" not in stage.body


def test_words_about_the_tea_are_only_words() -> None:
    stage = drinking("says-a-word")
    sip(stage)
    assert "Not too hot" in stage.said[0] and "voice.talks" not in stage.body


def test_a_carer_who_is_called_thickens_what_is_too_thin() -> None:
    stage = drinking("thin-tea")
    stage.take(stage.person.called(stage.t_ns, 2, "too thin"))
    stage.run(300.0)
    assert stage.body["drink.level"] == 2.0 and stage.body["carer.present"] == 0.0


def test_a_carer_who_is_called_for_something_else_leaves_the_drink_alone() -> None:
    stage = drinking("thickened-tea")
    stage.take(stage.person.called(stage.t_ns, 2, "help"))
    stage.run(300.0)
    assert "the carer thickened the drink" not in stage.did


def test_what_is_said_without_a_question_is_not_answered() -> None:
    stage = drinking()
    stage.take(stage.person.hear(stage.t_ns, "Here I am.", False))
    assert not stage.said


def test_who_no_longer_wants_it_shuts_the_mouth_with_the_cup_there() -> None:
    stage = Stage("drink-assist/half-cup/plain", script=(Step(does="doze", when="sip 1", for_s=20.0),))
    bring(stage)
    assert stage.body["mouth.opening"] > 0
    stage.run(0.3, truth__mouth_ml=4.0)
    assert stage.body["mouth.opening"] == 0.0 and stage.body["person.refusal"] == 1.0


def test_a_drink_that_is_right_is_left_as_it_is() -> None:
    stage = drinking()
    stage.call(3)
    stage.run(200.0)
    assert "a carer arrived" in stage.did and "the carer thickened the drink" not in stage.did
