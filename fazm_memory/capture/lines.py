"""The `record` protocol: one JSON object per line, from any agent, made into a draft.

Every way a line can be wrong gets its own plain sentence. A line is judged alone: a bad one loses nothing
else. Lines are read within a cap, so that an endless one costs no memory.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator, Mapping
from math import isinf
from os.path import isabs
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.scrub import default_scrubber
from fazm_memory.errors import InvalidInput
from fazm_memory.model.clock import TimeError, parse
from fazm_memory.model.trust import ACTORS, SOURCES, TRUSTS, lowest

ENVELOPE = ("type", "session", "agent", "at", "turn", "actor", "source", "trust", "expected_seq")
TYPES = frozenset(
    {
        "session.open", "session.title", "session.pause", "session.resume", "session.close",
        "session.archive", "session.restore", "prompt", "message", "action.start", "action", "decision",
        "fact", "fact.retract", "pending", "pending.done", "file", "seen", "evicted", "handoff",
        "handoff.answer", "usage", "app",
    }
)  # fmt: skip
# What others call the same.
ACTOR_WORDS = {"user": "person", "human": "person", "assistant": "agent"}
TRUST_WORDS = {"untrusted": "unverified"}
# Ids that some agents count with numbers.
NUMBERED = ("id", "call_id")
# What is counted, and summed up.
COUNTED = ("duration_ms", "input_tokens", "output_tokens", "cached_tokens", "budget_tokens")
MOST_COUNTED = 2**53  # beyond it others read another number
DEEPEST = 64
LONGEST_NAME = 512
BATCH = 256


def line_to_draft(line: bytes) -> Draft:
    """The draft a line stands for, or InvalidInput with what is wrong with it."""
    raw = _object(line)
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise InvalidInput('a line needs a "type", such as "action" or "prompt"')
    if kind not in TYPES:
        raise InvalidInput(
            f"there is no type {_echo(kind)}", hint=f"the types are: {', '.join(sorted(TYPES))}"
        )
    payload = {name: value for name, value in raw.items() if name not in ENVELOPE}
    if kind == "session.open":
        payload["agent"] = _name(raw, "agent") or "unknown"
    actor = _choice(raw, "actor", ACTORS, ACTOR_WORDS)
    source = _source(raw)
    trust = _choice(raw, "trust", TRUSTS, TRUST_WORDS)
    if source.startswith(("http://", "https://")):
        trust = lowest((trust or "web", "web"))
    return Draft(
        session=_name(raw, "session", needed=True) or "",
        kind=kind,
        payload=_shaped(kind, payload, actor),
        agent=_name(raw, "agent"),
        at=_time(raw.get("at")),
        turn=_count(raw, "turn"),
        actor=actor,
        source=source,
        trust=trust,
        expected_seq=_count(raw, "expected_seq"),
        door="record",
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        if _is_utf16(line):
            raise _utf16() from None
        raise InvalidInput(f"the line is not UTF-8: byte {error.start} cannot be read") from None
    if text.startswith("\ufeff"):
        text = text[1:]
    if _depth(text) > DEEPEST:
        raise InvalidInput(f"the line is nested deeper than {DEEPEST} levels")
    try:
        raw = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
        )
    except InvalidInput:
        raise
    except (json.JSONDecodeError, RecursionError) as error:
        if _is_utf16(line):
            raise _utf16() from None
        raise InvalidInput(f"the line is not JSON: {str(error)[:120]}") from None
    except ValueError:  # Python reads no whole number of more digits
        raise InvalidInput(
            f"a number has more than {sys.get_int_max_str_digits():,} digits", hint="write it as text"
        ) from None
    if not isinstance(raw, dict):
        raise InvalidInput("the line is JSON, but not an object")
    return raw


def _depth(text: str) -> int:
    """How deep the brackets go at most, strings included: a cheap upper bound that needs no parser."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    inside = escaped = False
    for char in text:
        if inside:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                inside = False
        elif char == '"':
            inside = True
        elif char in "[{":
            depth += 1
            if depth > DEEPEST:
                return depth
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> Any:
    raise InvalidInput(f"{name} is not a number that JSON has")


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise InvalidInput(f"the number {_echo(text)} is too large", hint="write it as text")
    return number


def _is_utf16(line: bytes) -> bool:
    """Whether every other byte is empty, as in what PowerShell writes to a file."""
    return line.startswith((b"\xff\xfe", b"\xfe\xff")) or 0 in (line[:1] + line[1:2])


