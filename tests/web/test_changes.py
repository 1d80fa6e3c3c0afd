"""Who listens hears of what is written by others, once, in time; who asks gets what it missed."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from fazm_memory.web.server import PageServer
from tests.web.conftest import API, Asking, World, bearer, open_memory


def test_who_asks_is_reported_what_changed_since(ask: Asking, world: World) -> None:
    first = ask.get("changes", wait=0)
    assert first["sessions"] == []
    world.tell("tidy", "decision", what="names last")
    world.tell("other", "message", "codex", text="hm")
    second = ask.get("changes", wait=0, after=first["cursor"])
    assert second["sessions"] == sorted([world.id("tidy"), world.id("other")])
    assert second["kinds"] == ["decision", "message"]
    assert not second["all"]
    assert ask.get("changes", wait=0, after=second["cursor"])["cursor"] == second["cursor"]


def test_a_cursor_of_another_life_means_read_all_anew(ask: Asking) -> None:
    for cursor in ("0000-3", "nonsense", f"{ask.get('changes', wait=0)['cursor']}9"):
        assert ask.get("changes", wait=0, after=cursor)["all"]


def test_pausing_is_a_change(ask: Asking) -> None:
    cursor = ask.get("changes", wait=0)["cursor"]
    ask.post("recording", pause=60)
    assert "recording" in ask.get("changes", wait=0, after=cursor)["kinds"]


def test_who_waits_is_answered_as_soon_as_something_happens(ask: Asking, world: World) -> None:
    cursor = ask.get("changes", wait=0)["cursor"]
    heard: list[Any] = []
    waiting = threading.Thread(target=lambda: heard.append(ask.get("changes", wait=25, after=cursor)))
    waiting.start()
    world.tell("tidy", "message", text="now")
    waiting.join()
    assert heard[0]["sessions"] == [world.id("tidy")]


@contextmanager
def listening(served: PageServer, **headers: str) -> Iterator[HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", f"{API}changes", headers=bearer(served, **headers))
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    try:
        yield answer
    finally:
        answer.close()  # it has not been read to its end, and holds on to the connection
        connection.close()


def next_change(answer: HTTPResponse) -> dict[str, Any]:
    while True:
        line = answer.readline().decode()
        assert line, "the stream ended"
        if line.startswith("data: "):
            result: dict[str, Any] = json.loads(line.removeprefix("data: "))
            return result


def test_a_stream_tells_every_listener(served: PageServer, world: World) -> None:
    with listening(served) as one, listening(served) as two:
        assert next_change(one)["cursor"] == next_change(two)["cursor"]
        world.tell("tidy", "message", text="for both")
        heard = [next_change(answer) for answer in (one, two)]
        assert [result["sessions"] for result in heard] == [[world.id("tidy")]] * 2
    with listening(served, Last_Event_ID=heard[0]["cursor"]) as again:
        assert next_change(again)["sessions"] == []


def test_a_server_ends_though_somebody_listens(world: World) -> None:
    server = PageServer(lambda: open_memory(world.folder), world.memory.config.home, port=0)
    with server.in_background(), listening(server) as answer:
        next_change(answer)
        server.server.should_exit = True
        assert answer.read().endswith(b"\n\n") or answer.read() == b""
    with socket.socket() as late:
        assert late.connect_ex(("127.0.0.1", server.port)) != 0
