"""A scripted carer that looks to everything around it like a language model.

It reads what a model is shown, decides by the policy of the task, and answers with a call and its usage. So the
whole way through Inspect AI, prompt and text is walked with no model and no network.
"""

import math
from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from rig.agents.catalogue import make_agent
from rig.agents.view import observation_of
from rig.core.agent import Agent, Briefing
from rig.core.malformed import Malformed

Answer = Callable[[Sequence[ChatMessage], Sequence[ToolInfo], ToolChoice, GenerateConfig], ModelOutput]
LETTERS_PER_TOKEN = 4


def scripted_model(script: str) -> Model:
    """Return a mockllm that decides like the scripted agent called ``script``.

    Raises:
        UsageError: If there is no such agent.
    """
    return get_model("mockllm/model", custom_outputs=scripted_answers(script), memoize=False)


def scripted_answers(script: str) -> Answer:
    """Return what mockllm takes as its outputs: a function from a conversation to the next answer."""
    make_agent(script, np.random.default_rng(0))
    agents: dict[str, Agent] = {}
    numbers = count(1)

    def answer(
        messages: Sequence[ChatMessage], tools: Sequence[ToolInfo], choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        job = messages[1]
        sample = str(job.id)
        if sample not in agents:
            agents[sample] = make_agent(script, np.random.default_rng(len(agents)))
            agents[sample].begin(_briefing(job.text))
        action = agents[sample].act(observation_of(_view(messages[-1]))).action
        assert not isinstance(action, Malformed)  # noqa: S101  # policies make actions
        arguments = action.model_dump(mode="json", exclude={"tool"}, exclude_none=False)
        call = ToolCall(id=f"call-{next(numbers)}", function=action.tool, arguments=arguments)
        message = ChatMessageAssistant(content="", tool_calls=[call])
        output = ModelOutput.from_message(message, stop_reason="tool_calls")
        output.model = f"mockllm/{script}"
        read, said = sum(len(m.text) for m in messages), len(str(arguments))
        output.usage = ModelUsage(
            input_tokens=read // LETTERS_PER_TOKEN,
            output_tokens=said // LETTERS_PER_TOKEN,
            total_tokens=(read + said) // LETTERS_PER_TOKEN,
        )
        return output

    return answer


def _briefing(job: str) -> Briefing:
    """Return what a policy needs of the briefing, from the words of the prompt."""
    task = job.partition("Your job (")[2].partition(")")[0]
    return Briefing(
        task=task, goal="", care_notes=(), tools=(), nominal_s=_minutes(job, "would take about ") * 60.0,
        limit_s=math.inf,
    )  # fmt: skip


def _minutes(job: str, before: str) -> float:
    return float(job.partition(before)[2].partition(" ")[0])


def _view(message: ChatMessage) -> str:
    text = message.text
    return text if isinstance(message, ChatMessageTool) else text[text.index("{") :]
