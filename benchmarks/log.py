"""Log suite: append, disk, slices, states, lists, search, verification.

All stores are written first and then read in turns, so that "flat" compares a large store with a small one at
the same moment: at most 1.5 times as long. Reads start with an empty page cache, as in a process that has
just started. Each is compared with a bare statement that reads the same rows.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from statistics import median

from benchmarks.events import COMMON, LONG, RARE, START, STEP, UNCOMMON, Batch
from benchmarks.figures import Figure, Goal, Options, Report, in_turns, percentile_95, timed
from benchmarks.peers import peer_figures
from benchmarks.stores import TURN, StorePair
from fazm_memory.recall import search_memory
from fazm_memory.store import EVENT_COLUMNS, INDEX_AFTER, SPACING, event_id, verify_store

BYTES = 2.2  # on disk, per byte of payload
ROUND = INDEX_AFTER // 4  # single appends: few enough that the index is not updated meanwhile
ROUNDS = (9, 1)  # normally, and when quick
NEW_EVENTS = 100  # added before a quick verification
SLICE, TAIL, LIST, HITS = 100, 20, 30, 10
FLAT = 1.5
READ_ROUNDS = (40, 8)
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


def run(options: Options, report: Report) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        pairs: list[StorePair] = []
        try:
            for events in sorted(options.sizes):
                pairs.append(StorePair(Path(name), events))
                yield from _appending(pairs[-1], options, report)
            yield from reading_figures(pairs, options, report)
            for pair in pairs:
                yield from _verifying(pair, report)
        finally:
            for pair in pairs:
                pair.close()


def _appending(pair: StorePair, options: Options, report: Report) -> Iterator[Figure]:
    pair.write(report)
    yield Figure(
        what=f"append, {pair.workload.batch_size} at a time",
        unit="µs an event",
        ours=pair.ours_seconds / pair.events * 1e6,
        baseline=pair.bare_seconds / pair.events * 1e6,
        against="raw inserts, same table, indexes and full text",
        events=pair.events,
        sense="share",
        goal=Goal(at_least=0.5),
    )
    yield from _sizes(pair)
    yield from _singles(pair, ROUNDS[options.quick], report)
    if options.peers:
        yield from peer_figures(pair, ROUND * ROUNDS[options.quick], report)


def _sizes(pair: StorePair) -> Iterator[Figure]:
    pair.settle()
    payload = pair.bare.payload_bytes / pair.events
    yield Figure(
        what="on disk",
        unit="bytes an event",
        ours=pair.store.size() / pair.events,
        baseline=payload,
        against="its payload as JSON",
        events=pair.events,
        goal=Goal(at_most=BYTES),
    )


def _singles(pair: StorePair, rounds: int, report: Report) -> Iterator[Figure]:
    """One event, one durable transaction. Reports the round with the median share.

    An append does not wait for the full-text index, so it is compared with an insert without full text. With
    its share of indexing, which happens later, it is compared with an insert with full text.
    """
    session = pair.newest()
    pair.fill_logs(session)
    taken: list[tuple[float, ...]] = []
    for done in range(rounds):
        report("appending one at a time", done, rounds)
        taken.append(_round(pair, session))
    ours, bare = _median_round([(ours, bare) for ours, _, bare, _ in taken])
    figure = Figure("append, one at a time", "µs an event", ours, events=pair.events, sense="share")
    without = "a raw insert, same table and indexes, no full text"
    yield replace(figure, baseline=bare, against=without, goal=Goal(at_least=0.7))
    what = "append, one at a time, and its share of the index"
    whole, full = _median_round([(ours + later, full) for ours, later, _, full in taken])
    yield replace(figure, what=what, ours=whole, baseline=full, against="a raw insert with its full text")


def _median_round(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    """Microseconds per event, ours and the baseline's, of the median round."""
    ours, baseline = sorted(rounds, key=lambda pair: pair[1] / pair[0])[len(rounds) // 2]
    return ours / ROUND * 1e6, baseline / ROUND * 1e6


def _round(pair: StorePair, session: int) -> tuple[float, ...]:
    """Seconds of one round.

    Our appends, our indexing, and the baseline without and with full text.
    """
    pair.store.index_all()
    ours, bare, full = 0.0, 0.0, 0.0
    for nth in range(ROUND // TURN):
        entries = pair.workload.more(session, TURN)
        rows = [pair.bare.prepare(Batch(session, [entry])) for entry in entries]
        others = [pair.bare.prepare(Batch(session, [entry])) for entry in pair.workload.more(session, TURN)]
        if nth % 2:
            ours += sum(timed(pair.append, Batch(session, [entry])) for entry in entries)
        bare += sum(timed(pair.bare.insert, row, []) for row, _ in rows)
        if not nth % 2:
            ours += sum(timed(pair.append, Batch(session, [entry])) for entry in entries)
        full += sum(timed(pair.bare.insert, row, texts) for row, texts in others)
    return ours, timed(pair.store.index_all), bare, full


def _verifying(pair: StorePair, report: Report) -> Iterator[Figure]:
    pair.cool()
    bare = timed(_read_all, pair)
    pair.cool()
    full = timed(
        lambda: verify_store(pair.store.log, progress=lambda done: report("verifying", done, pair.events))
    )
    yield Figure(
        what="verify everything",
        unit="µs an event",
        ours=full / pair.events * 1e6,
        baseline=bare / pair.events * 1e6,
        against="reading every row",
        events=pair.events,
    )
    taken = []
    for _ in range(3):
        pair.append(Batch(LONG, pair.workload.more(LONG, NEW_EVENTS)))
        pair.cool()
        taken.append(timed(lambda: verify_store(pair.store.log, full=False)))
    yield Figure(
        what=f"verify what is new ({NEW_EVENTS} events)",
        unit="ms",
        ours=median(taken) * 1e3,
        baseline=full * 1e3,
        against="verifying everything",
        events=pair.events,
        goal=Goal(at_most=0.25),
    )


def _read_all(pair: StorePair) -> None:
    for _ in pair.bare.connection.execute(f"SELECT {EVENT_COLUMNS} FROM event ORDER BY id"):
        pass


@dataclass(frozen=True)
class Place:
    """Where to read: a session by its number in each store, and a range of positions."""

    number: int
    bare_number: int
    id: str
    start: int
    stop: int


@dataclass(frozen=True)
class Reading:
    """Something to read: where, our way, and a bare statement that reads the same."""

    what: str
    against: str
    where: Callable[[StorePair, random.Random], Place]
    ours: Callable[[StorePair, Place], object]
    bare: Callable[[StorePair, Place], object]
    searches: bool = False

    def jobs(self, pair: StorePair, rounds: int) -> tuple[Callable[[], object], Callable[[], object]]:
        chance = random.Random(11)
        places = [self.where(pair, chance) for _ in range(rounds)]
        ours, bare = cycle(places), cycle(places)
        return lambda: self.ours(pair, next(ours)), lambda: self.bare(pair, next(bare))


def reading_figures(pairs: list[StorePair], options: Options, report: Report) -> Iterator[Figure]:
    rounds = READ_ROUNDS[options.quick]
    for done, reading in enumerate(READINGS):
        report("reading", done, len(READINGS))
        jobs = [job for pair in pairs for job in reading.jobs(pair, rounds)]
        taken = in_turns(rounds, jobs, before=lambda: _cool(pairs))
        yield from _figures(reading, pairs, taken[::2], taken[1::2])


def _cool(pairs: list[StorePair]) -> None:
    for pair in pairs:
        pair.cool()


def _figures(
    reading: Reading, pairs: list[StorePair], ours: list[list[float]], bare: list[list[float]]
) -> Iterator[Figure]:
    least = f"the same in {pairs[0].events:,}"
    for nth, pair in enumerate(pairs):
        took = median(ours[nth]) * 1e3
        yield Figure(reading.what, "ms", took, median(bare[nth]) * 1e3, reading.against, pair.events)
        if reading.searches:
            goal = Goal(limit=SEARCH_MS, at_most=SEARCH_GROWTH) if nth else Goal(limit=SEARCH_MS)
            yield Figure(f"{reading.what}, 95th percentile", "ms", percentile_95(ours[nth]) * 1e3,
                         percentile_95(ours[0]) * 1e3 if nth else None, least if nth else "", pair.events,
                         goal=goal)  # fmt: skip
        elif nth:
            yield Figure(f"{reading.what}, flat", "ms", took, median(ours[0]) * 1e3, least, pair.events,
                         goal=Goal(at_most=FLAT))  # fmt: skip


def _place(pair: StorePair, session: int, start: int, stop: int) -> Place:
    number = pair.numbers[session]
    (id_,) = pair.store.db.execute("SELECT id FROM session WHERE n=?", (number,)).fetchone()
    return Place(number, session + 1, id_, max(0, start), stop)


def _anywhere(pair: StorePair, chance: random.Random) -> Place:
    session = chance.choice(sorted(pair.numbers))
    start = chance.randrange(max(1, pair.length(session) - SLICE))
    return _place(pair, session, start, start + SLICE)


def _at_the_end(pair: StorePair, chance: random.Random) -> Place:
    session = chance.choice(sorted(pair.numbers))
    head = pair.length(session)
    return _place(pair, session, head - TAIL, head)


def _since_a_snapshot(pair: StorePair, chance: random.Random) -> Place:
    """Equally many events after a snapshot in a small store as in a large one."""
    since = chance.randrange(SPACING)
    # Its own generator, so that the distance does not depend on the size.
    snapshot = random.Random(since).randrange(max(1, pair.length(LONG) // SPACING)) * SPACING
    return _place(pair, LONG, snapshot, min(snapshot + since, pair.length(LONG)))


def _nowhere(pair: StorePair, chance: random.Random) -> Place:
    return Place(0, 0, "", 0, 0)


def _slice(pair: StorePair, place: Place) -> object:
    return list(pair.store.log.slice(place.number, place.id, place.start, place.stop))


def _rows(pair: StorePair, place: Place) -> object:
    ids = (event_id(place.bare_number, place.start), event_id(place.bare_number, place.stop))
    return pair.bare.connection.execute(ROWS, ids).fetchall()


def _state(pair: StorePair, place: Place) -> object:
    return pair.store.snapshots.state_at(place.number, place.id, place.stop)


def _listing(pair: StorePair, place: Place) -> object:
    return pair.store.sessions.listing(limit=LIST)


def _bare_listing(pair: StorePair, place: Place) -> object:
    return pair.store.db.execute(SESSIONS, (LIST,)).fetchall()


def _search(what: str, query: str) -> Reading:
    def ours(pair: StorePair, place: Place) -> object:
        return pair.store.search.find(query, limit=HITS, now=START + pair.workload.count * STEP)

    def bare(pair: StorePair, place: Place) -> object:
        return pair.bare.connection.execute(NEWEST, (query, HITS)).fetchall()

    return Reading(f"search, {what}", f"the newest {HITS}, unranked", _nowhere, ours, bare, searches=True)


def _search_there(pair: StorePair, place: Place) -> object:
    """Search as a person does, with a session filter in the query."""
    query = f"{COMMON} session:{place.id}"
    return search_memory(pair.store, query, limit=HITS, now=START + pair.workload.count * STEP)


def _newest_there(pair: StorePair, place: Place) -> object:
    return pair.bare.connection.execute(NEWEST, (COMMON, HITS)).fetchall()


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
