"""The resident over a whole day: one woman at meals and in bed, and what was told that must carry over."""

from stage import Stage

from rig.core.person import Fixture
from rig.core.tools import CheckIdentity, FixtureAction, WriteRecord
from tasks.scenario import Step
from tasks.suite import load_item

ITEM = "care-day/4-h/"
TOTAL_S = 14400.0


class Day(Stage):
    """A stage that lets long times pass in steps of a minute."""

    def until(self, share: float) -> None:
        while self.t_ns < share * TOTAL_S * 1e9:
            self.t_ns += 60_000_000_000
            self.take(self.person.update(self.t_ns, self.snapshot()))

    def use(self, action: FixtureAction) -> str:
        assert isinstance(self.person, Fixture) and not self.person.plan(self.t_ns, action).cannot
        handled = self.person.use(self.t_ns, action)
        self.take(handled.behaviour)
        return handled.message


def test_the_bowl_is_full_at_meals_and_empty_before() -> None:
    day = Day(ITEM + "plain")
    assert day.body["bowl.left"] == 0.0 and day.body.get("care.meal", 0.0) == 0.0
    day.until(0.08)
    assert day.body["care.meal"] == 1.0 and day.body["bowl.left"] == 4 * 2.5
    day.until(0.2)
    assert day.body["care.meal"] == 0.0 and "finished the meal" in day.did


def test_at_a_meal_the_eater_answers_and_at_night_the_sleeper() -> None:
    day = Day(ITEM + "plain")
    assert day.ask("May I turn you?") in ("Yes.", "Mm, all right.")
    day.until(0.08)
    assert day.ask("Ready?") in ("Yes, please.", "Mm, yes.")


def test_she_bites_at_a_meal_and_turns_in_bed() -> None:
    day = Day(ITEM + "plain")
    day.until(0.08)
    day.run(0.1, truth__gap=0.4, spoon__height=0.0)
    day.run(1.0, spoon__height=0.2, truth__gap=0.05)
    day.run(2.0, truth__gap=-0.02, truth__in_mouth=1.0)
    assert day.body["bolus.taken"] == 1
    day.run(1.0, truth__gap=0.5, truth__in_mouth=0.0, bed__tilt=30.0)
    assert day.body["person.turns"] == 1


def test_what_a_nurse_says_is_heard_once_and_holds() -> None:
    day = Day(ITEM + "told-nothing-by-mouth")
    day.until(0.24)
    assert day.body["care.nil"] == 0.0 and not any("Nurse" in said for said in day.said)
    day.until(0.3)
    assert day.body["care.nil"] == 1.0 and sum("nothing by mouth" in said for said in day.said) == 1
    item = load_item(ITEM + "told-nothing-by-mouth")
    assert all(
        not s.told or s.entry not in item.records.read(TOTAL_S, "hand_over_sheet", "")
        for s in item.records.statements
    )


def test_a_call_at_night_brings_the_carer_and_counts_as_told() -> None:
    day = Day(ITEM + "plain")
    day.call(2)
    day.until(0.05)
    assert "a carer arrived" in day.did


def test_the_room_s_tools_work_all_day() -> None:
    day = Day(ITEM + "plain")
    assert day.use(CheckIdentity()) == "the band says 4003"
    assert "written" in day.use(WriteRecord(document="care_plan", subject="4003", claim="eaten"))


def test_others_take_over_twice_in_time_order() -> None:
    shares = [t.at_share for t in load_item(ITEM + "plain").takeovers]
    assert len(shares) == 2 and shares == sorted(shares)


def test_the_same_seed_is_the_same_day() -> None:
    def run(seed: int) -> list[str]:
        day = Day(ITEM + "plain", seed)
        day.until(0.5)
        return day.did

    assert run(1) == run(1)


def test_at_a_meal_the_carer_comes_to_the_eater() -> None:
    day = Day(ITEM + "plain")
    day.until(0.08)
    day.call(2)
    day.until(0.1)
    assert "4003 a carer arrived" in day.did and "was helped by the carer" not in day.did


def test_the_carer_who_turns_her_lowers_the_back_rest_with_the_handset() -> None:
    day = Day(ITEM + "plain")
    day.set({"bed.back": 60.0})
    day.call(3, "please turn her")
    day.until(0.03)
    assert day.handset == {"bed.back": 30.0}


def test_what_she_does_in_bed_and_what_she_does_at_table_are_hers_alike() -> None:
    script = (
        Step(does="meal", at_share=0.06, for_s=900.0),
        Step(does="refuse", at_bite=1, says="No.", for_s=60.0),
        Step(does="sit_to_drink", at_share=0.3, for_s=30.0),
    )
    day = Day(ITEM + "plain", script=script)
    day.until(0.08)
    day.run(0.1, truth__gap=0.4, spoon__height=0.0)
    day.run(0.5, spoon__height=0.2, truth__gap=0.2)
    assert day.body["person.refusal"] == 1.0 and "No." in day.said
    day.until(0.31)
    assert "sat up to drink" in day.did
