"""Who the sessions of a damaged store are: by their rows or, where these are lost, by what else knows them.

The ids are in an index too, and forks name their parents; the chain proves an id, since what the first event
of a session follows is made of it.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fazm_memory.errors import FazmMemoryError
from fazm_memory.log import chain
from fazm_memory.log.rows import to_event
from fazm_memory.log.salvage import Wreck
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.model.payloads import SessionOpen

COLUMNS = "n, id, agent, agent_session_id, opened_at"


@dataclass(frozen=True)
class Identity:
    """What a session's row says that no event does. Its `id` may be unknown."""

    id: str | None
    agent: str = "unknown"
    own: str | None = None
    opened: int = 0


def by_rows(wreck: Wreck) -> dict[int, Identity]:
    """The sessions whose rows are whole, by number."""
    return {row[0]: Identity(*row[1:]) for row in wreck.rows("session", COLUMNS)}


def by_proof(
    wreck: Wreck, chain_key: bytes, numbers: Iterable[int], known: dict[int, Identity], now: int
) -> dict[int, Identity]:
    """The sessions of these numbers whose rows are lost, as far as anything tells of them."""
    found = {number: next(wreck.events(event_id(number, 0), event_id(number, 1)), None) for number in numbers}
    lost = [number for number in found if number not in known]
    if not lost:
        return {}
    firsts = {n: row for n, row in found.items() if row and all(isinstance(one, bytes) for one in row[9:])}
    openings = {number: opening for number, row in firsts.items() if (opening := _opening(row)) is not None}
    indexed = {number: name for name, number in wreck.raw.rows("session_id", "id, n")}
    parents = sorted({opening.parent for opening in openings.values() if opening.parent is not None})
    ids = {one.id for one in known.values()}
    taken = {(one.own, one.agent) for one in known.values()}
    agents = {n: (own, agent) for own, agent, n in wreck.raw.rows("session_agent", "own, agent, n")}
    made = {}
    for number in lost:
        first, opening = firsts.get(number), openings.get(number)
        proved = (
            name
            for name in (indexed.get(number), *parents)
            if first is not None and name is not None and name not in ids
            if linked(chain_key, chain.genesis(chain_key, name), name, first)
        )
        own, agent = agents.get(number, (None, "unknown" if opening is None else opening.agent))
        own = None if (own, agent) in taken else own
        made[number] = Identity(next(proved, None), agent, own, now if first is None else first[1])
    return made


def linked(chain_key: bytes, prev: bytes, session: str, row: tuple[Any, ...]) -> bool:
    """Whether an event follows the one whose mark is `prev`."""
    id_, at, turn, kind, version, actor, source, trust, key, _stored, digest, mac = row
    made = chain.link(chain_key, prev, bytes(digest), session, id_ & SEQ_MASK, at, turn, kind, version, actor,
                      source, trust, key)  # fmt: skip
    return hmac.compare_digest(made, bytes(mac))


def _opening(row: tuple[Any, ...]) -> SessionOpen | None:
    """What opened a session, if it can be read."""
    try:
        payload = to_event(row, "", b"").payload
    except FazmMemoryError:
        return None
    return payload if isinstance(payload, SessionOpen) else None
