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

from firmware_bridge.build import build_number
from firmware_bridge.messages import FINGERPRINT
from rig.core.bench import BenchSpec
from rig.core.configuration import FIELDS
from rig.core.data import hardware_file
from rig.core.errors import UsageError
from rig.core.event import Json
from rig.core.tools import TOOLS
from rig.trial.think import parse_think
from safety_monitor.limits import envelope_file, limit_files
from safety_monitor.rules import rule_files
from tasks.suite import Item

MAX_SEED = 2**63 - 1
FITTED, RENDERED = "fitted", "rendered"

_PACKAGES = ("rig", "tasks", "safety_monitor", "firmware_bridge")
_ENGINES = ("mujoco", "numba", "llvmlite", "numpy")
_NO = "none: a scripted agent has no"


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
        cameras: Where what is read off cameras comes from on a simulated bench: ``fitted``, the sensor model that
            was fitted from drawn frames, or ``rendered``, the frames themselves.
    """

    item: str
    agent: str
    bench: str
    monitor: str
    seed: int
    repeat: int = 0
    think: str = "charged"
    cameras: str = FITTED

    def __post_init__(self) -> None:
        parse_think(self.think)
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(f"seed {self.seed}: give a whole number from 0 to {MAX_SEED}")
        if self.monitor not in ("shadow", "guard"):
            raise UsageError(f"monitor {self.monitor!r}: give shadow or guard")
        if self.cameras not in (FITTED, RENDERED):
            raise UsageError(f"cameras {self.cameras!r}: give {FITTED} or {RENDERED}")

    def key(self, configuration: str) -> dict[str, Json]:
        """Return the trial key: what makes this trial this trial."""
        key = asdict(self)
        if self.cameras == FITTED:
            del key["cameras"]
        return {**key, "configuration": configuration}


@dataclass(frozen=True, slots=True)
class Ticket:
    """A trial's place in a campaign; the record's manifest states it among the wall-clock facts.

    Attributes:
        trial_id: What the trial must turn out to be; under a changed configuration it is another trial.
        campaign: Name of the campaign.
        registration: Id of its registration, empty if it is exploratory.
    """

    trial_id: str
    campaign: str
    registration: str


def configuration(
    item: Item, spec: TrialSpec, bench: BenchSpec, rules: str, described: Mapping[str, Json]
) -> dict[str, Json]:
    """Return everything whose change makes old evidence not comparable: the fields of `FIELDS`, files by digest.

    Args:
        item: The item; its task's files are digested.
        spec: The trial.
        bench: The bench.
        rules: Digest of what the monitor's rules and limits mean.
        described: What there is to the agent beside its name. What is named as a field (``sampling``,
            ``prompts``, ``memory``, ...) becomes that field, everything else is its ``model``.
    """
    task, file = item.task, item.task.file
    no_hardware = f"none: the bench is {bench.embodiment}"
    files = task.digests()
    facts: dict[str, Json] = {
        "agent": spec.agent,
        **{name: f"{_NO} {name}" for name in ("model", "sampling", "prompts", "memory", "retrieval")},
        "topology": {"agents": 1, "residents": 1, "robots": 1},
        "tool_schema": digest({name: TOOLS[name].model_json_schema() for name in sorted(file.tools)}),
        "permissions": {"tools": list(file.tools), "sees": list(file.observes)},
        "instructions": {"goal": file.goal, "notes": [*file.notes, *item.scenario.notes]},
        "task": files.pop("task.toml"),
        "rubric": files.pop("rubric.toml"),
        "persona": {**files},
        "staffing": "a scripted carer answers calls; when and how long is in the persona and the code",
        "monitor": spec.monitor,
        "rules": {"meaning": rules, **{path.name: _file_digest(path) for path in rule_files(task.name)}},
        "limits": {path.name: _file_digest(path) for path in (*limit_files(), envelope_file(bench.base))},
        "policy": {
            "thinking": spec.think,
            "retries": 0,
            **({"cameras": RENDERED} if spec.cameras == RENDERED else {}),
        },
        "fallback": "hold-safe of the rig, responses of the rules; both in the code",
        "bench": {"name": bench.name, "embodiment": bench.embodiment, "file": bench.digest},
        "layout": bench.layout.digest(),
        "scene": _file_digest(hardware_file("scenes", bench.scene))
        if bench.scene
        else "none: no simulated plant",
        "firmware": _firmware(bench) or no_hardware,
        "calibration": _calibration(bench) or no_hardware,
        "wear": no_hardware,
        **program(),
    }
    rest = {name: value for name, value in described.items() if name not in FIELDS}
    named = {name: value for name, value in described.items() if name in FIELDS}
    return {**facts, **({"model": rest} if rest else {}), **named}


def _firmware(bench: BenchSpec) -> dict[str, Json]:
    """Return what each node must say it is; a link with one that says otherwise never opens."""
    return {
        device.name: {"build": f"{build_number():08x}", "description": f"{FINGERPRINT:08x}"}
        for device in bench.devices
        if device.driver == "node"
    }


def _calibration(bench: BenchSpec) -> dict[str, Json]:
    """Return every calibration the bench file states, and the bytes of every camera's lens and place."""
    stated: dict[str, Json] = {
        c.channel: {"gain": c.gain, "offset": c.offset, "expires": c.expires.isoformat(), "sha256": c.sha256}
        for c in bench.calibrations
    }
    for camera in bench.cameras:
        for name, file in ((camera.name, camera.calibration), (f"{camera.name}.place", camera.place)):
            if file:
                stated[name] = _file_digest(Path(file)) if Path(file).is_file() else "there is no such file"
    return stated


def digest(value: object) -> str:
    """Return the SHA-256 of a JSON value with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def program() -> Mapping[str, Json]:
    """Return what this process computes trials with: every source and data file, lock, libraries, interpreter."""
    root = Path(__file__).parents[2]
    code: dict[str, Json] = {
        str(path.relative_to(root)): _file_digest(path)
        for package in _PACKAGES
        for path in sorted((root / package).rglob("*"))
        if path.suffix in (".py", ".toml", ".xml")
    }
    locks = sorted((root / ".ci").glob("*.lock"))
    return {
        "code": code,
        "lock": {path.name: _file_digest(path) for path in locks} if locks else "none: not in a checkout",
        "engines": {name: version(name) for name in _ENGINES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def trial_folder(out: Path, spec: TrialSpec) -> Path:
    """Return the folder of a trial's record under ``out``, readable and unique."""
    agent = re.sub(r"[^a-z0-9.]+", "-", spec.agent.lower()).strip("-")
    name = f"{agent}-{spec.monitor}-seed{spec.seed}" + (f"-repeat{spec.repeat}" if spec.repeat else "")
    if spec.think != "charged":
        name += "-think-" + spec.think.replace(" ", "")
    if spec.cameras == RENDERED:
        name += "-rendered"
    return out / spec.item.replace("/", "_") / name
