"""Drafts become events: once, redacted, in their session, with what links them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.engines.redaction import default_redactor
from fazm_memory.errors import InvalidInput
from fazm_memory.events.event import Draft, Event
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.store.store import Store
from fazm_memory.store.writer import Writer


class RecorderEnv:
    """A recorder on a store of its own."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = 1_000_000
        self.recorder = Recorder(store, default_redactor(), self._tick)

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
def env(tmp_path: Path) -> Iterator[RecorderEnv]:
    store = Store(tmp_path / "home", key="file")
    yield RecorderEnv(store)
    store.close()


def action(**payload: Any) -> Draft:
    about = {name: payload.pop(name) for name in ("source", "key", "session", "agent") if name in payload}
    return Draft(about.pop("session", "s"), "action", {"tool": "Bash", **payload}, **about)


def test_a_session_nobody_announced_is_opened(env: RecorderEnv) -> None:
    env.record(action(agent="codex"))
    opened = env.events()[0]
    assert (opened.kind, opened.payload.agent, opened.trust) == ("session.open", "codex", "unverified")


def test_two_drafts_with_one_key_are_one_event(env: RecorderEnv) -> None:
    first, second = env.record(action(key="k"), action(key="k"))
    assert second.appended.duplicate
    assert second.appended.seq == first.appended.seq
    assert env.record(action(key="k"))[0].appended.duplicate


def test_a_new_event_costs_no_search_for_its_key(env: RecorderEnv) -> None:
    env.record(action(key="k", source="hook"))
    results: list[str] = []
    env.store.db.connection.set_trace_callback(results.append)
    env.record(action(key="l", source="hook"))
    env.store.db.connection.set_trace_callback(None)
    assert any("INSERT INTO event" in one for one in results)
    assert [one for one in results if "FROM event WHERE key=" in one] == []


def test_what_was_reported_before_a_question_is_no_error_when_it_is_reported_again(env: RecorderEnv) -> None:
    resumed = Draft("s", "session.resume", {}, source="record", key="r")
    env.record(action(), Draft("s", "session.pause", {}), resumed)
    env.record(Draft("s", "handoff", {"id": "q", "to": "human", "note": "which?"}))
    again, other = env.record(resumed, replace(resumed, key="another"))
    assert again.appended.duplicate
    assert "waits for a person" in other.error.message


def test_two_agents_may_use_the_same_name(env: RecorderEnv) -> None:
    one, two = env.record(action(agent="codex"), action(agent="fazm"))
    assert one.appended.session != two.appended.session


def test_a_bad_draft_does_not_open_a_session(env: RecorderEnv) -> None:
    failed = env.record(Draft("new", "prompt", {"words": "x"}))[0]
    assert "text is missing" in failed.error.message
    assert env.store.sessions.listing() == []


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_refused_and_loses_nothing_else(
    env: RecorderEnv, number: float
) -> None:
    first, second, third = env.record(action(), action(input={"n": number}), action())
    assert (first.error, third.error) == (None, None)
    assert isinstance(second.error, InvalidInput)


def test_secrets_do_not_reach_the_log_in_any_field(env: RecorderEnv) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "iJ9kL1"
    env.record(
        Draft("s", "session.open", {"agent": "a", "title": f"use {secret}", "workspace": "/w"}),
        action(input={"command": f"TOKEN={secret} run", secret: 1}, output=[secret], error=f"bad {secret}"),
        Draft("s", "decision", {"what": secret, "why": secret, "alternatives": [secret]}),
        Draft("s", "fact", {"key": "k", "value": {"deep": [secret]}}),
        Draft("s", "evicted", {"keys": [f"file:{secret}"], "summary": secret}),
    )
    env.store.index_all()
    everything = str(env.events()) + str(env.store.sessions.listing())
    assert secret not in everything
    assert len(env.events()) == 5


OURS = "<<<fazm-memory 0123456789abcdef"
BLOCK = f"{OURS} begin: recorded data>>>\nyou renamed a\n{OURS} end>>>"


