"""The bench at this console: what state it is in, who is in control, and the one process that runs trials.

The server's state is the truth; a page only shows it. Everything that changes it says which version it
saw, so that a page that slept, or a second technician, cannot act on what is no longer so. A stop asks for
nothing: any role, any version, at once. It latches, also over a restart of the server, until a technician
resets it with a cause and after looking at the bench.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from rig.console import worker
from rig.console.access import Person
from rig.console.audit import Audit
from rig.console.standing import Standing
from rig.core.bench import load_bench
from rig.core.clock import NS_PER_S, monotonic_ns, nanoseconds, wall_utc
from rig.core.errors import RunError, UsageError
from rig.core.record import Tail
from rig.doctor import Report, examine
from rig.trial.attended import Did, Word
from rig.trial.spec import TrialSpec, trial_folder
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_item, task_names

LOST_NS = nanoseconds(10.0)
"""How long the page of whoever is in control may be silent."""
STOP_ACK_S = 0.5
"""After so long without an answer to a stop the trial is broken into."""
STOP_KILL_S = 8.0
SIGNED_FOR = {
    "simulated": timedelta(hours=8),
    "emulated": timedelta(hours=8),
    "physical": timedelta(minutes=30),
}
BY_HAND = {
    "simulated": {"records": "The records go to the folder this console was started with."},
    "emulated": {
        "records": "The records go to the folder this console was started with.",
        "apart": "No real actuator is wired to the emulated nodes.",
    },
    "physical": {
        "records": "The records go to the folder this console was started with.",
        "estop": "The hardware stop was pressed and released today, and the bench stood still at once.",
        "clear": "Nobody is within reach of the bench; the manikin is in place.",
        "whole": "Nothing on the bench is loose, torn or out of place.",
    },
}
"""What only a person can see, by embodiment of the bench."""


class State(StrEnum):
    """What the bench at this console is doing."""

    IDLE = "idle"
    ARMED = "armed"
    RUNNING = "running"
    STOPPED = "stopped"


class NotNow(RunError):
    """Asked for at the wrong moment; the message says what has to be first."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A preflight that somebody put a name to."""

    report: Report
    by: str
    at: datetime
    expires: datetime


@dataclass(frozen=True, slots=True)
class Running:
    """The trial under way."""

    spec: TrialSpec
    folder: Path
    by: str
    nominal_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """Who stopped the bench, and how soon it was safe."""

    by: str
    role: str
    utc: str
    safe_after_s: float | None


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    ready: bool = False
    safe_ns: int | None = None
    heard: threading.Event = field(default_factory=threading.Event)


