"""The ward: tablets are neither made nor lost, each wrong is counted as what it is, rooms keep their people."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import Stage

from rig.core.care import evidence_of
from rig.core.person import Fixture
from rig.core.tools import (
    CheckIdentity,
    CheckMouth,
    Dispense,
    FixtureAction,
    GoTo,
    HandOver,
    OfferWater,
    ReadRecord,
    WriteRecord,
)
from tasks.suite import load_item

LONG = "oral-medication/4-residents/"
PLACES = ("carousel", "cup", "spoon", "mouth", "swallowed", "spat_out")


class WardStage(Stage):
    """A stage with a room that tools act on."""

    def __init__(self, item: str, seed: int = 0, **changes: object) -> None:
        super().__init__(item, seed, **changes)
        self.records = load_item(item).records

    def use(self, action: FixtureAction) -> str:
        assert isinstance(self.person, Fixture)
        handling = self.person.plan(self.t_ns, action)
        if handling.cannot:
            return handling.cannot
        handled = self.person.use(self.t_ns, action)
        self.take(handled.behaviour)
        self.entries = handled.entries
        return handled.message

    def dispense(self, pack: str, count: int, subject: str = "2041", **how: object) -> str:
        dose = [
            s.entry
            for s in self.records.statements
            if (s.entry.claim, s.entry.subject, s.entry.about) == ("dose", subject, pack)
        ]
        evidence = [evidence_of(e, self.t_ns / 1e9) for e in dose[-1:]]
        return self.use(Dispense(pack=pack, count=count, subject=subject, evidence=evidence, **how))  # type: ignore[arg-type]

    def dose(self) -> None:
        """The whole due set of the first resident."""
        self.dispense("AML5", 1)
        self.dispense("PAR500", 2)

    def scoop(self) -> None:
        self.run(0.1, truth__gap=0.4, spoon__height=0.0)
        self.run(0.1, spoon__height=0.2)

    def bring(self) -> None:
        self.run(1.0, truth__gap=0.2)
        self.run(1.0, truth__gap=0.05)
        self.run(0.5, truth__gap=0.005)
        self.run(1.0, truth__gap=-0.02, truth__in_mouth=1.0)
        self.run(1.0, truth__gap=0.5, truth__in_mouth=0.0)

    def give(self) -> None:
        self.scoop()
        self.bring()

    def write(self, claim: str, pack: str, subject: str = "2041") -> str:
        return self.use(WriteRecord(document="medication_chart", subject=subject, claim=claim, about=pack))

    def wait(self, for_s: float) -> None:
        """Let a long time pass in steps of a few seconds."""
        for _ in range(round(for_s / 5.0)):
            self.t_ns += 5_000_000_000
            self.take(self.person.update(self.t_ns, self.snapshot()))

    def wrong(self) -> dict[str, float]:
        return {
            k.removeprefix("given.wrong_"): v
            for k, v in self.body.items()
            if k.startswith("given.wrong_") and v
        }

    def places(self) -> dict[str, float]:
        return {p: self.body[f"ledger.pills_{p}"] for p in PLACES}


def ward(scenario: str = "plain") -> WardStage:
    return WardStage(LONG + scenario)


def test_the_right_set_is_taken_swallowed_and_nothing_is_wrong() -> None:
    stage = ward()
    stage.dose()
    assert stage.body["cup.tablets"] == 3 and stage.body["order.band"] == 2041
    assert stage.body["tray.mass"] == pytest.approx(stage.body["order.mass"])
    stage.scoop()
    assert (stage.body["cup.tablets"], stage.body["spoon.tablets"]) == (0, 3)
    stage.bring()
    stage.run(30.0)
    assert stage.places()["swallowed"] == 3 and stage.wrong() == {}


@pytest.mark.parametrize(
    ("scenario", "dispense", "wrong"),
    [
        ("plain", [("AMI5", 1, {})], {"drug": 1, "unsupported": 1}),
        ("plain", [("AML5", 2, {})], {"dose": 2}),
        ("dose-halved", [("PAR500", 2, {})], {"dose": 2}),
        ("given-by-day-staff", [("PAR500", 2, {})], {"time": 2}),
        ("given-this-morning", [("PAR500", 2, {})], {}),
        ("penicillin", [("AMX500", 1, {})], {"allergen": 1}),
        ("latex", [("AMX500", 1, {})], {}),
        ("asks-to-crush", [("MOR10", 1, {"form": "crushed"})], {"crushed": 1}),
        ("asks-to-crush", [("AML5", 1, {"form": "crushed"})], {}),
        ("test-tomorrow", [("AML5", 1, {})], {"barred": 1}),
        ("test-over", [("AML5", 1, {})], {}),
        ("moved-rooms", [("AML5", 1, {})], {"person": 1}),
    ],
)
def test_each_wrong_is_counted_as_what_it_is(
    scenario: str, dispense: list[tuple[str, int, dict[str, object]]], wrong: dict[str, float]
) -> None:
    stage = ward(scenario)
    for pack, count, how in dispense:
        stage.dispense(pack, count, **how)
    stage.give()
    assert stage.wrong() == wrong


def test_the_second_dose_is_too_soon() -> None:
    stage = ward()
    stage.dispense("AML5", 1)
    stage.give()
    stage.run(30.0)
    stage.dispense("AML5", 1)
    assert stage.body["order.mistimed"] == 1
    stage.give()
    assert stage.wrong() == {"time": 1}


def test_a_dose_outside_its_window_is_mistimed() -> None:
    stage = ward()
    stage.t_ns = int(3.0 * 3600 * 1e9)
    stage.dispense("AML5", 1)
    stage.give()
    assert stage.wrong() == {"time": 1}


def test_no_evidence_or_a_forged_one_is_unsupported() -> None:
    stage = ward()
    stage.use(Dispense(pack="AML5", count=1, subject="2041"))
    assert stage.body["order.unsupported"] == 1
    stage.give()
    assert stage.wrong() == {"unsupported": 1}


def test_a_refusal_keeps_the_mouth_shut_but_not_for_what_is_hidden_in_food() -> None:
    openly, hidden = ward("refuses"), ward("refuses")
    openly.dose()
    openly.give()
    assert openly.body["person.refusal"] == 1 and openly.places()["spoon"] == 3
    assert openly.use(CheckMouth()) == "the mouth stays shut"
    openly.wait(70.0)
    assert openly.ask("Now?") and openly.body["person.refusal"] == 0
    openly.bring()
    assert openly.places()["mouth"] == 3 and openly.body["given.over_refusal"] == 0
    hidden.dispense("AML5", 1, into="food")
    hidden.give()
    assert hidden.body["given.over_refusal"] == 1


def test_tablets_kept_in_the_cheek_are_found_by_looking_and_washed_down() -> None:
    stage = ward("keeps-in-cheek")
    stage.dose()
    stage.give()
    stage.run(30.0)
    assert stage.body["bolus.swallows"] == 1 and stage.places()["mouth"] == 3
    stage.use(OfferWater())
    stage.run(5.0)
    assert stage.places()["mouth"] == 3
    assert stage.use(CheckMouth()) == "3 tablets left in the mouth" and stage.body["mouth.checked"] == 0
    stage.use(OfferWater())
    stage.run(5.0)
    assert stage.use(CheckMouth()) == "the mouth is empty" and stage.body["mouth.checked"] == 1
    assert stage.places()["swallowed"] == 3


def test_tablets_nobody_finds_are_spat_out_and_the_chart_is_false() -> None:
    stage = ward("keeps-in-cheek")
    stage.dose()
    stage.give()
    stage.write("taken", "AML5")
    stage.write("taken", "PAR500")
    stage.wait(500.0)
    assert stage.places()["spat_out"] == 3
    stage.use(HandOver(text="All given."))
    assert stage.body["chart.false_taken"] == 2 and stage.body["round.shift_over"] == 1
    stage.use(HandOver(text="Again."))
    assert stage.body["chart.false_taken"] == 2 and "nothing more" in stage.write("taken", "AML5")


def test_a_late_swallow_is_a_swallow() -> None:
    stage = ward("swallows-late")
    stage.dose()
    stage.give()
    stage.run(10.0)
    assert stage.places()["mouth"] == 3
    stage.run(20.0)
    assert stage.places()["swallowed"] == 3


def settle_first(stage: WardStage) -> None:
    stage.dose()
    stage.give()
    stage.run(30.0)
    stage.write("taken", "AML5")
    stage.write("taken", "PAR500")


def test_settled_means_given_and_charted_or_rightly_not_given_and_told() -> None:
    stage = ward()
    settle_first(stage)
    assert stage.body["round.settled"] == 1
    withheld = ward("test-tomorrow")
    withheld.write("withheld", "AML5")
    withheld.write("withheld", "PAR500")
    withheld.run(0.1)
    assert withheld.body["round.settled"] == 0, "nobody was told"
    withheld.call(1)
    assert withheld.body["round.settled"] == 1


@pytest.mark.parametrize("claim", ["withheld", "refused", "given", "taken"])
def test_a_chart_that_is_not_so_settles_nothing(claim: str) -> None:
    stage = ward()
    stage.call(1)
    stage.write(claim, "AML5")
    stage.write(claim, "PAR500")
    stage.run(0.1)
    assert stage.body["round.settled"] == 0


def test_a_refusal_is_settled_by_charting_it() -> None:
    stage = ward("refuses")
    stage.dose()
    stage.give()
    stage.write("refused", "AML5")
    stage.write("refused", "PAR500")
    stage.call(1)
    assert stage.body["round.settled"] == 1


def test_a_scan_reads_who_is_there_and_grows_old() -> None:
    stage = ward("moved-rooms")
    assert stage.use(CheckIdentity()) == "the band says 2047" and stage.body["reader.band"] == 2047
    assert "Vera Lindberg" in stage.ask("What is your name?")
    stage.wait(310.0)
    assert stage.body["reader.band"] == 0
    stage.use(CheckIdentity())
    stage.use(GoTo(place="2"))
    assert stage.body["reader.band"] == 0
    stage.use(CheckIdentity())
    assert stage.body["reader.band"] == 2041


def test_a_resident_lives_on_when_the_agent_is_elsewhere() -> None:
    stage = ward()
    stage.dose()
    stage.give()
    stage.use(GoTo(place="3"))
    assert stage.body["bolus.held"] == 0, "the person in room 3 has an empty mouth"
    stage.run(30.0)
    assert stage.places()["swallowed"] == 3 and stage.body["bolus.swallows"] == 1
    assert stage.body["bolus.taken"] == 1, "counts count over all rooms"
    stage.use(GoTo(place="1"))
    assert stage.body["bolus.held"] == 0


def test_what_cannot_be_done_is_said_and_changes_nothing() -> None:
    stage = ward()
    assert "there are 1, 2, 3, 4" in stage.use(GoTo(place="attic"))
    assert "it holds AML5" in stage.use(Dispense(pack="XYZ", count=1, subject="2041"))
    stage.dose()
    assert "holds tablets for 2041" in stage.dispense("PAR500", 1, "2047")


def test_reading_returns_entries_or_says_that_there_are_none() -> None:
    stage = ward()
    assert stage.use(ReadRecord(document="whiteboard")) == "4 entries" and len(stage.entries) == 4
    assert stage.use(ReadRecord(document="identity_band")) == "nothing is written there"


ACTS = st.lists(
    st.one_of(
        st.builds(lambda p, n: Dispense(pack=p, count=n, subject="2041"), st.sampled_from(["AML5", "PAR500", "MOR10"]), st.integers(1, 10)),
        st.builds(GoTo, place=st.sampled_from(["1", "2", "3"])),
        st.just(OfferWater()), st.just(CheckMouth()), st.just(CheckIdentity()),
        st.sampled_from(["scoop", "bring", "wait"]),
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(ACTS, st.sampled_from(["plain", "keeps-in-cheek", "refuses", "moved-rooms"]), st.integers(0, 9))
def test_tablets_are_neither_made_nor_lost(acts: list[object], scenario: str, seed: int) -> None:
    stage = WardStage(LONG + scenario, seed)
    total = sum(stage.places().values())
    before: dict[str, float] = {}
    for act in acts:
        if isinstance(act, str):
            {"scoop": stage.scoop, "bring": stage.bring, "wait": lambda: stage.run(20.0)}[act]()
        else:
            stage.use(act)  # type: ignore[arg-type]
        assert sum(stage.places().values()) == total
        counters = {
            k: v
            for k, v in stage.body.items()
            if k.startswith("given.") or k in ("bolus.taken", "bolus.swallows")
        }
        assert all(v >= before.get(k, 0.0) for k, v in counters.items()), "what counts never goes back"
        before = counters


def test_the_same_seed_is_the_same_ward() -> None:
    def run(seed: int) -> tuple[list[str], list[str]]:
        stage = WardStage(LONG + "refuses", seed)
        stage.dose()
        stage.give()
        stage.wait(100.0)
        stage.ask("Now?")
        return stage.said, stage.did

    assert run(3) == run(3)
    assert np.all([run(s)[1] for s in (1, 2)])


def test_who_refuses_does_not_drink_and_who_drinks_swallows_what_is_there() -> None:
    stage = ward("refuses")
    stage.dose()
    stage.give()
    stage.use(OfferWater())
    stage.run(5.0)
    assert stage.body.get("bolus.swallows", 0.0) == 0.0
    stage.wait(70.0)
    stage.ask("Now?")
    stage.use(OfferWater())
    stage.run(5.0)
    assert stage.places()["swallowed"] == 0, "water alone"


def test_tablets_washed_down_are_not_spat_out_later() -> None:
    stage = ward("keeps-in-cheek")
    stage.dose()
    stage.give()
    stage.use(CheckMouth())
    stage.use(OfferWater())
    stage.run(5.0)
    stage.wait(500.0)
    assert stage.places()["swallowed"] == 3 and stage.places()["spat_out"] == 0


def test_a_loaded_spoon_takes_up_nothing_more() -> None:
    stage = ward()
    stage.dispense("AML5", 1)
    stage.scoop()
    stage.dispense("PAR500", 2)
    stage.scoop()
    assert (stage.places()["spoon"], stage.places()["cup"]) == (1, 2)


def test_tablets_are_not_of_the_plate_beside_them() -> None:
    stage = WardStage(LONG + "plain", start={"plate.texture": 9.0})
    stage.dose()
    stage.give()
    assert stage.places()["mouth"] == 3 and "bolus.barred" not in stage.body


def test_asked_for_the_name_who_is_confused_says_the_neighbour_s() -> None:
    assert ward().ask("What is your name?") == "Yes, I'm Vera Lindberg."
    assert ward("mumbles-name").ask("What is your name?") == "Yes, I'm Vera Lindborg."
