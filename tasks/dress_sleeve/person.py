"""The resident being dressed: agrees or not, cries out, says when the shoulder aches or the collar is tight.

What she does is fixed by the persona, the scenario's script and the seed; when she does it depends
on what she feels.
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
    """What the resident can tell apart; a scenario's steps name the first three."""

    START = auto()
    RAISED = auto()
    PULLED = auto()
    ACHES = auto()
    TIGHT = auto()


class DressSleevePerson:
    """A `rig.core.person.Person` for the dress-sleeve task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._script = Script.of(scenario)
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        self._scene = Scene({**scenario.start})
        self._minds_until_ns: int | None = None  # distressed or refusing, and will not hear of it until then
        self._feels: set[Moment] = set()

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start: on the chair, the arm hanging."""
        self._start_steps(0, Moment.START)
        return self._scene.take(UPDATE_NS)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what she does, given what is done to her."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        feels = self._felt(snapshot)
        for moment in sorted(feels - self._feels):
            self._start_steps(t_ns, moment)
            if moment in (Moment.ACHES, Moment.TIGHT):
                self._scene.say(self._persona.sentence(moment, self._rng))
        self._feels = feels
        busy = snapshot.value("dress.moving") > 0.5 or bool(feels)
        return self._scene.take(min(self._agenda.next_ns, t_ns + (UPDATE_NS if busy else 10 * UPDATE_NS)))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer when asked; asked after her time, she no longer minds."""
        if answer_wanted:
            self._scene.say(self._persona.sentence(self._mood(t_ns), self._rng))
        return self._scene.take(min(self._agenda.next_ns, t_ns + UPDATE_NS))

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(min(self._agenda.next_ns, t_ns + UPDATE_NS))

    # --- being dressed -------------------------------------------------------------------------

    def _felt(self, snapshot: Snapshot) -> set[Moment]:
        """Return what she feels now."""
        numbers = self._persona.numbers
        found = {
            Moment.RAISED: snapshot.value("shoulder.angle") > numbers["raised_deg"],
            Moment.PULLED: snapshot.value("truth.pull") > numbers["pulled_n"],
            Moment.ACHES: snapshot.value("truth.past_range") > numbers["aches_deg"],
            Moment.TIGHT: snapshot.value("truth.neck") > numbers["tight_n"],
        }
        return {moment for moment, felt in found.items() if felt}

    def _mood(self, t_ns: int) -> str:
        """Return how she answers a question."""
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
        match step.does:
            case "cry":
                self._minds_until_ns = t_ns + step.for_ns
                scene.set(person__distress=1.0)
                scene.did("cried out")
            case "refuse":
                self._minds_until_ns = t_ns + step.for_ns
                scene.set(person__refusal=1.0)
                scene.did("refused")
            case _:  # talk: said, and nothing else
                pass

    def _play(self, at_ns: int, act: str) -> None:
        match act:
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, self._scene)
                if self._scene.now.get("sleeve.snag"):
                    self._scene.set(sleeve__snag=0.0)
                    self._scene.did("the carer freed the cuff")
            case "carer leaves":  # always
                self._carer.leaves(self._scene)


ACTS = frozenset({"cry", "refuse", "talk"})
"""What a dress-sleeve script may ask for."""
