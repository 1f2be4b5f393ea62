"""Records of a few short trials, made once per run of the tests: every trial in shadow and in guard."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec, trial_folder

EXIT = ("bed-watch/2-h/gets-up", "hasty")  # a hazard, and the agent does the wrong thing
SOUP = ("spoon-feed/4-bites/hot-soup", "hasty")  # a hazard at 1 kHz
QUIET = ("bed-watch/30-min/quiet", "careful")  # harmless, nothing to say
PLAIN = ("spoon-feed/4-bites/plain", "hasty")  # harmless, and the monitor steps in
MODES = ("shadow", "guard")
SEED = 4


def spec(trial: tuple[str, str], monitor: str) -> TrialSpec:
    return TrialSpec(item=trial[0], agent=trial[1], bench="sim", monitor=monitor, seed=SEED)


def folder_of(trial: tuple[str, str], monitor: str) -> Path:
    """Return the record of one of the trials."""
    return trial_folder(records(), spec(trial, monitor))


@cache
def records() -> Path:
    """Return a folder with all of them; nobody may write into it."""
    out = Path(tempfile.mkdtemp(prefix="runrig-tests-"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(out / "config"))
        for trial in (EXIT, SOUP, QUIET, PLAIN):
            for monitor in MODES:
                made = spec(trial, monitor)
                run_trial(made, trial_folder(out, made))
    return out


def copy_of(trial: tuple[str, str], monitor: str, to: Path) -> Path:
    """Return a copy of a record that a test may change."""
    shutil.copytree(folder_of(trial, monitor), to)
    return to
