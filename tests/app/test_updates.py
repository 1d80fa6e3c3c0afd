"""The update feed: read at most daily, believed only if it is signed and not older."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.app.updates import DAY, UpdateWorker, version_numbers
from fazm_memory.config import load
from fazm_memory.errors import ConfigError

ROOT = Path(__file__).parents[2]
START = datetime(2026, 11, 15, 9, tzinfo=UTC)
NEWER = {"version": "99.1.0", "notes": "Faster.", "page": "https://example.org/99"}


def packaging_feed() -> Any:
    spec = importlib.util.spec_from_file_location("packaging_feed", ROOT / "packaging" / "feed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FeedHost:
    """A feed on loopback, with the key that signs it."""

    def __init__(self, folder: Path) -> None:
        self.tool, self.key = packaging_feed(), folder / "feed.key"
        self.public = self.tool.make_key(self.key)
        self.status, self.answer, self.requests = 200, b"", list[dict[str, str]]()
        self.sign(NEWER)

    def sign(self, *releases: dict[str, str], days: int = 0, key: Path | None = None) -> None:
        text = self.tool.signed_feed(key or self.key, list(releases), START + timedelta(days=days))
        self.answer = text.encode()

    @contextmanager
    def serving(self) -> Iterator[str]:
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.requests.append(dict(self.headers))
                self.send_response(host.status)
                if host.status == 302:
                    self.send_header("Location", "/other")
                self.end_headers()
                self.wfile.write(host.answer)

            def log_message(self, *_: Any) -> None:
                """Keep quiet."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/feed.json"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class User:
    def __init__(self, folder: Path, feed: str, key: str) -> None:
        self.at = round(START.timestamp() * 1e6)
        env = {"HOME": str(folder), "FAZM_MEMORY_HOME": str(folder / "home"), "FAZM_MEMORY_KEY": "file"}
        (folder / "home").mkdir(mode=0o700)
        (folder / "home" / "config.toml").write_text(f'update_feed = "{feed}"\nupdate_key = "{key}"\n')
        self.memory = Memory(load(env), lambda: self.at)
        self.updates = self.memory.updates


@pytest.fixture
def host(tmp_path: Path) -> FeedHost:
    return FeedHost(tmp_path)


@pytest.fixture
def user(tmp_path: Path, host: FeedHost) -> Iterator[User]:
    with host.serving() as address:
        yield User(tmp_path, address, host.public)


def version_offered(user: User) -> str | None:
    newer = user.updates.newer()
    return None if newer is None else newer.version


def test_a_newer_version_is_reported_with_its_notes(user: User) -> None:
    assert version_offered(user) is None
    assert user.updates.check_if_due()
    assert user.updates.status()["newer"] == NEWER


def test_it_is_read_at_most_once_a_day_also_after_a_failure(user: User, host: FeedHost) -> None:
    user.updates.check_if_due()
    user.at += DAY - 1
    assert not user.updates.check_if_due()
    host.status = 500
    user.at += 1
    assert not user.updates.check_if_due()
    assert not user.updates.check_if_due()
    assert len(host.requests) == 2
    assert "cannot be reached" in user.updates.status()["trouble"]
    assert version_offered(user) == "99.1.0"  # what was known stays


def test_one_switch_turns_it_off_at_once(user: User, host: FeedHost) -> None:
    user.updates.check_if_due()
    user.updates.switch(False)
    user.at += DAY
    assert not user.updates.check_if_due()
    assert (version_offered(user), len(host.requests)) == (None, 1)


def test_without_a_feed_nothing_is_ever_asked(tmp_path: Path) -> None:
    def never(address: str) -> bytes:
        raise AssertionError(address)

    user = User(tmp_path, "", "")
    assert not user.updates.check_if_due(never)


def test_the_request_says_nothing_about_this_machine(user: User, host: FeedHost) -> None:
    user.updates.check_if_due()
    (headers,) = host.requests
    assert headers["User-Agent"] == "fazm-memory"
    assert set(headers) <= {"User-Agent", "Host", "Connection", "Accept-Encoding"}


