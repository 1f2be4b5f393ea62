"""The real firmware, built by the system's C compiler, in virtual time; and wires to it."""

from pathlib import Path

import numpy as np
import pytest

from firmware_bridge import messages as m
from firmware_bridge.build import LIBRARY, TARGETS, image, why_no_tool
from firmware_bridge.faults import FaultyWire, WireFaults
from firmware_bridge.host_node import HostNode as Node
from firmware_bridge.session import Outcome, Received, Session, Settings
from firmware_bridge.states import LinkState

MS = 1_000_000
PERFECT = WireFaults()


def built(target: str) -> Path:
    """Return a product of the firmware's Makefile; skip the test where it cannot be built."""
    if problem := why_no_tool("make", TARGETS[target]):
        pytest.skip(problem)
    return image(target)


class Wire:
    """A session joined to a port of the node by two faulty wires."""

    def __init__(self, session: Session, port: int, faults: WireFaults, seed: int) -> None:
        rngs = [np.random.default_rng([seed, port, way]) for way in range(2)]
        self.session, self.port = session, port
        self.to_node, self.to_host = (FaultyWire(faults, rng) for rng in rngs)
        self.received: list[Received] = []
        self.outcomes: dict[int, Outcome] = {}
        self.frozen = False  # the host process is stopped

    def exchange(self, node: Node, now_ns: int) -> None:
        if not self.frozen:
            self.to_node.put(self.session.poll(now_ns), now_ns)
        if data := self.to_node.take(now_ns):
            node.receive(self.port, data)
        self.to_host.put(node.take(self.port), now_ns)
        if not self.frozen:
            self.received += self.session.receive(self.to_host.take(now_ns), now_ns)
        while self.session.outcomes:
            outcome = self.session.outcomes.popleft()
            assert outcome.ticket not in self.outcomes, "a command ended twice"
            self.outcomes[outcome.ticket] = outcome


class Stage:
    """A node with a controller and a monitor, in virtual time."""

    def __init__(
        self, faults: WireFaults = PERFECT, seed: int = 1, heartbeat_ms: int = 100, **settings
    ) -> None:
        built(LIBRARY)
        self.node = Node(heartbeat_ms, seed)
        self.host_ahead_ns = 5_000_000_000  # the host's clock started earlier
        self.settings = settings
        self.controller = self.join(m.Role.CONTROLLER, 0, faults, seed)
        self.monitor = self.join(m.Role.MONITOR, 1, faults, seed)
        self.wires = [self.controller, self.monitor]

    def join(
        self, role: m.Role, port: int, faults: WireFaults = PERFECT, seed: int = 1, nonce: int = 77
    ) -> Wire:
        session = Session(Settings(role=role, nonce=nonce + role, **self.settings))
        session.start(self.now_ns)
        return Wire(session, port, faults, seed)

    @property
    def now_ns(self) -> int:
        return self.node.now_us * 1000 + self.host_ahead_ns

    def run(self, ms: float, step_us: int = 1000) -> None:
        for _ in range(round(ms * 1000 / step_us)):
            self.node.advance(step_us)
            for wire in self.wires:
                wire.exchange(self.node, self.now_ns)

    def do(self, message: m.Message, wire: Wire | None = None, within_ms: int = 2000) -> Outcome:
        wire = wire or self.controller
        ticket = wire.session.submit(message)
        for _ in range(within_ms):
            self.run(1)
            if ticket in wire.outcomes:
                return wire.outcomes[ticket]
        raise AssertionError(f"{message} never ended")

    def up(self) -> "Stage":
        for _ in range(20):
            self.run(100)
            if self.controller.session.state is self.monitor.session.state is LinkState.UP:
                break
        assert self.controller.session.state is self.monitor.session.state is LinkState.UP
        return self

    def armed(self) -> "Stage":
        self.up()
        outcome = self.do(m.Arm())
        assert outcome.ending == "done", outcome
        assert self.node.state is m.State.ARMED
        return self

    def setpoints(self, lease_ms: int, **counts: int) -> m.Setpoints:
        values = [0] * 16
        mask = 0
        for name, value in counts.items():
            i = [o.name.replace(".", "_") for o in m.OUTPUTS].index(name)
            values[i], mask = value, mask | 1 << i
        return m.Setpoints((self.node.now_us + lease_ms * 1000) & 0xFFFFFFFF, mask, tuple(values))
