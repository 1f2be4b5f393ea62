"""What the slow side of several stations shares, compiled."""

from rig.sim.native import compiled
from rig.sim.state import Record

_ASSIST = 2.0  # lowest call level that brings somebody


@compiled
def ramp(now: float, target: float, step: float) -> float:
    """Return ``now`` moved towards ``target`` by at most ``step``."""
    if abs(target - now) <= step:
        return target
    return now + step if target > now else now - step


@compiled
def unattended(world: Record) -> bool:
    """Return whether nobody is at the person and nobody has been called to come."""
    return world.call_level < _ASSIST and world.carer_present < 0.5
