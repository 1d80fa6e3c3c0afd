"""Other session stores beside ours, one durable append at a time, where they are installed.

They are no dependency of ours: the extra `peers` brings them, and one that is missing is named. Each is used
as its own documentation does, with a payload of the same size.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fazm_memory.bench.figures import Figure, Goal, clocked
from fazm_memory.bench.pair import Pair
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


def langgraph(folder: Path, cleanup: ExitStack) -> Append:
    saver_class = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    empty = import_module("langgraph.checkpoint.base").empty_checkpoint
    saver = cleanup.enter_context(saver_class.from_conn_string(str(folder / "langgraph.db")))
    config = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}

    def append(payload: dict[str, Any]) -> None:
        saver.put(config, empty() | {"channel_values": {"last": payload}}, {"source": "loop", "step": 1}, {})

    return append


# the module that must be there, the name, how an append is made
PEERS: tuple[tuple[str, str, Callable[[Path, ExitStack], Append]], ...] = (
    ("agents.memory", "openai-agents SQLiteSession", openai_agents),
    ("langgraph.checkpoint.sqlite", "LangGraph SqliteSaver.put", langgraph),
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
            for done, entry in enumerate(pair.life.more(session, count)):
                payload = codec.encode(entry.payload)
                theirs += clocked(append, payload)
                ours += clocked(pair.append, Run(session, [entry]))
                tell(f"beside {name}", done, count)
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
