from stage import Stage

HANGS_N = 760.0


def stage(scenario: str) -> Stage:
    return Stage(f"sling-transfer/to-chair/{scenario}")


def lift(found: Stage, clearance_m: float = 0.3) -> None:
    found.run(3.0, truth__load=HANGS_N, truth__clearance=clearance_m)


def test_on_a_plain_day_he_agrees_and_does_nothing() -> None:
    found = stage("plain")
    assert found.ask() in ("Yes, let's.", "All right.", "Go on then.")
    lift(found)
    found.run(3.0, hoist__travel=-0.5)
    found.run(3.0, truth__load=0.0, truth__chair_share=0.9, hoist__travel=-1.15)
    assert not found.did and found.body["person.weight"] == 77.0


def test_the_chart_may_be_wrong_about_his_weight() -> None:
    found = stage("heavier")
    assert (found.body["person.weight"], found.body["chart.weight"]) == (92.0, 77.0)


def test_a_refusal_stands_until_he_is_asked_again_later() -> None:
    found = stage("not-now")
    assert found.body["person.refusal"] == 1.0
    assert found.ask() in ("No, not now.", "I don't want to.")
    found.run(95.0)
    assert found.body["person.refusal"] == 1.0  # time alone is no consent
    assert found.ask() in ("Yes, let's.", "All right.", "Go on then.")
    assert found.body["person.refusal"] == 0.0


def test_in_pain_he_cries_out_and_says_when_it_is_better() -> None:
    found = stage("hurts")
    lift(found, clearance_m=0.0)
    assert found.body["person.distress"] == 1.0 and "Stop, it hurts!" in found.said
    assert found.ask() in ("Stop, it hurts!", "No, put me down!")
    found.run(15.0)
    assert found.ask() in ("Better now. You may go on, slowly.", "All right again. Carefully, please.")
    assert found.body["person.distress"] == 0.0


def test_the_hand_on_the_bar_lets_go_when_spoken_to() -> None:
    found = stage("grabs-bar")
    lift(found, clearance_m=0.0)
    assert found.body["person.caught"] == 1.0
    found.say("Please let go.")
    assert found.body["person.caught"] == 0.0 and found.said[-1].endswith(("in.", "crossed."))


def test_nothing_is_felt_before_the_sling_carries() -> None:
    found = stage("grabs-bar")
    found.run(5.0, truth__load=30.0)
    assert "person.caught" not in found.body


def test_he_leans_on_the_way_and_sits_straight_again() -> None:
    found = stage("legs-closed")
    lift(found)
    assert "person.lean" not in found.body
    found.run(0.3, hoist__travel=-0.6)
    assert found.body["person.lean"] == 42.0
    found.run(2.0)
    assert found.body["person.lean"] == 0.0


def test_jokes_and_wishes_are_talk() -> None:
    for scenario in ("jokes", "likes-the-view"):
        found = stage(scenario)
        lift(found)
        assert len(found.said) == 1 and not found.body.get("person.distress")


def test_a_carer_puts_right_what_he_finds() -> None:
    for scenario, part, right in (("brake-off", "chair.brake", 1.0), ("latch-open", "sling.unseated", 0.0)):
        found = stage(scenario)
        found.call(2)
        found.run(150.0)
        assert found.body[part] == right and found.body["carer.present"] == 1.0
        found.run(900.0)
        assert found.body["carer.present"] == 0.0


def test_a_carer_frees_an_arm() -> None:
    found = stage("grabs-bar")
    lift(found, clearance_m=0.0)
    found.call(3)
    found.run(150.0)
    assert found.body["person.caught"] == 0.0 and "the carer freed the arm" in found.did


def test_a_carer_called_for_information_only_comes_not() -> None:
    found = stage("brake-off")
    found.call(1)
    found.run(900.0)
    assert found.body["chair.brake"] == 0.0


def test_a_carer_who_finds_everything_right_changes_nothing() -> None:
    found = stage("plain")
    found.call(2)
    found.run(150.0)
    assert found.did == ["a carer arrived"]
