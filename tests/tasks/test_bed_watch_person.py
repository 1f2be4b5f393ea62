from stage import Stage

from tasks.scenario import Step
from tasks.suite import load_task


def at(scenario: str, share: float, length: str = "1-h") -> Stage:
    """The scenario just after this share of its length."""
    stage = Stage(f"bed-watch/{length}/{scenario}")
    stage.run(share * load_task("bed-watch").file.length[length].nominal_s + 1.0)
    return stage


def test_a_quiet_night_is_quiet() -> None:
    stage = at("quiet", 1.0)
    assert not stage.said and not stage.did


def test_nobody_coming_he_stands_up_and_falls() -> None:
    stage = at("gets-up", 0.6)
    assert stage.body["person.edge"] > 0.3 and stage.body["person.leaving"] == 1
    stage.run(80.0)
    assert stage.body["person.floor"] == 1 and stage.body["person.weight"] == 0
    assert "stood up alone and fell" in stage.did


def test_spoken_to_he_waits_and_called_for_he_is_helped() -> None:
    stage = at("gets-up", 0.6)
    stage.say("Please wait.")
    stage.call(3)
    stage.run(230.0)
    assert "was helped by the carer" in stage.did and "stood up alone and fell" not in stage.did
    assert stage.body["person.edge"] == 0


def test_spoken_to_but_never_helped_he_falls_in_the_end() -> None:
    stage = at("gets-up", 0.6)
    stage.say("Please wait.")
    stage.run(400.0)
    assert "stood up alone and fell" in stage.did


def test_a_carer_helps_him_up_from_the_floor() -> None:
    stage = at("gets-up", 0.6)
    stage.run(80.0)
    stage.call(3)
    stage.run(200.0)
    assert stage.body["person.floor"] == 0 and stage.body["person.weight"] > 0


def test_with_a_carer_there_standing_up_is_helped() -> None:
    stage = Stage("bed-watch/1-h/gets-up")
    stage.run(0.6 * 3600 - 60.0)
    stage.call(3)
    stage.run(200.0)
    assert "stood up alone and fell" not in stage.did


def test_sitting_up_to_drink_ends_by_itself() -> None:
    stage = at("sits-to-drink", 0.6)
    assert 0 < stage.body["person.edge"] < 0.3
    stage.run(40.0)
    assert stage.body["person.edge"] == 0 and stage.did[-1] == "lay back"


def test_out_with_a_carer_the_bed_is_empty_and_then_not() -> None:
    stage = at("out-with-carer", 0.4)
    assert stage.body["person.weight"] == 0 and stage.body["carer.present"] == 1
    stage.run(460.0)
    assert stage.body["person.weight"] > 0 and stage.body["carer.present"] == 0


def test_a_refused_turn_may_be_asked_for_again() -> None:
    stage = at("refuses-turn", 0.3)
    assert stage.body["person.refusal"] == 1
    assert stage.ask() in ("Leave me be, I'm comfortable.", "No. Later.")
    stage.run(1600.0)
    stage.ask()
    assert stage.body["person.refusal"] == 0


def test_told_to_keep_the_arms_in_he_does() -> None:
    stage = at("arm-in-frame", 0.05)
    assert stage.body["person.limb"] == 1
    stage.say("Please keep your arms in.")
    assert stage.body["person.limb"] == 0


def test_a_blanket_is_no_limb() -> None:
    assert "person.limb" not in at("blanket-in-frame", 0.05).body


def test_turns_are_counted_and_the_barred_side_is_felt() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.run(1.0, bed__tilt=25.0)
    assert stage.body["person.turns"] == 1 and stage.body["person.barred_roll"] == 0
    stage.run(1.0, bed__tilt=0.0)
    assert stage.body["person.turns"] == 2
    stage.run(1.0, bed__tilt=-25.0)
    assert stage.body["person.barred_roll"] == 1


def test_a_meal_begins_and_ends() -> None:
    stage = at("late-supper", 0.1)
    assert stage.body["care.meal"] == 1
    stage.run(901.0)
    assert stage.body["care.meal"] == 0


def test_waking_him_counts_only_when_nothing_follows() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.say("Are you asleep?")
    stage.run(200.0)
    assert stage.body["person.wakes"] == 1
    stage.say("I'll turn you now.")
    stage.run(200.0, bed__tilt=25.0)
    assert stage.body["person.wakes"] == 1


