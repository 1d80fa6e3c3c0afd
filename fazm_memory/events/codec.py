"""Payload dataclasses to JSON and back, driven by their type hints.

Payloads are stored for years, so decoding is strict: a wrong type or an undeclared field is refused with its
path, because guessing would lose data silently.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeVar, Union

from fazm_memory.records import MISSING, Field, dataclass, fields, is_dataclass
from fazm_memory.text import did_you_mean

T = TypeVar("T")

TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


# Maps digits to 0 and the rest to blanks, to find long integers quickly.
_DIGITS = bytes(48 if 48 <= code <= 57 else 32 for code in range(256))
_LONG = b"0" * 19  # fewer digits fit into 64 bits


def has_long_integer(text: bytes) -> bool:
    """Whether JSON text may hold an integer of more than 64 bits.

    orjson reads such an integer as a float.
    """
    return _LONG in text.translate(_DIGITS)


class PayloadError(ValueError):
    """A payload does not have the declared shape; the message names the field."""


def json_alias(json_name: str, **more: Any) -> Mapping[str, Any]:
    """Field metadata for a JSON name that Python cannot spell, such as `from`."""
    return {"json": json_name, **more}


@dataclass(frozen=True, slots=True)
class PayloadField:
    """A field of a payload.

    Has its names in Python and JSON, and how to check and encode it.
    """

    attr: str
    name: str
    required: bool
    default: Any
    check: Callable[[Any, str], Any]
    hint: Any
    plain: bool


def json_name(field: Field[Any]) -> str:
    return str(field.metadata.get("json", field.name))


FIELDS: dict[type, tuple[PayloadField, ...]] = {}


def fields_of(cls: type) -> tuple[PayloadField, ...]:
    """The fields of a payload class. Cached."""
    known = FIELDS.get(cls)
    if known is None:
        known = FIELDS[cls] = _slots(cls)
    return known


# Attribute, type whose values need no check, check.
FieldDecoder = tuple[str, type | None, Callable[[Any, str], Any] | None]
DECODERS: dict[type, dict[str, FieldDecoder]] = {}


def decoders_of(cls: type) -> dict[str, FieldDecoder]:
    known = DECODERS.get(cls)
    if known is None:
        known = DECODERS[cls] = {
            slot.name: (slot.attr, _exact(slot.hint), None if slot.hint is Any else slot.check)
            for slot in fields_of(cls)
        }
    return known


def _slots(cls: type) -> tuple[PayloadField, ...]:
    hints = typing.get_type_hints(cls)
    result = []
    for field in fields(cls):
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        hint = hints[field.name]
        result.append(
            PayloadField(
                attr=field.name,
                name=json_name(field),
                required=default is MISSING,
                default=default,
                check=checker(hint),
                hint=hint,
                plain=not _holds_dataclass(hint),
            )
        )
    return tuple(result)


def _exact(hint: Any) -> type | None:
    """The scalar type that a field holds, with or without None.

    Such values need no check.
    """
    scalars = [arg for arg in typing.get_args(hint) or (hint,) if arg is not types.NoneType]
    return scalars[0] if len(scalars) == 1 and scalars[0] in TYPE_NAMES else None


def _holds_dataclass(hint: Any) -> bool:
    return is_dataclass(hint) or any(_holds_dataclass(arg) for arg in typing.get_args(hint))


def checker(hint: Any) -> Callable[[Any, str], Any]:
    """A function that checks a value for the dataclass.

    It returns the value, or raises PayloadError with the path.
    """
    origin = typing.get_origin(hint)
    if hint is Any:
        return lambda value, path: value
    if origin in (Union, types.UnionType):
        return _union(typing.get_args(hint))
    if origin is Literal:
        return _literal(typing.get_args(hint))
    if origin is tuple:
        return _sequence(checker(typing.get_args(hint)[0]))
    if origin in (dict, Mapping) or hint in (dict, Mapping):
        return _mapping
    if is_dataclass(hint):
        return partial(decode, typing.cast(type, hint))
    return _scalar(hint)


def _scalar(hint: type) -> Callable[[Any, str], Any]:
    def check(value: Any, path: str) -> Any:
        if type(value) is hint:
            return value
        if hint is float and type(value) is int:
            return float(value)
        raise PayloadError(f"{path} must be {TYPE_NAMES.get(hint, hint.__name__)}, not {json_type(value)}")

    return check


def _union(options: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    optional = types.NoneType in options
    checks = [checker(option) for option in options if option is not types.NoneType]
    if optional and len(checks) == 1:  # the usual case, checked for every event
        only = checks[0]
        return lambda value, path: None if value is None else only(value, path)

    def check(value: Any, path: str) -> Any:
        if value is None and optional:
            return None
        problem: PayloadError | None = None
        for option in checks:
            try:
                return option(value, path)
            except PayloadError as error:
                problem = problem or error
        raise problem or PayloadError(f"{path} must be empty, not {json_type(value)}")

    return check


def _literal(options: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    texts = frozenset(option for option in options if type(option) is str)

    def check(value: Any, path: str) -> Any:
        if type(value) is str and value in texts:
            return value
        # 1 == True in Python: a literal is matched by value and by type.
        if any(value == option and type(value) is type(option) for option in options):
            return value
        raise PayloadError(f"{path} must be one of {', '.join(map(str, options))}, not {_shown(value)}")

    return check


def _sequence(item: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def check(value: Any, path: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise PayloadError(f"{path} must be a list, not {json_type(value)}")
        return tuple([item(element, f"{path}[{n}]") for n, element in enumerate(value)])

    return check


def _mapping(value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise PayloadError(f"{path} must be an object, not {json_type(value)}")
    return dict(value)


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    return TYPE_NAMES.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json_type(value)
    return repr(text[:40])


def decode(cls: type[T], raw: Any, path: str = "") -> T:
    """The payload of a JSON object.

    Raises PayloadError with the name of a wrong field.
    """
    if type(raw) is not dict and not isinstance(raw, Mapping):
        raise PayloadError(f"{path or 'the payload'} must be an object, not {json_type(raw)}")
    prefix = f"{path}." if path else ""
    known = decoders_of(cls)
    values: dict[str, Any] = {}
    for name, value in raw.items():
        reading = known.get(name)
        if reading is not None:
            attr, exact, check = reading
            values[attr] = value if check is None or type(value) is exact else check(value, prefix + name)
    if len(values) != len(raw) or len(values) < len(known):
        _check_names(cls, raw, values, prefix)
    return cls(**values)


def _check_names(cls: type, raw: Mapping[Any, Any], values: Mapping[str, Any], prefix: str) -> None:
    """Refuse a payload with a missing or an undeclared field."""
    for slot in fields_of(cls):
        if slot.required and slot.attr not in values:
            raise PayloadError(f"{prefix}{slot.name} is missing")
    if len(values) != len(raw):
        extra = sorted(set(map(str, raw)) - decoders_of(cls).keys())
        if not extra:
            raise PayloadError("two fields have the same name")
        guess, known = did_you_mean(extra[0], decoders_of(cls)), ", ".join(decoders_of(cls))
        raise PayloadError(f"unknown field {prefix}{extra[0]}. {guess}Known are {known}")


def encode(payload: Any) -> dict[str, Any]:
    """The JSON object of a payload, without fields that have their default value."""
    cls = type(payload)
    encoder = ENCODERS.get(cls)
    if encoder is None:
        encoder = ENCODERS[cls] = _encoder(cls)
    return encoder(payload)


Encoder = Callable[[Any], dict[str, Any]]
ENCODERS: dict[type, Encoder] = {}


def _encoder(cls: type) -> Encoder:
    """Generate the encoder of a class.

    A loop over the fields would take twice as long per append.
    """
    lines = ["def encoder(payload):", " made = {}"]
    names: dict[str, Any] = {"plain": _plain}
    for n, slot in enumerate(fields_of(cls)):
        default = f"default{n}"
        names[default] = slot.default
        lines.append(f" value = payload.{slot.attr}")
        unless = "" if slot.required else f"if value is not {default} and value != {default}: "
        lines.append(f" {unless}made[{slot.name!r}] = {'value' if slot.plain else 'plain(value)'}")
    exec("\n".join([*lines, " return made"]), names)
    return typing.cast(Encoder, names["encoder"])


def _plain(value: Any) -> Any:
    if type(value) is tuple:
        return [_plain(item) for item in value]
    return encode(value) if type(value) in FIELDS or is_dataclass(value) else value


# Created once: json.dumps would create it for every event. A cyclic value ends in RecursionError.
_compact = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def to_bytes(payload: Any) -> bytes:
    """The bytes that the log stores and hashes.

    Compact UTF-8 JSON in the order of the fields.
    """
    try:
        return _compact(encode(payload)).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise PayloadError(f"a value cannot be kept as JSON: {str(error)[:120]}") from None


def json_schema(cls: type) -> dict[str, Any]:
    """The JSON Schema of a payload, for the specification of the `record` protocol."""
    return {
        "type": "object",
        "properties": {slot.name: _schema_of(slot.hint) for slot in fields_of(cls)},
        "required": [slot.name for slot in fields_of(cls) if slot.required],
        "additionalProperties": False,
    }


def _schema_of(hint: Any) -> dict[str, Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema_of(arg) for arg in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": _schema_of(args[0])}
    if origin in (dict, Mapping) or hint in (dict, Mapping):
        return {"type": "object"}
    if is_dataclass(hint):
        return json_schema(typing.cast(type, hint))
    names = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
    return {"type": names[hint]}
