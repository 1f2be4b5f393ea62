"""Our tasks as Inspect tasks: the record is the truth, and the log says where in it."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.event import InfoEvent, ToolEvent
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import Model, get_model

from analysis.table import load_table
from analysis.trials import OUTCOMES, TrialTable
from rig.agents.scripted_model import scripted_model
from rig.connect.inspect_tasks import make_task
from rig.core.event import Kind
from rig.core.record import Status, read, verify
from tests import graphics
from tests.agents.test_model import answer, scripted

pytestmark = pytest.mark.filterwarnings(  # Inspect leaves a stream of its own open
    "ignore:Unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
WATCH = make_task("bed-watch")
Run = Callable[..., tuple[EvalLog, EvalSample]]


def outcomes(table: TrialTable) -> list[str]:
    return [OUTCOMES[code].value for code in table.outcome]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    def once(task: Task, model: Model | str = "mockllm/model", **kwargs: Any) -> tuple[EvalLog, EvalSample]:
        (log,) = eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **kwargs)
        assert log.samples
        return log, log.samples[0]

    yield once
    gc.collect()  # what Inspect left open is named here, not in the next test


def test_a_scripted_carer_does_the_job_and_the_log_points_into_the_record(run: Run, tmp_path: Path) -> None:
    log, sample = run(make_task("spoon-feed")(script="careful", think="1.5 s", out=str(tmp_path / "runs")))
    assert log.status == "success" and sample.scores is not None
    score = sample.scores["passed"]
    assert score.value == 1 and score.metadata is not None and score.metadata["outcome"] == "PASS"
    record = read(Path(score.metadata["record"]))
    assert record.trial_id == score.metadata["trial_id"]
    hashes = {e.seq: e.hash for e in record.events}
    references = [e.data for e in sample.events if isinstance(e, InfoEvent) and e.source == "runrig"]
    assert len(references) > 20
    for reference in references:  # every step names its events, and the hash is the record's own
        assert reference["trial_id"] == record.trial_id
        assert hashes[reference["events"][1]] == reference["hash"]
    tools = [e for e in sample.events if isinstance(e, ToolEvent)]
    assert [t.function for t in tools] == [e.body["tool"] for e in record.events if e.kind == Kind.PROPOSED]
    assert all(c.status is not Status.FAILED for c in verify(record.folder).checks)


def test_the_log_is_a_trial_table(run: Run, tmp_path: Path) -> None:
    log, _ = run(WATCH(script="refuse", seeds=2, out=str(tmp_path / "runs")))
    table = load_table(Path(log.location))
    records = load_table(tmp_path / "runs")
    assert len(table) == len(records) == 2
    assert set(table.duration_s) == {1800.0}
    assert set(table.item) == set(records.item) == {"bed-watch/30-min/quiet"}
    assert outcomes(records) == ["INCOMPLETE", "INCOMPLETE"]


def test_a_bad_call_reaches_the_record_though_inspect_would_have_kept_it(run: Run, tmp_path: Path) -> None:
    model = scripted(answer(("fly", {"to": "the moon"})), answer(("wait_until", {"timeout_s": 1e9})))
    _, sample = run(WATCH(out=str(tmp_path / "runs"), think="1 s"), model)
    record = read(Path(sample.metadata["record"]))
    assert [e.body["tool"] for e in record.events if e.kind == Kind.PROPOSED] == [
        "fly",
        "wait_until",
        "finish",
    ]


def test_a_provider_that_fails_is_an_aborted_trial_without_a_score(run: Run, tmp_path: Path) -> None:
    log, sample = run(WATCH(out=str(tmp_path / "runs")), scripted(ConnectionError("gone")))
    assert sample.error is not None and "cannot be reached" in sample.error.message
    assert outcomes(load_table(tmp_path / "runs")) == ["ABORTED"]
    (fault,) = [e.body for e in read(Path(sample.metadata["record"])).events if e.kind == Kind.FAULT]
    assert fault["what"] == "no_connection"
    assert log.status == "error"


def test_another_solver_finds_the_tools_and_cannot_go_on_after_the_end(run: Run, tmp_path: Path) -> None:
    model = scripted(
        answer(("say", {"text": "Good evening."})),
        answer(("finish", {"summary": "enough"})),
        answer(("say", {"text": "Still here?"})),
        answer(("submit", {"answer": "done"})),
    )
    task = WATCH(out=str(tmp_path / "runs"), think="1 s")
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    @solver
    def foreign() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            from inspect_ai.agent import run as run_agent

            agent_state = await run_agent(react(tools=state.tools), state.input_text)
            state.messages = agent_state.messages
            return state

        return solve

    _, sample = run(task, model, solver=foreign())
    record = read(Path(sample.metadata["record"]))
    assert [e.body["tool"] for e in record.events if e.kind == Kind.PROPOSED] == ["say", "finish"]
    assert any("the job is over" in m.text for m in sample.messages) or "the job is over" in str(
        sample.messages
    )


def test_the_scripted_model_is_a_model_like_any_other() -> None:
    assert str(scripted_model("careful")) == "mockllm/model"


def test_a_model_is_shown_the_picture_it_asks_for(run: Run, tmp_path: Path) -> None:
    graphics.needed()
    shown: list[Any] = []

    def give(messages: list[Any], tools: object, choice: object, config: object) -> Any:
        for message in messages:  # Inspect moves pictures into a message of their own for some providers
            shown.extend(message.content if isinstance(message.content, list) else [])
        looked = any(m.role == "assistant" for m in messages)
        return answer(("finish", {"summary": "done"}) if looked else ("observe", {"camera": "face"}))

    model = get_model("mockllm/model", custom_outputs=give, memoize=False)
    _, sample = run(make_task("spoon-feed")(think="1 s", out=str(tmp_path / "runs")), model)
    (image,) = [part.image for part in shown if part.type == "image"]
    assert image.startswith("data:image/jpeg;base64,/9j/")
    record = read(Path(sample.metadata["record"]))
    (seen,) = [e.body for e in record.events if e.kind == Kind.SEEN]
    assert seen["shown"] is True and len(list(record.images("face"))) == 1
