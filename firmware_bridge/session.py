"""One end of the link, without a port: bytes and times in, bytes and values out.

Commands go one at a time: sent, repeated until answered, and given up after a few tries. Every
command submitted ends in exactly one `Outcome`; one that was sent and never answered is UNKNOWN,
because it may have been carried out. The node answers a repeat from memory, so trying again never
carries a command out twice.
"""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from firmware_bridge import messages as m
from firmware_bridge.clock_sync import ClockSync, Exchange
from firmware_bridge.codec import framed, unpack
from firmware_bridge.framing import Decoder, Frame, Status, encode
from firmware_bridge.states import LinkState, Signal, after

MS = 1_000_000
SYNC_BURST = 8
SYNC_BURST_NS = 5 * MS
SYNC_NS = 987 * MS  # not a divisor of a second, so it does not beat with periodic load
KEPT_RAW = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a session behaves.

    Attributes:
        role: CONTROLLER or MONITOR.
        nonce: Random number of this start; the node gives each nonce its own session.
        heartbeat_ns: Period of heartbeats: a fifth of the node's time-out leaves room for four losses.
        retry_ns: Wait for an answer before sending again.
        tries: Times a command is sent before it is given up.
        silent_ns: Without a Status for so long, the link is lost.
        answer_ns: Time to be identified, and again to be opened.
        build: What the firmware must say it is built of; None takes any that speaks this description.
    """

    role: m.Role
    nonce: int
    heartbeat_ns: int = 20 * MS
    retry_ns: int = 20 * MS
    tries: int = 5
    silent_ns: int = 250 * MS
    answer_ns: int = 1000 * MS
    build: int | None = None


class Ending(StrEnum):
    """How a command ended."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"  # sent, never answered: perhaps done, at most once
    UNSENT = "unsent"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The one end of a command: its ticket, how it ended, and the node's answer if there was one."""

    ticket: int
    ending: Ending
    refusal: m.Refusal = m.Refusal.NONE
    detail: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """A message of the node, when it was sent (its clock, microseconds since its start) and arrived."""

    message: m.Message
    node_us: int
    arrived_ns: int


@dataclass(slots=True)
class _Flight:
    ticket: int
    seq: int
    message: m.Message
    tries: int = 0
    sent_ns: int = 0


