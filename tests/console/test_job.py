"""A person who does the job at the page: what they are told, what they may decide, and that nobody waits for ever."""

import threading

import pytest

from rig.agents.human import NAME as HUMAN
from rig.console.bench_routes import start
from rig.console.bench_shapes import Start
from rig.console.bench_state import NotNow
from rig.console.job import Job
from rig.console.seat import Asked, Briefed, PersonAtPage
from rig.core.agent import Briefing, Observation
from rig.core.clock import MonotonicClock, SimClock, nanoseconds
from rig.core.errors import AgentUnreachable, UsageError
from rig.core.event import Kind
from rig.core.record import read
from rig.core.tools import CallHuman, Finish, MoveTo, Note, Observe, Say, Stop, WaitUntil
from rig.trial.attended import Attendance, Did, StoppedByPerson, Word
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec

BRIEFING = Briefing(
    task="spoon-feed", goal="Feed her.", care_notes=("Slowly.",), tools=("observe", "say", "move_to"), nominal_s=10,
    limit_s=20, units={"wrist.force": "N"},
)  # fmt: skip
FLUSH_NS = nanoseconds(0.05)


def asked(observation_id: int, **view: object) -> Asked:
    return Asked(observation_id, {"job_time_s": 1.0, "readings": {}, **view})


def told(*more: Asked) -> Job:
    job = Job()
    for what in (Briefed(BRIEFING), *more):
        job.take(what)
    return job


class People:
    """Who is at the desk: nobody speaks before somebody does."""

    pace = 1.0

    def __init__(self) -> None:
        self.said: list[Word] = []
        self.made_safe = threading.Event()

    def words(self) -> list[Word]:
        found, self.said = self.said, []
        return found

    def safe(self, word: Word) -> None:
        self.made_safe.set()

    def reached(self, t_ns: int, lag_s: float) -> None: ...


# --- the seat, in the process of the trial ---------------------------------------------------------


def test_the_person_is_told_what_any_agent_is_told_and_their_thinking_is_timed():
    clock, heard = SimClock(), []

    def say(what: object) -> None:
        heard.append(what)
        if isinstance(what, Asked):
            clock.sleep_until(nanoseconds(7.0))
            seat.decide(Say(text="Good evening."))

    seat = PersonAtPage(say, clock)
    seat.begin(BRIEFING)
    decision = seat.act(Observation(observation_id=3, t_ns=10**9, readings={}, heard=("Hello?",)))
    assert (decision.action, decision.think_s) == (Say(text="Good evening."), 7.0)
    assert heard == [Briefed(BRIEFING), heard[1]]
    assert (heard[1].observation_id, heard[1].view["heard"]) == (3, ["Hello?"])


def test_nobody_waits_for_a_person_who_has_got_up():
    seat = PersonAtPage(lambda _: None)
    seat.begin(BRIEFING)
    seat.get_up()
    with pytest.raises(AgentUnreachable, match="nobody sits at the page"):
        seat.act(Observation(observation_id=1, t_ns=0, readings={}))


def test_only_a_stop_or_a_call_cuts_short_what_is_under_way():
    cuts: list[int] = []
    seat = PersonAtPage(lambda _: None)
    seat.sit_down(lambda: cuts.append(1))
    seat.decide(Say(text="Hello."))
    assert cuts == []
    seat.decide(Stop())
    seat.decide(CallHuman(level="urgent", reason="she fell"))
    assert cuts == [1, 1]


def trial(folder, decide, people=None, spec="spoon-feed/4-bites/plain"):
    """Run a trial in real time whose agent is a person who decides by `decide`, called with what they are asked."""
    people = people or People()

    def person() -> PersonAtPage:
        seat = PersonAtPage(lambda what: decide(seat, what) if isinstance(what, Asked) else None)
        return seat

    made = TrialSpec(item=spec, agent=HUMAN, bench="sim", monitor="guard", seed=3, think="realtime")
    return run_trial(made, folder, attendance=Attendance(people, MonotonicClock(), FLUSH_NS, person))


