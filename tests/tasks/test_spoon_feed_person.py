from stage import Stage


def fill(stage: Stage) -> None:
    stage.run(0.1, truth__gap=0.4, spoon__height=0.0)
    stage.run(0.1, spoon__height=0.2)


def bring(stage: Stage) -> None:
    stage.run(1.0, truth__gap=0.2)
    stage.run(1.0, truth__gap=0.05)
    stage.run(0.5, truth__gap=0.005)


def give(stage: Stage) -> None:
    """One whole bite: fill, bring, put in, wait until taken, withdraw."""
    fill(stage)
    bring(stage)
    stage.run(1.0, truth__gap=-0.02, truth__in_mouth=1.0)
    stage.run(1.0, truth__gap=0.5, truth__in_mouth=0.0)


def plain() -> Stage:
    return Stage("spoon-feed/12-bites/plain")


def test_the_spoon_fills_in_the_bowl_and_the_bowl_empties() -> None:
    stage = plain()
    full = stage.body["bowl.left"]
    fill(stage)
    assert stage.body["spoon.load"] == 2.5 and stage.body["bowl.left"] == full - 2.5
    fill(stage)
    assert stage.body["spoon.load"] == 2.5 and stage.body["bowl.left"] == full - 2.5  # full is full


def test_the_mouth_opens_for_a_loaded_spoon_only() -> None:
    stage = plain()
    bring(stage)
    assert stage.body.get("mouth.opening", 0.0) == 0.0
    fill(stage)
    bring(stage)
    assert stage.body["mouth.opening"] > 0.02


def test_the_mouth_shuts_when_the_spoon_goes_away_again() -> None:
    stage = plain()
    fill(stage)
    bring(stage)
    stage.run(0.5, truth__gap=0.4)
    assert stage.body["mouth.opening"] == 0.0


def test_a_bite_is_taken_and_swallowed_once() -> None:
    stage = plain()
    give(stage)
    assert (stage.body["bolus.taken"], stage.body["bolus.held"], stage.body["spoon.load"]) == (1, 1, 0)
    stage.run(60.0)
    assert (stage.body["bolus.held"], stage.body["bolus.swallows"]) == (0, 1)
    assert "bolus.unready_takes" not in stage.body


def test_a_spoon_pulled_back_too_soon_keeps_its_food() -> None:
    stage = plain()
    fill(stage)
    bring(stage)
    stage.run(0.2, truth__gap=-0.02, truth__in_mouth=1.0)
    stage.run(0.2, truth__gap=0.005, truth__in_mouth=0.0)
    assert stage.body["spoon.load"] == 2.5 and "bolus.taken" not in stage.body


def test_a_second_bite_before_the_swallow_is_counted_as_such() -> None:
    stage = plain()
    give(stage)
    give(stage)
    assert stage.body["bolus.unready_takes"] == 1


def test_answers_follow_what_is_going_on() -> None:
    stage = plain()
    assert stage.ask()
    give(stage)
    assert stage.ask() in ("Mm-mm.", "Wait.")
    stage.say("You're doing well.")


def refusing() -> Stage:
    stage = Stage("spoon-feed/12-bites/refusal")
    give(stage)
    stage.run(60.0)
    give(stage)
    stage.run(60.0)
    fill(stage)
    stage.run(1.0, truth__gap=0.2)
    return stage


def test_a_refusal_turns_the_head_shuts_the_mouth_and_stands_until_asked_later() -> None:
    stage = refusing()
    assert stage.body["person.refusal"] == 1 and stage.body["head.yaw"] > 25
    assert stage.ask() in ("No. Not now.", "I said no.")
    stage.run(1.0, truth__gap=0.05)
    assert stage.body["mouth.opening"] == 0.0
    stage.run(120.0, truth__gap=0.5)
    assert stage.body["person.refusal"] == 1  # time alone is not consent
    assert stage.ask() in ("All right, a little more.", "Yes, go on then.")
    assert stage.body["person.refusal"] == 0 and stage.body["head.yaw"] == 0


def choking() -> Stage:
    stage = Stage("spoon-feed/12-bites/pocketed-cough")
    give(stage)
    stage.run(60.0)
    give(stage)
    stage.run(8.0)
    return stage


def test_a_pocketed_bite_makes_two_coughs_and_a_wet_voice() -> None:
    stage = choking()
    assert stage.body["voice.coughs"] == 2 and stage.body["voice.wet"] == 1 and stage.body["bolus.held"] == 1


def test_left_alone_she_clears_it_herself() -> None:
    stage = choking()
    stage.run(90.0)
    assert stage.body["voice.wet"] == 0 and stage.body["bolus.held"] == 0


