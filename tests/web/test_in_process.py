"""In process and over HTTP the page answers the same; what was recorded comes out unchanged."""

from __future__ import annotations

import asyncio
import json

import pytest

from fazm_memory.loopback import Message
from fazm_memory.web.server import InProcessPage, PageServer
from tests.web.conftest import API, Asking, World, bearer, call

PATHS = [
    "/", "/app.js", "/nowhere", f"{API}sessions", f"{API}days",
    f"{API}sessions/tidy/events?kind=action&limit=2",
    f"{API}sessions/tidy/events/4", f"{API}sessions/tidy/state?at=3", f"{API}rollup", f"{API}lanes",
    f"{API}sessions/none", f"{API}search?q=scans", f"{API}sessions/tidy/replay-plan", f"{API}questions",
]  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "<svg onload=alert(1)><a xlink:href='javascript:1'>",
    "![x](https://example.com/x.png)",
    "</textarea><!--",
    "a\u202eb\u2066c\u200bd",
    "line\u2028two\u2029",
    '"; DROP TABLE event; --',
    "{{7*7}}${7*7}",
    "caf\u00e9 \U0001f600 \u0000 \u0007",
]


@pytest.mark.parametrize("path", PATHS)
def test_in_process_is_like_a_server(inside: InProcessPage, served: PageServer, path: str) -> None:
    status, headers, body = inside("GET", path, {}, b"")
    there = call(served, "GET", path, bearer(served))
    assert (status, bytes(body)) == (there[0], there[2])
    ours = {name: value for name, value in headers.items() if name != "date"}
    assert ours == {name: value for name, value in there[1].items() if name not in ("date", "connection")}


def test_what_a_page_sends_along_counts_for_nothing(inside: InProcessPage) -> None:
    claims = {"Origin": "http://evil.example", "Host": "evil.example", "Authorization": "Bearer x"}
    assert inside("GET", f"{API}status", claims, b"")[0] == 200
    assert inside("POST", f"{API}recording", {"content-type": "text/plain"}, b"{}")[0] == 415
    assert inside("GET", "/open?code=x", {}, b"")[0] == 404
    status, _, body = inside("GET", f"{API}changes", {}, b"")
    assert status == 200
    assert body.startswith(b"id: ")


def test_a_body_larger_than_it_says_is_refused(inside: InProcessPage) -> None:
    status, _, body = inside(
        "POST", f"{API}recording", {"content-type": "application/json"}, b" " * (3 << 20)
    )
    assert status == 413
    assert json.loads(body)["error"]["title"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_data_and_comes_out_as_it_went_in(ask: Asking, world: World, text: str) -> None:
    stored = world.memory.recorder.redactor.text(text, 1000).text
    world.open(f"hostile {len(text)}", title=text, workspace="/w")
    name = f"hostile {len(text)}"
    prompt = world.tell(name, "prompt", text=text)
    action = world.tell(name, "action", tool=text, input={"command": text, text: 1}, output=text, error=text)
    session = ask.get(f"sessions/{world.id(name)}")
    assert session["title"] == stored
    path = f"sessions/{world.id(name)}/events"
    assert ask.get(f"{path}/{prompt}")["event"]["payload"]["text"] == stored
    result = ask.get(f"{path}/{action}")
    assert result["output"] == stored
    assert result["input"]["command"] == stored
    assert ask.get("sessions")["items"][0]["title"] == stored
    assert ask.get(path)["items"][prompt]["title"] == " ".join(stored.split())


def test_an_answer_cannot_be_taken_for_a_page(inside: InProcessPage, world: World) -> None:
    world.open("page", title="<script>alert(1)</script>")
    _, headers, body = inside("GET", f"{API}sessions", {}, b"")
    assert headers["content-type"] == "application/json"
    assert headers["x-content-type-options"] == "nosniff"
    assert b"<script>" in body


def test_a_long_text_is_cut_in_lists_and_whole_in_the_event(ask: Asking, world: World) -> None:
    long = "word " * 12_000
    seq = world.tell("tidy", "message", text=long)
    row = ask.get(f"sessions/{world.id('tidy')}/events", dir="desc", limit=1)["items"][0]
    assert len(row["title"]) == 200
    result = ask.get(f"sessions/{world.id('tidy')}/events/{seq}")
    assert result["event"]["payload"]["text"].startswith("word word")
    assert len(result["event"]["payload"]["text"]) > 50_000


def test_a_client_that_goes_away_while_it_sends_is_no_error(inside: InProcessPage) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": f"{API}recording", "raw_path": b"", "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"20")], "root_path": "",
        "scheme": "http", "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "http_version": "1.1",
    }  # fmt: skip
    asyncio.run(inside.page(scope, receive, send))  # an exception here would be logged with a traceback
    assert sent[0]["status"] == 400
