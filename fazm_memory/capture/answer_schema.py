"""The schema of an answer: what a question may ask for, and whether an answer is that.

A schema comes from an agent and is held against a person's words, so it is bounded before it is used: small,
not deep, nothing that leads elsewhere or repeats itself, and patterns only as RE2 runs them, in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fazm_memory.errors import InvalidInput
from fazm_memory.model.state import VALUE_BOUND

DEEPEST = 8
LARGEST_ANSWER = 64_000  # characters of its JSON
ELSEWHERE = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema", "patternProperties"})
LITERAL = frozenset({"enum", "const", "default", "examples"})  # what stands there is data, not a schema
HINT = "type, enum, properties, required, items and their bounds are enough for a question"


def check_schema(schema: Mapping[str, Any]) -> None:
    """Nothing, or InvalidInput with what is wrong with it."""
    from jsonschema import SchemaError

    if len(json.dumps(schema, ensure_ascii=False)) > VALUE_BOUND:
        raise InvalidInput(f"an answer's schema may have {VALUE_BOUND} characters", hint=HINT)
    for name, value in _keywords(schema, 0):
        if name in ELSEWHERE:
            raise InvalidInput(f"an answer's schema may not use {name}", hint=HINT)
        if name == "pattern":
            _compiled(value)
    try:
        _validator().check_schema(dict(schema))
    except SchemaError as error:
        raise InvalidInput(
            f"the answer's schema is not a JSON Schema: {error.message[:200]}", hint=HINT
        ) from None


def check_answer(schema: Mapping[str, Any] | None, answer: Any) -> None:
    """Nothing, or InvalidInput with what the answer should have been."""
    if schema is None:
        return
    if len(json.dumps(answer, ensure_ascii=False, default=str)) > LARGEST_ANSWER:
        raise InvalidInput(f"an answer may have {LARGEST_ANSWER} characters")
    wrong = next(
        iter(sorted(_validator()(dict(schema)).iter_errors(answer), key=lambda one: len(one.path))), None
    )
    if wrong is not None:
        place = "".join(f"[{step!r}]" for step in wrong.path)
        raise InvalidInput(
            f"that is not the answer asked for: {(place + ' ') if place else ''}{wrong.message[:200]}",
            hint=f"it should be {json.dumps(schema, ensure_ascii=False)[:300]}",
        )


def as_asked(schema: Mapping[str, Any] | None, answer: Any) -> Any:
    """What somebody typed as what was asked for: a number, yes or no, or JSON, when plain text is not it."""
    if schema is None or not isinstance(answer, str) or _fits(schema, answer):
        return answer
    said = answer.strip().lower()
    if said in ("yes", "no") and _fits(schema, said == "yes"):
        return said == "yes"
    try:
        read = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    return read if _fits(schema, read) or not _takes_text(schema) else answer


def _takes_text(schema: Mapping[str, Any]) -> bool:
    """Whether some text might be an answer: else what was typed is judged as the JSON it is."""
    wanted = schema.get("type", "string")
    return "string" in (wanted if isinstance(wanted, (list, tuple)) else (wanted,))


def _fits(schema: Mapping[str, Any], answer: Any) -> bool:
    return bool(_validator()(dict(schema)).is_valid(answer))


def _keywords(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > 2 * DEEPEST:  # a property is two levels: the table of properties and its own schema
        raise InvalidInput(f"an answer's schema may be {DEEPEST} levels deep", hint=HINT)
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield str(name), one
            if name not in LITERAL:
                yield from _keywords(one, depth + 1)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _keywords(one, depth + 1)


def _compiled(pattern: Any) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False  # its words go to stderr, where an agent would read them
    try:
        return re2.compile(pattern if isinstance(pattern, str) else "", options=options)
    except re2.error as error:
        raise InvalidInput(f"the answer's schema has a pattern that cannot be used: {error}") from None


@cache
def _validator() -> Any:
    # Late: most sessions never ask anything.
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and _compiled(wanted).search(instance) is None:
            yield ValidationError(f"{instance[:80]!r} does not match {wanted[:80]!r}")

    return extend(Draft202012Validator, {"pattern": pattern})
