"""A language model of any provider as an agent, through Inspect AI: no client of our own.

The rig asks, the model answers with one call, the rig carries it out. What goes wrong on the way to the model
aborts the trial and says so; what goes wrong in its answers is the model's own doing and is on record.
"""

import asyncio
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rig.agents.prompts import load_prompt
from rig.agents.settings import PREFIX, Settings, parse_model
from rig.core.agent import Briefing, Decision, Observation
from rig.core.clock import MonotonicClock, seconds
from rig.core.errors import AgentUnreachable, RunError, UsageError
from rig.core.event import Json

try:
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
except ImportError as missing:
    raise UsageError(
        f"agents that are models need the extra [inspect] ({missing}); install it with: pip install 'runrig[inspect]'"
    ) from None

from rig.agents.conversation import Conversation, consulted

SHORTENINGS = 8
OWN_RETRIES = ("openai", "openai-api", "anthropic", "together", "groq", "openrouter")
"""Providers whose client libraries try again by themselves unless told not to."""
SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")
MARKUP = re.compile(r"\[/?(?:bold|blue|red|green|italic)(?: \w+)?\]")
"""Colours that Inspect writes into its messages."""
STATUS = {401: "key_refused", 403: "key_refused", 404: "unknown_model", 408: "timeout", 429: "rate_limited"}


class ModelAgent:
    """A model asked for one call at a time.

    Args:
        name: Provider, model and settings, as in ``inspect:openai/gpt-5?temperature=0``.
        model: An open model to ask in place of the one named.
    """

    def __init__(self, name: str, model: Model | None = None) -> None:
        self.name = name
        named, self._settings = parse_model(name)
        self._prompt = load_prompt(self._settings.prompt)
        self._model = model or open_model(named, self._settings)
        self._clock = MonotonicClock()
        self._runner: asyncio.Runner | None = None
        self._conversation: Conversation | None = None

    @property
    def facts(self) -> Mapping[str, Json]:
        """Model, settings, prompt and the library that asks."""
        set_for_all = self._model.config.model_dump(mode="json", exclude_none=True)
        return model_facts(str(self._model), set_for_all, self._settings, self._prompt.facts)

    def begin(self, briefing: Briefing) -> None:
        """Take the job."""
        self._conversation = Conversation(briefing, self._prompt.file, self._settings)

    def act(self, observation: Observation) -> Decision:
        """Ask the model.

        Raises:
            AgentUnreachable: If the provider does not answer.
        """
        conversation = self._conversation
        if conversation is None:
            raise UsageError(f"agent {self.name} was asked to act before it was given a job")
        conversation.tell(observation)
        self._runner = self._runner or asyncio.Runner()
        before_ns = self._clock.now_ns()
        output = self._runner.run(ask(self._model, conversation))
        latency_s = seconds(self._clock.now_ns() - before_ns)
        told = consulted(str(self._model), output, latency_s)
        return Decision(conversation.take(output), think_s(output, latency_s), told)

    def close(self) -> None:
        """Close the connection."""
        if self._runner is not None:
            self._runner.run(self._model.api.aclose())
            self._runner.close()


async def ask(model: Model, conversation: Conversation) -> ModelOutput:
    """Return the model's answer; a conversation that does not fit is shortened before it is given up.

    Raises:
        AgentUnreachable: If the provider does not answer.
    """
    for _ in range(SHORTENINGS):
        try:
            output = await model.generate(
                conversation.messages,
                tools=conversation.tools,
                tool_choice="any" if conversation.tools else None,
                config=conversation.config,
            )
        except Exception as error:
            raise unreachable(error) from error
        if not (output.choices and output.stop_reason == "model_length" and conversation.shorten()):
            return output
    return output


def think_s(output: ModelOutput, latency_s: float) -> float:
    """Return the time to charge: of the request that was answered, not of those that failed before it."""
    return min(latency_s, output.time) if output.time else latency_s


def open_model(
    name: str, settings: Settings, *, base_url: str | None = None, api_key: str | None = None
) -> Model:
    """Return a model, or say what it lacks.

    Raises:
        UsageError: If the provider is unknown, its package is missing, or there is no key for it.
    """
    provider, _, model = name.partition("/")
    if provider == "mockllm" and model != "model":
        from rig.agents.scripted_model import scripted_model

        return scripted_model(model)
    extra: dict[str, Any] = {"max_retries": settings.retries} if provider in OWN_RETRIES else {}
    try:
        return get_model(
            name,
            config=GenerateConfig(max_retries=settings.retries),
            base_url=base_url,
            api_key=api_key,
            memoize=False,
            **extra,
        )
    except PrerequisiteError as error:
        raise UsageError(f"{PREFIX}{name}: {_one_line(str(error.message)).removeprefix('ERROR: ')}") from None
    except (ValueError, ImportError) as error:
        raise UsageError(f"{PREFIX}{name}: {_one_line(str(error))}") from None


def model_facts(
    model: str, sampling: Mapping[str, Json], settings: Settings, prompt: Mapping[str, Json]
) -> dict[str, Json]:
    """Return what identifies a model as an agent, for the manifest: itself, sampling, prompts and memory.

    Args:
        model: Provider and name.
        sampling: What is set for every call, beside the settings.
        settings: How it is asked.
        prompt: The prompt's facts.
    """
    return {
        "provider": model.partition("/")[0],
        "name": model,
        "calls": settings.calls,
        "timeout_s": settings.timeout_s,
        "inspect_ai": _version("inspect-ai"),
        "sampling": {
            **sampling,
            **settings.model_dump(mode="json", include=set(SAMPLING), exclude_none=True),
        },
        "prompts": dict(prompt),
        "memory": {"messages": settings.window},
    }


def unreachable(error: Exception) -> Exception:
    """Return a failed call as what it is: somebody's between rig and model, never the model's.

    Errors of our own pass unchanged.
    """
    if isinstance(error, RunError):
        return error
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    status = next((s for e in chain if isinstance(s := getattr(e, "status_code", None), int)), None)
    names = " ".join(type(e).__name__ for e in chain)
    if status is not None:
        what = STATUS.get(status, "outage" if status >= 500 else "request_refused")
    elif "Timeout" in names:
        what = "timeout"
    elif "Connect" in names:
        what = "no_connection"
    else:
        what = "provider_error"
    detail = next((t for e in reversed(chain) if (t := _one_line(str(e)))), type(error).__name__)
    return AgentUnreachable(
        what, f"{type(error).__name__}: {detail}" + (f" (status {status})" if status else "")
    )


def _one_line(text: str, longest: int = 300) -> str:
    line = " ".join(MARKUP.sub("", text).split())
    return line if len(line) <= longest else f"{line[:longest]}..."


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
