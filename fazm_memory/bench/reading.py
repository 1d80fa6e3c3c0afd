"""Reading at every size: slices, tails, states, the list of sessions, searches; each beside a bare statement.

Flat means that the largest store answers within half as much again as the smallest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

from fazm_memory.bench.figures import Figure, Goal, high, in_turns, middle
from fazm_memory.bench.pair import Pair
from fazm_memory.bench.rows import COMMON, LONG, RARE, START, STEP, UNCOMMON
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.log.rows import EVENT_COLUMNS
from fazm_memory.log.snapshots import SPACING
from fazm_memory.log.tables import event_id
from fazm_memory.recall.searching import search

SLICE, TAIL, LIST, HITS = 100, 20, 30, 10
FLAT = 1.5
ROUNDS = (40, 8)  # usually, and when it must be quick
SEARCH_MS, SEARCH_GROWTH = 50, 10
ROWS = f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id"
NEWEST = "SELECT event FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?"
SESSIONS = (
    "SELECT n, id, agent, title, workspace, lifecycle, opened_at, last_at, head, turn, actions, failures"
    " FROM session WHERE forgotten=0 AND background=0 ORDER BY hour DESC, last_at DESC LIMIT ?"
)
QUERIES = {
    "a rare word": RARE,
    "a word in 1 %": UNCOMMON,
    "a word in 40 %": COMMON,
    "two words": f"{COMMON} {UNCOMMON}",
    "a phrase": f'"Documents 3" {COMMON}',
}


@dataclass(frozen=True)
class Place:
    """Where to read: a session by its number in the store and in the floor, and a range of positions."""

    number: int
    bare_number: int
    id: str
    start: int
    stop: int


@dataclass(frozen=True)
class Reading:
    """Something to read: where, how we do it, and how a bare statement reads the same."""

    what: str
    against: str
    where: Callable[[Pair, random.Random], Place]
    ours: Callable[[Pair, Place], object]
    bare: Callable[[Pair, Place], object]
    searches: bool = False

    def jobs(self, pair: Pair, rounds: int) -> tuple[Callable[[], object], Callable[[], object]]:
        chance = random.Random(11)
        places = [self.where(pair, chance) for _ in range(rounds)]
        ours, bare = cycle(places), cycle(places)
        return lambda: self.ours(pair, next(ours)), lambda: self.bare(pair, next(bare))


def reading_figures(pairs: list[Pair], options: Options, tell: Tell) -> Iterator[Figure]:
    rounds = ROUNDS[options.quick]
    for done, reading in enumerate(READINGS):
        tell("reading", done, len(READINGS))
        jobs = [job for pair in pairs for job in reading.jobs(pair, rounds)]
        taken = in_turns(rounds, jobs, before=lambda: _cool(pairs))
        yield from _figures(reading, pairs, taken[::2], taken[1::2])


def _cool(pairs: list[Pair]) -> None:
    for pair in pairs:
        pair.cool()


def _figures(
    reading: Reading, pairs: list[Pair], ours: list[list[float]], bare: list[list[float]]
) -> Iterator[Figure]:
    least = f"the same in {pairs[0].events:,}"
    for nth, pair in enumerate(pairs):
        took = middle(ours[nth]) * 1e3
        yield Figure(reading.what, "ms", took, middle(bare[nth]) * 1e3, reading.against, pair.events)
        if reading.searches:
            goal = Goal(limit=SEARCH_MS, at_most=SEARCH_GROWTH) if nth else Goal(limit=SEARCH_MS)
            yield Figure(f"{reading.what}, 95th percentile", "ms", high(ours[nth]) * 1e3,
                         high(ours[0]) * 1e3 if nth else None, least if nth else "", pair.events,
                         goal=goal)  # fmt: skip
        elif nth:
            yield Figure(f"{reading.what}, flat", "ms", took, middle(ours[0]) * 1e3, least, pair.events,
                         goal=Goal(at_most=FLAT))  # fmt: skip


def _place(pair: Pair, session: int, start: int, stop: int) -> Place:
    number = pair.numbers[session]
    (id_,) = pair.store.db.execute("SELECT id FROM session WHERE n=?", (number,)).fetchone()
    return Place(number, session + 1, id_, max(0, start), stop)


def _anywhere(pair: Pair, chance: random.Random) -> Place:
    session = chance.choice(sorted(pair.numbers))
    start = chance.randrange(max(1, pair.length(session) - SLICE))
    return _place(pair, session, start, start + SLICE)


def _at_the_end(pair: Pair, chance: random.Random) -> Place:
    session = chance.choice(sorted(pair.numbers))
    head = pair.length(session)
    return _place(pair, session, head - TAIL, head)


def _since_a_snapshot(pair: Pair, chance: random.Random) -> Place:
    """As many events after a snapshot in a small store as in a large one."""
    since = chance.randrange(SPACING)
    # Drawn apart, so that how far does not depend on how much there is.
    snapshot = random.Random(since).randrange(max(1, pair.length(LONG) // SPACING)) * SPACING
    return _place(pair, LONG, snapshot, min(snapshot + since, pair.length(LONG)))


def _nowhere(pair: Pair, chance: random.Random) -> Place:
    return Place(0, 0, "", 0, 0)


def _slice(pair: Pair, place: Place) -> object:
    return list(pair.store.log.slice(place.number, place.id, place.start, place.stop))


def _rows(pair: Pair, place: Place) -> object:
    ids = (event_id(place.bare_number, place.start), event_id(place.bare_number, place.stop))
    return pair.floor.connection.execute(ROWS, ids).fetchall()


def _state(pair: Pair, place: Place) -> object:
    return pair.store.snapshots.state_at(place.number, place.id, place.stop)


def _listing(pair: Pair, place: Place) -> object:
    return pair.store.sessions.listing(limit=LIST)


def _bare_listing(pair: Pair, place: Place) -> object:
    return pair.store.db.execute(SESSIONS, (LIST,)).fetchall()


def _search(what: str, query: str) -> Reading:
    def ours(pair: Pair, place: Place) -> object:
        return pair.store.search.find(query, limit=HITS, now=START + pair.life.made * STEP)

    def bare(pair: Pair, place: Place) -> object:
        return pair.floor.connection.execute(NEWEST, (query, HITS)).fetchall()

    return Reading(f"search, {what}", f"the newest {HITS}, unranked", _nowhere, ours, bare, searches=True)


def _search_there(pair: Pair, place: Place) -> object:
    """As a person would: by the session's name, with filters read from the query."""
    query = f"{COMMON} session:{place.id}"
    return search(pair.store, query, limit=HITS, now=START + pair.life.made * STEP)


def _newest_there(pair: Pair, place: Place) -> object:
    return pair.floor.connection.execute(NEWEST, (COMMON, HITS)).fetchall()


READINGS = (
    Reading(f"slice of {SLICE}", "reading the rows", _anywhere, _slice, _rows),
    Reading(f"last {TAIL}", "reading the rows", _at_the_end, _slice, _rows),
    Reading("state at N", "reading the rows since the snapshot", _since_a_snapshot, _state, _rows),
    Reading(f"list of {LIST} sessions", "a bare select", _nowhere, _listing, _bare_listing),
    *(_search(what, query) for what, query in QUERIES.items()),
    Reading(
        "search, a word in 40 %, in one session",
        f"the newest {HITS} anywhere, unranked",
        _anywhere,
        _search_there,
        _newest_there,
        searches=True,
    ),
)
