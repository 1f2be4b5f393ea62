"""A record's decisions once more, and a person at a terminal."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.grade import grade
from rig.agents.human import HumanAgent, call_of, shown
from rig.agents.model import ModelAgent
from rig.agents.prompts import load_prompt
from rig.agents.replay import recorded_decisions
from rig.cli import run as command_line
from rig.core.agent import Agent
from rig.core.clock import SimClock
from rig.core.errors import AgentUnreachable
from rig.core.event import Kind
from rig.core.malformed import Malformed, Misuse
from rig.core.record import Record, read
from rig.core.tools import Ask, CallHuman, MoveTo, Say, Stop, WaitUntil
from rig.trial import run
from rig.trial.spec import TrialSpec
from tests.agents.test_model import answer, scripted

WATCH = "bed-watch/30-min/quiet"
TOOLS = ("say", "ask", "move_to", "wait_until", "observe", "stop", "call_human", "finish")


def told(record: Record) -> list[tuple[int, str, object]]:
    """What happened and when, the names of the trial aside."""
    left_out = (Kind.TRIAL_STARTED, Kind.CONSULTED, Kind.TELEMETRY_CLOSED, Kind.TRIAL_ENDED)
    return [(e.t_ns, e.kind.value, dict(e.body)) for e in record.events if e.kind not in left_out]


def trial(agent: str, folder: Path, item: str = WATCH, monitor: str = "guard") -> Record:
    run.run_trial(TrialSpec(item=item, agent=agent, bench="sim", monitor=monitor, seed=4), folder)
    return read(folder)


@pytest.mark.parametrize(("agent", "item"), [("hasty", "spoon-feed/4-bites/hot-soup"), ("planted(2)", WATCH)])
def test_a_replay_is_the_same_trial_to_the_tick(agent: str, item: str, tmp_path: Path) -> None:
    first = trial(agent, tmp_path / "first", item)
    again = trial(f"replay:{tmp_path / 'first'}", tmp_path / "again", item)
    assert told(again) == told(first)
    assert (grade(again).outcome, grade(again).findings) == (grade(first).outcome, grade(first).findings)
    assert again.trial_id != first.trial_id


def test_measured_latencies_are_charged_again_as_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = scripted(
        answer(("say", {"text": "Good evening."})),
        answer(("fly", {})),
        answer(said="hm"),
        answer(("observe", {})),
    )
    with monkeypatch.context() as patch:
        patch.setattr(run, "make_agent", lambda name, rng: ModelAgent(name, model))
        first = trial("inspect:mockllm/model", tmp_path / "first")
    again = trial(f"replay:{tmp_path / 'first'}", tmp_path / "again")
    assert told(again) == told(first)
    kinds = [d.action.misuse if isinstance(d.action, Malformed) else None for d in recorded_decisions(first)]
    assert kinds == [None, Misuse.UNKNOWN_TOOL, Misuse.NO_CALL, None, None]


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("say Good evening, Mr. Adler.", Say(text="Good evening, Mr. Adler.")),
        ("wait_until timeout_s=30", WaitUntil(timeout_s=30)),
        ("wait_until 30 event=speech", WaitUntil(timeout_s=30, event="speech")),
        ("say I don't know: 2 = 1+1, text is fine", Say(text="I don't know: 2 = 1+1, text is fine")),
        ("say 7", Say(text="7")),
        ("ask Where does it itch?", Ask(text="Where does it itch?")),
        ("ask Where, please?  timeout_s=5", Ask(text="Where, please?", timeout_s=5)),
        ('say text="Good evening."', Say(text="Good evening.")),
        ("call_human urgent He fell out of bed", CallHuman(level="urgent", reason="He fell out of bed")),
        ("move_to lips speed=slow", MoveTo(target="lips", speed="slow")),
        ("stop", Stop()),
        ("move_to target=lips speed=slow guard_n=null", MoveTo(target="lips", speed="slow", guard_n=None)),
        ("move_to target=lips guard_n=0.5", MoveTo(target="lips", guard_n=0.5)),
    ],
)
def test_a_line_is_a_call(line: str, action: object) -> None:
    assert call_of(line, TOOLS) == action


@pytest.mark.parametrize(
    "line",
    [
        "fly",
        "wait_until",
        "wait_until 30 40",
        "move_to target=lips speed=sideways",
        'move_to target="lips',
        "say",
        "stop at once",
        "call_human urgent",
        "call_human soon He fell",
        "say text=a text=",
    ],
)
def test_a_line_that_is_no_call_says_why(line: str) -> None:
    call = call_of(line, TOOLS)
    assert isinstance(call, Malformed) and call.problem


class Person:
    """Types lines, each after a while."""

    def __init__(self, clock: SimClock, *lines: str) -> None:
        self._clock, self._lines = clock, list(lines)

    def readline(self) -> str:
        self._clock.sleep_until(self._clock.now_ns() + 7_000_000_000)
        return f"{self._lines.pop(0)}\n" if self._lines else ""


def at_the_terminal(monkeypatch: pytest.MonkeyPatch, *lines: str) -> io.StringIO:
    clock, out = SimClock(), io.StringIO()
    person: Agent = HumanAgent(Person(clock, *lines), out, clock)  # type: ignore[arg-type]
    monkeypatch.setattr(run, "make_agent", lambda name, rng: person)
    return out


def test_a_person_is_told_what_is_seen_and_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = at_the_terminal(
        monkeypatch, "help", "say Good evening.", "dance", "", "look", "wait_until timeout_s=10", "finish bye"
    )
    record = trial("human", tmp_path / "t")
    thought = [e.body["think_s"] for e in record.events if e.kind == Kind.PROPOSED]
    assert thought == [14.0, 28.0, 7.0]
    assert grade(record).ending == "finished"
    text = out.getvalue()
    for shown_text in (
        "Turning plan",
        "mat.pressure",
        "there is no tool 'dance'",
        "completed: said",
        "Say something to the person",
    ):
        assert shown_text in text


def test_a_person_at_a_terminal_does_the_whole_job_and_its_time_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real terminal: what is typed at each prompt, with the mistakes people make."""
    typed = [
        "help", "ask Where does it itch?", "scratch", "move_to over_left", "move_to left speed=slow", "stroke 4 60",
        "move_to rest", "finish Better",
    ]  # fmt: skip
    command = [
        sys.executable, "-m", "rig.cli", "trial", "--task", "itch-scratch", "--agent", "human", "--out", str(tmp_path),
        "--seed", "3",
    ]  # fmt: skip
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as child:
        os.close(theirs)
        screen, new = "", ""
        while True:
            try:
                given = os.read(ours, 65536).decode()
            except OSError:  # the other end is closed
                break
            screen, new = screen + given, new + given
            if new.endswith("> "):
                os.write(ours, f"{typed.pop(0)}\n".encode())
                new = ""
        os.close(ours)
    assert child.returncode == 0 and not typed, screen
    assert "[speed=slow|normal|fast]" in screen and "there is no tool 'scratch'" in screen
    assert "PASS       human on itch-scratch" in screen
    assert command_line(["agents", "nominal", str(tmp_path)]) == 0
    assert "by 1 person, 0 failed; stated 20 s" in capsys.readouterr().out


