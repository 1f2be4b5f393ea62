"""A session on a serial port: the only file with a thread and a port.

One thread owns the port; everybody else talks to it through a lock and a condition. Every wait has a
deadline, every write is bounded, and the thread's end is never waited for without one. Known traps of
serial libraries behind these choices: a blocked read is not ended by close (pyserial 712), a write may
block for ever without a time-out (163), flush may hang (226), errors come as three types (401).
"""

import contextlib
import os
import secrets
import select
import socket
import termios
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

import serial

from firmware_bridge import messages as m
from firmware_bridge.build import build_number
from firmware_bridge.clock_sync import ClockMap
from firmware_bridge.faults import FaultyWires
from firmware_bridge.mailbox import Mailbox
from firmware_bridge.session import Ending, Outcome, Received, Session, Settings
from firmware_bridge.states import LinkState
from rig.core.clock import Clock, nanoseconds
from rig.core.errors import RigFault, UsageError

POLL_MS = 2
OPEN_S = 5.0
GATHER_NS = 1_000_000
"""An emulator sends byte by byte: its frames are let gather, or every byte would wake us."""
SOCKET = "tcp:"
"""Port names that begin so are sockets of an emulator, all others device files."""
BACKLOG_BYTES = 1 << 14
"""Bytes the port does not take before the link is given up: over a second at 115,200 baud."""
JOIN_S = 2.0
Result = TypeVar("Result")


def settings(role: m.Role, heartbeat_ms: int = 20) -> Settings:
    """Return settings for a role with a nonce of this start's own, and firmware of this version."""
    return Settings(
        role=role,
        nonce=secrets.randbits(32) or 1,
        heartbeat_ns=heartbeat_ms * 1_000_000,
        build=build_number(),
    )


def in_words(identity: m.Identity) -> str:
    """Return what a node says it is: its own number, what it was built of, what it speaks."""
    return f"node {identity.uid.hex()}, firmware build {identity.firmware:08x}, description {identity.fingerprint:08x}"


