"""Payload dataclasses to JSON and back: one reading of the type hints serves checking, encoding and schemas.

A payload is what the log keeps for years, so decoding is strict: a wrong type is named with its path and
refused; a field nobody declared is refused too, since guessing at it would silently lose it.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import partial
from typing import Any, Literal, TypeVar, Union

T = TypeVar("T")

type_names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class PayloadError(ValueError):
    """A payload does not have the declared shape; the message names the field."""


def named(json_name: str, **more: Any) -> Mapping[str, Any]:
    """Field metadata for a JSON name that Python cannot spell, such as `from`."""
    return {"json": json_name, **more}


@dataclass(frozen=True, slots=True)
class Slot:
    """One field of a payload: its two names, whether it must be there, and how to check and encode it."""

    attr: str
    name: str
    required: bool
    default: Any
    check: Callable[[Any, str], Any]
    hint: Any
    plain: bool


def json_name(field: Field[Any]) -> str:
    return str(field.metadata.get("json", field.name))


SLOTS: dict[type, tuple[Slot, ...]] = {}


def slots_of(cls: type) -> tuple[Slot, ...]:
    """The fields of a payload class, read from its hints once."""
    known = SLOTS.get(cls)
    if known is None:
        known = SLOTS[cls] = _slots(cls)
    return known


# How a field is read, by its JSON name: its attribute, the type whose values need no checking, and the check.
Reading = tuple[str, type | None, Callable[[Any, str], Any] | None]
READINGS: dict[type, dict[str, Reading]] = {}


def readings_of(cls: type) -> dict[str, Reading]:
    known = READINGS.get(cls)
    if known is None:
        known = READINGS[cls] = {
            slot.name: (slot.attr, _exact(slot.hint), None if slot.hint is Any else slot.check)
            for slot in slots_of(cls)
        }
    return known


def _slots(cls: type) -> tuple[Slot, ...]:
    hints = typing.get_type_hints(cls)
    made = []
    for field in fields(cls):
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        hint = hints[field.name]
        made.append(
            Slot(
                attr=field.name,
                name=json_name(field),
                required=default is MISSING,
                default=default,
                check=checker(hint),
                hint=hint,
                plain=not _holds_dataclass(hint),
            )
        )
    return tuple(made)


def _exact(hint: Any) -> type | None:
    """The type whose values are right as they are: nearly all fields are a text or a number, or nothing."""
    scalars = [one for one in typing.get_args(hint) or (hint,) if one is not types.NoneType]
    return scalars[0] if len(scalars) == 1 and scalars[0] in type_names else None


def _holds_dataclass(hint: Any) -> bool:
    return is_dataclass(hint) or any(_holds_dataclass(arg) for arg in typing.get_args(hint))


def checker(hint: Any) -> Callable[[Any, str], Any]:
    """A function that returns the value as the dataclass holds it, or raises PayloadError with the path."""
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
        raise PayloadError(f"{path} must be {type_names.get(hint, hint.__name__)}, not {kind_of(value)}")

    return check


def _union(options: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    optional = types.NoneType in options
    checks = [checker(option) for option in options if option is not types.NoneType]
    if optional and len(checks) == 1:  # nearly all of them, and read with every event
        only = checks[0]
        return lambda value, path: None if value is None else only(value, path)

    def check(value: Any, path: str) -> Any:
        if value is None and optional:
            return None
        problem: PayloadError | None = None
        for one in checks:
            try:
                return one(value, path)
            except PayloadError as error:
                problem = problem or error
        raise problem or PayloadError(f"{path} must be empty, not {kind_of(value)}")

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
            raise PayloadError(f"{path} must be a list, not {kind_of(value)}")
        return tuple([item(one, f"{path}[{n}]") for n, one in enumerate(value)])

    return check


def _mapping(value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise PayloadError(f"{path} must be an object, not {kind_of(value)}")
    return dict(value)


def kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    return type_names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else kind_of(value)
    return repr(text[:40])


def decode(cls: type[T], raw: Any, path: str = "") -> T:
    """The payload a JSON object stands for, or PayloadError naming the field that is wrong."""
    if type(raw) is not dict and not isinstance(raw, Mapping):
        raise PayloadError(f"{path or 'the payload'} must be an object, not {kind_of(raw)}")
    prefix = f"{path}." if path else ""
    known = readings_of(cls)
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
    """Refuse a payload that lacks a field it must have, or has one that nobody declared."""
    for slot in slots_of(cls):
        if slot.required and slot.attr not in values:
            raise PayloadError(f"{prefix}{slot.name} is missing")
    if len(values) != len(raw):
        extra = sorted(set(map(str, raw)) - readings_of(cls).keys())
        raise PayloadError(f"unknown field {prefix}{extra[0]}" if extra else "a field is named twice")


def encode(payload: Any) -> dict[str, Any]:
    """The JSON object of a payload, without what is at its default: absent and default mean the same."""
    cls = type(payload)
    encoder = ENCODERS.get(cls)
    if encoder is None:
        encoder = ENCODERS[cls] = _encoder(cls)
    return encoder(payload)


Encoder = Callable[[Any], dict[str, Any]]
ENCODERS: dict[type, Encoder] = {}


def _encoder(cls: type) -> Encoder:
    """What encodes the payloads of a class, written out once, as dataclasses write their methods: each append
    goes by here, and a loop over the fields takes twice as long."""
    lines = ["def encoder(payload):", " made = {}"]
    names: dict[str, Any] = {"plain": _plain}
    for n, slot in enumerate(slots_of(cls)):
        default = f"default{n}"
        names[default] = slot.default
        lines.append(f" value = payload.{slot.attr}")
        unless = "" if slot.required else f"if value is not {default} and value != {default}: "
        lines.append(f" {unless}made[{slot.name!r}] = {'value' if slot.plain else 'plain(value)'}")
    exec("\n".join([*lines, " return made"]), names)
    return typing.cast(Encoder, names["encoder"])


def _plain(value: Any) -> Any:
    if type(value) is tuple:
        return [_plain(one) for one in value]
    return encode(value) if type(value) in SLOTS or is_dataclass(value) else value


# Made once: json.dumps would make it anew for every event. A value inside itself ends in RecursionError.
_compact = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def to_bytes(payload: Any) -> bytes:
    """The exact bytes the log stores and digests: compact UTF-8 JSON in the order of the fields."""
    try:
        return _compact(encode(payload)).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise PayloadError(f"a value cannot be kept as JSON: {str(error)[:120]}") from None


def json_schema(cls: type) -> dict[str, Any]:
    """The JSON Schema of a payload, for the protocol's specification."""
    return {
        "type": "object",
        "properties": {slot.name: _schema_of(slot.hint) for slot in slots_of(cls)},
        "required": [slot.name for slot in slots_of(cls) if slot.required],
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
