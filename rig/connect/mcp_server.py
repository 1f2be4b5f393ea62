"""One trial served over the Model Context Protocol: read tools and intents, nothing lower.

A client sees the task's tools, the briefing and what the agent sees; there is no tool for registers, serial lines
or the monitor. One controller at a time: over standard input and output the pipe is the controller's own, over
HTTP only the holder of the controller's token may act and the lease is its session's until it has been silent for
a minute. Every call is on record, also those that were refused. Hints a client is given are not controls.
"""

import hmac
import secrets
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from rig.core.errors import RunError, UsageError

try:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from starlette.responses import PlainTextResponse
    from starlette.types import ASGIApp, Receive, Scope, Send
except ImportError as missing:
    raise UsageError(
        f"the MCP server needs mcp 2 or later, the extra [mcp] ({missing}); install it with: pip install 'runrig[mcp]'"
    ) from None

from rig.agents.calls import action_of
from rig.agents.prompts import PromptFile
from rig.agents.schema import ToolSchema, offered, schemas
from rig.agents.view import text_of, view_of
from rig.connect.desk import Desk
from rig.core.clock import Clock, nanoseconds, seconds
from rig.core.malformed import Malformed

SILENT_NS = nanoseconds(60.0)
OBSERVATION = "runrig://observation"
BRIEFING = "runrig://briefing"
Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Tokens:
    """What clients over HTTP show: the one lets act, the other only look."""

    controller: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    observer: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def role(self, authorization: str | None) -> str | None:
        """Return ``controller``, ``observer``, or None for a stranger."""
        given = (authorization or "").removeprefix("Bearer ").encode()
        for role in ("controller", "observer"):
            if hmac.compare_digest(given, getattr(self, role).encode()):
                return role
        return None


class Lease:
    """Who controls: the first session to act, until it has been silent for a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._holder, self._last_ns = clock, "", 0

    def refuse(self, session: str) -> str | None:
        """Return why this session may not act; None, and the lease is its own, if it may."""
        now_ns = self._clock.now_ns()
        if self._holder and self._holder != session and now_ns - self._last_ns < SILENT_NS:
            left_s = seconds(SILENT_NS - (now_ns - self._last_ns))
            return f"another client has control; it lapses after {left_s:.0f} s of silence"
        self._holder, self._last_ns = session, now_ns
        return None


class Bedside:
    """The protocol's side of one trial."""

    def __init__(self, desk: Desk, prompt: PromptFile, tokens: Tokens | None, clock: Clock) -> None:
        self.desk, self._prompt, self._tokens, self._lease = desk, prompt, tokens, Lease(clock)
        self._tools = offered(desk.session.briefing.tools)

    def server(self) -> "Server[Any]":
        """Return the server, ready for any transport."""
        return Server(
            "runrig",
            title="A caregiving job at the bedside",
            instructions=f"{self._prompt.system.strip()}\n\nStart by reading {BRIEFING}.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call,
            on_list_resources=self._list_resources,
            on_read_resource=self._read,
        )

    async def _list_tools(self, context: Context, _: Any) -> types.ListToolsResult:  # noqa: ANN401
        return types.ListToolsResult(tools=[_tool(s) for s in schemas(self.desk.session.briefing.tools)])

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        session = self.desk.session
        if reason := self._may_not_act(context):
            await self.desk.remark("mcp", f"{params.name} was refused: {reason}")
            return _told(reason, error=True)
        action = action_of(params.name, params.arguments or {}, self._tools)
        segment = session.segment
        try:
            observation = await self.desk.step(action)
        except UsageError as error:
            return _told(str(error), error=True)
        except RunError as error:
            return _told(f"the trial was aborted: {error}", error=True)
        text = text_of(observation, session.briefing)
        if session.segment != segment:
            text = f"{self._briefing()}\n\n{text}"
        pictures = [
            types.ImageContent(data=b64encode(seen.data).decode(), mime_type="image/jpeg")
            for seen in observation.sightings
            if seen.data
        ]
        return types.CallToolResult(
            content=[types.TextContent(text=text), *pictures],
            structured_content=view_of(observation, session.briefing),
            is_error=isinstance(action, Malformed),
        )

    def _may_not_act(self, context: Context) -> str | None:
        if self._tokens is None:
            return None
        headers = getattr(context.request, "headers", {})
        if self._tokens.role(headers.get("authorization")) != "controller":
            return "this token lets you look, not act"
        return self._lease.refuse(headers.get("mcp-session-id") or "the client without a session")

    async def _list_resources(self, context: Context, _: Any) -> types.ListResourcesResult:  # noqa: ANN401
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=BRIEFING, name="briefing", description="The job, the person, the care notes."),
                types.Resource(uri=OBSERVATION, name="observation", description="What the agent was last shown."),
            ]
        )  # fmt: skip

    async def _read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        session = self.desk.session
        uri = str(params.uri)
        if uri == BRIEFING:
            text = self._briefing()
        elif uri == OBSERVATION:
            text = text_of(session.observation, session.briefing)
        else:
            raise ValueError(f"no resource {uri}; there are {BRIEFING} and {OBSERVATION}")
        await self.desk.remark("mcp", f"{uri} was read")
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text)])

    def _briefing(self) -> str:
        session = self.desk.session
        return self._prompt.job_text(session.briefing, text_of(session.observation, session.briefing))


async def serve_stdio(bedside: Bedside) -> None:
    """Serve one client on standard input and output until it leaves."""
    server = bedside.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(bedside: Bedside, tokens: Tokens, host: str) -> ASGIApp:
    """Return the server as an ASGI application: loopback names only, and nobody without a token."""
    app = bedside.server().streamable_http_app(host=host)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
            if tokens.role(headers.get("authorization")) is None:
                refusal = PlainTextResponse("a token is needed: Authorization: Bearer ...\n", 401)
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded


def _tool(schema: ToolSchema) -> types.Tool:
    return types.Tool(
        name=schema.name,
        description=schema.description,
        input_schema=dict(schema.parameters),
        annotations=types.ToolAnnotations(read_only_hint=schema.read_only, open_world_hint=False),
    )


def _told(text: str, *, error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=error)
