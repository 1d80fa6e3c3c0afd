"""A tool as data, and its answers within a token budget.

A tool has a description, schemas and a function. Independent of the SDK, so that tools can be listed,
checked and tested without loading it. Rows that do not fit are on the next page, for which there is a
cursor. Text that was cut says so.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.recall import quote
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from fazm_memory.app import Memory


Schema = dict[str, Any]
SMALL, FULL = "small", "full"  # the tool sets: five tools, or all
SOURCE = "mcp"  # everything recorded here counts as an agent's word

MOST_INTEGER = 2**53  # larger integers are not exact in all JSON readers
TOKENS = 1500  # default size of an answer
MOST_TOKENS = 8000
LEAST_TOKENS = 200


@dataclass(frozen=True)
class Caller:
    """The calling agent, as far as the host says who it is, and the memory it uses."""

    memory: Memory
    agent: str = "unknown"
    key: str | None = None
    workspace: str | None = None
    connection: str | None = None  # a key for the session of a client that has no key of its own
    tool_set: str = FULL


@dataclass(frozen=True)
class ToolResult:
    """An answer: data that matches the output schema, and a short text of it."""

    data: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Tool:
    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    run: Callable[[Caller, dict[str, Any]], ToolResult]
    reads_only: bool = False
    destructive: bool = False
    idempotent: bool = False


def random_id(length: int) -> str:
    """A random hexadecimal id.

    Importing `secrets` would take longer than listing all tools.
    """
    return os.urandom(length).hex()


def input_object(properties: dict[str, Schema], required: Sequence[str] = ()) -> Schema:
    """The schema of arguments.

    Unknown names are refused, so that a misspelt one is not lost.
    """
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def output_object(properties: dict[str, Schema], required: Sequence[str] = ()) -> Schema:
    """The schema of an answer. Fields may be added later."""
    return {"type": "object", "properties": properties, "required": list(required)}


def string(about: str, *, most: int = 20_000, least: int = 1) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most, "description": about}


def integer(about: str, *, least: int = 0, most: int = MOST_INTEGER, default: int | None = None) -> Schema:
    schema: Schema = {"type": "integer", "minimum": least, "maximum": most, "description": about}
    return schema if default is None else schema | {"default": default}


def boolean(about: str, *, default: bool) -> Schema:
    return {"type": "boolean", "default": default, "description": about}


def choice(options: Sequence[str], about: str) -> Schema:
    return {"type": "string", "enum": list(options), "description": about}


def array(items: Schema, about: str, *, most: int = 200) -> Schema:
    return {"type": "array", "items": items, "maxItems": most, "description": about}


SESSION = string("The session's handle: the `id` from session_open or session_list.", most=200)
EXPECTED = integer(
    "Append only if the session has exactly this many events. Otherwise nothing is recorded and the error"
    " gives the number of events."
)
MAX_TOKENS = integer(
    "Approximate limit of the answer in tokens. What did not fit is counted, with how to get it.",
    least=LEAST_TOKENS,
    most=MOST_TOKENS,
    default=TOKENS,
)
LIMITS = ("tokens", "usd", "seconds", "actions")


def moment(about: str) -> Schema:
    """A position, or another name of a moment of a session."""
    return {
        "type": ["integer", "string"],
        "minimum": 0,
        "maximum": MOST_INTEGER,
        "minLength": 1,
        "maxLength": 100,
        "description": f'{about} A position, or text: "turn 3", "yesterday 16:00", "10m", "event 11".',
    }


def number(about: str) -> Schema:
    return {"type": "number", "minimum": 0, "maximum": MOST_INTEGER, "description": about}


CURSOR = string("`next_cursor` of the previous answer, with the other arguments unchanged.", most=2000)
NEXT = {"type": ["string", "null"], "description": "Pass as `cursor` for the next page; null at the end."}
ANY_OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
INTEGER: Schema = {"type": "integer"}
STRING: Schema = {"type": "string"}
MAYBE_STRING: Schema = {"type": ["string", "null"]}
MAYBE_OBJECT: Schema = {"type": ["object", "null"]}
LIFECYCLES = ("open", "active", "paused", "resumed", "closed", "archived")

SESSION_SHAPE = output_object(
    {
        "id": STRING,
        "agent": STRING,
        "agent_session_id": MAYBE_STRING,
        "title": MAYBE_STRING,
        "workspace": MAYBE_STRING,
        "lifecycle": {"enum": list(LIFECYCLES)},
        "ended": MAYBE_STRING,
        "cost": MAYBE_OBJECT,
        "parent": MAYBE_STRING,
        "opened_at": STRING,
        "last_at": STRING,
        "turns": INTEGER,
        "events": INTEGER,
        "actions": INTEGER,
        "failures": INTEGER,
        "files_modified": INTEGER,
    },
    ("id", "agent", "lifecycle", "opened_at", "last_at", "turns", "events"),
)

# In every answer `session` is the handle. An answer about the session itself has its fields beside it.
SESSION_ANSWER: dict[str, Schema] = {"session": STRING, "session_info": SESSION_SHAPE}


def session_answer(session: dict[str, Any]) -> dict[str, Any]:
    return {"session": session["id"], "session_info": session}


SHORTEST_PREFIX = 8
PERSON = "person"  # the agent name of the user's own facts, which no agent may write


def session_for_writing(caller: Caller, handle: str) -> dict[str, Any]:
    """The session with exactly this handle."""
    found = caller.memory.sessions.get(handle)
    if handle not in (found["id"], found["agent_session_id"]):
        raise NotFound(
            f'No session has the handle "{handle[:60]}". Writing needs the whole handle.',
            hint=f"Did you mean {found['id']}?" if len(handle) >= SHORTEST_PREFIX else "",
        )
    if found["agent"] == PERSON:
        raise InvalidInput("Only the user may write the user's facts.", hint="Use a session of your own.")
    return found


def session_for_reading(caller: Caller, handle: str) -> dict[str, Any]:
    """The session with this handle or unique prefix of a handle."""
    found = caller.memory.sessions.get(handle)
    if len(handle.strip()) < SHORTEST_PREFIX and handle not in (found["id"], found["agent_session_id"]):
        raise NotFound(
            f'No session has the handle "{handle[:60]}".',
            hint=f"Reading takes the handle or its first {SHORTEST_PREFIX} characters or more.",
        )
    return found


def check_new_session(caller: Caller, agent: str, key: str) -> None:
    """Refuse a name or key with which an agent would pose as the user."""
    from fazm_memory.engines.redaction import canonical  # slow to import, and not needed for the lists

    if canonical(agent).strip().lower() == PERSON:  # compared as it would be stored
        raise InvalidInput('No agent may use the name "person".', hint="Leave `agent` out.")
    known = [row["id"] for row in caller.memory.sessions.listing(agent=PERSON, background=True, limit=None)]
    if key in known:
        raise InvalidInput("Only the user may write the user's facts.", hint="Use a key of your own.")


MOST_TEXT = 600


def harmless(text: str) -> str:
    """One line without anything that has a meaning for a model, as in a quoted text."""
    return quote(text, MOST_TEXT)[1:-1].replace('\\"', '"')


# -- answers within a budget -----------------------------------------------------------------------------

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
    """The place that a cursor stands for.

    Raises InvalidInput if it is not a cursor of this list.
    """
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
    """Cut the `free` fields until a row fits.

    It then has at most `most` characters and is marked with `cut`.
    """
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
    """Halve the longest table until all fit.

    Returns the tables and how many entries each has lost. The end of a table is kept, for tables named in
    `leading` the beginning. An object named in `records` is one entry: its texts may be cut, its fields
    stay.
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
