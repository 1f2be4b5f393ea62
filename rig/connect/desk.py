"""A trial that somebody outside decides in: opened, stepped and closed from asynchronous code.

The rig itself is synchronous and compiled; it runs in one worker thread at a time, so that the event loop stays free.
"""

from collections.abc import Mapping
from pathlib import Path

import anyio
from anyio import to_thread

from rig.core.agent import Consulted, Decision, Observation
from rig.core.clock import MonotonicClock, seconds
from rig.core.event import Json
from rig.core.tools import Action, CallHuman, Malformed, Stop
from rig.trial.run import open_session
from rig.trial.session import Session
from rig.trial.spec import TrialSpec


class Desk:
    """Where one outside agent sits: one trial, one decision at a time.

    Attributes:
        session: The trial.
    """

    session: Session

    def __init__(self, spec: TrialSpec, folder: Path, described: Mapping[str, Json]) -> None:
        self._manager = open_session(spec, folder, described)
        self._clock = MonotonicClock()
        self._replied_ns = 0
        self._closed = False
        self._one = anyio.Lock()
        self._thought: tuple[float, Consulted | None] | None = None

    async def open(self) -> None:
        """Begin the trial.

        Raises:
            UsageError: If something asked for does not exist.
            RigFault: If the rig cannot begin.
        """
        self.session = await to_thread.run_sync(self._manager.__enter__)
        self._replied_ns = self._clock.now_ns()

    def thought(self, think_s: float, consulted: Consulted | None) -> None:
        """Say how long the next decision took, where that is known better than by the clock here."""
        self._thought = (think_s, consulted)

    async def step(self, action: Action | Malformed) -> Observation:
        """Carry out one decision; the trial is closed if that fails.

        The time since the last reply is the time it took to decide, unless `thought` said otherwise.

        Raises:
            UsageError: If the job is over.
            RigFault: If the rig misbehaves.
        """
        if self._one.locked() and isinstance(action, Stop | CallHuman):
            self.session.interrupt()  # these are accepted in the middle of a move
        async with self._one:
            now_ns = self._clock.now_ns()
            think_s, consulted = self._thought or (seconds(now_ns - self._replied_ns), None)
            self._thought = None
            decision = Decision(action, think_s, consulted)
            try:
                return await to_thread.run_sync(self.session.step, decision)
            except BaseException as error:
                await self.close(error)
                raise
            finally:
                self._replied_ns = self._clock.now_ns()

    async def wait(self, for_s: float) -> None:
        """Let the bench go on for a while, unless an action is under way."""
        if not self._one.locked():
            async with self._one:
                await to_thread.run_sync(self.session.wait, for_s)

    async def remark(self, source: str, text: str) -> None:
        """Put on record what was asked for by somebody who may not have it."""
        async with self._one:
            await to_thread.run_sync(self.session.remark, source, text)

    async def close(self, error: BaseException | None = None) -> None:
        """End the trial if it has not ended, and close its record; safe to call again."""
        if self._closed or not hasattr(self, "session"):
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._leave, error)

    def _leave(self, error: BaseException | None) -> None:
        try:
            self._manager.__exit__(type(error) if error else None, error, None)
        except BaseException as raised:
            if raised is not error:
                raise
