"""Fields of records that nobody promised us: each function gives the type asked for, or nothing.

The agents' files are theirs; a field may be missing, be of another type or hold what no store can keep. What
comes out of here is bounded, finite and safe to write as JSON, whatever went in.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from typing import Any

from fazm_memory.model.clock import EARLIEST, LATEST, TimeError, parse

ID = 200  # longer than any id we have seen; keys are made of these
# Of any one text before it is scrubbed. So far above what the scrubber keeps of a text that the place where
# this cuts is never kept: a cut through a secret would otherwise hide its other half from the rules.
RAW = 1 << 20
SAID = RAW  # of anything somebody said
NOTE = 50  # room for the note about what was left out
DEEPEST = 40
MOST_ITEMS = 2000
MILLISECOND = 1000

_LEFT_OUT = re.compile("… [0-9]+ characters left out …")
# NaN and Infinity are not JSON; a record that holds them is read without them.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def record_of(line: bytes | str) -> dict[str, Any] | None:
    """The JSON object a line holds, or None when it holds none. A crash may leave zeros before it."""
    told = line if isinstance(line, str) else line.decode("utf-8", "replace")
    try:
        made = _DECODER.decode(told.lstrip("\0\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(made, dict):
        return None
    return _paired(made, 0) if "\\ud" in told or "\\uD" in told else made


def _paired(value: Any, depth: int) -> Any:
    """The same value without half characters, which JSON can write and no store can keep."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not isinstance(value, (dict, list)):
        return value
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {_paired(name, depth): _paired(one, depth + 1) for name, one in value.items()}
    return [_paired(one, depth + 1) for one in value]


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def ident(value: object) -> str:
    """An id: short text on one line that can stand in a key, or nothing."""
    if not isinstance(value, str) or not value or len(value) > ID or not value.isprintable():
        return ""
    return value


def whole(value: object) -> int | None:
    """A whole number that every store can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value) or abs(value) >= 2**53:
        return None
    return round(value)


def tokens(value: object) -> int:
    return max(0, whole(value) or 0)


def moment(value: object) -> int | None:
    """A moment told as ISO 8601 text."""
    try:
        return parse(value) if isinstance(value, str) else None
    except TimeError:
        return None


def moment_ms(value: object) -> int | None:
    """A moment told as milliseconds since 1970."""
    told = whole(value)
    if told is None or not EARLIEST <= told * MILLISECOND <= LATEST:
        return None
    return told * MILLISECOND


def digest(said: str) -> str:
    """A short name for a text, the same wherever it is made."""
    return sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def capped(value: str, limit: int) -> str:
    """A long text with its middle left out and counted: what matters is mostly at the two ends."""
    if len(value) <= limit:
        return value
    room = max(0, limit - NOTE)
    head, tail = room - room // 4, room // 4
    rest = value[len(value) - tail :]
    return f"{value[:head]}\n… {len(value) - head - tail} characters left out …\n{rest}"


def bounded(value: Any, limit: int) -> Any:
    """The same value with long texts capped, so that all of them together stay near the limit."""
    return value if _is_small(value, limit) else _Bounding(limit).take(value, 0)


def _is_small(value: Any, limit: int) -> bool:
    """Whether nothing needs to be done, seen from how the value is written: almost all are small."""
    try:
        shown = repr(value)
    except RecursionError:
        return False
    flat = shown.count("{") + shown.count("[") <= DEEPEST
    return flat and len(shown) <= limit and "nan" not in shown and "inf" not in shown


class _Bounding:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit
        self.taken = False

    def take(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            if _LEFT_OUT.fullmatch(value):
                return value  # said once, it is not left out in its turn
            if len(value) > self.left and self.taken:
                return f"… {len(value)} characters left out …"  # whole: half a text may hold half a secret
            kept = capped(value, self.limit)
            self.left -= len(kept)
            self.taken = True
            return kept
        if isinstance(value, dict) and depth < DEEPEST:
            pairs = list(value.items())[:MOST_ITEMS]
            return {capped(str(name), ID): self.take(one, depth + 1) for name, one in pairs if self.room()}
        if isinstance(value, (list, tuple)) and depth < DEEPEST:
            return [self.take(one, depth + 1) for one in value[:MOST_ITEMS] if self.room()]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return value if math.isfinite(value) and abs(value) < 2**63 else None
        return "…"

    def room(self) -> bool:
        self.left -= 1
        return self.left > -self.limit
