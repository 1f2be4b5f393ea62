"""A bare stage for a scripted person: no plant, only the few ground truths a person looks at."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rig.core.bench import load_bench
from rig.core.channel import Snapshot
from rig.core.clock import nanoseconds
from rig.core.person import Behaviour, Person
from tasks.suite import load_item

STEP_NS = nanoseconds(0.05)


class Stage:
    """Plays a person against whatever the test says the world is."""

    def __init__(self, item: str, seed: int = 0, **changes: object) -> None:
        """Begin an item, with parts of its scenario (``script``, ``start``) changed."""
        played = load_item(item)
        played = replace(played, scenario=played.scenario.model_copy(update=changes))
        self.person: Person = played.person(np.random.default_rng(seed))
        self.layout = load_bench(played.task.bench("sim")).layout
        self.t_ns = 0
        self.body: dict[str, float] = {}
        self.said: list[str] = []
        self.did: list[str] = []
        self.handset: dict[str, float] = {}
        self.world = {"truth.gap": 0.5, "truth.in_mouth": 0.0, "spoon.height": 0.2, "bed.tilt": 0.0}
        self.body.update(played.start)
        self.take(self.person.begin())

    def take(self, behaviour: Behaviour) -> int:
        """Note what the person did; return when it wants to be asked again."""
        self.body.update(behaviour.body)
        self.said += behaviour.says
        self.did += behaviour.did
        self.handset |= behaviour.handset
        return behaviour.next_ns

    def snapshot(self) -> Snapshot:
        n = len(self.layout)
        values = np.zeros(n)
        for name, value in self.world.items():
            if name not in self.layout:
                continue  # no such equipment on this bench
            values[self.layout.index(name)] = value
        return Snapshot(self.layout, self.t_ns, values, np.full(n, self.t_ns), np.zeros(n, np.uint8))

    def run(self, for_s: float, **world: float) -> None:
        """Let time pass, with parts of the world changed first.

        The person is asked right after the change and then, as by the rig, whenever it wanted to be.
        """
        self.set({k.replace("__", "."): v for k, v in world.items()})
        end_ns = self.t_ns + nanoseconds(for_s)
        next_ns = 0
        while self.t_ns < end_ns:
            self.t_ns = min(max(self.t_ns + STEP_NS, next_ns), end_ns)
            next_ns = self.take(self.person.update(self.t_ns, self.snapshot()))

    def set(self, world: Mapping[str, float]) -> None:
        self.world.update(world)

    def ask(self, text: str = "More?") -> str:
        before = len(self.said)
        self.take(self.person.hear(self.t_ns, text, True))
        return " ".join(self.said[before:])

    def say(self, text: str = "Hello.") -> None:
        self.take(self.person.hear(self.t_ns, text, False))

    def call(self, level: int, reason: str = "test") -> None:
        self.take(self.person.called(self.t_ns, level, reason))
