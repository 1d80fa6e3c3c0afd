"""Full-text search with FTS5: indexed documents and ranking of hits.

Only the newest few hundred candidates are ranked, so that the cost does not grow with the log.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass, replace
from fazm_memory.store.database import Database
from fazm_memory.store.event_log import EVENT_COLUMNS, SEQ_BITS, SEQ_MASK, EventLog, event_id, to_event
from fazm_memory.store.search_text import (
    SearchTerm,
    fts_quote,
    index_text,
    kind_word,
    misspellings,
    plain_text,
    snippet,
    terms_of,
)

# The kinds to search when a query has no condition.
NOTABLE = ("prompt", "decision", "pending", "fact", "handoff")


@dataclass(frozen=True)
class SearchScope:
    """Where to search: a kind, a tool, sessions, and a test `keep` by event id.

    An event outside the sessions counts if it contains `mention`. `spans` limit the positions by session.
    """

    keep: Callable[[int], bool] | None = None
    kind: str | None = None
    tool: str | None = None
    inside: frozenset[int] | None = None
    mention: str = ""
    spans: Mapping[int, tuple[int, int]] | None = None

    @property
    def places(self) -> Mapping[int, tuple[int, int]] | None:
        """The allowed positions by session, or None for all."""
        if self.inside is None:
            return self.spans
        if self.spans is None:
            return dict.fromkeys(self.inside, (0, SEQ_MASK))
        return {number: self.spans[number] for number in self.inside if number in self.spans}

    @property
    def narrow(self) -> bool:
        return self.keep is not None or self.inside is not None

    def has(self, event: int) -> bool:
        """Whether the event is in the sessions and passes `keep`."""
        return (self.inside is None or event >> SEQ_BITS in self.inside) and (
            self.keep is None or self.keep(event)
        )

    @property
    def besides(self) -> str:
        """The FTS expression for kind and tool."""
        parts = []
        if self.kind is not None:
            parts.append(fts_quote(kind_word(self.kind)))
        if self.tool is not None:
            parts += [fts_quote(kind_word("action")), fts_quote(self.tool)]
        return " AND ".join(parts)

    def required(self, match: str) -> str:
        """The full FTS expression; without any condition, the notable kinds."""
        anything = "(" + " OR ".join(fts_quote(kind_word(kind)) for kind in NOTABLE) + ")"
        return " AND ".join(part for part in (match, self.besides) if part) or anything


MIDDLE = 1 << 40
LOOKED_AT = 20_000  # newest hits that a filter is applied to
RANGES = 64  # most ranges in a search; near ones are joined
NEAR = 500  # a gap of so few documents is read faster than skipped

NOTE = (
    "INSERT INTO run SELECT min(document), max(document), session, min(seq), max(seq) FROM ("
    f" SELECT rowid AS document, event >> {SEQ_BITS} AS session, event & {SEQ_MASK} AS seq,"
    f" rowid - row_number() OVER (PARTITION BY event >> {SEQ_BITS} ORDER BY rowid) AS island"
    " FROM words WHERE rowid >= ? AND rowid <= ?) GROUP BY session, island"
)

Span = tuple[int, int]  # positions of one session, both within it
Range = tuple[int, int]  # documents, both within it
Keep = Callable[[int], bool]


@dataclass(frozen=True)
class IndexBounds:
    """The lowest and highest document of the index, and its oldest time."""

    low: int = MIDDLE
    high: int = MIDDLE - 1
    oldest: int | None = None

    @property
    def documents(self) -> int:
        return self.high - self.low + 1


class IndexedDocuments:
    """The documents of the index, and which sessions they belong to."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db = log.db

    def marks(self) -> IndexBounds:
        row = self.db.execute("SELECT value FROM meta WHERE key='words'").fetchone()
        return IndexBounds(**json.loads(row[0])) if row is not None else IndexBounds()

    def add(self, number: int, events: Iterable[Event]) -> None:
        """Index a run of one session's events. In a transaction."""
        rows = [(event, text) for event in events if (text := index_text(event))]
        if not rows:
            return
        marks = self.marks()
        self.db.executemany(NOTE, self._unnoted(marks))
        moments = [event.at for event, _ in rows]
        if marks.oldest is not None and max(moments) < marks.oldest:
            first = marks.low - len(rows)
            marks = IndexBounds(first, marks.high, min(moments))
        else:
            first = marks.high + 1
            oldest = min(moments) if marks.oldest is None else min(marks.oldest, *moments)
            marks = IndexBounds(marks.low, marks.high + len(rows), oldest)
        self.db.executemany(
            "INSERT INTO words (rowid, body, event) VALUES (?,?,?)",
            [(first + n, text, event_id(number, event.seq)) for n, (event, text) in enumerate(rows)],
        )
        self._note(number, (rows[0][0].seq, rows[-1][0].seq), (first, first + len(rows) - 1))
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('words', ?)", (json.dumps(marks.__dict__),))

    def _note(self, number: int, positions: Span, documents: Range) -> None:
        """Note a run of documents, joined to the run before it if they touch."""
        (low, high), (first, last) = positions, documents
        longer = self.db.execute(
            "UPDATE run SET last=?, high=? WHERE first=(SELECT max(first) FROM run WHERE first < ?)"
            " AND last=? AND session=? AND high < ?",
            (last, high, first, first - 1, number, low),
        )
        if not longer.rowcount:
            self.db.execute("INSERT INTO run VALUES (?,?,?,?,?)", (first, last, number, low, high))

    def _unnoted(self, marks: IndexBounds) -> list[Range]:
        """Documents that are in no run: below all runs and above them."""
        first, last = self.db.execute(
            "SELECT min(first), (SELECT last FROM run ORDER BY first DESC LIMIT 1) FROM run"
        ).fetchone()
        if first is None:
            first, last = marks.low, marks.low - 1
        return [(low, high) for low, high in ((marks.low, first - 1), (last + 1, marks.high)) if low <= high]

    def remove(self, ids: Iterable[int]) -> int:
        """Remove events from the index. Return how many were in it. In a transaction."""
        self.log.recent.clear()
        wanted = set(ids)
        places: dict[int, Span] = {}
        for id_ in wanted:
            low, high = places.get(id_ >> SEQ_BITS, (SEQ_MASK, 0))
            places[id_ >> SEQ_BITS] = min(low, id_ & SEQ_MASK), max(high, id_ & SEQ_MASK)
        gone = [
            (document,)
            for first, last in self.ranges(places)
            for document, event in self.db.execute(
                "SELECT rowid, event FROM words WHERE rowid >= ? AND rowid <= ?", (first, last)
            ).fetchall()
            if event in wanted
        ]
        self.db.executemany("DELETE FROM words WHERE rowid=?", gone)
        # A deleted row leaves its words in old segments until they are merged: merge them now.
        self.db.execute("INSERT INTO words (words) VALUES ('optimize')")
        return len(gone)

    def clear(self) -> None:
        """Delete the index and the counts by minute, to be rebuilt. In a transaction."""
        self.db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self.db.execute("DELETE FROM run")
        self.db.execute("DELETE FROM meta WHERE key='words'")
        self.db.execute("DELETE FROM minute")
        self.db.execute("UPDATE session SET indexed=0")
        self.db.execute("INSERT OR IGNORE INTO waiting SELECT n FROM session WHERE head > 0")

    def ranges(self, places: Mapping[int, Span]) -> list[Range]:
        """Ranges of documents that hold these positions, newest first.

        They may hold other positions too.
        """
        if not places:
            return []
        sessions = ",".join(str(int(number)) for number in sorted(places))
        rows = self.db.execute(
            f"SELECT first, last, session, low, high FROM run WHERE session IN ({sessions})"
        )
        found = [
            (first, last)
            for first, last, session, low, high in rows.fetchall()
            if low <= places[session][1] and high >= places[session][0]
        ]
        return joined(sorted(found + self._unnoted(self.marks())))[::-1]

    def newest(
        self, match: str, most: int, keep: Keep | None = None, within: list[Range] | None = None
    ) -> list[tuple[int, int]]:
        """The newest matches that pass `keep`, as document and event.

        At most LOOKED_AT of them.
        """
        found: list[tuple[int, int]] = []
        looked = 0
        for first, last in [(-(1 << 62), 1 << 62)] if within is None else within:
            rows = self.db.execute(
                "SELECT rowid, event FROM words WHERE words MATCH ? AND rowid >= ? AND rowid <= ?"
                " ORDER BY rowid DESC LIMIT ?",
                (match, first, last, most if keep is None else LOOKED_AT - looked),
            )
            for row in islice(rows, LOOKED_AT):
                looked += 1
                if keep is None or keep(row[1]):
                    found.append(row)
                    if len(found) == most:
                        break
            rows.close()
            if len(found) == most or looked >= LOOKED_AT:
                break
        return found


