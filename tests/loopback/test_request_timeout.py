"""Connections that say nothing are hung up on, and never keep out one that has something to say."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from fazm_memory.app.process import OPEN_FILES, raise_open_file_limit
from fazm_memory.loopback import listener as request_timeout
from fazm_memory.loopback.guard import Receive, Scope, Send
from fazm_memory.loopback.listener import Server, ServerThread, listen_on, port_of

PATIENCE = 20.0


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
def port() -> Iterator[int]:
    listener = listen_on(0)
    with ServerThread(Server(hello), listener):
        yield port_of(listener)


def asked(connection: HTTPConnection) -> bytes:
    connection.request("GET", "/")
    return connection.getresponse().read()


def ended(connection: socket.socket) -> bool:
    """Whether the other side hung up, sooner or later."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("expected", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_who_never_ends_a_request_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch, port: int, expected: bytes
) -> None:
    monkeypatch.setattr(request_timeout, "FIRST_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", port)) as silent:
        silent.sendall(expected)
        assert ended(silent)


def test_of_too_many_silent_ones_the_oldest_go_and_a_request_is_answered(port: int) -> None:
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    try:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        assert asked(connection) == b"hello"
        assert all(ended(one) for one in silent[: 300 - request_timeout.MOST_WAITING])
        silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        silent[-1].settimeout(PATIENCE)
        assert silent[-1].recv(12) == b"HTTP/1.1 200"
        connection.close()
    finally:
        for one in silent:
            one.close()


def test_a_client_that_was_heard_may_be_quiet_for_longer(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setattr(request_timeout, "FIRST_SECONDS", 0.05)
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    assert asked(connection) == b"hello"
    with socket.create_connection(("127.0.0.1", port)) as later:
        assert ended(later)  # the time that is given to a silent one is over
    assert asked(connection) == b"hello"
    connection.close()


def test_as_many_files_as_are_granted_and_of_use_may_be_open() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
    try:
        assert raise_open_file_limit() == min(OPEN_FILES, before[1])
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(OPEN_FILES, before[1]), before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
