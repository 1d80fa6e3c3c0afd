"""Drafts become events: once, scrubbed, in their session, with what links them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.recorder import Recorder
from fazm_memory.capture.scrub import default_scrubber
from fazm_memory.errors import InvalidInput
from fazm_memory.log.store import Store
from fazm_memory.log.writer import Writer
from fazm_memory.model.events import Event


class Desk:
    """A recorder on a store of its own."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = 1_000_000
        self.recorder = Recorder(store, default_scrubber(), self._tick)

    def _tick(self) -> int:
        self.clock += 1_000_000
        return self.clock

    def record(self, *drafts: Draft) -> list[Any]:
        return self.recorder.record(drafts)

    def events(self, key: str = "s") -> list[Event]:
        row = self.store.sessions.by_key(key, None)
        assert row is not None
        return list(self.store.log.slice(row.n, row.id))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    store = Store(tmp_path / "home", key="file")
    yield Desk(store)
    store.close()


def action(**payload: Any) -> Draft:
    about = {name: payload.pop(name) for name in ("source", "key", "session", "agent") if name in payload}
    return Draft(about.pop("session", "s"), "action", {"tool": "Bash", **payload}, **about)


def test_a_session_nobody_announced_is_opened(desk: Desk) -> None:
    desk.record(action(agent="codex"))
    opened = desk.events()[0]
    assert (opened.kind, opened.payload.agent, opened.trust) == ("session.open", "codex", "unverified")


def test_two_drafts_with_one_key_are_one_event(desk: Desk) -> None:
    first, second = desk.record(action(key="k"), action(key="k"))
    assert second.appended.duplicate
    assert second.appended.seq == first.appended.seq
    assert desk.record(action(key="k"))[0].appended.duplicate


def test_a_new_event_costs_no_search_for_its_key(desk: Desk) -> None:
    desk.record(action(key="k", source="hook"))
    told: list[str] = []
    desk.store.db.connection.set_trace_callback(told.append)
    desk.record(action(key="l", source="hook"))
    desk.store.db.connection.set_trace_callback(None)
    assert any("INSERT INTO event" in one for one in told)
    assert [one for one in told if "FROM event WHERE key=" in one] == []


def test_what_was_told_before_a_question_is_no_error_when_it_is_told_again(desk: Desk) -> None:
    resumed = Draft("s", "session.resume", {}, source="record", key="r")
    desk.record(action(), Draft("s", "session.pause", {}), resumed)
    desk.record(Draft("s", "handoff", {"id": "q", "to": "human", "note": "which?"}))
    again, other = desk.record(resumed, replace(resumed, key="another"))
    assert again.appended.duplicate
    assert "waits for a person" in other.error.message


def test_two_agents_may_use_the_same_name(desk: Desk) -> None:
    one, two = desk.record(action(agent="codex"), action(agent="fazm"))
    assert one.appended.session != two.appended.session


def test_a_bad_draft_does_not_open_a_session(desk: Desk) -> None:
    failed = desk.record(Draft("new", "prompt", {"words": "x"}))[0]
    assert "text is missing" in failed.error.message
    assert desk.store.sessions.listing() == []


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_refused_and_loses_nothing_else(desk: Desk, number: float) -> None:
    first, second, third = desk.record(action(), action(input={"n": number}), action())
    assert (first.error, third.error) == (None, None)
    assert isinstance(second.error, InvalidInput)


def test_secrets_do_not_reach_the_log_in_any_field(desk: Desk) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "iJ9kL1"
    desk.record(
        Draft("s", "session.open", {"agent": "a", "title": f"use {secret}", "workspace": "/w"}),
        action(input={"command": f"TOKEN={secret} run", secret: 1}, output=[secret], error=f"bad {secret}"),
        Draft("s", "decision", {"what": secret, "why": secret, "alternatives": [secret]}),
        Draft("s", "fact", {"key": "k", "value": {"deep": [secret]}}),
        Draft("s", "evicted", {"keys": [f"file:{secret}"], "summary": secret}),
    )
    desk.store.index_all()
    everything = str(desk.events()) + str(desk.store.sessions.listing())
    assert secret not in everything
    assert len(desk.events()) == 5