def joined(ranges: list[Range]) -> list[Range]:
    """Join ranges that are near each other, so that at most about RANGES are left."""
    if not ranges:
        return []
    gaps = sorted(after[0] - before[1] for before, after in pairwise(ranges))
    near = max(NEAR, gaps[-RANGES] if len(gaps) >= RANGES else 0)
    result = [ranges[0]]
    for first, last in ranges[1:]:
        if first - result[-1][1] <= near:
            result[-1] = result[-1][0], max(last, result[-1][1])
        else:
            result.append((first, last))
    return result


CANDIDATES = 500
RANKABLE = 20_000  # most hits for bm25, which reads all of them
RANKABLE_IN_SCOPE = 2_000
SHORTLIST = 100  # candidates that are read
DAY = 86_400_000_000
EACH_TERM = 200  # candidates per term
SPELLINGS = 20_000  # most indexed words to compare with a misspelled one
SPELLED = 3  # most similar words that are searched instead
SPELLABLE = 40  # letters of a word that may be misspelled; longer ones would take seconds
MISSPELLED = 4  # letters of a word that is tried with one letter changed
LONG_WORD = 8  # letters; the beginning of a long word is seldom misspelled
EACH = 0.3  # score per matched term, because bm25 is near zero in a small log
# A decision or an open point says more about its subject than a call that only mentions it.
TELLING = {"decision": 1.4, "pending": 1.4, "fact": 1.4, "handoff": 1.4, "prompt": 1.4, "message": 1.3,
           "evicted": 1.1, "seen": 0.8, "session.open": 0.7, "session.title": 0.7}  # fmt: skip
