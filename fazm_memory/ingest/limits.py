"""Limits of recording: the pause switch, and quotas that keep the disk free.

One session and one day may record only so much. Above a limit, details are recorded without their long
texts: inputs and outputs of calls, messages of agents and listings. Above twice the limit they are refused.
What the user said is always recorded whole. Decisions, facts, plans and questions of agents are cut above
twice the limit and refused above four times. A day is that of the events, so importing the past is not
limited.

While recording is paused nothing is recorded. The pause is a small file that every source checks, without
the database. The gap itself is recorded when the pause ends.

This is not a part of `recorder`, because `status` reads the limits and must not load redaction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fazm_memory.clock import iso, parse_time
from fazm_memory.errors import ConfigError, InvalidInput
from fazm_memory.events import DAY, GROUPS, TRANSIENT, Draft, codec, payload_class
from fazm_memory.paths import PAUSE_FILE, write_private
from fazm_memory.records import dataclass
from fazm_memory.store import Database, Writer

# Pauses are recorded in a background session of our own.
COMPANION_SESSION = "companion"
COMPANION_AGENT = "fazm-memory"


def companion_opening() -> Draft:
    """The opening of that session.

    It comes before each event there; repeating it changes nothing.
    """
    payload = {"agent": COMPANION_AGENT, "title": "The companion's own log", "background": True}
    return Draft(COMPANION_SESSION, "session.open", payload, agent=COMPANION_AGENT, source="companion")


@dataclass(frozen=True)
class Pause:
    """A pause from `since` until a time, or until it is ended."""

    since: int
    until: int | None = None

    def over(self, now: int) -> bool:
        return self.until is not None and now >= self.until

    def to_json(self) -> dict[str, str | None]:
        return {"since": iso(self.since), "until": None if self.until is None else iso(self.until)}


def pause_gap(pause: Pause, until: int) -> list[Draft]:
    """The drafts that record a pause, when it ends."""
    payload = {"what": "paused", "since": iso(pause.since), "until": iso(until)}
    key = f"gap:paused:{pause.since}"
    return [
        companion_opening(),
        Draft(COMPANION_SESSION, "gap", payload, agent=COMPANION_AGENT, source="companion", key=key),
    ]


def read_pause(home: Path) -> Pause | None:
    """The stored pause, which may be over, or None."""
    try:
        raw = json.loads((home / PAUSE_FILE).read_text(encoding="utf-8"))
        return Pause(parse_time(raw["since"]), None if raw["until"] is None else parse_time(raw["until"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        # An unreadable file still means that somebody paused, so nothing is recorded.
        raise ConfigError(
            f"{home / PAUSE_FILE} cannot be read ({error}). Nothing is recorded.",
            hint="`fazm-memory recording resume` repairs it",
        ) from None


def write_pause(home: Path, pause: Pause) -> None:
    write_private(home / PAUSE_FILE, json.dumps(pause.to_json()).encode())


def clear_pause(home: Path) -> None:
    (home / PAUSE_FILE).unlink(missing_ok=True)


DETAILS = TRANSIENT - set(GROUPS["prompts"])
# What agents say besides details.
STATEMENTS = frozenset({"prompt", "decision", "fact", "pending", "plan", "todos", "artifact", "handoff"})
SAVE_AFTER = 16 << 10  # bytes of a session and day that may not be saved yet
ALL = 0  # in place of a session's number: all sessions
LONGEST = 200  # characters of a text above the limit
MOST = 20  # entries of a list above the limit
CUT = " [cut: the recording limit is reached]"
UPSERT = (
    "INSERT INTO usage VALUES (?,?,?,?) ON CONFLICT (session, day)"
    " DO UPDATE SET bytes=bytes+excluded.bytes, cut=cut+excluded.cut"
)


@dataclass(frozen=True)
class QuotaLimits:
    """Bytes of payloads; 0 is no limit."""

    session: int = 0
    day: int = 0


class Quota:
    """Counts what is recorded, and cuts details above the limits.

    Used within transactions.
    """

    def __init__(self, db: Database, limits: QuotaLimits) -> None:
        self.db, self.limits = db, limits
        self._unsaved: dict[tuple[int, int], list[int]] = {}  # session and day: bytes and events cut
        # What was recorded before this transaction: on a day by all sessions, or by a whole session.
        self._before: dict[tuple[int, int | None], int] = {}
        self._writer: Writer | None = None

    def limited(self, writer: Writer, number: int, kind: str, at: int, payload: Any, trust: str) -> Any:
        """The payload, cut if a limit is reached. Raises InvalidInput at twice the limit.

        Statements of agents have twice as much. Those of the user have no limit.
        """
        is_detail = kind in DETAILS
        if not is_detail and (kind not in STATEMENTS or trust == "user"):
            return payload
        used = self._share(writer, number, at) / (1 if is_detail else 2)
        if used < 1:
            return payload
        if used >= 2:
            raise InvalidInput(
                "This session or day has recorded more than twice its limit. The detail was not recorded."
                if is_detail
                else "This session or day has recorded more than four times its limit."
                " The statement was not recorded.",
                hint="quota_session_megabytes and quota_day_megabytes in config.toml set the limits",
            )
        self._count(number, at // DAY, 0, 1)
        return codec.decode(payload_class(kind), _cut(codec.encode(payload)))

    def _share(self, writer: Writer, number: int, at: int) -> float:
        """How much of the nearer limit is used: 1 is all of it."""
        if writer is not self._writer:
            self._writer, self._before = writer, {}
        fresh, used = writer.sizes.get(number, 0), 0.0
        if self.limits.session:
            used = (self._recorded(number, None) + fresh) / self.limits.session
        if self.limits.day:
            used = max(used, (self._recorded(ALL, at // DAY) + fresh) / self.limits.day)
        return used

    def _recorded(self, number: int, day: int | None) -> int:
        """Bytes of a session before this transaction, on one day or on all. Read once."""
        known = self._before.get((number, day))
        if known is None:
            query = "SELECT coalesce(sum(bytes), 0) FROM usage WHERE session=?"
            (known,) = self.db.execute(f"{query} AND day=?" if day is not None else query,
                                       (number,) if day is None else (number, day)).fetchone()  # fmt: skip
            known += sum(
                counts[0]
                for (owner, its_day), counts in self._unsaved.items()
                if owner == number and day in (None, its_day)
            )
            self._before[number, day] = known
        return known

    def add(self, writer: Writer, at: int) -> None:
        """Count what a transaction wrote, at the end of it."""
        for number, size in writer.sizes.items():
            self._count(number, at // DAY, size, 0)
        if max((counts[0] for counts in self._unsaved.values()), default=0) >= SAVE_AFTER:
            rows = [(session, day, *counts) for (session, day), counts in self._unsaved.items()]
            self.db.executemany(UPSERT, rows)
            self._unsaved.clear()
        self._writer = None

    def _count(self, number: int, day: int, size: int, cut: int) -> None:
        for session in (number, ALL):
            counts = self._unsaved.setdefault((session, day), [0, 0])
            counts[0] += size
            counts[1] += cut


def read_usage(db: Database, limits: QuotaLimits, now: int) -> dict[str, Any]:
    """How much of the limits is used: today, and by the sessions that are near theirs."""
    row = db.execute("SELECT bytes, cut FROM usage WHERE session=? AND day=?", (ALL, now // DAY)).fetchone()
    used, cut = (0, 0) if row is None else row
    rows = db.execute(
        "SELECT s.id, sum(u.bytes), sum(u.cut) FROM usage u JOIN session s ON s.n = u.session"
        " GROUP BY u.session HAVING sum(u.bytes) >= ? ORDER BY 2 DESC LIMIT 10",
        (limits.session * 0.8 if limits.session else 1 << 62,),
    ).fetchall()
    return {
        "day": {"bytes": used, "limit": limits.day, "cut": cut},
        "sessions": [
            {"session": id_, "bytes": size, "limit": limits.session, "cut": gone} for id_, size, gone in rows
        ],
    }


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + CUT
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in list(value.items())[:MOST]}
    return [_cut(item) for item in value[:MOST]] if isinstance(value, (list, tuple)) else value
