"""The `record` protocol: one JSON object per line becomes a draft.

Each line is checked alone; an invalid line gets its own error and loses nothing else. Lines have a maximum
length, so an endless line costs no memory.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from math import isinf
from os.path import isabs
from typing import Any

from fazm_memory.clock import TimeError, parse_time
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.errors import InvalidInput
from fazm_memory.events import ACTORS, SOURCES, TRUSTS, Draft, lowest_trust
from fazm_memory.text import did_you_mean, plan_title

# JSON Schemas of answers: what a question may ask for, and whether an answer matches
#
# A schema comes from an agent and is applied to a person's input. So it is limited first: small, not deep,
# no references, and patterns that RE2 runs in linear time.

DEEPEST_SCHEMA = 8
LARGEST_ANSWER = 64_000  # characters of its JSON
ELSEWHERE = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema", "patternProperties"})
LITERAL = frozenset({"enum", "const", "default", "examples"})  # what stands there is data, not a schema
HINT = "type, enum, properties, required, items and their bounds are enough for a question"


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise InvalidInput if a question may not use this schema."""
    # Imported here: few questions have a schema, and every `record` would pay for it.
    from jsonschema import SchemaError

    from fazm_memory.session import VALUE_BOUND

    if len(json.dumps(schema, ensure_ascii=False)) > VALUE_BOUND:
        raise InvalidInput(f"The answer schema is longer than {VALUE_BOUND} characters.", hint=HINT)
    for name, value in _keywords(schema, 0):
        if name in ELSEWHERE:
            raise InvalidInput(f"An answer schema may not use {name}.", hint=HINT)
        if name == "pattern":
            _compiled(value)
    try:
        _validator().check_schema(dict(schema))
    except SchemaError as error:
        raise InvalidInput(
            f"The answer schema is not a valid JSON Schema: {error.message[:200]}", hint=HINT
        ) from None


def check_answer(schema: Mapping[str, Any] | None, answer: Any) -> None:
    """Raise InvalidInput if an answer does not match."""
    if schema is None:
        return
    if len(json.dumps(answer, ensure_ascii=False, default=str)) > LARGEST_ANSWER:
        raise InvalidInput(f"The answer is longer than {LARGEST_ANSWER} characters.")
    wrong = next(
        iter(sorted(_validator()(dict(schema)).iter_errors(answer), key=lambda error: len(error.path))), None
    )
    if wrong is not None:
        place = "".join(f"[{step!r}]" for step in wrong.path)
        raise InvalidInput(
            f"The answer does not match the question: {(place + ' ') if place else ''}{wrong.message[:200]}",
            hint=f"expected: {json.dumps(schema, ensure_ascii=False)[:300]}",
        )


def coerce_answer(schema: Mapping[str, Any] | None, answer: Any) -> Any:
    """Typed text as the type that the schema wants: a number, yes or no, or JSON."""
    if schema is None or not isinstance(answer, str) or _fits(schema, answer):
        return answer
    word = answer.strip().lower()
    if word in ("yes", "no") and _fits(schema, word == "yes"):
        return word == "yes"
    try:
        read = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    return read if _fits(schema, read) or not _takes_text(schema) else answer


def _takes_text(schema: Mapping[str, Any]) -> bool:
    """Whether text may be an answer. Otherwise the typed text is checked as JSON."""
    wanted = schema.get("type", "string")
    return "string" in (wanted if isinstance(wanted, (list, tuple)) else (wanted,))


def _fits(schema: Mapping[str, Any], answer: Any) -> bool:
    return bool(_validator()(dict(schema)).is_valid(answer))


