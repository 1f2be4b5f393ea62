"""What a hoist can do: sling, legs, loops, up, down and along.

Up, down and along start and stop gently, except where haste is asked for.
"""

from collections.abc import Mapping

import numpy as np

from rig.core.channel import FloatArray, Snapshot
from rig.core.command import actuator_index
from rig.core.tools import Action, Hoist
from rig.core.watch import Guard
from rig.trial.phases import BED_TICK_NS, Here, Phase, Skill

LOOPS = ("back_left", "back_right", "front_left", "front_right")
BED_M, CHAIR_M = 0.0, -1.15  # where the hoist stands over bed and chair
OVER_CHAIR_M = -0.9  # from here on it is over the chair
OVER_BED_M = -0.4  # up to here it is over the bed
ALOFT_M = 1.81  # bar height at which the feet clear the bed
DOWN_BED_M, DOWN_CHAIR_M = 1.25, 1.15  # bar height at which nothing hangs on the loops
LOADED_N = 50.0
LIFTED_M = 0.02
REVERSE_M = 0.02

# Speed up and down, speed along (m/s), acceleration (m/s^2).
PACES: Mapping[str, tuple[float, float, float]] = {
    "slow": (0.03, 0.06, 0.04),
    "normal": (0.05, 0.10, 0.05),
    "fast": (0.22, 0.42, 2.0),
}


def over_chair(here: Here) -> bool:
    """Return whether the hoist stands over the chair."""
    return here.setpoint("hoist.travel") <= OVER_CHAIR_M


def over_bed(here: Here) -> bool:
    """Return whether the hoist stands over the bed."""
    return here.setpoint("hoist.travel") >= OVER_BED_M


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of one step of a transfer, None for an action that is not the hoist's."""
    if not isinstance(action, Hoist):
        return None
    loaded = not snapshot.value("hoist.load") <= LOADED_N  # NaN counts as loaded
    match action.do:
        case "place_sling" | "remove_sling":
            return Skill((_slow_ramp(here, {"hoist.sling": float(action.do == "place_sling")}),))
        case "spread_legs" | "close_legs":
            return Skill((_slow_ramp(here, {"hoist.base": float(action.do == "spread_legs")}),))
        case "fasten":
            return Skill((_slow_ramp(here, _hooks(action.loop, 1.0)),))
        case "loosen":
            return Skill((_slow_ramp(here, _hooks(action.loop, 0.0)),), {"intent.unhook": 1.0})
        case "lift":
            return _lift(action, here)
        case "lower":
            return _lower(action, here, snapshot, loaded)
        case "to_bed" | "to_chair":
            return _travel(action, here, loaded)


def _hooks(loop: str, value: float) -> dict[str, float]:
    return {f"hook.{name}": value for name in (LOOPS if loop == "all" else (loop,))}


def _slow_ramp(here: Here, targets: Mapping[str, float]) -> Phase:
    """Move several slow parts one after the other, each at its own rate."""
    legs: list[FloatArray] = []
    now = here.setpoints.copy()
    for name, value in targets.items():
        i = actuator_index(here.bench.actuators, name)
        step = here.bench.actuators[i].rate * BED_TICK_NS / 1e9
        n = max(1, int(np.ceil(abs(value - now[i]) / step)))
        rows = np.repeat(now[None, :], n, axis=0)
        rows[:, i] = np.linspace(now[i], value, n + 1)[1:]
        legs.append(rows)
        now = rows[-1].copy()
    return Phase(np.concatenate(legs), BED_TICK_NS)


def _gentle(start: float, end: float, speed: float, acceleration: float, dt_s: float) -> FloatArray:
    """Return positions from ``start`` to ``end``, shape (n,), speeding up and slowing down evenly."""
    way = abs(end - start)
    top = min(speed, np.sqrt(way * acceleration))
    ramp_s = top / acceleration
    total_s = way / top + ramp_s if way else dt_s
    t = np.minimum(np.arange(1, int(np.ceil(total_s / dt_s)) + 1) * dt_s, total_s)
    up = 0.5 * acceleration * np.minimum(t, ramp_s) ** 2
    even = top * np.clip(t - ramp_s, 0.0, total_s - 2.0 * ramp_s)
    down_s = np.clip(t - (total_s - ramp_s), 0.0, ramp_s)
    done = up + even + top * down_s - 0.5 * acceleration * down_s**2
    return np.asarray(start + np.sign(end - start) * np.minimum(done, way), dtype=np.float64)


def _move(action: Hoist, here: Here, name: str, end: float) -> Phase:
    vertical, along, acceleration = PACES[action.speed]
    i = actuator_index(here.bench.actuators, name)
    speed = vertical if name == "hoist.lift" else along
    path = _gentle(float(here.setpoints[i]), end, speed, acceleration, here.bench.tick_ns / 1e9)
    path[-1] = end
    rows = np.repeat(here.setpoints[None, :], len(path), axis=0)
    rows[:, i] = path
    return Phase(rows, here.bench.tick_ns, _guards(action))


def _guards(action: Hoist) -> tuple[Guard, ...]:
    guards = [] if action.guard_n is None else [Guard("limb.force", above=action.guard_n)]
    if action.heeds_voice:
        guards += [Guard("mic.distress", above=0.5), Guard("mic.refusal", above=0.5)]
    return tuple(guards)


def _lift(action: Hoist, here: Here) -> Skill:
    end = ALOFT_M if action.height_m is None else action.height_m
    intents = _speed(action, 0) | {"intent.raise": 1.0}
    return Skill((_move(action, here, "hoist.lift", end),), intents, undo=REVERSE_M)


def _lower(action: Hoist, here: Here, snapshot: Snapshot, loaded: bool) -> Skill:
    """Lower; over a bed or a braked chair that is the way to safety, whatever else is the matter."""
    end = (DOWN_CHAIR_M if over_chair(here) else DOWN_BED_M) if action.height_m is None else action.height_m
    calm = action.model_copy(update={"heeds_voice": False})  # down is where a cry wants to go
    intents = _speed(action, 0) | ({"intent.seat": 1.0} if over_chair(here) and loaded else {})
    safe = over_bed(here) or (over_chair(here) and snapshot.value("chair.brake") > 0.5)
    return Skill((_move(calm, here, "hoist.lift", end),), intents, safe and action.speed != "fast", REVERSE_M)


def _travel(action: Hoist, here: Here, loaded: bool) -> Skill:
    end = CHAIR_M if action.do == "to_chair" else BED_M
    intents = _speed(action, 1) | {"intent.travel": 1.0}
    if action.do == "to_chair" and loaded:
        intents["intent.seat"] = 1.0
    return Skill((_move(action, here, "hoist.travel", end),), intents, undo=REVERSE_M)


def _speed(action: Hoist, axis: int) -> dict[str, float]:
    return {"intent.speed": PACES[action.speed][axis]}


def hangs(snapshot: Snapshot) -> bool:
    """Return whether somebody hangs on a hoist, or may: a reading not to be believed counts as yes."""
    if "hoist.load" not in snapshot.layout:
        return False
    down = snapshot.value("hoist.load") <= LOADED_N or snapshot.value("sling.clearance") <= LIFTED_M
    return not down


def set_down(here: Here, snapshot: Snapshot) -> Skill:
    """Return the way down to the support under the sling; nothing where there is none.

    Between bed and chair the hoist holds: a floor is no support.
    """
    skill = _lower(Hoist(do="lower", speed="slow", guard_n=None), here, snapshot, True)
    return skill if skill.retreats else Skill((), retreats=True)
