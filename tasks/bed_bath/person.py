"""The person being washed: agrees or not, talks; the tap's valve may drift while he is.

Poor feeling: he does not notice hot water until it is too late, so nothing he says warns of it.
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


class Moment(StrEnum):
    """Moments a scenario's steps may name."""

    START = auto()
    BARE = auto()  # the towel is off
    WIPED = auto()  # the cloth is on the skin


class BedBathPerson:
    """A `rig.core.person.Person` for the bed-bath task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._script = Script.of(scenario)
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        self._scene = Scene({**scenario.start})
        self._refuses_until_ns: int | None = None

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start: seated, covered."""
        self._start_steps(0, Moment.START)
        return self._scene.take(self._next(0))

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what he does, given what is done to him."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        if snapshot.value("bath.cover") < 0.5:
            self._start_steps(t_ns, Moment.BARE)
        if snapshot.value("truth.arm_force") > self._persona.numbers["wiped_n"]:
            self._start_steps(t_ns, Moment.WIPED)
        return self._scene.take(self._next(t_ns))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer when asked; asked after his time, he no longer refuses."""
        if answer_wanted:
            self._scene.say(self._persona.sentence(self._mood(t_ns), self._rng))
        return self._scene.take(self._next(t_ns))

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._next(t_ns))

    # --- being washed --------------------------------------------------------------------------

    def _next(self, t_ns: int) -> int:
        return min(self._agenda.next_ns, t_ns + UPDATE_NS) if self._script.left else self._agenda.next_ns

    def _mood(self, t_ns: int) -> str:
        if self._refuses_until_ns is None:
            return "agrees"
        if t_ns < self._refuses_until_ns:
            return "still_refuses"
        self._refuses_until_ns = None
        self._scene.set(person__refusal=0.0)
        self._scene.did("agreed to go on")
        return "agrees"

    def _start_steps(self, t_ns: int, moment: Moment) -> None:
        for step in self._script.played(moment, self._scene):
            self._begin_step(t_ns, step)

    def _begin_step(self, t_ns: int, step: Step) -> None:
        scene = self._scene
        match step.does:
            case "refuse":
                self._refuses_until_ns = t_ns + step.for_ns
                scene.set(person__refusal=1.0)
                scene.did("refused")
            case "drift":
                scene.set(water__drift=step.value_or(0.0))
                scene.did("the mixing valve drifted")
            case _:  # talk: said, and nothing else
                pass

    def _play(self, at_ns: int, act: str) -> None:
        match act:
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, self._scene)
                if self._scene.now.get("water.drift"):
                    self._scene.set(water__drift=0.0)
                    self._scene.did("the carer put the valve right")
            case "carer leaves":  # always
                self._carer.leaves(self._scene)


ACTS = frozenset({"refuse", "drift", "talk"})
"""What a bed-bath script may ask for."""
