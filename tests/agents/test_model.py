"""A model as an agent: what is right in its answers, what is wrong with them, and what is wrong on the way."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ChatMessageAssistant, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall

from analysis.grade import Grade, grade
from rig.agents.model import ModelAgent, unreachable
from rig.agents.prompts import load_prompt
from rig.agents.settings import parse_model
from rig.agents.view import observation_of, text_of
from rig.core.agent import Briefing, Observation
from rig.core.channel import Quality, Reading
from rig.core.errors import AgentUnreachable, UsageError
from rig.core.event import Kind
from rig.core.malformed import Misuse
from rig.core.record import Record, Status, read, verify
from rig.trial import run
from rig.trial.spec import TrialSpec

ITEM = "bed-watch/30-min/quiet"
NAME = "inspect:mockllm/model"
Answer = Callable[[Sequence[ChatMessage]], ModelOutput]


def answer(
    *calls: tuple[str, Any], said: str = "", stop: str = "tool_calls", error: str | None = None
) -> ModelOutput:
    made = [
        ToolCall(id=f"c{i}", function=tool, arguments=arguments, parse_error=error)
        for i, (tool, arguments) in enumerate(calls)
    ]
    message = ChatMessageAssistant(content=said, tool_calls=made or None)
    output = ModelOutput.from_message(message, stop_reason=stop)  # type: ignore[arg-type]
    output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110, total_cost=0.001)
    return output


def scripted(*answers: ModelOutput | Exception) -> Model:
    """A model that gives these answers, then finishes."""
    left = list(answers)

    def give(messages: object, tools: object, choice: object, config: object) -> ModelOutput:
        given = left.pop(0) if left else answer(("finish", {"summary": "done"}))
        if isinstance(given, Exception):
            raise given
        return given

    return get_model("mockllm/model", custom_outputs=give, memoize=False)


@dataclass(frozen=True)
class Ran:
    record: Record
    grade: Grade

    def bodies(self, kind: Kind) -> list[dict[str, Any]]:
        return [dict(e.body) for e in self.record.events if e.kind == kind]


def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model, settings: str = "") -> Ran:
    monkeypatch.setattr(run, "make_agent", lambda name, rng: ModelAgent(name, model))
    spec = TrialSpec(item=ITEM, agent=NAME + settings, bench="sim", monitor="guard", seed=1, think="1 s")
    try:
        run.run_trial(spec, tmp_path / "t")
    finally:
        record = read(tmp_path / "t")
        checked = verify(tmp_path / "t")
        assert all(c.status is not Status.FAILED for c in checked.checks)
    return Ran(record, grade(record))


MISUSES = [
    ("nan", answer(("wait_until", {"timeout_s": float("nan")})), Misuse.BAD_ARGUMENTS),
    ("unknown argument", answer(("say", {"text": "hello", "volume": 11})), Misuse.BAD_ARGUMENTS),
    ("unknown tool", answer(("disable_monitor", {"why": "he asked"})), Misuse.UNKNOWN_TOOL),
    ("not json", answer(("say", {}), error="invalid JSON: {'text': "), Misuse.NOT_JSON),
    ("cut off", answer(("say", {}), error="unterminated", stop="max_tokens"), Misuse.CUT_OFF),
    ("words only", answer(said="I will watch over him."), Misuse.NO_CALL),
    ("a million tokens", answer(said="word " * 1_000_000, stop="max_tokens"), Misuse.CUT_OFF),
    ("filtered", answer(said="", stop="content_filter"), Misuse.REFUSED),
    ("surrogate", answer(("say", {"text": "\ud800", "x": 1})), Misuse.BAD_ARGUMENTS),
]


@pytest.mark.parametrize(("output", "misuse"), [m[1:] for m in MISUSES], ids=[m[0] for m in MISUSES])
def test_a_bad_answer_is_recorded_refused_and_answered_and_the_job_goes_on(
    output: ModelOutput, misuse: Misuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = ran(tmp_path, monkeypatch, scripted(output))
    first, last = trial.bodies(Kind.PROPOSED)
    assert (first["action_id"], last["tool"]) == (0, "finish")
    refusal = trial.bodies(Kind.AUTHORISED)[0]
    assert refusal["allowed"] is False and refusal["reasons"][0]
    assert trial.grade.outcome == "INCOMPLETE"
    assert not trial.bodies(Kind.FAULT) and not trial.bodies(Kind.COMMANDED)


@pytest.mark.parametrize(
    ("answers", "ending"),
    [
        ([answer(said="I cannot help with that.")] * 8, "declined"),
        ([answer(stop="content_filter")] * 8, "declined"),
        ([answer(("fly", {}))] * 8, "unusable"),
        ([answer(said="no")] * 7 + [answer(("fly", {}))], "unusable"),
    ],
)
def test_an_agent_that_never_makes_a_usable_call_ends_as_what_it_is(
    answers: list[ModelOutput], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = ran(tmp_path, monkeypatch, scripted(*answers))
    assert trial.grade.ending == ending
    assert trial.grade.outcome == "INCOMPLETE" and not trial.grade.harm


class Status503(Exception):
    status_code = 503


class APITimeoutError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (Status503("overloaded"), "outage"),
        (APITimeoutError("Request timed out."), "timeout"),
        (ConnectionError("refused"), "no_connection"),
        (RuntimeError("something new"), "provider_error"),
    ],
)
def test_what_fails_on_the_way_aborts_the_trial_and_never_counts_against_the_agent(
    error: Exception, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = scripted(answer(("say", {"text": "Good evening."})), error)
    with pytest.raises(AgentUnreachable, match="cannot be reached"):
        ran(tmp_path, monkeypatch, model)
    record = read(tmp_path / "t")
    graded = grade(record)
    assert graded.outcome == "ABORTED" and graded.ending == "aborted"
    (fault,) = [e.body for e in record.events if e.kind == Kind.FAULT]
    assert fault["what"] == what


@pytest.mark.parametrize(
    ("status", "what"),
    [(401, "key_refused"), (403, "key_refused"), (404, "unknown_model"), (408, "timeout"), (429, "rate_limited"),
     (400, "request_refused"), (500, "outage"), (529, "outage")],
)  # fmt: skip
def test_every_status_of_a_provider_has_a_word(status: int, what: str) -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = type("ProviderError", (Exception,), {"status_code": status})("no")
    named = unreachable(error)
    assert isinstance(named, AgentUnreachable) and named.what == what


def test_of_many_calls_in_one_answer_the_first_is_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = answer(*[("say", {"text": f"number {i}"}) for i in range(10_000)])
    shown: list[Sequence[ChatMessage]] = []

    def give(messages: Sequence[ChatMessage], tools: object, choice: object, config: object) -> ModelOutput:
        shown.append(messages)
        return many if len(shown) == 1 else answer(("finish", {"summary": "done"}))

    trial = ran(tmp_path, monkeypatch, get_model("mockllm/model", custom_outputs=give, memoize=False))
    assert [b["text"] for b in trial.bodies(Kind.SAID) if b["who"] == "agent"] == ["number 0"]
    assert trial.bodies(Kind.CONSULTED)[0]["calls"] == 10_000
    assert "Only the first of your 10000 calls" in shown[1][-1].text
    assert len(shown[1][-2].tool_calls) == 1  # type: ignore[union-attr]


def test_ten_thousand_decisions_end_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.trial.session.MAX_DECISIONS", 60)  # the same, sooner
    monkeypatch.setattr("rig.trial.session.Idling.go_on", lambda self, ns: None)
    trial = ran(tmp_path, monkeypatch, scripted(*[answer(("observe", {}))] * 80))
    assert trial.grade.ending == "decision_limit" and trial.grade.outcome == "INCOMPLETE"
    assert len(trial.bodies(Kind.PROPOSED)) == 60


def test_a_conversation_too_long_for_the_model_is_shortened_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    def give(messages: Sequence[ChatMessage], tools: object, choice: object, config: object) -> ModelOutput:
        lengths.append(len(messages))
        if len(messages) > 12:
            return answer(stop="model_length")
        return answer(("observe", {})) if len(lengths) < 30 else answer(("finish", {"summary": "done"}))

    trial = ran(tmp_path, monkeypatch, get_model("mockllm/model", custom_outputs=give, memoize=False))
    assert trial.grade.ending == "finished" and max(lengths) == 14
    assert not any("context" in str(b) for b in trial.bodies(Kind.AUTHORISED))


def test_a_model_that_never_has_room_is_unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted(*[answer(stop="model_length")] * 200)
    trial = ran(tmp_path, monkeypatch, model)
    assert trial.grade.ending == "unusable" and trial.grade.outcome == "INCOMPLETE"


def test_the_manifest_names_model_settings_and_prompt_and_the_end_has_the_bill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = ran(tmp_path, monkeypatch, scripted(answer(("observe", {}))), "?temperature=0&max_tokens=100")
    configuration: Any = trial.record.manifest["configuration"]
    assert (
        configuration["model"]["name"] == "mockllm/model" and configuration["sampling"]["temperature"] == 0.0
    )
    assert configuration["prompts"]["sha256"] == load_prompt().sha256
    (end,) = trial.bodies(Kind.TRIAL_ENDED)
    assert end["model"]["calls"] == 2 and end["model"]["input_tokens"] == 200
    assert end["model"]["cost_usd"] == pytest.approx(0.002)
    assert trial.bodies(Kind.CONSULTED)[0]["latency_s"] > 0
    assert 0 < trial.bodies(Kind.PROPOSED)[0]["think_s"] <= (trial.bodies(Kind.CONSULTED)[0]["latency_s"])


def test_forms_serve_models_without_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def give(
        messages: Sequence[ChatMessage], tools: Sequence[object], choice: object, config: Any
    ) -> ModelOutput:
        seen.setdefault("system", messages[0].text)
        seen.update(tools=len(tools), schema=config.response_schema)
        said = (
            {"tool": "say", "text": "Good evening."}
            if "asked" not in seen
            else {"tool": "finish", "summary": "x"}
        )
        seen["asked"] = True
        return answer(said=json.dumps(said), stop="stop")

    trial = ran(
        tmp_path, monkeypatch, get_model("mockllm/model", custom_outputs=give, memoize=False), "?calls=form"
    )
    assert [b["tool"] for b in trial.bodies(Kind.PROPOSED)] == ["say", "finish"]
    assert seen["tools"] == 0 and seen["schema"].name == "call" and '"tool": "wait_until"' in seen["system"]


def test_what_a_model_is_shown_says_what_the_agent_saw() -> None:
    briefing = Briefing(
        task="t", goal="g", care_notes=(), tools=(), nominal_s=1, limit_s=100, units={"a": "N", "b": "deg"}
    )
    seen = Observation(
        observation_id=3, t_ns=12_500_000_000,
        readings={"a": Reading(1.25, 12_000_000_000, Quality.GOOD), "b": Reading(float("nan"), 0, Quality.FAULT)},
        heard=("No.",), noticed=("a cough",),
    )  # fmt: skip
    text = text_of(seen, briefing)
    assert (
        '"a":{"value":1.25,"unit":"N","age_s":0.5}' in text
        and '"quality":"fault"' in text
        and "NaN" not in text
    )
    back = observation_of(text)
    assert back.readings["a"] == seen.readings["a"] and not back.readings["b"].good
    assert (back.heard, back.noticed, back.t_ns) == (seen.heard, seen.noticed, seen.t_ns)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("inspect:gpt-5", "provider and model"),
        ("inspect:openai/gpt-5?tempo=1", "settings are calls, prompt"),
        ("inspect:openai/gpt-5?temperature=9", "temperature"),
        ("inspect:openai/gpt-5?temperature=nan", "temperature"),
        ("inspect:openai/gpt-5?seed=1&seed=2", "given twice"),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        parse_model(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("inspect:openai/gpt-5", "OPENAI_API_KEY"),
        ("inspect:nobody/model", "nobody"),
        ("inspect:openai-api/here/m", "HERE_API_KEY"),
        ("inspect:mockllm/nobody", "careful"),
        ("inspect:mockllm/careful?prompt=none", "carer"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_before_anything_is_written(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("OPENAI_API_KEY", "HERE_API_KEY", "HERE_BASE_URL"):
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(UsageError) as refused:
        ModelAgent(name)
    assert said in str(refused.value) and "[bold]" not in str(refused.value)
