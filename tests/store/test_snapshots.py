"""Cached folds: the state at any position, through rewinds and forks, with or without the cache."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fazm_memory.errors import NotFound
from fazm_memory.events.event import (
    Action,
    ActionStart,
    Decision,
    Event,
    Fact,
    FileTouch,
    Message,
    Pending,
    Prompt,
    Rewind,
    SessionOpen,
)
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import FOLD_VERSION, SessionState
from fazm_memory.store import projections, views
from fazm_memory.store import store as store_module
from tests.scribe import Scribe, move

SPACING = 10


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "SPACING", SPACING)
    monkeypatch.setattr(projections, "INDEX_AFTER", 16)


def kept(scribe: Scribe, session: str) -> list[int]:
    number = scribe.row(session).n
    rows = scribe.store.db.execute("SELECT seq FROM snapshot WHERE session=? ORDER BY seq", (number,))
    return [row[0] for row in rows]


def uncached(scribe: Scribe, session: str, at: int | None = None) -> SessionState:
    """The same state with nothing kept anywhere."""
    db = scribe.store.db
    db.execute("SAVEPOINT without")
    scribe.store.snapshots.drop()
    state = scribe.state(session, at)
    db.execute("ROLLBACK TO without")
    db.execute("RELEASE without")
    return state


def many(count: int) -> list[Fact]:
    return [Fact(f"k{n % 7}", n) for n in range(count)]


def test_a_snapshot_is_kept_every_so_many_events(scribe: Scribe) -> None:
    session = scribe.open(*many(99))
    assert kept(scribe, session) == list(range(SPACING, 101, SPACING))
    assert kept(scribe, scribe.open(*many(3))) == []


def test_the_state_at_every_position_is_the_full_fold(scribe: Scribe) -> None:
    session = scribe.open(*many(79))
    events = scribe.events(session)
    assert kept(scribe, session)
    for at in range(len(events) + 1):
        assert scribe.state(session, at) == fold(initial_state(session), events[:at])


def test_only_the_events_since_the_last_snapshot_are_read(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = scribe.open(*many(99))
    read: list[tuple[int, int | None]] = []
    real = scribe.store.log.slice

    def slice_(number: int, id_: str, start: int = 0, stop: int | None = None) -> object:
        read.append((start, stop))
        return real(number, id_, start, stop)

    monkeypatch.setattr(scribe.store.log, "slice", slice_)
    scribe.state(session, 57)
    assert read == [(50, 57)]


def test_snapshots_can_be_dropped_at_any_time(scribe: Scribe) -> None:
    session = scribe.open(*many(99))
    before = scribe.state(session)
    with scribe.store.db.transaction():
        scribe.store.snapshots.drop()
    assert kept(scribe, session) == []
    assert scribe.state(session) == before
    scribe.tell(session, *many(80))
    assert kept(scribe, session) == list(range(SPACING, 181, SPACING))
    assert scribe.state(session) == uncached(scribe, session)


def test_a_snapshot_of_another_fold_is_not_used(scribe: Scribe, monkeypatch: pytest.MonkeyPatch) -> None:
    session = scribe.open(*many(99))
    before = scribe.state(session)
    scribe.store.db.execute("UPDATE snapshot SET state=x'00', fold=fold+1")
    assert scribe.state(session) == before


def test_after_a_rewind_the_state_is_that_of_its_target(scribe: Scribe) -> None:
    session = scribe.open(Fact("k", "old"), Fact("k", "new"), Pending("1", "x"))
    scribe.tell(session, Rewind(2), Decision("another way"))
    state = scribe.state(session)
    assert state.facts["k"]["value"] == "old"
    assert state.pending_actions == {}
    assert [one["what"] for one in state.decisions_made.values()] == ["another way"]
    assert scribe.state(session, 4).facts["k"]["value"] == "new"
    assert (state.at, scribe.row(session).head) == (6, 6)


def test_rewinds_of_rewinds_lead_where_they_say(scribe: Scribe) -> None:
    session = scribe.open(Fact("k", 1), Fact("k", 2), Rewind(2), Fact("k", 3), Rewind(3), Rewind(0))
    values = [scribe.state(session, at).facts.get("k", {}).get("value") for at in range(8)]
    assert values == [None, None, 1, 2, 1, 3, 2, None]


def test_rewinds_are_seen_through_snapshots(scribe: Scribe) -> None:
    session = scribe.open(*many(30))
    scribe.tell(session, Rewind(5), *many(30), Rewind(40), *many(45))
    assert len(kept(scribe, session)) > 5
    for at in (0, 5, 31, 32, 33, 40, 50, 62, 63, 64, 80, 108):
        assert scribe.state(session, at) == uncached(scribe, session, at), at


def test_rewinding_a_paused_moment_takes_up_work_in_the_row_and_in_the_state(scribe: Scribe) -> None:
    session = scribe.open(Prompt("x"), move("pause"), move("resume"), Message("y"))
    scribe.tell(session, Rewind(3))
    assert scribe.row(session).lifecycle == scribe.state(session).lifecycle == "active"


def test_a_forked_session_sees_its_parents_past_and_not_its_future(scribe: Scribe) -> None:
    parent = scribe.open(Fact("k", "then"), Decision("theirs"), Fact("k", "later"))
    child = scribe.open(Decision("mine"), parent=parent, parent_seq=3)
    scribe.tell(parent, Fact("k", "latest"), Decision("theirs later"))
    state = scribe.state(child)
    assert state.facts["k"]["value"] == "then"
    assert [(one.get("session"), one["what"]) for one in state.decisions_made.values()] == [
        (parent, "theirs"),
        (None, "mine"),
    ]
    assert (state.session, state.at, state.lifecycle) == (child, 2, "active")
    assert scribe.state(child, 0).facts["k"]["value"] == "then"


def test_what_a_fork_does_leaves_its_parent_alone(scribe: Scribe) -> None:
    parent = scribe.open(Fact("k", "then"))
    before = scribe.state(parent)
    child = scribe.open(Fact("k", "other"), Pending("1", "x"), parent=parent, parent_seq=2)
    scribe.tell(child, *many(90))
    assert scribe.state(parent) == before


def test_a_fork_in_mid_action_begins_with_it_interrupted(scribe: Scribe) -> None:
    parent = scribe.open(ActionStart("Bash", call_id="c"))
    child = scribe.open(parent=parent, parent_seq=2)
    scribe.tell(parent, Action("Bash", call_id="c"))
    assert [one["outcome"] for one in scribe.state(child).errors.values()] == ["interrupted"]
    assert scribe.state(parent).errors == {}


def test_a_fork_of_a_fork_of_a_rewound_session_is_the_same_with_and_without_snapshots(scribe: Scribe) -> None:
    one = scribe.open(*many(70))
    scribe.tell(one, Rewind(20), *many(20))
    two = scribe.open(*many(70), parent=one, parent_seq=80)
    three = scribe.open(*many(70), parent=two, parent_seq=44)
    for at in (0, 1, 9, 10, 11, 71):
        assert scribe.state(three, at) == uncached(scribe, three, at)


def test_a_fork_whose_parent_is_not_here_says_so(scribe: Scribe) -> None:
    child = scribe.open(Message("x"), parent="f" * 32, parent_seq=3)
    with pytest.raises(NotFound, match="forked from ffffffff, which is not in this store"):
        scribe.state(child)


def test_a_session_that_learns_its_parent_late_inherits_from_then_on(scribe: Scribe) -> None:
    parent = scribe.open(Decision("theirs"))
    child = scribe.open(*many(79))
    assert kept(scribe, child)
    scribe.tell(child, SessionOpen("fazm", parent=parent, parent_seq=2))
    assert "theirs" in [one["what"] for one in scribe.state(child).decisions_made.values()]
    assert scribe.state(child) == uncached(scribe, child)
    scribe.tell(child, *many(79))
    assert scribe.state(child) == uncached(scribe, child)
    assert "theirs" in [one["what"] for one in scribe.state(child, 155).decisions_made.values()]


def test_a_snapshot_stays_small(scribe: Scribe) -> None:
    wide = "x" * 2000
    touched = [
        Action("Write", wide, files=(FileTouch(f"/w/folder/{n}.txt", "created"),)) for n in range(1500)
    ]
    session = scribe.open(*touched)
    sizes = [row[0] for row in scribe.store.db.execute("SELECT length(state) FROM snapshot ORDER BY seq")]
    assert max(sizes) < 40_000
    assert len(scribe.state(session).files_modified) == 1000


def test_snapshots_of_an_older_fold_are_made_anew_at_the_first_look(scribe: Scribe) -> None:
    session = scribe.open(*(Message(f"m{n}") for n in range(3 * SPACING)))
    scribe.store.index_all()
    scribe.store.db.execute("UPDATE snapshot SET fold = fold - 1")
    row = scribe.row(session)
    before = scribe.state(session, 2 * SPACING + 5)
    scribe.store.rebuild_snapshots(row, 2 * SPACING + 5)
    kept = scribe.store.db.execute("SELECT seq FROM snapshot WHERE fold=? ORDER BY seq", (FOLD_VERSION,))
    assert [one[0] for one in kept] == [SPACING, 2 * SPACING, 3 * SPACING]
    assert scribe.state(session, 2 * SPACING + 5) == before


def folded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each fold from here on is of."""
    counts: list[int] = []

    def counting(state: SessionState, events: Iterable[Event]) -> SessionState:
        results = list(events)
        counts.append(len(results))
        return fold(state, results)

    monkeypatch.setattr(views.sessions, "fold", counting)
    return counts