NEARBY = 0.2  # weight of a term that only the event's session has
OF_A_SESSION = 3  # hits of a session before those of others
ABOUT_EQUAL = 1.05  # ratio of scores that do not differ in relevance
# A file name in a text: it has an extension.
FILE_NAME = lazy_regex(r"(?<![\w/.@:-])(?:[\w.@~-]*/)*[\w-][\w.@-]*\.[A-Za-z]\w{0,7}(?![\w/(])")
CHANGES = ("created", "modified", "renamed", "deleted")
PATH_PARTS = 2  # last parts of a path that are searched for
LATEST = 6  # events that are read to find the last change of a file
AGAIN = 0.5  # factor for a repeated text
# A phrase: several words, or a path or name with punctuation.
PLACE = lazy_regex(r"\w.*[\s/._-].*\w")


@dataclass(frozen=True)
class SearchHit:
    """One event found: where, when, and the matching text."""

    session: str
    seq: int
    at: int
    kind: str
    snippet: str
    score: float
    file: str | None = None  # the file it is about


@dataclass(frozen=True)
class FileChangeSince:
    """When a file was last changed, and by whom: agent, person or unknown."""

    at: int
    by: str


def _touches(event: Event) -> Sequence[Any]:
    """The files that an event says it touched."""
    if event.payload is None or event.kind not in ("action", "file"):
        return ()
    return (event.payload,) if event.kind == "file" else event.payload.files


def _shown(hit: SearchHit, terms: list[SearchTerm]) -> SearchHit:
    """A hit with the part of its text that matches, and the file that this part names."""
    shown = snippet(hit.snippet, terms)
    named = None if hit.file or hit.kind == "action" else FILE_NAME.search(shown)
    return replace(hit, snippet=shown, file=named[0] if named else hit.file)


def _changes(touch: Any, path: str) -> bool:
    """Whether a touch changed a path. A relative path may stand for the end of one."""
    same = touch.path == path if path.startswith("/") else touch.path.endswith(f"/{path}")
    return same and touch.change in CHANGES


def _change_match(path: str) -> str | None:
    """The query for events that may have changed a path. None if it has no word."""
    words = re.findall(r"\w+", "/".join(path.split("/")[-PATH_PARTS:]))
    changes = " OR ".join(map(fts_quote, CHANGES))
    return f"{fts_quote(' '.join(words))} AND ({changes})" if words else None


