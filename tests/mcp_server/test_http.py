"""The guard refuses each thing it should, on every route; and behind it the server works as on stdio."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from fazm_memory.errors import StoreUnsafe
from fazm_memory.loopback.guard import BODY, Guard, Message, Receive, Scope, Send, read_token

TOKEN = "t" * 43
PORT = 4711
GOOD = {
    "host": f"127.0.0.1:{PORT}",
    "authorization": f"Bearer {TOKEN}",
    "content-type": "application/json",
    "content-length": "2",
}


def status(
    method: str = "POST",
    path: str = "/mcp",
    *more: tuple[str, str],
    kind: str = "http",
    **changed: str | None,
) -> int:
    """What the guard answers to a request like a good one but for what is changed; 200 when let in."""

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    headers = {**GOOD, **{name.replace("_", "-"): value for name, value in changed.items()}}
    given = [(name, value) for name, value in headers.items() if value is not None]
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in (*given, *more)],
    }
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(Guard(inside, token=TOKEN, port=PORT)(scope, receive, send))
    return int(sent[0].get("status", sent[0].get("code")))


def test_a_good_request_gets_in() -> None:
    assert status() == 200
    assert status(host=f"localhost:{PORT}", origin=f"http://localhost:{PORT}") == 200
    assert status(content_type="application/json; charset=utf-8") == 200


@pytest.mark.parametrize("path", ["/mcp", "/", "/nowhere", "/mcp/../x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "HEAD"])
def test_no_route_and_no_method_works_without_the_token(method: str, path: str) -> None:
    assert status(method, path, authorization=None) == 401


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer é",
    ],
)
def test_a_wrong_token_is_refused(given: str) -> None:
    assert status(authorization=given) == 401


def test_two_tokens_are_refused_even_when_one_is_right() -> None:
    assert status("POST", "/mcp", ("authorization", f"Bearer {TOKEN}")) == 401


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "127.0.0.1",
        f"evil.example:{PORT}",
        "127.0.0.1:1",
        f"127.0.0.1:{PORT}.evil.example",
        f"[::1]:{PORT}",
        f"0.0.0.0:{PORT}",
        f"127.0.0.1:{PORT}@evil.example",
    ],
)
def test_a_name_that_is_not_ours_is_refused(host: str | None) -> None:
    assert status(host=host) == 421
    assert status("GET", host=host) == 421


def test_two_hosts_are_refused() -> None:
    assert status("POST", "/mcp", ("host", "evil.example")) == 421


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://127.0.0.1",
        f"https://127.0.0.1:{PORT}",
        f"http://127.0.0.1:{PORT}/",
        f"http://127.0.0.1:{PORT}.evil.example",
    ],
)
def test_a_page_from_elsewhere_is_refused(origin: str) -> None:
    assert status(origin=origin) == 403


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"]
)
def test_a_body_that_is_not_json_is_refused(kind: str | None) -> None:
    assert status(content_type=kind) == 415


@pytest.mark.parametrize("size", [str(BODY + 1), "9" * 30, "-1", "x", "1e3"])
def test_a_body_too_large_is_refused_before_it_is_read(size: str) -> None:
    assert status(content_length=size) == 413


def test_websockets_are_closed() -> None:
    assert status(kind="websocket") == 1008


def test_the_token_is_private_kept_and_replaced_on_request(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    path, token = read_token(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) >= 43
    assert read_token(home) == (path, token)
    assert read_token(home, new=True)[1] != token
    path.chmod(0o644)
    with pytest.raises(StoreUnsafe, match="can read"):
        read_token(home)
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(StoreUnsafe, match="no token"):
        read_token(home)


def test_the_program_serves_a_client_and_ends_in_order(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "FAZM_MEMORY_HOME": str(tmp_path / "memory"), "FAZM_MEMORY_KEY": "file"}
    command = [sys.executable, "-m", "fazm_memory.cli.main", "serve", "--port", "0", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout is not None
        started = server.stdout.readline()
        result = json.loads(started)
        token = Path(result["token_file"]).read_text()
        assert token not in started
        bare = HTTPConnection("127.0.0.1", int(result["url"].split(":")[2].split("/")[0]), timeout=60)
        bare.request("GET", "/mcp")
        with bare.getresponse() as answer:  # unread, it would hold on to the connection
            assert (answer.status, answer.getheader("server")) == (401, None)
        bare.close()
        assert _chunked(bare, token) == 413
        state = asyncio.run(_work(result["url"], token))
        server.send_signal(signal.SIGTERM)
        rest, talk = server.communicate(timeout=60)
    assert (server.returncode, rest, talk) == (0, "", "")
    assert [one["what"] for one in state["decisions_made"]] == ["dates first"]


def _chunked(connection: HTTPConnection, token: str) -> int:
    """What a body too large gets that does not say its size beforehand."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "*/*"}
    # The last chunk is the one too many: whoever is refused earlier may be cut off while still talking.
    body = (b" " * (1 << 16) for _ in range(BODY // (1 << 16) + 1))
    connection.request("POST", "/mcp", body=body, headers=headers, encode_chunked=True)
    with connection.getresponse() as answer:
        status = answer.status
    connection.close()
    return status


async def _work(url: str, token: str) -> dict[str, Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        opened = (
            await client.call_tool("session_note", {"kind": "open", "workspace": "/w"})
        ).structured_content
        assert opened is not None
        handle = opened["session"]
        note = {"session": handle, "kind": "decision", "text": "dates first"}
        await client.call_tool("session_note", note)
        state = (await client.call_tool("session_read", {"session": handle})).structured_content
        assert state is not None
        return state