def _keywords(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > 2 * DEEPEST_SCHEMA:  # a property is two levels: the table of properties and its own schema
        raise InvalidInput(f"The answer schema is deeper than {DEEPEST_SCHEMA} levels.", hint=HINT)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name), inner
            if name not in LITERAL:
                yield from _keywords(inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _keywords(inner, depth + 1)


def _compiled(pattern: Any) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False  # they would go to stderr, where an agent reads them
    try:
        return re2.compile(pattern if isinstance(pattern, str) else "", options=options)
    except re2.error as error:
        raise InvalidInput(f"The answer schema has a pattern that cannot be used: {error}") from None


@cache
def _validator() -> Any:
    # Imported late: most sessions never ask anything.
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and _compiled(wanted).search(instance) is None:
            yield ValidationError(f"{instance[:80]!r} does not match {wanted[:80]!r}")

    return extend(Draft202012Validator, {"pattern": pattern})


# The protocol

ENVELOPE = ("type", "session", "agent", "at", "turn", "actor", "source", "trust", "expected_seq")
TYPES = frozenset(
    {
        "session.open", "session.title", "session.pause", "session.resume", "session.close",
        "session.archive", "session.restore", "prompt", "message", "action.start", "action", "decision",
        "plan", "todos", "branch", "artifact", "fact", "fact.retract", "pending", "pending.done", "file",
        "seen", "evicted", "handoff", "handoff.answer", "usage", "app",
    }
)  # fmt: skip
# Other names for our values.
ACTOR_WORDS = {"user": "person", "human": "person", "assistant": "agent"}
TRUST_WORDS = {"untrusted": "unverified"}
# Ids that may also be numbers.
NUMBERED = ("id", "call_id")
COUNTED = (
    "duration_ms", "input_tokens", "output_tokens", "cached_tokens", "budget_tokens", "cost_usd",
    "budget_usd", "budget_seconds", "budget_actions",
)  # fmt: skip
LIMITS = ("tokens", "usd", "seconds", "actions")
MOST_COUNTED = 2**53  # larger numbers lose digits in other programs
DEEPEST = 64
LONGEST_NAME = 512
BATCH = 256


def line_to_draft(line: bytes) -> Draft:
    """The draft of a line. Raises InvalidInput."""
    raw = _object(line)
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise InvalidInput('a line needs a "type", such as "action" or "prompt"')
    if kind not in TYPES:
        guess, known = did_you_mean(kind, TYPES), ", ".join(sorted(TYPES))
        raise InvalidInput(f"unknown type {_echo(kind)}", hint=f"{guess}the types are: {known}")
    payload = {name: value for name, value in raw.items() if name not in ENVELOPE}
    if kind == "session.open":
        payload["agent"] = _name(raw, "agent") or "unknown"
    actor = _choice(raw, "actor", ACTORS, ACTOR_WORDS)
    source = _source(raw)
    trust = _choice(raw, "trust", TRUSTS, TRUST_WORDS)
    if source.startswith(("http://", "https://")):
        trust = lowest_trust((trust or "web", "web"))
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
    except ValueError:  # Python limits the digits of an integer
        raise InvalidInput(
            f"a number has more than {sys.get_int_max_str_digits():,} digits", hint="write it as text"
        ) from None
    if not isinstance(raw, dict):
        raise InvalidInput("the line is JSON, but not an object")
    return raw


def _depth(text: str) -> int:
    """The depth of the brackets, counted without a parser. 0 if there are few."""
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
    """Whether the line is UTF-16, as PowerShell writes it."""
    return line.startswith((b"\xff\xfe", b"\xfe\xff")) or 0 in (line[:1] + line[1:2])


def _utf16() -> InvalidInput:
    return InvalidInput(
        "the line is UTF-16, not UTF-8", hint="write it as UTF-8; in PowerShell: Out-File -Encoding utf8"
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"the name {_echo(twice)} is given twice")
    return result


def _echo(text: str) -> str:
    """A value for an error message, redacted because messages may be logged."""
    return repr(default_redactor().text(text[:LONGEST_NAME]).text[:60])


def _name(raw: Mapping[str, Any], field: str, *, needed: bool = False) -> str | None:
    value = raw.get(field)
    if value is None and not needed:
        return None
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f'"{field}" must be text and not empty')
    if len(value) > LONGEST_NAME:
        raise InvalidInput(f'"{field}" is longer than {LONGEST_NAME} characters')
    if "\0" in value or any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        raise InvalidInput(f'"{field}" has a character that is not allowed in a name')
    return value


def _source(raw: Mapping[str, Any]) -> str:
    """The source that a line claims.

    A name that we use for our own observations gets a prefix.
    """
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
        return parse_time(value)
    except TimeError as error:
        raise InvalidInput(str(error)) from None


def _shaped(kind: str, payload: dict[str, Any], actor: str | None) -> dict[str, Any]:
    """Check a payload and expand its short forms, such as a file as a path."""
    for name in NUMBERED:
        if isinstance(payload.get(name), int) and not isinstance(payload[name], bool):
            payload[name] = str(payload[name])
    if kind == "file" and actor in ("agent", "person") and "by" not in payload:
        payload |= {"by": actor, "evidence": payload.get("evidence") or f"reported by the {actor}"}
    if kind in ("session.open", "usage") and "budget" in payload:
        payload |= _limits(payload.pop("budget"))
    for name in COUNTED:
        count = payload.get(name)
        if isinstance(count, (int, float)) and not 0 <= count <= MOST_COUNTED:
            raise InvalidInput(f'"{name}" must be a number from 0 to {MOST_COUNTED:,}')
    workspace = payload.get("workspace")
    if kind == "session.open" and isinstance(workspace, str) and not isabs(workspace):
        raise InvalidInput('"workspace" must be the absolute path of a folder, beginning with /')
    if kind == "plan" and "title" not in payload and isinstance(payload.get("text"), str):
        payload["title"] = plan_title(payload["text"])
    items = payload.get("items")
    if kind in ("todos", "artifact") and isinstance(items, list):
        payload["items"] = [{"text": item} if isinstance(item, str) else item for item in items]
    files = payload.get("files")
    if kind == "action" and isinstance(files, list):
        payload["files"] = [
            {"path": file, "change": "modified"} if isinstance(file, str) else file for file in files
        ]
    return payload


def _limits(budget: Any) -> dict[str, Any]:
    """The limits of `budget`, a number of tokens or an object with some limits."""
    if not isinstance(budget, dict):
        return {"budget_tokens": budget}
    if unknown := sorted(set(budget) - set(LIMITS)):
        raise InvalidInput(
            f'"budget" has no limit {_echo(unknown[0])}', hint=f"the limits are: {', '.join(LIMITS)}"
        )
    return {f"budget_{what}": limit for what, limit in budget.items()}


class LineReader:
    """Reads lines in batches, so that one commit serves many.

    A line over the cap is None.
    """

    def __init__(self, descriptor: int, cap: int) -> None:
        self.descriptor = descriptor
        self.cap = cap

    def batches(self) -> Iterator[list[bytes | None]]:
        """Batches of lines. Waits only while no line is ready."""
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
