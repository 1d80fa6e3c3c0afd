"""Answers within a token budget, and cursors for the next page.

Nothing is dropped silently. Rows that do not fit are on the next page, and text that was cut says so.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fazm_memory.errors import InvalidInput

CHARACTERS_A_TOKEN = 4
RECORD_TEXT = 600  # characters of a text in a record, if all do not fit
TEXT_LIMITS = (2000, 600, 200, 60, 20)  # lengths to which texts are cut, tried in this order
DEEPEST = 12  # nesting below which a value is replaced by a note


def size(value: Any) -> int:
    """Length of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def character_budget(max_tokens: int) -> int:
    return max_tokens * CHARACTERS_A_TOKEN


def encode_cursor(place: Mapping[str, Any]) -> str:
    """An opaque cursor for a place in a list."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def decode_cursor(given: str | None, expected: Mapping[str, type]) -> dict[str, Any] | None:
    """The place that a cursor stands for. Raises InvalidInput if it is not a cursor of this list."""
    if given is None:
        return None
    wrong = InvalidInput(
        f'Invalid cursor "{given[:40]}" for this list.', hint="Leave `cursor` out to begin at the start."
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


def shorten(value: Any, most: int, depth: int = 0) -> Any:
    """Cut long texts and lists, with a note of what is missing."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}… [+{len(value) - most} characters]"
    if depth >= DEEPEST and isinstance(value, (Mapping, list, tuple)):
        return f"[{len(value)} entries, too deep to show]"
    items = max(2, most // 10)
    if isinstance(value, Mapping):
        kept = {
            shorten(str(key), most): shorten(one, most, depth + 1) for key, one in list(value.items())[:items]
        }
        return kept | ({"…": f"+{len(value) - items} entries"} if len(value) > items else {})
    if isinstance(value, (list, tuple)):
        shown = [shorten(item, most, depth + 1) for item in value[:items]]
        return shown + ([f"… +{len(value) - items} entries"] if len(value) > items else [])
    return value


def fit_row(row: dict[str, Any], most: int, *, free: tuple[str, ...]) -> dict[str, Any]:
    """Cut the `free` fields until the row fits into `most` characters, and mark it with `cut`."""
    if size(row) <= most:
        return row
    for limit in TEXT_LIMITS:
        shown = {name: shorten(value, limit) if name in free else value for name, value in row.items()}
        if size(shown) <= most:
            return shown | {"cut": True}
    return {name: None if name in free else value for name, value in row.items()} | {"cut": True}


def fit_rows(
    rows: Iterable[dict[str, Any]], *, limit: int, most: int, free: tuple[str, ...]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """As many rows as fit, at least one, and the first row that did not fit."""
    kept: list[dict[str, Any]] = []
    used = 0
    for row in rows:
        shown = fit_row(row, max(400, most // 3), free=free)
        used += size(shown)
        if kept and (len(kept) == limit or used > most):
            return kept, row
        kept.append(shown)
    return kept, None


def fit_tables(
    value: dict[str, Any],
    most: int,
    *,
    leading: frozenset[str] = frozenset(),
    records: frozenset[str] = frozenset(),
) -> tuple[dict[str, Any], dict[str, int]]:
    """Halve the longest table until all fit. Returns the tables and how many entries each has lost.

    The end of a table is kept, for tables named in `leading` the beginning. An object named in `records` is
    one entry: its texts may be cut, its fields stay.
    """
    shown, lost = dict(value), dict[str, int]()
    if size(shown) > most:
        shown |= {name: shorten(shown[name], RECORD_TEXT) for name in records if name in shown}
    while size(shown) > most:
        tables = [
            name
            for name, table in shown.items()
            if isinstance(table, (list, dict)) and len(table) > 1 and name not in records
        ]
        if not tables:
            break
        longest = max(tables, key=lambda name: size(shown[name]))
        table = shown[longest]
        keep = len(table) // 2
        lost[longest] = lost.get(longest, 0) + len(table) - keep
        if isinstance(table, list):
            shown[longest] = table[:keep] if longest in leading else table[-keep:]
        else:
            entries = list(table.items())
            shown[longest] = dict(entries[:keep] if longest in leading else entries[-keep:])
    if size(shown) > most:
        tables = [name for name, table in shown.items() if isinstance(table, (list, dict))]
        for limit in TEXT_LIMITS:
            cut = {name: shorten(table, limit) if name in tables else table for name, table in shown.items()}
            if size(cut) <= most:
                return cut, lost
        shown = cut
    return shown, lost
