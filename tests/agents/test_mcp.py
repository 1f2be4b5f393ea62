"""A trial over the Model Context Protocol: the official client does the job, and nobody else gets at it."""

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

from mcp import Client, StdioServerParameters

from analysis.grade import grade
from rig.agents.care import CAREFUL
from rig.agents.prompts import load_prompt
from rig.agents.schema import openai_functions
from rig.agents.scripted import ScriptedAgent
from rig.agents.view import observation_of
from rig.connect.desk import Desk
from rig.connect.mcp_server import Bedside, Lease, Tokens, http_app
from rig.core.agent import Briefing
from rig.core.clock import MonotonicClock, SimClock
from rig.core.event import Kind
from rig.core.record import Record, read
from rig.trial.spec import TrialSpec
from tasks.suite import load_task
from tests import graphics

WATCH = "bed-watch/30-min/quiet"


@asynccontextmanager
async def bedside(
    folder: Path, item: str = WATCH, tokens: Tokens | None = None, think: str = "1 s"
) -> AsyncIterator[Bedside]:
    spec = TrialSpec(item=item, agent="mcp:test", bench="sim", monitor="guard", seed=1, think=think)
    desk = Desk(spec, folder, {})
    await desk.open()
    try:
        yield Bedside(desk, load_prompt().file, tokens, MonotonicClock())
    finally:
        await desk.close()


def run(job: Callable[[], Any]) -> Any:
    return anyio.run(job)


def bodies(record: Record, kind: Kind) -> list[dict[str, Any]]:
    return [dict(e.body) for e in record.events if e.kind == kind]


def test_a_client_is_told_the_same_tools_as_everybody(tmp_path: Path) -> None:
    async def job() -> None:
        async with bedside(tmp_path / "t") as side, Client(side.server()) as client:
            tools = (await client.list_tools()).tools
            told = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.input_schema},
                }
                for t in tools
            ]
            assert told == openai_functions(load_task("bed-watch").file.tools)
            assert [t.name for t in tools if t.annotations and t.annotations.read_only_hint] == ["observe"]

    run(job)


def test_calls_are_events_and_bad_ones_come_back_mendable(tmp_path: Path) -> None:
    async def job() -> None:
        async with bedside(tmp_path / "t") as side, Client(side.server()) as client:
            good = await client.call_tool("say", {"text": "Good evening."})
            assert not good.is_error and good.structured_content["last_action"]["status"] == "completed"
            assert json.loads(good.content[0].text) == good.structured_content
            for tool, arguments, said in (
                ("write_register", {"address": 1}, "there is no tool"),
                ("wait_until", {"timeout_s": "nan"}, "timeout_s"),
                ("wait_until", {"timeout_s": 1e9}, "14400"),
            ):
                bad = await client.call_tool(tool, arguments)
                assert bad.is_error and said in bad.content[0].text
            assert "Care notes" in (await client.read_resource("runrig://briefing")).contents[0].text
            await client.call_tool("finish", {"summary": "done"})
            late = await client.call_tool("say", {"text": "Still here?"})
            assert late.is_error and "the job is over" in late.content[0].text

    run(job)
    record = read(tmp_path / "t")
    assert [b["tool"] for b in bodies(record, Kind.PROPOSED)] == [
        "say",
        "write_register",
        "wait_until",
        "wait_until",
        "finish",
    ]
    assert "briefing was read" in bodies(record, Kind.NOTED)[0]["text"]
    assert grade(record).ending == "finished"


def test_a_client_that_leaves_is_no_failure_of_its_agent(tmp_path: Path) -> None:
    async def job() -> None:
        async with bedside(tmp_path / "t") as side, Client(side.server()) as client:
            await client.call_tool("observe", {})

    run(job)
    assert grade(read(tmp_path / "t")).outcome == "ABORTED"


def test_stop_is_accepted_in_the_middle_of_a_wait(tmp_path: Path) -> None:
    async def job() -> None:
        async with (
            bedside(tmp_path / "t", item="bed-watch/8-h/quiet") as side,
            Client(side.server()) as client,
        ):
            statuses: list[str] = []

            async def call(tool: str, arguments: dict[str, Any]) -> None:
                reply = await client.call_tool(tool, arguments)
                statuses.append(f"{tool}: {reply.structured_content['last_action']['status']}")

            rest = side.desk.session._rig._parts.backend
            begun, stretch = threading.Event(), rest.stretch

            def slowly(*arguments: Any) -> Any:
                begun.set()
                return stretch(*arguments)

            rest.stretch = slowly  # type: ignore[method-assign]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, "wait_until", {"timeout_s": 14400.0})
                await anyio.to_thread.run_sync(begun.wait)
                tasks.start_soon(call, "stop", {})
            assert sorted(statuses) == ["stop: completed", "wait_until: superseded"]
            assert side.desk.session.observation.t_ns < 14_000e9

    run(job)


