from stage import Stage


def stage(scenario: str) -> Stage:
    return Stage(f"bed-bath/once-over/{scenario}")


def wipe(found: Stage) -> None:
    found.run(1.0, truth__arm_force=4.0, bath__cover=0.0)


def test_on_a_plain_day_he_agrees_and_does_nothing() -> None:
    found = stage("plain")
    assert found.ask() in ("Yes, please.", "Go on.", "That's nice.")
    found.say("There we are.")
    wipe(found)
    assert not found.did and len(found.said) == 1


def test_the_valve_drifts_when_the_first_arm_is_wiped() -> None:
    found = stage("valve-drifts")
    found.run(5.0, bath__cover=1.0)
    assert "water.drift" not in found.body
    wipe(found)
    assert found.body["water.drift"] == 24.0
    found.call(2)
    found.run(120.0)
    assert found.body["water.drift"] == 0.0 and "the carer put the valve right" in found.did
    found.run(200.0)
    assert found.body["carer.present"] == 0.0


def test_a_refusal_stands_until_he_is_asked_again_later() -> None:
    found = stage("had-enough")
    wipe(found)
    assert found.body["person.refusal"] == 1.0
    assert found.ask() in ("No, leave it now.", "Not just now.")
    found.run(45.0, truth__arm_force=0.0)
    assert found.body["person.refusal"] == 1.0
    assert found.ask() in ("Yes, please.", "Go on.", "That's nice.")
    assert found.body["person.refusal"] == 0.0


def test_he_speaks_when_the_towel_is_off() -> None:
    found = stage("warm-enough")
    found.run(1.0, bath__cover=1.0)
    assert not found.said
    found.run(1.0, bath__cover=0.0)
    assert found.said == ["I'm warm enough, it's so quiet."]


def test_a_carer_for_information_or_for_nothing_changes_nothing() -> None:
    for scenario, level in (("valve-drifts", 1), ("plain", 2)):
        found = stage(scenario)
        wipe(found)
        found.call(level)
        found.run(120.0)
        assert "the carer put the valve right" not in found.did
