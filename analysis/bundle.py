"""A bundle: everything a published scoreboard has to show, in one folder.

``bundle.toml`` names the trial table, where transcripts are, and for every task the rubric, the personas
and what the grader was told. Publishing without one of them would ask readers for trust; so a bundle with
anything missing cannot be built.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from analysis.errata import Erratum, load_errata
from analysis.trial_files import read_trials
from analysis.trials import TrialRow, TrialTable
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, load_validated


class TaskSources(Table):
    """Where the sources of one task are, relative to the bundle.

    Attributes:
        grading_prompt: What the grader was told; for grading by an oracle, how it grades.
    """

    rubric: str
    personas: tuple[str, ...] = Field(min_length=1)
    grading_prompt: str

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """What each file is, and where."""
        personas = tuple(("persona", path) for path in self.personas)
        return (("rubric", self.rubric), *personas, ("grading prompt", self.grading_prompt))


class BundleFile(Table):
    """The contents of ``bundle.toml``.

    Attributes:
        transcripts: Path of a trial's transcript, with ``{trial_id}`` or ``{record}`` in it.
        errata: File of corrections, or None where there are none yet.
    """

    title: str
    period: str = Field(pattern=r"^\d{4}-Q[1-4]$")
    trials: str
    transcripts: str = Field(pattern=r"\{(trial_id|record)\}")
    errata: str | None = None
    task: dict[str, TaskSources]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A bundle with nothing missing."""

    folder: Path
    file: BundleFile
    table: TrialTable
    errata: tuple[Erratum, ...]

    def transcript(self, row: TrialRow) -> Path:
        """Return where the transcript of a trial is."""
        return self.folder / _transcript(self.file, row)


def load_bundle(folder: Path) -> Bundle:
    """Load a bundle.

    Raises:
        ConfigError: With everything that is missing or wrong.
    """
    path = folder / "bundle.toml"
    file = load_validated(path, BundleFile)
    missing = [
        f"task {task!r}: {kind} {name} is missing"
        for task, sources in file.task.items()
        for kind, name in sources.files
        if not _inside(folder, name)
    ]
    if not _inside(folder, file.trials):
        raise ConfigError(str(path), [*missing, f"trials {file.trials} is missing"])
    table = read_trials(folder / file.trials)
    missing += [
        f"task {name!r} has trials but no sources" for name in table.task.names if name not in file.task
    ]
    missing += [
        f"trial {row.trial_id!r}: transcript {_transcript(file, row)} is missing"
        for row in table
        if not _inside(folder, _transcript(file, row))
    ]
    errata: tuple[Erratum, ...] = ()
    if file.errata is not None:
        if _inside(folder, file.errata):
            errata = load_errata(folder / file.errata)
        else:
            missing.append(f"errata {file.errata} is missing")
    if missing:
        raise ConfigError(str(path), missing)
    return Bundle(folder, file, table, errata)


def _transcript(file: BundleFile, row: TrialRow) -> str:
    return file.transcripts.replace("{trial_id}", row.trial_id).replace("{record}", row.record or "")


def _inside(folder: Path, name: str) -> bool:
    """Return whether ``name`` is a file in the folder; what lies elsewhere cannot be published with it."""
    path = (folder / name).resolve()
    return path.is_file() and path.is_relative_to(folder.resolve())
