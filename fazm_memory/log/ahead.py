"""Times ahead of the clock: an event keeps the one it was told with, but no session stands by it.

A clock that was wrong, or an agent that tells of the year 2999, would else make its session the latest for
ever. Such an event counts as of when it was heard of; a clock that goes back is believed when the session
next tells something.
"""

from __future__ import annotations

from fazm_memory.log.entries import SessionHead
from fazm_memory.log.tables import HOUR, event_id
from fazm_memory.log.writer import Writer

AHEAD = 24 * HOUR  # another machine's clock, or a time told without its offset, is no more than this


def heard(at: int, now: int) -> int:
    """The time itself or, when it is ahead of the clock, the moment it was heard of."""
    return at if at <= now + AHEAD else now


def stand(writer: Writer, head: SessionHead, before: int, at: int, now: int) -> None:
    """Where a session stands after an event of this time, that stood at another before."""
    head.last_at = heard(at, now) if before > now + AHEAD else max(before, heard(at, now))
    writer.behind.add(head.n)


def settle(writer: Writer, head: SessionHead, now: int) -> None:
    """The same for a session that came with all its events: it stands by the latest that is not ahead."""
    if head.last_at <= now + AHEAD:
        return
    (last,) = writer.db.execute(
        "SELECT max(at) FROM event WHERE id >= ? AND id < ? AND at <= ?",
        (event_id(head.n, 0), event_id(head.n + 1, 0), now + AHEAD),
    ).fetchone()
    head.last_at = now if last is None else last
    writer.behind.add(head.n)
