"""Record which app, window and document was in front, from when until when.

A `DesktopSource` reports observations. `SpanMerger` turns them into spans: equal neighbours are one span, and
what lasted less than a second is dropped. A time without observations is a gap with its reason.
`ForegroundRecorder` connects the two to the log.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import unquote, urlsplit

from fazm_memory.clock import iso
from fazm_memory.events import Draft
from fazm_memory.ingest import COMPANION_AGENT, COMPANION_SESSION, companion_opening
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import write_private
from fazm_memory.records import asdict, dataclass
from fazm_memory.watch.scope import Exclusions

if TYPE_CHECKING:
    from fazm_memory.engines.redaction import Redactor
    from fazm_memory.ingest import RecordResult


UnavailableReason = Literal["asleep", "locked", "permission missing"]

# While asleep or locked nothing is observed. Without permission apps are, but not their windows.
BLIND: frozenset[str] = frozenset({"asleep", "locked"})

LONGEST_TITLE = 10_000  # a longer title is not recorded
LONGEST_DOCUMENT = 4096


@dataclass(frozen=True, slots=True)
class ForegroundWindow:
    """The window in front at a moment (microseconds). Reported again at every look."""

    at: int
    app: str
    bundle: str | None = None
    title: str | None = None
    document: str | None = None


@dataclass(frozen=True, slots=True)
class HiddenWindow:
    """Something that is not recorded is in front, or nothing is."""

    at: int


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Observation stops here, and why."""

    at: int
    why: UnavailableReason


@dataclass(frozen=True, slots=True)
class Available:
    """Observation is possible again."""

    at: int
    why: UnavailableReason


Observation = ForegroundWindow | HiddenWindow | Unavailable | Available
OnObservation = Callable[[Observation], None]


class DesktopSource(Protocol):
    """Watches the desktop of one system.

    It also starts without permission to read windows.
    """

    def start(self, told: OnObservation) -> None:
        """Report what is in front now and every later change, until stopped."""

    def stop(self) -> None:
        """Release everything. Nothing is reported after this."""

    def leave_alone(self, exclusions: Exclusions) -> None:
        """Stop looking at these apps, also at the one in front."""

    def permitted(self) -> bool:
        """Whether titles and documents can be read. Apps can be reported in any case."""


def title_of(text: str | None) -> str | None:
    """A window's title with single spaces.

    Not shortened: text is redacted before it is cut.
    """
    if text is None or len(text) > LONGEST_TITLE:
        return None
    return " ".join(text.split()) or None


def document_of(address: str | None) -> str | None:
    """The document of a window: a path or a web address.

    The address has no query, because that may hold tokens.
    """
    if not address or len(address) > LONGEST_DOCUMENT:
        return None
    if address.startswith("/"):
        return address
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    if parts.scheme == "file":
        path = unquote(parts.path)
        return path if path.startswith("/") and "\0" not in path else None
    if parts.scheme in ("http", "https") and parts.hostname:
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    return None


SECOND = 1_000_000
FLICKER = SECOND
LONGEST = 900 * SECOND  # a longer span is recorded in pieces: a crash loses no more than this
SILENCE = 60 * SECOND  # sources report every ten seconds: after this long the time counts as unobserved
TITLE = 300
UNOBSERVED = "unobserved"
NOTHING_OBSERVED = BLIND | {UNOBSERVED}

# An app whose title keeps changing (a clock, a counter) must not fill the log: after so many spans in so
# much time, a title has to last longer to count.
RESTLESS, RESTLESS_WITHIN, RESTLESS_FLICKER = 12, 60 * SECOND, 15 * SECOND

