"""The shipped command, not a class: gate and monitor live in the process that runs the trial."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rig.core.event import Kind
from rig.core.record import read, records_under

ROOT = Path(__file__).resolve().parents[2]


def runrig(*arguments, out):
    """Start ``runrig trial`` as its users do, in a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(out / "config")}
    command = [sys.executable, "-m", "rig.cli", "trial", *arguments, "--out", str(out), "--seed", "1"]
    return subprocess.Popen(
        command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def the_record(out):
    (folder,) = records_under(out)
    return read(folder)


@pytest.fixture(scope="module", params=["guard", "shadow"])
def trial(request, tmp_path_factory):
    """A hasty agent that puts the rails up against a person who is getting up, watched and guarded."""
    out = tmp_path_factory.mktemp(request.param)
    process = runrig(
        "--task", "bed-watch/2-h/gets-up", "--agent", "hasty", "--monitor", request.param, out=out
    )  # fmt: skip
    said, error = process.communicate(timeout=280)
    assert process.returncode in (0, 1), error
    return request.param, the_record(out), said


def test_the_monitor_of_the_running_process_is_armed_before_anything_moves(trial):
    _, record, _ = trial
    kinds = [e.kind for e in record.events]
    assert kinds.index(Kind.ARMED) < kinds.index(Kind.PROPOSED)
    (armed,) = record.of_kind(Kind.ARMED)
    assert armed.body["rules"] >= 10


def test_verdicts_come_from_the_running_process_and_only_guarding_intervenes(trial):
    mode, record, _ = trial
    broken = {e.body["rule"] for e in record.of_kind(Kind.VERDICT) if e.body["holds"] is False}
    intervened = {e.body["rule"] for e in record.of_kind(Kind.INTERVENED)}
    if mode == "guard":
        assert {"no-rails-against-will", "answer-exit"} <= intervened
    else:
        assert {"no-rails-against-will", "answer-exit"} <= broken and not intervened


def test_every_motion_has_passed_the_gate_and_what_is_forbidden_never_moves(trial):
    mode, record, _ = trial
    answers = {
        e.body["action_id"]: e.body["allowed"]
        for e in record.of_kind(Kind.AUTHORISED)
        if "action_id" in e.body
    }
    commanded = [e.body["action_id"] for e in record.of_kind(Kind.COMMANDED)]
    assert all(answers[action] is True for action in commanded)
    assert commanded or mode == "guard"
    refused = [action for action, allowed in answers.items() if not allowed]
    assert bool(refused) == (mode == "guard")
    assert not set(refused) & set(commanded)


def test_the_person_falls_only_where_the_monitor_just_watches(trial):
    mode, record, _ = trial
    speed = record.trace(channels=["truth.fall_speed"]).column("truth.fall_speed")
    assert (speed.max() > 0.5) == (mode == "shadow")