def _utf16() -> InvalidInput:
    return InvalidInput(
        "the line is UTF-16, not UTF-8", hint="write it as UTF-8; in PowerShell: Out-File -Encoding utf8"
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"the name {_echo(twice)} is given twice")
    return made


def _echo(text: str) -> str:
    """What was sent, said back: an answer may end in a log, so nothing secret is repeated in it."""
    return repr(default_scrubber().text(text[:LONGEST_NAME]).text[:60])


def _name(raw: Mapping[str, Any], field: str, *, needed: bool = False) -> str | None:
    value = raw.get(field)
    if value is None and not needed:
        return None
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f'"{field}" must be text that names something')
    if len(value) > LONGEST_NAME:
        raise InvalidInput(f'"{field}" is longer than {LONGEST_NAME} characters')
    if "\0" in value or any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        raise InvalidInput(f'"{field}" holds a character that no name may have')
    return value


def _source(raw: Mapping[str, Any]) -> str:
    """Where a line says it comes from. What the name of another door of ours stands for in the log is what we
    saw ourselves: as a claim it is kept with the door it really came by."""
    claimed = (_name(raw, "source") or "record").strip()
    return f"record:{claimed}" if claimed in SOURCES and claimed != "record" else claimed


def _count(raw: Mapping[str, Any], field: str) -> int | None:
    value = raw.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise InvalidInput(f'"{field}" must be a whole number from 0 to {2**31 - 1:,}')
    return value


def _choice(
    raw: Mapping[str, Any], field: str, choices: tuple[str, ...], words: Mapping[str, str]
) -> str | None:
    value = raw.get(field)
    if value is None:
        return None
    if isinstance(value, str):
        value = words.get(value, value)
    if value not in choices:
        raise InvalidInput(f'"{field}" must be one of {", ".join(choices)}, not {_echo(str(value))}')
    return str(value)


def _time(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return parse(value)
    except TimeError as error:
        raise InvalidInput(str(error)) from None


def _shaped(kind: str, payload: dict[str, Any], actor: str | None) -> dict[str, Any]:
    """Small courtesies of the protocol: a file may be told by its path alone, an id may be a number."""
    for name in NUMBERED:
        if isinstance(payload.get(name), int) and not isinstance(payload[name], bool):
            payload[name] = str(payload[name])
    if kind == "file" and actor in ("agent", "person") and "by" not in payload:
        payload |= {"by": actor, "evidence": payload.get("evidence") or f"told: by the {actor}"}
    if kind in ("session.open", "usage") and "budget" in payload and "budget_tokens" not in payload:
        budget = payload.pop("budget")
        payload["budget_tokens"] = budget.get("tokens") if isinstance(budget, dict) else budget
    for name in COUNTED:
        count = payload.get(name)
        if isinstance(count, (int, float)) and not 0 <= count <= MOST_COUNTED:
            raise InvalidInput(f'"{name}" must be a number from 0 to {MOST_COUNTED:,}')
    workspace = payload.get("workspace")
    if kind == "session.open" and isinstance(workspace, str) and not isabs(workspace):
        raise InvalidInput('"workspace" must be the whole path of a folder, beginning with /')
    if kind == "action" and isinstance(payload.get("files"), list):
        payload["files"] = [
            {"path": one, "change": "modified"} if isinstance(one, str) else one for one in payload["files"]
        ]
    return payload


class LineReader:
    """Lines from a file descriptor in batches: as many as have come, so that a commit serves them all.

    A line over the cap is told as None, its bytes thrown away as they come.
    """

    def __init__(self, descriptor: int, cap: int) -> None:
        self.descriptor = descriptor
        self.cap = cap

    def batches(self) -> Iterator[list[bytes | None]]:
        """Batches of lines; the next is waited for only when none is ready."""
        rest = bytearray()
        dropping = ended = False
        ready: list[bytes | None] = []
        while not ended or ready:
            while not ended and len(ready) < BATCH and (not ready or self._waiting()):
                data = os.read(self.descriptor, 1 << 16)
                ended = not data
                rest += data
                while (end := rest.find(b"\n")) >= 0:
                    line = bytes(rest[:end])
                    del rest[: end + 1]
                    ready.append(None if dropping or len(line) > self.cap else line)
                    dropping = False
                if len(rest) > self.cap:
                    dropping = True
                    rest.clear()
                if ended and (rest or dropping):
                    ready.append(None if dropping else bytes(rest))
                    rest.clear()
                    dropping = False
            if ready:
                yield ready[:BATCH]
                del ready[:BATCH]

    def _waiting(self) -> bool:
        try:
            return bool(select.select([self.descriptor], [], [], 0)[0])
        except OSError:
            return True