def test_a_careful_client_over_standard_input_and_output_passes(tmp_path: Path) -> None:
    """The script a user would write: the official client, our command, the whole job."""

    async def job() -> None:
        command = [
            "-m",
            "rig.cli",
            "mcp",
            "--task",
            "itch-scratch",
            "--out",
            str(tmp_path),
            "--think",
            "1 s",
            "--seed",
            "3",
        ]
        server = StdioServerParameters(command=sys.executable, args=command, env={**os.environ})
        async with Client(server) as client:
            briefing = (await client.read_resource("runrig://briefing")).contents[0].text
            agent = ScriptedAgent("careful", CAREFUL, np.random.default_rng(0))
            agent.begin(
                Briefing(task="itch-scratch", goal="", care_notes=(), tools=(), nominal_s=20.0, limit_s=300.0)
            )
            text = briefing[briefing.index("{") :]
            for _ in range(200):
                action = agent.act(observation_of(text)).action
                reply = await client.call_tool(action.tool, action.model_dump(mode="json", exclude={"tool"}))
                assert not reply.is_error, reply.content[0].text
                text = reply.content[0].text
                if action.tool == "finish":
                    return

    run(job)
    (manifest,) = tmp_path.rglob("manifest.json")
    graded = grade(read(manifest.parent))
    assert graded.outcome == "PASS", graded.reason


def test_only_the_holder_of_the_token_acts_and_strangers_see_nothing(tmp_path: Path) -> None:
    import httpx2  # the client library the protocol's own client uses
    import uvicorn

    tokens = Tokens()

    async def job() -> None:
        async with bedside(tmp_path / "t", tokens=tokens) as side:
            config = uvicorn.Config(
                http_app(side, tokens, "127.0.0.1"), host="127.0.0.1", port=0, log_level="error"
            )
            server = uvicorn.Server(config)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve)
                while not server.started:
                    await anyio.sleep(0.01)
                port = server.servers[0].sockets[0].getsockname()[1]
                url = f"http://127.0.0.1:{port}/mcp"

                async with httpx2.AsyncClient() as http:
                    assert (await http.post(url, json={})).status_code == 401
                    bad = {"Authorization": "Bearer x"}
                    assert (await http.post(url, json={}, headers=bad)).status_code == 401
                    elsewhere = {"Authorization": f"Bearer {tokens.controller}", "Host": "evil.example"}
                    assert (await http.post(url, json={}, headers=elsewhere)).status_code in (400, 403, 421)

                async with client_of(url, tokens.observer) as client:
                    assert "Care notes" in (await client.read_resource("runrig://briefing")).contents[0].text
                    refused = await client.call_tool("stop", {})
                    assert refused.is_error and "look, not act" in refused.content[0].text
                async with client_of(url, tokens.controller) as client:
                    assert not (await client.call_tool("say", {"text": "Good evening."})).is_error
                    await client.call_tool("finish", {"summary": "done"})
                server.should_exit = True

    run(job)
    record = read(tmp_path / "t")
    assert [b["tool"] for b in bodies(record, Kind.PROPOSED)] == ["say", "finish"]
    assert any("stop was refused" in b["text"] for b in bodies(record, Kind.NOTED))


@asynccontextmanager
async def client_of(url: str, token: str) -> AsyncIterator[Client]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def test_control_is_one_sessions_until_it_has_been_silent_for_a_minute() -> None:
    clock = SimClock()
    lease = Lease(clock)
    assert lease.refuse("a") is None
    clock.sleep_until(59_000_000_000)
    assert "another client" in (lease.refuse("b") or "")
    assert lease.refuse("a") is None
    clock.sleep_until(120_000_000_000)
    assert lease.refuse("b") is None
    assert "another client" in (lease.refuse("a") or "")


def test_the_command_refuses_what_does_not_exist(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "rig.cli", "mcp", "--task", "nothing", "--out", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2 and "unknown task" in ran.stderr and "Traceback" not in ran.stderr


def test_a_port_that_is_taken_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = subprocess.run(
            [sys.executable, "-m", "rig.cli", "mcp", "--task", "bed-watch", "--out", str(tmp_path), "--port", str(port)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 2 and f"port {port}" in ran.stderr and "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())


def test_a_picture_comes_as_a_picture(tmp_path: Path) -> None:
    graphics.needed()

    async def job() -> None:
        async with (
            bedside(tmp_path / "t", "spoon-feed/4-bites/plain") as side,
            Client(side.server()) as client,
        ):
            result = await client.call_tool("observe", {"camera": "face", "width": 320})
            told, *pictures = result.content
            (picture,) = pictures
            data = base64.b64decode(picture.data)
            assert picture.mime_type == "image/jpeg" and data[:2] == b"\xff\xd8"
            (said,) = json.loads(told.text)["pictures"]
            assert (said["camera"], said["width"], said["age_s"]) == ("face", 320, 0.04)
            (seen,) = bodies(read(tmp_path / "t"), Kind.SEEN)
            assert seen["sha256"] == hashlib.sha256(data).hexdigest()
            refused = await client.call_tool("observe", {"camera": "roof"})
            assert "known: face" in refused.content[0].text

    run(job)
