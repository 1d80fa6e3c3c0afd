"""Whether there is a newer version, from a signed feed.

Nothing is downloaded or installed.

The feed is read at most once a day, only if its address and its key are configured, and not at all with
`updates = false`. The request carries nothing about this machine. A feed that is not signed with the key, or
that is older than the last one, is ignored and reported.
"""

from __future__ import annotations

import binascii
import json
import re
import threading
from collections.abc import Callable
from typing import Any

from fazm_memory import __version__
from fazm_memory.app.memory import Memory, Service
from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.config import Config, reload, save_settings
from fazm_memory.errors import ConfigError
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import private_folder, write_private
from fazm_memory.records import asdict, dataclass, field

STATE_FILE = "updates.json"
DAY = 86_400_000_000
SOON = 3600.0  # seconds between two looks at whether a check is due
TIMEOUT = 10.0
LARGEST = 256 * 1024
LONGEST_NOTES = 4000
PURPOSE = b"fazm-memory-updates-1\n"  # so that a signature of something else does not count
VERSION = lazy_regex(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}")


class BadFeed(Exception):
    """The feed cannot be read or is not authentic."""


@dataclass(frozen=True)
class Release:
    version: str
    notes: str = ""
    page: str = ""


@dataclass(frozen=True)
class Feed:
    issued: int
    releases: tuple[Release, ...]


@dataclass(frozen=True)
class UpdateState:
    """What is known since the last check."""

    checked: int = 0
    issued: int = 0
    releases: tuple[Release, ...] = field(default=())
    trouble: str = ""


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at its end: 1.2 is 1.2.0."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def parse_feed(data: bytes, key: str) -> Feed:
    """Check the signature, then read the feed."""
    import base64

    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        envelope = json.loads(data)
        signed, signature = envelope["signed"], base64.b64decode(envelope["signature"], validate=True)
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
        public.verify(signature, PURPOSE + signed.encode())
    except InvalidSignature:
        raise BadFeed("its signature is not of the configured key") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise BadFeed("it is not a signed feed") from None
    try:
        content = json.loads(signed)
        releases = tuple(_release(entry) for entry in content["releases"])
        return Feed(parse_time(content["issued"]), releases)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, TimeError):
        raise BadFeed("its content has another form than expected") from None


def _release(entry: dict[str, Any]) -> Release:
    version, notes, page = entry["version"], entry.get("notes", ""), entry.get("page", "")
    if not VERSION.fullmatch(version) or not isinstance(notes, str):
        raise ValueError("not a release")
    if page and not re.fullmatch(r"https://[^\s]{1,500}", page):
        raise ValueError("not a page")
    return Release(version, notes[:LONGEST_NOTES], page)


def fetch_feed(address: str) -> bytes:
    """The bytes of the feed. Redirects are refused."""
    import http.client
    import ssl
    import urllib.error
    import urllib.request

    import truststore

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    # The Python of the Mac app has no certificates of its own, so the system's are asked.
    secure = urllib.request.HTTPSHandler(context=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    # A proxy cannot reach this machine itself.
    proxies = [urllib.request.ProxyHandler({})] if address.startswith("http://") else []
    request = urllib.request.Request(address, headers={"User-Agent": "fazm-memory"})
    try:
        with urllib.request.build_opener(NoRedirect, secure, *proxies).open(
            request, timeout=TIMEOUT
        ) as answer:
            data: bytes = answer.read(LARGEST + 1)
    except (OSError, http.client.HTTPException, urllib.error.URLError) as error:
        raise BadFeed(f"it cannot be reached: {error}") from None
    if len(data) > LARGEST:
        raise BadFeed("it is too large")
    return data


class UpdateService(Service):
    """Whether there is a newer version. Use it as `memory.updates`."""

    version = __version__

    def configuration(self) -> Config:
        """The settings as they are now: the switch works at once."""
        return reload(self.config)

    def enabled(self) -> bool:
        config = self.configuration()
        return bool(config.updates and config.update_feed and config.update_key)

    def available(self) -> bool:
        """Whether there is a feed that could be turned on."""
        config = self.configuration()
        return bool(config.update_feed and config.update_key)

    def switch(self, on: bool) -> None:
        save_settings(self.config, {"updates": on})

    def newer(self) -> Release | None:
        """The newest release of the last feed, if it is newer than this version."""
        if not self.enabled():
            return None
        best = max(self._state().releases, key=lambda one: version_numbers(one.version), default=None)
        if best is None or version_numbers(best.version) <= version_numbers(self.version):
            return None
        return best

    def status(self) -> dict[str, Any]:
        state, newer = self._state(), self.newer()
        return {
            "enabled": self.enabled(),
            "version": self.version,
            "checked": iso(state.checked) if state.checked else None,
            "newer": None if newer is None else asdict(newer),
            "trouble": state.trouble or None,
        }

    def check_if_due(self, fetch: Callable[[str], bytes] = fetch_feed) -> bool:
        """Read the feed if that was not tried in the last day.

        Returns whether it was read.
        """
        state = self._state()
        if not self.enabled() or 0 <= self.now() - state.checked < DAY:
            return False
        config = self.configuration()
        # Before the request, so that one that hangs or crashes is not repeated either.
        self._save(UpdateState(self.now(), state.issued, state.releases, state.trouble))
        try:
            feed = parse_feed(fetch(config.update_feed), config.update_key)
            if feed.issued < state.issued:
                raise BadFeed("it is older than the last one")
        except BadFeed as error:
            trouble = f"The update feed was not used: {error}"
            self._save(UpdateState(self.now(), state.issued, state.releases, trouble))
            return False
        self._save(UpdateState(self.now(), feed.issued, feed.releases))
        return True

    def _state(self) -> UpdateState:
        try:
            raw = json.loads((self.config.home / STATE_FILE).read_text(encoding="utf-8"))
            releases = tuple(_release(entry) for entry in raw["releases"])
            return UpdateState(int(raw["checked"]), int(raw["issued"]), releases, str(raw["trouble"]))
        except FileNotFoundError:
            return UpdateState()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return UpdateState(trouble="What was known of updates could not be read.")

    def _save(self, state: UpdateState) -> None:
        path = private_folder(self.config.home) / STATE_FILE
        write_private(path, json.dumps(asdict(state)).encode(), sync=False)


class UpdateWorker:
    """Checks in a thread of the companion, so that a slow network delays nothing."""

    def __init__(
        self,
        config: Config,
        now: Callable[[], int],
        *,
        report: Callable[[str], None],
        read: Callable[[], None],
    ) -> None:
        self._service = Memory(config, now).updates  # it opens no store
        self._report, self._read = report, read
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name="updates", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """End without waiting for a request: nothing depends on its answer."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._service.check_if_due():
                    self._read()
            except (ConfigError, OSError) as error:
                self._report(f"Updates cannot be looked up: {error}")
            self._stop.wait(SOON)
