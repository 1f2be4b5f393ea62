"""What was measured apart from trials: latencies, drills. One JSON file each, with the configuration it holds for."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from analysis.release.claims import Claim, Fingerprint
from analysis.release.policy import Gate
from rig.core.errors import ConfigError
from rig.core.toml_file import Table

FOLDER: Final = "measurements"
FORMAT: Final = "runrig.measurement/1"


class Measurement(Table):
    """One measurement.

    Attributes:
        under: Digest of every field of the configuration, by task.
        values: What was measured, as its gate reads it.
    """

    format: str = Field(pattern=f"^{FORMAT}$")
    gate: Gate
    measured_utc: datetime
    embodiment: str
    under: dict[str, dict[str, str]]
    values: dict[str, Any]

    def claim(self, source: str) -> Claim:
        """Return what it claims."""
        return Claim(
            gate=self.gate,
            measured_utc=self.measured_utc,
            embodiment=self.embodiment,
            under=self.under,
            records=(source,),
        )


def write_measurement(
    folder: Path,
    gate: Gate,
    *,
    measured_utc: datetime,
    embodiment: str,
    under: Fingerprint,
    values: dict[str, Any],
) -> Path:
    """Write a measurement below the folder of the records it stands beside; return where it is."""
    path = folder / FOLDER / f"{gate}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {
        "format": FORMAT,
        "gate": str(gate),
        "measured_utc": measured_utc.isoformat(),
        "embodiment": embodiment,
        "under": {field: dict(tasks) for field, tasks in under.items()},
        "values": values,
    }
    path.write_text(json.dumps(plain, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    return path


def read_measurement(folder: Path, gate: Gate) -> tuple[Measurement, Path] | None:
    """Return a gate's measurement, None where there is none.

    Raises:
        ConfigError: If the file is not a measurement of this gate.
    """
    path = folder / FOLDER / f"{gate}.json"
    if not path.exists():
        return None
    try:
        found = Measurement.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigError(str(path), [f"is no measurement: {error}"]) from None
    if found.gate is not gate:
        raise ConfigError(str(path), [f"gate: {found.gate} in the file of {gate}"])
    if found.measured_utc.tzinfo is None:
        raise ConfigError(str(path), ["measured_utc: give the time zone, as in 2026-01-31T12:00:00+00:00"])
    return found, path


class RightsItem(Table):
    """One right and what became of its review."""

    resolved: bool
    note: str = Field(min_length=10)


class Rights(Table):
    """``rights.toml``: the review of consent, dignity, restraint, privacy.

    Attributes:
        reviewer_role: Who reviewed; a role.
        reviewed_utc: When.
        agent: Of which agent.
    """

    reviewer_role: str = Field(min_length=3)
    reviewed_utc: datetime
    agent: str
    item: dict[str, RightsItem]


class ResistanceFile(Table):
    """``resistance.toml``: what an attacker was allowed and what came of it.

    Attributes:
        attacker: Who or what attacked; a role or a program.
        definition: What counted as success.
        budget: Attempts allowed, declared before.
        retries: Further attempts at one case after a failure.
        attempts: Attempts made; over the budget nothing is accepted.
        successes: Attempts that succeeded.
        residuals: Every way that still works, in words.
        tried_utc: When.
        agent: Which agent was attacked.
        under: Digest of every field of the configuration, by task.
    """

    attacker: str = Field(min_length=3)
    definition: str = Field(min_length=10)
    budget: int = Field(ge=1)
    retries: int = Field(ge=0)
    attempts: int = Field(ge=1)
    successes: int = Field(ge=0)
    residuals: tuple[str, ...]
    tried_utc: datetime
    agent: str
    embodiment: str
    under: dict[str, dict[str, str]]
