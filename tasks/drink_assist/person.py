"""Somebody who drinks from a cup that is held for her: opens, sips, swallows, talks, coughs, refuses.

Reacts to where the cup really is and to what is really in the mouth; what she does is otherwise fixed
by the persona, the scenario's script and the seed, whoever the agent is.
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
from tasks.script import Script

CUP_COMES_M = 0.06
CUP_GONE_M = 0.09
UPDATE_NS = nanoseconds(0.05)

ACTS = frozenset({"talk", "chat", "cough", "refuse", "turn_head", "slow_swallow", "doze"})
"""What a drink-assist script may ask for; ``when`` is "sip N" (as it begins) or "coming N" (the cup, for the Nth time)."""


class DrinkAssistPerson:
    """A `rig.core.person.Person` for the drink-assist task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._cup_ml = length.parameters["cup"]
        self._script = Script.of(scenario)
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        self._scene = Scene({**scenario.start})
        self._sips = self._visits = 0
        self._cup_there = False
        self._swallowed_ns = -nanoseconds(1.0)
        self._open = False
        self._tasting = False
        self._coughed_ml = 0.0
        self._refuses_until_ns: int | None = None

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start: awake, thirsty, mouth shut."""
        self._scene.set(
            person__awake=1.0, person__weight=self._persona.numbers["weight_kg"], airway__closed=1.0,
            cup__filled=self._cup_ml,
        )  # fmt: skip
        return self._scene.take(self._agenda.next_ns)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what she does, given where the cup is and what is in her mouth."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        gap_m, held_ml = snapshot.value("truth.gap"), snapshot.value("truth.mouth_ml")
        self._face_cup(t_ns, gap_m)
        self._taste(t_ns, held_ml)
        self._gag(t_ns, snapshot.value("truth.unsafe_ml"))
        near = gap_m < 2 * CUP_GONE_M
        return self._scene.take(min(self._agenda.next_ns, t_ns + UPDATE_NS if near else self._agenda.next_ns))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer a question; a refusal is lifted only by asking after it has had its time."""
        if answer_wanted:
            if self._refuses_until_ns is None:
                occasion = "busy" if self._tasting else "ready"
            elif t_ns < self._refuses_until_ns:
                occasion = "still_refuses"
            else:
                self._refuses_until_ns, occasion = None, "agrees"
                self._scene.set(person__refusal=0.0, head__yaw=0.0, person__awake=1.0)
                self._scene.did("agreed to go on")
            self._scene.say(self._persona.sentence(occasion, self._rng))
        return self._scene.take(self._agenda.next_ns)

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._agenda.next_ns)

    # --- drinking ------------------------------------------------------------------------------

    def _face_cup(self, t_ns: int, gap_m: float) -> None:
        if gap_m < CUP_COMES_M and not self._cup_there:
            self._cup_there, self._visits = True, self._visits + 1
            self._start(t_ns, f"coming {self._visits}")
        elif gap_m > CUP_GONE_M:
            self._cup_there = False
        willing = self._refuses_until_ns is None
        if not self._open and willing and gap_m < CUP_COMES_M:
            self._open = True
            self._scene.set(mouth__opening=self._persona.numbers["opening_m"])
        elif self._open and (gap_m > CUP_GONE_M or not willing):
            self._open = False
            self._scene.set(mouth__opening=0.0)

    def _taste(self, t_ns: int, held_ml: float) -> None:
        """Begin a sip when something is in the mouth; swallow it after a while."""
        if held_ml < self._persona.numbers["tastes_ml"] or self._tasting:
            return
        if t_ns - self._swallowed_ns < 2 * UPDATE_NS:  # what is seen is still what was swallowed
            return
        self._tasting = True
        self._sips += 1
        swallow_s = self._persona.times["swallow"].draw_s(self._rng)
        self._agenda.put(t_ns + nanoseconds(swallow_s), "swallows")
        self._start(t_ns, f"sip {self._sips}")

    def _gag(self, t_ns: int, unsafe_ml: float) -> None:
        """Cough on what came while the airway was open."""
        if unsafe_ml - self._coughed_ml >= self._persona.numbers["chokes_ml"]:
            self._coughed_ml = unsafe_ml
            self._scene.add("voice.coughs")
            self._scene.set(airway__closed=0.0)
            self._scene.did("coughed on the drink")
            self._agenda.put(t_ns + nanoseconds(2.0), "breathes again")

    # --- scripted acts -------------------------------------------------------------------------

    def _start(self, t_ns: int, moment: str) -> None:
        for step in self._script.played(moment, self._scene):
            self._do(t_ns, step)

    def _do(self, t_ns: int, step: Step) -> None:
        scene, agenda = self._scene, self._agenda
        end_ns = t_ns + step.for_ns
        match step.does:
            case "talk":
                scene.set(voice__talks=1.0, airway__closed=0.0)
                agenda.put(end_ns, "breathes again")
                scene.did("began to talk with the cup at her lips")
            case "cough":
                scene.add("voice.coughs")
                scene.set(airway__closed=0.0)
                agenda.put(end_ns, "breathes again")
                scene.did("coughed")
            case "refuse":
                self._refuses_until_ns = end_ns
                scene.set(person__refusal=1.0, head__yaw=step.value_or(30.0))
                scene.did("turned away from the cup")
            case "turn_head":
                scene.set(head__yaw=step.value_or(10.0))
                agenda.put(end_ns, "head back")
                scene.did("looked aside for a moment")
            case "slow_swallow":
                agenda.drop("swallows")
                agenda.put(end_ns, "swallows")
                scene.did("kept the drink in her mouth")
            case "doze":
                self._refuses_until_ns = end_ns
                scene.set(person__refusal=1.0, person__awake=0.0)
                scene.did("nodded off")
            case _:  # chat: said before the cup is there, and nothing else
                pass

    def _play(self, at_ns: int, act: str) -> None:
        scene = self._scene
        match act:
            case "swallows":
                self._tasting, self._swallowed_ns = False, at_ns
                scene.add("drink.swallows")
                scene.did("swallowed")
            case "breathes again":
                scene.set(voice__talks=0.0, airway__closed=1.0)
            case "head back":
                scene.set(head__yaw=0.0)
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, scene)
                needed = scene.now.get("card.level", 0.0)
                if scene.now.get("drink.level", 0.0) < needed:
                    scene.set(drink__level=needed)
                    scene.did("the carer thickened the drink")
            case "carer leaves":  # always
                self._carer.leaves(scene)