@pytest.mark.parametrize("source", ["record", "mcp", "cli", "hook", "transcript"])
def test_what_we_gave_an_agent_is_not_recorded_again_through_any_door(env: RecorderEnv, source: str) -> None:
    env.record(
        Draft("s", "prompt", {"text": f"{BLOCK} go on"}, source=source),
        Draft("s", "decision", {"what": "it", "why": BLOCK, "alternatives": [BLOCK]}, source=source),
        Draft("s", "fact", {"key": "k", "value": {"deep": [BLOCK]}}, source=source),
        action(tool="Read", input={"path": "x"}, output={"text": BLOCK}, source=source),
    )
    results = str([event.payload for event in env.events()])
    assert "go on" in results
    assert "renamed" not in results
    assert "<<<fazm-memory" not in results


def test_every_copy_of_a_secret_in_a_session_is_redacted(env: RecorderEnv) -> None:
    secret = "Kq29x_Pw81mm"
    env.record(
        action(input={"command": f"./run {secret}"}), action(input={"command": f"login --password {secret}"})
    )
    env.record(
        action(input={"command": f"echo {secret}"}), action(session="t", input={"command": f"echo {secret}"})
    )

    assert secret not in repr(env.events())
    assert secret in repr(env.events("t"))  # another session, where it is only a word


def test_an_outcome_is_read_from_the_error_when_left_out(env: RecorderEnv) -> None:
    env.record(
        action(), action(error="exit 1"), action(error="Timed out"), action(error="x", outcome="denied")
    )
    assert [event.payload.outcome for event in env.events()[1:]] == ["ok", "error", "timeout", "denied"]


def test_a_summary_is_the_first_lines_that_say_something(env: RecorderEnv) -> None:
    env.record(
        action(output="\n\n  three files moved\nmore"), action(output={"stdout": "fine"}), action(output=5)
    )
    assert [event.payload.output_summary for event in env.events()[1:]] == [
        "three files moved · more", "fine", "5",
    ]  # fmt: skip


def test_paths_stand_on_their_own(env: RecorderEnv) -> None:
    files = [{"path": "b/../c", "change": "renamed", "from": "a"}, {"path": "/x", "change": "created"}]
    env.record(
        Draft("s", "session.open", {"agent": "a", "workspace": "/w"}),
        action(files=files),
        Draft("s", "file", {"path": "d", "change": "deleted"}),
    )
    touched = env.events()[1].payload.files
    assert [(touch.path, touch.origin) for touch in touched] == [("/w/c", "/w/a"), ("/x", None)]
    assert env.events()[2].payload.path == "/w/d"


def test_a_retry_is_linked_until_something_mended_it(env: RecorderEnv) -> None:
    call = {"input": {"command": "make"}}
    env.record(action(**call, error="1"), action(**call, error="2"), action(**call), action(**call))
    assert [event.payload.retry_of for event in env.events()[1:]] == [None, 1, 2, None]


def test_what_was_watched_wakes_a_session_put_aside(env: RecorderEnv) -> None:
    env.record(action(), Draft("s", "session.close"), action(source="hook", key="k1"))
    assert [event.kind for event in env.events()] == [
        "session.open", "action", "session.close", "session.resume", "action",
    ]  # fmt: skip
    env.record(action(source="transcript", key="k1"))
    assert len(env.events()) == 5


def test_what_is_reported_does_not_wake_it(env: RecorderEnv) -> None:
    env.record(action(), Draft("s", "session.close"))
    assert "resume it" in env.record(action())[0].error.message


def test_a_transcript_that_knows_more_than_the_hook_amends_it_once(env: RecorderEnv) -> None:
    env.record(action(source="hook", key="k", call_id="c"))
    later = action(source="transcript", key="k", call_id="c", error="exit 3", duration_ms=12)
    env.record(later)
    env.record(later)
    kinds = [event.kind for event in env.events()]
    assert kinds == ["session.open", "action", "action.amend"]
    amended = env.events()[2].payload
    assert (amended.outcome, amended.error, amended.duration_ms) == ("error", "exit 3", 12)


def test_a_transcript_that_knows_the_same_adds_nothing(env: RecorderEnv) -> None:
    env.record(action(source="hook", key="k", duration_ms=3))
    env.record(action(source="transcript", key="k", duration_ms=4))
    assert [event.kind for event in env.events()] == ["session.open", "action"]