# What changes in a title while the window shows the same: spinners, "unsaved" dots, counters, "Edited".
_DECORATION = lazy_regex(r"^(?:\(\d+\+?\)|[^\w(]|_)+|\s+[—–-]+\s+edited$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Span:
    since: int
    window: ForegroundWindow

    def shows(self, other: ForegroundWindow) -> bool:
        return _content(self.window) == _content(other)


class SpanMerger:
    """Merges observations into spans and gaps.

    Takes them in order and returns drafts of the spans and gaps that have ended.
    """

    def __init__(
        self,
        redactor: Redactor,
        *,
        session: str = COMPANION_SESSION,
        agent: str | None = COMPANION_AGENT,
    ) -> None:
        self.redactor = redactor
        self.session, self.agent = session, agent
        self._open: _Span | None = None
        self._next: _Span | None = None  # follows the open one, but has not lasted long enough yet
        self._away: dict[str, int] = {}
        self._last: int | None = None
        self._recent: deque[tuple[int, str]] = deque(maxlen=RESTLESS)

    def take(self, observation: Observation) -> list[Draft]:
        at = observation.at
        drafts = self._advance(at)
        match observation:
            case ForegroundWindow():
                # A window in front shows that the machine is awake, even if no wake-up was reported.
                drafts += [draft for reason in sorted(BLIND) for draft in self._end_gap(reason, at)]
                drafts += self._take_window(observation)
            case HiddenWindow():
                drafts += self._cut(at)
            case Unavailable():
                if observation.why in BLIND:
                    drafts += self._cut(at)
                self._away.setdefault(observation.why, at)
            case Available():
                drafts += self._end_gap(observation.why, at)
        return drafts

    def close(self, at: int) -> list[Draft]:
        """End every open span and gap."""
        drafts = [*self._advance(at), *self._cut(at)]
        drafts += [draft for reason in list(self._away) for draft in self._end_gap(reason, at)]
        self._last = None
        return drafts

    # -- spans -------------------------------------------------------------------------------------------

    def _advance(self, at: int) -> list[Draft]:
        """The drafts that follow from the time since the last observation."""
        last, self._last = self._last, at
        if last is None:
            return []
        if at < last:  # the clock was set back: end the open span at the last observation
            return self._cut(last)
        if at - last > SILENCE and (self._open or self._next):
            return [*self._cut(last), self._gap(UNOBSERVED, last, at)]
        return self._settled(at)

    def _take_window(self, window: ForegroundWindow) -> list[Draft]:
        if self._open is not None and self._open.shows(window):
            self._next = None
            if window.at - self._open.since < LONGEST:
                return []
            piece = self._span(self._open, window.at)
            self._open = _Span(window.at, window)
            return [piece]
        if self._next is not None and self._next.window.app == window.app:
            # A title that keeps changing is still this app, since it came to the front.
            self._next = _Span(self._next.since, window)
        else:
            self._next = _Span(window.at, window)
        return []

    def _settled(self, at: int) -> list[Draft]:
        """If the next span has lasted long enough, end the open one where it began."""
        if self._next is None or at - self._next.since < self._flicker(self._next.window.app):
            return []
        drafts = [] if self._open is None else [self._span(self._open, self._next.since)]
        self._open, self._next = self._next, None
        self._recent.append((self._open.since, self._open.window.app))
        return drafts

    def _flicker(self, app: str) -> int:
        full = len(self._recent) == RESTLESS
        busy = full and self._recent[-1][0] - self._recent[0][0] <= RESTLESS_WITHIN
        restless = busy and all(recent == app for _, recent in self._recent)
        return RESTLESS_FLICKER if restless else FLICKER

    def _cut(self, at: int) -> list[Draft]:
        """End the open span here and drop what did not last."""
        drafts = self._settled(at)
        if self._open is not None and at > self._open.since:
            drafts.append(self._span(self._open, at))
        self._open = self._next = None
        return drafts

    # -- drafts ------------------------------------------------------------------------------------------

    def _span(self, span: _Span, until: int) -> Draft:
        window = span.window
        title = None if window.title is None else self.redactor.text(window.title, TITLE).text
        payload = {
            "app": window.app,
            "title": title,
            "document": window.document,
            "bundle": window.bundle,
            "until": iso(until),
        }
        known = {name: value for name, value in payload.items() if value is not None}
        return self._draft("app", known, span.since, f"app:{span.since}")

    def _end_gap(self, why: str, at: int) -> list[Draft]:
        since = self._away.pop(why, None)
        return [] if since is None or at <= since else [self._gap(why, since, at)]

    def _gap(self, what: str, since: int, until: int) -> Draft:
        payload = {"what": what, "since": iso(since), "until": iso(until)}
        if what not in NOTHING_OBSERVED:
            payload["note"] = "apps were seen, their windows and documents were not"
        return self._draft("gap", payload, since, f"gap:{what}:{since}")

    def _draft(self, kind: str, payload: dict[str, str], at: int, key: str) -> Draft:
        return Draft(self.session, kind, payload, agent=self.agent, at=at, source="desktop", key=key)


def _content(window: ForegroundWindow) -> tuple[str, str | None, str, str | None]:
    """Two observations with equal content are one span.

    Decoration of the title does not count.
    """
    return window.app, window.bundle, _DECORATION.sub("", window.title or ""), window.document


FILE = "desktop.json"


@dataclass(frozen=True)
class DesktopState:
    """Whether the desktop is watched, and whether its windows may be read."""

    watching: bool
    permitted: bool


def read_state(home: Path) -> DesktopState | None:
    """The state that the companion last wrote, if any."""
    try:
        state = json.loads((home / FILE).read_text(encoding="utf-8"))
        return DesktopState(bool(state["watching"]), bool(state["permitted"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def write_state(home: Path, state: DesktopState) -> None:
    write_private(home / FILE, json.dumps(asdict(state)).encode(), sync=False)


def clear_state(home: Path) -> None:
    (home / FILE).unlink(missing_ok=True)


PERMISSION = "permission missing"
MOST_WAITING = 100_000  # observations, and drafts, that wait while the store cannot be written

RunOnMain = Callable[[Callable[[], None]], None]


class ForegroundRecorder:
    """Records what a desktop source reports.

    `on_main` runs a function on the source's thread, sooner or later. `exclusions` returns the current ones.
    """

    def __init__(
        self,
        source: DesktopSource,
        redactor: Redactor,
        record: Callable[[Sequence[Draft]], list[RecordResult]],
        now: Callable[[], int],
        *,
        home: Path,
        exclusions: Callable[[], Exclusions],
        on_main: RunOnMain = lambda work: work(),
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.source, self.record, self.now, self.home = source, record, now, home
        self.exclusions, self.on_main, self.wake = exclusions, on_main, wake
        self._merger = SpanMerger(redactor)
        # A full deque drops its oldest entry.
        self._observations: deque[Observation] = deque(maxlen=MOST_WAITING)
        self._waiting: deque[Draft] = deque(maxlen=MOST_WAITING)
        self._excluded: Exclusions | None = None
        self._began: int | None = None  # when the source was last started; None while it is stopped
        self._permitted = True
        self._written: DesktopState | None = None

    # -- in the source's thread --------------------------------------------------------------------------

    def observe(self, observation: Observation) -> None:
        self._observations.append(observation)
        if isinstance(observation, (Unavailable, Available)):  # rare, and shown at once
            self.wake()

    # -- in the companion's thread -----------------------------------------------------------------------

    def tick(self) -> None:
        """Record what was observed. ConfigError when the exclusions cannot be read."""
        excluded = self.exclusions()
        if self._began is None:
            self._start(excluded)
        elif excluded != self._excluded:
            self._excluded = excluded
            self.on_main(lambda: self.source.leave_alone(excluded))
        for observation in self._arrived():
            self._waiting += self._merger.take(observation)
        self._record_waiting()
        self._write_state()

    def rest(self, since: int | None = None) -> None:
        """Stop the source while recording is paused.

        What was observed before `since` is recorded later.
        """
        if self._began is None:
            self._observations.clear()
            return
        at = self.now() if since is None else since
        for observation in self._arrived():
            if observation.at < at:
                self._waiting += self._merger.take(observation)
        self._waiting += self._merger.close(at)
        self._began = None
        self.on_main(self.source.stop)
        self._write_state()

    def stop(self, *, recording: bool = True) -> None:
        """Record what is still open, and end."""
        if self._began is not None:
            self.rest()
        if recording:
            self._record_waiting()
        clear_state(self.home)
        self._written = None

    def _start(self, excluded: Exclusions) -> None:
        self._observations.clear()  # observed before recording began
        self._began, self._excluded, self._permitted = self.now(), excluded, True

        def start() -> None:
            self.source.leave_alone(excluded)
            self.source.start(self.observe)

        self.on_main(start)

    def _arrived(self) -> list[Observation]:
        arrived = []
        while self._observations:
            observation = self._observations.popleft()
            if self._began is None or observation.at < self._began:
                continue
            if isinstance(observation, (Unavailable, Available)) and observation.why == PERMISSION:
                self._permitted = isinstance(observation, Available)
            arrived.append(observation)
        return arrived

    def _record_waiting(self) -> None:
        """Record the waiting drafts. They go on waiting when the store cannot be written."""
        excluded = self._excluded or Exclusions()
        # A span of an app that was excluded a moment ago may still be among them.
        drafts = [draft for draft in self._waiting if not _is_excluded(draft, excluded)]
        if drafts:
            for result in self.record([companion_opening(), *drafts]):
                if result.error is not None:
                    raise result.error
        self._waiting.clear()

    def _write_state(self) -> None:
        state = DesktopState(self._began is not None, self._permitted)
        if state != self._written:
            write_state(self.home, state)
            self._written = state


def _is_excluded(draft: Draft, excluded: Exclusions) -> bool:
    return draft.kind == "app" and excluded.app(draft.payload["app"], draft.payload.get("bundle"))
