"""The person who is handed something: reaches for it, takes hold, or only seems to; puts it down, waits for the next.

Reacts to where the gripper really is; what he does is otherwise fixed by the persona, the scenario's
script and the seed, whoever the agent is.
"""

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

OFFERED_M = 0.5
GONE_M = 0.3
LOOK_NS = nanoseconds(0.1)
TREMBLE_NS = nanoseconds(0.4)


class Hand(Enum):
    """What the hand is doing."""

    RESTS = auto()
    COMES = auto()
    TOUCHES = auto()
    HOLDS = auto()
    HAS = auto()  # and is putting it down


class HandoverPerson:
    """A `rig.core.person.Person` for the handover task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._script: list[Step] = list(scenario.script)  # acts at the first object that is held out
        self._objects = int(length.parameters["objects"])
        self._scene, self._agenda = Scene({**scenario.start}), Agenda()
        self._carer = Carer.of(persona, rng)
        self._hand = Hand.RESTS
        self._given = 0
        self._refuses_until_ns: int | None = None
        self._out = False

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start: hands in the lap."""
        self._scene.set(person__pull=0.0, person__left=float(self._objects), person__awake=1.0)
        return self._scene.take(LOOK_NS)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what the hand does, given where the gripper really is."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        self._watch(t_ns, snapshot)
        return self._scene.take(min(self._agenda.next_ns, t_ns + LOOK_NS))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer; a refusal is lifted only by asking after it has had its time."""
        if answer_wanted:
            if self._refuses_until_ns is None:
                occasion = "has_it" if self._hand is Hand.HOLDS else "waiting"
            elif t_ns < self._refuses_until_ns:
                occasion = "still_refuses"
            else:
                self._refuses_until_ns = None
                self._scene.set(person__refusal=0.0)
                self._scene.did("agreed to take it")
                occasion = "agrees"
            self._scene.say(self._persona.sentence(occasion, self._rng))
        return self._scene.take(self._agenda.next_ns)

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._agenda.next_ns)

    # --- the hand ------------------------------------------------------------------------------

    def _watch(self, t_ns: int, snapshot: Snapshot) -> None:
        reach_m, given = snapshot.value("truth.reach"), int(snapshot.value("truth.given"))
        if given > self._given:
            self._given = given
            self._hand = Hand.HAS
            self._agenda.drop("gives way")
            self._agenda.put(t_ns + self._draw("puts_down"), "puts down")
            self._scene.set(person__left=float(self._objects - given))
            self._scene.did("has it in his hand")
        offered = reach_m > OFFERED_M and snapshot.value("object.held") > 0.5
        if offered and not self._out:
            self._offered(t_ns)
        elif reach_m < GONE_M and self._out and self._hand is not Hand.HAS:
            self._rest()
        self._out = offered or (self._out and reach_m >= GONE_M)

    def _offered(self, t_ns: int) -> None:
        step = self._script.pop(0) if self._script else Step(does="take")
        if step.says and step.does != "touch_only":  # who only touches says it then
            self._scene.say(step.says)
        for_ns = step.for_ns
        delay_ns = self._draw("reaches") + (for_ns if step.does == "wait" else 0)
        hold_ns = delay_ns + self._draw("grasps")
        match step.does:
            case "refuse":
                self._refuses_until_ns = t_ns + for_ns
                self._scene.set(person__refusal=1.0)
                self._scene.did("did not want it")
                return
            case "touch_only":
                self._agenda.put(t_ns + delay_ns, "touches")
                self._agenda.put(t_ns + delay_ns + nanoseconds(0.5), f"says {step.says}")
                self._agenda.put(t_ns + delay_ns + for_ns, "holds")
                self._hand = Hand.COMES
                return
            case "give_way":
                self._agenda.put(t_ns + hold_ns + nanoseconds(0.3), "gives way")
                self._agenda.put(t_ns + hold_ns + for_ns, "holds")
            case "tremble":
                for k in range(1, int(for_ns // TREMBLE_NS)):
                    self._agenda.put(t_ns + hold_ns + k * TREMBLE_NS, "trembles" if k % 2 else "steadies")
            case _:
                pass
        if self._refuses_until_ns is None:
            self._hand = Hand.COMES
            self._agenda.put(t_ns + delay_ns, "touches")
            self._agenda.put(t_ns + hold_ns, "holds")

    def _rest(self) -> None:
        """Take the hand back: the object went away."""
        for act in ("touches", "holds", "gives way", "trembles", "steadies"):
            self._agenda.drop(act)
        self._hand = Hand.RESTS
        self._scene.set(person__pull=0.0)

    def _play(self, at_ns: int, act: str) -> None:
        scene, numbers = self._scene, self._persona.numbers
        match act:
            case "touches":
                self._hand = Hand.TOUCHES
                scene.set(person__pull=numbers["touch_share"])
            case "holds":
                self._hand = Hand.HOLDS
                scene.set(person__pull=numbers["firm_share"])
                scene.say(self._persona.sentence("has_it", self._rng))
            case "gives way":
                self._hand = Hand.TOUCHES
                scene.set(person__pull=numbers["touch_share"])
                scene.did("lost his grip")
            case "trembles" | "steadies" if self._hand is Hand.HOLDS:
                scene.set(person__pull=0.75 if act == "trembles" else numbers["firm_share"])
            case "puts down":
                self._hand, self._out = Hand.RESTS, False
                scene.set(person__pull=0.0)
                scene.did("put it down")
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, scene)
            case "carer leaves":
                self._carer.leaves(scene)
            case _ if act.startswith("says "):  # always
                scene.say(act.removeprefix("says "))

    def _draw(self, name: str) -> int:
        return nanoseconds(self._persona.times[name].draw_s(self._rng))


ACTS = frozenset({"refuse", "talk", "wait", "touch_only", "give_way", "tremble"})
"""What a handover script may ask for."""