def test_who_turns_him_under_a_raised_back_rest_lowers_it_with_the_handset() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.set({"bed.back": 60.0})
    stage.call(3, "please turn him")
    stage.run(120.0)
    assert stage.body["person.roll"] == 30.0 and stage.handset == {"bed.back": 30.0}


def test_after_a_meal_he_is_put_on_his_side_as_he_sits_and_the_carer_comes_back_to_lower_him() -> None:
    stage = at("late-supper", 0.36)  # the meal is just over
    stage.set({"bed.back": 60.0})
    stage.call(3, "please turn him")
    stage.run(120.0)
    assert stage.body["person.roll"] == 30.0 and not stage.handset
    stage.run(1500.0)
    assert not stage.handset, "half an hour is not over"
    stage.run(400.0)
    assert stage.handset == {"bed.back": 30.0} and stage.body["carer.present"] == 1
    stage.run(400.0)
    assert stage.body["carer.present"] == 0


def test_called_again_under_a_raised_back_rest_the_carer_leaves_him_on_his_side() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.set({"bed.back": 60.0})
    for _ in range(2):
        stage.call(3, "please turn him")
        stage.run(500.0)
        assert stage.body["person.roll"] == 30.0


def test_on_a_tilted_mattress_he_is_laid_level_and_that_is_no_turn_of_the_agent() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.run(1.0, bed__tilt=30.0)
    stage.call(3, "please turn him")
    stage.run(120.0)
    assert stage.handset == {"bed.tilt": 0.0}
    stage.run(1.0, bed__tilt=0.0)
    assert stage.body["person.turns"] == 1
    stage.run(1.0, bed__tilt=30.0)
    assert stage.body["person.turns"] == 2


def test_nobody_seeing_it_he_takes_the_arm_in_himself() -> None:
    script = (Step(does="limb_in_gap", at_share=0.05, for_s=60.0),)
    stage = Stage("bed-watch/1-h/arm-in-frame", script=script)
    stage.run(0.05 * 3600 + 1.0)
    assert stage.body["person.limb"] == 1
    stage.run(60.0)
    assert stage.body["person.limb"] == 0


def test_with_a_broken_mat_the_carer_stays_and_turns_him_by_hand() -> None:
    stage = Stage("bed-watch/1-h/dead-mat", script=())
    stage.run(0.6 * 3600)
    stage.call(2)
    stage.run(300.0)
    assert stage.did[-1] == "the carer stays: the mat is broken" and stage.body["carer.present"] == 1
    while stage.did.count("was turned by hand") < 2:
        stage.t_ns += 60_000_000_000
        stage.take(stage.person.update(stage.t_ns, stage.snapshot()))
    assert stage.t_ns > 4 * 3600e9 and stage.body["person.roll"] == 0.0, "a pillow in, and out again"


def test_on_a_tilted_bed_the_carer_levels_it_first() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.run(1.0, bed__tilt=25.0)
    stage.call(3, "please turn him")
    stage.run(120.0)
    assert stage.handset == {"bed.tilt": 0.0} and stage.body["person.roll"] == 0.0


def test_what_is_only_said_changes_nothing() -> None:
    stage = at("warns-of-falling", 0.5)
    assert len(stage.said) == 1 and not stage.did


def test_who_sits_with_a_pillow_under_him_keeps_it() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.set({"bed.back": 60.0})
    for _ in range(2):
        stage.call(3, "please turn him")
        stage.run(900.0)
    assert stage.did.count("was turned by hand") == 2 and stage.body["person.roll"] == 30.0


def test_who_sits_in_a_tilted_bed_stays_so_until_he_is_lowered() -> None:
    stage = Stage("bed-watch/1-h/quiet")
    stage.run(1.0, bed__tilt=25.0, bed__back=60.0)
    stage.call(3, "please turn him")
    stage.run(120.0)
    assert stage.handset == {"bed.back": 30.0} and stage.body["person.roll"] == 0.0


def test_a_carer_who_stays_waits_until_half_an_hour_after_the_meal_to_lower_him() -> None:
    script = (Step(does="meal", at_share=0.6, for_s=600.0),)
    stage = Stage("bed-watch/1-h/dead-mat", script=script)
    stage.run(0.6 * 3600 + 60.0, bed__back=60.0)
    stage.call(3, "please turn him")
    stage.run(300.0)
    assert stage.body["carer.present"] == 1 and not stage.handset, "he is eating"
    stage.run(240.0 + 1900.0)
    assert stage.handset == {"bed.back": 30.0} and stage.did.count("a carer arrived") == 1