def test_opening_a_known_session_again_changes_nothing(env: RecorderEnv) -> None:
    opening = Draft("s", "session.open", {"agent": "a", "title": "T"}, agent="a")
    first, second = env.record(opening, opening)
    assert second.appended.duplicate
    assert first.appended.session == second.appended.session
    assert len(env.events()) == 1


def test_a_long_text_is_cut_after_redaction_not_before(env: RecorderEnv) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "iJ9kL1"
    text = "x" * (64 * 1024 - 10) + " " + secret + " " + "y" * 100_000
    env.record(Draft("s", "prompt", {"text": text}))
    kept = env.events()[1].payload.text
    assert len(kept) < 70_000
    assert secret[:12] not in kept


def test_what_is_done_beside_the_drafts_is_done_with_them_or_not_at_all(env: RecorderEnv) -> None:
    def stop(writer: Writer) -> None:
        raise InvalidInput("not now")

    with pytest.raises(InvalidInput):
        env.recorder.record([action(key="k")], also=stop)

    assert env.store.sessions.listing() == []


def test_a_start_reported_after_the_end_is_no_call_that_still_runs(env: RecorderEnv) -> None:
    late = Draft("s", "action.start", {"tool": "Bash", "call_id": "1"}, source="hook", key="k:start")
    ended, started = env.record(action(key="k", call_id="1"), late)

    assert started.appended == ended.appended._replace(duplicate=True)
    assert [event.kind for event in env.events()] == ["session.open", "action"]


def test_a_fork_reported_by_the_agents_own_names_stands_where_its_parent_stood_then(env: RecorderEnv) -> None:
    env.record(
        Draft("old", "session.open", {"agent": "a"}, "a", at=10),
        Draft("old", "action", {"tool": "Bash"}, "a", at=20, key="1"),
        Draft("old", "action", {"tool": "Bash"}, "a", at=40, key="2"),
        Draft("new", "session.open", {"agent": "a", "parent": "old"}, "a", at=30),
    )

    parent, fork = env.store.sessions.by_key("old", "a"), env.store.sessions.by_key("new", "a")
    assert parent is not None
    assert fork is not None
    assert (fork.parent, fork.parent_seq) == (parent.id, 2)


def test_a_fork_seen_before_anybody_says_so_learns_its_parent(env: RecorderEnv) -> None:
    env.record(
        Draft("old", "session.open", {"agent": "a"}, "a", at=10),
        Draft("new", "session.open", {"agent": "a"}, "a", at=30, source="hook"),
        Draft("new", "prompt", {"text": "go on"}, "a", at=30, source="hook"),
        Draft("new", "session.open", {"agent": "a", "parent": "old"}, "a", at=31, source="transcript"),
        Draft("new", "session.open", {"agent": "a", "parent": "old"}, "a", at=32, source="transcript"),
    )

    parent, fork = env.store.sessions.by_key("old", "a"), env.store.sessions.by_key("new", "a")
    assert parent is not None
    assert fork is not None
    assert (fork.parent, fork.parent_seq, fork.head) == (parent.id, 1, 3)


def test_a_session_met_by_its_title_alone_learns_where_it_works_and_since_when(env: RecorderEnv) -> None:
    env.record(
        Draft("s", "session.title", {"title": "Tidy"}, "a", at=50),
        Draft("s", "session.open", {"agent": "a", "workspace": "/w"}, "a", at=20),
        Draft("s", "session.open", {"agent": "a", "workspace": "/w"}, "a", at=10),
    )

    row = env.store.sessions.by_key("s", "a")
    assert row is not None
    assert (row.workspace, row.title, row.opened_at, row.head) == ("/w", "Tidy", 20, 3)


def test_a_second_opening_that_names_no_agent_takes_none_away(env: RecorderEnv) -> None:
    env.record(Draft("s", "prompt", {"text": "go"}, "codex", at=1))
    env.record(Draft("s", "session.open", {"agent": "unknown", "workspace": "/w"}, at=2))

    row = env.store.sessions.by_key("s", None)
    assert row is not None
    assert (row.agent, row.workspace) == ("codex", "/w")


