"""Ways to tamper with a log, by somebody who has the database open and its key, but not the chain's.

Each returns what a report must name: the session and position of every event that is not as it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from fazm_memory.store.event_log import SEQ_BITS, SEQ_MASK, event_id
from fazm_memory.store.hash_chain import digest_of
from fazm_memory.store.store import Store

Named = set[tuple[str, int | None]]


@dataclass
class Editor:
    """Somebody with a raw connection to the store."""

    store: Store
    random: Random

    def run(self, sql: str, *values: Any) -> list[Any]:
        return list(self.store.db.connection.execute(sql, values).fetchall())

    def pick(self, where: str = "1=1") -> int:
        """The id of some event."""
        ids = [row[0] for row in self.run(f"SELECT id FROM event WHERE {where}")]
        return int(self.random.choice(ids))

    def two(self) -> tuple[int, int]:
        one = self.pick()
        return one, self.pick(f"id <> {one}")

    def session(self) -> tuple[int, str, int]:
        row = self.random.choice(self.run("SELECT n, id, head FROM session"))
        return int(row[0]), str(row[1]), int(row[2])

    def name(self, *ids: int) -> Named:
        names = dict(self.run("SELECT n, id FROM session"))
        return {(names[id_ >> SEQ_BITS], id_ & SEQ_MASK) for id_ in ids}

    def flip(self, value: bytes) -> bytes:
        """One byte made another."""
        edited = bytearray(value)
        edited[self.random.randrange(len(edited))] ^= self.random.randrange(1, 256)
        return bytes(edited)


def edit_bytes(column: str) -> Callable[[Editor], Named]:
    def edit(by: Editor) -> Named:
        id_ = by.pick(f"{column} IS NOT NULL")
        value = by.run(f"SELECT {column} FROM event WHERE id=?", id_)[0][0]
        by.run(f"UPDATE event SET {column}=? WHERE id=?", by.flip(value), id_)
        return by.name(id_)

    return edit


def edit_payload_and_digest(by: Editor) -> Named:
    id_ = by.pick("payload IS NOT NULL")
    lie = by.flip(by.run("SELECT payload FROM event WHERE id=?", id_)[0][0])
    by.run("UPDATE event SET payload=?, digest=? WHERE id=?", lie, digest_of(lie), id_)
    return by.name(id_)


def edit_envelope(by: Editor) -> Named:
    others: dict[str, list[Any]] = {
        "at": [0, 1, -5], "turn": [77], "kind": ["prompt", "forgotten", "dream"], "version": [0, 2],
        "actor": ["person", ""], "source": ["cli", "menubar"], "trust": ["user", "web"],
        "key": ["", f"forged {by.random.random()}"],
    }  # fmt: skip
    column = by.random.choice(list(others))
    value = by.random.choice(others[column])
    id_ = by.pick(f"{column} IS NOT '{value}'")
    by.run(f"UPDATE event SET {column}=? WHERE id=?", value, id_)
    return by.name(id_)


def take_payload(by: Editor) -> Named:
    id_ = by.pick("payload IS NOT NULL")
    by.run("UPDATE event SET payload=NULL WHERE id=?", id_)
    return by.name(id_)


def delete(by: Editor) -> Named:
    id_ = by.pick()
    named = by.name(id_)
    by.run("DELETE FROM event WHERE id=?", id_)
    return named


def swap_contents(by: Editor) -> Named:
    one, other = by.two()
    rows = {id_: by.run("SELECT payload, digest FROM event WHERE id=?", id_)[0] for id_ in (one, other)}
    if rows[one][1] == rows[other][1]:  # two events that say the same: nothing would change
        return edit_payload_and_digest(by)
    by.run("UPDATE event SET payload=?, digest=? WHERE id=?", *rows[other], one)
    by.run("UPDATE event SET payload=?, digest=? WHERE id=?", *rows[one], other)
    return by.name(one, other)


def swap_positions(by: Editor) -> Named:
    one, other = by.two()
    for now, before in ((-1, one), (one, other), (other, -1)):
        by.run("UPDATE event SET id=? WHERE id=?", now, before)
    return by.name(one, other)


def _cut(by: Editor) -> tuple[int, int, Named]:
    number, session, head = by.session()
    left = by.random.randrange(head)
    by.run("DELETE FROM event WHERE id >= ? AND id < ?", event_id(number, left), event_id(number + 1, 0))
    return number, left, {(session, left)}


def cut_tail(by: Editor) -> Named:
    return _cut(by)[2]


def cut_tail_and_mend_the_row(by: Editor) -> Named:
    number, left, named = _cut(by)
    last = by.run("SELECT mac FROM event WHERE id=?", event_id(number, left - 1))
    by.run("UPDATE session SET head=? WHERE n=?", left, number)
    if last:
        by.run("UPDATE session SET mac=? WHERE n=?", last[0][0], number)
    return named


def delete_session(by: Editor) -> Named:
    number, _, _ = by.session()
    by.run("DELETE FROM event WHERE id >= ? AND id < ?", event_id(number, 0), event_id(number + 1, 0))
    by.run("DELETE FROM session WHERE n=?", number)
    return {(f"#{number}", None)}


def delete_session_row(by: Editor) -> Named:
    number, _, _ = by.session()
    by.run("DELETE FROM session WHERE n=?", number)
    return {(f"#{number}", 0)}


def forge_an_event(by: Editor) -> Named:
    """A new last event, the row made to fit: all but the mark, which needs the key."""
    number, session, head = by.session()
    columns = "at, turn, kind, version, actor, source, trust, NULL, payload, digest"
    by.run(f"INSERT INTO event SELECT ?, {columns}, ?, tally FROM event WHERE id=?",
           event_id(number, head), by.random.randbytes(32), event_id(number, head - 1))  # fmt: skip
    by.run("UPDATE session SET head=?, mac=(SELECT mac FROM event WHERE id=?) WHERE n=?",
           head + 1, event_id(number, head), number)  # fmt: skip
    return {(session, head)}


def edit_row(by: Editor) -> Named:
    number, session, head = by.session()
    if by.random.random() < 0.5:
        by.run("UPDATE session SET mac=? WHERE n=?", by.random.randbytes(32), number)
        return {(session, head - 1)}
    other = by.random.choice([head + 1, head - 1, 0])
    by.run("UPDATE session SET head=? WHERE n=?", other, number)
    return {(session, min(head, other))}


EDITS: dict[str, Callable[[Editor], Named]] = {
    "a byte of a payload": edit_bytes("payload"),
    "a byte of a digest": edit_bytes("digest"),
    "a byte of a mark": edit_bytes("mac"),
    "a payload and its digest": edit_payload_and_digest,
    "the envelope": edit_envelope,
    "a payload taken": take_payload,
    "an event deleted": delete,
    "contents swapped": swap_contents,
    "positions swapped": swap_positions,
    "the tail cut": cut_tail,
    "the tail cut, the row mended": cut_tail_and_mend_the_row,
    "a session deleted": delete_session,
    "a session's row deleted": delete_session_row,
    "an event forged": forge_an_event,
    "a session's row edited": edit_row,
}
