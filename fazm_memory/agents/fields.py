"""Reading fields of agents' records, which may be missing, wrong or huge.

Each function returns the wanted type or an empty value. Results are limited in size and safe to store as
JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from fazm_memory.clock import EARLIEST, LATEST, TimeError, parse_time
from fazm_memory.events import codec
from fazm_memory.lazy import lazy_regex

ID = 200  # characters; longer than any known id
# The limit of a text before redaction. It is far above the redactor's own limit, so that a secret at the cut,
# which the rules would not recognize, is never stored.
MAX_RAW_TEXT = 1 << 20
SESSION_NAME = lazy_regex(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # of Claude Code
MAX_TEXT = MAX_RAW_TEXT  # of a prompt or a message
NOTE = 50  # characters of the note about what was left out
DEEPEST = 40
MOST_ITEMS = 2000
MILLISECOND = 1000

_LEFT_OUT = lazy_regex("… [0-9]+ characters left out …")
# NaN and Infinity are not JSON; a record that holds them is read without them.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def record_of(line: bytes | str) -> dict[str, Any] | None:
    """The JSON object of a line, or None. A crash may leave zeros before it.

    orjson is several times as fast. What it refuses or reads otherwise goes to the standard decoder.
    """
    if isinstance(line, bytes) and not codec.has_long_integer(line):
        import orjson  # takes 8 ms, and commands that only look for records need none

        try:
            quick = orjson.loads(line)
        except orjson.JSONDecodeError:
            pass  # zeros before it, NaN, broken UTF-8, an unpaired surrogate
        else:
            return quick if isinstance(quick, dict) else None
    line_text = _line_text(line)
    try:
        record = _DECODER.decode(line_text)
    except (ValueError, RecursionError):
        return None
    return _storable(record, line_text)


def records_of(line: bytes | str) -> list[dict[str, Any]]:
    """The JSON objects of a line.

    A writer that ended without a newline leaves two on one line.
    """
    record = record_of(line)
    if record is not None:
        return [record]
    line_text, found, place = _line_text(line).strip(), [], 0
    try:
        while place < len(line_text):
            value, place = _DECODER.raw_decode(line_text, place)
            if (record := _storable(value, line_text)) is None:
                return []
            found.append(record)
    except (ValueError, RecursionError):
        return []
    return found


def _line_text(line: bytes | str) -> str:
    return (line if isinstance(line, str) else line.decode("utf-8", "replace")).lstrip("\0\ufeff")


def _storable(record: Any, line_text: str) -> dict[str, Any] | None:
    if not isinstance(record, dict):
        return None
    return _paired(record, 0) if _has_surrogates(line_text.encode("utf-8", "replace")) else record


def _has_surrogates(line: bytes) -> bool:
    return b"\\u" in line and (b"\\ud" in line or b"\\uD" in line)


def _paired(value: Any, depth: int) -> Any:
    """The value without unpaired surrogates, which cannot be stored."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not isinstance(value, (dict, list)):
        return value
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {_paired(name, depth): _paired(item, depth + 1) for name, item in value.items()}
    return [_paired(item, depth + 1) for item in value]


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def ident(value: object) -> str:
    """An id that can be part of a key: short printable text, or ""."""
    if not isinstance(value, str) or not value or len(value) > ID or not value.isprintable():
        return ""
    return value