class Link:
    """A session with the node on a port; a context manager that is up inside its block.

    Attributes:
        port: Device file of the port, or ``tcp:HOST:PORT``.
        session: The session; look at it inside `seen` only.
        wires: What happens to bytes on the way, for tests and scenarios with faults; None is nothing.
    """

    def __init__(self, port: str, settings: Settings, clock: Clock, baud: int = 115_200) -> None:
        self.port = port
        self.session = Session(settings)
        self._clock, self._baud = clock, baud
        self._serial: serial.Serial | socket.socket | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"link {port}", daemon=True)
        self._mailbox = Mailbox()
        self._backlog = b""
        self.wires: FaultyWires | None = None
        self._ending = False
        self._gathers = port.startswith(SOCKET)
        self._wake: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        """Open the port and the session.

        Raises:
            RigFault: If the port cannot be had, nobody or the wrong node answers; says what to check.
        """
        if self._thread.ident is not None:
            raise UsageError(f"{self.port}: a link is used once; make another")
        self._serial = self._opened()
        self._wake = os.pipe()
        self.session.start(self._clock.now_ns())
        self._thread.start()
        done = (LinkState.UP, LinkState.LOST, LinkState.REFUSED)
        self._wait(lambda s: s.state in done or None, 2 * self.session.settings.answer_ns / 1e9 + 1.0)
        if self.session.state is not LinkState.UP:
            why = self.session.why or "no answer"
            self.__exit__(None, None, None)
            raise RigFault(f"{self.port}: {why}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending = True
        self._nudge()
        if self._thread.ident is not None:
            self._thread.join(JOIN_S)
        if self._thread.is_alive():
            return  # the port belongs to a thread that hangs in the system; it ends with the process
        if self._serial is not None:
            with contextlib.suppress(OSError, termios.error, serial.SerialException):
                self._serial.close()
        for fd in self._wake or ():
            os.close(fd)
        self._serial = self._wake = None

    def _opened(self) -> serial.Serial | socket.socket:
        if self.port.startswith(SOCKET):
            return self._connected(*self.port.removeprefix(SOCKET).split(":"))
        port = serial.Serial()
        port.port, port.baudrate, port.exclusive = self.port, self._baud, True
        port.timeout, port.write_timeout = 0, 1.0
        port.dtr = port.rts = False  # a rising line resets many boards
        try:
            port.open()
        except (serial.SerialException, OSError, termios.error, ValueError) as error:
            raise RigFault(
                f"{self.port}: cannot be opened ({error}); is it plugged in, and no other program on it?"
            ) from None
        return port

    def _connected(self, host: str, number: str) -> socket.socket:
        try:
            port = socket.create_connection((host, int(number)), OPEN_S)
        except OSError as error:
            raise RigFault(f"{self.port}: cannot be opened ({error}); does the emulator run?") from None
        port.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port.setblocking(False)
        return port

    # -- for others ---------------------------------------------------------------------------

    def request(self, message: m.Message, timeout_s: float = 1.0) -> Outcome:
        """Send a command and return how it ended; UNKNOWN when that cannot be told in time."""
        return self.outcome(self.submit(message), timeout_s)

    def submit(self, message: m.Message) -> int:
        """Send a command and return its ticket, for `outcome`; commands go one at a time, in order."""
        return self._given(lambda session: session.submit(message))

    def stop(self, timeout_s: float = 1.0) -> Outcome:
        """Send a Stop ahead of everything that waits."""
        return self.outcome(self._given(lambda session: session.stop_now()), timeout_s)

    def seen(self, look: Callable[[Session], Result]) -> Result:
        """Return what ``look`` finds in the session, nobody else touching it meanwhile."""
        with self._changed:
            return look(self.session)

    def wait(self, condition: Callable[[Session], bool], timeout_s: float) -> bool:
        """Return True once ``condition`` holds, False if it does not within ``timeout_s``."""
        return self._wait(lambda s: condition(s) or None, timeout_s) is not None

    def newest(self, kind: type[m.Message]) -> Received | None:
        """Return the newest message of a kind."""
        with self._changed:
            return self._mailbox.newest.get(kind)

    def events(self) -> list[Received]:
        """Return the node's events since the last call, oldest first."""
        with self._changed:
            return self._mailbox.events()

    @property
    def clock_map(self) -> ClockMap | None:
        """Between the node's clock and this link's."""
        return self.seen(lambda s: s.clocks.clock)

    def _given(self, submit: Callable[[Session], int]) -> int:
        with self._changed:
            ticket = submit(self.session)
            self._collect()
        self._nudge()
        return ticket

    def outcome(self, ticket: int, timeout_s: float = 1.0) -> Outcome:
        """Return how a command ended, once; UNKNOWN when that cannot be told in time."""
        outcome = self._wait(lambda _: self._mailbox.outcomes.get(ticket), timeout_s)
        with self._changed:
            self._mailbox.outcomes.pop(ticket, None)
        return outcome or Outcome(ticket, Ending.UNKNOWN)

    def _wait(self, look: Callable[[Session], Result | None], timeout_s: float) -> Result | None:
        deadline_ns = self._clock.now_ns() + nanoseconds(timeout_s)
        with self._changed:
            while (found := look(self.session)) is None:
                left_ns = deadline_ns - self._clock.now_ns()
                if left_ns <= 0:
                    return None
                self._changed.wait(left_ns / 1e9)
            return found

    # -- the thread ---------------------------------------------------------------------------

    def _nudge(self) -> None:
        if self._wake is not None:
            os.write(self._wake[1], b"\0")

    def _run(self) -> None:
        port, wake = self._serial, self._wake
        if port is None or wake is None:
            return
        poller = select.poll()
        poller.register(port.fileno(), select.POLLIN)
        poller.register(wake[0], select.POLLIN)
        try:
            while not self._ending:
                ready = dict(poller.poll(POLL_MS))
                if wake[0] in ready:
                    os.read(wake[0], 4096)
                self._turn(port.fileno(), ready.get(port.fileno(), 0))
        except (OSError, termios.error, serial.SerialException) as error:
            with self._changed:
                self.session.lose(f"the port is gone ({error}); was it unplugged?")
        with self._changed:
            if self._ending:
                self.session.close()
            self._collect()
            self._changed.notify_all()

    def _turn(self, fd: int, ready: int) -> None:
        data = b""
        if ready & select.POLLIN:
            if self._gathers:
                self._clock.sleep_until(self._clock.now_ns() + GATHER_NS)
            data = os.read(fd, 65536)
        if ready & (select.POLLHUP | select.POLLERR | select.POLLNVAL) and not data:
            raise OSError("hung up")
        now_ns = self._clock.now_ns()
        if self.wires is not None:
            data = self.wires.inbound(data, now_ns)
        with self._changed:
            before = self.session.state
            for received in self.session.receive(data, now_ns) if data else ():
                self._mailbox.put(received)
            out = self.session.poll(now_ns)
            self._backlog += out if self.wires is None else self.wires.outbound(out, now_ns)
            if len(self._backlog) > BACKLOG_BYTES:
                self.session.lose("the port takes no bytes any more; is the cable in?")
                self._backlog = b""
            news = bool(data or self.session.outcomes) or self.session.state is not before
            self._collect()
            if news:
                self._changed.notify_all()
        if self._backlog:
            with contextlib.suppress(BlockingIOError):
                self._backlog = self._backlog[os.write(fd, self._backlog) :]

    def _collect(self) -> None:
        self._mailbox.collect(self.session)
