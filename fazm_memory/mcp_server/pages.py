"""Pages: answers that fit a budget of tokens, and opaque cursors that go on where a page ended.

A row is never dropped in silence: what does not fit is on the next page, and text that is too long for any
page is shortened and says by how much.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fazm_memory.errors import InvalidInput

CHARACTERS_A_TOKEN = 4
STEPS = (2000, 600, 200, 60, 20)  # how much of a text is kept, tried in this order
DEEPEST = 12  # below it a value is only named: nobody reads further in a page


def size(value: Any) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def room(max_tokens: int) -> int:
    return max_tokens * CHARACTERS_A_TOKEN


def cursor(place: Mapping[str, Any]) -> str:
    """A place to go on from. Callers hand it back as it is and read nothing in it."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def place(given: str | None, expected: Mapping[str, type]) -> dict[str, Any] | None:
    """The place a cursor stands for; InvalidInput when it is not one of ours."""
    if given is None:
        return None
    wrong = InvalidInput(
        f"{given[:40]!r} is not a cursor of this list", hint="leave `cursor` out to begin at the start"
    )
    try:
        read = json.loads(base64.urlsafe_b64decode(given.encode() + b"=" * (-len(given) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise wrong from None
    if not isinstance(read, dict) or set(read) != set(expected):
        raise wrong
    for name, kind in expected.items():
        if type(read[name]) is not kind or (kind is int and not 0 <= read[name] < 2**53):
            raise wrong
    return read


def shortened(value: Any, most: int, depth: int = 0) -> Any:
    """The value with long texts and long lists cut, each saying what is missing."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}… [+{len(value) - most} characters]"
    if depth >= DEEPEST and isinstance(value, (Mapping, list, tuple)):
        return f"[{len(value)} entries, too deep to show]"
    items = max(2, most // 10)
    if isinstance(value, Mapping):
        kept = {
            shortened(str(key), most): shortened(one, most, depth + 1)
            for key, one in list(value.items())[:items]
        }
        return kept | ({"…": f"+{len(value) - items} entries"} if len(value) > items else {})
    if isinstance(value, (list, tuple)):
        shown = [shortened(one, most, depth + 1) for one in value[:items]]
        return shown + ([f"… +{len(value) - items} entries"] if len(value) > items else [])
    return value


def fitted(row: dict[str, Any], most: int, *, free: tuple[str, ...]) -> dict[str, Any]:
    """A row of at most this many characters: only its `free` fields are cut, and it says so in `cut`."""
    if size(row) <= most:
        return row
    for step in STEPS:
        made = {name: shortened(value, step) if name in free else value for name, value in row.items()}
        if size(made) <= most:
            return made | {"cut": True}
    return {name: None if name in free else value for name, value in row.items()} | {"cut": True}


def filled(
    rows: Iterable[dict[str, Any]], *, limit: int, most: int, free: tuple[str, ...]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """As many rows as fit, at least one, and the first row that did not."""
    kept: list[dict[str, Any]] = []
    used = 0
    for row in rows:
        shown = fitted(row, max(400, most // 3), free=free)
        used += size(shown)
        if kept and (len(kept) == limit or used > most):
            return kept, row
        kept.append(shown)
    return kept, None


def tables_fitted(
    value: dict[str, Any], most: int, *, leading: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], dict[str, int]]:
    """A value of tables, the longest halved until it fits; and how many entries each has lost.

    The newest entries stand last in a table and are kept; in a table named `leading` they stand first.
    """
    made, lost = dict(value), dict[str, int]()
    while size(made) > most:
        tables = [name for name, one in made.items() if isinstance(one, (list, dict)) and len(one) > 1]
        if not tables:
            break
        longest = max(tables, key=lambda name: size(made[name]))
        table = made[longest]
        keep = len(table) // 2
        lost[longest] = lost.get(longest, 0) + len(table) - keep
        if isinstance(table, list):
            made[longest] = table[:keep] if longest in leading else table[-keep:]
        else:
            entries = list(table.items())
            made[longest] = dict(entries[:keep] if longest in leading else entries[-keep:])
    if size(made) > most:
        tables = [name for name, one in made.items() if isinstance(one, (list, dict))]
        for step in STEPS:
            cut = {name: shortened(one, step) if name in tables else one for name, one in made.items()}
            if size(cut) <= most:
                return cut, lost
        made = cut
    return made, lost
