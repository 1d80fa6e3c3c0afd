"""The log suite: appending, bytes on disk, slices, states, lists, searches and verification, at every size.

All stores are made first and then read in turns, so that "flat" compares a large store with a small one at
the same moment. Reads find an empty page cache, as they do in a process that has just started.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fazm_memory.bench.figures import Figure, Goal, clocked, middle
from fazm_memory.bench.pair import TURN, Pair
from fazm_memory.bench.peers import peer_figures
from fazm_memory.bench.reading import reading_figures
from fazm_memory.bench.rows import LONG, Run
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.log.follow import INDEX_AFTER
from fazm_memory.log.rows import EVENT_COLUMNS
from fazm_memory.log.verify import verify

BYTES = 2.2  # on disk, for each byte of payload
ROUND = INDEX_AFTER // 4  # single appends: few enough that the index waits for its own turn
ROUNDS = (9, 1)  # usually, and when it must be quick
NEWS = 100  # events added before a quick verification


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        pairs: list[Pair] = []
        try:
            for events in sorted(options.sizes):
                pairs.append(Pair(Path(name), events))
                yield from _appending(pairs[-1], options, tell)
            yield from reading_figures(pairs, options, tell)
            for pair in pairs:
                yield from _verifying(pair, tell)
        finally:
            for pair in pairs:
                pair.close()


def _appending(pair: Pair, options: Options, tell: Tell) -> Iterator[Figure]:
    pair.grow(tell)
    yield Figure(
        what=f"append, {pair.life.batch} at a time",
        unit="µs an event",
        ours=pair.ours_seconds / pair.events * 1e6,
        floor=pair.floor_seconds / pair.events * 1e6,
        against="raw inserts, same table, indexes and full text",
        events=pair.events,
        sense="share",
        goal=Goal(at_least=0.5),
    )
    yield from _sizes(pair)
    yield from _singles(pair, ROUNDS[options.quick], tell)
    if options.peers:
        yield from peer_figures(pair, ROUND * ROUNDS[options.quick], tell)


def _sizes(pair: Pair) -> Iterator[Figure]:
    pair.settle()
    payload = pair.floor.payload_bytes / pair.events
    yield Figure(
        what="on disk",
        unit="bytes an event",
        ours=pair.store.size() / pair.events,
        floor=payload,
        against="its payload as JSON",
        events=pair.events,
        goal=Goal(at_most=BYTES),
    )


def _singles(pair: Pair, rounds: int, tell: Tell) -> Iterator[Figure]:
    """One event, one durable transaction; in rounds, of which the one with the middle share is told.

    An append waits for the log and not for the index, so it is held against an insert without full text; and
    with its share of the index, which is taken in later, against an insert with it.
    """
    session = pair.newest()
    pair.fill_logs(session)
    taken: list[tuple[float, ...]] = []
    for done in range(rounds):
        tell("appending one at a time", done, rounds)
        taken.append(_round(pair, session))
    ours, bare = _middle([(ours, bare) for ours, _, bare, _ in taken])
    figure = Figure("append, one at a time", "µs an event", ours, events=pair.events, sense="share")
    without = "a raw insert, same table and indexes, no full text"
    yield replace(figure, floor=bare, against=without, goal=Goal(at_least=0.7))
    what = "append, one at a time, and its share of the index"
    whole, full = _middle([(ours + later, full) for ours, later, _, full in taken])
    yield replace(figure, what=what, ours=whole, floor=full, against="a raw insert with its full text")


def _middle(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    """What we and the floor took for an event, in µs, in the round with the middle share: both from one,
    since the disk of one moment is not that of another. Another figure may be told from another round."""
    ours, floor = sorted(rounds, key=lambda one: one[1] / one[0])[len(rounds) // 2]
    return ours / ROUND * 1e6, floor / ROUND * 1e6


def _round(pair: Pair, session: int) -> tuple[float, ...]:
    """Seconds for a round: our appends, taking them in, the floor without full text and with it."""
    pair.store.index_all()
    ours, bare, full = 0.0, 0.0, 0.0
    for nth in range(ROUND // TURN):
        entries = pair.life.more(session, TURN)
        rows = [pair.floor.prepare(Run(session, [entry])) for entry in entries]
        others = [pair.floor.prepare(Run(session, [entry])) for entry in pair.life.more(session, TURN)]
        if nth % 2:
            ours += sum(clocked(pair.append, Run(session, [entry])) for entry in entries)
        bare += sum(clocked(pair.floor.insert, row, []) for row, _ in rows)
        if not nth % 2:
            ours += sum(clocked(pair.append, Run(session, [entry])) for entry in entries)
        full += sum(clocked(pair.floor.insert, row, texts) for row, texts in others)
    return ours, clocked(pair.store.index_all), bare, full


def _verifying(pair: Pair, tell: Tell) -> Iterator[Figure]:
    pair.cool()
    bare = clocked(_read_all, pair)
    pair.cool()
    full = clocked(lambda: verify(pair.store.log, progress=lambda done: tell("verifying", done, pair.events)))
    yield Figure(
        what="verify everything",
        unit="µs an event",
        ours=full / pair.events * 1e6,
        floor=bare / pair.events * 1e6,
        against="reading every row",
        events=pair.events,
    )
    taken = []
    for _ in range(3):
        pair.append(Run(LONG, pair.life.more(LONG, NEWS)))
        pair.cool()
        taken.append(clocked(lambda: verify(pair.store.log, full=False)))
    yield Figure(
        what=f"verify what is new ({NEWS} events)",
        unit="ms",
        ours=middle(taken) * 1e3,
        floor=full * 1e3,
        against="verifying everything",
        events=pair.events,
        goal=Goal(at_most=0.25),
    )


def _read_all(pair: Pair) -> None:
    for _ in pair.floor.connection.execute(f"SELECT {EVENT_COLUMNS} FROM event ORDER BY id"):
        pass
