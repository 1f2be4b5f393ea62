"""The bench at this console: what state it is in, who is in control, and the one process that runs trials.

The server's state is the truth; a page only shows it. Everything that changes it says which version it
saw, so that a page that slept, or a second technician, cannot act on what is no longer so. A stop asks for
nothing: any role, any version, at once. It latches, also over a restart of the server, until a technician
resets it with a cause and after looking at the bench.
"""

import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.console import preflight, worker
from rig.console.access import Person
from rig.console.audit import Audit
from rig.console.bench_state import Drift, Latch, NotNow, State
from rig.console.control import Control
from rig.console.holders import Holders
from rig.console.process import STOP_ACK_S, Said, TrialProcess
from rig.console.seat import Asked, Briefed
from rig.console.under_way import UnderWay, under_way
from rig.core.bench import load_bench
from rig.core.clock import NS_PER_S, monotonic_ns
from rig.core.errors import UsageError
from rig.core.event import Json
from rig.doctor import Report
from rig.trial.attended import Did, Word
from rig.trial.spec import TrialSpec
from tasks.suite import task_names


class Station:
    """One bench, its state and its process.

    Attributes:
        version: Goes up with every change that whoever acts must have seen.
        news: Goes up with every change that a page shows.
    """

    def __init__(self, bench: str, runs: Path, audit: Audit, holders: Holders) -> None:
        self.bench = load_bench(bench)
        self._runs, self._audit, self._holders = runs, audit, holders
        holders.add(self.held)
        self._lock = threading.RLock()
        self.version = self.news = 0
        self.busy = ""
        self.problem = ""
        self.examination = preflight.Examination(self.bench.embodiment)
        self.running: UnderWay | None = None
        self.last: tuple[Path, str, str] | None = None
        self.latch = Latch(audit)
        self.state = State.STOPPED if self.latch.stopped else State.IDLE
        self.control = Control()
        self._process: TrialProcess | None = None
        self.drift = Drift()

    # --- watching ------------------------------------------------------------------------------

    def _touch(self) -> None:
        """Note a change that whoever acts must have seen."""
        self.version += 1
        self.news += 1

    @property
    def ready(self) -> frozenset[str]:
        """Tasks a trial of which can begin at once."""
        return self._process.ready if self.state is State.ARMED and self._process else frozenset()

    @property
    def unfit(self) -> Mapping[str, str]:
        """Tasks this bench cannot bear, and why, as far as is known since it was armed."""
        return self._process.unfit if self._process else {}

    def held(self) -> Mapping[str, str]:
        """Return the bench where trials of this console hold it: not idle, or busy, or stopped and not reset."""
        if self.state is State.IDLE and not self.busy:
            return {}
        return {self.bench.name: f"at this console it is {self.busy or self.state.value}"}

    def seen(self, person: Person) -> None:
        """Note that the page of a person is there."""
        with self._lock:
            self.control.seen(person)

    # --- control -------------------------------------------------------------------------------

    def take_control(self, person: Person) -> None:
        """Take control of the bench, or ask whoever has it to hand it over.

        Raises:
            NotNow: If somebody else has it; they are asked.
        """
        with self._lock:
            if (holder := self.control.taken_from(person)) is not None:
                self.control.asking = person
                self._touch()
                raise NotNow(f"{holder.name} is in control and is asked to hand over")
            self._audit.note(person, "control", "taken")
            self.control.give_to(person)
            self._touch()

    def give_control(self, person: Person) -> None:
        """Hand control over to whoever asks, or let go of it.

        Raises:
            NotNow: If this person is not in control.
        """
        with self._lock:
            self.control.demand(person)
            to = self.control.asking
            self._audit.note(person, "control", "handed over", to=to.name if to else "")
            self.control.give_to(to)
            self._touch()

    def _ask(self, person: Person, version: int, *states: State) -> None:
        """Refuse what is asked for by the wrong person, in the wrong state, or on old knowledge."""
        self.control.demand(person)
        if version != self.version:
            raise NotNow("the bench has changed since your page showed it; look again")
        if self.state not in states:
            raise NotNow(f"the bench is {self.state.value}; this needs {' or '.join(states)}")
        if self.busy:
            raise NotNow(f"the bench is busy: {self.busy}")

    # --- preflight -----------------------------------------------------------------------------

    def preflight(self, person: Person) -> Report:
        """Examine the bench; takes seconds, and moves its actuators.

        Raises:
            NotNow: If this person is not in control, or the bench is in use.
        """
        with self._lock:
            self.control.demand(person)
            if self.state in (State.ARMED, State.RUNNING) or self.busy:
                raise NotNow(f"the bench is {self.busy or self.state.value}; a preflight needs it idle")
            with self._holders.free_of_others([self.bench.name], self.held):
                self.busy = "being examined"
            self._touch()
        try:
            report = preflight.examined(self.bench.name, self._runs)
        finally:
            with self._lock:
                self.busy = ""
        with self._lock:
            self.examination.renew(report)
            self._audit.note(person, "preflight", "green" if report.ok else "red", report=report.digest())
            self._touch()
        return report

    def sign(self, person: Person, digest: str, confirmed: Sequence[str]) -> None:
        """Put a name to a preflight.

        Raises:
            NotNow: If there is none, it is another one, or something is red.
            UsageError: If something was not confirmed.
        """
        with self._lock:
            self.control.demand(person)
            made = self.examination.signature(digest, person.name, confirmed)
            said: dict[str, Json] = {
                "report": digest,
                "confirmed": [*sorted(confirmed)],
                "expires": made.expires.isoformat(),
            }
            self._audit.note(person, "sign", "done", **said)
            self.examination.signed = made
            self._touch()

    # --- arming and running --------------------------------------------------------------------

    def arm(self, person: Person, version: int, first: str = "") -> None:
        """Make ready, task by task: a trial of a task that is ready starts at once.

        Raises:
            NotNow: If the preflight is not signed, or has run out, or a campaign runs on the bench.
            UsageError: If there is no task of the name to begin with.
        """
        tasks = task_names()
        if first and first not in tasks:
            raise UsageError(f"no task {first!r}; choose from {', '.join(tasks)}")
        tasks = tuple(sorted(tasks, key=lambda name: name != first))
        with self._lock:
            self._ask(person, version, State.IDLE)
            if not self.examination.stands:
                raise NotNow("the preflight is not signed, or its signature has run out")
            with self._holders.free_of_others([self.bench.name], self.held):
                self._audit.note(person, "arm", "done")
                self._process = TrialProcess(tasks, self.bench.name, self._hear, self._process_gone)
                self.state, self.problem = State.ARMED, ""
            self._touch()

    def disarm(self, person: Person, version: int) -> None:
        """Go back to idle."""
        with self._lock:
            self._ask(person, version, State.ARMED)
            self._audit.note(person, "disarm", "done")
            self._end_process()
            self.state = State.IDLE
            self._touch()

    def start(self, person: Person, version: int, spec: TrialSpec, pace: float) -> None:
        """Start a trial; a retry is a new trial with its own id.

        Raises:
            NotNow: If the bench is not armed and ready.
            UsageError: If the trial cannot be, or its record exists.
        """
        trial = under_way(spec, self._runs, person.name, pace)
        with self._lock:
            self._ask(person, version, State.ARMED)
            made = self._process
            task = spec.item.split("/")[0]
            if made is not None and task in made.unfit:
                raise UsageError(f"{self.bench.name} cannot bear {task}: {made.unfit[task]}")
            if made is None or task not in made.ready:
                raise NotNow(f"the monitor of {task} is still being prepared; a moment")
            if not self.examination.stands:
                raise NotNow("the signature of the preflight has run out; examine and sign again")
            if trial.folder.exists():
                raise UsageError(
                    f"{trial.folder.name}: this very trial is on record; take another seed or repeat"
                )
            self._audit.note(person, "start", "done", item=spec.item, agent=spec.agent, seed=spec.seed)
            self.running, self.state = trial, State.RUNNING
            signed = self.examination.signed.by if self.examination.signed else ""
            by = Word(Did.STARTED, person.name, person.role.value, f"preflight signed by {signed}")
            trial.begin(made, by)
            threading.Thread(target=self._follow, args=(trial,), name="follow", daemon=True).start()
            self._touch()

    def say(self, person: Person, did: Did, text: str) -> None:
        """Put a note, or the acknowledgement of a prompt, on the record of the trial under way.

        Raises:
            NotNow: If no trial runs.
        """
        with self._lock:
            self._trial.say(person, did, text)

    def decide(self, person: Person, observation_id: int, tool: str, arguments: Mapping[str, Any]) -> None:
        """Do the next thing in a job that is done by a person: whoever is in control of the bench.

        Raises:
            NotNow: If this person is not in control, no person does the job, or nothing is asked.
            UsageError: If the call cannot be understood; says what is wrong.
        """
        with self._lock:
            self.control.demand(person)
            self._trial.decide(person, observation_id, tool, arguments)
            self.news += 1

    def set_pace(self, person: Person, pace: float) -> None:
        """Run a simulated trial faster or slower.

        Raises:
            NotNow: If this person is not in control or no trial runs.
            UsageError: If the bench has its own time, or a person does the job.
        """
        with self._lock:
            self.control.demand(person)
            if self.bench.embodiment != "simulated":
                raise UsageError("only a simulated bench can run at another pace than its own")
            self._trial.set_pace(pace)
            self._touch()

    @property
    def _trial(self) -> UnderWay:
        """The trial under way.

        Raises:
            NotNow: If none is.
        """
        if self.state is not State.RUNNING or self.running is None:
            raise NotNow("no trial is running")
        return self.running

    # --- stopping ------------------------------------------------------------------------------

    def stop(self, person: Person) -> float | None:
        """Stop everything, whoever asks and whatever state it is in; latches.

        Returns:
            Seconds from here to the bench being safe; None where nothing answered in time, and the
            trial was broken into.
        """
        asked_ns = monotonic_ns()
        with self._lock:
            was, moving = self.state, self._process if self.running is not None else None
            if moving is not None:
                moving.ask_to_stop(Word(Did.STOPPED, person.name, person.role.value))
            self.state = State.STOPPED
            self.latch.trip(person)
            self._touch()
        safe_ns = monotonic_ns() if moving is None else moving.safe_within(STOP_ACK_S)
        safe_s = None if safe_ns is None else (safe_ns - asked_ns) / NS_PER_S
        if moving is not None and safe_s is None:
            moving.break_in()
        with self._lock:
            self.latch.settle(person, was, safe_s)
            self._touch()
        return safe_s

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
            self.latch.release(person, cause, looked)
            self._end_process()
            self.state, self.problem = State.IDLE, ""
            self.examination.signed = None  # after a stop the bench is examined anew
            self._touch()

    # --- the process ---------------------------------------------------------------------------

    def _end_process(self) -> TrialProcess | None:
        made, self._process = self._process, None
        if made is not None:
            made.let_go()
        return made

    def _hear(self, made: TrialProcess, said: Said) -> None:
        """Take in what the process says."""
        with self._lock:
            match said:
                case worker.Ready() | worker.Unfit():
                    self.news += 1
                case worker.Reached() | Briefed() | Asked():
                    self.news += self.running is not None and self.running.hear(said)
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

    def _process_gone(self, made: TrialProcess) -> None:
        with self._lock:
            if self._process is not made:
                return
            self._process = None
            if self.running is not None:
                self.problem = "the process that ran the trial died; its record is torn: see runrig recover"
                self.last = (self.running.folder, "torn", self.problem)
                self.running = None
            if self.state in (State.ARMED, State.RUNNING):
                self.state = State.IDLE
            self._touch()

    def _follow(self, trial: UnderWay) -> None:
        """Keep what stands in a trial up to date, and mind whether anybody is in control of it."""
        for events, frames in trial.news():
            if self.running is not trial:
                return
            if events or frames:
                with self._lock:
                    trial.take(events, frames)
                    self.news += 1
            if self.control.lost:
                self._lost()

    def _lost(self) -> None:
        """Do what is declared for the page of whoever is in control having gone silent."""
        with self._lock:
            gone = self.control.holder
            self.control.give_to(None)
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
        made = self._end_process()
        if made is not None:
            made.wait()
