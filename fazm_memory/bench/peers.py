"""Other session stores beside ours, one durable append at a time, where they are installed.

They are no dependency of ours: the extra `peers` brings them, and one that is missing is named. Each is used
as its own documentation does, with a payload of the same size.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fazm_memory.bench.figures import Figure, Goal, clocked
from fazm_memory.bench.pair import TURN, Pair
from fazm_memory.bench.rows import Run
from fazm_memory.bench.suites import Tell
from fazm_memory.model import codec

Append = Callable[[dict[str, Any]], object]


def openai_agents(folder: Path, cleanup: ExitStack) -> Append:
    session = import_module("agents").SQLiteSession("bench", folder / "openai.db")
    cleanup.callback(session.close)
    loop = asyncio.new_event_loop()
    cleanup.callback(loop.close)
    return lambda payload: loop.run_until_complete(
        session.add_items([{"role": "assistant", "content": json.dumps(payload)}])
    )


def langgraph(folder: Path, cleanup: ExitStack, messages: int = 1) -> Append:
    """A checkpoint for each event, with the latest events as its state: one of them, or up to so many."""
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

    return append


# the module that must be there, the name, how an append is made
PEERS: tuple[tuple[str, str, Callable[[Path, ExitStack], Append]], ...] = (
    ("agents.memory", "openai-agents SQLiteSession", openai_agents),
    ("langgraph.checkpoint.sqlite", "LangGraph SqliteSaver.put, the last message", langgraph),
    (
        "langgraph.checkpoint.sqlite",
        "LangGraph SqliteSaver.put, up to 100 messages",
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
            append = make(pair.folder, cleanup)
            ours = theirs = 0.0
            session = pair.newest()
            for nth in range(count // TURN):
                tell(f"beside {name}", nth * TURN, count)
                entries = pair.life.more(session, TURN)
                payloads = [codec.encode(entry.payload) for entry in entries]
                if nth % 2:
                    ours += sum(clocked(pair.append, Run(session, [entry])) for entry in entries)
                theirs += sum(clocked(append, payload) for payload in payloads)
                if not nth % 2:
                    ours += sum(clocked(pair.append, Run(session, [entry])) for entry in entries)
        yield Figure(
            what="append, one at a time",
            unit="µs an event",
            ours=ours / count * 1e6,
            floor=theirs / count * 1e6,
            against=name,
            events=pair.events,
            sense="share",
            goal=Goal(at_least=1.0),
        )


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of it is missing
        return False
