"""The doorway: attends to the client on stdio while the SDK is still loading.

It answers what it can and keeps every other line, in order, for the SDK. The handshake it has answered is
among them, so that the SDK knows its client; only its second answer does not go out.
"""

from __future__ import annotations

import io
import json
import os
import select
from typing import Any

from fazm_memory.mcp_server.greeting import hello, version_of
from fazm_memory.mcp_server.traffic import Traffic

CHUNK = 1 << 16
PATIENCE = (
    40.0  # seconds that calls may still take when the client has closed its end: a locked store's and more
)


class Doorway:
    """Reads lines from one descriptor and writes answers to another."""

    def __init__(self, source: int, sink: int, *, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.traffic = Traffic()
        self.source = source
        self.sink = sink
        self.kept = b""  # whole lines for the SDK
        self.greeted: Any = None  # the id of the handshake that was answered here
        self._partial = b""
        self._first = True

    def attend(self, loaded: int) -> None:
        """Answer and keep until `loaded` can be read, or the client has gone."""
        while True:
            able, _, _ = select.select([self.source, loaded], [], [])
            if loaded in able:
                break
            chunk = os.read(self.source, CHUNK)
            if not chunk:
                break
            *lines, self._partial = (self._partial + chunk).split(b"\n")
            for line in lines:
                self._take(line + b"\n")

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if self._first and (version := version_of(message)) is not None:
            self.greeted = message["id"]
            self._say(message["id"], hello(version))
        elif self.greeted is not None and (result := _early(message)) is not None:
            self._say(message["id"], result)
            return
        self._first = False
        self.kept += line

    def _say(self, number: Any, result: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, ensure_ascii=False)
        data = memoryview(text.encode() + b"\n")
        while data:
            data = data[os.write(self.sink, data) :]

    def reader(self) -> io.TextIOWrapper:
        """What the client has said and will say, for the SDK."""
        rest = _Rest(self.kept + self._partial, self.source, self.traffic, self.patience)
        return io.TextIOWrapper(io.BufferedReader(rest), encoding="utf-8", errors="replace")

    def writer(self) -> Writer:
        return Writer(os.fdopen(self.sink, "w", encoding="utf-8", closefd=False), self.greeted, self.traffic)


def _early(message: Any) -> dict[str, Any] | None:
    from fazm_memory.mcp_server.early import answer  # loaded after the handshake, which needs none of it

    return answer(message)


class Writer:
    """Lines to the client, but for the SDK's own answer to a handshake that has been answered."""

    def __init__(self, out: io.TextIOWrapper, answered: Any, traffic: Traffic) -> None:
        self.out = out
        self.traffic = traffic
        self.answered = answered

    def write(self, line: str) -> int:
        self.traffic.said(line)
        if self.answered is not None and json.loads(line).get("id") == self.answered:
            self.answered = None
            return len(line)
        return self.out.write(line)

    def flush(self) -> None:
        self.out.flush()


class _Rest(io.RawIOBase):
    """Bytes that were read already, then those of a descriptor; its end once all calls are answered."""

    def __init__(self, already: bytes, source: int, traffic: Traffic, patience: float) -> None:
        self.source = source
        self.traffic = traffic
        self.patience = patience
        self.partial = b""
        self.ready = b""
        self._take(already)

    def readable(self) -> bool:
        return True

    def _take(self, chunk: bytes) -> None:
        *lines, self.partial = (self.partial + chunk).split(b"\n")
        self.ready += b"".join(self.traffic.taken(line + b"\n") for line in lines)

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            chunk = os.read(self.source, CHUNK)
            if not chunk:
                self.traffic.settle(self.patience)
                self.ready, self.partial = self.partial, b""
                break
            self._take(chunk)
        part, self.ready = self.ready[: len(buffer)], self.ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)
