"""Full-text search: an FTS5 index that is a projection with a cursor, and a bounded, recent candidate set.

Ranking every hit of a common word would grow with the log; ranking the newest few hundred does not. Where the
documents lie is told by `documents`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from fazm_memory.log.database import Database
from fazm_memory.log.documents import LOOKED_AT, Documents
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.rows import EVENT_COLUMNS, to_event
from fazm_memory.log.scope import Scope
from fazm_memory.log.tables import SEQ_BITS
from fazm_memory.log.terms import Term, quoted, snippet, terms_of
from fazm_memory.log.words import words_of

CANDIDATES = 500
RANKABLE = 20_000  # hits up to which bm25 is affordable: it walks them all to learn how rare a word is
RANKABLE_IN_SCOPE = 2_000
SHORTLIST = 100  # candidates that are read
DAY = 86_400_000_000
EACH_TERM = 200  # candidates a single term brings
SPELLINGS = 20_000  # words of the index looked at for one that was misspelled
LONG_WORD = 8  # letters; hardly anyone misspells the beginning of one
EACH = 0.3  # for each term an event has: in a small log every word is common and bm25 is nothing
# A decision or an open point says more about its subject than a call that only mentions it.
TELLING = {"decision": 1.4, "pending": 1.4, "fact": 1.4, "handoff": 1.4, "prompt": 1.2, "evicted": 1.1,
           "seen": 0.8, "session.open": 0.7, "session.title": 0.7}  # fmt: skip
NEARBY = 0.4  # what a term is worth that an event lacks and its session has
AGAIN = 0.5  # what the same thing done again is worth beside the first
# What may be looked for as it stands: several words, or a path or name with its punctuation.
PLACE = re.compile(r"\w.*[\s/._-].*\w")


@dataclass(frozen=True)
class Hit:
    """One event found: where it is, when it was, why it matched."""

    session: str
    seq: int
    at: int
    kind: str
    snippet: str
    score: float


class SearchIndex:
    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db: Database = log.db
        self.documents = Documents(log)

    def find(self, query: str, *, limit: int, now: int, scope: Scope | None = None) -> list[Hit]:
        """The best hits for what a person typed; any text is safe."""
        terms = terms_of(query)
        if limit <= 0 or not (terms or scope is not None):
            return []
        scope = scope or Scope()
        terms = [self._near(term) for term in terms]
        weights = [self._weight(term.match) for term in terms]
        rare = all(self._rankable(weight, scope) for weight in weights) and not (
            scope.besides and self._weight(scope.besides) is None
        )
        all_of = " AND ".join(term.match for term in terms)
        plain = sum(weight or 0.0 for weight in weights)
        found = {
            event: score + EACH * len(terms)
            for event, score in self._candidates(all_of, scope, CANDIDATES, None if rare else plain).items()
        }
        if len(found) < 4 * limit and len(terms) > 1:
            for event, score in self._partly(terms, weights, scope).items():
                found.setdefault(event, score)
        return self._ranked(query, terms, found, limit, now)

    def has_all(self, query: str, scope: Scope | None = None) -> bool:
        """Whether any event has every word of a query, as it was typed."""
        match = " AND ".join(term.match for term in terms_of(query))
        return bool(self._candidates(match, scope or Scope(), 1, 0.0))

    def _weight(self, match: str) -> float | None:
        """How telling a term is by its rarity; None when it is too common to be counted out."""
        (count,) = self.db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (match, RANKABLE + 1)
        ).fetchone()
        if count > RANKABLE:
            return None
        return max(0.1, math.log((self.documents.marks().documents - count + 0.5) / (count + 0.5)))

    def _rankable(self, weight: float | None, scope: Scope) -> bool:
        """Whether bm25 may be asked for a term: in a narrow scope it costs more than all the rest."""
        if weight is None or not scope.narrow:
            return weight is not None
        return weight >= math.log(max(1.0, self.documents.marks().documents / RANKABLE_IN_SCOPE - 1))

    def _partly(self, terms: list[Term], weights: list[float | None], scope: Scope) -> dict[int, float]:
        """Events that have some of the terms: the sum of what each is worth, less for those they lack.

        Term by term, so that the newest hits of a common word do not crowd out all hits of a rare one.
        """
        worth: dict[int, dict[str, float]] = {}
        around: dict[int, dict[str, float]] = {}
        affordable = not scope.besides or self._weight(scope.besides) is not None
        for term, weight in zip(terms, weights, strict=True):
            flat = None if affordable and self._rankable(weight, scope) else weight or 0.0
            for event, score in self._candidates(term.match, scope, EACH_TERM, flat).items():
                worth.setdefault(event, {})[term.match] = score + EACH
                session = around.setdefault(event >> SEQ_BITS, {})
                session[term.match] = max(session.get(term.match, 0.0), score + EACH)
        found = {}
        for event, own in worth.items():
            # What its session says elsewhere counts a little: a request names what no call of it does.
            near = around[event >> SEQ_BITS]
            lent = sum(score for match, score in near.items() if match not in own)
            share = (len(own) + NEARBY * (len(near) - len(own))) / len(terms)
            found[event] = (sum(own.values()) + NEARBY * lent) * share**0.5
        return found

    def _candidates(self, match: str, scope: Scope, most: int, flat: float | None) -> dict[int, float]:
        """The newest hits, no more than `most` of them, with their bm25; or all `flat`, since bm25 would walk
        every hit of a common word to learn how common it is."""
        match = scope.required(match)
        kept: set[int] | None = None
        limits: tuple[int, ...] = ()
        if scope.narrow or flat is not None:
            kept_rows = self._newest(match, scope, most)
            kept = {event for _, event in kept_rows}
            if flat is not None or not kept:
                return dict.fromkeys(kept, flat or 0.0)
            limits = (kept_rows[-1][0], kept_rows[0][0])
        rows = self.db.execute(
            "SELECT event, bm25(words) FROM words WHERE words MATCH ?"
            f"{' AND rowid >= ? AND rowid <= ?' if limits else ''} ORDER BY rowid DESC LIMIT ?",
            (match, *limits, most if kept is None else LOOKED_AT),
        ).fetchall()
        scores = {event: -score for event, score in rows if kept is None or event in kept}
        # Between the hits that are kept there may be more of others than are looked at: none is lost for it.
        least = min(scores.values(), default=0.0)
        return scores | dict.fromkeys((kept or set()) - scores.keys(), least)

    def _newest(self, match: str, scope: Scope, most: int) -> list[tuple[int, int]]:
        """The newest hits in a scope, newest first: each one's document and event."""
        newest = self.documents.newest
        if not scope.narrow:
            return newest(match, most)
        places = scope.places
        rows = newest(match, most, scope.has, None if places is None else self.documents.ranges(places))
        if scope.mention:
            within = None if scope.spans is None else self.documents.ranges(scope.spans)
            mentioned = newest(f"({match}) AND {scope.mention}", most, scope.keep, within)
            rows = sorted({*rows, *mentioned}, reverse=True)
        return rows[:most]

    def _near(self, term: Term) -> Term:
        """The term; or, when no event has it, words that begin so, or that are nearly spelled so."""
        if " " in term.word or self._known(term.match):
            return term
        begun = f"{quoted(term.word)} *"
        if len(term.word) >= 3 and self._known(begun):
            return Term(term.word, begun)
        near = get_close_matches(term.word.lower(), self._vocabulary(term.word.lower()), n=3, cutoff=0.75)
        return Term(term.word, f"({' OR '.join(map(quoted, near))})") if near else term

    def _known(self, match: str) -> bool:
        return (
            self.db.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (match,)).fetchone()
            is not None
        )

    def _vocabulary(self, word: str) -> list[str]:
        """Indexed words that begin like this one and are about as long."""
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'words', 'row')"
        )
        # Of a term the index reads every document to tell it: a longer beginning is that much cheaper.
        begin = word[: 3 if len(word) >= LONG_WORD else 2]
        rows = self.db.execute(
            "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
            " LIMIT ?",
            (begin, begin[:-1] + chr(ord(begin[-1]) + 1), len(word) - 3, len(word) + 2, SPELLINGS),
        ).fetchall()
        return [row[0] for row in rows]

    def _ranked(
        self, query: str, terms: list[Term], found: dict[int, float], limit: int, now: int
    ) -> list[Hit]:
        # Reading an event's row costs more than all of the above: only the best are looked at.
        best = sorted(found, key=lambda event: (-found[event], -event))[:SHORTLIST]
        rows = self._rows(best)
        scored = sorted(
            (
                (score * recency(now - rows[event][1]) * TELLING.get(rows[event][3], 1.0), event)
                for event, score in ((one, found[one]) for one in best)
                if event in rows
            ),
            reverse=True,
        )
        sessions = self._sessions({event >> SEQ_BITS for event in rows})
        hits: list[Hit] = []
        told_already: set[tuple[str, str]] = set()
        phrases = [part.lower() for part in (query.strip().strip('"'), *query.split()) if PLACE.search(part)]
        for score, event in scored[: limit * 4]:
            told = to_event(rows[event], sessions[event >> SEQ_BITS], b"")
            if told.payload is None:
                continue
            text = words_of(told)
            if any(phrase in text.lower() for phrase in phrases):
                score *= 2
            if (told.session, text) in told_already:
                score *= AGAIN
            told_already.add((told.session, text))
            hits.append(
                Hit(told.session, told.seq, told.at, told.kind, snippet(text, terms), round(score, 6))
            )
        return sorted(hits, key=lambda hit: (-hit.score, -hit.at))[:limit]

    def _rows(self, events: Iterable[int]) -> dict[int, tuple[Any, ...]]:
        wanted = list(events)
        marks = ",".join("?" * len(wanted))
        rows = self.db.execute(f"SELECT {EVENT_COLUMNS} FROM event WHERE id IN ({marks})", wanted).fetchall()
        return {row[0]: row for row in rows}

    def _sessions(self, numbers: set[int]) -> dict[int, str]:
        marks = ",".join("?" * len(numbers))
        rows = self.db.execute(f"SELECT n, id FROM session WHERE n IN ({marks})", tuple(numbers))
        return dict(rows.fetchall())


def recency(age: int) -> float:
    """A gentle push for what is recent: half as much again today, nothing after a month or two."""
    return 1 + 0.5 * math.exp(-max(0, age) / (7 * DAY))
