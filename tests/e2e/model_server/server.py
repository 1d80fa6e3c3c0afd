"""A model on loopback that plays scripts to a real client and remembers everything it was sent.

The wire formats (`anthropic`, `responses`, `chat`) only translate; what to say next is `plan`'s business.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Protocol, cast

from tests.e2e.model_server.plan import Cue, Utterance, find_cue, scripts_of, summary_at, turn_at
from tests.e2e.scenarios.script import Scenario, Text, Turn

Kind = Literal["turn", "compaction", "side", "other"]

# Past its script, and to requests outside any script (titles, topic checks), the model has only this to say.
_NOTHING_MORE = Turn((Text("Done."),))


@dataclass(frozen=True)
class Request:
    """One request as the model received it, and the place in the script it was answered from."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    kind: Kind
    cue: Cue | None

    @property
    def text(self) -> str:
        """Every string the body holds, so that a test can ask whether something reached the model."""
        return "\n".join(_strings(self.body))


class Wire(Protocol):
    """How one vendor's API words requests and answers."""

    path: str

    def history(self, body: Any) -> list[Utterance]: ...
    def is_compaction(self, body: Any) -> bool: ...
    def is_side(self, body: Any) -> bool: ...
    def answer(self, body: Any, turn: Turn, number: int, input_tokens: int) -> Any: ...
    def stream(self, answer: Any) -> Iterator[tuple[str, Any]]: ...
    def failure(self, status: int) -> Any: ...


class ModelServer:
    """Serves until closed; `learn` adds scripts, `requests` lists what came, in order."""

    def __init__(self, wire: Wire, listener: socket.socket) -> None:
        self.wire = wire
        self.port: int = listener.getsockname()[1]
        self.requests: list[Request] = []
        self.hanging = threading.Event()
        self.released = threading.Event()
        self._scripts: dict[str, tuple[Turn, ...]] = {}
        self._tries: Counter[Cue] = Counter()
        self._faults: list[BaseException] = []
        self._lock = threading.Lock()
        self._http = _HttpServer(self, listener)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def learn(self, prompt: str, scenario: Scenario) -> None:
        self._scripts.update(scripts_of(prompt, scenario))

    def close(self) -> None:
        """Stop serving. A fault inside the server fails the test that used it: a thread would hide it."""
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if self._faults:
            raise ExceptionGroup("the model server failed", [Exception(repr(f)) for f in self._faults])

    def note(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Request:
        kind: Kind = "other"
        cue = None
        if path == self.wire.path and body is not None:
            cue = find_cue(self.wire.history(body), self._scripts)
            kind = "turn"
            if self.wire.is_compaction(body):
                kind = "compaction"
            elif cue is None or self.wire.is_side(body):
                kind = "side"
        request = Request(method, path, headers, body, kind, cue)
        with self._lock:
            self.requests.append(request)
        return request

    def turn_for(self, request: Request) -> Turn:
        if request.kind == "compaction":
            return Turn((Text(summary_at(request.cue)),))
        if request.kind == "side" or request.cue is None:
            return _NOTHING_MORE
        return turn_at(request.cue, self._scripts) or _NOTHING_MORE

    def next_failure(self, cue: Cue, turn: Turn) -> int | None:
        """The status this try must fail with, if the script has one left for it."""
        with self._lock:
            tried = self._tries[cue]
            self._tries[cue] += 1
        return turn.failures[tried] if tried < len(turn.failures) else None

    def fault(self, error: BaseException) -> None:
        # A killed client drops its connection in mid-answer: that is the test's doing, not a fault.
        if not isinstance(error, ConnectionError):
            self._faults.append(error)


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: ModelServer, listener: socket.socket) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.model = model

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        assert error is not None
        self.model.fault(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def model(self) -> ModelServer:
        return cast(_HttpServer, self.server).model

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept in `ModelServer.requests`; stderr belongs to the tests."""

    def do_HEAD(self) -> None:
        self._other(None)

    def do_GET(self) -> None:
        self._other(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        body = json.loads(raw)
        path = self.path.partition("?")[0]
        if path != self.model.wire.path:
            self._other(body)
            return
        request = self.model.note("POST", path, dict(self.headers), body)
        turn = self.model.turn_for(request)
        if request.kind == "turn" and request.cue is not None:
            status = self.model.next_failure(request.cue, turn)
            if status is not None:
                self._json(status, self.model.wire.failure(status))
                return
            if turn.hangs:
                self.model.hanging.set()
                self.model.released.wait()
                self.close_connection = True
                return
        number = request.cue.turn if request.cue else 0
        tokens = len(raw) // 4 if turn.input_tokens is None else turn.input_tokens
        answer = self.model.wire.answer(body, turn, number, tokens)
        if body.get("stream"):
            self._stream(answer)
        else:
            self._json(200, answer)

    def _other(self, body: Any) -> None:
        self.model.note(self.command, self.path.partition("?")[0], dict(self.headers), body)
        self._json(404, self.model.wire.failure(404))

    def _json(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, answer: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in self.model.wire.stream(answer):
            if name:
                self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())
            else:
                self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
