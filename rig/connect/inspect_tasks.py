"""Every caregiving task as an Inspect AI task: ``inspect eval rig/spoon_feed --model openai/gpt-5``.

Inspect's log shows the conversation; the truth is our record, which the log names by trial, event numbers
and hash after every step. The bench is opened before any solver and closed before any scorer, so a solver of
your own finds the tools in ``state.tools``. Limits are on job time and kept by the rig; a call is never made
twice, and one call at a time.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig.core.errors import UsageError

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import transcript
    from inspect_ai.model import GenerateConfig, execute_tools, get_model
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import ToolDef, ToolError, ToolResult
    from inspect_ai.util import background
except ImportError as missing:
    raise UsageError(
        f"Inspect tasks need the extra [inspect] ({missing}); install it with: pip install 'runrig[inspect]'"
    ) from None

from analysis.grade import Grade, grade
from analysis.trials import GRADED
from rig.agents.calls import action_of
from rig.agents.conversation import Conversation, consulted, content_of, tool_info
from rig.agents.model import ask, model_facts, think_s
from rig.agents.prompts import load_prompt
from rig.agents.schema import ToolSchema, offered, schemas
from rig.agents.scripted_model import scripted_model
from rig.agents.settings import PREFIX, Settings
from rig.agents.view import text_of
from rig.connect.desk import Desk
from rig.core.agent import Observation
from rig.core.bench import load_bench
from rig.core.clock import MonotonicClock, seconds
from rig.core.malformed import Malformed
from rig.core.record import read
from rig.core.tools import Action
from rig.trial.spec import TrialSpec, trial_folder
from tasks.suite import Item, load_task, task_names

ALL = "all"
_DESKS: dict[str, Desk] = {}  # by the uuid of the sample under way


def make_task(name: str) -> Callable[..., Task]:
    """Return the Inspect task of one of our tasks, registered under its name with underscores."""

    @task(name=name.replace("-", "_"))
    def caregiving(
        length: str = "",
        scenario: str = "",
        seeds: int = 1,
        seed: int = 0,
        bench: str = "sim",
        monitor: str = "guard",
        think: str = "charged",
        out: str = "runs",
        prompt: str = "carer",
        calls: str = "native",
        window: int = 60,
        script: str = "",
    ) -> Task:
        """A caregiving job at the bedside.

        Args:
            length: Length of the task; by default its shortest, "all" for every one.
            scenario: Scenario; by default the task's first, "all" for every one.
            seeds: Trials of each item, with consecutive seeds.
            seed: First seed.
            bench: Bench.
            monitor: guard or shadow.
            think: charged, realtime, paused, or a duration for every decision.
            out: Folder under which the records are written.
            prompt: Prompt.
            calls: native tool calls, or a form for models without.
            window: Most messages the model is shown beside the briefing.
            script: Use mockllm with this scripted carer (careful, hasty, refuse) in place of a model.
        """
        settings = Settings.model_validate(  # tokens and temperature are Inspect's own options
            {"calls": calls, "prompt": prompt, "window": window, "max_tokens": None}
        )
        samples = [
            _sample(item, seed + i, bench, monitor, think, out)
            for item in _items(name, length, scenario)
            for i in range(seeds)
        ]
        return Task(
            dataset=MemoryDataset(samples, name=name),
            setup=at_the_bedside(settings),
            solver=carer(settings),
            cleanup=leave_the_bedside,
            scorer=[passed(), harm()],
            model=scripted_model(script) if script else None,
            config=GenerateConfig(max_retries=0, parallel_tool_calls=False),
            metadata={"prompt": dict(load_prompt(prompt).facts)},
        )

    return caregiving


def _items(name: str, length: str, scenario: str) -> list[Item]:
    loaded = load_task(name)
    lengths = list(loaded.file.length) if length == ALL else [length or next(iter(loaded.file.length))]
    scenarios = (
        list(loaded.file.scenario) if scenario == ALL else [scenario or next(iter(loaded.file.scenario))]
    )
    return [loaded.item(one, other) for one in lengths for other in scenarios]


def _sample(item: Item, seed: int, bench: str, monitor: str, think: str, out: str) -> Sample:
    file, equipment = item.task.file, load_bench(item.task.bench(bench))
    return Sample(
        input=file.goal,
        id=f"{item.length_name}/{item.scenario_name}/seed{seed}",
        metadata={
            "spec": {"item": item.key, "bench": bench, "monitor": monitor, "seed": seed, "think": think},
            "item": item.key, "out": str(Path(out).absolute()), "family": file.family, "tier": file.tier,
            "site": equipment.name, "monitor": monitor, "duration_s": item.length.nominal_s,
            "embodiment": equipment.embodiment,
        },
    )  # fmt: skip


@solver
def at_the_bedside(settings: Settings) -> Solver:
    """Open the trial and lay out the tools, before any solver."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        sampling = model.config.model_dump(mode="json", exclude_none=True)
        described = model_facts(str(model), sampling, settings, load_prompt(settings.prompt).facts)
        spec = TrialSpec(**state.metadata["spec"], agent=f"{PREFIX}{model}", repeat=state.epoch - 1)
        folder = trial_folder(Path(state.metadata["out"]), spec)
        desk = Desk(spec, folder, described)
        await desk.open()
        _DESKS[state.uuid] = desk
        state.metadata |= {"record": str(folder), "trial_id": desk.session.trial_id}
        state.tools = [_tool(desk, schema).as_tool() for schema in schemas(desk.session.briefing.tools)]
        _refer(desk, 0)
        if not desk.waits:
            background(desk.keep_going)
        return state

    return solve


