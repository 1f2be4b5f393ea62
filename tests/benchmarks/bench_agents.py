"""What the way to an agent costs: milliseconds per decision over the agent's own time.

The same decisions (look, a hundred times) are made three times: by an agent in the loop, by a model asked by our own
agent, and by a model in an Inspect evaluation. The model answers at once, so what a decision costs more than in the
loop is the way there and back: prompt, text, messages, tool call, transcript, and the record of it all. The start of
an evaluation and of a record is taken out by comparing long trials with short ones. Processor time, since a machine
may be shared.

    python tests/benchmarks/bench_agents.py [--trials 3]
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from inspect_ai import eval
from inspect_ai.model import ChatMessageAssistant, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall

from rig.agents.model import ModelAgent
from rig.connect.inspect_tasks import make_task
from rig.core.agent import Agent, Briefing, Decision, Observation
from rig.core.tools import Action, Finish, Observe
from rig.trial import run
from rig.trial.spec import TrialSpec

ITEM = "bed-watch/30-min/quiet"
THINK = "1 s"
SHORT, LONG = 10, 110
Job = Callable[[Path, int], object]


class Looks:
    """Looks so often, then leaves."""

    name = "looks"

    def __init__(self, times: int) -> None:
        self._left = times

    def begin(self, briefing: Briefing) -> None:
        pass

    def act(self, observation: Observation) -> Decision:
        self._left -= 1
        action: Action = Finish(summary="enough") if self._left < 0 else Observe()
        return Decision(action, 1.0)


def model(times: int) -> Model:
    numbers = count()

    def answer(*_: object) -> ModelOutput:
        number = next(numbers)
        tool, arguments = ("observe", {}) if number < times else ("finish", {"summary": "enough"})
        call = ToolCall(id=str(number), function=tool, arguments=arguments)
        message = ChatMessageAssistant(content="", tool_calls=[call])
        output = ModelOutput.from_message(message, stop_reason="tool_calls")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def trial(agent: Callable[[int], Agent]) -> Job:
    def job(folder: Path, times: int) -> object:
        run.make_agent = lambda name, rng: agent(times)
        spec = TrialSpec(item=ITEM, agent="bench", bench="sim", monitor="guard", seed=1, think=THINK)
        return run.run_trial(spec, folder / "t")

    return job


def evaluation(folder: Path, times: int) -> object:
    task = make_task("bed-watch")(seed=1, think=THINK, out=str(folder / "runs"))
    return eval(task, model=model(times), log_dir=str(folder / "logs"), display="none")


def spent(job: Job, times: int) -> tuple[float, float]:
    """Return processor and wall seconds of one trial."""
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time(), time.perf_counter()
        job(Path(folder), times)
        return time.process_time() - before[0], time.perf_counter() - before[1]


def per_decision(job: Job, trials: int) -> tuple[float, float]:
    """Return processor and wall milliseconds per further decision: the best of ``trials``."""
    spent(job, SHORT)  # warm up
    short = [spent(job, SHORT) for _ in range(trials)]
    long = [spent(job, LONG) for _ in range(trials)]
    return tuple(1e3 * (min(x[i] for x in long) - min(x[i] for x in short)) / (LONG - SHORT) for i in (0, 1))  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=3)
    trials = parser.parse_args().trials
    print(f"{LONG - SHORT} looks in {ITEM}, best of {trials}; load {os.getloadavg()[0]:.1f}")
    print(f"{'way':34s} {'cpu ms/decision':>16s} {'wall ms/decision':>17s} {'over the loop (cpu)':>20s}")
    base = None
    for name, job in (
        ("in the loop", trial(Looks)),
        ("runrig trial --agent inspect:...", trial(lambda n: ModelAgent("inspect:mockllm/model", model(n)))),
        ("inspect eval rig/bed_watch", evaluation),
    ):
        cpu, wall = per_decision(job, trials)
        base = cpu if base is None else base
        print(f"{name:34s} {cpu:16.2f} {wall:17.2f} {cpu - base:+17.2f} ms", flush=True)


if __name__ == "__main__":
    main()
