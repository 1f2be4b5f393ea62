"""Campaigns seen and worked from the page.

A campaign is run by the command of that name, in a process of its own: the page can start nothing that the
command would refuse, and what it started goes on when the console ends. Which campaigns run is told by their
locks, never by memory, so a console started anew finds them.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rig.campaign import Ledger
from rig.campaign.entries import PHYSICAL, CampaignStatus
from rig.campaign.grid import lay_out
from rig.campaign.lock import coordinator_of
from rig.campaign.plan import load_plan
from rig.campaign.storage import FILE as LEDGER
from rig.console.access import Person
from rig.console.audit import Audit
from rig.console.bench_state import NotNow
from rig.console.holders import Holders
from rig.core.errors import RunError, UsageError

EARLY_S = 20.0
"""How long a start is watched: what is wrong with a plan shows before the first trial."""
LOOK_S = 0.2
LAST_WORDS = 2000


@dataclass(frozen=True, slots=True)
class Offer:
    """A plan that may be started.

    Attributes:
        name: Its file, without the ending.
        text: What it is about, or what is wrong with it.
        trials: How many trials; 0 where it cannot be run from here.
        job_s: Their jobs' lengths together.
        missing: What it would have to say before it could be registered.
        begun: Whether its folder is there: a start goes on with it.
        problem: Why it cannot be started from here; empty where it can.
        benches: Names of the benches it runs on.
    """

    name: str
    text: str
    trials: int
    job_s: float
    missing: tuple[str, ...]
    begun: bool
    problem: str
    benches: frozenset[str] = frozenset()


class Campaigns:
    """The campaigns of a runs folder, and the plans beside them.

    Args:
        runs: Folder of records; a campaign's folder is in it and has the name of its plan file.
        plans: Folder of plans.
        audit: Where it is written down who starts and stops them.
        holders: Who else uses benches here.
    """

    def __init__(self, runs: Path, plans: Path, audit: Audit, holders: Holders) -> None:
        self._runs, self._plans, self._audit, self._holders = runs, plans, audit, holders
        holders.add(self.held)
        self._lock = threading.Lock()
        self._ours: dict[Path, subprocess.Popen[bytes]] = {}
        self._known: dict[Path, tuple[int, Offer]] = {}

    def folders(self) -> list[Path]:
        """Return the folders of campaigns: the runs folder, those in it, or the one it is in."""
        here = [self._runs, self._runs.parent, *sorted(p for p in self._runs.iterdir() if p.is_dir())]
        return [folder for folder in here if (folder / LEDGER).is_file() or folder in self._ours]

    def at_work(self, folder: Path) -> bool:
        """Return whether a campaign started here still runs; it does before there is a ledger to say so."""
        process = self._ours.get(folder)
        return process is not None and process.poll() is None

    def held(self) -> Mapping[str, str]:
        """Return the benches that campaigns run on now, as far as plans and ledgers say."""
        held: dict[str, str] = {}
        for folder in self.folders():
            if not self.at_work(folder) and coordinator_of(folder) is None:
                continue
            plan = self._plans / f"{folder.name}.toml"
            benches = self._offer(plan).benches if plan.is_file() else frozenset[str]()
            if not benches and (status := self.status(folder)) is not None:
                benches = frozenset(lease.spec.bench for lease in status.leases)
            held |= dict.fromkeys(benches, f"campaign {folder.name} runs on it")
        return held

    def status(self, folder: Path) -> CampaignStatus | None:
        """Return how a campaign stands, None while its ledger cannot be read."""
        try:
            with Ledger.reading(folder) as ledger:
                return ledger.status()
        except RunError:
            return None

    def problem(self, folder: Path) -> str:
        """Return the last words of a campaign this console started and that ended badly."""
        process = self._ours.get(folder)
        return "" if process is None or process.poll() in (None, 0, 1) else self._last_words(folder)

    def offers(self) -> list[Offer]:
        """Return the plans that may be started."""
        return [self._offer(path) for path in sorted(self._plans.glob("*.toml"))]

    def _offer(self, path: Path) -> Offer:
        """Return what a plan offers; it is laid out anew only when it has changed."""
        stamp = path.stat().st_mtime_ns
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = (stamp, _laid_out(path))
        return replace(known[1], begun=(self._runs / path.stem / LEDGER).is_file())

    def start(self, person: Person, name: str, exploratory: bool, workers: int | None) -> Path:
        """Begin a campaign or go on with it, as ``runrig campaign run`` would; return its folder.

        Raises:
            UsageError: If there is no such plan, or the command refuses it; in the command's words.
            NotNow: If it is being run already, or somebody holds a bench it runs on.
        """
        plan = next((path for path in self._plans.glob("*.toml") if path.stem == name), None)
        if plan is None:
            raise UsageError(f"no plan {name!r} in the folder of plans")
        offer = self._offer(plan)
        if offer.problem:
            raise UsageError(f"{plan.name}: {offer.problem}")
        folder = self._runs / name
        with self._lock, self._holders.free_of_others(offer.benches, self.held):
            if coordinator_of(folder) is not None:
                raise NotNow(f"{name} is being run already")
            self._audit.note(person, "campaign", "started", plan=name, exploratory=exploratory)
            process = self._ours[folder] = self._launched(plan, folder, exploratory, workers)
        pause = threading.Event()
        for _ in range(int(EARLY_S / LOOK_S)):
            if process.poll() is not None or ((folder / LEDGER).is_file() and coordinator_of(folder)):
                break
            pause.wait(LOOK_S)
        if process.poll() not in (None, 0, 1):
            raise UsageError(self._last_words(folder))
        return folder

    def _launched(
        self, plan: Path, folder: Path, exploratory: bool, workers: int | None
    ) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable,
            "-m",
            "rig.cli",
            "campaign",
            "run",
            str(plan),
            "--out",
            str(folder),
            "--json",
        ]
        command += ["--exploratory"] if exploratory else []
        command += [] if workers is None else ["--workers", str(workers)]
        log = self._log(folder)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as said:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )  # Ctrl-C in the console's terminal is the console's

    def stop(self, person: Person, folder: Path, at_once: bool) -> None:
        """Let the trials under way end, or end them too; what was committed is kept.

        Raises:
            NotNow: If it is not running.
            UsageError: If it runs on another machine.
        """
        holder = coordinator_of(folder)
        if holder is None:
            raise NotNow(f"{folder.name} is not running")
        if not holder.here:
            raise UsageError(f"{folder.name} is run on {holder.host}; stop it there")
        self._audit.note(person, "campaign", "cut off" if at_once else "stopped", plan=folder.name)
        os.kill(holder.pid, signal.SIGINT)
        if at_once:
            threading.Event().wait(LOOK_S)
            if coordinator_of(folder) == holder:
                os.kill(holder.pid, signal.SIGINT)

    def _log(self, folder: Path) -> Path:
        return self._runs / ".console" / f"campaign-{folder.name}.log"

    def _last_words(self, folder: Path) -> str:
        try:
            text = self._log(folder).read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
        except OSError:
            text = ""
        return text.removeprefix("runrig: ") or "the campaign ended without saying why"


def _laid_out(path: Path) -> Offer:
    try:
        plan, _ = load_plan(path)
        trials = lay_out(plan, path.name)
    except RunError as error:
        return Offer(path.stem, "", 0, 0.0, (), False, str(error))
    moves = any(cell.embodiment == PHYSICAL for cell in trials.cells)
    why = "it moves hardware: run it from the command line, beside the bench" if moves else ""
    job_s = sum(trials.cells[cell].nominal_s for cell in trials.cell.tolist())
    benches = frozenset(cell.spec.bench for cell in trials.cells)
    return Offer(path.stem, plan.text, len(trials), job_s, plan.missing(), False, why, benches)
