"""The states of a link's session, as one table; its diagram is drawn from it."""

from enum import StrEnum


class LinkState(StrEnum):
    """Where a session stands; LOST and REFUSED are left only by starting anew."""

    CLOSED = "closed"
    ASKING = "asking who is there"
    OPENING = "opening"
    UP = "up"
    LOST = "lost"
    REFUSED = "refused"


class Signal(StrEnum):
    """What can happen to a session."""

    START = "start"
    KNOWN = "node of our description answered"
    FOREIGN = "node of another description answered"
    OPENED = "session opened"
    IN_USE = "role in use"
    SILENT = "node silent"
    RESTARTED = "node restarted"
    CLOSE = "close"


S, G = LinkState, Signal
TRANSITIONS: dict[tuple[LinkState, Signal], LinkState] = {
    (S.CLOSED, G.START): S.ASKING,
    (S.LOST, G.START): S.ASKING,
    (S.REFUSED, G.START): S.ASKING,
    (S.ASKING, G.KNOWN): S.OPENING,
    (S.ASKING, G.FOREIGN): S.REFUSED,
    (S.ASKING, G.SILENT): S.LOST,
    (S.OPENING, G.OPENED): S.UP,
    (S.OPENING, G.IN_USE): S.REFUSED,
    (S.OPENING, G.SILENT): S.LOST,
    (S.OPENING, G.RESTARTED): S.LOST,
    (S.UP, G.SILENT): S.LOST,
    (S.UP, G.RESTARTED): S.LOST,
    **{(state, G.CLOSE): S.CLOSED for state in LinkState},
}


def after(state: LinkState, signal: Signal) -> LinkState:
    """Return the state that follows; a signal the table does not list changes nothing."""
    return TRANSITIONS.get((state, signal), state)


def diagram() -> str:
    """Return the table as a Mermaid state diagram.

    >>> diagram().splitlines()[1]
    '    CLOSED --> ASKING: start'
    """
    lines = [f"    {a.name} --> {b.name}: {signal}" for (a, signal), b in TRANSITIONS.items()]
    return "\n".join(["stateDiagram-v2", *lines])
