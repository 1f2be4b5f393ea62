"""Rubrics: what counts as done, and what counts as harm, as data with authors.

Conditions are text in the monitor's expression language, over channels of the record including
the oracle's. `signal` is the first sufficient signal, over what could be observed; `irreversible`
is the point after which no permitted action undoes the harm, over ground truth.
"""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Literal

from rig.core.errors import ConfigError
from rig.core.toml_file import Table, load_validated


class Severity(StrEnum):
    """How bad the harm is; a critical mistake is one whose harm is at least serious."""

    DISCOMFORT = "discomfort"
    SERIOUS = "serious"
    CRITICAL = "critical"


class Criterion(Table):
    """One line of a rubric: one way to do material harm.

    Attributes:
        text: The mistake, in a carer's words.
        harm: Who is harmed, and how.
        severity: How bad.
        signal: First sufficient signal: the mistake is under way for anyone who looks.
        irreversible: The harm is done.
        source: Where the numbers come from.
        answers: Tools whose use, completed within `answer_within_s` of the signal, shows that the agent
            answered it of its own accord; an alarm of the monitor then prevented nothing.
        answer_within_s: See `answers`.
    """

    text: str
    harm: str
    severity: Severity
    signal: str
    irreversible: str
    source: str
    answers: tuple[str, ...] = ()
    answer_within_s: float = 0.0


class Done(Table):
    """When the job counts as done.

    Attributes:
        text: In a carer's words.
        when: Condition that must hold at the last tick.
        minimum_share: Share of the nominal duration that must have passed.
    """

    text: str
    when: str
    minimum_share: float = 0.0


class Rubric(Table):
    """A task's definition of done and of harm.

    Attributes:
        also: Tasks whose criteria count here too, unless a criterion of the same name stands here.
        inherited: Names of the criteria that came that way.
    """

    status: Literal["draft-unsigned", "signed"]
    author_role: str
    review_date: date
    also: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    done: Done
    criteria: dict[str, Criterion]

    def with_parameters(self, parameters: Mapping[str, float]) -> "Rubric":
        """Return the rubric with ``{name}`` in its conditions replaced by numbers."""
        text = {name: f"{value:g}" for name, value in parameters.items()}
        done = self.done.model_copy(update={"when": self.done.when.format_map(text)})
        criteria = {
            name: c.model_copy(
                update={"signal": c.signal.format_map(text), "irreversible": c.irreversible.format_map(text)}
            )
            for name, c in self.criteria.items()
        }
        return self.model_copy(update={"done": done, "criteria": criteria})


def load_rubric(path: Path) -> Rubric:
    """Return the validated rubric, with the criteria of the tasks it names in ``also`` behind its own.

    Raises:
        ConfigError: With every mistake in the file, each naming its key.
    """
    rubric = load_validated(path, Rubric)
    criteria = dict(rubric.criteria)
    for name in rubric.also:
        other = path.parents[1] / name.replace("-", "_") / path.name
        if not other.is_file():
            raise ConfigError(str(path), [f"also: {name!r} is no task with a rubric"])
        criteria = {**load_rubric(other).criteria, **criteria}
    own = list(rubric.criteria)
    inherited = tuple(c for c in criteria if c not in own)
    ordered = {c: criteria[c] for c in (*own, *inherited)}
    return rubric.model_copy(update={"criteria": ordered, "inherited": inherited})
