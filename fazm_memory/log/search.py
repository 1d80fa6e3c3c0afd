"""Full-text search: an FTS5 index that is a projection with a cursor, and a bounded, recent candidate set.

Ranking every hit of a common word would grow with the log; ranking the newest few hundred does not. Document
numbers follow time: newer batches count up, a backfill of older ones counts down, so "newest first" is the
order of the index itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fazm_memory.log.database import Database
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK, event_id
from fazm_memory.log.words import words_of
from fazm_memory.model.events import Event

MIDDLE = 1 << 40
CANDIDATES = 500
DAY = 86_400_000_000
TERM = re.compile(r'"([^"]*)"|(\w+)', re.UNICODE)
MOST_TERMS = 32
SNIPPET = 160


@dataclass(frozen=True)
class Hit:
    """One event found: where it is, when it was, why it matched."""

    session: str
    seq: int
    at: int
    kind: str
    snippet: str
    score: float


@dataclass(frozen=True)
class Marks:
    """Where the index stands: its lowest and highest document, and the oldest moment in it."""

    low: int = MIDDLE
    high: int = MIDDLE - 1
    oldest: int | None = None


class SearchIndex:
    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db: Database = log.db

    def _marks(self) -> Marks:
        row = self.db.execute("SELECT value FROM meta WHERE key='words'").fetchone()
        return Marks(**json.loads(row[0])) if row is not None else Marks()

    def add(self, number: int, events: Iterable[Event]) -> None:
        """Index a run of one session's events. In a transaction."""
        rows = [(event, text) for event in events if (text := words_of(event))]
        if not rows:
            return
        marks = self._marks()
        moments = [event.at for event, _ in rows]
        if marks.oldest is not None and max(moments) < marks.oldest:
            first = marks.low - len(rows)
            marks = Marks(first, marks.high, min(moments))
        else:
            first = marks.high + 1
            oldest = min(moments) if marks.oldest is None else min(marks.oldest, *moments)
            marks = Marks(marks.low, marks.high + len(rows), oldest)
        self.db.executemany(
            "INSERT INTO words (rowid, body, event) VALUES (?,?,?)",
            [(first + n, text, event_id(number, event.seq)) for n, (event, text) in enumerate(rows)],
        )
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('words', ?)", (json.dumps(marks.__dict__),))

    def remove(self, ids: Iterable[int]) -> int:
        """Take events out of the index for good; how many were in it. In a transaction."""
        self.log.recent.clear()
        wanted = set(ids)
        gone = [
            (rowid,)
            for rowid, event in self.db.execute("SELECT rowid, event FROM words").fetchall()
            if event in wanted
        ]
        self.db.executemany("DELETE FROM words WHERE rowid=?", gone)
        # A deleted row leaves its words in old segments until they are merged: merge them now.
        self.db.execute("INSERT INTO words (words) VALUES ('optimize')")
        return len(gone)

    def clear(self) -> None:
        """Drop the whole index and what shares its cursor; it is rebuilt from events. In a transaction."""
        self.db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self.db.execute("DELETE FROM meta WHERE key='words'")
        self.db.execute("DELETE FROM minute")
        self.db.execute("UPDATE session SET indexed=0")
        self.db.execute("INSERT OR IGNORE INTO waiting SELECT n FROM session WHERE head > 0")

    def find(
        self, query: str, *, limit: int, now: int, keep: Callable[[int], bool] | None = None
    ) -> list[Hit]:
        """The best hits for what a person typed; any text is safe. `keep` filters by event id."""
        terms = terms_of(query)
        if not terms or limit <= 0:
            return []
        found = self._candidates(" AND ".join(terms), keep)
        if len(found) < limit and len(terms) > 1:
            known = set(found)
            loose = self._candidates(" OR ".join(terms), keep)
            # A hit that has every word stays ahead of one that has some.
            found |= {event: score * 0.5 for event, score in loose.items() if event not in known}
        return self._ranked(query, terms, found, limit, now)

    def _candidates(self, match: str, keep: Callable[[int], bool] | None) -> dict[int, float]:
        rows = self.db.execute(
            "SELECT event, bm25(words) FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
            (match, CANDIDATES),
        ).fetchall()
        return {event: -score for event, score in rows if keep is None or keep(event)}

    def _ranked(
        self, query: str, terms: list[str], found: dict[int, float], limit: int, now: int
    ) -> list[Hit]:
        moments = self._moments(found)
        scored = sorted(
            (
                (score * recency(now - moments[event]), event)
                for event, score in found.items()
                if event in moments
            ),
            reverse=True,
        )
        hits = []
        for score, event in scored[: max(limit * 3, limit)]:
            number, seq = event >> SEQ_BITS, event & SEQ_MASK
            row = self.db.execute("SELECT id FROM session WHERE n=?", (number,)).fetchone()
            told = next(self.log.slice(number, row[0], seq, seq + 1), None)
            if told is None or told.payload is None:
                continue
            text = words_of(told)
            if len(terms) > 1 and query.strip().strip('"').lower() in text.lower():
                score *= 2
            hits.append(Hit(row[0], seq, told.at, told.kind, snippet(text, terms), round(score, 6)))
        return sorted(hits, key=lambda hit: (-hit.score, -hit.at))[:limit]

    def _moments(self, events: Iterable[int]) -> dict[int, int]:
        wanted = list(events)
        marks = ",".join("?" * len(wanted))
        return dict(self.db.execute(f"SELECT id, at FROM event WHERE id IN ({marks})", wanted).fetchall())


def recency(age: int) -> float:
    """A gentle push for what is recent: half as much again today, nothing after a month or two."""
    return 1 + 0.5 * math.exp(-max(0, age) / (7 * DAY))


def terms_of(query: str) -> list[str]:
    """What was typed as FTS5 strings: every word and phrase quoted, so that nothing is an operator."""
    terms = []
    for phrase, word in TERM.findall(query.replace("\0", " ")):
        text = phrase or word
        if re.search(r"\w", text):
            terms.append('"' + text.replace('"', '""') + '"')
    return list(dict.fromkeys(terms))[:MOST_TERMS]


def snippet(text: str, terms: list[str]) -> str:
    """The part of the text around the first word that was looked for, on one line."""
    line = " ".join(text.split())
    lower = line.lower()
    places = [at for term in terms if (at := lower.find(term.strip('"').lower())) >= 0]
    start = max(0, min(places, default=0) - SNIPPET // 4)
    cut = line[start : start + SNIPPET]
    return ("…" if start else "") + cut + ("…" if start + SNIPPET < len(line) else "")
