"""The console under attack: what other sites, other names, other roles and odd requests get."""

import json
import socket
from pathlib import Path

import pytest

from rig.console.access import Keys, Role
from rig.console.guard import MAX_BODY, Bucket
from rig.console.start import check_exposure
from rig.core.errors import UsageError
from tests.console import serving
from tests.recorded import SOUP

FOREIGN = "https://evil.example"


@pytest.fixture
def fresh(runs, tmp_path):
    """A console of its own, so that its rate limits are."""
    made = serving.settings(runs, tmp_path)
    with serving.client_of(made) as client:
        yield made, client


def test_nothing_but_the_page_is_given_to_nobody(client):
    for path in (
        "/api/session",
        "/api/trials",
        "/api/trials/x",
        "/api/trials/x/events",
        "/api/trials/x/signals",
    ):
        assert client.get(path).status_code == 401, path
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1:80", "127.0.0.1", "", "127.0.0.1:8765.evil.example"],
)
def test_another_host_name_is_refused(client, host):
    assert client.get("/api/session", headers={"host": host}).status_code == 421
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    [FOREIGN, "http://127.0.0.1:1", "https://127.0.0.1:8765", "null", "http://127.0.0.1:8765.evil.example"],
)
def test_a_change_from_another_origin_is_refused(person, client, made, origin):
    caller = person()
    headers = {"origin": origin, "x-runrig-csrf": caller.me["csrf"]}
    assert client.delete("/api/session", headers={**headers, **caller.cookie}).status_code == 403
    assert caller.get("/session").status_code == 200, "the session must still be there"
    token = {"token": made.keys.tokens[Role.ADMIN], "name": "Eve"}
    assert client.post("/api/session", json=token, headers={"origin": origin}).status_code == 403


def test_a_change_without_an_origin_is_refused(person, client):
    caller = person()
    headers = {"x-runrig-csrf": caller.me["csrf"]}
    assert client.delete("/api/session", headers={**headers, **caller.cookie}).status_code == 403


def test_a_read_on_behalf_of_another_site_is_refused(person, client):
    caller = person()
    for site in ("cross-site", "same-site"):
        answer = client.get("/api/trials", headers={"sec-fetch-site": site, **caller.cookie})
        assert answer.status_code == 403
    assert "access-control-allow-origin" not in caller.get("/trials").headers


def test_a_change_without_the_sessions_own_header_is_refused(person, client):
    one, other = person(name="One"), person(name="Other")
    for csrf in ("", "x", other.me["csrf"]):
        headers = {"origin": serving.BASE, "x-runrig-csrf": csrf}
        assert client.delete("/api/session", headers={**headers, **one.cookie}).status_code == 403


def test_a_websocket_is_never_opened(client):
    from starlette.websockets import WebSocketDisconnect

    for headers in ({}, {"origin": FOREIGN}, {"origin": serving.BASE}):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/trials", headers=headers):
            pass


def test_an_upgrade_is_refused_on_the_wire(runs, tmp_path):
    made = serving.settings(runs, tmp_path, port=serving.free_port())
    with serving.served(made), socket.create_connection(("127.0.0.1", made.port), 5) as line:
        line.sendall(
            f"GET /api/trials HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nOrigin: {FOREIGN}\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert line.recv(4000).split()[1] in (b"400", b"403")


def test_a_wrong_or_an_earlier_token_opens_nothing(client, fresh):
    earlier = Keys.fresh().tokens[Role.ADMIN]
    for token in ("", "x", earlier, "é" * 20):
        answer = client.post(
            "/api/session", json={"token": token, "name": "Eve"}, headers={"origin": serving.BASE}
        )
        assert answer.status_code in (401, 422)
    bearer = {"authorization": f"Bearer {earlier}"}
    assert client.get("/api/trials", headers=bearer).status_code == 401


def test_a_session_that_was_closed_cannot_be_used_again(person):
    caller = person()
    assert caller.send("DELETE", "/session").status_code == 200
    assert caller.get("/session").status_code == 401
    assert caller.send("DELETE", "/session").status_code == 401


def test_guessing_tokens_is_slowed_down(fresh):
    _, client = fresh
    body = {"token": "guess", "name": "Eve"}
    answers = [client.post("/api/session", json=body, headers={"origin": serving.BASE}) for _ in range(30)]
    assert [a.status_code for a in answers].count(429) >= 19
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_a_bucket_gives_what_it_holds_and_then_makes_wait():
    bucket = Bucket(rate=0.001, burst=3)
    assert [bucket.wait_s("a") > 0 for _ in range(5)] == [False, False, False, True, True]
    assert bucket.wait_s("b") == 0


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client, made):
    answer = client.post(
        "/api/session",
        json={"token": made.keys.tokens[Role.VIEWER], "name": "Vi"},
        headers={"origin": serving.BASE},
    )
    client.cookies.clear()
    words = answer.headers["set-cookie"].lower()
    assert "httponly" in words
    assert "samesite=strict" in words


@pytest.mark.parametrize(
    "key", ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2fetc", "....//", "x" * 3000, "%00", "a/../../b"]
)
def test_no_path_leads_out_of_the_runs_folder(person, key):
    caller = person()
    for tail in ("", "/events", "/evidence", "/cameras/x", "/cameras/..%2f..%2fx/0"):
        answer = caller.get(f"/trials/{key}{tail}")
        assert answer.status_code in (400, 404, 405, 414), answer.text
        assert "root:" not in answer.text
    for name in ("..%2f..%2fapp.py", "../index.html", "%2e%2e/app.py"):
        assert caller.client.get(f"/assets/{name}").status_code in (400, 404)


def test_a_large_body_is_refused_whether_it_says_so_or_not(person, client):
    caller = person()
    headers = {"origin": serving.BASE, "x-runrig-csrf": caller.me["csrf"], "content-type": "application/json"}
    large = b'{"token":"' + b"x" * MAX_BODY + b'"}'
    assert client.post("/api/session", content=large, headers=headers).status_code == 413

    def parts():
        for _ in range(40):
            yield b" " * 65536

    assert client.post("/api/session", content=parts(), headers=headers).status_code == 413
    odd = {**headers, "content-length": "-1"}
    assert client.post("/api/session", content=b"{}", headers=odd).status_code in (400, 413)


def test_every_answer_keeps_scripts_and_frames_of_others_out(person, client):
    for answer in (
        client.get("/"),
        client.get("/assets/app.js"),
        person().get("/trials"),
        client.get("/api/trials"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_the_page_asks_nobody_else_for_anything():
    static = Path(serving.__file__).parents[2] / "rig" / "console" / "static"
    page = (static / "index.html").read_text()
    assert "http" not in page
    assert "<script>" not in page, "an inline script would need a weaker policy"


def test_others_are_reached_only_with_tls_and_in_so_many_words(tmp_path):
    check_exposure("127.0.0.1", False, None, None)
    for expose, certificate in ((False, None), (True, None)):
        with pytest.raises(UsageError, match="--expose-to-network"):
            check_exposure("bench.lan", expose, certificate, None)
    with pytest.raises(UsageError, match="every address"):
        check_exposure("0.0.0.0", True, None, None)
    odd = tmp_path / "x.pem"
    odd.write_text("no certificate")
    with pytest.raises(UsageError, match="not a certificate"):
        check_exposure("bench.lan", True, odd, odd)


def test_errors_do_not_say_where_things_are_on_this_machine(person, runs, key_for):
    caller = person()
    answer = caller.get(f"/trials/{key_for(SOUP)}/signals", channels="nothing", start=0, end=1)
    assert answer.status_code == 400
    assert str(runs) not in json.dumps(answer.json())
