"""An application that is loaded when somebody first asks for it, and told when it could not be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from fazm_memory.loopback.listener import LazyApp

calls: list[str] = []


@pytest.fixture(autouse=True)
def _clear_calls() -> None:
    calls.clear()


def make() -> Starlette:
    calls.append("made")

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        calls.append("begun")
        yield
        calls.append("ended")

    async def hello(request: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    return Starlette(routes=[Route("/x", hello)], lifespan=life)


def test_it_is_made_once_when_it_is_asked_for_and_ends_with_the_server() -> None:
    with TestClient(LazyApp(make, lambda: calls.append("done"))) as client:
        assert calls == []
        assert [client.get("/x").text for _ in range(3)] == ["hello"] * 3
        assert calls == ["made", "begun"]
    assert calls == ["made", "begun", "ended", "done"]


def test_nobody_asks_and_nothing_is_loaded() -> None:
    with TestClient(LazyApp(make, lambda: calls.append("done"))):
        pass
    assert calls == []


def test_what_cannot_be_made_is_reported_to_whoever_asks() -> None:
    def broken() -> Starlette:
        raise RuntimeError("no store")

    with TestClient(LazyApp(broken)) as client:
        answer = client.get("/x")
    assert (answer.status_code, answer.json()) == (503, {"error": "RuntimeError: no store"})
