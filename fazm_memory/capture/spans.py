"""Spans: what was in front, from when until when, made of single observations.

Equal neighbours are one span, what lasted less than a second was a flicker, and a time in which nobody
looked belongs to no span: it is a gap, with its reason. Pure: the time is what the observations say it is.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from fazm_memory.capture.desktop import BLIND, Away, Back, Hidden, Observation, Seen
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.recording import COMPANION, COMPANION_AGENT
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.model.clock import iso

SECOND = 1_000_000
FLICKER = SECOND
LONGEST = 900 * SECOND  # a longer span is told in pieces, so that a crash loses no more than this
SILENCE = 60 * SECOND  # sources tell something every ten seconds: after this long they were not there
TITLE = 300
UNOBSERVED = "unobserved"
UNSEEN = BLIND | {UNOBSERVED}  # gaps in which nothing at all was seen

# An app whose title never rests (a clock, a counter) must not fill the log: after so many spans in so much
# time its titles have to last longer to count.
RESTLESS, RESTLESS_WITHIN, RESTLESS_FLICKER = 12, 60 * SECOND, 15 * SECOND

# What changes in a title while the window shows the same: spinners, "unsaved" dots, counters, "Edited".
_DECORATION = re.compile(r"^(?:\(\d+\+?\)|[^\w(]|_)+|\s+[—–-]+\s+edited$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Span:
    since: int
    seen: Seen

    def shows(self, other: Seen) -> bool:
        return _what(self.seen) == _what(other)


class SpanMerger:
    """Takes observations in their order and returns the drafts of what is over by then."""

    def __init__(
        self,
        scrubber: Scrubber,
        *,
        session: str = COMPANION,
        agent: str | None = COMPANION_AGENT,
    ) -> None:
        self.scrubber = scrubber
        self.session, self.agent = session, agent
        self._open: _Span | None = None
        self._next: _Span | None = None  # seen after the open one, but not for long enough yet
        self._away: dict[str, int] = {}
        self._last: int | None = None
        self._recent: deque[tuple[int, str]] = deque(maxlen=RESTLESS)

    def take(self, told: Observation) -> list[Draft]:
        drafts = self._passed(told.at)
        match told:
            case Seen():
                # Whoever sees something is awake, though nobody may have told us of the waking.
                drafts += [one for why in sorted(BLIND) for one in self._back(why, told.at)]
                drafts += self._seen(told)
            case Hidden():
                drafts += self._cut(told.at)
            case Away():
                if told.why in BLIND:
                    drafts += self._cut(told.at)
                self._away.setdefault(told.why, told.at)
            case Back():
                drafts += self._back(told.why, told.at)
        return drafts

    def close(self, at: int) -> list[Draft]:
        """Nothing more comes: tell what is still open."""
        drafts = [*self._passed(at), *self._cut(at)]
        drafts += [one for why in list(self._away) for one in self._back(why, at)]
        self._last = None
        return drafts

    # -- spans -------------------------------------------------------------------------------------------

    def _passed(self, at: int) -> list[Draft]:
        """What the mere time since the last observation tells."""
        last, self._last = self._last, at
        if last is None:
            return []
        if at < last:  # the clock was set back: what was open ended where we last saw it
            return self._cut(last)
        if at - last > SILENCE and (self._open or self._next):
            return [*self._cut(last), self._gap(UNOBSERVED, last, at)]
        return self._settled(at)

    def _seen(self, seen: Seen) -> list[Draft]:
        if self._open is not None and self._open.shows(seen):
            self._next = None
            if seen.at - self._open.since < LONGEST:
                return []
            piece = self._span(self._open, seen.at)
            self._open = _Span(seen.at, seen)
            return [piece]
        if self._next is not None and self._next.seen.app == seen.app:
            # A title that changes faster than it settles is still this app, since it came to the front.
            self._next = _Span(self._next.since, seen)
        else:
            self._next = _Span(seen.at, seen)
        return []

    def _settled(self, at: int) -> list[Draft]:
        """The next span has lasted: the one before it ended where this one began."""
        if self._next is None or at - self._next.since < self._flicker(self._next.seen.app):
            return []
        told = [] if self._open is None else [self._span(self._open, self._next.since)]
        self._open, self._next = self._next, None
        self._recent.append((self._open.since, self._open.seen.app))
        return told

    def _flicker(self, app: str) -> int:
        full = len(self._recent) == RESTLESS
        busy = full and self._recent[-1][0] - self._recent[0][0] <= RESTLESS_WITHIN
        restless = busy and all(one == app for _, one in self._recent)
        return RESTLESS_FLICKER if restless else FLICKER

    def _cut(self, at: int) -> list[Draft]:
        """End what is open here; what did not last is dropped with its title and document."""
        told = self._settled(at)
        if self._open is not None and at > self._open.since:
            told.append(self._span(self._open, at))
        self._open = self._next = None
        return told

    # -- drafts ------------------------------------------------------------------------------------------

    def _span(self, span: _Span, until: int) -> Draft:
        seen = span.seen
        title = None if seen.title is None else self.scrubber.text(seen.title, TITLE).text
        payload = {
            "app": seen.app,
            "title": title,
            "document": seen.document,
            "bundle": seen.bundle,
            "until": iso(until),
        }
        told = {name: value for name, value in payload.items() if value is not None}
        return self._draft("app", told, span.since, f"app:{span.since}")

    def _back(self, why: str, at: int) -> list[Draft]:
        since = self._away.pop(why, None)
        return [] if since is None or at <= since else [self._gap(why, since, at)]

    def _gap(self, what: str, since: int, until: int) -> Draft:
        payload = {"what": what, "since": iso(since), "until": iso(until)}
        if what not in UNSEEN:
            payload["note"] = "apps were seen, their windows and documents were not"
        return self._draft("gap", payload, since, f"gap:{what}:{since}")

    def _draft(self, kind: str, payload: dict[str, str], at: int, key: str) -> Draft:
        return Draft(self.session, kind, payload, agent=self.agent, at=at, source="desktop", key=key)


def _what(seen: Seen) -> tuple[str, str | None, str, str | None]:
    """What makes two observations the same: the app, the document and the title without its decoration."""
    return seen.app, seen.bundle, _DECORATION.sub("", seen.title or ""), seen.document
