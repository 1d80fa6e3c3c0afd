"""Requests without the key, from elsewhere, or of the wrong form are refused, on every route there is."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

import pytest

from fazm_memory.loopback.guard import BODY, CLOSED, CODE_SECONDS, UNUSED_SECONDS, USED, PageKeys
from fazm_memory.web import actions, reading, settings
from fazm_memory.web.server import PageServer
from tests.web.conftest import API, bearer, call

PATHS = [
    "/", "/index.html", "/app.js", "/css/tokens.css", "/nowhere", "/open/code", f"{API}changes",
    *(f"{API}{path}" for path in (*reading.ROUTES, *actions.ROUTES, *settings.READS, *settings.WRITES)),
]  # fmt: skip


def cookie_of(served: PageServer) -> str:
    """What a browser has after opening the page."""
    address = urlsplit(served.one_time_url())
    status, headers, _ = call(served, "GET", f"{address.path}?{address.query}", {})
    assert (status, headers["location"]) == (303, "/")
    assert headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/")
    return str(headers["set-cookie"]).split(";")[0]


def test_nothing_is_answered_without_the_key(served: PageServer) -> None:
    for nth, path in enumerate(PATHS):
        for method in ("GET", "POST", ("HEAD", "OPTIONS", "DELETE", "PUT")[nth % 4]):
            assert call(served, method, path, {"content-type": "application/json"})[0] == 401, (method, path)


def test_a_page_that_was_opened_works_with_its_cookie_alone(served: PageServer) -> None:
    cookie = {"Cookie": f"other=1; {cookie_of(served)}"}
    status, headers, body = call(served, "GET", "/", cookie)
    assert status == 200
    assert b"<!doctype html>" in body.lower()
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert call(served, "GET", f"{API}status", cookie)[0] == 200
    post = {**cookie, "Origin": served.origin, "Content-Type": "application/json"}
    assert call(served, "POST", f"{API}recording", post, b'{"resume": true}')[0] == 200


def test_files_are_kept_by_the_browser_under_their_version(served: PageServer) -> None:
    cookie = {"Cookie": cookie_of(served)}
    page = call(served, "GET", "/", cookie)[2].decode()
    linked = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert len(linked) > 50
    for address in linked:
        status, headers, _ = call(served, "GET", f"/{address}", cookie)
        assert (status, headers["cache-control"]) == (200, "private, max-age=31536000, immutable"), address
        assert "default-src 'none'" in headers["content-security-policy"]
    version = linked[0].split("/")[1]
    assert call(served, "GET", "/app.js", cookie)[1]["cache-control"] == "no-store"
    assert call(served, "GET", f"/v/{version[::-1]}/app.js", cookie)[0] == 404
    assert call(served, "GET", f"/{linked[0]}", {})[0] == 401


def test_a_link_opens_the_page_once(served: PageServer) -> None:
    address = urlsplit(served.one_time_url())
    path = f"{address.path}?{address.query}"
    assert [call(served, "GET", path, {})[0] for _ in range(2)] == [303, 401]
    assert call(served, "GET", "/open?code=guess", {})[0] == 401
    assert call(served, "GET", "/open", {})[0] == 401
    assert call(served, "POST", urlsplit(served.one_time_url()).path, {})[0] == 405


def test_a_code_ends_with_time_and_the_oldest_make_room() -> None:
    clock = [0.0]
    keys = PageKeys(1, now=lambda: clock[0])
    early, late = keys.code(), keys.code()
    assert keys.spend(early)
    clock[0] = CODE_SECONDS + 1
    assert not keys.spend(late)
    first = keys.code()
    assert len({keys.code() for _ in range(20)}) == 20
    assert not keys.spend(first)


def test_a_cookie_that_nobody_used_for_half_a_day_ends_and_is_not_given_again() -> None:
    clock = [0.0]
    keys = PageKeys(1, now=lambda: clock[0])
    first = keys.set_cookie().split(";")[0].encode()
    for _ in range(3):
        clock[0] += UNUSED_SECONDS - 1
        assert keys.known([first])
    clock[0] += UNUSED_SECONDS + 1
    assert not keys.known([first])
    second = keys.set_cookie().split(";")[0].encode()
    assert keys.known([second])
    assert not keys.known([first])


@pytest.mark.parametrize(("path", "why"), [("/open?code=used", USED), ("/", CLOSED)])
def test_a_person_at_a_closed_door_is_reported_how_to_open_it(
    served: PageServer, path: str, why: str
) -> None:
    status, headers, body = call(served, "GET", path, {"Accept": "text/html,*/*;q=0.8"})
    assert (status, headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "<code>fazm-memory timeline</code>" in body.decode()
    assert why in body.decode()


def test_only_who_has_the_token_gets_a_code(served: PageServer) -> None:
    kind = {"Content-Type": "application/json"}
    assert call(served, "POST", "/open/code", bearer(served) | kind, b"{}")[0] == 200
    assert call(served, "GET", "/open/code", bearer(served))[0] == 405
    cookie = {"Cookie": cookie_of(served), "Origin": served.origin, **kind}
    assert call(served, "POST", "/open/code", cookie, b"{}")[0] == 403


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "[::1]:{port}"}, 421),
        ({"Host": "127.0.0.1:{port}.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Cookie": "fazm_memory_{port}=guess"}, 401),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Length": str(BODY + 1)}, 413),
        ({}, 200),
    ],
)
def test_a_request_of_the_page_must_be_exactly_right(
    served: PageServer, changed: dict[str, str], status: int
) -> None:
    headers = {"Cookie": cookie_of(served), "Origin": served.origin, "Content-Type": "application/json"}
    headers |= {name: value.format(port=served.port) for name, value in changed.items()}
    got, _, body = call(served, "POST", f"{API}recording", headers, b'{"resume": true}')
    assert got == status
    if status != 200:
        assert json.loads(body)["error"]["title"] == "The request was refused"


def test_a_post_of_the_page_must_say_where_it_comes_from(served: PageServer) -> None:
    headers = {"Cookie": cookie_of(served), "Content-Type": "application/json"}
    assert call(served, "POST", f"{API}recording", headers, b'{"resume": true}')[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/css/../../app.py", "//etc/passwd", "/%00",
     "/.git/config", "/css", "/css/", "/app.py", "/__pycache__", "/..\\app.py", "/static/index.html"],
)  # fmt: skip
def test_nothing_but_the_pages_own_files_is_served(served: PageServer, path: str) -> None:
    assert call(served, "GET", path, bearer(served))[0] == 404


@pytest.mark.parametrize("body", [b"", b"[]", b"nul", b'"x"', b"{", b"\xff", b"[" * 5000 + b"]" * 5000])
def test_a_body_that_is_no_object_is_refused(served: PageServer, body: bytes) -> None:
    headers = bearer(served, Content_Type="application/json")
    status, _, reply = call(served, "POST", f"{API}recording", headers, body)
    assert status == 400
    assert json.loads(reply)["error"]["kind"] == "InvalidInput"
