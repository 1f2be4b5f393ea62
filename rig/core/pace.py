"""Trial time against the board's clock: ticks on time, and what is done about being late."""

from collections import deque
from typing import Protocol

from rig.core.clock import Clock


class _Passing(Protocol):
    def pass_until(self, t_ns: int, shown_ns: int) -> None: ...


class Pace:
    """Maps trial time to the host's.

    A tick that is more than a period late moves the map, so that the trial goes on from there: world,
    controller and record stay together, and the stall is counted, not hidden.

    Attributes:
        offset_ns: Host time minus trial time.
        ticks: Ticks waited for.
        late_ns: Lateness of each tick, the newest 4096.
        stalled_ns: Host time that the trial has not had.
    """

    KEPT = 4096

    def __init__(self, clock: Clock, tick_ns: int) -> None:
        self._clock, self._tick_ns = clock, tick_ns
        self.offset_ns = 0
        self.ticks = 0
        self.stalled_ns = 0
        self.late_ns: deque[int] = deque(maxlen=self.KEPT)

    def start(self, t_ns: int) -> None:
        """Let trial time ``t_ns`` be now."""
        self.offset_ns = self._clock.now_ns() - t_ns

    def host_ns(self, t_ns: int) -> int:
        """Return the host's time of a trial time."""
        return t_ns + self.offset_ns

    def wait(self, t_ns: int, shown_ns: int, board: _Passing) -> None:
        """Return when trial time ``t_ns`` has come and the node has reported since ``shown_ns`` (host)."""
        due_ns = self.host_ns(t_ns)
        board.pass_until(due_ns, shown_ns)
        late_ns = self._clock.now_ns() - due_ns
        self.ticks += 1
        self.late_ns.append(late_ns)
        if late_ns > self._tick_ns:
            self.offset_ns += late_ns
            self.stalled_ns += late_ns
