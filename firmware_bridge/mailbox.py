"""What a link keeps of a session for its users: newest messages, events, and how commands ended."""

from collections import deque

from firmware_bridge import messages as m
from firmware_bridge.session import Outcome, Received, Session

KEPT = 1024


class Mailbox:
    """Not thread-safe: its link sees to that."""

    def __init__(self) -> None:
        self.newest: dict[type[m.Message], Received] = {}
        self.outcomes: dict[int, Outcome] = {}
        self._events: deque[Received] = deque(maxlen=KEPT)

    def put(self, received: Received) -> None:
        """Keep a message."""
        self.newest[type(received.message)] = received
        if isinstance(received.message, m.Event):
            self._events.append(received)

    def collect(self, session: Session) -> None:
        """Take the outcomes out of a session."""
        while session.outcomes:
            outcome = session.outcomes.popleft()
            self.outcomes[outcome.ticket] = outcome
        while len(self.outcomes) > KEPT:  # of requests given up by their callers
            self.outcomes.pop(next(iter(self.outcomes)))

    def events(self) -> list[Received]:
        """Return the events since the last call, oldest first."""
        found = list(self._events)
        self._events.clear()
        return found
