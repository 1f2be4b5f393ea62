"""The configuration that would be released: what is installed now, or what a file says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from analysis.release.evidence import Evidence, Seen
from rig.core.errors import ConfigError, UsageError
from rig.core.event import Json
from rig.trial.run import configured
from rig.trial.spec import TrialSpec

FORMAT: Final = "runrig.candidate/1"
Configurations = Mapping[str, Mapping[str, Json]]
"""The whole configuration of each task."""


def evaluated(evidence: Evidence) -> Configurations:
    """Return the configuration of the guarded records, by task: what was evaluated."""
    return {one.facts.task: one.configuration for one in evidence.of_mode("guard")}


def installed(evidence: Evidence) -> Configurations:
    """Return the configuration a trial of each task in the evidence would be run under now.

    Raises:
        UsageError: If a task, the agent or the bench is not here any more; give --candidate then.
    """
    found: dict[str, Mapping[str, Json]] = {}
    for one in evidence.of_mode("guard"):
        if one.facts.task not in found:
            found[one.facts.task] = configured(_spec(one))
    return found


def _spec(one: Seen) -> TrialSpec:
    key = one.facts.key
    return TrialSpec(
        item=key.item, agent=key.agent, bench=key.bench, monitor=key.monitor, seed=key.seed, think=key.think,
        cameras=key.cameras,
    )  # fmt: skip


def read_candidate(path: Path) -> Configurations:
    """Return the configurations of a candidate file.

    Raises:
        UsageError: If there is no such file.
        ConfigError: If it is not a candidate file.
    """
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{path}: no such candidate file") from None
    except (OSError, ValueError) as error:
        raise ConfigError(str(path), [f"is not JSON: {error}"]) from None
    match found:
        case {"format": "runrig.candidate/1", "tasks": dict(tasks)} if all(
            isinstance(v, dict) for v in tasks.values()
        ):
            return tasks
        case _:
            raise ConfigError(str(path), [f"is no candidate: needs format {FORMAT!r} and tasks"])


def write_candidate(path: Path, configurations: Configurations) -> None:
    """Write a candidate file."""
    plain = {"format": FORMAT, "tasks": {task: dict(c) for task, c in configurations.items()}}
    path.write_text(json.dumps(plain, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
