"""What several sources tell at once, in the order in which it happened.

A session is told by its transcript, by those of its subagents and by hooks. Each keeps its own order; they
are merged by time, as far as no source can still tell something earlier. A chunk of each is in memory.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from fazm_memory.capture.draft import Draft


@dataclass
class Stream:
    """One source: the drafts it has told that wait for their turn. `ended` when it has no more for now."""

    ended: bool = False
    waiting: deque[tuple[int, Draft]] = field(default_factory=deque)
    last: int = 0

    def add(self, drafts: Iterable[Draft]) -> None:
        for draft in drafts:
            # A source's own order is never changed: a draft is no earlier than the one before it.
            self.last = max(self.last, draft.at or 0)
            self.waiting.append((self.last, draft))


Told = tuple[Stream, Draft]


def ripe(streams: Sequence[Stream]) -> list[Told]:
    """Take from the streams all that nothing unread can precede, in the order of happening.

    Of the streams that have not ended at least one is emptied, so that reading on always gets somewhere.
    """
    limits = [stream.last for stream in streams if not stream.ended]
    until = min(limits) if limits else None
    taken = (
        [(at, number, stream, draft) for at, draft in _until(stream, until)]
        for number, stream in enumerate(streams)
    )
    merged = heapq.merge(*taken, key=itemgetter(0, 1))
    return [(stream, draft) for _, _, stream, draft in merged]


def _until(stream: Stream, limit: int | None) -> list[tuple[int, Draft]]:
    taken = []
    while stream.waiting and (limit is None or stream.waiting[0][0] <= limit):
        taken.append(stream.waiting.popleft())
    return taken
