"""Skills: what an action means in setpoints, one phase after another.

Pure: a skill sees setpoints and readings and returns phases; it moves nothing. Here is what every
piece of equipment shares; what each can do is in `rig.trial.equipment`.
"""

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Snapshot
from rig.core.command import actuator_index
from rig.core.watch import Guard
from rig.kinematics import Kinematics, Pose, Posture
from rig.trial.phases import BED_TICK_NS, Here, Phase, Skill, joint_columns
from rig.trial.profiles import Profile, profiles

UNGUARDED_N = 50.0
CLEAR_SLACK_M = 0.002

HELD_OUT = "hand.reach"
"""Actuator of a bench without an arm that reaches out to the person."""

SEEN_ON = {"head.yaw": "face.yaw"}
"""Channels on which a camera shows a joint of the person, where it is not called like the joint."""


def here_of(setpoints: FloatArray, snapshot: Snapshot, bench: BenchSpec, arm: Kinematics | None) -> Here:
    """Return where everything stands."""
    return Here(setpoints, {} if arm is None else _posture(snapshot, bench, arm), bench, arm)


def _posture(snapshot: Snapshot, bench: BenchSpec, arm: Kinematics) -> Posture:
    """Return the person's joints as last seen, rad and m; at zero where they cannot be seen."""
    posture = {}
    for part in bench.body:
        channel = SEEN_ON.get(part.name, part.name)
        if channel in snapshot.layout and arm.moves(part.name):
            value = snapshot.value(channel)
            if not np.isnan(value):
                posture[part.name] = float(np.radians(value)) if part.unit == "deg" else value
    return posture


def from_skin_m(here: Here) -> float:
    """Return the distance of the tool's tip from the person, by the joints and the person as last seen.

    Infinite on a bench where no arm comes near anybody.
    """
    if here.kinematics is None or not here.arm.contacts:
        return float("inf")
    tip = here.arm.pose(here.joints).position
    return float(np.linalg.norm(here.skin() - tip, axis=1).min())


def nearest_place(here: Here) -> tuple[Pose, Pose, str]:
    """Return the nearest place on the skin, the place from which it is approached, and its name."""
    arm = here.arm
    tip, names = arm.pose(here.joints).position.copy(), list(arm.contacts)
    skin = names[int(np.argmin(np.linalg.norm(here.skin() - tip, axis=1)))]
    return here.place(skin), here.place(arm.contacts[skin]), skin


def withdraw(here: Here) -> Skill:
    """Go straight back from the skin, slowly until clear of it; nowhere if it is already clear."""
    if here.kinematics is None or not here.arm.contacts:
        return Skill((), retreats=True)
    skin, clear, _ = nearest_place(here)
    if from_skin_m(here) >= np.linalg.norm(clear.position - skin.position) - CLEAR_SLACK_M:
        return Skill((), retreats=True)
    return Skill((path(here, clear, profiles()["out_of_mouth"]),), retreats=True)


def park(here: Here) -> Skill:
    """Go to the rest place by way of the place before the skin."""
    if here.kinematics is None:
        return Skill((), retreats=True)
    back = withdraw(here).phases
    after = here.after(back)
    return Skill((*back, path(after, after.place("rest"), profiles()["normal"])), retreats=True)


def drawn_in(here: Here) -> Skill | None:
    """Draw in what a bench without an arm holds out to the person; None where it holds nothing out."""
    if here.kinematics is not None or all(a.name != HELD_OUT for a in here.bench.actuators):
        return None
    return Skill((ramp(here, HELD_OUT, 0.0),), retreats=True)


