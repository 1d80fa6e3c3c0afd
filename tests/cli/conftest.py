"""The command line in this process, on a home of its own."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.cli.main import MARKS, main

NOW = "2026-11-15T09:00:00+00:00"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("FAZM_MEMORY_") or name in MARKS:  # whoever runs the tests, they are a person's
            monkeypatch.delenv(name)
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(tmp_path / "memory"))
    monkeypatch.setenv("FAZM_MEMORY_KEY", "file")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path / "memory"


@pytest.fixture
def run(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Run]:
    """Run a command; `stdin` is bytes or a list of JSON-able lines."""
    opened: list[io.TextIOWrapper] = []

    def run(*arguments: str, stdin: bytes | list[Any] | None = None, now: str | None = NOW) -> Ran:
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else b"".join(_line(one) for one in stdin)
            path = tmp_path / "stdin"
            path.write_bytes(data)
            file = io.TextIOWrapper(path.open("rb"))
            opened.append(file)
            monkeypatch.setattr("sys.stdin", file)
        capfd.readouterr()
        given = [*arguments, *(["--now", now] if now else [])]
        try:
            code = main(given)
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    yield run
    for file in opened:
        file.close()


def _line(one: Any) -> bytes:
    return (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n"


@pytest.fixture
def session(run: Run) -> str:
    """The id of a small recorded session."""
    result = run(
        "record",
        stdin=[
            {"type": "session.open", "session": "tidy", "agent": "fazm", "workspace": "/w", "title": "Tidy"},
            {"type": "prompt", "session": "tidy", "text": "rename the invoices"},
            {"type": "action", "session": "tidy", "tool": "Bash", "input": {"command": "mv a b"},
             "files": [{"path": "b", "change": "renamed", "from": "a"}], "call_id": "1"},
            {"type": "decision", "session": "tidy", "what": "dates first", "why": "they sort"},
        ],
    )  # fmt: skip
    assert result.code == 0, result
    return str(result.lines[0]["session"])
