"""The monitor's own heartbeat: beside the monitor's loop, in its process, on its own port of the node.

It says that it lives only while the loop does, and withholds its consent when the loop stops the trial.
A monitor that is killed, paused, late or cut off says nothing, and the node makes itself safe.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge import messages as m
from firmware_bridge.link import Link, settings
from firmware_bridge.session import Session
from firmware_bridge.states import LinkState
from rig.core.clock import Clock, MonotonicClock
from rig.core.errors import RigFault

LOOK_NS = 4_000_000
GRACE_NS = 25_000_000
"""A look holds for so long: a heart that is late itself says nothing."""
AGAIN_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Heart:
    """Keeps the heartbeat going; picklable, so that it can be handed to the monitor's process.

    Attributes:
        port: The monitor's port of the node.
        enforces: Whether a stop of the monitor withholds consent; in shadow mode it only has to live.
    """

    port: str
    enforces: bool

    def __call__(self, alive: Callable[[], bool], stopped: Callable[[], bool]) -> None:
        """Beat until the parent process is gone; opens the link again when the node restarts."""
        clock, parent = MonotonicClock(), os.getppid()
        while os.getppid() == parent:
            try:
                with Link(self.port, settings(m.Role.MONITOR), clock) as link:
                    while link.seen(lambda s: s.state) is LinkState.UP and os.getppid() == parent:
                        self._beat(link, clock, alive(), stopped())
                        clock.sleep_until(clock.now_ns() + LOOK_NS)
            except RigFault:
                clock.sleep_until(clock.now_ns() + AGAIN_NS)
        os._exit(0)  # nobody is left to permit anything to

    def _beat(self, link: Link, clock: Clock, alive: bool, stopped: bool) -> None:
        now_ns = clock.now_ns()

        def look(session: Session) -> None:
            session.ok = not (self.enforces and stopped)
            if alive:
                session.beats_until_ns = now_ns + GRACE_NS

        link.seen(look)
