"""What other pages and programs must not be able to do, tried from a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.page.server import TOKEN, Server

FETCH = """async ([address, options]) => {
    try {
        const answer = await fetch(address, options);
        return answer.type === "opaque" ? "opaque" : answer.status;
    } catch (error) {
        return "blocked";
    }
}"""
FRAME = """(address) => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.onload = done;
    frame.src = address;
    document.body.append(frame);
})"""


class OtherSite(BaseHTTPRequestHandler):
    """Another page on the same machine."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>elsewhere</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def other_site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OtherSite)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def plain_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_without_the_token_nothing_is_shown(shared_server: Server, plain_page: Page) -> None:
    for path in ("/", "/app.js", "/api/v1/status", "/api/v1/sessions", "/api/v1/changes"):
        answer = plain_page.goto(shared_server.origin + path)
        assert answer is not None
        assert answer.status == 401, path
        assert "sessions" not in answer.text()


def test_under_another_host_name_the_server_refuses(shared_server: Server, browser: Browser) -> None:
    """A name that was rebound to this machine shows in the Host header."""
    context = browser.new_context(extra_http_headers={"Authorization": f"Bearer {TOKEN}"})
    page = context.new_page()
    answer = page.goto(shared_server.origin.replace("127.0.0.1", "rebound.localhost") + "/api/v1/status")
    assert answer is not None
    assert answer.status == 421
    context.close()


def test_another_site_can_neither_read_nor_write(
    shared_server: Server, other_site: str, plain_page: Page
) -> None:
    plain_page.goto(shared_server.door())  # the browser has the cookie
    plain_page.goto(other_site)
    status = f"{shared_server.origin}/api/v1/status"
    assert plain_page.evaluate(FETCH, [status, {"credentials": "include"}]) == "blocked"
    pause = f"{shared_server.origin}/api/v1/recording"
    body = {"method": "POST", "credentials": "include", "body": '{"pause": null}'}
    json = body | {"headers": {"Content-Type": "application/json"}}
    assert plain_page.evaluate(FETCH, [pause, json]) == "blocked"
    plain_page.evaluate(FETCH, [pause, body | {"mode": "no-cors", "headers": {"Content-Type": "text/plain"}}])
    assert shared_server.world.memory.recording.status()["recording"]


def test_another_site_cannot_frame_the_page(shared_server: Server, other_site: str, plain_page: Page) -> None:
    plain_page.goto(shared_server.door())
    plain_page.goto(other_site)
    plain_page.evaluate(FRAME, shared_server.origin)
    frame = plain_page.frames[1]
    assert frame.url in ("chrome-error://chromewebdata/", "about:blank", shared_server.origin + "/")
    assert frame.locator("fm-app").count() == 0
