"""What other pages and programs may not do, tried from a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from tests.page.serving import TOKEN, Served

TRY = """async ([address, options]) => {
    try {
        const answer = await fetch(address, options);
        return answer.type === "opaque" ? "opaque" : answer.status;
    } catch (error) {
        return "blocked";
    }
}"""


class Elsewhere(BaseHTTPRequestHandler):
    """A page of somebody else's, on the same machine."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>elsewhere</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_without_the_token_nothing_is_told(shown: Served, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    for path in ("/", "/app.js", "/api/v1/status", "/api/v1/sessions", "/api/v1/changes"):
        answer = page.goto(shown.origin + path)
        assert answer is not None
        assert answer.status == 401, path
        assert "sessions" not in answer.text()
    context.close()


def test_under_another_name_the_server_is_not_at_home(shown: Served, browser: Browser) -> None:
    """A name that was rebound to this machine shows in the Host header, token or not."""
    context = browser.new_context(extra_http_headers={"Authorization": f"Bearer {TOKEN}"})
    page = context.new_page()
    answer = page.goto(shown.origin.replace("127.0.0.1", "rebound.localhost") + "/api/v1/status")
    assert answer is not None
    assert answer.status == 421
    context.close()


def test_a_page_from_elsewhere_neither_reads_nor_writes(
    own: Served, elsewhere: str, browser: Browser
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(own.door())  # the cookie is there: somebody uses the page in this very browser
    page.goto(elsewhere)
    status = f"{own.origin}/api/v1/status"
    assert page.evaluate(TRY, [status, {"credentials": "include"}]) == "blocked"
    pause = f"{own.origin}/api/v1/recording"
    body = {"method": "POST", "credentials": "include", "body": '{"pause": null}'}
    json = body | {"headers": {"Content-Type": "application/json"}}
    assert page.evaluate(TRY, [pause, json]) == "blocked"
    page.evaluate(TRY, [pause, body | {"mode": "no-cors", "headers": {"Content-Type": "text/plain"}}])
    assert own.world.memory.recording()["recording"]
    context.close()


def test_a_page_from_elsewhere_cannot_frame_ours(own: Served, elsewhere: str, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(own.door())
    page.goto(elsewhere)
    page.evaluate(
        "(at) => new Promise((done) => { const frame = document.createElement('iframe'); frame.onload = done;"
        " frame.src = at; document.body.append(frame); })",
        own.origin,
    )
    assert page.frames[1].url in ("chrome-error://chromewebdata/", "about:blank", own.origin + "/")
    assert page.frames[1].locator("fm-app").count() == 0
    context.close()
