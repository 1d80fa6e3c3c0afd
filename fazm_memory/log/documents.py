"""The documents of the full-text index: which event each one is, and where a session's documents lie.

Document numbers follow time: newer batches count up, a backfill of older ones counts down, so "newest first"
is the order of the index itself. Each batch is a run of one session's events; the runs are noted, so that a
search that may look only into one session or one day asks the index for those documents alone, however many
hits a word has elsewhere. A program from before there were runs may still be at work beside this one: what it
took in lies above or below all runs, where it is looked at in every search and noted with the next batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK, event_id
from fazm_memory.log.words import indexed_words
from fazm_memory.model.events import Event

MIDDLE = 1 << 40
LOOKED_AT = 20_000  # newest hits that a filter is held against
RANGES = 64  # the index is asked for at most so many stretches; nearer ones are taken as one
NEAR = 500  # documents between two stretches that are read faster than skipped

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
class Marks:
    """Where the index stands: its lowest and highest document, and the oldest moment in it."""

    low: int = MIDDLE
    high: int = MIDDLE - 1
    oldest: int | None = None

    @property
    def documents(self) -> int:
        return self.high - self.low + 1


class Documents:
    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db = log.db

    def marks(self) -> Marks:
        row = self.db.execute("SELECT value FROM meta WHERE key='words'").fetchone()
        return Marks(**json.loads(row[0])) if row is not None else Marks()

    def add(self, number: int, events: Iterable[Event]) -> None:
        """Index a run of one session's events. In a transaction."""
        rows = [(event, text) for event in events if (text := indexed_words(event))]
        if not rows:
            return
        marks = self.marks()
        self.db.executemany(NOTE, self._unnoted(marks))
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
        self._note(number, (rows[0][0].seq, rows[-1][0].seq), (first, first + len(rows) - 1))
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('words', ?)", (json.dumps(marks.__dict__),))

    def _note(self, number: int, positions: Span, documents: Range) -> None:
        """A run that goes on where the one before it ended is one with it."""
        (low, high), (first, last) = positions, documents
        longer = self.db.execute(
            "UPDATE run SET last=?, high=? WHERE first=(SELECT max(first) FROM run WHERE first < ?)"
            " AND last=? AND session=? AND high < ?",
            (last, high, first, first - 1, number, low),
        )
        if not longer.rowcount:
            self.db.execute("INSERT INTO run VALUES (?,?,?,?,?)", (first, last, number, low, high))

    def _unnoted(self, marks: Marks) -> list[Range]:
        """Where documents may lie that no run tells of: below all runs and above them."""
        first, last = self.db.execute(
            "SELECT min(first), (SELECT last FROM run ORDER BY first DESC LIMIT 1) FROM run"
        ).fetchone()
        if first is None:
            first, last = marks.low, marks.low - 1
        return [one for one in ((marks.low, first - 1), (last + 1, marks.high)) if one[0] <= one[1]]

    def remove(self, ids: Iterable[int]) -> int:
        """Take events out of the index for good; how many were in it. In a transaction."""
        self.log.recent.clear()
        wanted = set(ids)
        places: dict[int, Span] = {}
        for one in wanted:
            low, high = places.get(one >> SEQ_BITS, (SEQ_MASK, 0))
            places[one >> SEQ_BITS] = min(low, one & SEQ_MASK), max(high, one & SEQ_MASK)
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
        """Drop the whole index and what shares its cursor; it is rebuilt from events. In a transaction."""
        self.db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self.db.execute("DELETE FROM run")
        self.db.execute("DELETE FROM meta WHERE key='words'")
        self.db.execute("DELETE FROM minute")
        self.db.execute("UPDATE session SET indexed=0")
        self.db.execute("INSERT OR IGNORE INTO waiting SELECT n FROM session WHERE head > 0")

    def ranges(self, places: Mapping[int, Span]) -> list[Range]:
        """Where the documents of these positions lie, newest first; some others may lie among them."""
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
        """The newest hits that may be kept, newest first: each one's document and event. Only so many are
        looked at: what a filter wants is mostly among the newest."""
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
    """Ranges in order, with those that lie near each other taken as one: nearer than NEAR documents, or
    nearer than the gaps that are left when there are RANGES of them."""
    if not ranges:
        return []
    gaps = sorted(after[0] - before[1] for before, after in pairwise(ranges))
    near = max(NEAR, gaps[-RANGES] if len(gaps) >= RANGES else 0)
    made = [ranges[0]]
    for first, last in ranges[1:]:
        if first - made[-1][1] <= near:
            made[-1] = made[-1][0], max(last, made[-1][1])
        else:
            made.append((first, last))
    return made
