"""Failed calls that nothing has mended yet: how a retry finds the call it repeats.

A call is remembered by its input and, where it has one, by its tool and target: `git push` again, or another
edit of the same file. What mends it takes it off the list, in the transaction that records the mending.
"""

from __future__ import annotations

from fazm_memory.log.database import Database
from fazm_memory.model.events import input_hash, target_of
from fazm_memory.model.payloads import FAILED, Action

INSERT = "INSERT OR REPLACE INTO failed_call VALUES (?,?,?)"
DELETE = "DELETE FROM failed_call WHERE session=? AND (seq=? OR hash=?)"
SELECT = "SELECT seq FROM failed_call WHERE session=? AND hash=?"


def target_key(action: Action | None) -> str:
    """What a call was about, by its tool and target; nothing when it has no target."""
    target = "" if action is None else target_of(action.input)
    return f"target:{input_hash(action.tool, target)}" if action is not None and target else ""


def failed_before(db: Database, number: int, hashed: str, action: Action) -> int | None:
    """The position of the last failed call that nothing has mended yet: with this input or, else, of the
    same tool on the same target."""
    for key in filter(None, (hashed, target_key(action))):
        row = db.execute(SELECT, (number, key)).fetchone()
        if row is not None:
            return int(row[0])
    return None


def remember(db: Database, number: int, action: Action, seq: int) -> None:
    """Note a call that failed, or take off the list what a call that did not was a retry of."""
    if action.input_hash is None:
        return
    if action.outcome not in FAILED:
        db.execute(DELETE, (number, action.retry_of, target_key(action)))
        return
    for key in filter(None, (action.input_hash, target_key(action))):
        db.execute(INSERT, (number, key, seq))
