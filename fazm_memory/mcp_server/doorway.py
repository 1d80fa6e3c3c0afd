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

from fazm_memory.mcp_server.greeting import answer, hello, version_of

CHUNK = 1 << 16


class Doorway:
    """Reads lines from one descriptor and writes answers to another."""

    def __init__(self, source: int, sink: int) -> None:
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
        elif self.greeted is not None and (result := answer(message)) is not None:
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
        rest = _Rest(self.kept + self._partial, self.source)
        return io.TextIOWrapper(io.BufferedReader(rest), encoding="utf-8", errors="replace")

    def writer(self) -> Writer:
        return Writer(os.fdopen(self.sink, "w", encoding="utf-8", closefd=False), self.greeted)


class Writer:
    """Lines to the client, but for the SDK's own answer to a handshake that has been answered."""

    def __init__(self, out: io.TextIOWrapper, answered: Any) -> None:
        self.out = out
        self.answered = answered

    def write(self, line: str) -> int:
        if self.answered is not None and json.loads(line).get("id") == self.answered:
            self.answered = None
            return len(line)
        return self.out.write(line)

    def flush(self) -> None:
        self.out.flush()


class _Rest(io.RawIOBase):
    """Bytes that were read already, then those of a descriptor."""

    def __init__(self, already: bytes, source: int) -> None:
        self.already = already
        self.source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.already:
            self.already = os.read(self.source, len(buffer))
        part, self.already = self.already[: len(buffer)], self.already[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)
