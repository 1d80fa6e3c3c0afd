"""A writer to be killed: appends to a store and acknowledges, line by line, what is durable.

An acknowledgement is `session seq text`, written only after the transaction is over; the text of an event
that was forgotten is FORGOTTEN. Run as a program it writes into a file, so that the power-cut harness sees
acknowledgements and syncs in one order.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from fazm_memory.events.event import Action, FileTouch, Message, SessionOpen
from fazm_memory.store.forget import forget_events
from fazm_memory.store.hash_chain import SlotFile
from fazm_memory.store.store import Store
from tests.scribe import T0, entry

Acknowledge = Callable[[str], None]
FORGOTTEN = "FORGOTTEN"


class ReportedSlots(SlotFile):
    """A store into mapped memory passes no call that the power-cut harness could note: each is told again, at
    once and with the same bytes, by one that does."""

    def write(self, number: int, slot: bytes, over: bytes | None = None) -> None:
        super().write(number, slot, over)
        os.pwrite(self.open(), slot, number * self.size)


def append(store: Store, number: int, texts: list[str]) -> Iterator[str]:
    """Append these in one transaction; then, one by one, the acknowledgements of what is durable."""
    with store.writing() as writer:
        head = writer.head(number)
        results = [(writer.append(head, entry(Message(text), at=T0 + head.head)), text) for text in texts]
    yield from (f"{one.session} {one.seq} {text}" for one, text in results)


def new_session(store: Store, name: str) -> tuple[int, str]:
    """A session with an opening and a larger event: compression and the index have something to do."""
    action = Action("Write", input={"text": f"{name} " * 400}, files=(FileTouch(f"/w/{name}", "created"),))
    with store.writing() as writer:
        head = writer.create("campaign", T0)
        writer.append(head, entry(SessionOpen("campaign", workspace="/w")))
        writer.append(head, entry(action))
    return head.n, f"{head.id} 1 {name}"


def write(
    store: Store,
    shared: int | None,
    name: str,
    acknowledge: Acknowledge,
    events: int,
    *,
    forgetting: bool = False,
) -> None:
    """Sessions of its own and one it shares with others; single appends and batches, by turns."""
    random = Random(name)
    number, opened = new_session(store, name)
    acknowledge(opened)
    for n in range(events):
        if n % 40 == 39:
            number, opened = new_session(store, f"{name}.{n}")
            acknowledge(opened)
        target = number if shared is None or random.random() < 0.6 else shared
        texts = [f"{name}:{n}:{m}" for m in range(random.choice([1, 1, 1, 5]))]
        for result in append(store, target, texts):
            acknowledge(result)
        if forgetting and n % 15 == 14:
            forget_events(store, {number: [1]}, reason="asked", at=T0, source="cli")
            acknowledge(f"{opened.split()[0]} 1 {FORGOTTEN}")


def main(
    home: str, acks: str, name: str, events: str, synchronous: str, checkpoint: str, forgetting: str = ""
) -> None:
    out = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store = Store(Path(home), key="file")
    store.heads.slots = ReportedSlots(store.heads.path, store.heads.slots.size)
    store.db.execute(f"PRAGMA synchronous={synchronous}")
    store.db.execute(f"PRAGMA wal_autocheckpoint={checkpoint}")

    def acknowledge(result: str) -> None:
        os.write(out, f"{result}\n".encode())

    write(store, None, name, acknowledge, int(events), forgetting=bool(forgetting))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
