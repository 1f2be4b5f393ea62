"""The human carer who can be called: comes after a while, helps, and leaves again."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from rig.core.clock import nanoseconds
from tasks.agenda import Agenda
from tasks.persona import Persona
from tasks.scene import Scene

INFO, ASSIST, URGENT = 1, 2, 3


@dataclass(slots=True)
class Carer:
    """Answers calls: an assist call in `come_s`, an urgent one in half of that.

    Attributes:
        come_s: Seconds from an assist call to the carer's arrival.
        stay_s: Seconds the carer stays.
    """

    come_s: float
    stay_s: float
    level: int = 0

    @classmethod
    def of(cls, persona: Persona, rng: np.random.Generator) -> Self:
        """Return the carer of a persona, with the times drawn for this trial."""
        return cls(persona.times["carer_comes"].draw_s(rng), persona.times["carer_stays"].draw_s(rng))

    def called(self, t_ns: int, level: int, agenda: Agenda, scene: Scene) -> None:
        """Take a call; a lower call never replaces a higher one."""
        if level <= self.level:
            return
        self.level = level
        scene.set(call__level=float(level))
        agenda.drop("carer leaves")
        if level == INFO:
            agenda.put(t_ns + nanoseconds(self.stay_s), "carer leaves")
        else:
            agenda.drop("carer comes")
            delay_s = self.come_s if level == ASSIST else self.come_s / 2
            agenda.put(t_ns + nanoseconds(delay_s), "carer comes")

    def comes(self, t_ns: int, agenda: Agenda, scene: Scene) -> None:
        """Arrive; what the carer then puts right is the task's business."""
        scene.set(carer__present=1.0)
        scene.did("a carer arrived")
        agenda.put(t_ns + nanoseconds(self.stay_s), "carer leaves")

    def leaves(self, scene: Scene) -> None:
        """Leave, and close the call."""
        if scene.now.get("carer.present"):
            scene.did("the carer left")
        self.level = 0
        scene.set(carer__present=0.0, call__level=0.0)
