"""A trial that somebody outside decides in: opened, stepped and closed from asynchronous code.

The rig itself is synchronous and compiled; it runs in one worker thread at a time, so that the event loop stays free.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from rig.core.agent import Consulted, Decision, Observation
from rig.core.clock import Clock, MonotonicClock, seconds
from rig.core.errors import UsageError
from rig.core.event import Json
from rig.core.malformed import Malformed
from rig.core.tools import Action, CallHuman, Stop
from rig.trial.run import open_session
from rig.trial.session import Session
from rig.trial.spec import TrialSpec
from rig.trial.think import ThinkMode, parse_think

LOOK_S = 0.05
"""How finely a bench that does not wait goes on between two decisions."""

_R = TypeVar("_R")


class Desk:
    """Where one outside agent sits: one trial, one decision at a time.

    Args:
        spec: The trial.
        folder: Where its record goes.
        described: What there is to the agent beside its name.
        clock: Times the decisions.

    Attributes:
        session: The trial.
        waits: Whether the bench waits for decisions; if not, somebody must run `keep_going`.
    """

    session: Session

    def __init__(
        self, spec: TrialSpec, folder: Path, described: Mapping[str, Json], clock: Clock | None = None
    ) -> None:
        self._manager = open_session(spec, folder, described)
        self._clock = clock or MonotonicClock()
        self.waits = parse_think(spec.think).mode is not ThinkMode.REALTIME
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
            UsageError: If the job is over, which it may be since the last reply where the bench does not wait.
            RigFault: If the rig misbehaves.
        """
        if self._one.locked() and isinstance(action, Stop | CallHuman):
            self.session.interrupt()  # these are accepted in the middle of a move
        async with self._one:
            if self.session.result is not None:
                raise UsageError(f"the job is over: {self.session.result.reason}")
            now_ns = self._clock.now_ns()
            think_s, consulted = self._thought or (seconds(now_ns - self._replied_ns), None)
            self._thought = None
            try:
                return await self._run(self.session.step, Decision(action, think_s, consulted))
            finally:
                self._replied_ns = self._clock.now_ns()

    async def keep_going(self) -> None:
        """Let the bench go on between decisions at the pace of the clock, until the job is over.

        Raises:
            RigFault: If the rig misbehaves.
        """
        last_ns = self._clock.now_ns()
        while self.session.result is None:
            await anyio.sleep(LOOK_S)
            now_ns = self._clock.now_ns()
            if not self._one.locked():  # an action under way takes job time itself
                async with self._one:
                    await self._run(self.session.wait, seconds(now_ns - last_ns))
            last_ns = now_ns

    async def _run(self, does: Callable[..., _R], *arguments: object) -> _R:
        """Let the rig do something in its thread; the trial is closed if that fails."""
        try:
            return await to_thread.run_sync(does, *arguments)
        except BaseException as error:
            await self._close(error)
            raise

    async def remark(self, source: str, text: str) -> None:
        """Put on record what was asked for by somebody who may not have it."""
        async with self._one:
            await to_thread.run_sync(self.session.remark, source, text)

    async def close(self, error: BaseException | None = None) -> None:
        """End the trial if it has not ended, and close its record; safe to call again.

        What is under way is cut short: nobody is there any more to whom it could be answered.
        """
        if not hasattr(self, "session"):
            return
        with anyio.CancelScope(shield=True):
            if self._one.locked():
                self.session.interrupt()
            async with self._one:
                await self._close(error)

    async def _close(self, error: BaseException | None) -> None:
        if self._closed:
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
