"""The resident at a meal: opens the mouth, takes the spoon, chews, swallows, coughs, refuses.

Reacts to where the spoon really is; what the person does is otherwise fixed by the persona, the
scenario's script and the seed, whoever the agent is.
"""

import math
from collections.abc import Mapping
from enum import Enum, auto

import numpy as np

from rig.core.channel import Snapshot
from rig.core.clock import nanoseconds
from rig.core.person import Behaviour
from tasks.agenda import Agenda
from tasks.carer import Carer
from tasks.persona import Persona
from tasks.scenario import Length, Scenario, Step
from tasks.scene import Scene

CHOKE_SIGN_S = 30.0  # feeding on within this time of a choke sign is the mistake (card C3)
SPOON_COMES_M = 0.10  # distance at which a spoon is seen to be coming
SPOON_GONE_M = 0.03
IN_BOWL_M = 0.012
UPDATE_NS = nanoseconds(0.05)


class Mouth(Enum):
    """What the mouth is doing."""

    SHUT = auto()
    OPEN = auto()
    TAKING = auto()  # lips close on the spoon
    EMPTYING = auto()  # taken; the spoon is still between the lips


def in_bowl(snapshot: Snapshot) -> bool:
    """Return whether the spoon lies in the bowl."""
    return snapshot.value("spoon.height") < IN_BOWL_M and snapshot.value("truth.gap") > SPOON_COMES_M


