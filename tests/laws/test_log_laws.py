"""The laws of the log, held against histories that nobody would think of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fazm_memory.engines.redaction import Redactor
from fazm_memory.errors import Conflict, FazmMemoryError
from fazm_memory.events import codec
from fazm_memory.events.event import KINDS, Draft, retained_payload
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import to_snapshot
from fazm_memory.store import projections, views
from fazm_memory.store.forget import forget_events
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.laws.strategies import PAYLOADS
from tests.scribe import T0, Scribe, entry

# Openings are made by the scribe; positions to rewind to are drawn where the head is known.
KIND_NAMES = sorted(set(KINDS) - {"session.open", "rewind", "checkpoint"})
KindAndPayload = tuple[str, Any]
payload_pairs: st.SearchStrategy[KindAndPayload] = st.sampled_from(KIND_NAMES).flatmap(
    lambda kind: st.tuples(st.just(kind), PAYLOADS[kind])
)
tellings = st.lists(payload_pairs, max_size=20)
few = settings(max_examples=25)


@pytest.fixture(scope="module")
def scribe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scribe]:
    """One store for all examples, each in sessions of its own; snapshots are kept often, to be met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "SPACING", 5)
        patch.setattr(projections, "INDEX_AFTER", 16)
        store = Store(tmp_path_factory.mktemp("laws") / "home", key="file")
        yield Scribe(store)
        store.close()


def tell(scribe: Scribe, session: str, history: list[KindAndPayload], **more: Any) -> list[KindAndPayload]:
    """Tell what can be told; what is refused must leave everything as it was. What was taken."""
    taken = []
    number = scribe.row(session).n
    with scribe.store.writing() as writer:
        head = writer.head(number)
        for one in history:
            before = (head.counts(), head.face())
            try:
                writer.append(head, entry(one, **more))
            except FazmMemoryError:
                kept = (head.counts(), head.face()) == before
                assert kept, one
            else:
                taken.append(one)
    return taken


def whole(scribe: Scribe, session: str) -> tuple[Any, ...]:
    """All there is of a session, to be compared."""
    return scribe.row(session), scribe.events(session), scribe.state(session)


@few
@given(history=tellings)
def test_what_was_appended_comes_back_at_dense_positions(
    scribe: Scribe, history: list[KindAndPayload]
) -> None:
    session = scribe.open()
    taken = tell(scribe, session, history)
    events = scribe.events(session)
    assert [(one.kind, one.payload) for one in events[1:]] == taken
    assert [one.seq for one in events] == list(range(len(events)))
    assert scribe.row(session).head == len(events)


@few
@given(history=tellings, cuts=st.lists(st.integers(-3, 25), min_size=3, max_size=3).map(sorted))
def test_slices_are_half_open_and_fit_together(
    scribe: Scribe, history: list[KindAndPayload], cuts: list[int]
) -> None:
    session = scribe.open()
    tell(scribe, session, history)
    one, two, three = cuts
    both = scribe.events(session, one, two) + scribe.events(session, two, three)
    assert both == scribe.events(session, one, three)
    assert scribe.events(session, one, one) == []
    assert scribe.events(session, one, three) == scribe.events(session)[max(0, one) : max(0, three)]


@few
@given(history=tellings, data=st.data())
def test_a_snapshot_and_the_tail_are_the_full_fold(
    scribe: Scribe, history: list[KindAndPayload], data: st.DataObject
) -> None:
    session = scribe.open()
    tell(scribe, session, history)
    scribe.store.index_all()
    events = scribe.events(session)
    at = data.draw(st.integers(0, len(events)))
    full = fold(initial_state(session), events[:at])
    assert to_snapshot(scribe.state(session, at)) == to_snapshot(full)


@few
@given(parts=st.lists(st.tuples(tellings, st.integers(0, 60)), max_size=4))
def test_rewinds_lead_to_the_same_state_with_and_without_snapshots(
    scribe: Scribe, parts: list[tuple[list[KindAndPayload], int]]
) -> None:
    session = scribe.open()
    for history, back in parts:
        tell(scribe, session, history)
        head = scribe.row(session).head
        tell(scribe, session, [("rewind", codec.decode(KINDS["rewind"].payload, {"to": back % (head + 1)}))])
    scribe.store.index_all()
    cached = scribe.state(session)
    with scribe.store.db.transaction():
        scribe.store.snapshots.drop(scribe.row(session).n)
    assert to_snapshot(scribe.state(session)) == to_snapshot(cached)
    assert scribe.row(session).lifecycle == cached.lifecycle


