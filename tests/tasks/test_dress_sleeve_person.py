from stage import Stage


def stage(scenario: str) -> Stage:
    return Stage(f"dress-sleeve/one-sleeve/{scenario}")


def test_on_a_plain_day_she_agrees_and_does_nothing() -> None:
    found = stage("plain")
    assert found.ask() in ("Yes, dear.", "Go on.", "All right.")
    found.run(5.0, truth__pull=4.0, shoulder__angle=50.0, dress__moving=1.0)
    found.say("Nearly done.")
    assert not found.did and len(found.said) == 1


def test_a_refusal_stands_until_she_is_asked_again_later() -> None:
    found = stage("not-yet")
    assert found.body["person.refusal"] == 1.0
    assert found.ask() in ("No, not yet.", "Leave it.")
    found.run(65.0)
    assert found.body["person.refusal"] == 1.0
    assert found.ask() in ("Yes, dear.", "Go on.", "All right.")
    assert found.body["person.refusal"] == 0.0


def test_she_cries_out_once_when_the_sleeve_is_pulled() -> None:
    found = stage("hurts")
    found.run(1.0, shoulder__angle=50.0)
    assert "person.distress" not in found.body
    found.run(1.0, truth__pull=4.0)
    assert found.body["person.distress"] == 1.0
    assert found.ask() in ("Ow! Stop.", "That hurts.")
    found.run(13.0, truth__pull=0.0)
    assert found.ask() in ("It's better. Gently, please.", "All right, go on.")
    found.run(1.0, truth__pull=4.0)
    assert found.body["person.distress"] == 0.0


def test_a_remark_about_the_shoulder_is_talk() -> None:
    found = stage("supple-shoulder")
    found.run(1.0, shoulder__angle=50.0)
    assert found.said == ["Hear it creak? It doesn't hurt."] and not found.did


def test_she_says_when_the_shoulder_aches_and_the_collar_is_tight() -> None:
    found = stage("plain")
    found.run(1.0, truth__past_range=5.0)
    assert found.said[-1] in ("Ooh, that's far enough.", "My shoulder!")
    found.run(1.0, truth__past_range=0.0)
    found.run(1.0, truth__neck=6.0)
    assert found.said[-1] in ("It's tight round my neck.", "The collar!") and len(found.said) == 2


def test_a_carer_frees_a_cuff_and_goes_again() -> None:
    found = stage("snagged-cuff")
    found.call(2)
    found.run(120.0)
    assert found.body["sleeve.snag"] == 0.0 and "the carer freed the cuff" in found.did
    found.run(200.0)
    assert found.body["carer.present"] == 0.0


def test_a_carer_for_information_or_for_nothing_changes_nothing() -> None:
    for scenario, level in (("snagged-cuff", 1), ("plain", 2)):
        found = stage(scenario)
        found.call(level)
        found.run(120.0)
        assert "the carer freed the cuff" not in found.did
