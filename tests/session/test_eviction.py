"""What a compacted context no longer mentions is named, and leads back to its event."""

from __future__ import annotations

from fazm_memory.events.event import Action, Decision, Evicted, Fact, FileTouch, Pending
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState
from tests.scribe import events

KNOWN = (
    Action("mv", files=(FileTouch("/w/2026-a.pdf", "renamed", "/w/a.pdf"),)),
    Action("mv", files=(FileTouch("/w/2026-b.pdf", "renamed", "/w/b.pdf"),)),
    Decision("dates come first in every name", "they sort"),
    Decision("skip the drafts"),
    Fact("invoices.folder", "/w/Invoices"),
    Pending("p1", "rename the November scans"),
)


def after(*result: object) -> SessionState:
    return fold(initial_state("s"), events(*KNOWN, *result))


def test_without_a_summary_everything_is_out_of_sight() -> None:
    assert after(Evicted(())).evicted_keys == {
        "file:/w/2026-a.pdf": 0,
        "file:/w/2026-b.pdf": 1,
        "fact:invoices.folder": 4,
        "decision:2": 2,
        "decision:3": 3,
        "pending:p1": 5,
    }


def test_what_the_summary_mentions_is_still_in_sight() -> None:
    reply = "Renamed 2026-a.pdf. Dates come first. invoices.folder is /w/Invoices; next: the November scans."
    assert after(Evicted((), reply)).evicted_keys == {"file:/w/2026-b.pdf": 1, "decision:3": 3}


def test_keys_an_agent_names_itself_lead_to_the_compaction_and_are_all_that_went() -> None:
    assert after(Evicted(("the plan", "step 1"), "2026-a.pdf")).evicted_keys == {"the plan": 6, "step 1": 6}


def test_keys_of_what_is_known_lead_to_where_it_stands() -> None:
    named = ("file:/w/2026-a.pdf", "decision:3", "file:/w/never")
    assert after(Evicted(named)).evicted_keys == {
        "file:/w/2026-a.pdf": 0,
        "decision:3": 3,
        "file:/w/never": 6,
    }


def test_what_is_touched_again_is_in_sight_again() -> None:
    read = Action("Read", files=(FileTouch("/w/2026-b.pdf", "read"),))
    state = after(Evicted(()), read, Fact("invoices.folder", "/v"))
    assert not {"file:/w/2026-b.pdf", "fact:invoices.folder"} & set(state.evicted_keys)


def test_a_second_compaction_that_mentions_it_brings_it_back() -> None:
    state = after(Evicted(()), Evicted((), "skip the drafts"))
    assert "decision:3" not in state.evicted_keys
    assert "decision:2" in state.evicted_keys
