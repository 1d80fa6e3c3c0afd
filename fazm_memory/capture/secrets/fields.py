"""Secrets known by the field they stand in: what the keys of a JSON object say about its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fazm_memory.capture.secrets.naming import Kind, is_field_secret, kind_of, words

# Fields that name a thing and fields that hold its value: {"name": "DB_PASSWORD", "value": "…"}.
_NAMING = words("name key k header variable var field label option setting parameter")
_HOLDING = words(
    """value v val values content text data plaintext secret current default defaultvalue stringvalue
    secretvalue secretstring"""
)
# What an agent that fills in forms says about the place it types into, and what it types there.
_PLACES = words("element selector label placeholder locator target field xpath role subrole")
_TYPED = words("text value keys input fill")
_SECRET_PLACE = re.compile(
    r"pass ?(?:word|code|phrase)|passwort|\b(?:pwd|pin|otp|cvv|cvc|secret)\b|one-time code|security code"
    r"|api[ _-]?key|card ?number|access token|AXSecureTextField",
    re.IGNORECASE,
)
_LONGEST_TYPED = 256
_MOST_KEYS = 64
# What describes a secret rather than being it.
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
    """What the keys of an object are for, whatever stands in them. Objects of one kind have the same keys."""

    secret: Mapping[str, Kind]
    naming: tuple[str, ...]
    holding: tuple[str, ...]
    places: tuple[str, ...]
    typed: tuple[str, ...]


@lru_cache(maxsize=1024)
def _roles(keys: tuple[str, ...]) -> _Roles:
    secret = {key: kind for key in keys if (kind := kind_of(key)) is not Kind.NONE}
    if "kty" in keys:
        secret.update({key: Kind.KEY for key in _PRIVATE_JWK if key in keys})

    def among(names: frozenset[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key.lower() in names)

    return _Roles(secret, among(_NAMING), among(_HOLDING), among(_PLACES), among(_TYPED))


def kinds_in(fields: Mapping[str, Any], inherited: Kind) -> Mapping[str, Kind]:
    """Which of an object's values are secrets by the words around them, and how surely."""
    keys = tuple(fields)
    roles = _roles(keys) if len(keys) <= _MOST_KEYS else _roles.__wrapped__(keys)
    more: dict[str, Kind] = {}
    if inherited is not Kind.NONE:
        more.update({key: inherited for key in fields if key.lower() not in _DESCRIBING})
    if roles.naming and roles.holding:
        for naming in roles.naming:
            name = fields[naming]
            if isinstance(name, str) and (kind := kind_of(name)) is not Kind.NONE:
                more.update({holding: kind for holding in roles.holding if holding != naming})
    if roles.places and roles.typed:
        for place in roles.places:
            said = fields[place]
            if isinstance(said, str) and len(said) <= _LONGEST_TYPED and _SECRET_PLACE.search(said):
                more.update(
                    {
                        typed: Kind.PASSWORD
                        for typed in roles.typed
                        if typed != place and _is_typed(fields[typed])
                    }
                )
    if fields.get("type") == "password":
        more.update(dict.fromkeys(roles.typed, Kind.PASSWORD))
    if fields.get("sensitive") is True:  # so said by Terraform of what it puts out
        more.update(dict.fromkeys(roles.holding, Kind.PASSWORD))
    if isinstance(auth := fields.get("auth"), str) and _DOCKER_AUTH.fullmatch(auth):
        more["auth"] = Kind.KEY
    return {**roles.secret, **more} if more else roles.secret


def manifest_data(fields: Mapping[str, Any]) -> list[str]:
    """The fields of a Kubernetes Secret in which everything is one, whatever it is called."""
    if fields.get("kind") != "Secret":
        return []
    return [key for key in ("data", "stringData") if isinstance(fields.get(key), dict)]


def _is_typed(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TYPED and "\n" not in value


def inside(key: str, kind: Kind, value: Any) -> Kind:
    """What a secret's name says about what is in it: a list holds several such secrets, an object may only
    describe one.
    """
    return Kind.NONE if isinstance(value, dict) and not key.lower().endswith(_PLURALS) else kind


def holds_secret(value: Any, kind: Kind) -> bool:
    """Whether this scalar, in a field of this kind, is a secret."""
    if isinstance(value, str):
        return is_field_secret(value, kind)
    return isinstance(value, int | float) and not isinstance(value, bool) and kind is Kind.PASSWORD
