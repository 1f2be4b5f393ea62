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
from rig.kinematics import Kinematics, Pose

BED_TICK_NS = 100_000_000
TURN_DEG = 30.0  # the usual side tilt; less leaves the sacrum loaded
FLAT_FOR_TURN_DEG = 30.0
TAKE_WAIT_S = 3.0

# Speed limits of the spoon tip by distance to the lips: (nearer than, metres per second).
# Slow follows the design equation of a braced head: a 1 N trip with 8 ms reaction stays under 10 N
# on the lips up to about 10 mm/s; outside 100 mm the reduced manual speed of robots, 250 mm/s.
Profile = tuple[tuple[float, float], ...]
PROFILES: Mapping[str, Profile] = {
    "slow": ((0.022, 0.008), (0.110, 0.040), (np.inf, 0.200)),
    "normal": ((0.022, 0.030), (0.110, 0.050), (np.inf, 0.250)),
    "fast": ((0.022, 0.120), (0.110, 0.180), (np.inf, 0.250)),
}
INTO_MOUTH: Profile = ((np.inf, 0.010),)
OUT_OF_MOUTH: Profile = ((0.022, 0.020), (np.inf, 0.050))


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
    action: Action, setpoints: FloatArray, snapshot: Snapshot, bench: BenchSpec, arm: Kinematics
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


def withdraw(setpoints: FloatArray, bench: BenchSpec, arm: Kinematics) -> Skill:
    """Go straight back from the mouth: 20 mm/s until clear of it, then faster."""
    return Skill(
        (_path(setpoints, "near_mouth", OUT_OF_MOUTH, bench, arm),), retreats=True
    )


def park(setpoints: FloatArray, bench: BenchSpec, arm: Kinematics) -> Skill:
    """Go to the rest place by way of the place before the mouth."""
    back = _path(setpoints, "near_mouth", PROFILES["slow"], bench, arm)
    away = _path(back.rows[-1], "rest", PROFILES["normal"], bench, arm)
    return Skill((back, away), retreats=True)


def _path(
    setpoints: FloatArray, place: str, profile: Profile, bench: BenchSpec, arm: Kinematics,
    guards: tuple[Guard, ...] = (),
) -> Phase:  # fmt: skip
    """Return a straight way to a named place, in legs that keep the profile's speed limits."""
    n = len(arm.rest)
    start, target, lips = arm.pose(setpoints[:n]), arm.place(place), arm.place("lips")
    legs, joints = [], setpoints[:n]
    for share, speed_m_s in _legs(start.position, target.position, lips.position, profile):
        # The last leg turns the spoon into its final direction; earlier ones turn in proportion.
        approach = (1.0 - share) * start.approach + share * target.approach
        pose = Pose(start.position + share * (target.position - start.position), approach / np.linalg.norm(approach))
        legs.append(arm.path(joints, pose, speed_m_s=speed_m_s, period_s=bench.tick_ns / 1e9))
        joints = legs[-1][-1]
    rows = np.repeat(setpoints[None, :], sum(map(len, legs)), axis=0)
    rows[:, :n] = np.concatenate(legs)
    return Phase(rows, bench.tick_ns, guards)


def _legs(start: FloatArray, target: FloatArray, lips: FloatArray, profile: Profile) -> list[tuple[float, float]]:
    """Cut a straight line where its distance to the lips passes a bound of the profile.

    Returns:
        The end of each leg as a share of the line, and the speed limit on it (m/s).
    """
    shares = np.linspace(0.0, 1.0, 201)
    distance_m = np.linalg.norm(start + shares[:, None] * (target - start) - lips, axis=1)
    bounds = np.array([bound for bound, _ in profile])
    zone = np.searchsorted(bounds, distance_m)
    ends = [int(k) for k in np.flatnonzero(np.diff(zone)) + 1] + [len(shares) - 1]
    begins = [0, *ends[:-1]]
    return [
        (float(shares[end]), min(profile[int(z)][1] for z in zone[begin:end]))
        for begin, end in zip(begins, ends, strict=True)
        if end > begin
    ]


def _move(action: MoveTo, setpoints: FloatArray, bench: BenchSpec, arm: Kinematics) -> Skill:
    guards = () if action.guard_n is None else (Guard("wrist.force", above=action.guard_n),)
    towards = action.target in ("near_mouth", "lips")
    path = _path(setpoints, action.target, PROFILES[action.speed], bench, arm, guards)
    return Skill((path,), {"intent.mouth": float(towards)}, retreats=action.target == "rest")


def _scoop(setpoints: FloatArray, bench: BenchSpec, arm: Kinematics) -> Skill:
    down = _path(setpoints, "bowl", PROFILES["normal"], bench, arm)
    still = Phase(np.repeat(down.rows[-1:], 300, axis=0), bench.tick_ns)
    up = _path(down.rows[-1], "rest", PROFILES["normal"], bench, arm)
    return Skill((down, still, up))


def _transfer(setpoints: FloatArray, snapshot: Snapshot, bench: BenchSpec, arm: Kinematics) -> Skill:
    into = _path(setpoints, "inside", INTO_MOUTH, bench, arm, (Guard("wrist.force", above=2.0),))
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
