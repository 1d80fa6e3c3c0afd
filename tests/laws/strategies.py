"""Made-up payloads and histories for the laws, read from the same type hints the codec reads.

Names come from small pools, so that paths, ids and tools meet again: the laws are about what happens then.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from hypothesis import strategies as st

from fazm_memory.events import event as payloads
from fazm_memory.events.codec import fields_of
from fazm_memory.events.event import KINDS, Event
from fazm_memory.events.kinds import ACTORS, SOURCES, TRUSTS
from tests.scribe import SECOND, T0, event

# JSON has every character but half a surrogate pair.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.one_of(st.sampled_from(["a", "b", "/w/a.txt", "/w/b.txt", "/w/x/c", "/v/d"]), texts)
small = st.integers(0, 30)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type hint of a payload."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return json_values
    if origin in (typing.Union, types.UnionType):
        return st.one_of([of(arg) for arg in args])
    if origin is typing.Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(of(args[0]), max_size=4).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(texts, json_values, max_size=3)
    if is_dataclass(hint):
        return payload(typing.cast(type, hint))
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: names,
        int: small,
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        types.NoneType: st.none(),
    }
    return simple[hint]


def payload(cls: type) -> st.SearchStrategy[Any]:
    return st.builds(cls, **{slot.attr: of(slot.hint) for slot in fields_of(cls)})


PAYLOADS = {name: payload(kind.payload) for name, kind in KINDS.items()}
payload_classes = sorted({kind.payload for kind in KINDS.values()} | {payloads.FileTouch}, key=str)

# A checkpoint repeats where the session stands and says nothing new: only retention writes one.
payloads_of_any_kind = st.sampled_from(sorted(set(KINDS) - {"checkpoint"})).flatmap(
    lambda kind: st.tuples(st.just(kind), PAYLOADS[kind])
)


@st.composite
def histories(draw: st.DrawFn, kinds: tuple[str, ...] = (), max_size: int = 25) -> list[Event]:
    """Events with dense positions, as any door might have told them; some already forgotten."""
    pool = (
        payloads_of_any_kind
        if not kinds
        else st.sampled_from(kinds).flatmap(lambda kind: st.tuples(st.just(kind), PAYLOADS[kind]))
    )
    made = []
    turn = 0
    for seq, (kind, payload_) in enumerate(draw(st.lists(pool, max_size=max_size))):
        turn += kind == "prompt"
        gone = draw(st.integers(0, 9)) == 0
        made.append(
            event(
                (kind, None if gone else payload_),
                seq,
                at=T0 + draw(st.integers(-5, 5)) * SECOND,
                turn=turn,
                actor=draw(st.sampled_from(ACTORS)),
                source=draw(st.sampled_from(SOURCES)),
                trust=draw(st.sampled_from(TRUSTS)),
            )
        )
    return made
