"""One run of a client, while it goes on and after it is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.model_server.server import ModelServer, Request


@dataclass(frozen=True)
class Run:
    """What a finished run left.

    `stdout_json` holds the client's JSON lines; `requests` is what the model was sent during this run;
    `transcripts` are the session's own file first, then those of its subagents.
    """

    prompt: str
    returncode: int
    stdout_json: list[dict[str, Any]]
    stderr: str
    session_id: str
    requests: tuple[Request, ...]
    transcripts: tuple[Path, ...]
    seconds: float

    @property
    def turns(self) -> tuple[Request, ...]:
        """The requests that were answered from a script: not titles, topic checks, or compactions."""
        return tuple(request for request in self.requests if request.kind == "turn")


@dataclass(frozen=True)
class Launch:
    """What a driver knows when it starts a client."""

    prompt: str
    out: Path
    err: Path
    model: ModelServer
    session_id: Callable[[list[dict[str, Any]]], str]
    transcripts: Callable[[str], tuple[Path, ...]]


class Started:
    """A client that is running. Its output goes to files: children it leaves would hold a pipe open."""

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, first_request: int) -> None:
        self.process = process
        self._launch = launch
        self._first_request = first_request
        self._began = time.monotonic()

    @property
    def session_id(self) -> str:
        return self._launch.session_id(_lines(self._launch.out))

    def has_written(self, text: str) -> bool:
        """Whether the client's own record holds this text: it writes some time after it acts."""
        transcripts = self._launch.transcripts(self.session_id)
        return any(text.encode() in transcript.read_bytes() for transcript in transcripts)

    def wait_for(self, condition: Callable[[], bool], what: str, timeout: float = 120) -> None:
        """Wait until something has come about while the client runs."""
        deadline = time.monotonic() + timeout
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"the client ended before: {what}\n{self._launch.err.read_text()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout} s: {what}")
            time.sleep(0.02)

    def kill(self) -> Run:
        """kill -9, as a crash or a power cut would have it."""
        os.kill(self.process.pid, signal.SIGKILL)
        return self.wait()

    def wait(self, timeout: float = 120) -> Run:
        try:
            returncode = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise AssertionError(
                f"the client was still running after {timeout} s\n{self._launch.err.read_text()}"
            ) from None
        session_id = self.session_id
        return Run(
            prompt=self._launch.prompt,
            returncode=returncode,
            stdout_json=_lines(self._launch.out),
            stderr=self._launch.err.read_text(),
            session_id=session_id,
            requests=tuple(self._launch.model.requests[self._first_request :]),
            transcripts=self._launch.transcripts(session_id),
            seconds=time.monotonic() - self._began,
        )

    def stop(self) -> None:
        """End it and its process group; called for every run when the test is over."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of JSON: a killed client may leave the last one torn, and some also print text."""
    whole, _, _ = path.read_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
