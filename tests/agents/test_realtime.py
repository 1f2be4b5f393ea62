"""A bench that does not wait: while somebody thinks it goes on, once, and it is safe before anybody's thought is waited for."""

import threading
from pathlib import Path

import anyio
import pytest
from inspect_ai import eval

from analysis.grade import grade
from rig.agents.model import ask
from rig.agents.scripted_model import scripted_model
from rig.connect import desk as desks
from rig.connect import inspect_tasks
from rig.connect.desk import Desk
from rig.core.agent import Agent, Briefing, Decision, Observation
from rig.core.clock import SimClock, nanoseconds
from rig.core.errors import UsageError
from rig.core.event import Kind
from rig.core.record import Record, read
from rig.core.tools import Action, Finish, Observe, Say
from rig.trial import run
from rig.trial.spec import TrialSpec

WATCH = TrialSpec(
    item="bed-watch/30-min/quiet", agent="test", bench="sim", monitor="guard", seed=1, think="realtime"
)


class DrivenClock(SimClock):
    """Simulated time that stands still once a thought is due, until it has been thought."""

    def __init__(self) -> None:
        super().__init__()
        self.due_ns = 0
        self.due, self.thought = threading.Event(), threading.Event()

    def sleep_until(self, t_ns: int) -> None:
        super().sleep_until(t_ns)
        if t_ns >= self.due_ns and not self.due.is_set():
            self.due.set()
            assert self.thought.wait(30)


class Thinker:
    """Takes 3 s of the clock for every decision."""

    name = "thinker"

    def __init__(self, clock: DrivenClock, *actions: Action) -> None:
        self._clock, self._left = clock, list(actions)

    def begin(self, briefing: Briefing) -> None:
        pass

    def act(self, observation: Observation) -> Decision:
        clock = self._clock
        clock.thought.clear()
        clock.due_ns = clock.now_ns() + nanoseconds(3.0)
        clock.due.clear()
        assert clock.due.wait(30)
        clock.thought.set()
        return Decision(self._left.pop(0) if self._left else Finish(summary="enough"), 999.0)


def trial(monkeypatch: pytest.MonkeyPatch, agent: Agent, clock: SimClock, folder: Path) -> Record:
    monkeypatch.setattr(run, "make_agent", lambda name, rng: agent)
    monkeypatch.setattr(run, "MonotonicClock", lambda: clock)
    run.run_trial(WATCH, folder)
    return read(folder)


def test_the_bench_goes_on_while_an_agent_thinks_and_charges_the_time_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = DrivenClock()
    record = trial(monkeypatch, Thinker(clock, Observe(), Say(text="Good evening.")), clock, tmp_path / "t")
    told = [e for e in record.events if e.kind in (Kind.OBSERVED, Kind.PROPOSED)]
    for seen, proposed in zip(told[::2], told[1::2], strict=True):
        assert (seen.kind, proposed.kind) == (Kind.OBSERVED, Kind.PROPOSED)
        thought_s = float(proposed.body["think_s"])  # type: ignore[arg-type]
        assert (
            3.0 <= thought_s < 300.0
        )  # the clock's, which runs on until the answer is there, not the agent's 999
        assert (
            thought_s <= (proposed.t_ns - seen.t_ns) / 1e9 < thought_s + 1.0
        )  # charged once, and a long tick ends it
    assert grade(record).ending == "finished"


class Late:
    """Does not answer before it is let go."""

    name = "late"

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def begin(self, briefing: Briefing) -> None:
        pass

    def act(self, observation: Observation) -> Decision:
        assert self.let_go.wait(30)
        return Decision(Observe(), 0.0)


class LeapingClock(SimClock):
    """A clock nobody looked at for long: a minute passes between two looks."""

    def now_ns(self) -> int:
        self.sleep_until(super().now_ns() + nanoseconds(60.0))
        return super().now_ns()


def test_time_that_runs_out_in_thought_ends_the_job_and_the_record_before_the_thought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, folder = Late(), tmp_path / "t"
    made_safe: list[bool] = []

    def closed(self: object, *error: object) -> None:
        made_safe.append(agent.let_go.is_set())
        leave(self, *error)
        agent.let_go.set()

    leave = run.RecordWriter.__exit__
    monkeypatch.setattr(run.RecordWriter, "__exit__", closed)
    record = trial(monkeypatch, agent, LeapingClock(), folder)
    assert made_safe == [False]  # the bench was left and the record closed while the agent still thought
    assert grade(record).ending == "time_limit"
    assert not [e for e in record.events if e.kind == Kind.PROPOSED]


def test_a_desk_goes_on_between_decisions_and_takes_none_after_the_end(tmp_path: Path) -> None:
    async def job() -> None:
        desk = Desk(WATCH, tmp_path / "t", {}, LeapingClock())
        assert not desk.waits
        await desk.open()
        await desk.keep_going()  # nobody decides anything
        with pytest.raises(UsageError, match="the job is over: the limit"):
            await desk.step(Observe())
        await desk.close()

    anyio.run(job)
    assert grade(read(tmp_path / "t")).ending == "time_limit"


@pytest.mark.filterwarnings(
    "ignore:Unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("calls", ["native", "form"])
def test_an_evaluation_goes_on_while_its_model_thinks(
    calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "MonotonicClock", LeapingClock)

    async def slowly(model: object, conversation: object) -> object:
        await anyio.sleep(20 * desks.LOOK_S)
        return await ask(model, conversation)  # type: ignore[arg-type]

    monkeypatch.setattr(inspect_tasks, "ask", slowly)
    task = inspect_tasks.make_task("bed-watch")(think="realtime", calls=calls, out=str(tmp_path / "runs"))
    (log,) = eval(task, model=scripted_model("careful"), log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success" and log.samples and log.samples[0].scores
    assert "(time_limit)" in (log.samples[0].scores["passed"].explanation or "")