def test_a_feed_of_another_key_or_a_changed_one_is_refused(
    user: User, host: FeedHost, tmp_path: Path
) -> None:
    other = tmp_path / "other.key"
    host.tool.make_key(other)
    host.sign(NEWER, key=other)
    assert not user.updates.check_if_due()
    assert "signature" in user.updates.status()["trouble"]
    user.at += DAY
    host.sign(NEWER)
    host.answer = host.answer.replace(b"99.1.0", b"99.9.0")
    assert not user.updates.check_if_due()
    assert version_offered(user) is None


def test_an_older_feed_does_not_replace_a_newer_one(user: User, host: FeedHost) -> None:
    host.sign(NEWER, days=1)
    user.updates.check_if_due()
    host.sign({"version": "0.0.1"})
    user.at += DAY
    assert not user.updates.check_if_due()
    assert "older" in user.updates.status()["trouble"]
    assert version_offered(user) == "99.1.0"


def test_a_redirect_is_not_followed(user: User, host: FeedHost) -> None:
    host.status = 302
    assert not user.updates.check_if_due()
    assert len(host.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"null",
        b'{"signed": 1, "signature": ""}',
        b'{"signed": "{}", "signature": "x"}',
        b"x" * 300_000,
    ],
)
def test_anything_else_is_refused(user: User, host: FeedHost, answer: bytes) -> None:
    host.answer = answer
    assert not user.updates.check_if_due()
    assert user.updates.status()["trouble"]


@pytest.mark.parametrize(
    "release",
    [
        {"version": "1.0-evil"},
        {"version": "99.0", "page": "http://example.org"},
        {"version": "99.0", "notes": 5},
        {},
    ],
)
def test_a_signed_release_of_another_form_is_refused(user: User, host: FeedHost, release: Any) -> None:
    host.sign(release)
    assert not user.updates.check_if_due()
    assert version_offered(user) is None


def test_the_same_or_an_older_version_is_no_news(user: User, host: FeedHost) -> None:
    host.sign({"version": user.updates.version}, {"version": "0.0.1"})
    assert user.updates.check_if_due()
    assert version_offered(user) is None
    assert version_numbers("1.10") > version_numbers("1.9.9")
    assert version_numbers("1.2.0") == version_numbers("1.2")


def test_a_damaged_state_is_reported_and_the_next_check_mends_it(user: User, tmp_path: Path) -> None:
    (tmp_path / "home" / "updates.json").write_text("{")
    assert user.updates.status()["trouble"]
    assert user.updates.check_if_due()
    assert user.updates.status()["trouble"] is None


def test_the_companions_thread_reads_it_and_calls_back(user: User) -> None:
    read = threading.Event()
    worker = UpdateWorker(user.memory.config, lambda: user.at, report=lambda text: None, read=read.set)
    worker.start()
    assert read.wait(60)
    worker.stop()
    worker.thread.join(60)
    assert not worker.thread.is_alive()


@pytest.mark.parametrize("feed", ["http://example.org/feed", "ftp://x/", "file:///etc/passwd"])
def test_only_https_or_loopback_is_accepted(tmp_path: Path, feed: str) -> None:
    (tmp_path / "config.toml").write_text(f'update_feed = "{feed}"\n')
    with pytest.raises(ConfigError, match="update_feed"):
        load({"HOME": str(tmp_path), "FAZM_MEMORY_HOME": str(tmp_path)})


def test_the_builder_presets_the_feed_and_the_user_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: FeedHost
) -> None:
    build = tmp_path / "build.toml"
    build.write_text(f'update_feed = "https://example.org/f"\nupdate_key = "{host.public}"\n')
    monkeypatch.setattr("fazm_memory.config.BUILD_FILE", build)
    env = {"HOME": str(tmp_path), "FAZM_MEMORY_HOME": str(tmp_path / "home")}
    assert load(env).update_feed == "https://example.org/f"
    assert load({**env, "FAZM_MEMORY_UPDATE_FEED": ""}).update_feed == ""


def test_the_private_key_is_readable_by_its_owner_only(host: FeedHost) -> None:
    assert host.key.stat().st_mode & 0o777 == 0o600
    assert json.loads(host.answer).keys() == {"signed", "signature"}
