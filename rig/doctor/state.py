"""What examinations leave behind for each bench: measured latency, proofs of the day, permits.

They lie in ``$RUNRIG_STATE``, else in ``$XDG_STATE_HOME/runrig`` (``~/.local/state/runrig``): one folder for
each bench. They describe this machine with this bench, so they are no part of the project's data.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from rig.core.clock import wall_utc
from rig.core.errors import ConfigError, UsageError


def state_folder(bench: str) -> Path:
    """Return the bench's folder, made if it was not there.

    Raises:
        UsageError: If it cannot be made.
    """
    default = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "runrig"
    folder = Path(os.environ.get("RUNRIG_STATE", default)) / bench
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}); set RUNRIG_STATE") from None
    return folder


def save(path: Path, value: object) -> None:
    """Write a value as JSON, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")
    part.replace(path)


def load(path: Path) -> dict[str, object] | None:
    """Return what was saved, None when nothing was.

    Raises:
        ConfigError: If the file cannot be read back.
    """
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(str(path), [f"cannot be read ({error}); delete it and examine again"]) from None
    if not isinstance(found, dict):
        raise ConfigError(str(path), ["is not an object; delete it and examine again"])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """From a signal on a sensor to a standing actuator, measured on the bench, in seconds.

    Attributes:
        bench_digest: Of the bench file it was measured with.
        measured_utc: When.
        repeats: Number of stops measured.
        sense_s: From the world to the sample that shows it, worst.
        command_s: From that sample to the stop at the actuator, worst.
        standstill_s: From the stop at the actuator to standstill, worst.
    """

    bench_digest: str
    measured_utc: str
    repeats: int
    sense_s: float
    command_s: float
    standstill_s: float

    @property
    def total_s(self) -> float:
        """From the world to standstill."""
        return self.sense_s + self.command_s + self.standstill_s


def latency_file(bench: str) -> Path:
    """Return the bench's latency file."""
    return state_folder(bench) / "latency.json"


def save_latency(bench: str, latency: Latency) -> Path:
    """Write the bench's latency file; returns where it is."""
    path = latency_file(bench)
    save(path, {**asdict(latency), "total_s": latency.total_s})
    return path


def load_latency(bench: str) -> Latency | None:
    """Return the bench's measured latency, None when it was never measured.

    Raises:
        ConfigError: If the file is not one of ours.
    """
    found = load(latency_file(bench))
    if found is None:
        return None
    found.pop("total_s", None)
    try:
        return Latency(**found)  # type: ignore[arg-type]  # checked by what follows
    except TypeError as error:
        raise ConfigError(str(latency_file(bench)), [f"{error}; delete it and examine again"]) from None


def note_proof(bench: str, what: str, detail: str) -> None:
    """Remember that something was proven today."""
    path = state_folder(bench) / "proofs.json"
    save(
        path,
        {**(load(path) or {}), what: {"utc": wall_utc().isoformat(timespec="seconds"), "detail": detail}},
    )


def proof_of_today(bench: str, what: str) -> str | None:
    """Return the detail of today's proof (UTC), None when there is none."""
    entry = (load(state_folder(bench) / "proofs.json") or {}).get(what)
    if not isinstance(entry, dict) or not str(entry.get("utc", "")).startswith(wall_utc().date().isoformat()):
        return None
    return f"{entry.get('detail', '')} at {entry['utc']}"