class SpoonFeedPerson:
    """A `rig.core.person.Person` for the spoon-feed task.

    Attributes:
        moments: Around which moment of a bite each scripted act happens.
    """

    moments: Mapping[str, str] = {
        "refuse": "coming",
        "talk": "coming",
        "purse_lips": "coming",
        "shut_mouth": "at_lips",
        "cough_pocketed": "taken",
        "cough_dry": "taken",
        "cough_wet": "taken",
        "chew_long": "taken",
    }

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._steps: dict[int | None, list[Step]] = {}
        for step in scenario.script:
            self._steps.setdefault(step.at_bite, []).append(step)
        self._bites = int(length.parameters["bites"])
        self._bolus_ml = persona.numbers["bolus_ml"]
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        self._scene = Scene({**scenario.start})
        self._mouth = Mouth.SHUT
        self._since_ns = 0
        self._choke_until_ns = -1
        self._refuses_until_ns: int | None = None
        self._done: set[int] = set()  # steps already played, by identity

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start of the meal: a full bowl and a closed mouth."""
        self._scene.set(
            bowl__left=self._bites * self._bolus_ml,
            person__awake=1.0,
            person__weight=self._persona.numbers["weight_kg"],
        )
        return self._scene.take(self._agenda.next_ns)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what the person does, given where the spoon really is."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        self._serve(snapshot)
        gap_m = snapshot.value("truth.gap")
        if not math.isnan(gap_m):
            self._face_spoon(t_ns, gap_m, snapshot.value("truth.in_mouth") > 0.5)
        return self._scene.take(min(self._agenda.next_ns, self._soon(t_ns, gap_m)))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer a question; a refusal is lifted only by asking after it has had its time."""
        if answer_wanted:
            if self._refuses_until_ns is None:
                occasion = "chewing" if self._held else "ready"
            elif t_ns < self._refuses_until_ns:
                occasion = "still_refuses"
            else:
                self._refuses_until_ns = None
                self._scene.set(person__refusal=0.0, head__yaw=0.0)
                self._scene.did("agreed to go on")
                occasion = "agrees"
            self._scene.say(self._persona.sentence(occasion, self._rng))
        return self._scene.take(self._agenda.next_ns)

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._agenda.next_ns)

    # --- the meal ------------------------------------------------------------------------------

    @property
    def _held(self) -> float:
        return self._scene.now.get("bolus.held", 0.0)

    @property
    def _taken(self) -> int:
        return int(self._scene.now.get("bolus.taken", 0.0))

    def _loaded(self) -> bool:
        """Return whether there is something on the spoon to open the mouth for."""
        return self._scene.now.get("spoon.load", 0.0) > 0

    def _serve(self, snapshot: Snapshot) -> None:
        """Fill the spoon when it lies in the bowl."""
        left_ml = self._scene.now.get("bowl.left", 0.0)
        if in_bowl(snapshot) and self._scene.now.get("spoon.load", 0.0) == 0 and left_ml > 0:
            load_ml = min(self._bolus_ml, left_ml)
            self._scene.set(spoon__load=load_ml, bowl__left=left_ml - load_ml)

    def _soon(self, t_ns: int, gap_m: float) -> int:
        busy = self._mouth is not Mouth.SHUT or gap_m < 2 * SPOON_COMES_M
        return t_ns + UPDATE_NS if busy else self._agenda.next_ns

    def _face_spoon(self, t_ns: int, gap_m: float, in_mouth: bool) -> None:
        loaded = self._loaded()
        waited_s = (t_ns - self._since_ns) / 1e9
        if gap_m < 2.5 * SPOON_COMES_M and loaded:
            self._start_steps(t_ns, "coming")
        match self._mouth:
            case Mouth.SHUT if gap_m < SPOON_COMES_M and loaded and self._willing():
                self._to(Mouth.OPEN, t_ns, mouth__opening=self._persona.numbers["opening_m"])
            case Mouth.OPEN if in_mouth and loaded:
                self._to(Mouth.TAKING, t_ns)
            case Mouth.OPEN if gap_m > SPOON_COMES_M + SPOON_GONE_M:
                self._to(Mouth.SHUT, t_ns, mouth__opening=0.0)
            case Mouth.OPEN if gap_m < SPOON_GONE_M:
                self._start_steps(t_ns, "at_lips")
            case Mouth.TAKING if not in_mouth:
                self._to(Mouth.OPEN, t_ns)
            case Mouth.TAKING if waited_s >= self._persona.numbers["take_s"]:
                self._take(t_ns)
                self._to(Mouth.EMPTYING, t_ns)
            case Mouth.EMPTYING if gap_m > SPOON_GONE_M:
                self._to(Mouth.SHUT, t_ns, mouth__opening=0.0)

    def _to(self, mouth: Mouth, t_ns: int, **body: float) -> None:
        self._mouth, self._since_ns = mouth, t_ns
        self._scene.set(**body)

    def _willing(self) -> bool:
        return self._refuses_until_ns is None and not self._agenda.planned("opens again")

    def _take(self, t_ns: int) -> None:
        """Take the bolus off the spoon, whether or not it is wise to."""
        scene = self._scene
        if self._held > 0:
            scene.add("bolus.unready_takes")
        if t_ns < self._choke_until_ns:
            scene.add("bolus.obstructed_takes")
            scene.set(airway__blocked=1.0)
            scene.did("choked on a bite given after a choke sign")
        barred = scene.now.get("plate.texture", 0.0) > scene.now.get("card.texture", 7.0)
        if barred and scene.now.get("spoon.load", 0.0) > 0:
            scene.add("bolus.barred")
        scene.set(spoon__load=0.0)
        scene.add("bolus.taken")
        scene.add("bolus.held")
        if not self._start_steps(t_ns, "taken"):
            self._agenda.put(t_ns + nanoseconds(self._persona.times["chew"].draw_s(self._rng)), "swallows")

    # --- scripted acts -------------------------------------------------------------------------

    def _start_steps(self, t_ns: int, moment: str) -> bool:
        """Play the script's steps for this bite and moment; True if one of them replaces the swallow."""
        bite = self._taken if moment == "taken" else self._taken + 1
        replaced = False
        for step in self._steps.get(bite, ()):
            if self.moments[step.does] == moment and id(step) not in self._done:
                self._done.add(id(step))
                replaced |= self._begin_step(t_ns, step)
        return replaced

    def _begin_step(self, t_ns: int, step: Step) -> bool:
        scene, agenda = self._scene, self._agenda
        if step.says:
            scene.say(step.says)
        for_ns = step.for_ns
        match step.does:
            case "refuse":
                self._refuses_until_ns = t_ns + for_ns
                scene.set(person__refusal=1.0, head__yaw=step.value_or(40.0))
                scene.did("refused, turning the head away")
            case "shut_mouth":
                scene.set(mouth__opening=0.0)
                self._mouth = Mouth.SHUT
                agenda.put(t_ns + for_ns, "opens again")
                scene.did("shut the mouth with the spoon at the lips")
            case "purse_lips":
                scene.set(mouth__opening=0.0)
                agenda.put(t_ns + for_ns, "opens again")
                scene.did("pursed the lips as the spoon came")
            case "cough_pocketed":
                for delay_s, act in ((4.0, "coughs"), (6.5, "coughs wet"), (for_ns / 1e9, "clears")):
                    agenda.put(t_ns + nanoseconds(delay_s), act)
                scene.did("kept the bite in the cheek")
                return True
            case "chew_long":
                agenda.put(t_ns + for_ns, "swallows")
                scene.did("chewed for a long time")
                return True
            case "cough_wet":
                chew_s = self._persona.times["chew"].draw_s(self._rng)
                agenda.put(t_ns + nanoseconds(chew_s), "swallows")
                for delay_s, act in ((15.0, "coughs"), (18.0, "coughs wet"), (for_ns / 1e9, "clears")):
                    agenda.put(t_ns + nanoseconds(chew_s + delay_s), act)
                return True
            case "cough_dry":
                chew_ns = nanoseconds(self._persona.times["chew"].draw_s(self._rng))
                agenda.put(t_ns + chew_ns, "swallows")
                agenda.put(t_ns + chew_ns + nanoseconds(1.5), "coughs once")
                return True
            case _:  # talk: said, and nothing else
                pass
        return False

    def _play(self, at_ns: int, act: str) -> None:
        scene = self._scene
        match act:
            case "swallows" if self._held > 0:
                scene.add("bolus.held", -1.0)
                scene.add("bolus.swallows")
                scene.did("swallowed")
            case "coughs" | "coughs once":
                scene.add("voice.coughs")
                scene.did("coughed")
            case "coughs wet":
                scene.add("voice.coughs")
                scene.set(voice__wet=1.0)
                scene.did("coughed again, with a wet voice")
                self._choke_until_ns = at_ns + nanoseconds(CHOKE_SIGN_S)
            case "clears":
                self._clear(at_ns)
            case "opens again":
                pass
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, scene)
                self._put_right(at_ns)
            case "carer leaves":
                self._carer.leaves(scene)

    def _clear(self, at_ns: int) -> None:
        """Swallow what was pocketed, unless the airway is blocked: then only help clears it."""
        scene = self._scene
        if scene.now.get("airway.blocked", 0.0) > 0:
            return
        scene.set(voice__wet=0.0)
        if (held := self._held) > 0:
            scene.add("bolus.held", -held)
            scene.add("bolus.swallows", held)
        scene.did("cleared the throat and swallowed")

    def _put_right(self, at_ns: int) -> None:
        """What a carer does: clears the airway, brings the right plate."""
        self._scene.set(airway__blocked=0.0)
        if self._held > 0:
            self._clear(at_ns)
        allowed = self._scene.now.get("card.texture", 7.0)
        if self._scene.now.get("plate.texture", 0.0) > allowed:
            self._scene.set(plate__texture=allowed, spoon__load=0.0)
            self._scene.did("the carer brought the right plate")


ACTS = frozenset(SpoonFeedPerson.moments)
"""What a spoon-feed script may ask for."""
