"""Personas: who is cared for, as numbers and sentences; behaviour is in each task's person."""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from rig.core.toml_file import Table, load_validated


class Spread(Table):
    """A positive random duration: log-normal with this median (seconds) and log standard deviation."""

    median_s: Annotated[float, Field(gt=0)]
    spread: Annotated[float, Field(ge=0, le=2)]

    def draw_s(self, rng: np.random.Generator) -> float:
        """Return one duration in seconds."""
        return float(self.median_s * np.exp(self.spread * rng.standard_normal()))


class Persona(Table):
    """A scripted description of the care recipient.

    Attributes:
        text: Who this is, in a sentence.
        author_role: Who wrote it.
        status: ``draft-unsigned`` until a stakeholder signs.
        times: Random durations by name.
        numbers: Other traits by name.
        says: Sentences by occasion; one is drawn each time.
    """

    text: str
    author_role: str
    status: str
    times: dict[str, Spread]
    numbers: dict[str, float]
    says: dict[str, tuple[str, ...]]

    def sentence(self, occasion: str, rng: np.random.Generator) -> str:
        """Return one of the sentences for an occasion."""
        options = self.says[occasion]
        return options[int(rng.integers(len(options)))]


def load_persona(path: Path) -> Persona:
    """Return the validated persona.

    Raises:
        ConfigError: With every mistake in the file, each naming its key.
    """
    return load_validated(path, Persona)
