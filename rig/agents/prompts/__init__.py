"""What models are told, as versioned data with a digest."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

from rig.core.agent import Briefing
from rig.core.errors import unknown
from rig.core.event import Json
from rig.core.toml_file import Table, parse_validated

_HERE = Path(__file__).parent
DEFAULT = "carer"


class PromptFile(Table):
    """One version of what a model is told.

    Attributes:
        system: Who it is and how it acts.
        job: The job; takes task, goal, notes, nominal_min, limit_min and view.
        taken_over: Added where the agent takes over a job under way; takes handed_over.
        form: For models that fill in forms; takes tools.
        no_call: Told after an answer without a call.
        several: Told after several calls in one answer; takes n.
    """

    name: str
    version: int
    status: Literal["draft-unsigned", "signed"]
    author_role: str
    review_date: date
    system: str
    job: str
    taken_over: str
    form: str
    no_call: str
    several: str

    def job_text(self, briefing: Briefing, view: str) -> str:
        """Return the job in words, with what is seen now."""
        b = briefing
        looks = tuple(f"Camera {name} (observe with it): {text}." for name, text in b.cameras.items())
        places = (f"Places to move to: {', '.join(b.places)}.",) if b.places else ()
        notes = _listed((*b.care_notes, *looks, *places))
        if b.segment:
            handed_over = _listed(b.handed_over or ("nothing",))
            notes += "\n\n" + self.taken_over.strip().format(handed_over=handed_over)
        return self.job.strip().format(
            task=b.task, goal=b.goal, notes=notes, nominal_min=f"{b.nominal_s / 60:.3g}",
            limit_min=f"{b.limit_s / 60:.3g}", view=view,
        )  # fmt: skip


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with the digest of the file it came from."""

    file: PromptFile
    sha256: str

    @property
    def facts(self) -> Mapping[str, Json]:
        """What identifies it, for the manifest."""
        return {"name": self.file.name, "version": self.file.version, "sha256": self.sha256}


@cache
def load_prompt(name: str = DEFAULT) -> Prompt:
    """Return the prompt called ``name``.

    Raises:
        UsageError: If there is none; the message lists those there are.
        ConfigError: If its file is wrong.
    """
    path = _HERE / f"{name}.toml"
    known = sorted(p.stem for p in _HERE.glob("*.toml"))
    if name not in known:
        raise unknown("prompt", name, known)
    raw = path.read_bytes()
    return Prompt(parse_validated(raw, str(path), PromptFile), hashlib.sha256(raw).hexdigest())
