"""A session with a node in a library, in virtual time: where a real link waits, this one moves time on."""

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from firmware_bridge import messages as m
from firmware_bridge.clock_sync import ClockMap
from firmware_bridge.faults import FaultyWires
from firmware_bridge.host_node import HostNode
from firmware_bridge.mailbox import Mailbox
from firmware_bridge.session import Ending, Outcome, Received, Session, Settings
from firmware_bridge.states import LinkState
from rig.core.clock import Clock, nanoseconds
from rig.core.errors import RigFault

Result = TypeVar("Result")


class LockstepLink:
    """The counterpart of `Link` without a thread or a port.

    Args:
        node: The node.
        number: Its port.
        settings: Of the session.
        clock: Virtual time.
        turn: Lets a millisecond pass for node, clock and every link (see `pump`).

    Attributes:
        wires: What happens to bytes on the way; None is nothing.
    """

    def __init__(
        self, node: HostNode, number: int, settings: Settings, clock: Clock, turn: Callable[[], None]
    ) -> None:
        self.port = f"library port {number}"
        self.session = Session(settings)
        self._node, self._number, self._clock, self._turn = node, number, clock, turn
        self._mailbox = Mailbox()
        self._open = False
        self.wires: FaultyWires | None = None

    def __enter__(self) -> Self:
        """Open the session.

        Raises:
            RigFault: If the node does not answer.
        """
        self.session.start(self._clock.now_ns())
        self._open = True
        done = (LinkState.UP, LinkState.LOST, LinkState.REFUSED)
        self.wait(lambda s: s.state in done, 2 * self.session.settings.answer_ns / 1e9)
        if self.session.state is not LinkState.UP:
            raise RigFault(f"{self.port}: {self.session.why or 'no answer'}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        self.session.close()

    def pump(self) -> None:
        """Carry what is to be sent to the node, and what it has sent here."""
        if not self._open:
            return
        now_ns = self._clock.now_ns()
        out, data = self.session.poll(now_ns), self._node.take(self._number)
        if self.wires is not None:
            out = self.wires.outbound(out, now_ns)
        if out:
            self._node.receive(self._number, out)
            data += self._node.take(self._number)
        if self.wires is not None:
            data = self.wires.inbound(data, now_ns)
        if data:
            for received in self.session.receive(data, now_ns):
                self._mailbox.put(received)
        self._mailbox.collect(self.session)

    def request(self, message: m.Message, timeout_s: float = 1.0) -> Outcome:
        """Send a command and return how it ended; UNKNOWN when that cannot be told in time."""
        return self.outcome(self.submit(message), timeout_s)

    def submit(self, message: m.Message) -> int:
        """Send a command and return its ticket, for `outcome`."""
        return self.session.submit(message)

    def stop(self, timeout_s: float = 1.0) -> Outcome:
        """Send a Stop ahead of everything that waits."""
        return self.outcome(self.session.stop_now(), timeout_s)

    def outcome(self, ticket: int, timeout_s: float = 1.0) -> Outcome:
        """Return how a command ended, once; UNKNOWN when that cannot be told in time."""
        self.pump()
        self._until(lambda: ticket in self._mailbox.outcomes, timeout_s)
        return self._mailbox.outcomes.pop(ticket, Outcome(ticket, Ending.UNKNOWN))

    def seen(self, look: Callable[[Session], Result]) -> Result:
        """Return what ``look`` finds in the session."""
        return look(self.session)

    def wait(self, condition: Callable[[Session], bool], timeout_s: float) -> bool:
        """Return True once ``condition`` holds, False if it does not within ``timeout_s`` of virtual time."""
        return self._until(lambda: condition(self.session), timeout_s)

    def _until(self, done: Callable[[], bool], timeout_s: float) -> bool:
        deadline_ns = self._clock.now_ns() + nanoseconds(timeout_s)
        while not done():
            if self._clock.now_ns() >= deadline_ns:
                return False
            self._turn()
        return True

    def newest(self, kind: type[m.Message]) -> Received | None:
        """Return the newest message of a kind."""
        return self._mailbox.newest.get(kind)

    def events(self) -> list[Received]:
        """Return the node's events since the last call, oldest first."""
        return self._mailbox.events()

    @property
    def clock_map(self) -> ClockMap | None:
        """Between the node's clock and virtual time."""
        return self.session.clocks.clock
