"""Skills: what an action means in setpoints, one phase after another.

Pure: a skill sees setpoints and readings and returns phases; it moves nothing. A phase is rows of
setpoints with the skill's own guards; the rig runs phase after phase until one is cut short.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Snapshot
from rig.core.command import actuator_index
from rig.core.tools import Act, Action, MoveTo, SetBed
from rig.core.watch import Guard
from rig.kinematics import Arm

BED_TICK_NS = 100_000_000
TURN_DEG = 25.0
FLAT_FOR_TURN_DEG = 30.0
TAKE_WAIT_S = 3.0

# Speed limits of the spoon tip by distance to the lips: (nearer than, metres per second).
# Slow follows the design equation of a braced head: a 1 N trip with 8 ms reaction stays under 10 N
# on the lips up to about 10 mm/s; outside 100 mm the reduced manual speed of robots, 250 mm/s.
PROFILES: Mapping[str, tuple[tuple[float, float], ...]] = {
    "slow": ((0.022, 0.008), (0.110, 0.040), (np.inf, 0.200)),
    "normal": ((0.022, 0.030), (0.110, 0.080), (np.inf, 0.250)),
    "fast": ((0.022, 0.120), (0.110, 0.180), (np.inf, 0.250)),
}


@dataclass(frozen=True, slots=True)
class Phase:
    """Consecutive rows of setpoints for every actuator.

    Attributes:
        rows: Shape (n, a).
        period_ns: Time between rows.
        guards: Any of them ends the skill.
        until: Any of them ends only this phase, as intended.
    """

    rows: FloatArray
    period_ns: int
    guards: tuple[Guard, ...] = ()
    until: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """Phases, and what the rules are told of the intent before and while they run."""

    phases: tuple[Phase, ...]
    intents: Mapping[str, float] = field(default_factory=dict)
    retreats: bool = False  # leads away from the person: allowed while the interlock holds


def skill_for(
    action: Action, setpoints: FloatArray, snapshot: Snapshot, bench: BenchSpec, arm: Arm
) -> Skill | None:
    """Return the skill of an action, or None for an action that moves nothing."""
    match action:
        case MoveTo():
            return _move(action, setpoints, bench, arm)
        case Act(skill="scoop"):
            return _scoop(setpoints, bench, arm)
        case Act(skill="transfer"):
            return _transfer(setpoints, snapshot, bench, arm)
        case Act(skill="withdraw"):
            return withdraw(setpoints, bench, arm)
        case Act(skill="wipe"):
            return None
        case Act():
            return _turn(action.skill, setpoints, bench)
        case SetBed():
            return _set_bed(f"bed.{action.part}", action.value, setpoints, bench)
        case _:
            return None


def withdraw(setpoints: FloatArray, bench: BenchSpec, arm: Arm) -> Skill:
    """Go straight back from the mouth: 20 mm/s until clear of it, then faster."""
    return Skill(
        (_path(setpoints, "near_mouth", ((0.02, 0.020), (np.inf, 0.080)), bench, arm),), retreats=True
    )


def park(setpoints: FloatArray, bench: BenchSpec, arm: Arm) -> Skill:
    """Go to the rest place by way of the place before the mouth."""
    back = _path(setpoints, "near_mouth", PROFILES["slow"], bench, arm)
    away = _path(back.rows[-1], "rest", PROFILES["normal"], bench, arm)
    return Skill((back, away), retreats=True)


def _path(
    setpoints: FloatArray, place: str, profile: tuple[tuple[float, float], ...], bench: BenchSpec, arm: Arm,
    guards: tuple[Guard, ...] = (),
) -> Phase:  # fmt: skip
    joints = arm.path(setpoints[: arm.joints], place, profile, bench.tick_ns)
    rows = np.repeat(setpoints[None, :], len(joints), axis=0)
    rows[:, : arm.joints] = joints
    return Phase(rows, bench.tick_ns, guards)


def _move(action: MoveTo, setpoints: FloatArray, bench: BenchSpec, arm: Arm) -> Skill:
    guards = () if action.guard_n is None else (Guard("wrist.force", above=action.guard_n),)
    towards = action.target in ("near_mouth", "lips")
    path = _path(setpoints, action.target, PROFILES[action.speed], bench, arm, guards)
    return Skill((path,), {"intent.mouth": float(towards)}, retreats=action.target == "rest")


def _scoop(setpoints: FloatArray, bench: BenchSpec, arm: Arm) -> Skill:
    down = _path(setpoints, "bowl", PROFILES["normal"], bench, arm)
    still = Phase(np.repeat(down.rows[-1:], 300, axis=0), bench.tick_ns)
    up = _path(down.rows[-1], "rest", PROFILES["normal"], bench, arm)
    return Skill((down, still, up))


def _transfer(setpoints: FloatArray, snapshot: Snapshot, bench: BenchSpec, arm: Arm) -> Skill:
    into = _path(setpoints, "in_mouth", ((np.inf, 0.025),), bench, arm, (Guard("wrist.force", above=2.0),))
    waits = round(TAKE_WAIT_S * 1e9 / bench.tick_ns)
    taken = (Guard("camera.takes", above=snapshot.value("camera.takes") + 0.5),)
    wait = Phase(
        np.repeat(into.rows[-1:], waits, axis=0), bench.tick_ns, (Guard("wrist.force", above=4.0),), taken
    )
    return Skill((into, wait), {"intent.mouth": 1.0})


def _ramp(setpoints: FloatArray, name: str, value: float, bench: BenchSpec) -> Phase:
    i = actuator_index(bench.actuators, name)
    step = bench.actuators[i].rate * BED_TICK_NS / 1e9
    n = max(1, int(np.ceil(abs(value - setpoints[i]) / step)))
    rows = np.repeat(setpoints[None, :], n, axis=0)
    rows[:, i] = np.linspace(setpoints[i], value, n + 1)[1:]
    return Phase(rows, BED_TICK_NS)


def _set_bed(name: str, value: float, setpoints: FloatArray, bench: BenchSpec) -> Skill:
    intents = {"intent.bed": 1.0}
    if name in ("bed.back", "bed.rails"):
        intents[f"intent.{name.removeprefix('bed.')}"] = value
    return Skill((_ramp(setpoints, name, value, bench),), intents)


def _turn(skill: str, setpoints: FloatArray, bench: BenchSpec) -> Skill:
    """Lower the back-rest if it is high, then tilt the mattress."""
    back = setpoints[actuator_index(bench.actuators, "bed.back")]
    tilt = {"turn_left": -TURN_DEG, "turn_right": TURN_DEG, "turn_back": 0.0}[skill]
    intents = {"intent.bed": 1.0, "intent.tilt": tilt}
    phases = []
    if skill != "turn_back" and back > FLAT_FOR_TURN_DEG:
        phases.append(_ramp(setpoints, "bed.back", FLAT_FOR_TURN_DEG, bench))
        intents["intent.back"] = FLAT_FOR_TURN_DEG
    start = phases[-1].rows[-1] if phases else setpoints
    return Skill((*phases, _ramp(start, "bed.tilt", tilt, bench)), intents)
