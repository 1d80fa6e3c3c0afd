"""Other session stores beside ours, where they are installed: appending one at a time, reading the last ones.

They are no dependency of ours: the extra `peers` brings them, and one that is missing is named. Each is used
as its own documentation does, with a payload of the same size. Both are read with their page caches full; a
peer holds only what was appended beside it.
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
from typing import Any, NamedTuple

from fazm_memory.bench.figures import Figure, Goal, clocked, in_turns, middle
from fazm_memory.bench.pair import TURN, Pair
from fazm_memory.bench.rows import Run
from fazm_memory.bench.suites import Tell
from fazm_memory.log.store import Store
from fazm_memory.model import codec
from fazm_memory.model.events import Event

LAST = 20  # events that are read back
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
    """A checkpoint for each event, with the latest events as its state: one of them, or up to so many. The
    last ones are then those of the last checkpoints, or those in the last one."""
    saver_class = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    empty = import_module("langgraph.checkpoint.base").empty_checkpoint
    saver = cleanup.enter_context(saver_class.from_conn_string(str(folder / f"langgraph-{messages}.db")))
    config = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
    told: list[dict[str, Any]] = []

    def append(payload: dict[str, Any]) -> None:
        if len(told) == messages:
            told.clear()
        told.append(payload)
        state = empty() | {"channel_values": {"messages": told}}
        saver.put(config, state, {"source": "loop", "step": 1}, {})

    def last() -> Sequence[object]:
        if messages == 1:
            return list(saver.list(config, limit=LAST))
        return list(saver.get_tuple(config).checkpoint["channel_values"]["messages"][-LAST:])

    return Peer(append, last)


# the module that must be there, the name, how it is opened
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
    """The peers that cannot be measured here."""
    return [name for module, name, _ in PEERS if not _installed(module)]


def peer_figures(pair: Pair, count: int, tell: Tell) -> Iterator[Figure]:
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
                tell(f"beside {name}", nth * TURN, count)
                entries = pair.life.more(session, TURN)
                payloads = [codec.encode(entry.payload) for entry in entries]
                if nth % 2:
                    ours += sum(clocked(pair.append, Run(session, [entry])) for entry in entries)
                theirs += sum(clocked(peer.append, payload) for payload in payloads)
                if not nth % 2:
                    ours += sum(clocked(pair.append, Run(session, [entry])) for entry in entries)
            readers: list[Callable[[], Sequence[object]]] = [partial(_last, pair.store, id_), peer.last]
            read = [
                middle(taken) / len(last()) * 1e6
                for taken, last in zip(in_turns(READS, readers), readers, strict=True)
            ]
        figure = Figure("", "µs an event", 0, against=name, events=pair.events, sense="share", goal=Goal(1.0))
        appended = [seconds / count * 1e6 for seconds in (ours, theirs)]
        yield replace(figure, what="append, one at a time", ours=appended[0], floor=appended[1])
        yield replace(figure, what=f"read the last {LAST}", ours=read[0], floor=read[1])


def _last(store: Store, session: str) -> list[Event]:
    row = store.sessions.resolve(session)
    return list(store.log.slice(row.n, row.id, row.head - LAST))


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of it is missing
        return False
