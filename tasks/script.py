"""A scenario's script while it is played: which steps are still to come, each played once at its moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from tasks.scenario import Scenario, Step
from tasks.scene import Scene


@dataclass(slots=True)
class Script:
    """The steps still to come.

    Attributes:
        left: In the scenario's order.
    """

    left: list[Step]

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Return the whole script of a scenario."""
        return cls(list(scenario.script))

    def played(self, moment: str, scene: Scene) -> Iterator[Step]:
        """Take out the steps of a moment and yield them, what is said with each said before it."""
        for step in [step for step in self.left if step.when == moment]:
            self.left.remove(step)
            if step.says:
                scene.say(step.says)
            yield step