class Session:
    """One role's session with one node.

    Attributes:
        state: Where it stands; ``why`` says in words how it got to LOST or REFUSED.
        ok: What heartbeats say of their sender; a monitor withdraws it to veto.
        beating: False withholds heartbeats, and the node makes itself safe.
        beats_until_ns: After this time heartbeats are withheld too; None is never.
        clocks: The clock map and all raw exchanges.
        gaps: Telemetry messages that never arrived.
        unreadable: Frames that arrived damaged.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.state = LinkState.CLOSED
        self.why = ""
        self.ok = True
        self.beating = True
        self.beats_until_ns: int | None = None
        self.clocks = ClockSync()
        self.gaps = 0
        self.unreadable = 0
        self.identity: m.Identity | None = None
        self.status: m.Status | None = None
        self.outcomes: deque[Outcome] = deque()
        self._decoder = Decoder()
        self._queue: deque[_Flight] = deque()
        self._flight: _Flight | None = None
        self._tickets = self._seq = self._counter = self._syncs = 0
        self._session = self._key = 0
        self._armed = False
        self._armed_us = 0
        self._node_us = 0  # newest time seen, 64 bits
        self._status_us = 0
        self._telemetry: int | None = None
        self._events: deque[int] = deque(maxlen=64)
        self._due: dict[str, int] = {}
        self._urgent: list[bytes] = []

    # -- what the owner does ------------------------------------------------------------------

    def start(self, now_ns: int) -> None:
        """Begin: ask who is there. A session is started once; after LOST make another."""
        self._move(Signal.START, "")
        self._due = {"ask": now_ns, "deadline": now_ns + self.settings.answer_ns}

    def close(self) -> None:
        """End; whatever was not answered is reported."""
        self._move(Signal.CLOSE, "closed")

    def lose(self, why: str) -> None:
        """Give the link up, for a reason the owner saw (a cable pulled)."""
        self._move(Signal.SILENT, why)

    def submit(self, message: m.Message) -> int:
        """Queue a command; return the ticket its `Outcome` will carry."""
        self._tickets += 1
        flight = _Flight(self._tickets, 0, message)
        if self.state is LinkState.UP:
            self._queue.append(flight)
        else:
            self.outcomes.append(Outcome(flight.ticket, Ending.UNSENT))
        return flight.ticket

    def stop_now(self) -> int:
        """Submit a Stop ahead of everything that waits; what waited is reported UNSENT."""
        self._drop_queue()
        flight, self._flight = self._flight, None
        if flight is not None:
            self.outcomes.append(Outcome(flight.ticket, Ending.UNKNOWN))
        return self.submit(m.Stop())

    def poll(self, now_ns: int) -> bytes:
        """Return what is to be sent now."""
        out, self._urgent = self._urgent, []
        if self.state in (LinkState.ASKING, LinkState.OPENING):
            out += self._knock(now_ns)
        elif self.state is LinkState.UP:
            if now_ns >= self._due["silent"]:
                self._move(Signal.SILENT, f"no status for {self.settings.silent_ns // MS} ms")
                return b""
            out += [*self._fly(now_ns), *self._beat(now_ns), *self._sync(now_ns)]
        return b"".join(out)

    def receive(self, data: bytes, now_ns: int) -> list[Received]:
        """Take bytes in; return the messages for the owner (streams and new events)."""
        found: list[Received] = []
        for frame in self._decoder.feed(data):
            message = unpack(frame.kind, frame.payload) if frame.status is Status.OK else None
            if message is None:
                self.unreadable += 1
            elif self.state not in (LinkState.CLOSED, LinkState.LOST, LinkState.REFUSED):
                found += self._take(frame, message, now_ns)
        return found

    # -- sending ------------------------------------------------------------------------------

    def _frame(self, message: m.Message, now_ns: int, seq: int = 0) -> bytes:
        return encode(framed(message, self._session, seq, now_ns // 1000))

    def _knock(self, now_ns: int) -> list[bytes]:
        if now_ns >= self._due["deadline"]:
            self._move(Signal.SILENT, "no node answers on this port; is it the right port, and powered?")
            return []
        if now_ns < self._due["ask"]:
            return []
        self._due["ask"] = now_ns + self.settings.retry_ns
        if self.state is LinkState.ASKING:
            return [self._frame(m.Identify(), now_ns)]
        return [self._frame(m.Open(self.settings.role, self.settings.nonce), now_ns)]

    def _fly(self, now_ns: int) -> list[bytes]:
        if self._flight is None and self._queue:
            self._flight = self._queue.popleft()
            self._seq = self._seq % 0xFFFF + 1
            self._flight.seq = self._seq
            if isinstance(self._flight.message, m.Disarm | m.Stop):
                self._armed = False
        flight = self._flight
        if flight is None or (flight.tries and now_ns < flight.sent_ns + self.settings.retry_ns):
            return []
        if flight.tries == self.settings.tries:
            self._flight = None
            self.outcomes.append(Outcome(flight.ticket, Ending.UNKNOWN))
            return []
        flight.tries += 1
        flight.sent_ns = now_ns
        return [self._frame(flight.message, now_ns, flight.seq)]

    def _beat(self, now_ns: int) -> list[bytes]:
        if not self.beating or self.status is None or now_ns < self._due["beat"]:
            return []
        if self.beats_until_ns is not None and now_ns > self.beats_until_ns:
            return []
        self._due["beat"] = now_ns + self.settings.heartbeat_ns
        self._counter += 1
        beat = m.Heartbeat(
            self._key, self._counter, self._status_us & 0xFFFFFFFF, int(self._armed), int(self.ok)
        )
        return [self._frame(beat, now_ns)]

    def _sync(self, now_ns: int) -> list[bytes]:
        if now_ns < self._due["sync"]:
            return []
        self._syncs += 1
        self._due["sync"] = now_ns + (SYNC_BURST_NS if self._syncs < SYNC_BURST else SYNC_NS)
        return [self._frame(m.Sync(now_ns), now_ns)]

    # -- receiving ----------------------------------------------------------------------------

    def _take(self, frame: Frame, message: m.Message, now_ns: int) -> list[Received]:
        match message:
            case m.Identity():
                self._meet(message, now_ns)
                return []
            case m.Opened() if message.nonce == self.settings.nonce and self.state is LinkState.OPENING:
                self._open(message, now_ns)
                return []
            case m.Ack() | m.Nak():
                self._answer(frame, message)
                return []
        if self.state is not LinkState.UP or self.identity is None:
            return []
        if frame.session != self.identity.boot:
            self._move(Signal.RESTARTED, "the node has restarted; nothing that held before holds now")
            return []
        node_us = self._extended(frame.t_us)
        match message:
            case m.SyncReply():
                self._node_us = max(self._node_us, message.sent_us)  # frames carry 32 bits only
                self.clocks.add(Exchange(message.host_ns, message.received_us, message.sent_us, now_ns))
                del self.clocks.raw[:-KEPT_RAW]
                return []
            case m.Event():
                return self._event(message, node_us, now_ns)
            case m.Status():
                self._see(message, node_us, now_ns)
            case m.Telemetry():
                self._count(message.number)
        return [Received(message, node_us, now_ns)]

    def _meet(self, identity: m.Identity, now_ns: int) -> None:
        if self.state is not LinkState.ASKING:
            if self.identity is not None and identity.boot != self.identity.boot:
                self._move(Signal.RESTARTED, "the node has restarted; nothing that held before holds now")
            return
        self.identity = identity
        if identity.fingerprint != m.FINGERPRINT:
            self._move(
                Signal.FOREIGN,
                f"the node's firmware speaks description {identity.fingerprint:08x}, this program "
                f"{m.FINGERPRINT:08x}; flash the firmware of this version",
            )
            return
        if self.settings.build is not None and identity.firmware != self.settings.build:
            self._move(
                Signal.FOREIGN,
                f"the node's firmware is build {identity.firmware:08x}, this program's is {self.settings.build:08x}; "
                "flash the firmware of this version",
            )
            return
        self._due |= {"ask": now_ns, "deadline": now_ns + self.settings.answer_ns}
        self._move(Signal.KNOWN, "")

    def _open(self, opened: m.Opened, now_ns: int) -> None:
        self._session, self._key = opened.session, opened.key
        self._due = {"silent": now_ns + self.settings.silent_ns, "beat": now_ns, "sync": now_ns}
        self._move(Signal.OPENED, "")

    def _answer(self, frame: Frame, message: m.Ack | m.Nak) -> None:
        if isinstance(message, m.Nak) and self.state is LinkState.OPENING:
            if message.refusal == m.Refusal.IN_USE:
                self._move(
                    Signal.IN_USE, f"another {self.settings.role.name.lower()} is in charge of this node"
                )
            return
        flight = self._flight
        if frame.session != self._session or flight is None or frame.seq != flight.seq:
            return
        self._flight = None
        if isinstance(message, m.Ack):
            if isinstance(flight.message, m.Arm):
                self._armed, self._armed_us = True, self._extended(frame.t_us)
            self.outcomes.append(Outcome(flight.ticket, Ending.DONE, detail=message.detail))
            return
        known = message.refusal in m.Refusal.__members__.values()
        refusal = m.Refusal(message.refusal) if known else m.Refusal.NONE
        self.outcomes.append(Outcome(flight.ticket, Ending.REFUSED, refusal, message.detail))
        if refusal is m.Refusal.STALE_SESSION:
            self._move(Signal.RESTARTED, "the node has restarted: it no longer knows this session")

    def _event(self, event: m.Event, node_us: int, now_ns: int) -> list[Received]:
        if self.settings.role is m.Role.CONTROLLER:
            self._urgent.append(self._frame(m.EventAck(event.number), now_ns))
        if event.number in self._events:
            return []
        self._events.append(event.number)
        return [Received(event, node_us, now_ns)]

    def _see(self, status: m.Status, node_us: int, now_ns: int) -> None:
        if self.status is not None and node_us <= self._status_us:
            return
        self.status, self._status_us = status, node_us
        self._due["silent"] = now_ns + self.settings.silent_ns
        if status.state != m.State.ARMED and node_us > self._armed_us:
            self._armed = False

    def _count(self, number: int) -> None:
        last = self._telemetry
        if last is None or 0 < (number - last) & 0xFFFFFFFF < 2**31:
            self.gaps += 0 if last is None else ((number - last) & 0xFFFFFFFF) - 1
            self._telemetry = number

    def _extended(self, t_us: int) -> int:
        ahead = (t_us - self._node_us + 2**31) % 2**32 - 2**31
        node_us = self._node_us + ahead if self._node_us else t_us
        self._node_us = max(self._node_us, node_us)
        return node_us

    def _move(self, signal: Signal, why: str) -> None:
        state = after(self.state, signal)
        if state is self.state:
            return
        self.state, self.why = state, why
        if state in (LinkState.LOST, LinkState.REFUSED, LinkState.CLOSED):
            if self._flight is not None:
                ending = Ending.UNKNOWN if self._flight.tries else Ending.UNSENT
                self.outcomes.append(Outcome(self._flight.ticket, ending))
                self._flight = None
            self._drop_queue()

    def _drop_queue(self) -> None:
        self.outcomes.extend(Outcome(flight.ticket, Ending.UNSENT) for flight in self._queue)
        self._queue.clear()
