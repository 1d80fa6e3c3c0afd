"""Retention: old details go, where every session stands stays, and the chain still verifies."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from fazm_memory.events.event import (
    DAY,
    Action,
    Decision,
    Fact,
    FileTouch,
    Message,
    Prompt,
    RetentionPolicy,
    Rewind,
)
from fazm_memory.store import retention
from fazm_memory.store.event_log import event_id
from fazm_memory.store.forget import choose_events, forget_events
from fazm_memory.store.verify import verify_store
from tests.scribe import T0, Scribe, entry, move
from tests.store.test_forget import WORD, places

WORK = (
    Prompt("file the invoices"),
    Action("Bash", {"command": "mv a b"}, output="x" * 5000, files=(FileTouch("/w/b", "renamed", "/w/a"),)),
    Decision("by date", "they are found so"),
    Fact("where", "/w"),
    Action("Bash", {"command": "false"}, outcome="error", error="exit 1"),
    Message("done " * 400),
)
LATER = T0 + 400 * DAY


POLICY = RetentionPolicy(messages=180)  # messages stay unless this says otherwise


def let_go(scribe: Scribe, policy: RetentionPolicy | None = None, now: int = LATER) -> dict[str, object]:
    made = retention.plan(scribe.store, policy or POLICY, now)
    return made.to_json() | retention.apply_plan(scribe.store, made, now)


def test_old_details_go_and_what_matters_stays(scribe: Scribe) -> None:
    session = scribe.open(*WORK, workspace="/w")
    result = let_go(scribe)
    assert (result["events"], result["sessions"], result["forgotten"]) == (3, 1, 3)
    kept = [one.kind for one in scribe.events(session) if one.payload is not None]
    assert kept == ["session.open", "prompt", "decision", "fact", "checkpoint", "forgotten"]
    assert verify_store(scribe.store.log).clean


def test_the_session_stands_where_it_stood(scribe: Scribe) -> None:
    session = scribe.open(*WORK, *(Message(f"m{n}") for n in range(1100)), workspace="/w")
    before = scribe.state(session)
    let_go(scribe)
    after = scribe.state(session)
    assert replace(after, at=before.at, counts=before.counts) == before
    assert after.files_modified["/w/b"].origin == "/w/a"
    assert {**after.counts, "forgotten": 0} == {**before.counts, "forgotten": 0}


def test_a_fork_of_it_stands_where_it_stood_too(scribe: Scribe) -> None:
    session = scribe.open(*WORK, workspace="/w")
    child = scribe.open(Message("on"), parent=session, parent_seq=3)
    grandchild = scribe.open(Message("and on"), parent=child, parent_seq=1)
    before = {one: scribe.state(one) for one in (child, grandchild)}
    let_go(scribe, now=LATER)
    for one, stood in before.items():
        after = scribe.state(one)
        assert after.files_modified == stood.files_modified
        assert after.tools_used == stood.tools_used
    assert verify_store(scribe.store.log).clean


def test_a_rewound_session_stands_on_the_path_it_took(scribe: Scribe) -> None:
    session = scribe.open(*WORK, workspace="/w")
    scribe.tell(session, Rewind(to=2), Decision("by client"))
    before = scribe.state(session)
    assert not before.files_modified
    let_go(scribe)
    assert scribe.state(session).decisions_made == before.decisions_made
    assert not scribe.state(session).files_modified


def test_a_session_that_was_cleaned_is_not_the_latest(scribe: Scribe) -> None:
    old = scribe.open(*WORK, workspace="/w")
    new = scribe.open(Message("today"), workspace="/w")
    scribe.tell(new, Message("now"))
    before = scribe.row(old).last_at
    let_go(scribe)
    assert scribe.row(old).last_at == scribe.state(old).last_at == before
    assert [one.id for one in scribe.store.sessions.listing(limit=1)] == [new]


def test_twice_lets_nothing_more_go(scribe: Scribe) -> None:
    session = scribe.open(*WORK)
    let_go(scribe)
    head = scribe.row(session).head
    assert let_go(scribe)["events"] == 0
    assert scribe.row(session).head == head


@pytest.mark.parametrize(
    ("policy", "days", "gone"),
    [
        (RetentionPolicy(), 100, 0),
        (RetentionPolicy(), 181, 2),
        (RetentionPolicy(messages=180), 181, 3),
        (RetentionPolicy(actions=0), 9999, 0),
        (RetentionPolicy(prompts=10), 11, 1),
        (RetentionPolicy(actions=10, prompts=10), 11, 3),
    ],
)
def test_each_kind_has_its_own_time(scribe: Scribe, policy: RetentionPolicy, days: int, gone: int) -> None:
    scribe.open(*WORK)
    assert retention.plan(scribe.store, policy, T0 + days * DAY).to_json()["events"] == gone


def test_imported_history_counts_from_its_import(scribe: Scribe) -> None:
    imported = T0 + 300 * DAY
    with scribe.store.writing() as writer:
        head = writer.create("codex", T0, arrived=imported)
        for payload in WORK:
            writer.append(head, entry(payload, at=T0))
    assert retention.plan(scribe.store, POLICY, imported + 100 * DAY).to_json()["events"] == 0
    assert retention.plan(scribe.store, POLICY, imported + 181 * DAY).to_json()["events"] == 3


def test_an_archived_session_is_compacted_sooner(scribe: Scribe) -> None:
    session = scribe.open(*WORK)
    scribe.open(*WORK)
    scribe.tell(session, move("close"), move("archive"))
    assert retention.plan(scribe.store, RetentionPolicy(), T0 + 31 * DAY).chosen.keys() == {
        scribe.row(session).n
    }
    let_go(scribe, now=T0 + 31 * DAY)
    assert scribe.row(session).lifecycle == "archived"
    assert scribe.state(session).lifecycle == "archived"


def test_a_clean_up_wakes_no_session(scribe: Scribe) -> None:
    session = scribe.open(*WORK, move("pause"), move("resume"))
    fork = scribe.open(parent=session, parent_seq=len(WORK))
    assert let_go(scribe)["forgotten"]
    assert scribe.row(session).lifecycle == scribe.state(session).lifecycle == "resumed"
    assert scribe.row(fork).lifecycle == scribe.state(fork).lifecycle == "open"


def test_over_its_limit_the_oldest_make_room_and_the_space_is_given_back(scribe: Scribe) -> None:
    noise = [Message(Random(n).randbytes(6000).hex()) for n in range(300)]
    old = scribe.open(*noise)
    scribe.clock += 2 * DAY
    new = scribe.open(*noise)
    size = retention.store_size(scribe.store)
    assert size > 2 << 20
    result = let_go(scribe, RetentionPolicy(actions=0, megabytes=size >> 20), now=scribe.clock + 8 * DAY)
    assert result["forgotten"]
    assert scribe.store.path.stat().st_size < size
    assert scribe.store.path.stat().st_size == result["store_bytes_after"]
    assert any(one.payload is None for one in scribe.events(old))
    assert all(one.payload is not None for one in scribe.events(new))


def test_a_session_that_was_at_work_lately_makes_no_room(scribe: Scribe) -> None:
    scribe.open(*WORK)
    assert retention.plan(scribe.store, RetentionPolicy(megabytes=1), scribe.clock).to_json()["events"] == 0


def test_a_session_that_does_not_verify_is_left_alone_and_named(scribe: Scribe) -> None:
    session, other = scribe.open(*WORK), scribe.open(*WORK)
    place = event_id(scribe.row(session).n, 3)
    scribe.store.db.execute("UPDATE event SET payload=? WHERE id=?", (b"{}", place))
    result = let_go(scribe)
    assert result["left_alone"] == [session]
    assert scribe.events(other)[2].payload is None


def test_a_checkpoint_holds_nothing_that_was_forgotten(scribe: Scribe) -> None:
    session = scribe.open(*WORK, Decision(WORD), workspace="/w")
    child = scribe.open(Message("on"), parent=session, parent_seq=8)
    let_go(scribe)
    scribe.store.index_all()
    assert "event" in places(scribe.store)
    chosen = choose_events(scribe.store, session, match=WORD).seqs
    forget_events(scribe.store, chosen, reason="asked", at=LATER, source="cli")
    assert places(scribe.store) == set()
    assert WORD not in str(scribe.state(child))
    assert verify_store(scribe.store.log).clean


def test_what_is_let_go_is_found_by_no_search(scribe: Scribe) -> None:
    def found() -> int:
        row = scribe.store.db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (WORD,)).fetchone()
        return int(row[0])

    scribe.open(Message(f"about {WORD}"))
    scribe.store.index_all()
    assert found() == 1
    let_go(scribe)
    assert found() == 0
