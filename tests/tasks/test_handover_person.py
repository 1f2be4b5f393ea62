"""The person who is handed something, against whatever the test says the gripper does."""

import pytest
from stage import Stage

from rig.core.bench import load_bench
from tasks.suite import load_item


class Hands(Stage):
    """A stage with a gripper instead of a spoon."""

    def __init__(self, scenario: str, length: str = "1-object", seed: int = 0) -> None:
        super().__init__(f"handover/{length}/{scenario}", seed)
        self.layout = load_bench(load_item(f"handover/{length}/{scenario}").task.bench("sim")).layout
        self.world = {"truth.reach": 0.0, "truth.given": 0.0, "object.held": 1.0}

    def offer(self, for_s: float = 0.2) -> None:
        self.run(for_s, truth__reach=0.6, object__held=1.0)

    def give(self) -> None:
        self.run(0.2, truth__given=self.world["truth.given"] + 1, object__held=0.0)

    @property
    def pull(self) -> float:
        return self.body["person.pull"]


def test_the_hand_comes_touches_and_holds() -> None:
    hands = Hands("plain")
    hands.run(3.0)
    assert hands.pull == 0.0, "nothing is offered yet"
    hands.offer(20.0)
    assert hands.pull == 0.95 and hands.said


def test_what_goes_away_is_let_go() -> None:
    hands = Hands("plain")
    hands.offer(20.0)
    hands.run(0.3, truth__reach=0.0)
    assert hands.pull == 0.0
    hands.offer(20.0)
    assert hands.pull == 0.95, "it may be offered again"


def test_each_one_taken_is_put_down_and_one_fewer_is_left() -> None:
    hands = Hands("plain", "3-objects")
    for left in (2.0, 1.0, 0.0):
        hands.offer(20.0)
        hands.give()
        assert hands.body["person.left"] == left
        hands.run(20.0, truth__reach=0.0)
        assert hands.pull == 0.0 and "put it down" in hands.did[-1]


def test_he_says_that_he_has_it_while_he_only_touches() -> None:
    hands = Hands("unsure-grip")
    hands.offer()
    while "I have it." not in hands.said:
        hands.run(0.1)
    assert hands.pull == 0.2
    hands.run(15.0)
    assert hands.pull == 0.95


def test_a_slow_hand_is_firm_in_the_end() -> None:
    hands = Hands("slow-grip")
    hands.offer(6.0)
    assert hands.pull == 0.0
    hands.run(20.0)
    assert hands.pull == 0.95


def test_a_grip_may_give_way_once() -> None:
    hands = Hands("lets-slip")
    hands.offer()
    seen = []
    for _ in range(200):
        hands.run(0.1)
        seen.append(hands.pull)
    held = seen.index(0.95)
    assert 0.2 in seen[held:] and seen[-1] == 0.95 and "lost his grip" in hands.did


def test_a_grip_that_has_it_does_not_give_way_any_more() -> None:
    hands = Hands("lets-slip")
    hands.offer()
    while hands.pull < 0.9:
        hands.run(0.05)
    hands.give()
    hands.run(3.0)
    assert "lost his grip" not in hands.did


def test_a_trembling_grip_keeps_most_of_the_weight() -> None:
    hands = Hands("keeps-hold")
    hands.offer()
    while hands.pull < 0.9:
        hands.run(0.1)
    seen = set()
    for _ in range(60):
        hands.run(0.1)
        seen.add(hands.pull)
    assert seen == {0.75, 0.95}


def test_a_refusal_stands_until_asked_after_its_time() -> None:
    hands = Hands("changes-mind")
    hands.offer(5.0)
    assert hands.body["person.refusal"] == 1.0 and hands.pull == 0.0
    assert hands.ask() in ("No, put it back.", "I said no.") and hands.body["person.refusal"] == 1.0
    hands.run(31.0, truth__reach=0.0)
    assert hands.ask() == "All right, give it to me." and hands.body["person.refusal"] == 0.0
    hands.offer(20.0)
    assert hands.pull == 0.95


def test_no_hurry_is_no_refusal() -> None:
    hands = Hands("no-hurry")
    hands.offer(20.0)
    assert hands.body.get("person.refusal", 0.0) == 0.0 and hands.pull == 0.95
    assert hands.ask() in ("I have it.", "Got it.")


def test_he_answers_and_is_not_bound_by_what_is_only_said() -> None:
    hands = Hands("plain")
    assert hands.ask() in ("Yes?", "I'm here.")
    hands.say()
    assert hands.pull == 0.0


def test_a_call_brings_a_carer_who_leaves_again() -> None:
    hands = Hands("plain")
    hands.call(2)
    hands.run(200.0)
    assert hands.did == ["a carer arrived", "the carer left"] and hands.body["call.level"] == 0.0


@pytest.mark.parametrize("scenario", ["unsure-grip", "keeps-hold"])
def test_the_same_seed_is_the_same_hand(scenario: str) -> None:
    def run(seed: int) -> list[float]:
        hands = Hands(scenario, seed=seed)
        found = []
        for _ in range(30):
            hands.offer(0.3)
            found.append(hands.pull)
        return found

    assert run(4) == run(4)


def test_what_is_refused_is_not_taken_when_it_is_held_out_again() -> None:
    hands = Hands("changes-mind")
    hands.offer(1.0)
    hands.run(1.0, truth__reach=0.0)
    hands.offer(20.0)
    assert hands.pull == 0.0 and hands.body["person.refusal"] == 1.0


def test_a_hand_that_has_it_no_longer_trembles_over_it() -> None:
    hands = Hands("keeps-hold")
    hands.offer()
    while hands.pull < 0.9:
        hands.run(0.1)
    hands.give()
    before = hands.pull
    hands.run(3.0)
    assert hands.pull in (before, 0.0), "held as before, or put down"


@pytest.mark.parametrize("seed", range(12))
def test_a_grip_gives_way_after_it_held_whatever_the_seed(seed: int) -> None:
    hands = Hands("lets-slip", seed=seed)
    hands.offer(20.0)
    assert hands.did.count("lost his grip") == 1
