"""Other session stores beside ours: single appends, reading the last events.

The dev extra installs them. Each is used as its documentation shows, with payloads of the same size. Both are
read with full page caches. A peer contains only what was appended during the comparison.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.events import Batch
from benchmarks.figures import Figure, Goal, Report, in_turns, timed
from benchmarks.stores import TURN, StorePair
from fazm_memory.events import Event, codec
from fazm_memory.store import Store

LAST = 20  # events to read back
READS = 100


class Peer(NamedTuple):
    append: Callable[[dict[str, Any]], object]
    last: Callable[[], Sequence[object]]


def openai_agents(folder: Path, cleanup: ExitStack) -> Peer:
    session = import_module("agents").SQLiteSession("bench", folder / "openai.db")
    cleanup.callback(session.close)
    loop = asyncio.new_event_loop()
    cleanup.callback(loop.close)
    return Peer(
        lambda payload: loop.run_until_complete(
            session.add_items([{"role": "assistant", "content": json.dumps(payload)}])
        ),
        lambda: loop.run_until_complete(session.get_items(LAST)),
    )


def langgraph(folder: Path, cleanup: ExitStack, messages: int = 1) -> Peer:
    """One checkpoint per event.

    Its state has the latest event, or up to `messages` events.

    With one message, the last events are read from the last checkpoints; otherwise from the last one.
    """
    saver_class = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    empty = import_module("langgraph.checkpoint.base").empty_checkpoint
    saver = cleanup.enter_context(saver_class.from_conn_string(str(folder / f"langgraph-{messages}.db")))
    config = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
    state: list[dict[str, Any]] = []

    def append(payload: dict[str, Any]) -> None:
        if len(state) == messages:
            state.clear()
        state.append(payload)
        checkpoint = empty() | {"channel_values": {"messages": state}}
        saver.put(config, checkpoint, {"source": "loop", "step": 1}, {})

    def last() -> Sequence[object]:
        if messages == 1:
            return list(saver.list(config, limit=LAST))
        return list(saver.get_tuple(config).checkpoint["channel_values"]["messages"][-LAST:])

    return Peer(append, last)


# required module, name, how it is opened
PEERS: tuple[tuple[str, str, Callable[[Path, ExitStack], Peer]], ...] = (
    ("agents.memory", "openai-agents SQLiteSession", openai_agents),
    ("langgraph.checkpoint.sqlite", "LangGraph SqliteSaver, the last message", langgraph),
    (
        "langgraph.checkpoint.sqlite",
        "LangGraph SqliteSaver, up to 100 messages",
        partial(langgraph, messages=100),
    ),
)


def missing() -> list[str]:
    """Names of the peers that are not installed."""
    return [name for module, name, _ in PEERS if not _installed(module)]


def peer_figures(pair: StorePair, count: int, report: Report) -> Iterator[Figure]:
    for module, name, make in PEERS:
        if not _installed(module):
            continue
        with ExitStack() as cleanup:
            peer = make(pair.folder, cleanup)
            ours = theirs = 0.0
            session = pair.newest()
            (id_,) = pair.store.db.execute(
                "SELECT id FROM session WHERE n=?", (pair.numbers[session],)
            ).fetchone()
            for nth in range(count // TURN):
                report(f"beside {name}", nth * TURN, count)
                entries = pair.workload.more(session, TURN)
                payloads = [codec.encode(entry.payload) for entry in entries]
                if nth % 2:
                    ours += sum(timed(pair.append, Batch(session, [entry])) for entry in entries)
                theirs += sum(timed(peer.append, payload) for payload in payloads)
                if not nth % 2:
                    ours += sum(timed(pair.append, Batch(session, [entry])) for entry in entries)
            readers: list[Callable[[], Sequence[object]]] = [partial(_last, pair.store, id_), peer.last]
            read = [
                median(taken) / len(last()) * 1e6
                for taken, last in zip(in_turns(READS, readers), readers, strict=True)
            ]
        figure = Figure("", "µs an event", 0, against=name, events=pair.events, sense="share", goal=Goal(1.0))
        appended = [seconds / count * 1e6 for seconds in (ours, theirs)]
        yield replace(figure, what="append, one at a time", ours=appended[0], baseline=appended[1])
        yield replace(figure, what=f"read the last {LAST}", ours=read[0], baseline=read[1])


def _last(store: Store, session: str) -> list[Event]:
    row = store.sessions.resolve(session)
    return list(store.log.slice(row.n, row.id, row.head - LAST))


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of it is missing
        return False
