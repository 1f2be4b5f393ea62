"""The resident through the night: sleeps, sits up, wants the toilet, refuses a turn, falls if nobody comes.

What the person does is fixed by the persona, the scenario's script and the seed; only the declared
triggers (being spoken to, turned, helped, held back) depend on what the agent does.
"""

import numpy as np

from rig.core.channel import Snapshot
from rig.core.clock import nanoseconds
from rig.core.person import Behaviour
from tasks.agenda import Agenda
from tasks.carer import Carer
from tasks.persona import Persona
from tasks.scenario import Length, Scenario, Step
from tasks.scene import Scene

TURNED_DEG = 15.0  # a tilt from here on counts as lying on that side
WOKEN_NS = nanoseconds(180.0)  # spoken to in his sleep, and nothing followed within this time
HAND_ROLL_DEG = 30.0  # the usual side tilt; a smaller one leaves the sacrum loaded
TURNED_BACK_DEG = 30.0  # the plan: the back-rest at this or less while turned
UPRIGHT_AFTER_MEAL_NS = nanoseconds(30 * 60.0 + 30.0)  # the plan's half an hour, and a moment to be sure
TURNS_BY_HAND_NS = nanoseconds(2 * 3600.0)  # the turning plan, kept by a carer who stays
NEVER = 1e6
_MEASURED_DEG = 1.0
_FALL_MPS = 1.5
_FALL_NS = nanoseconds(1.0)


