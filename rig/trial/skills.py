"""Skills: what an action means in setpoints, one phase after another.

Pure: a skill sees setpoints and readings and returns phases; it moves nothing.
"""

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Snapshot
from rig.core.command import actuator_index
from rig.core.tools import Act, Action, MoveTo, SetBed
from rig.core.watch import Guard
from rig.kinematics import Kinematics, Pose
from rig.trial.phases import ALL, BED_TICK_NS, Here, Phase, Skill
from rig.trial.profiles import Profile, profiles

MOTOR_PAUSE_TICKS = 10
TURN_DEG = 30.0  # the usual side tilt; less leaves the sacrum loaded
FLAT_FOR_TURN_DEG = 30.0
TAKE_WAIT_S = 3.0
SCOOP_TICKS = 300
UNGUARDED_N = 50.0
CLEAR_SLACK_M = 0.002


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, or None for an action that moves nothing.

    Raises:
        UsageError: If the arm cannot reach the place.
    """
    match action:
        case MoveTo():
            return _move(action, here)
        case Act(skill="scoop"):
            return _scoop(here)
        case Act(skill="transfer"):
            return _transfer(action, here, snapshot)
        case Act(skill="withdraw"):
            return withdraw(here)
        case Act():
            return _turn(action.skill, here)
        case SetBed():
            return _set_bed(f"bed.{action.part}", action.value, here)
        case _:
            return None


def here_of(setpoints: FloatArray, snapshot: Snapshot, bench: BenchSpec, arm: Kinematics | None) -> Here:
    """Return where everything stands."""
    return Here(setpoints, _yaw(snapshot), bench, arm)


def _yaw(snapshot: Snapshot) -> float:
    """Return the face's turn as last seen; straight ahead when it cannot be seen, or there is none."""
    if "face.yaw" not in snapshot.layout:
        return 0.0
    yaw_deg = snapshot.value("face.yaw")
    return 0.0 if np.isnan(yaw_deg) else yaw_deg


def from_lips_m(here: Here) -> float:
    """Return the distance of the spoon tip from the lips, by the joints and the face as last seen."""
    lips = here.arm.place("lips", here.yaw_deg).position
    return float(np.linalg.norm(here.arm.pose(here.joints).position - lips))


def withdraw(here: Here) -> Skill:
    """Go straight back from the mouth, slowly until clear of it; nowhere if it is already clear."""
    lips, clear = (here.arm.place(name, here.yaw_deg).position for name in ("lips", "near_mouth"))
    if from_lips_m(here) >= np.linalg.norm(clear - lips) - CLEAR_SLACK_M:
        return Skill((), retreats=True)
    return Skill((_path(here, "near_mouth", profiles()["out_of_mouth"]),), retreats=True)


def park(here: Here) -> Skill:
    """Go to the rest place by way of the place before the mouth."""
    back = withdraw(here).phases
    return Skill((*back, _path(here.after(back), "rest", profiles()["normal"])), retreats=True)


def _path(here: Here, place: str, profile: Profile, guards: tuple[Guard, ...] = ()) -> Phase:
    """Return a straight way to a named place, in legs that keep the profile's speed limits."""
    arm, joints = here.arm, here.joints
    start, target, lips = arm.pose(joints), arm.place(place, here.yaw_deg), arm.place("lips", here.yaw_deg)
    legs = []
    for share, speed_m_s in _legs(start.position, target.position, lips.position, profile):
        # The spoon turns into its final direction in proportion to the way.
        approach = (1.0 - share) * start.approach + share * target.approach
        pose = Pose(
            start.position + share * (target.position - start.position), approach / np.linalg.norm(approach)
        )
        legs.append(arm.path(joints, pose, speed_m_s=speed_m_s, period_s=here.bench.tick_ns / 1e9))
        joints = legs[-1][-1]
    rows = np.repeat(here.setpoints[None, :], sum(map(len, legs)), axis=0)
    rows[:, : len(joints)] = np.concatenate(legs)
    return Phase(rows, here.bench.tick_ns, guards)


def _legs(
    start: FloatArray, target: FloatArray, lips: FloatArray, profile: Profile
) -> list[tuple[float, float]]:
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


def _move(action: MoveTo, here: Here) -> Skill:
    guards = () if action.guard_n is None else (Guard("wrist.force", above=action.guard_n),)
    towards = action.target in ("near_mouth", "lips")
    path = _path(here, action.target, profiles()[action.speed], guards)
    intents = {"intent.mouth": 1.0, "intent.push": _push_n(action.guard_n)} if towards else {}
    return Skill((path,), intents, retreats=action.target == "rest")


def _scoop(here: Here) -> Skill:
    down = _path(here, "bowl", profiles()["normal"])
    still = Phase(np.repeat(down.rows[-1:], SCOOP_TICKS, axis=0), here.bench.tick_ns)
    up = _path(here.after([down]), "rest", profiles()["normal"])
    return Skill((down, still, up))


def _transfer(action: Act, here: Here, snapshot: Snapshot) -> Skill:
    guards = () if action.guard_n is None else (Guard("wrist.force", above=action.guard_n),)
    into = _path(here, "inside", profiles()["into_mouth"], guards)
    waits = round(TAKE_WAIT_S * 1e9 / here.bench.tick_ns)
    taken = (Guard("camera.takes", above=snapshot.value("camera.takes") + 0.5),)
    wait = Phase(np.repeat(into.rows[-1:], waits, axis=0), here.bench.tick_ns, until=taken)
    return Skill((into, wait), {"intent.mouth": 1.0, "intent.push": _push_n(action.guard_n)})


def _push_n(guard_n: float | None) -> float:
    return UNGUARDED_N if guard_n is None else guard_n


def _ramp(here: Here, name: str, value: float) -> Phase:
    i = actuator_index(here.bench.actuators, name)
    step = here.bench.actuators[i].rate * BED_TICK_NS / 1e9
    n = max(1, int(np.ceil(abs(value - here.setpoints[i]) / step)))
    rows = np.repeat(here.setpoints[None, :], n, axis=0)
    rows[:, i] = np.linspace(here.setpoints[i], value, n + 1)[1:]
    return Phase(rows, BED_TICK_NS)


def _set_bed(name: str, value: float, here: Here) -> Skill:
    intents = {"intent.bed": 1.0}
    if name in ("bed.back", "bed.rails"):
        intents[f"intent.{name.removeprefix('bed.')}"] = value
    return Skill((_ramp(here, name, value),), intents, undo=ALL)


def _turn(skill: str, here: Here) -> Skill:
    """Lower the back-rest if it is high, then tilt the mattress."""
    back_deg = here.setpoints[actuator_index(here.bench.actuators, "bed.back")]
    tilt_deg = {"turn_left": -TURN_DEG, "turn_right": TURN_DEG, "turn_back": 0.0}[skill]
    intents = {"intent.bed": 1.0, "intent.tilt": tilt_deg}
    lowering: list[Phase] = []
    if skill != "turn_back" and back_deg > FLAT_FOR_TURN_DEG:
        ramp = _ramp(here, "bed.back", FLAT_FOR_TURN_DEG)
        # One motor at a time: the current of two together would look like a limb in the frame.
        lowering = [ramp, Phase(np.repeat(ramp.rows[-1:], MOTOR_PAUSE_TICKS, axis=0), BED_TICK_NS)]
        intents["intent.back"] = FLAT_FOR_TURN_DEG
    return Skill((*lowering, _ramp(here.after(lowering), "bed.tilt", tilt_deg)), intents, undo=ALL)