def path(here: Here, target: Pose, profile: Profile, guards: tuple[Guard, ...] = ()) -> Phase:
    """Return a straight way to a pose, in legs that keep the profile's speed limits.

    Raises:
        UsageError: If any of it is out of reach.
    """
    arm, joints = here.arm, here.joints
    start, legs = arm.pose(joints), []
    for share, speed_m_s in _legs(start.position, target.position, here.skin(), profile):
        # The tool turns into its final direction in proportion to the way.
        approach = (1.0 - share) * start.approach + share * target.approach
        pose = Pose(
            start.position + share * (target.position - start.position), approach / np.linalg.norm(approach)
        )
        legs.append(arm.path(joints, pose, speed_m_s=speed_m_s, period_s=here.bench.tick_ns / 1e9))
        joints = legs[-1][-1]
    way = _within_rates(here, np.concatenate(legs))
    rows = np.repeat(here.setpoints[None, :], len(way), axis=0)
    rows[:, joint_columns(here.bench)] = way
    return Phase(rows, here.bench.tick_ns, guards)


RATE_MARGIN = 0.98
"""Share of a joint's rate that a way may need; near a singular pose a slow tool wants a fast joint."""


def _within_rates(here: Here, way: FloatArray) -> FloatArray:
    """Return a way of the joints, shape (n, joints), taken more slowly where a joint could not follow."""
    columns = joint_columns(here.bench)
    tick_s = here.bench.tick_ns / 1e9
    most = np.array([here.bench.actuators[i].rate for i in columns]) * tick_s * RATE_MARGIN
    steps = np.abs(np.diff(np.vstack((here.joints, way)), axis=0))
    slower = np.maximum(np.max(steps / most, axis=1), 1.0)
    if not np.any(slower > 1.0):
        return way
    ends = np.concatenate(([0.0], np.cumsum(slower)))
    n = int(np.ceil(ends[-1]))
    at = np.linspace(0.0, ends[-1], n + 1)[1:]
    joints = np.vstack((here.joints, way))
    return np.stack([np.interp(at, ends, joint) for joint in joints.T], axis=1)


def _legs(
    start: FloatArray, target: FloatArray, skin: FloatArray, profile: Profile
) -> list[tuple[float, float]]:
    """Cut a straight line where its distance to the skin passes a bound of the profile.

    Returns:
        The end of each leg as a share of the line, and the speed limit on it (m/s).
    """
    shares = np.linspace(0.0, 1.0, 201)
    line = start + shares[:, None] * (target - start)
    apart_m = np.linalg.norm(line[:, None, :] - skin[None, :, :], axis=2)
    distance_m = apart_m.min(axis=1, initial=np.inf)
    bounds = np.array([bound for bound, _ in profile])
    zone = np.minimum(np.searchsorted(bounds, distance_m), len(bounds) - 1)
    ends = [int(k) for k in np.flatnonzero(np.diff(zone)) + 1] + [len(shares) - 1]
    begins = [0, *ends[:-1]]
    return [
        (float(shares[end]), min(profile[int(z)][1] for z in zone[begin:end]))
        for begin, end in zip(begins, ends, strict=True)
        if end > begin
    ]


def push_n(guard_n: float | None) -> float:
    """Return the force at which a motion stops of itself."""
    return UNGUARDED_N if guard_n is None else guard_n


def force_guard(guard_n: float | None) -> tuple[Guard, ...]:
    """Return the guard on the wrist's force."""
    return () if guard_n is None else (Guard("wrist.force", above=guard_n),)


def still(here: Here, ticks: int, until: tuple[Guard, ...] = ()) -> Phase:
    """Return a phase in which nothing moves."""
    return Phase(np.repeat(here.setpoints[None, :], ticks, axis=0), here.bench.tick_ns, until=until)


def ramp(here: Here, name: str, value: float, period_ns: int = BED_TICK_NS) -> Phase:
    """Return a phase that brings one actuator to a value at its full rate."""
    i = actuator_index(here.bench.actuators, name)
    step = here.bench.actuators[i].rate * period_ns / 1e9
    n = max(1, int(np.ceil(abs(value - here.setpoints[i]) / step)))
    rows = np.repeat(here.setpoints[None, :], n, axis=0)
    rows[:, i] = np.linspace(here.setpoints[i], value, n + 1)[1:]
    return Phase(rows, period_ns)