def best_first(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Hits in order: the best first, among about equal ones the newest.

    After a few hits of a session come those of others.
    """
    ranked = sorted(hits, key=lambda hit: (-_grade(hit.score), -hit.at, -hit.score))
    counts: Counter[str] = Counter()
    first: list[SearchHit] = []
    later: list[SearchHit] = []
    for hit in ranked:
        counts[hit.session] += 1
        (first if counts[hit.session] <= OF_A_SESSION else later).append(hit)
    return first + later


def _grade(score: float) -> int:
    """Scores that differ by less than a few percent have the same grade."""
    return round(math.log(max(score, 1e-6)) / math.log(ABOUT_EQUAL))


class SearchIndex:
    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db: Database = log.db
        self.documents = IndexedDocuments(log)

    def find(self, query: str, *, limit: int, now: int, scope: SearchScope | None = None) -> list[SearchHit]:
        """The best matches for a typed query. Any text is safe."""
        terms = terms_of(query)
        if limit <= 0 or not (terms or scope is not None):
            return []
        scope = scope or SearchScope()
        terms = self._near(terms)
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

    def has_all(self, query: str, scope: SearchScope | None = None) -> bool:
        """Whether any event has every word of a query."""
        match = " AND ".join(term.match for term in terms_of(query))
        return bool(self._candidates(match, scope or SearchScope(), 1, 0.0))

    def last_change(
        self, path: str, since: int, after: int = 0, until: int | None = None
    ) -> FileChangeSince | None:
        """The last recorded change of a file later than a time and than the event `after`."""
        match = _change_match(path)
        if match is None:
            return None
        run = self.db.execute(
            "SELECT first FROM run WHERE session=? AND low <= ? ORDER BY low DESC LIMIT 1",
            (after >> SEQ_BITS, after & SEQ_MASK),
        ).fetchone()
        later = [(-(1 << 62) if run is None else run[0], 1 << 62)]
        newest = self.documents.newest(match, LATEST, within=later)
        rows = self._rows(event for _, event in newest)
        for row in sorted(rows.values(), key=lambda row: row[1], reverse=True):
            if row[1] <= since:
                return None
            if until is not None and row[1] > until:
                continue
            event = to_event(row, "", b"")
            if any(_changes(touch, path) for touch in _touches(event)):
                return FileChangeSince(event.at, getattr(event.payload, "by", "agent"))
        return None

    def changes(self, path: str, most: int = CANDIDATES) -> Iterator[tuple[Event, Any]]:
        """Recorded changes of a file in all sessions, newest first.

        Each is an event with what it did to the file. A relative path stands for the end of one.
        """
        match = _change_match(path)
        rows = self._rows(event for _, event in self.documents.newest(match, most)) if match else {}
        names = self._sessions({id_ >> SEQ_BITS for id_ in rows}) if rows else {}
        for row in sorted(rows.values(), key=lambda row: (row[1], row[0]), reverse=True):
            event = to_event(row, names.get(row[0] >> SEQ_BITS, ""), b"")
            yield from ((event, touch) for touch in _touches(event) if _changes(touch, path))

    def _weight(self, match: str) -> float | None:
        """The weight of a term by its rarity, or None if it is too common to count."""
        (count,) = self.db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (match, RANKABLE + 1)
        ).fetchone()
        if count > RANKABLE:
            return None
        return max(0.1, math.log((self.documents.marks().documents - count + 0.5) / (count + 0.5)))

    def _rankable(self, weight: float | None, scope: SearchScope) -> bool:
        """Whether bm25 is affordable for a term."""
        if weight is None or not scope.narrow:
            return weight is not None
        return weight >= math.log(max(1.0, self.documents.marks().documents / RANKABLE_IN_SCOPE - 1))

    def _partly(
        self, terms: list[SearchTerm], weights: list[float | None], scope: SearchScope
    ) -> dict[int, float]:
        """Events with some of the terms, scored by the terms they have.

        Each term is searched alone, so that a common word does not crowd out a rare one.
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
            # Terms elsewhere in the session count a little: a request may name what its calls do not.
            near = around[event >> SEQ_BITS]
            lent = sum(score for match, score in near.items() if match not in own)
            share = (len(own) + NEARBY * (len(near) - len(own))) / len(terms)
            found[event] = (sum(own.values()) + NEARBY * lent) * share**0.5
        return found

    def _candidates(self, match: str, scope: SearchScope, most: int, flat: float | None) -> dict[int, float]:
        """The newest matches with their bm25, or all with the score `flat`.

        bm25 reads every match of a word, which is too slow for common ones.
        """
        match = scope.required(match)
        allowed: set[int] | None = None
        limits: tuple[int, ...] = ()
        if scope.narrow or flat is not None:
            newest = self._newest(match, scope, most)
            allowed = {event for _, event in newest}
            if flat is not None or not allowed:
                return dict.fromkeys(allowed, flat or 0.0)
            limits = (newest[-1][0], newest[0][0])
        rows = self.db.execute(
            "SELECT event, bm25(words) FROM words WHERE words MATCH ?"
            f"{' AND rowid >= ? AND rowid <= ?' if limits else ''} ORDER BY rowid DESC LIMIT ?",
            (match, *limits, most if allowed is None else LOOKED_AT),
        ).fetchall()
        scores = {event: -score for event, score in rows if allowed is None or event in allowed}
        # Allowed hits beyond the first LOOKED_AT rows get the lowest score.
        least = min(scores.values(), default=0.0)
        return scores | dict.fromkeys((allowed or set()) - scores.keys(), least)

    def _newest(self, match: str, scope: SearchScope, most: int) -> list[tuple[int, int]]:
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

    def _near(self, terms: list[SearchTerm]) -> list[SearchTerm]:
        """The terms with alternatives.

        An alternative is two words joined, or a similar word for one that is not indexed.
        """
        near = [self._meant(term) for term in terms]
        for nth, (first, second) in enumerate(pairwise(terms)):
            joined_word = fts_quote(first.word + second.word)
            if f"{first.word}{second.word}".isalnum() and self._known(joined_word):
                for place in (nth, nth + 1):
                    near[place] = SearchTerm(near[place].word, f"({near[place].match} OR {joined_word})")
        return near

    def _meant(self, term: SearchTerm) -> SearchTerm:
        """The term, or similar words if no event has it.

        Similar are words that begin with it, are in it or are spelled almost the same.
        """
        if " " in term.word or len(term.word) > SPELLABLE or self._known(term.match):
            return term
        word = term.word.lower()
        begun = f"{fts_quote(word)} *"
        if len(word) >= 3 and self._known(begun):
            return SearchTerm(term.word, begun)
        if len(word) < 4:
            return term
        near = [other for other in self._apart(word) if self._known(fts_quote(other))][:SPELLED]
        if not near and len(word) >= MISSPELLED:
            near = [other for other in dict.fromkeys(misspellings(word)) if self._known(fts_quote(other))]
        if not near:
            from difflib import get_close_matches  # seldom: for a word that no event has

            near = get_close_matches(word, self._vocabulary(word), n=SPELLED, cutoff=0.75)
        return SearchTerm(term.word, f"({' OR '.join(map(fts_quote, near))})") if near else term

    @staticmethod
    def _apart(word: str) -> Iterator[str]:
        """A word cut in two: foo bar for foobar."""
        return (f"{word[:at]} {word[at:]}" for at in range(3, len(word) - 2))

    def _known(self, match: str) -> bool:
        row = self.db.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (match,)).fetchone()
        return row is not None

    def _vocabulary(self, word: str) -> list[str]:
        """Indexed words with the same beginning and about the same length."""
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'words', 'row')"
        )
        # The index reads every document of each term, so a longer beginning is cheaper.
        begin = word[: 3 if len(word) >= LONG_WORD else 2]
        rows = self.db.execute(
            "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
            " LIMIT ?",
            (begin, begin[:-1] + chr(ord(begin[-1]) + 1), len(word) - 3, len(word) + 2, SPELLINGS),
        ).fetchall()
        return [row[0] for row in rows]

    def _ranked(
        self, query: str, terms: list[SearchTerm], found: dict[int, float], limit: int, now: int
    ) -> list[SearchHit]:
        # Reading rows is the slowest step, so read only the best.
        best = sorted(found, key=lambda event: (-found[event], -event))[:SHORTLIST]
        rows = self._rows(best)
        scored = sorted(
            (
                (found[id_] * recency(now - rows[id_][1]) * TELLING.get(rows[id_][3], 1.0), id_)
                for id_ in best
                if id_ in rows
            ),
            reverse=True,
        )
        sessions = self._sessions({event >> SEQ_BITS for event in rows})
        hits: list[SearchHit] = []
        texts: set[tuple[str, str]] = set()
        phrases = [part.lower() for part in (query.strip().strip('"'), *query.split()) if PLACE.search(part)]
        for score, id_ in scored[: limit * 4]:
            event = to_event(rows[id_], sessions[id_ >> SEQ_BITS], b"")
            if event.payload is None:
                continue
            text = plain_text(event)
            if any(phrase in text.lower() for phrase in phrases):
                score *= 2
            if (event.session, text) in texts:
                score *= AGAIN
            texts.add((event.session, text))
            touches = _touches(event)
            path = touches[0].path if touches else None
            hits.append(
                SearchHit(event.session, event.seq, event.at, event.kind, text, round(score, 6), path)
            )
        return [_shown(hit, terms) for hit in best_first(hits)[:limit]]

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
    """A factor for recent events: 1.5 today, 1 after a month or two."""
    return 1 + 0.5 * math.exp(-max(0, age) / (7 * DAY))
