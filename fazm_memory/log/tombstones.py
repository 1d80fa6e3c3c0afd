"""Tombstones: what `forgotten` events allow to be missing, and what they say is left of some payloads.

A payload that is gone, or is not what its digest says, was taken away or altered unless a tombstone after it
tells of that very position; of what is left it names the digest. Whoever reads one has checked its own digest
and its place in the chain first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import zstandard

from fazm_memory.log.database import Database
from fazm_memory.log.rows import unpack
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.model.events import KINDS, read_payload


@dataclass
class Tombstones:
    """`ranges` are half-open pairs of positions; `left` is the digest of what is left, by position."""

    ranges: list[tuple[int, int]] = field(default_factory=list)
    left: dict[int, str] = field(default_factory=dict)

    def add(self, stored: bytes, seq: int) -> None:
        """Take in the `forgotten` event at a position: it cannot allow what is not yet written to go. One
        that cannot be read allows nothing."""
        try:
            told = read_payload("forgotten", KINDS["forgotten"].version, json.loads(unpack(stored)))
            left = {int(one): str(digest) for one, digest in told.left.items()}
        except (ValueError, TypeError, zstandard.ZstdError):
            return
        self.ranges += [(pair[0], min(pair[1], seq)) for pair in told.ranges if len(pair) == 2]
        self.left |= {one: digest for one, digest in left.items() if one < seq}

    def add_all(self, db: Database, number: int, stop: int = SEQ_MASK) -> None:
        """Those of a session before a position, where all that came before was checked already."""
        rows = db.execute(
            "SELECT payload, id FROM event WHERE id >= ? AND id < ? AND kind='forgotten'"
            " AND payload IS NOT NULL",
            (event_id(number, 0), event_id(number, stop)),
        ).fetchall()
        for stored, id_ in rows:
            self.add(stored, id_ & SEQ_MASK)

    def taken(self, gone: list[int]) -> Iterator[int]:
        """Which of these positions, in order, are in none of the ranges; one pass over both."""
        waiting, reach = sorted(self.ranges, reverse=True), 0
        for seq in gone:
            while waiting and waiting[-1][0] <= seq:
                reach = max(reach, waiting.pop()[1])
            if seq >= reach:
                yield seq
