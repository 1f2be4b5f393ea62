"""`runrig mcp`: serve one trial to a client of the Model Context Protocol."""

import socket
import sys
from pathlib import Path

import anyio

from analysis.grade import grade
from rig.agents.prompts import PromptFile, load_prompt
from rig.cli.listening import bound
from rig.cli.output import out_folder
from rig.cli.trial import item_key, told
from rig.connect.desk import Desk
from rig.connect.mcp_server import Bedside, Tokens, http_app, serve_stdio
from rig.core.clock import MonotonicClock
from rig.core.errors import AgentUnreachable
from rig.core.event import Json
from rig.core.record import read
from rig.trial.spec import TrialSpec, trial_folder

HOST = "127.0.0.1"


def serve_trial(spec: TrialSpec, out: Path, prompt: str, port: int | None) -> int:
    """Serve one trial until the client leaves or the job is over, then say how it ended."""
    given = load_prompt(prompt)
    listening = None if port is None else bound(HOST, port)  # before anything is begun or written
    folder = trial_folder(out_folder(out), spec)
    described: dict[str, Json] = {
        "kind": "a client of the Model Context Protocol", "prompts": dict(given.facts),
    }  # fmt: skip
    try:
        anyio.run(_serve, Desk(spec, folder, described), given.file, listening)
    except ExceptionGroup as several:  # of the task group; the first is the cause
        raise several.exceptions[0] from several
    graded = grade(read(folder))
    _say(told(graded, spec, folder))
    return AgentUnreachable.exit_code if graded.ending == "aborted" else 0


def spec_of(task: str, length: str | None, scenario: str | None, agent: str, **rest: str | int) -> TrialSpec:
    """Return the trial that was asked for."""
    return TrialSpec(item=item_key(task, length, scenario), agent=f"mcp:{agent}", **rest)  # type: ignore[arg-type]


async def _serve(desk: Desk, prompt: PromptFile, listening: socket.socket | None) -> None:
    await desk.open()
    tokens = None if listening is None else Tokens()
    bedside = Bedside(desk, prompt, tokens, MonotonicClock())
    gone = AgentUnreachable("client_gone", "the client left before the job was over")
    try:
        async with anyio.create_task_group() as tasks:
            if not desk.waits:
                tasks.start_soon(desk.keep_going)
            if tokens is None or listening is None:
                _say(f"runrig mcp: {desk.session.briefing.task} on standard input and output")
                await serve_stdio(bedside)
            else:
                await _serve_http(bedside, tokens, listening)
            tasks.cancel_scope.cancel()
    finally:
        await desk.close(None if desk.session.result is not None else gone)


async def _serve_http(bedside: Bedside, tokens: Tokens, listening: socket.socket) -> None:
    import uvicorn

    port = listening.getsockname()[1]
    config = uvicorn.Config(http_app(bedside, tokens, HOST), host=HOST, port=port, log_level="warning")
    server = uvicorn.Server(config)
    _say(
        f"runrig mcp: {bedside.desk.session.briefing.task} on http://{HOST}:{port}/mcp until the job is over\n"
        f"  controller: Authorization: Bearer {tokens.controller}\n"
        f"  observer:   Authorization: Bearer {tokens.observer}"
    )

    async def until_over() -> None:
        while bedside.desk.session.result is None:
            await anyio.sleep(0.2)
        await anyio.sleep(1.0)  # the last reply is on its way
        server.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(until_over)
        await server.serve(sockets=[listening])
        tasks.cancel_scope.cancel()


def _say(text: str) -> None:
    """Say it where it cannot disturb the protocol."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