OURS = "<<<fazm-memory 0123456789abcdef"
BLOCK = f"{OURS} begin: recorded data>>>\nyou renamed a\n{OURS} end>>>"


@pytest.mark.parametrize("source", ["record", "mcp", "cli", "hook", "transcript"])
def test_what_we_gave_an_agent_is_not_recorded_again_through_any_door(desk: Desk, source: str) -> None:
    desk.record(
        Draft("s", "prompt", {"text": f"{BLOCK} go on"}, source=source),
        Draft("s", "decision", {"what": "it", "why": BLOCK, "alternatives": [BLOCK]}, source=source),
        Draft("s", "fact", {"key": "k", "value": {"deep": [BLOCK]}}, source=source),
        action(tool="Read", input={"path": "x"}, output={"text": BLOCK}, source=source),
    )
    told = str([event.payload for event in desk.events()])
    assert "go on" in told
    assert "renamed" not in told
    assert "<<<fazm-memory" not in told


def test_an_outcome_is_read_from_the_error_when_left_out(desk: Desk) -> None:
    desk.record(
        action(), action(error="exit 1"), action(error="Timed out"), action(error="x", outcome="denied")
    )
    assert [event.payload.outcome for event in desk.events()[1:]] == ["ok", "error", "timeout", "denied"]


def test_a_summary_is_the_first_lines_that_say_something(desk: Desk) -> None:
    desk.record(
        action(output="\n\n  three files moved\nmore"), action(output={"stdout": "fine"}), action(output=5)
    )
    assert [event.payload.output_summary for event in desk.events()[1:]] == [
        "three files moved · more", "fine", "5",
    ]  # fmt: skip


def test_paths_stand_on_their_own(desk: Desk) -> None:
    files = [{"path": "b/../c", "change": "renamed", "from": "a"}, {"path": "/x", "change": "created"}]
    desk.record(
        Draft("s", "session.open", {"agent": "a", "workspace": "/w"}),
        action(files=files),
        Draft("s", "file", {"path": "d", "change": "deleted"}),
    )
    touched = desk.events()[1].payload.files
    assert [(touch.path, touch.origin) for touch in touched] == [("/w/c", "/w/a"), ("/x", None)]
    assert desk.events()[2].payload.path == "/w/d"


def test_a_retry_is_linked_until_something_mended_it(desk: Desk) -> None:
    call = {"input": {"command": "make"}}
    desk.record(action(**call, error="1"), action(**call, error="2"), action(**call), action(**call))
    assert [event.payload.retry_of for event in desk.events()[1:]] == [None, 1, 2, None]


def test_what_was_watched_wakes_a_session_put_aside(desk: Desk) -> None:
    desk.record(action(), Draft("s", "session.close"), action(source="hook", key="k1"))
    assert [event.kind for event in desk.events()] == [
        "session.open", "action", "session.close", "session.resume", "action",
    ]  # fmt: skip
    desk.record(action(source="transcript", key="k1"))
    assert len(desk.events()) == 5


def test_what_is_told_does_not_wake_it(desk: Desk) -> None:
    desk.record(action(), Draft("s", "session.close"))
    assert "resume it" in desk.record(action())[0].error.message


def test_a_transcript_that_knows_more_than_the_hook_amends_it_once(desk: Desk) -> None:
    desk.record(action(source="hook", key="k", call_id="c"))
    later = action(source="transcript", key="k", call_id="c", error="exit 3", duration_ms=12)
    desk.record(later)
    desk.record(later)
    kinds = [event.kind for event in desk.events()]
    assert kinds == ["session.open", "action", "action.amend"]
    amended = desk.events()[2].payload
    assert (amended.outcome, amended.error, amended.duration_ms) == ("error", "exit 3", 12)


def test_a_transcript_that_knows_the_same_adds_nothing(desk: Desk) -> None:
    desk.record(action(source="hook", key="k", duration_ms=3))
    desk.record(action(source="transcript", key="k", duration_ms=4))
    assert [event.kind for event in desk.events()] == ["session.open", "action"]


def test_opening_a_known_session_again_changes_nothing(desk: Desk) -> None:
    opening = Draft("s", "session.open", {"agent": "a", "title": "T"}, agent="a")
    first, second = desk.record(opening, opening)
    assert second.appended.duplicate
    assert first.appended.session == second.appended.session
    assert len(desk.events()) == 1


