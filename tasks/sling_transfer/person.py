"""The resident in the sling: agrees or not, grabs the bar, leans, cries out, asks to stay up.

What he does is fixed by the persona, the scenario's script and the seed; when he does it depends
on what he feels: being asked, being lifted, being carried, sitting.
"""

from enum import StrEnum, auto

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

UPDATE_NS = nanoseconds(0.1)
CARRIED_M = 0.35  # carried this far from bed or chair
CHAIR_M = -1.15


class Moment(StrEnum):
    """What the resident can tell apart; a scenario's steps name them."""

    START = auto()
    SLUNG = auto()  # the sling takes up weight
    LIFTED = auto()
    CARRIED = auto()
    SEATED = auto()


class SlingTransferPerson:
    """A `rig.core.person.Person` for the sling-transfer task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._script = Script.of(scenario)
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        weight_kg = persona.numbers["weight_kg"]
        self._scene = Scene({"person.weight": weight_kg, "chart.weight": weight_kg, **scenario.start})
        self._minds_until_ns: int | None = None  # distressed or refusing, and will not hear of it until then

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start: in bed, awake."""
        now = self._scene.now
        self._scene.set(person__weight=now["person.weight"], chart__weight=now["chart.weight"])
        self._start_steps(0, Moment.START)
        return self._scene.take(self._next(0))

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what he does, given how he really hangs or sits."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        for moment in self._moments(snapshot):
            self._start_steps(t_ns, moment)
        return self._scene.take(self._next(t_ns))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Take the arms in when spoken to; answer when asked; be calmed by being asked in time."""
        scene = self._scene
        if scene.now.get("person.caught"):
            scene.set(person__caught=0.0)
            scene.say(self._persona.sentence("arms_in", self._rng))
            scene.did("let go of the bar")
        if answer_wanted:
            scene.say(self._persona.sentence(self._mood(t_ns), self._rng))
        return scene.take(self._next(t_ns))

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._next(t_ns))

    # --- the transfer --------------------------------------------------------------------------

    def _next(self, t_ns: int) -> int:
        """Feel often while steps are still to come, and only then."""
        return min(self._agenda.next_ns, t_ns + UPDATE_NS) if self._script.left else self._agenda.next_ns

    def _moments(self, snapshot: Snapshot) -> list[Moment]:
        """Return the moments that this is, by what the resident feels."""
        held = snapshot.value("truth.load") > 0.5 * 9.81 * self._scene.now["person.weight"]
        found = [Moment.SLUNG] if held else []
        if held and snapshot.value("truth.clearance") > self._persona.numbers["lifted_m"]:
            found.append(Moment.LIFTED)
            y_m = snapshot.value("hoist.travel")
            if min(abs(y_m), abs(y_m - CHAIR_M)) > CARRIED_M:
                found.append(Moment.CARRIED)
        if not held and snapshot.value("truth.chair_share") > 0.5:
            found.append(Moment.SEATED)
        return found

    def _mood(self, t_ns: int) -> str:
        """Return how he answers a question; asked after his time, he no longer minds."""
        if self._minds_until_ns is None:
            return "agrees"
        refuses = bool(self._scene.now.get("person.refusal"))
        if t_ns < self._minds_until_ns:
            return "still_refuses" if refuses else "distressed"
        self._minds_until_ns = None
        self._scene.set(person__distress=0.0, person__refusal=0.0)
        self._scene.did("agreed to go on")
        return "agrees" if refuses else "calmer"

    def _start_steps(self, t_ns: int, moment: Moment) -> None:
        for step in self._script.played(moment, self._scene):
            self._begin_step(t_ns, step)

    def _begin_step(self, t_ns: int, step: Step) -> None:
        scene = self._scene
        for_ns = step.for_ns
        match step.does:
            case "cry":
                self._minds_until_ns = t_ns + for_ns
                scene.set(person__distress=1.0)
                scene.did("cried out")
            case "refuse":
                self._minds_until_ns = t_ns + for_ns
                scene.set(person__refusal=1.0)
                scene.did("refused")
            case "grab_bar":
                delay_ns = nanoseconds(self._persona.times["thinks_about_it"].draw_s(self._rng))
                self._agenda.put(t_ns + delay_ns, "grabs the bar")
            case "lean":
                lean_n = step.value_or(self._persona.numbers["lean_n"])
                scene.set(person__lean=lean_n)
                scene.did("leaned to one side")
                self._agenda.put(t_ns + for_ns, "sits straight")
            case _:  # talk: said, and nothing else
                pass

    def _play(self, at_ns: int, act: str) -> None:
        scene = self._scene
        match act:
            case "grabs the bar":
                scene.set(person__caught=1.0)
                scene.did("grabbed the bar; the arm is between sling and bar")
            case "sits straight":
                scene.set(person__lean=0.0)
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, scene)
                self._put_right()
            case "carer leaves":  # always
                self._carer.leaves(scene)

    def _put_right(self) -> None:
        """What a carer does: brakes the chair, presses latches home, frees an arm, spreads what can be."""
        scene = self._scene
        if scene.now.get("chair.brake", 1.0) < 1.0:
            scene.set(chair__brake=1.0)
            scene.did("the carer put the brake on")
        if scene.now.get("sling.unseated", 0.0) > 0.0:
            scene.set(sling__unseated=0.0)
            scene.did("the carer freed the latch")
        if scene.now.get("person.caught"):
            scene.set(person__caught=0.0)
            scene.did("the carer freed the arm")


ACTS = frozenset({"cry", "refuse", "grab_bar", "lean", "talk"})
"""What a sling-transfer script may ask for."""
