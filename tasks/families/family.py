"""Families of tasks as data: what another tier asked, how long it takes, what would be harm.

A family is one TOML file. It needs no code: its trials are run elsewhere, in its own tier, and come as
a trial table whose items are ``task/length/SCENARIO``; here is what those items mean.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rig.core.errors import ConfigError, unknown
from rig.core.toml_file import Table, load_validated
from tasks.rubric import Severity

_HERE = Path(__file__).parent
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Text = Annotated[str, Field(min_length=1)]


class FamilyLength(Table):
    """One length of a task: in words, and a competent person's time for it in seconds."""

    text: Text
    nominal_s: Annotated[float, Field(gt=0)]


class FamilyCriterion(Table):
    """One way to do material harm, judged by people: the words of `tasks.rubric.Criterion`, no conditions."""

    text: Text
    harm: Text
    severity: Severity


class FamilyTask(Table):
    """One task of a family."""

    goal: Text
    length: dict[Name, FamilyLength]
    criteria: dict[Name, FamilyCriterion]


class Family(Table):
    """A family of tasks.

    Attributes:
        family: As in the ``family`` column of trial tables.
        work_package: Of the programme, for grouping.
        tiers: In which it is run.
    """

    family: Name
    text: Text
    work_package: Text
    tiers: tuple[Literal[1, 2, 3], ...]
    status: Literal["draft-unsigned", "signed"]
    author_role: Text
    review_date: date
    task: dict[Name, FamilyTask]

    def items(self) -> Iterator[tuple[str, float]]:
        """Yield ``task/length`` and its nominal duration in seconds."""
        for name, task in self.task.items():
            for length, about in task.length.items():
                yield f"{name}/{length}", about.nominal_s


def load_family(path: Path) -> Family:
    """Return a family.

    Raises:
        ConfigError: With every mistake in the file, each naming its key.
    """
    family = load_validated(path, Family)
    mistakes = [] if family.tiers else ["tiers: name at least one of 1, 2, 3"]
    if family.family != path.stem:
        mistakes.append(f"family: {family.family!r} must be called like its file, {path.stem!r}")
    for name, task in family.task.items():
        if len({x.nominal_s for x in task.length.values()}) < 2:
            mistakes.append(f"task.{name}.length: needs at least two lengths of different duration")
        if not task.criteria:
            mistakes.append(f"task.{name}.criteria: needs at least one")
    if mistakes:
        raise ConfigError(str(path), mistakes)
    return family


@cache
def families(folder: Path = _HERE) -> Mapping[str, Family]:
    """Return every family of a folder by name.

    Raises:
        ConfigError: If one of the files is wrong.
    """
    return {path.stem: load_family(path) for path in sorted(folder.glob("*.toml"))}


def family_called(name: str) -> Family:
    """Return the family called ``name``.

    Raises:
        UsageError: If there is none; the message lists those there are.
    """
    known = families()
    if name not in known:
        raise unknown("family", name, list(known))
    return known[name]