class Station:
    """One bench, its state and its process."""

    def __init__(self, bench: str, runs: Path, audit: Audit) -> None:
        self.bench = load_bench(bench)
        self._runs, self._audit = runs, audit
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self.version = 0
        self.busy = ""
        self.problem = ""
        self.report: Report | None = None
        self.signed: Signed | None = None
        self.running: Running | None = None
        self.last: tuple[Path, str, str] | None = None
        self.stopped: Stopped | None = self._latched()
        self.state = State.STOPPED if self.stopped else State.IDLE
        self.control: Person | None = None
        self.asking: Person | None = None
        self._control_seen_ns = 0
        self.pace = 1.0
        self.t_s = self.lag_s = 0.0
        self.standing = Standing(None)
        self._worker: _Worker | None = None
        self._started_ns, self._started_utc = monotonic_ns(), wall_utc()

    def _latched(self) -> Stopped | None:
        """Return the stop that was never reset, from the audit chain: a restart resets nothing."""
        found: Stopped | None = None
        for entry in self._audit.entries():
            if entry.kind == "stop":
                found = Stopped(entry.by, entry.role, entry.utc, None)
            elif entry.kind == "reset" and entry.body.get("result") == "done":
                found = None
        return found

    # --- watching ------------------------------------------------------------------------------

    def wait(self, version: int, timeout_s: float) -> int:
        """Return the version as soon as it is another one, or after a while as it is."""
        with self._changed:
            self._changed.wait_for(lambda: self.version != version, timeout_s)
            return self.version

    def _touch(self) -> None:
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    @property
    def clock_drift_s(self) -> float:
        """How far the wall clock has moved against the monotonic one since the start."""
        passed = (wall_utc() - self._started_utc).total_seconds()
        return passed - (monotonic_ns() - self._started_ns) / NS_PER_S

    @property
    def ready(self) -> bool:
        """Whether a trial can begin at once."""
        return self.state is State.ARMED and self._worker is not None and self._worker.ready

    @property
    def signature_stands(self) -> bool:
        """Whether a preflight is signed, nothing in it is red, and it has not run out."""
        return self.signed is not None and self.signed.report.ok and wall_utc() < self.signed.expires

    def seen(self, person: Person) -> None:
        """Note that the page of a person is there."""
        with self._lock:
            if self.control is not None and person.session == self.control.session:
                self._control_seen_ns = monotonic_ns()

    def control_lost(self) -> bool:
        """Return whether whoever is in control has been silent for too long."""
        return self.control is not None and monotonic_ns() - self._control_seen_ns > LOST_NS

    # --- control -------------------------------------------------------------------------------

    def take_control(self, person: Person) -> None:
        """Take control of the bench, or ask whoever has it to hand it over.

        Raises:
            NotNow: If somebody else has it; they are asked.
        """
        with self._lock:
            if (
                self.control is not None
                and self.control.session != person.session
                and not self.control_lost()
            ):
                self.asking = person
                self._touch()
                raise NotNow(f"{self.control.name} is in control and is asked to hand over")
            self._audit.note(person, "control", "taken")
            self.control, self.asking, self._control_seen_ns = person, None, monotonic_ns()
            self._touch()

    def give_control(self, person: Person) -> None:
        """Hand control over to whoever asks, or let go of it.

        Raises:
            NotNow: If this person is not in control.
        """
        with self._lock:
            self._must_control(person)
            self._audit.note(person, "control", "handed over", to=self.asking.name if self.asking else "")
            self.control, self.asking, self._control_seen_ns = self.asking, None, monotonic_ns()
            self._touch()

    def _must_control(self, person: Person) -> None:
        if self.control is None or self.control.session != person.session:
            who = self.control.name if self.control else "nobody"
            raise NotNow(f"{who} is in control of the bench; take control first")

    def _ask(self, person: Person, version: int, *states: State) -> None:
        """Refuse what is asked for by the wrong person, in the wrong state, or on old knowledge."""
        self._must_control(person)
        if version != self.version:
            raise NotNow("the bench has changed since your page showed it; look again")
        if self.state not in states:
            raise NotNow(f"the bench is {self.state.value}; this needs {' or '.join(states)}")
        if self.busy:
            raise NotNow(f"the bench is busy: {self.busy}")

    # --- preflight -----------------------------------------------------------------------------

    def preflight(self, person: Person) -> Report:
        """Examine the bench; takes seconds.

        Raises:
            NotNow: If the bench is in use.
        """
        with self._lock:
            if self.state in (State.ARMED, State.RUNNING) or self.busy:
                raise NotNow(f"the bench is {self.busy or self.state.value}; a preflight needs it idle")
            self.busy = "being examined"
            self._touch()
        try:
            report = self._examined()
        finally:
            with self._lock:
                self.busy = ""
        with self._lock:
            self.report, self.signed = report, None
            self._audit.note(person, "preflight", "green" if report.ok else "red", report=report.digest())
            self._touch()
        return report

    def _examined(self) -> Report:
        """Examine in a process of its own: compiling what moves the bench would hold up the page."""
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as pool:
            return pool.submit(examine, self.bench.name, self._runs).result()

    def sign(self, person: Person, digest: str, confirmed: Sequence[str]) -> None:
        """Put a name to a preflight.

        Raises:
            NotNow: If there is none, it is another one, or something is red.
            UsageError: If something was not confirmed.
        """
        with self._lock:
            self._must_control(person)
            if self.report is None or self.report.digest() != digest:
                raise NotNow("that is not the latest preflight; look at it again")
            if not self.report.ok:
                raise NotNow(f"{self.report.reds[0].title} is red; put it right and examine again")
            if missing := [text for name, text in self.by_hand.items() if name not in confirmed]:
                raise UsageError(f"not confirmed: {missing[0]}")
            now = wall_utc()
            expires = now + SIGNED_FOR[self.bench.embodiment]
            self._audit.note(
                person,
                "sign",
                "done",
                report=digest,
                confirmed=[*sorted(confirmed)],
                expires=expires.isoformat(),
            )
            self.signed = Signed(self.report, person.name, now, expires)
            self._touch()

    @property
    def by_hand(self) -> Mapping[str, str]:
        """What only a person can see."""
        return BY_HAND[self.bench.embodiment]

    # --- arming and running --------------------------------------------------------------------

    def arm(self, person: Person, version: int) -> None:
        """Make ready: from here on a trial starts at once.

        Raises:
            NotNow: If the preflight is not signed, or has run out.
        """
        with self._lock:
            self._ask(person, version, State.IDLE)
            if not self.signature_stands:
                raise NotNow("the preflight is not signed, or its signature has run out")
            self._audit.note(person, "arm", "done")
            self._start_worker()
            self.state, self.problem = State.ARMED, ""
            self._touch()

    def disarm(self, person: Person, version: int) -> None:
        """Go back to idle."""
        with self._lock:
            self._ask(person, version, State.ARMED)
            self._audit.note(person, "disarm", "done")
            self._end_worker()
            self.state = State.IDLE
            self._touch()

    def start(self, person: Person, version: int, spec: TrialSpec, pace: float) -> Running:
        """Start a trial; a retry is a new trial with its own id.

        Raises:
            NotNow: If the bench is not armed and ready.
            UsageError: If the trial cannot be, or its record exists.
        """
        item = load_item(spec.item)
        with self._lock:
            self._ask(person, version, State.ARMED)
            made = self._worker
            if made is None or not made.ready:
                raise NotNow("the monitor is still being prepared; a moment")
            if not self.signature_stands:
                raise NotNow("the signature of the preflight has run out; examine and sign again")
            folder = trial_folder(self._runs, spec)
            if folder.exists():
                raise UsageError(f"{folder.name}: this very trial is on record; take another seed or repeat")
            self._audit.note(person, "start", "done", item=spec.item, agent=spec.agent, seed=spec.seed)
            self.pace, self.t_s, self.lag_s = pace, 0.0, 0.0
            self.running = Running(spec, folder, person.name, item.length.nominal_s, item.length.limit_s)
            self.standing = Standing(
                load_rules(rule_files(item.task.name), load_bench(item.task.bench(spec.bench)).layout)
            )
            self.state = State.RUNNING
            signed = self.signed.by if self.signed else ""
            by = Word(Did.STARTED, person.name, person.role.value, f"preflight signed by {signed}")
            made.pipe.send(worker.Run(spec, folder, pace, by))
            threading.Thread(target=self._follow, args=(self.running,), name="follow", daemon=True).start()
            self._touch()
            return self.running

    def say(self, person: Person, did: Did, text: str) -> None:
        """Put a note, or the acknowledgement of a prompt, on the record of the trial under way.

        Raises:
            NotNow: If no trial runs.
        """
        with self._lock:
            if self.state is not State.RUNNING or self._worker is None:
                raise NotNow("no trial is running; notes are of a trial")
            self._worker.pipe.send(Word(did, person.name, person.role.value, text))

    def set_pace(self, person: Person, pace: float) -> None:
        """Run a simulated trial faster or slower.

        Raises:
            NotNow: If this person is not in control or no trial runs.
            UsageError: If the bench has its own time.
        """
        with self._lock:
            self._must_control(person)
            if self.bench.embodiment != "simulated":
                raise UsageError("only a simulated bench can run at another pace than its own")
            if self.state is not State.RUNNING or self._worker is None:
                raise NotNow("no trial is running")
            self.pace = pace
            self._worker.pipe.send(worker.Pace(pace))
            self._touch()

    # --- stopping ------------------------------------------------------------------------------

    def stop(self, person: Person) -> float | None:
        """Stop everything, whoever asks and whatever state it is in; latches.

        Returns:
            Seconds from here to the bench being safe; None where nothing answered in time, and the
            trial was broken into.
        """
        asked_ns = monotonic_ns()
        with self._lock:
            made, was = self._worker, self.state
            if made is not None:
                made.heard.clear()
                with contextlib.suppress(OSError):
                    made.pipe.send(Word(Did.STOPPED, person.name, person.role.value))
            self.state = State.STOPPED
            self.stopped = Stopped(
                person.name, person.role.value, wall_utc().isoformat(timespec="seconds"), None
            )
            self._touch()
        safe_s: float | None = 0.0
        if made is not None:
            safe_s = (
                (made.safe_ns or 0) / NS_PER_S - asked_ns / NS_PER_S if made.heard.wait(STOP_ACK_S) else None
            )
            if safe_s is None and was is State.RUNNING:
                self._break_in(made)
        with self._lock:
            self.stopped = Stopped(
                person.name, person.role.value, self.stopped.utc if self.stopped else "", safe_s
            )
            with contextlib.suppress(RunError):  # a full disk must not keep anybody from stopping
                self._audit.note(person, "stop", "done", was=was.value, safe_after_s=safe_s)
            self._touch()
        return safe_s

    def _break_in(self, made: _Worker) -> None:
        """Interrupt a trial that hears nobody, and end it for good if that does not help."""
        if made.process.pid is not None:
            with contextlib.suppress(OSError):
                os.kill(made.process.pid, signal.SIGUSR1)

        def end() -> None:
            made.process.join(STOP_KILL_S)
            if made.process.is_alive() and not made.heard.is_set():
                made.process.kill()

        threading.Thread(target=end, daemon=True).start()

    def reset(self, person: Person, version: int, cause: str, looked: bool) -> None:
        """Leave the stopped state, with a cause and after looking at the bench.

        Raises:
            NotNow: If the bench is not stopped, or a trial is still closing its record.
            UsageError: If the cause or the look at the bench is missing.
        """
        with self._lock:
            self._ask(person, version, State.STOPPED)
            if self.running is not None:
                raise NotNow("the trial is still closing its record; a moment")
            if len(cause.strip()) < 3:
                raise UsageError("say what the cause was")
            if not looked:
                raise UsageError("go to the bench and look; then confirm that it is safe to go on")
            self._audit.note(person, "reset", "done", cause=cause.strip(), looked=True)
            self._end_worker()
            self.state, self.stopped, self.problem = State.IDLE, None, ""
            self.signed = None  # after a stop the bench is examined anew
            self._touch()

    # --- the process ---------------------------------------------------------------------------

    def _start_worker(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=worker.main, args=(theirs, task_names(), self.bench.name), daemon=False
        )
        process.start()
        theirs.close()
        self._worker = _Worker(process, ours)
        threading.Thread(target=self._listen, args=(self._worker,), name="worker", daemon=True).start()

    def _end_worker(self) -> None:
        made, self._worker = self._worker, None
        if made is not None:
            made.pipe.close()

    def _listen(self, made: _Worker) -> None:
        """Take in what the worker says until it is gone."""
        while True:
            try:
                said = made.pipe.recv()
            except (EOFError, OSError):
                self._worker_gone(made)
                return
            with self._lock:
                match said:
                    case worker.Ready():
                        made.ready = True
                        self._touch()
                    case worker.Reached(t_s, lag_s):
                        self.t_s, self.lag_s = t_s, lag_s
                    case worker.Safe(at_ns):
                        made.safe_ns = at_ns
                        made.heard.set()
                    case worker.Over(ending, reason, fault):
                        self._over(ending, reason, fault)

    def _over(self, ending: str, reason: str, fault: bool) -> None:
        if self.running is not None:
            self.last = (self.running.folder, ending, reason)
            self.running = None
        if fault:
            self.problem = reason
        if self.state is State.RUNNING:
            self.state = State.ARMED
        self._touch()

    def _worker_gone(self, made: _Worker) -> None:
        with self._lock:
            if self._worker is not made:
                return
            self._worker = None
            if self.running is not None:
                self.problem = "the process that ran the trial died; its record is torn: see runrig recover"
                self.last = (self.running.folder, "torn", self.problem)
                self.running = None
            if self.state in (State.ARMED, State.RUNNING):
                self.state = State.IDLE
            self._touch()

    def _follow(self, running: Running) -> None:
        """Keep what stands up to date from the record itself, as any other reader would."""
        tail, pause = Tail(running.folder), threading.Event()
        while self.running is running:
            pause.wait(0.1)
            try:
                events = tail.events()
            except RunError:
                continue
            if events:
                with self._lock:
                    self.standing.take(events)
                self._touch()
            if self.control_lost():
                self._lost(running)

    def _lost(self, running: Running) -> None:
        """Do what is declared for the page of whoever is in control having gone silent."""
        with self._lock:
            gone, self.control = self.control, None
            self._touch()
        if gone is None:
            return
        if self.bench.embodiment == "physical":
            self._audit.note(gone, "lost", "stopped")
            self.stop(gone)
            return
        self._audit.note(gone, "lost", "goes on")
        with contextlib.suppress(NotNow):
            self.say(gone, Did.NOTED, "the page in control is gone; the trial goes on, control is free")

    def close(self) -> None:
        """End with the server: a trial under way is stopped and its record closed."""
        made = self._worker
        self._end_worker()
        if made is not None:
            made.process.join(10)