def test_a_person_who_leaves_aborts_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_terminal(monkeypatch, "say Good evening.")
    with pytest.raises(AgentUnreachable, match="left"):
        trial("human", tmp_path / "t")
    assert grade(read(tmp_path / "t")).outcome == "ABORTED"


def test_what_cannot_be_read_is_shown_as_unknown() -> None:
    from rig.core.agent import Briefing, Observation
    from rig.core.channel import Quality, Reading

    briefing = Briefing(
        task="t", goal="", care_notes=(), tools=(), nominal_s=60, limit_s=60, units={"a": "N"}
    )
    seen = Observation(observation_id=1, t_ns=0, readings={"a": Reading(float("nan"), 0, Quality.FAULT)})
    assert "a ? N (fault)" in shown(seen, briefing)


@pytest.mark.parametrize(
    ("item", "places"), [("spoon-feed/4-bites/plain", {"lips", "rest", "bowl"}), (WATCH, set())]
)
def test_whoever_may_move_is_told_the_places(item: str, places: set[str], tmp_path: Path) -> None:
    spec = TrialSpec(item=item, agent="human", bench="sim", monitor="guard", seed=4)
    with run.open_session(spec, tmp_path / "t", {}) as session:
        briefing = session.briefing
    assert places <= {*briefing.places} and bool(places) == bool(briefing.places)
    out = io.StringIO()
    HumanAgent(io.StringIO(), out).begin(briefing)
    model_told = load_prompt("carer").file.job_text(briefing, "{}")
    for told in (out.getvalue(), model_told):
        assert ("Places to move to: " in told) == bool(places)
        assert all(place in told for place in places)
