"""A tool as a value: what a model reads of it, what it takes and gives, and the function that does it.

Nothing here knows the SDK, so that tools can be read, checked and tested without loading it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a tool is listed long before the memory is needed
    from fazm_memory.memory import Memory

Schema = dict[str, Any]
SOURCE = "mcp"  # the door: what comes in here is an agent's word, whatever it says of itself

MOST_INTEGER = 2**53  # beyond it JSON readers disagree about what was said
TOKENS = 1500  # what an answer takes at most, unless the caller asks for more
MOST_TOKENS = 8000
LEAST_TOKENS = 200


@dataclass(frozen=True)
class Caller:
    """Who calls: the memory it may use, and what the host has told of the agent."""

    memory: Memory
    agent: str = "unknown"
    key: str | None = None
    workspace: str | None = None


@dataclass(frozen=True)
class Told:
    """An answer: data that fits the output schema, and the same in a few words."""

    data: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Tool:
    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    run: Callable[[Caller, dict[str, Any]], Told]
    reads_only: bool = False
    destructive: bool = False
    idempotent: bool = False


def fresh(length: int) -> str:
    """A name nobody can guess, as `secrets` makes them; loading that takes longer than listing all tools."""
    return os.urandom(length).hex()


def record(properties: dict[str, Schema], required: Sequence[str] = ()) -> Schema:
    """Arguments: what is not named is refused, so that a misspelt field is never silently lost."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def shape(properties: dict[str, Schema], required: Sequence[str] = ()) -> Schema:
    """An answer: fields may be added later, so readers are told to expect more."""
    return {"type": "object", "properties": properties, "required": list(required)}


def text(about: str, *, most: int = 20_000, least: int = 1) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most, "description": about}


def whole(about: str, *, least: int = 0, most: int = MOST_INTEGER, default: int | None = None) -> Schema:
    made: Schema = {"type": "integer", "minimum": least, "maximum": most, "description": about}
    return made if default is None else made | {"default": default}


def flag(about: str, *, default: bool) -> Schema:
    return {"type": "boolean", "default": default, "description": about}


def one_of(options: Sequence[str], about: str) -> Schema:
    return {"type": "string", "enum": list(options), "description": about}


def many(items: Schema, about: str, *, most: int = 200) -> Schema:
    return {"type": "array", "items": items, "maxItems": most, "description": about}


SESSION = text("The session's handle: the `id` that session_open or session_list gave.", most=200)
EXPECTED = whole(
    "Append only if the session still has this many events; else nothing is recorded and the error tells how"
    " many it has."
)
MAX_TOKENS = whole(
    "Keep the answer within about this many tokens; what did not fit is counted, with how to get it.",
    least=LEAST_TOKENS,
    most=MOST_TOKENS,
    default=TOKENS,
)
CURSOR = text("`next_cursor` of the answer before, with the other arguments unchanged.", most=2000)
NEXT = {"type": ["string", "null"], "description": "Pass as `cursor` for the next page; null at the end."}
ANY_OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
INTEGER: Schema = {"type": "integer"}
STRING: Schema = {"type": "string"}
MAYBE_STRING: Schema = {"type": ["string", "null"]}
LIFECYCLES = ("open", "active", "paused", "resumed", "closed", "archived")

SESSION_SHAPE = shape(
    {
        "id": STRING,
        "agent": STRING,
        "agent_session_id": MAYBE_STRING,
        "title": MAYBE_STRING,
        "workspace": MAYBE_STRING,
        "lifecycle": {"enum": list(LIFECYCLES)},
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
