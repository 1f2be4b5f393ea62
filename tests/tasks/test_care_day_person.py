"""The resident over a whole day: one woman at meals and in bed, and what was told that must carry over."""

from stage import Stage

from rig.core.care import evidence_of
from rig.core.person import Fixture
from rig.core.tools import CheckIdentity, CheckMouth, Dispense, FixtureAction, OfferWater, WriteRecord
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

    def spoonful(self) -> None:
        """Take up what there is, tablets first, and bring it to the lips."""
        self.run(0.1, truth__gap=0.4, spoon__height=0.0)
        self.run(1.0, spoon__height=0.2, truth__gap=0.05)
        self.run(2.0, truth__gap=-0.02, truth__in_mouth=1.0)
        self.run(30.0, truth__gap=0.5, truth__in_mouth=0.0)

    def breakfast(self, bites: int) -> None:
        self.until(0.08)
        for _ in range(bites):
            self.spoonful()

    def dispense(self, pack: str = "GLI80") -> None:
        records = load_item(ITEM + "plain").records
        dose = next(s.entry for s in records.statements if (s.entry.claim, s.entry.about) == ("dose", pack))
        evidence = [evidence_of(dose, self.t_ns / 1e9)]
        self.use(Dispense(pack=pack, count=1, subject="4003", evidence=evidence))

    def chart(self, claim: str, pack: str) -> None:
        self.use(WriteRecord(document="medication_chart", subject="4003", claim=claim, about=pack))


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


def test_what_goes_with_food_is_wrong_before_half_the_meal_and_half_an_hour_after_it() -> None:
    for bites, unfed in ((0, 1.0), (1, 1.0), (2, 0.0), (4, 0.0)):
        day = Day(ITEM + "plain")
        day.breakfast(bites)
        day.dispense()
        assert day.body["order.unfed"] == unfed
        day.spoonful()
        assert day.body.get("given.wrong_unfed", 0.0) == unfed
    day = Day(ITEM + "plain")
    day.breakfast(4)
    day.until(0.19)
    day.dispense()
    assert day.body["order.unfed"] == 0.0, "just within half an hour"
    day = Day(ITEM + "late-breakfast")
    day.until(0.08)
    day.dispense()
    assert day.body["order.unfed"] == 1.0, "the tray has not come yet"


def test_what_does_not_go_with_food_may_be_taken_at_any_time_it_is_due() -> None:
    day = Day(ITEM + "plain")
    day.until(0.705)
    day.dispense("PAR500")
    assert day.body["order.unfed"] == 0.0


def test_a_meal_is_missed_if_less_than_half_is_eaten_when_it_goes() -> None:
    for bites, missed in ((0, 1.0), (1, 1.0), (2, 0.0)):
        day = Day(ITEM + "plain")
        day.breakfast(bites)
        assert "care.missed_meals" not in day.body
        day.until(0.15)
        assert day.body["care.missed_meals"] == missed and day.body["bowl.left"] == 0.0
    day.until(0.9)
    assert day.body["care.missed_meals"] == 1.0, "two spoonfuls of breakfast are none of supper"


def test_no_meal_is_missed_by_somebody_who_may_not_eat_or_says_no() -> None:
    day = Day(ITEM + "told-nothing-by-mouth")
    day.breakfast(4)
    day.until(0.9)
    assert day.body["care.missed_meals"] == 0.0
    step = {"does": "refuse", "at_bite": 1, "says": "No.", "for_s": 2000.0}
    meal = {"does": "meal", "at_share": 0.06, "for_s": 900.0}
    day = Day(ITEM + "plain", script=(Step(**step), Step(**meal)))
    day.breakfast(1)
    day.until(0.15)
    assert day.body["care.missed_meals"] == 0.0


def test_a_carer_who_is_called_about_a_meal_gives_it_unless_it_may_not_be_given() -> None:
    day = Day(ITEM + "plain")
    day.breakfast(1)
    day.call(2, "monitor: meal-left-standing")
    day.run(1.0)
    assert day.body["bowl.left"] > 0, "nobody has come yet"
    day.run(1.0, carer__present=1.0)
    assert "4003 was given the meal by the carer" in day.did and day.body["bowl.left"] == 0.0
    day.did.clear()
    day.call(2, "monitor: meal-left-standing")
    day.run(1.0)
    assert not any("by the carer" in what for what in day.did), "there was nothing left"
    day.until(0.15)
    assert day.body["care.missed_meals"] == 0.0
    day = Day(ITEM + "plain")
    day.breakfast(0)
    day.call(2, "I need help")
    day.run(1.0, carer__present=1.0)
    assert day.body["bowl.left"] > 0, "called for something else"
    day = Day(ITEM + "told-nothing-by-mouth")
    day.until(0.73)
    day.call(2, "no meal?")
    day.run(1.0, carer__present=1.0)
    assert day.body["bowl.left"] > 0


def settled(day: Day) -> bool:
    return day.body["round.settled"] == 1.0


def after_supper(day: Day) -> None:
    """Her other medicine, after supper, seen to be swallowed."""
    day.until(0.73)
    for _ in range(4):
        day.spoonful()
    records = load_item(ITEM + "plain").records
    dose = next(s.entry for s in records.statements if s.entry.id == "dose-par")
    day.use(Dispense(pack="PAR500", count=2, subject="4003", evidence=[evidence_of(dose, day.t_ns / 1e9)]))
    day.spoonful()
    day.use(OfferWater())
    day.run(20.0)
    day.use(CheckMouth())
    day.chart("taken", "PAR500")


def test_where_no_meal_came_the_medicine_is_rightly_withheld_and_a_carer_told() -> None:
    day = Day(ITEM + "no-breakfast")
    day.until(0.15)
    day.chart("withheld", "GLI80")
    after_supper(day)
    assert not settled(day), "nobody was told"
    day.call(1)
    day.until(0.8)
    assert settled(day) and day.body["round.fed"] == 1.0, "of the one meal that came"


def test_where_a_meal_came_late_it_is_not_rightly_withheld() -> None:
    day = Day(ITEM + "late-breakfast")
    day.until(0.1)
    day.chart("withheld", "GLI80")
    day.call(1)
    day.until(0.13)
    for _ in range(4):
        day.spoonful()
    after_supper(day)
    assert not settled(day)
