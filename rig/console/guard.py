"""What every request must pass before any of our code sees it, and what every answer carries.

Checked here and not in the routes, so that a new route cannot forget it: the Host (against rebinding of
names), Origin and Sec-Fetch-Site (against pages of others), no protocol upgrades, the size of the body,
and how often somebody asks.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from rig.core.clock import NS_PER_S, monotonic_ns

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY = 1 << 20
READ_ONLY = ("GET", "HEAD")
STOP_PATH = "/api/bench/stop"
SIGN_IN_PATH = "/api/session"
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        b"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


class Bucket:
    """How often a caller may ask: ``rate`` per second in the long run, ``burst`` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, int]] = {}

    def wait_s(self, caller: str, take: bool = True) -> float:
        """Take one, or only look; return 0, or the seconds to wait when there is none to take."""
        now = monotonic_ns()
        left, then = self._left.get(caller, (self._burst, now))
        left = min(self._burst, left + (now - then) / NS_PER_S * self._rate)
        if left < 1.0:
            self._left[caller] = (left, now)
            return (1.0 - left) / self._rate
        self._left[caller] = (left - 1.0 if take else left, now)
        if len(self._left) > 10_000:  # callers long gone
            self._left = {k: v for k, v in self._left.items() if now - v[1] < 60 * NS_PER_S}
        return 0.0


class Guard:
    """Stands before the application."""

    def __init__(self, app: App, hosts: frozenset[str], origins: frozenset[str], secure: bool) -> None:
        self._app, self._hosts, self._origins = app, hosts, origins
        self._headers = (*HEADERS, (b"strict-transport-security", b"max-age=86400")) if secure else HEADERS
        self._general = Bucket(rate=60.0, burst=300.0)
        self._guesses = Bucket(rate=0.2, burst=10.0)  # wrong tokens only: people may come and go
        self._stops = Bucket(rate=20.0, burst=100.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "websocket":  # there are none: the live stream is server-sent events
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is not None:
            await self._answer(send, *refused)
            return
        await self._pass(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str, float] | None:
        """Return status, reason and seconds to wait of a request that must not pass."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = [v.decode("latin-1").lower() for v in headers.get(b"host", [])]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "This console does not answer to that host name.", 0.0
        if b"upgrade" in headers:
            return 400, "This console does not speak any other protocol.", 0.0
        path, reads = scope["path"], scope["method"] in READ_ONLY
        if (refused := self._foreign(headers, path, reads)) is not None:
            return refused
        if any(int(v) > MAX_BODY if v.isdigit() else True for v in headers.get(b"content-length", [])):
            return 413, f"A request may hold at most {MAX_BODY} bytes.", 0.0
        caller = scope["client"][0] if scope.get("client") else ""
        wait = self._bucket(path).wait_s(caller)
        if not wait and path == SIGN_IN_PATH and not reads:
            wait = self._guesses.wait_s(caller, take=False)
        return (429, "Too many requests; wait a moment.", wait) if wait else None

    def _foreign(
        self, headers: dict[bytes, list[bytes]], path: str, reads: bool
    ) -> tuple[int, str, float] | None:
        origins = [v.decode("latin-1") for v in headers.get(b"origin", [])]
        if any(origin not in self._origins for origin in origins) or len(origins) > 1:
            return 403, "Requests from other sites are refused.", 0.0
        site = headers.get(b"sec-fetch-site", [b"same-origin"])[0]
        if path.startswith("/api") and site not in (b"same-origin", b"none"):
            return 403, "Requests from other sites are refused.", 0.0
        if not reads and not origins and b"authorization" not in headers:
            return 403, "A change needs an Origin of this console, or a bearer token.", 0.0
        return None

    def _bucket(self, path: str) -> Bucket:
        return self._stops if path == STOP_PATH else self._general

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in READ_ONLY:
            body = await _body(receive)
            if body is None:
                await self._answer(send, 413, f"A request may hold at most {MAX_BODY} bytes.", 0.0)
                return
            receive = _again(body, receive)

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == 401 and scope["path"] == SIGN_IN_PATH and scope["method"] == "POST":
                    self._guesses.wait_s(scope["client"][0] if scope.get("client") else "")
                message["headers"] = [*message.get("headers", ()), *self._headers]
                if scope["path"].startswith("/api"):
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        await self._app(scope, receive, dressed)

    async def _answer(self, send: Send, status: int, detail: str, wait: float) -> None:
        body = json.dumps({"detail": detail}).encode()
        headers = [
            (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"), *self._headers,
        ]  # fmt: skip
        if wait:
            headers.append((b"retry-after", str(max(1, round(wait))).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _body(receive: Receive) -> bytes | None:
    """Return a request's body, None as soon as it is too large, whatever length it stated."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if message["type"] != "http.request" or not message.get("more_body"):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, then whatever comes after it."""
    given = False

    async def give() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give