def test_a_long_text_is_cut_after_redaction_not_before(desk: Desk) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "iJ9kL1"
    text = "x" * (64 * 1024 - 10) + " " + secret + " " + "y" * 100_000
    desk.record(Draft("s", "prompt", {"text": text}))
    kept = desk.events()[1].payload.text
    assert len(kept) < 70_000
    assert secret[:12] not in kept


def test_what_is_done_beside_the_drafts_is_done_with_them_or_not_at_all(desk: Desk) -> None:
    def stop(writer: Writer) -> None:
        raise InvalidInput("not now")

    with pytest.raises(InvalidInput):
        desk.recorder.record([action(key="k")], also=stop)

    assert desk.store.sessions.listing() == []


def test_a_start_told_after_the_end_is_no_call_that_still_runs(desk: Desk) -> None:
    late = Draft("s", "action.start", {"tool": "Bash", "call_id": "1"}, source="hook", key="k:start")
    ended, started = desk.record(action(key="k", call_id="1"), late)

    assert started.appended == ended.appended._replace(duplicate=True)
    assert [event.kind for event in desk.events()] == ["session.open", "action"]


def test_a_fork_told_by_the_agents_own_names_stands_where_its_parent_stood_then(desk: Desk) -> None:
    desk.record(
        Draft("old", "session.open", {"agent": "a"}, "a", at=10),
        Draft("old", "action", {"tool": "Bash"}, "a", at=20, key="1"),
        Draft("old", "action", {"tool": "Bash"}, "a", at=40, key="2"),
        Draft("new", "session.open", {"agent": "a", "parent": "old"}, "a", at=30),
    )

    parent, fork = desk.store.sessions.by_key("old", "a"), desk.store.sessions.by_key("new", "a")
    assert parent is not None
    assert fork is not None
    assert (fork.parent, fork.parent_seq) == (parent.id, 2)


def test_a_fork_seen_before_anybody_says_so_learns_its_parent(desk: Desk) -> None:
    desk.record(
        Draft("old", "session.open", {"agent": "a"}, "a", at=10),
        Draft("new", "session.open", {"agent": "a"}, "a", at=30, source="hook"),
        Draft("new", "prompt", {"text": "go on"}, "a", at=30, source="hook"),
        Draft("new", "session.open", {"agent": "a", "parent": "old"}, "a", at=31, source="transcript"),
        Draft("new", "session.open", {"agent": "a", "parent": "old"}, "a", at=32, source="transcript"),
    )

    parent, fork = desk.store.sessions.by_key("old", "a"), desk.store.sessions.by_key("new", "a")
    assert parent is not None
    assert fork is not None
    assert (fork.parent, fork.parent_seq, fork.head) == (parent.id, 1, 3)


def test_a_session_met_by_its_title_alone_learns_where_it_works_and_since_when(desk: Desk) -> None:
    desk.record(
        Draft("s", "session.title", {"title": "Tidy"}, "a", at=50),
        Draft("s", "session.open", {"agent": "a", "workspace": "/w"}, "a", at=20),
        Draft("s", "session.open", {"agent": "a", "workspace": "/w"}, "a", at=10),
    )

    row = desk.store.sessions.by_key("s", "a")
    assert row is not None
    assert (row.workspace, row.title, row.opened_at, row.head) == ("/w", "Tidy", 20, 3)


def test_a_second_opening_that_names_no_agent_takes_none_away(desk: Desk) -> None:
    desk.record(Draft("s", "prompt", {"text": "go"}, "codex", at=1))
    desk.record(Draft("s", "session.open", {"agent": "unknown", "workspace": "/w"}, at=2))

    row = desk.store.sessions.by_key("s", None)
    assert row is not None
    assert (row.agent, row.workspace) == ("codex", "/w")


@pytest.mark.parametrize("source", ["fi\u200bles", "\x1b[0mfiles", "files\u2060", "fxx\b\biles"])
def test_a_source_that_is_a_door_only_once_it_is_scrubbed_stays_a_claim(desk: Desk, source: str) -> None:
    desk.record(Draft("s", "file", {"path": "/w/a", "change": "created"}, source=source, door="record"))
    assert desk.events()[-1].source == "record:files"