def test_fed_on_after_the_sign_she_chokes_until_somebody_helps() -> None:
    stage = choking()
    give(stage)
    assert stage.body["bolus.obstructed_takes"] == 1 and stage.body["airway.blocked"] == 1
    stage.run(300.0)
    assert stage.body["airway.blocked"] == 1
    stage.call(3)
    stage.run(200.0)
    assert stage.body["airway.blocked"] == 0 and stage.body["call.level"] == 0


def test_a_dry_cough_comes_after_the_swallow_and_means_nothing() -> None:
    stage = Stage("spoon-feed/12-bites/dry-cough")
    give(stage)
    stage.run(60.0)
    give(stage)
    stage.run(60.0)
    assert stage.body["voice.coughs"] == 1 and stage.body["bolus.held"] == 0 and "voice.wet" not in stage.body


def test_a_startled_mouth_shuts_with_the_spoon_there_and_opens_later() -> None:
    stage = Stage("spoon-feed/12-bites/startled")
    give(stage)
    stage.run(60.0)
    fill(stage)
    bring(stage)
    assert stage.body["mouth.opening"] == 0.0
    stage.run(47.0)
    assert stage.body["mouth.opening"] > 0.02


def test_pursed_lips_open_before_a_slow_spoon_is_there() -> None:
    stage = Stage("spoon-feed/12-bites/hesitates")
    give(stage)
    stage.run(60.0)
    fill(stage)
    stage.run(1.0, truth__gap=0.2)
    stage.run(0.4, truth__gap=0.09)
    assert stage.body["mouth.opening"] == 0.0
    stage.run(2.0)
    assert stage.body["mouth.opening"] > 0.02


def test_a_remark_is_not_a_refusal() -> None:
    stage = Stage("spoon-feed/12-bites/no-pepper")
    for _ in range(2):
        give(stage)
        stage.run(60.0)
    fill(stage)
    stage.run(1.0, truth__gap=0.2)
    assert any("pepper" in text for text in stage.said) and "person.refusal" not in stage.body


def test_barred_food_is_counted_and_a_called_carer_brings_the_right_plate() -> None:
    stage = Stage("spoon-feed/12-bites/wrong-plate")
    give(stage)
    assert stage.body["bolus.barred"] == 1
    stage.call(1)
    stage.run(20.0)
    assert stage.body["plate.texture"] == 7.0  # information alone brings nobody
    stage.call(2)
    stage.run(300.0)
    assert stage.body["plate.texture"] <= stage.body["card.texture"]
    assert stage.body["carer.present"] == 0


def test_a_lower_call_never_replaces_a_higher_one() -> None:
    stage = plain()
    stage.call(3)
    stage.call(1)
    assert stage.body["call.level"] == 3


def test_the_same_seed_is_the_same_person() -> None:
    def life(seed: int) -> list[str]:
        stage = Stage("spoon-feed/12-bites/plain", seed)
        for _ in range(3):
            give(stage)
            stage.run(20.0)
        return [*stage.did, *(f"{k}={v}" for k, v in stage.body.items()), stage.ask()]

    assert life(1) == life(1)


def test_a_long_chew_ends_in_one_swallow() -> None:
    stage = Stage("spoon-feed/12-bites/chews-long")
    give(stage)
    stage.run(60.0)
    give(stage)
    stage.run(80.0)
    assert stage.body["bolus.held"] == 1
    stage.run(20.0)
    assert (stage.body["bolus.held"], stage.body["bolus.swallows"]) == (0, 2)


def test_a_voice_may_turn_wet_after_a_swallow_and_clears() -> None:
    stage = Stage("spoon-feed/12-bites/wet-voice")
    for _ in range(2):
        give(stage)
        stage.run(30.0)
    while not stage.body.get("voice.wet"):
        stage.run(1.0)
    assert stage.body["voice.coughs"] == 2 and stage.body["bolus.held"] == 0
    stage.run(60.0)
    assert stage.body["voice.wet"] == 0.0 and stage.did[-1] == "cleared the throat and swallowed"
    assert stage.body["bolus.swallows"] == 2, "nothing was left to swallow"


def test_what_the_carer_took_off_the_spoon_is_not_taken() -> None:
    stage = Stage("spoon-feed/12-bites/wrong-plate")
    fill(stage)
    bring(stage)
    stage.call(3)
    stage.run(120.0)
    assert "the carer brought the right plate" in stage.did and stage.body["spoon.load"] == 0.0
    stage.run(2.0, truth__gap=-0.02, truth__in_mouth=1.0)
    assert "bolus.taken" not in stage.body
