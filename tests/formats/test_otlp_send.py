"""Spans are sent only to the receiver that the user configured, and the receiver understands them."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from fazm_memory.config import ConfigError
from fazm_memory.config import load as load_config
from fazm_memory.errors import AgentUnavailable, InvalidRequest
from fazm_memory.records import replace
from tests.app.memory_fixture import MemoryFixture
from tests.formats.test_formats import work


class Receiver(HTTPServer):
    """An OTLP/HTTP receiver that decodes what it gets with the protocol's own classes."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.paths: list[str] = []
        self.answer: tuple[int, bytes] = (200, b"{}")
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        request = json_format.Parse(body, ExportTraceServiceRequest())
        self.server.paths.append(self.path)
        self.server.spans += [
            span for one in request.resource_spans for scope in one.scope_spans for span in scope.spans
        ]
        status, answer = self.server.answer
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """The test's output stays clean."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryFixture]:
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()


def configured(memory: MemoryFixture, endpoint: str) -> MemoryFixture:
    memory.config = replace(memory.config, otlp_endpoint=endpoint)
    return memory


def test_spans_reach_the_configured_receiver(
    memory: MemoryFixture, receiver: Receiver, tmp_path: Path
) -> None:
    session = work(memory)
    result = configured(memory, receiver.url).bundles.export_as(session, tmp_path / "a", "otel", send=True)
    assert (receiver.paths, result["sent_to"]) == (["/v1/traces"], receiver.url)
    names = {span.name for span in receiver.spans}
    assert {"invoke_workflow session", "execute_tool Bash"} <= names
    # The JSON form of OTLP writes ids in hexadecimal, which the decoder of protobuf takes for Base64.
    assert {base64.b64encode(span.trace_id).decode() for span in receiver.spans} == {session}


def test_the_whole_address_of_a_receiver_is_taken_too(
    memory: MemoryFixture, receiver: Receiver, tmp_path: Path
) -> None:
    session = work(memory)
    configured(memory, f"{receiver.url}/v1/traces/").bundles.export_as(
        session, tmp_path / "a", "otel", send=True
    )
    assert receiver.paths == ["/v1/traces"]


def test_the_file_is_one_line_as_receivers_of_files_expect(memory: MemoryFixture, tmp_path: Path) -> None:
    memory.bundles.export_as(work(memory), tmp_path / "a", "otel")
    (line,) = (tmp_path / "a").read_text().splitlines()
    assert json_format.Parse(line, TracesData()).resource_spans


def test_nothing_is_sent_without_an_address_or_without_asking(
    memory: MemoryFixture, receiver: Receiver, tmp_path: Path
) -> None:
    session = work(memory)
    with pytest.raises(InvalidRequest):
        memory.bundles.export_as(session, tmp_path / "a", "otel", send=True)
    configured(memory, receiver.url)
    with pytest.raises(InvalidRequest):
        memory.bundles.export_as(session, tmp_path / "b", "atif", send=True)
    memory.bundles.export_as(session, tmp_path / "c", "otel")
    assert receiver.paths == []


@pytest.mark.parametrize("answer", [(503, b"busy"), (200, b'{"partialSuccess":{"rejectedSpans":"2"}}')])
def test_a_receiver_that_refuses_is_reported(
    memory: MemoryFixture, receiver: Receiver, tmp_path: Path, answer: tuple[int, bytes]
) -> None:
    receiver.answer = answer
    session = work(memory)
    with pytest.raises(AgentUnavailable, match="written"):
        configured(memory, receiver.url).bundles.export_as(session, tmp_path / "a", "otel", send=True)
    assert (tmp_path / "a").exists()


@pytest.mark.parametrize("address", ["http://collector.example/", "ftp://a/", "collector"])
def test_an_address_elsewhere_needs_https(address: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'otlp_endpoint = "{address}"\n')
    with pytest.raises(ConfigError):
        load_config({"FAZM_MEMORY_HOME": str(tmp_path), "HOME": str(tmp_path)})