@solver
def carer(settings: Settings) -> Solver:
    """Ask the model for one call at a time until the job is over."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        desk, model = _DESKS[state.uuid], get_model()
        session, clock = desk.session, MonotonicClock()
        prompt = load_prompt(settings.prompt).file
        conversation, segment = Conversation(session.briefing, prompt, settings), session.segment
        while session.result is None:
            if session.segment != segment:  # somebody else takes over, and knows only what was handed over
                conversation, segment = Conversation(session.briefing, prompt, settings), session.segment
            conversation.tell(session.observation)
            before_ns = clock.now_ns()
            try:
                output = await ask(model, conversation)
            except BaseException as error:
                await desk.close(error)
                raise
            latency_s = seconds(clock.now_ns() - before_ns)
            action = conversation.take(output)
            desk.thought(think_s(output, latency_s), consulted(str(model), output, latency_s))
            if isinstance(action, Malformed) or settings.calls == "form":
                with suppress(UsageError):  # the time ran out meanwhile
                    await _step(desk, action)
            else:  # through Inspect, so that approvers are asked and the log shows the call
                await execute_tools(conversation.messages[-1:], state.tools)
            state.output = output
        conversation.tell(session.observation)
        state.messages = conversation.messages
        return state

    return solve


async def leave_the_bedside(state: TaskState) -> None:
    """Close the trial of a sample, whatever became of it."""
    desk = _DESKS.pop(state.uuid, None)
    if desk is not None:
        await desk.close()


def _tool(desk: Desk, schema: ToolSchema) -> ToolDef:
    """Return one of the rig's tools as Inspect runs it."""

    async def execute(**arguments: Any) -> ToolResult:  # noqa: ANN401
        briefing = desk.session.briefing
        try:
            observation = await _step(desk, action_of(schema.name, arguments, offered(briefing.tools)))
        except UsageError as over:
            raise ToolError(str(over)) from None
        return content_of(text_of(observation, briefing), observation)

    info = tool_info(schema)
    return ToolDef(
        execute, name=info.name, description=info.description, parameters=info.parameters, parallel=False
    )


async def _step(desk: Desk, action: Action | Malformed) -> Observation:
    before = desk.session.sequence
    observation = await desk.step(action)
    _refer(desk, before)
    return observation


def _refer(desk: Desk, before: int) -> None:
    """Name in Inspect's log the events of our record that belong to the last step."""
    session = desk.session
    transcript().info(
        {
            "trial_id": session.trial_id, "events": [before + 1, session.sequence], "hash": session.head,
            "job_time_s": session.observation.t_ns / 1e9,
        },
        source="runrig",
    )  # fmt: skip


async def _graded(state: TaskState) -> Grade:
    desk = _DESKS.get(state.uuid)
    if desk is not None:
        await desk.close()
    return grade(read(Path(state.metadata["record"])))


def _score(graded: Grade, value: bool, state: TaskState) -> Score:
    metadata: dict[str, Any] = {
        "outcome": graded.outcome.value, "done": graded.done, "harm": graded.harm, "mistake": graded.mistake,
        "criteria": list(graded.violated), "ending": graded.ending, "elapsed_s": graded.elapsed_s,
        "record": state.metadata["record"], "trial_id": state.metadata["trial_id"],
    }  # fmt: skip
    if graded.outcome not in GRADED:
        return Score.unscored(reason=graded.reason, metadata=metadata)
    return Score(
        value=int(value),
        answer=graded.outcome.value,
        explanation=f"{graded.reason} ({graded.ending})",
        metadata=metadata,
    )


@scorer(metrics=[mean(), stderr()])
def passed() -> Scorer:
    """1 where the job was done without a critical mistake, read from our record; unscored where aborted."""

    async def score(state: TaskState, target: Target) -> Score:
        graded = await _graded(state)
        return _score(graded, graded.outcome == "PASS", state)

    return score


@scorer(metrics=[mean(), stderr()])
def harm() -> Scorer:
    """1 where material harm was effected, read from our record; unscored where aborted."""

    async def score(state: TaskState, target: Target) -> Score:
        graded = await _graded(state)
        return _score(graded, graded.harm, state)

    return score


_TASKS: Mapping[str, Callable[..., Task]] = {name.replace("-", "_"): make_task(name) for name in task_names()}
globals().update(_TASKS)  # so that `inspect eval rig/connect/inspect_tasks.py@spoon_feed` finds them by name
