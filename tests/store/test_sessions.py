"""Finding sessions and listing them."""

from __future__ import annotations

import json

import pytest

from fazm_memory.errors import Ambiguous, NotFound
from fazm_memory.events.event import Action, Message, Prompt
from fazm_memory.store.sessions import SessionRow
from tests.scribe import SECOND, T0, Scribe, move

PROMISED = {
    "id", "agent", "agent_session_id", "title", "workspace", "lifecycle", "parent", "opened_at", "last_at",
    "turns", "actions", "failures", "files_modified",
}  # fmt: skip


def ids(rows: list[SessionRow]) -> list[str]:
    return [row.id for row in rows]


@pytest.fixture
def two(scribe: Scribe) -> tuple[str, str]:
    """Two sessions whose ids begin alike."""
    for id_ in ("abcd" + "1" * 28, "abcd" + "2" * 28):
        with scribe.store.writing() as writer:
            writer.create("fazm", T0, session_id=id_, agent_session_id=f"own-{id_[-1]}")
    return "abcd" + "1" * 28, "abcd" + "2" * 28


def test_a_session_is_found_by_its_id_a_prefix_or_the_agents_name_for_it(
    scribe: Scribe, two: tuple[str, str]
) -> None:
    for given in (two[0], "abcd1", "own-1", "  abcd11  "):
        assert scribe.store.sessions.resolve(given).id == two[0]


def test_a_prefix_of_two_is_refused_with_both_names(scribe: Scribe, two: tuple[str, str]) -> None:
    with pytest.raises(Ambiguous, match=r"abcd11111111 .*abcd22222222"):
        scribe.store.sessions.resolve("abcd")


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    "given", ["", "  ", "zz", "%", "_", "abcd_", "'; --", "own", "\udcff", "\0", "\U0010ffff"]
)
def test_what_names_nothing_is_not_found(scribe: Scribe, given: str) -> None:
    with pytest.raises(NotFound, match="No session"):
        scribe.store.sessions.resolve(given)


def test_one_name_of_two_agents_is_refused_until_the_agent_is_reported(scribe: Scribe) -> None:
    mine = scribe.open(agent="fazm", agent_session_id="1")
    other = scribe.open(agent="codex", agent_session_id="1")
    by_key = scribe.store.sessions.by_key
    with pytest.raises(Ambiguous):
        by_key("1", None)
    found = [by_key("1", "fazm"), by_key("1", "codex"), by_key("1", "gemini")]
    assert [row and row.id for row in found] == [mine, other, None]


def test_a_write_is_never_caught_by_a_prefix(scribe: Scribe, two: tuple[str, str]) -> None:
    assert scribe.store.sessions.by_key("abcd1", None) is None
    assert scribe.store.sessions.by_key(two[0], None) is not None


def test_the_latest_sessions_come_first(scribe: Scribe) -> None:
    first = scribe.open(Message("x"))
    second = scribe.open(Message("x"))
    scribe.tell(first, Message("again"))
    assert ids(scribe.store.sessions.listing()) == [first, second]


def test_a_listing_is_a_page(scribe: Scribe) -> None:
    made = [scribe.open(Message("x")) for _ in range(7)]
    pages: list[str] = []
    before = None
    while page := scribe.store.sessions.listing(limit=3, before=before):
        pages += ids(page)
        before = page[-1].last_at
    assert pages == made[::-1]


def test_sessions_can_be_listed_across_hours_and_before_1970(scribe: Scribe) -> None:
    made = []
    for at in (-T0, -5, 0, T0, T0 + 7200 * SECOND):
        scribe.clock = at
        made.append(scribe.open())
    assert ids(scribe.store.sessions.listing()) == made[::-1]
    assert ids(scribe.store.sessions.listing(before=T0)) == made[2::-1]


def test_a_listing_can_be_narrowed(scribe: Scribe) -> None:
    one = scribe.open(Prompt("x"), workspace="/a")
    two = scribe.open(Prompt("x"), move("close"), workspace="/b", agent="codex")
    hidden = scribe.open(background=True)
    listing = scribe.store.sessions.listing
    assert ids(listing(workspace="/a")) == [one]
    assert ids(listing(agent="codex")) == ids(listing(lifecycle="closed")) == [two]
    assert ids(listing()) == [two, one]
    assert ids(listing(background=True)) == [hidden, two, one]


def test_sessions_of_a_folder_are_those_in_it_inside_it_and_around_it(scribe: Scribe) -> None:
    made = {path: scribe.open(workspace=path) for path in ("/w", "/w/app", "/w/app/src", "/w/apple", "/v")}
    inside = scribe.store.sessions.in_workspace("/w/app", limit=10)
    assert set(ids(inside)) == {made["/w"], made["/w/app"], made["/w/app/src"]}


def test_children_are_the_forks_of_a_session(scribe: Scribe) -> None:
    parent = scribe.open()
    forks = [scribe.open(parent=parent, parent_seq=1) for _ in range(2)]
    assert ids(scribe.store.sessions.children(parent)) == forks
    assert scribe.row(forks[0]).parent_seq == 1


def test_totals_count_what_is_there(scribe: Scribe) -> None:
    assert scribe.store.sessions.totals() == {"sessions": 0, "events": 0, "actions": 0}
    scribe.open(Action("t"), Message("x"))
    scribe.open()
    assert scribe.store.sessions.totals() == {"sessions": 2, "events": 4, "actions": 1}


def test_the_json_of_a_session_has_all_that_the_contract_promises(scribe: Scribe) -> None:
    results = scribe.row(scribe.open(Prompt("Sort it"), workspace="/w")).to_json()
    assert set(results) >= PROMISED
    assert json.loads(json.dumps(results)) == results
    assert "n" not in results
