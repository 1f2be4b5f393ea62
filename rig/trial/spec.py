"""Which trial: everything that identifies it, and the digest of everything it depends on."""

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from rig.core.bench import BenchSpec
from rig.core.errors import UsageError
from rig.core.event import Json
from rig.trial.think import parse_think
from tasks.suite import Item

MAX_SEED = 2**63 - 1
PER_TRIAL = ("task", "monitor", "rules")
"""Parts of a configuration that differ between trials of one agent that may be fitted together."""

_PACKAGES = ("rig", "tasks", "safety_monitor", "firmware_bridge")
_ENGINES = ("mujoco", "numba", "llvmlite", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """One execution of one item by one agent.

    Attributes:
        item: ``task/length/scenario``.
        agent: Name of the agent.
        bench: Name of the bench.
        monitor: ``shadow`` or ``guard``.
        seed: Seeds the person, the sensors and the agent; the same in both monitor modes.
        repeat: Number of this repetition under the same seed.
        think: What thinking costs: ``charged``, ``paused``, ``realtime``, or a duration for every decision.
    """

    item: str
    agent: str
    bench: str
    monitor: str
    seed: int
    repeat: int = 0
    think: str = "charged"

    def __post_init__(self) -> None:
        parse_think(self.think)
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(f"seed {self.seed}: give a whole number from 0 to {MAX_SEED}")
        if self.monitor not in ("shadow", "guard"):
            raise UsageError(f"monitor {self.monitor!r}: give shadow or guard")

    def key(self, configuration: str) -> dict[str, Json]:
        """Return the trial key: what makes this trial this trial."""
        return {**asdict(self), "configuration": configuration}


def configuration(
    item: Item, spec: TrialSpec, bench: BenchSpec, rules: str, described: Mapping[str, Json]
) -> dict[str, Json]:
    """Return everything whose change makes old evidence not comparable, as digests and versions.

    Args:
        item: The item; its task's files are digested.
        spec: The trial.
        bench: The bench.
        rules: Digest of the monitor's rules and limits.
        described: What there is to the agent beside its name: model, settings, prompt.
    """
    return {
        "task": {**item.task.digests()},
        "agent": spec.agent,
        **({"model": dict(described)} if described else {}),
        "think": spec.think,
        "bench": bench.digest,
        "layout": bench.layout.digest(),
        "monitor": spec.monitor,
        "rules": rules,
        "code": code_digest(),
        "engines": {name: version(name) for name in _ENGINES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def digest(value: object) -> str:
    """Return the SHA-256 of a JSON value with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a digest over every source and data file that can change what a trial does."""
    root = Path(__file__).parents[2]
    total = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".toml", ".xml"):
                total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def trial_folder(out: Path, spec: TrialSpec) -> Path:
    """Return the folder of a trial's record under ``out``, readable and unique."""
    agent = re.sub(r"[^a-z0-9.]+", "-", spec.agent.lower()).strip("-")
    name = f"{agent}-{spec.monitor}-seed{spec.seed}" + (f"-repeat{spec.repeat}" if spec.repeat else "")
    if spec.think != "charged":
        name += "-think-" + spec.think.replace(" ", "")
    return out / spec.item.replace("/", "_") / name