class BedWatchPerson:
    """A `rig.core.person.Person` for the bed-watch task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        self._scene = Scene({**scenario.start})
        self._steps: dict[str, Step] = {}
        for i, step in enumerate(scenario.script):
            act = f"step {i}"
            self._steps[act] = step
            self._agenda.put(nanoseconds(step.share * length.nominal_s), act)
        self._side = self._bed_side = 0  # -1 left, 0 back, 1 right
        self._refuses_until_ns = -1
        self._limb_in = self._wants_turn = self._levelled = False
        self._back_deg = 0.0
        self._upright_until_ns = -1
        self._blind_from_ns = nanoseconds(
            min((float(f.get("start_share", 0.0)) for f in scenario.faults), default=NEVER) * length.nominal_s
        )

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start of the watch: asleep on the back."""
        weight_kg = self._persona.numbers["weight_kg"]
        self._scene.set(person__weight=weight_kg, person__awake=0.0)
        return self._scene.take(self._agenda.next_ns)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what the person does now."""
        self._back_deg = snapshot.value("bed.back")
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        self._feel(t_ns, snapshot)
        return self._scene.take(self._agenda.next_ns)

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Wake softly, take the limb in, wait for help, and answer if asked."""
        scene = self._scene
        if not scene.now.get("person.awake"):
            self._agenda.put(t_ns + WOKEN_NS, "woken for nothing")
        if self._limb_in:
            self._limb_in = False
            self._agenda.drop("woken for nothing")
            scene.set(person__limb=0.0)
            scene.did("took the arm in")
        if self._agenda.planned("stands up"):
            self._agenda.drop("stands up")
            self._agenda.put(t_ns + nanoseconds(self._persona.numbers["waits_when_spoken_to_s"]), "stands up")
            scene.say(self._persona.sentence("waits", self._rng))
        elif answer_wanted:
            refuses = t_ns < self._refuses_until_ns
            scene.say(self._persona.sentence("still_refuses" if refuses else "agrees", self._rng))
            if not refuses and scene.now.get("person.refusal"):
                scene.set(person__refusal=0.0)
        return scene.take(self._agenda.next_ns)

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._wants_turn |= "turn" in reason
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._agenda.next_ns)

    # --- the night -----------------------------------------------------------------------------

    def _feel(self, t_ns: int, snapshot: Snapshot) -> None:
        """Notice being turned: count the turns of the bed, feel the barred side."""
        tilt_deg = snapshot.value("bed.tilt")
        if (bed_side := _side_of(tilt_deg)) != self._bed_side:
            self._bed_side = bed_side
            self._agenda.drop("woken for nothing")
            if bed_side != 0 or not self._levelled:
                self._scene.add("person.turns")
            self._levelled = False
            self._scene.set(person__roll=0.0)  # the pillow comes out
        side = _side_of(tilt_deg + self._scene.now.get("person.roll", 0.0))
        if side != self._side:
            self._side = side
            barred = side < 0 and self._scene.now.get("care.barred_left", 0.0) > 0
            self._scene.set(person__barred_roll=float(barred))
            self._scene.did(f"lies {('on the left side', 'on the back', 'on the right side')[side + 1]}")

    def _play(self, at_ns: int, act: str) -> None:
        scene, agenda = self._scene, self._agenda
        match act:
            case "stands up":
                self._stand(at_ns)
            case "lies still":
                scene.set(person__fall=0.0, person__floor=1.0, person__weight=0.0, person__edge=0.0)
                scene.did("lies on the floor")
            case "woken for nothing":
                scene.add("person.wakes")
                scene.did("was woken for nothing")
            case "lies back":
                scene.set(person__edge=0.0, person__awake=0.0)
                scene.did("lay back")
            case "takes limb in":
                self._limb_in = False
                scene.set(person__limb=0.0)
            case "meal ends":
                scene.set(care__meal=0.0)
                self._upright_until_ns = at_ns + UPRIGHT_AFTER_MEAL_NS
                scene.did("finished the meal")
            case "back in bed":
                scene.set(person__weight=self._persona.numbers["weight_kg"], person__awake=0.0)
                scene.did("came back to bed with the carer")
            case "carer comes":
                self._carer.comes(at_ns, agenda, scene)
                self._help(at_ns)
                if self._wants_turn:
                    self._turn_by_hand(at_ns)
                if at_ns >= self._blind_from_ns:
                    agenda.drop("carer leaves")
                    agenda.drop("carer turns")
                    agenda.put(at_ns + TURNS_BY_HAND_NS, "carer turns")
                    scene.did("the carer stays: the mat is broken")
            case "carer turns":
                self._turn_by_hand(at_ns)
                agenda.put(at_ns + TURNS_BY_HAND_NS, act)
            case "carer lowers":
                if not scene.now.get("carer.present"):
                    self._carer.comes(at_ns, agenda, scene)
                self._lower_by_hand(at_ns)
            case "carer leaves":
                self._carer.leaves(scene)
            case _:
                self._begin_step(at_ns, self._steps[act])

    def _stand(self, at_ns: int) -> None:
        """Try to stand: fall, unless a carer is there or the rails hold the person back."""
        scene = self._scene
        if scene.now.get("carer.present"):
            self._help(at_ns)
            return
        scene.set(person__fall=_FALL_MPS, person__edge=1.0, person__leaving=0.0)
        scene.did("stood up alone and fell")
        self._agenda.put(at_ns + _FALL_NS, "lies still")

    def _help(self, at_ns: int) -> None:
        """What a carer does: helps to the toilet and back, or up from the floor."""
        scene, agenda = self._scene, self._agenda
        agenda.drop("stands up")
        if scene.now.get("person.leaving") or scene.now.get("person.floor"):
            scene.did("was helped by the carer")
        scene.set(
            person__leaving=0.0, person__edge=0.0, person__floor=0.0, person__fall=0.0, person__limb=0.0,
            person__weight=self._persona.numbers["weight_kg"], person__awake=0.0,
        )  # fmt: skip
        self._limb_in = False

    def _turn_by_hand(self, at_ns: int) -> None:
        """What a carer does who was called to the bed: the bed level, a pillow under the right or out again.

        Under a raised back-rest the pillow stays, because there the back bears the most.
        """
        roll_deg = self._scene.now.get("person.roll", 0.0)
        raised = self._back_deg > TURNED_BACK_DEG + _MEASURED_DEG
        lies_flat = _side_of(roll_deg) == 0 and self._bed_side == 0
        self._wants_turn = False
        if self._bed_side != 0 and not raised:
            self._levelled = True
            self._scene.press(bed__tilt=0.0)
        self._scene.set(person__roll=HAND_ROLL_DEG if lies_flat or (raised and self._bed_side == 0) else 0.0)
        self._scene.did("was turned by hand")
        if raised:
            self._lower_by_hand(at_ns)

    def _lower_by_hand(self, at_ns: int) -> None:
        """Lower the back-rest for somebody who is turned; within half an hour of a meal come back for it."""
        if self._scene.now.get("care.meal") or at_ns < self._upright_until_ns:
            again_ns = max(self._upright_until_ns, at_ns + nanoseconds(self._carer.stay_s))
            self._agenda.drop("carer lowers")
            self._agenda.put(again_ns, "carer lowers")
            return
        self._scene.press(bed__back=TURNED_BACK_DEG)
        self._scene.did("had the back-rest lowered by the carer")

    def _begin_step(self, at_ns: int, step: Step) -> None:
        scene, agenda = self._scene, self._agenda
        if step.says:
            scene.say(step.says)
        until_ns = at_ns + step.for_ns
        match step.does:
            case "leave_bed":
                scene.set(person__edge=step.value_or(0.5), person__awake=1.0, person__leaving=1.0)
                scene.did("sat up on the edge of the bed to get up")
                agenda.put(until_ns, "stands up")
            case "sit_to_drink":
                scene.set(person__edge=step.value_or(0.25), person__awake=1.0)
                scene.did("sat up to drink")
                agenda.put(until_ns, "lies back")
            case "away_with_carer":
                scene.set(carer__present=1.0, person__weight=0.0, person__awake=1.0)
                scene.did("went to the toilet with the carer")
                agenda.put(until_ns, "back in bed")
                agenda.put(until_ns + nanoseconds(30.0), "carer leaves")
            case "limb_in_gap":
                self._limb_in = True
                scene.set(person__limb=1.0)
                scene.did("let an arm slip into the bed frame")
                agenda.put(until_ns, "takes limb in")
            case "blanket_in_gap":
                scene.did("the blanket slipped into the bed frame")
            case "refuse_turn":
                self._refuses_until_ns = until_ns
                scene.set(person__refusal=1.0, person__awake=1.0)
                scene.did("refuses to be turned")
            case "meal":
                scene.set(care__meal=1.0, person__awake=1.0)
                scene.did("is eating supper")
                agenda.put(until_ns, "meal ends")
            case _:  # talk: said, and nothing else
                pass


def _side_of(tilt_deg: float) -> int:
    return -1 if tilt_deg <= -TURNED_DEG else 1 if tilt_deg >= TURNED_DEG else 0


ACTS = frozenset(
    {
        "leave_bed",
        "sit_to_drink",
        "away_with_carer",
        "limb_in_gap",
        "blanket_in_gap",
        "refuse_turn",
        "meal",
        "talk",
    }
)
"""What a bed-watch script may ask for."""