def test_a_person_does_the_job_in_real_time_and_may_stop_in_the_middle_of_an_action(tmp_path):
    numbers: list[int] = []

    def decide(seat: PersonAtPage, what: Asked) -> None:
        numbers.append(what.observation_id)
        match len(numbers):
            case 1:
                seat.decide(Note(text="began"))
            case 2:
                seat.decide(WaitUntil(timeout_s=600))
                threading.Timer(0.3, seat.decide, [Stop()]).start()
            case 3:
                pass  # the stop is on its way
            case 4:
                seat.decide(Finish(summary="enough"))

    result = trial(tmp_path / "t", decide)
    record = read(tmp_path / "t")
    proposed = [e.body["tool"] for e in record.events if e.kind is Kind.PROPOSED]
    assert proposed == ["note", "wait_until", "stop", "finish"]
    assert (result.ending.value, result.reason) == ("finished", "enough")
    assert result.elapsed_s < 10, "the wait of ten minutes was cut short"


def test_a_stop_at_the_console_ends_a_trial_whose_person_is_still_thinking(tmp_path):
    people = People()

    def decide(seat: PersonAtPage, what: Asked) -> None:
        people.said.append(Word(Did.STOPPED, "Anna Example", "technician"))

    with pytest.raises(StoppedByPerson):
        trial(tmp_path / "t", decide, people)
    assert people.made_safe.is_set()
    ending = read(tmp_path / "t").events[-1]
    assert (ending.kind, ending.body["ending"]) == (Kind.TRIAL_ENDED, "aborted")


# --- the job, in the server ------------------------------------------------------------------------


def test_a_decision_is_on_what_is_seen_now_and_one_at_a_time():
    job = told(asked(1))
    action = job.decide(1, "move_to", {"target": "lips", "speed": "slow"})
    assert action == MoveTo(target="lips", speed="slow")
    job.decided(action, 1.5)
    assert (job.waits, job.doing, job.lines[-1].who) == (False, "move_to lips slow", "you")
    with pytest.raises(NotNow, match="still at it"):
        job.decide(1, "say", {"text": "Hello."})
    assert job.decide(1, "stop", {}) == Stop()
    with pytest.raises(NotNow, match="under way already"):
        job.decide(1, "call_human", {"level": "assist", "reason": "help"})
    job.take(asked(2))
    with pytest.raises(NotNow, match="something newer"):
        job.decide(1, "say", {"text": "Hello."})
    assert job.decide(2, "observe", {}) == Observe()


@pytest.mark.parametrize(
    ("tool", "given", "what"),
    [
        ("fly", {}, "there is no tool 'fly' here"),
        ("act", {"skill": "scoop"}, "there is no tool 'act' here"),
        ("say", {}, "text"),
        ("move_to", {"target": "lips", "guard_n": 99}, "guard_n"),
        ("move_to", {"target": "lips", "hurry": True}, "hurry"),
    ],
)
def test_what_cannot_be_understood_is_said_at_once_and_is_no_decision(tool, given, what):
    job = told(asked(1))
    with pytest.raises(UsageError, match=what):
        job.decide(1, tool, given)
    assert job.waits


def test_nothing_is_decided_before_something_is_asked():
    with pytest.raises(NotNow, match="not begun"):
        Job().decide(1, "stop", {})


def test_the_course_of_the_job_is_kept_and_what_was_read_can_be_relied_on():
    entry = {
        "id": "plan-1", "document": "care_plan", "version": 2, "subject": "R-1", "claim": "texture", "about": "",
        "text": "Soft food.", "quantity": 4.0, "unit": "1", "author_role": "therapist", "written_s": 0, "from_s": 0,
    }  # fmt: skip
    last = {"status": "completed", "message": "one entry", "took_s": 1.0, "entries": [entry]}
    job = told(asked(1, last_action=last, heard=["Mm."], noticed=["a swallow"]))
    assert [(line.who, line.text) for line in job.lines] == [
        ("rig", "completed: one entry"), ("rig", "care plan: Soft food."), ("heard", "Mm."), ("noticed", "a swallow"),
    ]  # fmt: skip
    assert job.read["plan-1"] == (1.0, entry)


def test_a_person_does_the_job_in_the_time_it_takes():
    wanted = Start(version=0, item="bed-watch/30-min/quiet", agent=HUMAN, pace=20)
    with pytest.raises(UsageError, match="in the time it takes"):
        start(wanted, None, None, None)  # type: ignore[arg-type]