def whole(value: object) -> int | None:
    """A number rounded to an integer that can be stored, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value) or abs(value) >= 2**53:
        return None
    return round(value)


def tokens(value: object) -> int:
    return max(0, whole(value) or 0)


def moment(value: object) -> int | None:
    """A time from ISO 8601 text."""
    try:
        return parse_time(value) if isinstance(value, str) else None
    except TimeError:
        return None


def moment_ms(value: object) -> int | None:
    """A time from milliseconds since 1970."""
    number = whole(value)
    if number is None or not EARLIEST <= number * MILLISECOND <= LATEST:
        return None
    return number * MILLISECOND


def digest(value: str) -> str:
    """A short hash of a text."""
    return sha256(value.encode("utf-8", "replace")).hexdigest()[:16]


def capped(value: str, limit: int) -> str:
    """A long text with its middle replaced by a note of its length."""
    if len(value) <= limit:
        return value
    room = max(0, limit - NOTE)
    head, tail = room - room // 4, room // 4
    rest = value[len(value) - tail :]
    return f"{value[:head]}\n… {len(value) - head - tail} characters left out …\n{rest}"


def bounded(value: Any, limit: int) -> Any:
    """The value with long texts capped so that its total size stays near the limit."""
    return value if _is_small(value, limit) else _Bounding(limit).take(value, 0)


def _is_small(value: Any, limit: int) -> bool:
    """Whether a value needs no limiting. A quick check, as almost all are small."""
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
                return value  # already a note
            if len(value) > self.left and self.taken:
                return f"… {len(value)} characters left out …"  # a part could hold half a secret
            result = capped(value, self.limit)
            self.left -= len(result)
            self.taken = True
            return result
        if isinstance(value, dict) and depth < DEEPEST:
            pairs = list(value.items())[:MOST_ITEMS]
            return {capped(str(name), ID): self.take(item, depth + 1) for name, item in pairs if self.room()}
        if isinstance(value, (list, tuple)) and depth < DEEPEST:
            return [self.take(item, depth + 1) for item in value[:MOST_ITEMS] if self.room()]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return value if math.isfinite(value) and abs(value) < 2**63 else None
        return "…"

    def room(self) -> bool:
        self.left -= 1
        return self.left > -self.limit


# -- our own context, found again in an agent's records ----------------------------------------------------

# Context that we give to an agent is between two marks with the same nonce. It is not recorded again.
INJECTED_MARK = "<<<fazm-memory "
INJECTED_BEGIN = lazy_regex(r"<<<fazm-memory ([0-9a-f]{8,64}) begin[^>\n]{0,200}>>>\n?")
MOST_BLOCKS = 100
# In JSON a line break is two characters.
INJECTED_HEAD = lazy_regex(
    r"(?:Rendered on [^\n]{0,60}; days below count from then\.(?:\n|\\n))?"
    r"Fazm Memory: (?:what happened before|changed since|taking up session) [^\n]{0,2000}?(?:\n|\\n)\Z"
)
LONGEST_HEAD = 2_200
INJECTED_FOOT = lazy_regex(r"(?:(?:\n|\\n)Left out for space: [^\n]{0,200}?finds the rest\.)?(?:\n|\\n)?")


def strip_injected_text(value: str) -> str:
    """The text without our blocks.

    A block without an end extends to the end of the text.
    """
    if INJECTED_MARK not in value:
        return value
    parts: list[str] = []
    start = 0
    for _ in range(MOST_BLOCKS):
        found = INJECTED_BEGIN.search(value, start)
        if found is None:
            return "".join([*parts, value[start:]])
        before = value[start : found.start()]
        parts.append(_without_head(before))
        end = f"{INJECTED_MARK}{found[1]} end>>>"
        closed = value.find(end, found.end())
        if closed < 0:
            break
        start = closed + len(end)
        if parts[-1] != before and (foot := INJECTED_FOOT.match(value, start)) is not None:
            start = foot.end()
    return "".join(parts)


def _without_head(before: str) -> str:
    """The text before a block, without our heading of the block."""
    end = before[-LONGEST_HEAD:]
    found = INJECTED_HEAD.search(end)
    return before if found is None else before[: len(before) - len(end) + found.start()]


def strip_injected(value: Any) -> Any:
    """A payload without our blocks in any of its texts."""
    if isinstance(value, str):
        return strip_injected_text(value)
    if isinstance(value, Mapping):
        return {key: strip_injected(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strip_injected(item) for item in value]
    return value


# Marks a line that was carried over from another session, see `written_session.py`.
CARRIED_FIELD = "fazmMemory"
CARRIED_LINE = b'{"fazmMemory":{"session":"'


def is_carried(line: bytes) -> bool:
    """Whether a line of a transcript was carried over from another session."""
    return line.startswith(CARRIED_LINE)