def current(scribe: Scribe, session: str) -> list[int]:
    rows = scribe.store.db.execute(
        "SELECT seq FROM snapshot WHERE session=? AND fold=? ORDER BY seq",
        (scribe.row(session).n, FOLD_VERSION),
    )
    return [row[0] for row in rows]


def aged(scribe: Scribe) -> tuple[str, str]:
    """A session that was rewound and its fork, with snapshots of an older fold."""
    session = scribe.open(*many(99))
    scribe.tell(session, Rewind(45), *many(60))
    fork = scribe.open(*many(40), parent=session, parent_seq=120)
    scribe.store.index_all()
    scribe.store.snapshot_heads([scribe.row(session)])
    scribe.store.projections.reset()
    scribe.store.db.execute("UPDATE snapshot SET state=x'00', fold=fold-1")
    return session, fork


def test_who_appends_does_not_wait_for_snapshots_of_an_older_fold(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = aged(scribe)
    counts = folded(monkeypatch)
    scribe.tell(session, *many(80))
    assert (counts, current(scribe, session)) == ([], [])


def test_snapshots_of_an_older_fold_are_made_anew_a_step_at_a_time(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = aged(scribe)
    expected = [uncached(scribe, one) for one in sessions]
    counts = folded(monkeypatch)
    steps = 0
    while scribe.store.rebuild_one_snapshot():
        steps += 1
    assert (steps, max(counts)) == (20 + 1, SPACING)
    assert [current(scribe, one) for one in sessions] == [list(range(10, 161, 10)), [10, 20, 30, 40]]
    assert scribe.store.snapshots.stale() == []
    assert [scribe.state(one) for one in sessions] == expected
    scribe.tell(sessions[0], *many(20))
    scribe.store.index_all()
    assert current(scribe, sessions[0])[-1] == 180  # and on it goes
    assert scribe.state(sessions[0]) == uncached(scribe, sessions[0])


def test_who_looks_at_a_long_session_of_an_older_fold_is_reported_that_it_takes_a_while(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, fork = aged(scribe)
    results: list[str] = []
    scribe.store.tell = results.append
    monkeypatch.setattr(store_module, "MANY", 50)
    scribe.store.snapshot_heads([scribe.row(fork)])
    assert len(results) == 1
    assert fork[:8] in results[0]
    counts = folded(monkeypatch)
    scribe.store.rebuild_snapshots(scribe.row(session), scribe.row(session).head)
    scribe.state(fork)
    assert (len(results), max(counts) <= SPACING) == (1, True)


def test_a_session_that_cannot_be_folded_keeps_no_other_from_being_made_anew(scribe: Scribe) -> None:
    session, fork = aged(scribe)
    scribe.store.db.execute("UPDATE event SET payload=x'00' WHERE id=?", (scribe.row(session).n << 32 | 5,))
    fine = scribe.open(*many(40))
    scribe.store.index_all()
    scribe.store.db.execute(
        "UPDATE snapshot SET fold=? WHERE session=?", (FOLD_VERSION - 1, scribe.row(fine).n)
    )
    while scribe.store.rebuild_one_snapshot():
        pass
    assert [current(scribe, one) for one in (session, fork, fine)] == [[], [], [10, 20, 30, 40]]