@few
@given(history=tellings)
def test_telling_it_twice_changes_nothing(scribe: Scribe, history: list[KindAndPayload]) -> None:
    session = scribe.open()
    keyed = [(one, f"{session}:{n}") for n, one in enumerate(history)]
    taken = [(one, key) for one, key in keyed if tell(scribe, session, [one], key=key)]
    before = whole(scribe, session)
    for one, key in taken:
        assert scribe.tell(session, one, key=key)[0].duplicate
    assert whole(scribe, session) == before


@few
@given(history=tellings)
def test_a_sessions_row_says_what_its_state_says(scribe: Scribe, history: list[KindAndPayload]) -> None:
    session = scribe.open()
    tell(scribe, session, history)
    row, state = scribe.row(session), scribe.state(session)
    assert (row.lifecycle, row.turn, row.head, row.last_at) == (
        state.lifecycle,
        state.turn,
        state.at,
        state.last_at,
    )
    counts = [state.counts.get(name, 0) for name in ("actions", "failures", "files_modified")]
    assert [row.actions, row.failures, row.files_modified] == counts
    assert (row.title, row.workspace) == (state.title, state.workspace)


@few
@given(one=tellings, other=tellings, order=st.lists(st.booleans(), max_size=40))
def test_sessions_at_once_never_see_each_others_state(
    scribe: Scribe, one: list[KindAndPayload], other: list[KindAndPayload], order: list[bool]
) -> None:
    first, second = scribe.open(), scribe.open()
    rest = {True: list(one), False: list(other)}
    for mine in [*order, *[True] * len(one), *[False] * len(other)]:
        if rest[mine]:
            tell(scribe, first if mine else second, [rest[mine].pop(0)], at=T0)
    for session, history in ((first, one), (second, other)):
        alone = scribe.open()
        tell(scribe, alone, history, at=T0)
        apart = to_snapshot(scribe.state(alone)).replace(alone.encode(), session.encode())
        assert to_snapshot(scribe.state(session)) == apart


@few
@given(history=tellings, expected=st.integers(0, 25))
def test_an_expected_position_is_right_or_refused_with_the_head(
    scribe: Scribe, history: list[KindAndPayload], expected: int
) -> None:
    session = scribe.open()
    tell(scribe, session, [one for one in history if not one[0].startswith("session.")])
    head = scribe.row(session).head
    message = ("message", KINDS["message"].payload("x"))
    if expected == head:
        assert scribe.tell(session, message, expected_seq=expected)[0].seq == head
        return
    with pytest.raises(Conflict) as refused:
        scribe.tell(session, message, expected_seq=expected)
    assert refused.value.details["head"] == scribe.row(session).head == head


@few
@given(history=tellings, data=st.data())
def test_the_chain_verifies_whatever_was_reported_and_forgotten(
    scribe: Scribe, history: list[KindAndPayload], data: st.DataObject
) -> None:
    session = scribe.open()
    tell(scribe, session, history)
    number, events = scribe.row(session).n, scribe.events(session)
    assert verify_store(scribe.store.log, only=number).clean
    gone = data.draw(st.sets(st.integers(0, len(events) - 1)))
    forget_events(scribe.store, {number: sorted(gone)}, reason="asked", at=T0, source="cli")
    assert verify_store(scribe.store.log, only=number).clean
    left = scribe.events(session)[: len(events)]
    for before, after in zip(events, left, strict=True):
        forgotten = before.seq in gone and before.kind != "forgotten"
        assert after.payload == (
            retained_payload(before.kind, before.payload) if forgotten else before.payload
        )


@pytest.fixture(scope="module")
def recorder(scribe: Scribe) -> Recorder:
    return Recorder(scribe.store, Redactor([], text_cap=64 * 1024), lambda: T0)


OURS = {"session.open", "rewind", "forgotten", "checkpoint", "recovered", "unknown"}
RECORDABLE = sorted(set(KINDS) - OURS)


@few
@given(
    data=st.data(),
    kinds=st.lists(st.sampled_from(RECORDABLE), min_size=1, max_size=12),
    source=st.sampled_from(["record", "hook", "transcript"]),
)
def test_recording_twice_changes_nothing(
    scribe: Scribe, recorder: Recorder, data: st.DataObject, kinds: list[str], source: str
) -> None:
    session = scribe.open()
    drafts = [
        Draft(
            session, kind, codec.encode(data.draw(PAYLOADS[kind])), source=source, key=f"{session}:{n}", at=T0
        )
        for n, kind in enumerate(kinds)
    ]
    kept = [draft for draft in drafts if recorder.record([draft])[0].error is None]
    before = whole(scribe, session)
    again = recorder.record([*kept, *kept])
    assert all(one.appended is not None and one.appended.duplicate for one in again)
    assert whole(scribe, session) == before
