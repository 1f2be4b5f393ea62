"""How a node stands: whether it can be relied on, and whether it is the monitor that has stopped it."""

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend

STOPPED_BY_RULES = (m.Reason.MONITOR_VETO,)
"""Reasons for SAFE that are the monitor's decision and no fault of the rig."""


def stopped_by_rules(bridge: BridgeBackend) -> bool:
    """Return whether the node is SAFE because the monitor beside it said so: then everything stays where it is."""
    status = bridge.link.seen(lambda s: s.status)
    return status is not None and status.state == m.State.SAFE and status.reason in STOPPED_BY_RULES


def why_not_reliable(bridge: BridgeBackend) -> str | None:
    """Return why the node cannot be relied on, None when it can; a stop by the monitor's rules is no fault."""
    link = bridge.link
    state, status, why = link.seen(lambda s: (s.state, s.status, s.why))
    if state.value != "up":
        return f"{link.port}: {why or state.value}"
    if status is not None and status.state == m.State.SAFE and status.reason not in STOPPED_BY_RULES:
        reason = m.Reason(status.reason).name
        return f"{link.port}: the node went SAFE: {reason}; a person must look and clear it"
    return None