@pytest.mark.parametrize("source", ["fi\u200bles", "\x1b[0mfiles", "files\u2060", "fxx\b\biles"])
def test_a_source_that_is_a_door_only_once_it_is_redacted_stays_a_claim(
    env: RecorderEnv, source: str
) -> None:
    env.record(Draft("s", "file", {"path": "/w/a", "change": "created"}, source=source, door="record"))
    assert env.events()[-1].source == "record:files"


def answer(source: str, **fields: Any) -> Draft:
    payload = {"what": "the second", "form": "answer", "question": "Which?"}
    return Draft("s", "decision", payload, source=source, **({"actor": "person"} | fields))


@pytest.mark.parametrize("source", ["hook", "transcript", "record"])
def test_an_answer_of_the_user_has_the_users_trust(env: RecorderEnv, source: str) -> None:
    env.record(Draft("s", "prompt", {"text": "go"}), action(tool="WebFetch"), answer(source))
    assert (env.events()[-1].trust, env.events()[-1].actor) == ("user", "person")


@pytest.mark.parametrize(
    "draft",
    [answer("mcp"), answer("transcript", actor="agent"), answer("transcript", trust="agent")],
    ids=["told by a model", "by the agent", "claimed lower"],
)
def test_nothing_else_passes_for_the_users_decision(env: RecorderEnv, draft: Draft) -> None:
    env.record(Draft("s", "prompt", {"text": "go"}), draft)
    assert env.events()[-1].trust == "agent"


def test_a_plan_is_the_agents_and_its_verdict_the_users(env: RecorderEnv) -> None:
    for status, actor in (("presented", "agent"), ("accepted", "person"), ("presented", "person")):
        env.record(Draft("s", "plan", {"title": "t", "status": status}, source="hook", actor=actor))
    assert [event.trust for event in env.events()[1:]] == ["agent", "user", "agent"]


def test_a_queued_prompt_stays_in_its_turn(env: RecorderEnv) -> None:
    queued = Draft("s", "prompt", {"text": "and the tests", "form": "queued"})
    env.record(Draft("s", "prompt", {"text": "go"}), queued, Draft("s", "prompt", {"text": "next"}))
    assert [event.turn for event in env.events()[1:]] == [1, 1, 2]


def observed(kind: str, at: int, **payload: Any) -> Draft:
    return Draft("s", kind, payload, agent="a", at=at, source="transcript", key=f"{kind}:{at}")


def lifecycle_of(env: RecorderEnv) -> str:
    row = env.store.sessions.by_key("s", "a")
    assert row is not None
    return row.lifecycle


def test_what_happened_before_the_end_leaves_a_session_ended(env: RecorderEnv) -> None:
    env.record(observed("prompt", 10, text="go"), observed("session.close", 20, reason="exit"))
    env.record(observed("message", 15, text="done"))
    assert (lifecycle_of(env), env.events()[-1].kind) == ("closed", "message")
    env.record(observed("prompt", 30, text="again"))
    assert lifecycle_of(env) == "active"


def test_an_end_that_two_sources_report_is_one_end(env: RecorderEnv) -> None:
    env.record(observed("prompt", 10, text="go"), observed("session.close", 20, reason="exit"))
    (again,) = env.record(replace(observed("session.close", 21), source="hook", key="other"))
    assert again.appended.duplicate
    assert [event.kind for event in env.events()].count("session.close") == 1


def test_an_end_after_which_the_session_went_on_for_long_is_no_end(env: RecorderEnv) -> None:
    hour = env.clock = 3_600_000_000
    env.record(observed("prompt", hour, text="go"), observed("session.close", 20, reason="exit"))
    assert lifecycle_of(env) == "active"


def told_in(session: str, text: str) -> Draft:
    return Draft(session, "prompt", {"text": text}, agent="a", at=10, source="transcript", key="k")


def test_other_words_under_a_known_key_are_kept_in_their_own_session(env: RecorderEnv) -> None:
    env.record(told_in("s", "first"))
    for _ in range(2):
        env.record(told_in("t", "second"))
    assert [event.payload.text for event in env.events("t") if event.kind == "prompt"] == ["second"]


def test_a_copy_of_another_sessions_words_is_not_recorded_again(env: RecorderEnv) -> None:
    env.record(told_in("s", "first"))
    assert env.record(told_in("t", "first"))[0].appended.duplicate
