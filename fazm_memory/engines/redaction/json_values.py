"""Secrets in a JSON value: fields whose name says that they hold one, and the changed strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fazm_memory.engines.redaction.classify import Kind, is_field_secret, kind_of, words
from fazm_memory.engines.redaction.findings import Found, marker
from fazm_memory.engines.redaction.formats import is_card_number

NAMED = "named-secret"
CARD = "card-number"
MANIFEST = "kubernetes-secret"


def texts_in(value: Any) -> set[str]:
    """Every string in a JSON value, including keys."""
    # Without recursion, here and below: the value may be nested deeper than the stack.
    texts: set[str] = set()
    work: list[Iterable[Any]] = [[value]]
    while work:
        for item in work.pop():
            if isinstance(item, str):
                texts.add(item)
            elif isinstance(item, dict):
                texts.update(item)
                work.append(item.values())
            elif isinstance(item, list | tuple):
                work.append(item)
    return texts


class ValueRedactor:
    """Copies one JSON value without its secrets, however deep.

    `changed` maps strings to their redacted form. `row` redacts strings that belong together.
    """

    def __init__(
        self,
        changed: Mapping[str, str],
        row: Callable[[list[str], Found], list[str] | None],
        is_marker: Callable[[str], bool],
        found: Found,
    ) -> None:
        self._changed = changed
        self._row = row
        self._is_marker = is_marker
        self._found = found
        # Pending containers: the source, the target of its copy, the key there, and the inherited kind.
        self._work: list[tuple[Any, Any, Any, Kind]] = []

    def value(self, value: Any) -> Any:
        whole = [self._text(value)]
        self._place(whole, 0, Kind.NONE, Kind.NONE)
        while self._work:
            source, target, key, kind = self._work.pop()
            target[key] = (
                self._object(source, kind) if isinstance(source, dict) else self._array(source, kind)
            )
        return whole[0]

    def _object(self, source: dict[str, Any], inherited: Kind) -> dict[str, Any]:
        copy = self._with_changes(source) if self._changed else dict(source)
        for data in _manifest_data(copy):
            copy[data] = {name: self._manifest_value(value) for name, value in copy[data].items()}
        kinds = _kinds_in(copy, inherited)
        for key, value in copy.items():
            if key in kinds:
                self._place(copy, key, kinds[key], _kind_inside(key, kinds[key], value))
            elif not isinstance(value, str):
                self._place(copy, key, Kind.NONE, Kind.NONE)
        return copy

    def _manifest_value(self, value: Any) -> Any:
        is_secret = isinstance(value, str) and not self._is_marker(value) and _is_secret(value, Kind.PASSWORD)
        return self._marked(MANIFEST, value) if is_secret else value

    def _with_changes(self, source: dict[str, Any]) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        for name, value in source.items():
            key = self._changed.get(name, name)
            copy[_unused(key, copy) if key in copy else key] = self._text(value)
        return copy

    def _array(self, source: list[Any] | tuple[Any, ...], kind: Kind) -> list[Any]:
        together = len(source) > 1 and all(isinstance(value, str) for value in source)
        row = self._row(list(source), self._found) if together else None
        copy = row or [self._text(value) for value in source]
        for index in range(len(copy)):
            self._place(copy, index, kind, kind)
        if kind is Kind.NONE and together and len(copy) == 2:
            self._place(copy, 1, kind_of(copy[0]), Kind.NONE)  # ["Cookie", "sid=…"]
        return copy

    def _text(self, value: Any) -> Any:
        return self._changed.get(value, value) if isinstance(value, str) else value

    def _place(self, target: Any, key: Any, kind: Kind, kind_inside: Kind) -> None:
        """Redact one value of a copy. Containers are put off."""
        value = target[key]
        if isinstance(value, dict | list | tuple):
            self._work.append((value, target, key, kind_inside))
        elif isinstance(value, str):
            if kind is not Kind.NONE and not self._is_marker(value) and _is_secret(value, kind):
                target[key] = self._marked(NAMED, value)
        elif isinstance(value, int | float):
            if kind is not Kind.NONE and _is_secret(value, kind):
                target[key] = self._marked(NAMED, str(value))
            elif isinstance(value, int) and _is_card(value):
                target[key] = self._marked(CARD, str(value))
        elif value is not None:
            raise TypeError(f"JSON cannot hold a {type(value).__name__}")

    def _marked(self, name: str, value: str) -> str:
        self._found.add(name, value)
        return marker(name)


def _unused(key: str, copy: dict[str, Any]) -> str:
    """A key with a number, so that two redacted keys do not become the same key."""
    number = len(copy)
    unused = key
    while unused in copy:
        number += 1
        unused = f"{key} ({number})"
    return unused


def _is_card(number: int) -> bool:
    return 10**12 <= number < 10**19 and is_card_number(str(number))


# Fields with a name and fields with its value: {"name": "DB_PASSWORD", "value": "…"}.
_NAME_FIELDS = words("name key k header variable var field label option setting parameter")
_VALUE_FIELDS = words(
    """value v val values content text data plaintext secret current default defaultvalue stringvalue
    secretvalue secretstring"""
)
# Fields of a tool call that types into a form: the input element, and the text.
_ELEMENT_FIELDS = words("element selector label placeholder locator target field xpath role subrole")
_TYPED_FIELDS = words("text value keys input fill")
_SECRET_ELEMENT = re.compile(
    r"pass ?(?:word|code|phrase)|passwort|\b(?:pwd|pin|otp|cvv|cvc|secret)\b|one-time code|security code"
    r"|api[ _-]?key|card ?number|access token|AXSecureTextField",
    re.IGNORECASE,
)
_LONGEST_TYPED = 256
_MOST_KEYS = 64
# Fields that describe a secret.
_DESCRIBING = words(
    """name id type description username user email login version created_at createdat updated_at updatedat
    title label path url host port scope scopes enabled required format in key ref kind provider status
    expires_at expiresat"""
)
_PLURALS = ("secrets", "passwords", "credentials", "apikeys", "api_keys")
_PRIVATE_JWK = ("d", "p", "q", "dp", "dq", "qi", "k")
_DOCKER_AUTH = re.compile(r"(?=\D*\d)[A-Za-z0-9+/=_-]{8,}")


@dataclass(frozen=True)
class _Roles:
    """The keys of an object by role. Independent of the values, so it can be cached."""

    secrets: Mapping[str, Kind]
    names: tuple[str, ...]
    values: tuple[str, ...]
    elements: tuple[str, ...]
    typed: tuple[str, ...]


@lru_cache(maxsize=1024)
def _roles(keys: tuple[str, ...]) -> _Roles:
    secrets = {key: kind for key in keys if (kind := kind_of(key)) is not Kind.NONE}
    if "kty" in keys:
        secrets.update({key: Kind.KEY for key in _PRIVATE_JWK if key in keys})

    def among(names: frozenset[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key.lower() in names)

    return _Roles(
        secrets, among(_NAME_FIELDS), among(_VALUE_FIELDS), among(_ELEMENT_FIELDS), among(_TYPED_FIELDS)
    )


def _kinds_in(fields: Mapping[str, Any], inherited: Kind) -> Mapping[str, Kind]:
    """The keys of an object whose values may be secrets, with their kind."""
    keys = tuple(fields)
    roles = _roles(keys) if len(keys) <= _MOST_KEYS else _roles.__wrapped__(keys)
    more: dict[str, Kind] = {}
    if inherited is not Kind.NONE:
        more.update({key: inherited for key in fields if key.lower() not in _DESCRIBING})
    if roles.names and roles.values:
        for key in roles.names:
            name = fields[key]
            if isinstance(name, str) and (kind := kind_of(name)) is not Kind.NONE:
                more.update({value: kind for value in roles.values if value != key})
    if roles.elements and roles.typed:
        for element in roles.elements:
            label = fields[element]
            if isinstance(label, str) and len(label) <= _LONGEST_TYPED and _SECRET_ELEMENT.search(label):
                more.update(
                    {
                        typed: Kind.PASSWORD
                        for typed in roles.typed
                        if typed != element and _is_typed(fields[typed])
                    }
                )
    if fields.get("type") == "password":
        more.update(dict.fromkeys(roles.typed, Kind.PASSWORD))
    if fields.get("sensitive") is True:  # output of Terraform
        more.update(dict.fromkeys(roles.values, Kind.PASSWORD))
    if isinstance(auth := fields.get("auth"), str) and _DOCKER_AUTH.fullmatch(auth):
        more["auth"] = Kind.KEY
    return {**roles.secrets, **more} if more else roles.secrets


def _manifest_data(fields: Mapping[str, Any]) -> list[str]:
    """The fields of a Kubernetes Secret in which every value is a secret."""
    if fields.get("kind") != "Secret":
        return []
    return [key for key in ("data", "stringData") if isinstance(fields.get(key), dict)]


def _is_typed(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TYPED and "\n" not in value


def _kind_inside(key: str, kind: Kind, value: Any) -> Kind:
    """The kind that the values inside inherit. A list holds secrets; an object may only describe one."""
    return Kind.NONE if isinstance(value, dict) and not key.lower().endswith(_PLURALS) else kind


def _is_secret(value: Any, kind: Kind) -> bool:
    """Whether a scalar in a field of this kind is a secret."""
    if isinstance(value, str):
        return is_field_secret(value, kind)
    return isinstance(value, int | float) and not isinstance(value, bool) and kind is Kind.PASSWORD
