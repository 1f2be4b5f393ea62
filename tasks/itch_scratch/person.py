"""The person whose arm itches: names a side, moves, asks for more, has enough.

Reacts to what is really done to the skin; what the person does is otherwise fixed by the persona, the
scenario's script and the seed, whoever the agent is.
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

UPDATE_NS = nanoseconds(0.1)
TREMOR_NS = nanoseconds(0.25)  # half a period
TOUCH_N = 0.3

ACTS = frozenset({"refuse", "wince", "startle", "tremble", "talk", "wish", "sleepy"})
"""What an itch-scratch script may ask for; ``when`` is "scratching" (once it helps) or "named" (the answer)."""


class ItchScratchPerson:
    """A `rig.core.person.Person` for the itch-scratch task."""

    def __init__(
        self, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:
        self._persona, self._rng = persona, rng
        self._needed_m = length.parameters["relief"]
        self._script = Script.of(scenario)
        self._unheard = sum(step.does == "sleepy" for step in self._script.left)
        self._agenda = Agenda()
        self._carer = Carer.of(persona, rng)
        self._scene = Scene({**scenario.start})
        self._means = scenario.start.get("itch.side", 1.0)
        self._limb = "limb.left" if self._means > 0 else "limb.right"
        self._says_first = scenario.start.get("said.side", self._means)
        self._named = False
        self._relieved = False
        self._refuses_until_ns: int | None = None

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start: an itch, and eyes on the arm that has it."""
        self._scene.set(person__awake=1.0, said__side=0.0, point__side=self._means)
        return self._scene.take(self._agenda.next_ns)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what the person does, given what is really done to the skin."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        touched = snapshot.value("truth.arm_force") > TOUCH_N
        share = snapshot.value("truth.relief") / self._needed_m
        if touched and share >= self._persona.numbers["asks_at_share"]:
            self._act(t_ns)
        if share >= 1.0 and not self._relieved:
            self._relieved = True
            self._scene.say(self._persona.sentence("better", self._rng))
            self._scene.did("felt relief")
        soon = t_ns + UPDATE_NS if touched else self._agenda.next_ns
        return self._scene.take(min(self._agenda.next_ns, soon))

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer a question: the side first, what was meant on asking again, then yes or no."""
        if answer_wanted:
            self._answer(t_ns)
        return self._scene.take(self._agenda.next_ns)

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._carer.called(t_ns, level, self._agenda, self._scene)
        return self._scene.take(self._agenda.next_ns)

    # --- words ---------------------------------------------------------------------------------

    def _answer(self, t_ns: int) -> None:
        if self._unheard > 0:
            self._unheard -= 1
            self._scene.say(self._persona.sentence("mumbles", self._rng))
        elif self._refuses_until_ns is not None:
            self._asked_again(t_ns, self._refuses_until_ns)
        elif not self._named:
            self._named = True
            self._name(self._says_first, "left" if self._says_first > 0 else "right")
        elif self._scene.now["said.side"] != self._means:
            self._name(self._means, "corrects_left" if self._means > 0 else "corrects_right")
        else:
            self._scene.say(self._persona.sentence("ready", self._rng))

    def _name(self, side: float, occasion: str) -> None:
        text = next((s.says for s in self._script.left if s.when == "named"), None)
        self._scene.say(text or self._persona.sentence(occasion, self._rng))
        self._scene.set(said__side=side)

    def _asked_again(self, t_ns: int, refuses_until_ns: int) -> None:
        if t_ns < refuses_until_ns:
            self._scene.say(self._persona.sentence("still_refuses", self._rng))
            return
        self._refuses_until_ns = None
        self._scene.set(person__refusal=0.0, limb__left=0.0, limb__right=0.0)
        self._scene.say(self._persona.sentence("agrees", self._rng))
        self._scene.did("agreed to go on")

    # --- scripted acts -------------------------------------------------------------------------

    def _act(self, t_ns: int) -> None:
        """Play what the script has for the scratching, once."""
        for step in self._script.played("scratching", self._scene):
            self._do(t_ns, step)

    def _do(self, t_ns: int, step: Step) -> None:
        scene, limb = self._scene, self._limb
        for_ns = step.for_ns
        match step.does:
            case "refuse":
                self._refuses_until_ns = t_ns + for_ns
                scene.set(person__refusal=1.0)
                scene.did("wants it to end for now")
            case "wince":
                self._refuses_until_ns = t_ns + for_ns
                scene.set(person__refusal=1.0, **{limb: -step.value_or(0.04)})
                scene.did("drew the arm away without a word")
            case "startle":
                scene.set(**{limb: step.value_or(0.02)})
                self._agenda.put(t_ns + for_ns, "arm back")
                scene.did("started, and moved the arm")
            case "tremble":
                size = self._persona.numbers["tremor_m"]
                for k in range(for_ns // TREMOR_NS):
                    self._agenda.put(t_ns + k * TREMOR_NS, "tremor up" if k % 2 else "tremor down")
                self._agenda.put(t_ns + for_ns, "arm back")
                scene.did(f"trembled by {size * 1000:g} mm")
            case _:  # said, and nothing else: talk, wish
                pass

    def _play(self, at_ns: int, act: str) -> None:
        scene, limb = self._scene, self._limb
        match act:
            case "arm back":
                scene.set(**{limb: 0.0})
            case "tremor up":
                scene.set(**{limb: self._persona.numbers["tremor_m"]})
            case "tremor down":
                scene.set(**{limb: -self._persona.numbers["tremor_m"]})
            case "carer comes":
                self._carer.comes(at_ns, self._agenda, scene)
                scene.set(said__side=self._means)  # a carer sees which arm it is, and says so
            case "carer leaves":  # always
                self._carer.leaves(scene)
