"""JSON Schemas of answers: what a question may ask for, and whether an answer matches.

A schema comes from an agent and is applied to a person's input. So it is limited first: small, not deep, no
references, and patterns that RE2 runs in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fazm_memory.errors import InvalidInput
from fazm_memory.session import VALUE_BOUND

DEEPEST = 8
LARGEST_ANSWER = 64_000  # characters of its JSON
ELSEWHERE = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema", "patternProperties"})
LITERAL = frozenset({"enum", "const", "default", "examples"})  # what stands there is data, not a schema
HINT = "type, enum, properties, required, items and their bounds are enough for a question"


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise InvalidInput if a question may not use this schema."""
    from jsonschema import SchemaError

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
    if depth > 2 * DEEPEST:  # a property is two levels: the table of properties and its own schema
        raise InvalidInput(f"The answer schema is deeper than {DEEPEST} levels.", hint=HINT)
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
