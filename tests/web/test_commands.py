"""`timeline` and `serve` as programs: one server for page and MCP, found again by whoever wants the page."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fazm_memory.loopback.listener import publish_port, published_port, url_of_running_page

PROGRAM = [sys.executable, "-m", "fazm_memory.cli.main"]


def environment(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "FAZM_MEMORY_HOME": str(folder / "memory"), "FAZM_MEMORY_KEY": "file"}


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A program and the first line it said, ended in order afterwards."""
    pipe = subprocess.PIPE
    command = [*PROGRAM, *arguments, "--json"]
    with subprocess.Popen(command, env=environment(folder), stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield process, json.loads(line)
        finally:
            process.send_signal(signal.SIGTERM)
            rest, talk = process.communicate(timeout=60)
    assert (process.returncode, rest, talk) == (0, "", "")


def get(address: str, **headers: str) -> tuple[int, dict[str, str]]:
    parts = urlsplit(address)
    connection = HTTPConnection("127.0.0.1", parts.port, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def test_the_timeline_is_served_and_found_again(tmp_path: Path) -> None:
    with started(tmp_path, "timeline", "--no-open", "--port", "0") as (_, result):
        status, headers = get(result["page"])
        assert status == 303
        origin = result["page"].split("/open")[0]
        assert get(f"{origin}/", Cookie=headers["set-cookie"].split(";")[0])[0] == 200
        again = subprocess.run(
            [*PROGRAM, "timeline", "--no-open"], env=environment(tmp_path), capture_output=True, text=True,
            check=True, timeout=60,
        )  # fmt: skip
        link = again.stdout.split()[-1]
        assert link.startswith(origin)
        assert get(link)[0] == 303
    assert published_port(tmp_path / "memory") is None


def test_page_and_mcp_share_a_port_and_a_guard(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "--port", "0") as (_, result):
        origin = result["page"].split("/open")[0]
        assert result["url"] == f"{origin}/mcp"
        agents = {"Authorization": f"Bearer {Path(result['token_file']).read_text()}"}
        pages = {"Authorization": f"Bearer {(tmp_path / 'memory' / 'page-token').read_text()}"}
        cookie = {"Cookie": get(result["page"])[1]["set-cookie"].split(";")[0]}
        let_in = (400, 405, 406)  # it wants a POST, or a stream
        assert get(f"{origin}/mcp", **agents)[0] in let_in
        for path in ("/", "/api/v1/status", "/open/code", "/mcpx"):
            assert get(f"{origin}{path}", **agents)[0] == 401, path
            assert get(f"{origin}{path}", **agents, **cookie)[0] == 401, path
        for key in (pages, cookie):
            assert get(f"{origin}/api/v1/status", **key)[0] == 200
            assert [get(f"{origin}{path}", **key)[0] for path in ("/mcp", "/mcp/", "/mcp/x")] == [401] * 3
        assert [get(f"{origin}{path}")[0] for path in ("/", "/mcp", "/api/v1/status")] == [401, 401, 401]


def test_what_a_dead_server_left_behind_is_not_trusted(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with publish_port(home, 4711) as ours:
        assert ours
        assert published_port(home) == 4711
        with publish_port(home, 4712) as second:
            assert not second
        assert published_port(home) == 4711
    (home / "page.json").write_text('{"port": 4711}')
    assert published_port(home) is None
    assert url_of_running_page(home) is None


def test_a_server_that_went_away_gives_no_address(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with publish_port(home, 1):  # nobody listens there
        assert url_of_running_page(home) is None


def test_the_companion_serves_mcp_to_whoever_asks_for_it(tmp_path: Path) -> None:
    command = [*PROGRAM, "run", "--headless"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment(tmp_path), stdout=pipe, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("MCP over HTTP: "))
        address, file = line.removeprefix("MCP over HTTP: ").strip().split(", with the token in ")
        parts = urlsplit(address)
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }}  # fmt: skip
        headers = {
            "Authorization": f"Bearer {Path(file).read_text()}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }  # fmt: skip
        connection = HTTPConnection("127.0.0.1", parts.port, timeout=120)
        connection.request("POST", parts.path, json.dumps(hello), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert (answer.status, process.returncode) == (200, 0)
    assert '"serverInfo"' in text
    assert "Stopped" in rest
