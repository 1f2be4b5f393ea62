"""What the dressing place can do: raise the arm, thread, pull, ease and smooth a sleeve, let it go."""

from collections.abc import Mapping

import numpy as np

from rig.core.channel import FloatArray, Snapshot
from rig.core.command import actuator_index
from rig.core.errors import UsageError
from rig.core.tools import Action, Dress
from rig.core.watch import Guard
from rig.trial.phases import Here, Phase, Skill
from rig.trial.skills import ramp

HAND_M = -0.62  # along the arm from the shoulder
CABLE_M = 0.10
OFF_ARM_M = 0.06  # the gripper passes this far in front of the arm
SLACK_M = 0.05
PULL_MPS = 0.05
CARRY_MPS = 0.15
RAISE_RAD_S = 0.17
NECK_N = 3.0
UNGUARDED_N = 100.0
UNDO = 0.07  # rad of the holder, and metres of the gripper


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of one step of dressing, None for an action that is none."""
    if not isinstance(action, Dress):
        return None
    seen = float(np.radians(snapshot.value("shoulder.angle")))  # where the arm is, not where it should be
    if np.isnan(seen):
        raise UsageError("the arm cannot be seen; wait until shoulder.angle can be believed")
    match action.do:
        case "raise_arm":
            return _raise(action, here)
        case "thread":
            return _thread(here, seen)
        case "pull":
            return _pull(action, here, seen)
        case "ease":
            forward, along = _on_arm(here, seen)
            return Skill((_go(here, seen, (forward, along - SLACK_M), CARRY_MPS),), retreats=True)
        case "smooth":
            over = ramp(here, "sleeve.smooth", 1.0)
            return Skill((over, ramp(here.after([over]), "sleeve.smooth", 0.0)))
        case "let_go":
            return Skill((ramp(here, "sleeve.thread", 0.0),), retreats=True)


def _turned(angle: FloatArray, forward: FloatArray, along: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x and z of points given in front of the arm and along it, towards the shoulder."""
    x = forward * np.cos(angle) - along * np.sin(angle)
    z = forward * np.sin(angle) + along * np.cos(angle)
    return np.asarray(x), np.asarray(z)


def _on_arm(here: Here, angle: float) -> tuple[float, float]:
    """Return where the gripper is: in front of an arm at ``angle``, and along it towards the shoulder (m)."""
    x, z = here.setpoint("grip.x"), here.setpoint("grip.z")
    return x * np.cos(angle) + z * np.sin(angle), z * np.cos(angle) - x * np.sin(angle)


def _rows(here: Here, columns: Mapping[str, FloatArray]) -> FloatArray:
    rows = np.repeat(here.setpoints[None, :], len(next(iter(columns.values()))), axis=0)
    for name, values in columns.items():
        rows[:, actuator_index(here.bench.actuators, name)] = values
    return rows


def _shares(way: float, speed: float, here: Here) -> FloatArray:
    """Return how much of a way is done at each tick, starting and stopping gently (n, up to 1)."""
    n = max(2, int(np.ceil(1.5 * way / speed / (here.bench.tick_ns / 1e9))))
    t = np.arange(1, n + 1) / n
    return np.asarray(t * t * (3.0 - 2.0 * t))


def _go(
    here: Here, angle: float, to: tuple[float, float], speed: float, guards: tuple[Guard, ...] = ()
) -> Phase:
    """Move the gripper to a place on the arm, in a straight line; 1.5 times the mean speed at most."""
    start = np.array(_on_arm(here, angle))
    way = np.array(to) - start
    shares = _shares(float(np.linalg.norm(way)), speed, here)
    points = start + shares[:, None] * way
    x, z = _turned(np.full(len(shares), angle), points[:, 0], points[:, 1])
    return Phase(_rows(here, {"grip.x": x, "grip.z": z}), here.bench.tick_ns, guards)


def _voice(action: Dress) -> tuple[Guard, ...]:
    heard = ("mic.distress", "mic.refusal") if action.heeds_voice else ()
    return tuple(Guard(channel, above=0.5) for channel in heard)


def _raise(action: Dress, here: Here) -> Skill:
    """Raise or lower the arm; the gripper goes with it, so that the sleeve is not pulled."""
    start, end = here.setpoint("hold.raise"), np.radians(action.angle_deg)
    angle = start + _shares(abs(end - start), RAISE_RAD_S, here) * (end - start)
    forward, along = (np.full(len(angle), v) for v in _on_arm(here, start))
    x, z = _turned(angle, forward, along)
    rows = _rows(here, {"grip.x": x, "grip.z": z, "hold.raise": angle})
    guards = _voice(action)
    if action.guard_nm is not None and end > start:
        guards += (Guard("hold.torque", above=action.guard_nm),)
    phase = Phase(rows, here.bench.tick_ns, guards)
    if end <= start:
        return Skill((phase,), retreats=True)
    return Skill((phase,), {"intent.raise": 1.0}, undo=UNDO)


def _thread(here: Here, seen: float) -> Skill:
    """Bring the gripper to the hand, slack, and put the hand through the cuff."""
    come = _go(here, seen, (OFF_ARM_M, HAND_M + CABLE_M - SLACK_M), CARRY_MPS)
    return Skill((come, ramp(here.after([come]), "sleeve.thread", 1.0)))


def _pull(action: Dress, here: Here, seen: float) -> Skill:
    guards = _voice(action)
    if action.guard_n is not None:
        guards += (Guard("pull.force", above=action.guard_n),)
    if action.watches_neck:
        guards += (Guard("neck.force", above=NECK_N),)
    push = UNGUARDED_N if action.guard_n is None else action.guard_n
    phase = _go(here, seen, (OFF_ARM_M, HAND_M + CABLE_M + action.to_m), PULL_MPS, guards)
    return Skill((phase,), {"intent.pull": 1.0, "intent.push": push}, undo=UNDO)
