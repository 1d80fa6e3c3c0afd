"""What each kind of event does to the state of its session."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.model import payloads
from fazm_memory.model.events import KINDS
from fazm_memory.model.fold import APPLY, delta, fold, initial
from fazm_memory.model.inheritance import inherited, interrupted
from fazm_memory.model.payloads import (
    Action,
    ActionAmend,
    ActionStart,
    AppSpan,
    Decision,
    Evicted,
    Fact,
    FactRetract,
    FileChange,
    FileTouch,
    Handoff,
    HandoffAnswer,
    Pending,
    PendingDone,
    Prompt,
    Rewind,
    Seen,
    SessionOpen,
    SessionTitle,
    Usage,
)
from fazm_memory.model.state import BOUNDS, SEEN_FILES, TEXT_BOUND, SessionState
from tests.scribe import T0, event, events, move

LONG = "word " * 1000


def after(*told: Any) -> SessionState:
    return fold(initial("s"), events(*told))


def test_a_session_begins_open_and_empty() -> None:
    state = after(SessionOpen("fazm", workspace="/w", title="Sort", budget_tokens=1000))
    assert (state.agent, state.workspace, state.title, state.lifecycle) == ("fazm", "/w", "Sort", "open")
    assert state.budget == {"limit": 1000}
    assert state.at == 1


def test_tools_are_counted_and_the_last_used_is_last() -> None:
    state = after(Action("Bash"), Action("Read"), Action("Bash"))
    assert list(state.tools_used.items()) == [("Read", 1), ("Bash", 2)]
    assert state.counts["actions"] == 3


def test_a_failed_call_is_state() -> None:
    state = after(Action("Bash", {"command": "make"}, outcome="timeout", error="no answer in 120 s"))
    assert state.errors == {
        0: {
            "seq": 0, "tool": "Bash", "target": "make", "outcome": "timeout", "error": "no answer in 120 s",
            "result": None, "mended_by": None,
        }
    }  # fmt: skip
    assert state.counts["failures"] == 1


def test_a_retry_that_works_mends_the_failure_it_names() -> None:
    state = after(Action("Bash", outcome="error", error="x"), Action("Bash", retry_of=0))
    assert state.errors[0]["mended_by"] == 1


def test_a_retry_that_fails_too_says_what_it_retried() -> None:
    state = after(Action("Bash", outcome="error"), Action("Bash", outcome="error", retry_of=0))
    assert state.errors[1]["retry_of"] == 0
    assert state.errors[0]["mended_by"] is None


def test_an_amendment_that_knows_of_a_failure_adds_it() -> None:
    state = after(Action("Bash", call_id="c"), ActionAmend("c", outcome="error", error="exit 2"))
    assert state.counts == {"actions": 1, "failures": 1}
    assert state.errors[1]["error"] == "exit 2"


def test_files_an_action_touched_are_the_working_set() -> None:
    touched = (FileTouch("/w/a", "read"), FileTouch("/w/b", "created"), FileTouch("/v/d", "renamed", "/w/c"))
    state = after(Action("Bash", files=touched))
    assert list(state.files_read) == ["/w/a"]
    assert {path: entry.change for path, entry in state.files_modified.items()} == {
        "/w/b": "created",
        "/v/d": "renamed",
    }
    assert state.files_modified["/v/d"].origin == "/w/c"
    assert state.files_modified["/w/b"].by == "agent"
    assert {folder: set(entry) - {"last_seq"} for folder, entry in state.folders.items()} == {
        "/w": {"read", "created", "moved_out"},
        "/v": {"renamed"},
    }


@pytest.mark.parametrize(
    ("action", "evidence"),
    [
        (Action("Bash", files=(FileTouch("/a", "modified"),)), "Bash call"),
        (Action("Bash", files=(FileTouch("/a", "modified", inferred=True),)), "Bash call, inferred"),
        (
            Action("Bash", files=(FileTouch("/a", "modified", inferred=True, why="a glob"),)),
            "Bash call, inferred: a glob",
        ),
        (Action("Bash", outcome="error", files=(FileTouch("/a", "modified"),)), "Bash call, inferred"),
    ],
)
def test_the_evidence_says_how_far_a_touch_is_known(action: Action, evidence: str) -> None:
    assert after(action).files_modified["/a"].evidence == evidence


def test_a_change_seen_on_disk_keeps_whose_hand_it_was() -> None:
    state = after(FileChange("/w/a", "deleted", by="person", evidence="Finder was in front"))
    assert state.files_modified["/w/a"].by == "person"
    assert after(FileChange("/w/a", "deleted")).files_modified["/w/a"].evidence == "seen on disk"


def test_what_a_person_did_through_a_tool_is_theirs() -> None:
    told = event(Action("edit", files=(FileTouch("/a", "modified"),)), actor="person")
    assert fold(initial("s"), [told]).files_modified["/a"].by == "person"


def test_a_call_that_began_runs_until_it_is_told_to_have_ended() -> None:
    started = ActionStart("Bash", call_id="c")
    begun = {"tool": "Bash", "seq": 0, "at": T0, "turn": 0, "target": ""}
    assert after(started).running == {"c": begun}
    assert after(started, Action("Bash", call_id="c")).running == {}


def test_a_call_that_never_ended_is_told_as_interrupted() -> None:
    state = interrupted(after(ActionStart("Bash", call_id="c"), Prompt("go on")))
    assert state.running == {}
    assert state.errors[0]["outcome"] == "interrupted"
    assert state.errors[0]["error"] == "call c never finished"


def test_interrupting_keeps_to_the_bound_and_counts_what_goes() -> None:
    running = [ActionStart("Bash", call_id=f"c{n}") for n in range(BOUNDS["running"])]
    state = interrupted(after(Action("Read", outcome="error"), *running))
    assert len(state.errors) == BOUNDS["errors"]
    assert state.omitted["errors"] == 1 + BOUNDS["running"] - BOUNDS["errors"]
    assert list(state.errors)[-1] == BOUNDS["running"]


def test_decisions_keep_their_reason_their_turn_and_their_trust() -> None:
    made = event(Decision("rename", "the user asked", ("copy",)), turn=3, trust="tool")
    decision = fold(initial("s"), [made]).decisions_made[0]
    assert {name: decision[name] for name in ("what", "why", "alternatives", "turn", "trust")} == {
        "what": "rename",
        "why": "the user asked",
        "alternatives": ["copy"],
        "turn": 3,
        "trust": "tool",
    }


def test_a_later_fact_with_the_same_key_supersedes_and_a_retracted_one_is_gone() -> None:
    assert after(Fact("k", 1), Fact("k", {"a": [2]})).facts["k"]["value"] == {"a": [2]}
    assert after(Fact("k", 1), FactRetract("k")).facts == {}


def test_what_is_pending_stays_until_it_is_done() -> None:
    state = after(Pending("1", "call Ann"), Pending("2", "pay"), PendingDone("1"))
    assert [one["what"] for one in state.pending_actions.values()] == ["pay"]


def test_a_handoff_is_an_open_question_until_it_is_answered() -> None:
    asked = Handoff("q", "human", "which folder?", {"type": "string"})
    assert after(asked).questions["q"]["answer_schema"] == {"type": "string"}
    assert after(asked, HandoffAnswer("q", "the left one")).questions == {}


def test_evicted_keys_are_named() -> None:
    state = after(Evicted(("plan", "notes"), "summary"), Evicted(("plan",)))
    assert list(state.evicted_keys) == ["notes", "plan"]
    assert state.counts["compactions"] == 2


def test_seen_files_gather_per_folder_and_say_how_many_there_are() -> None:
    state = after(Seen("/w", ("a", "b")), Seen("/w", ("b", "c"), total=9))
    assert state.seen["/w"] == {"files": ["a", "b", "c"], "total": 9, "seq": 1}
    many = after(Seen("/w", tuple(map(str, range(SEEN_FILES + 5))))).seen["/w"]
    assert (len(many["files"]), many["total"]) == (SEEN_FILES, SEEN_FILES + 5)


def test_apps_count_their_spans_and_keep_the_last_window() -> None:
    state = after(AppSpan("Mail", "Inbox"), AppSpan("Mail", "Re: tax", document="/d"))
    assert state.apps["Mail"] == {"spans": 2, "title": "Re: tax", "document": "/d", "last_seq": 1}


def test_the_budget_adds_up() -> None:
    state = after(Usage(10, 5, 1, budget_tokens=100), Usage(1, 1, 1))
    assert state.budget == {"input_tokens": 11, "output_tokens": 6, "cached_tokens": 2, "limit": 100}


def test_the_first_prompt_names_a_session_that_nobody_named() -> None:
    assert after(SessionOpen("a"), Prompt("Sort it\nplease"), Prompt("more")).title == "Sort it"
    assert after(SessionOpen("a", title="Mine"), Prompt("Sort")).title == "Mine"
    assert after(Prompt("Sort"), SessionTitle("Better")).title == "Better"
    assert after(Prompt("  \n ")).title is None


def test_trust_falls_to_the_lowest_and_stays_there() -> None:
    trusts = ["user", "web", "agent"]
    told = [event(Prompt("x"), seq, trust=trust) for seq, trust in enumerate(trusts)]
    assert fold(initial("s"), told).trust == "web"


def test_a_forgotten_event_leaves_its_place_and_nothing_else() -> None:
    state = fold(initial("s"), [event(("decision", None)), event(("action", None), 1)])
    assert (state.at, state.counts, state.decisions_made) == (2, {"forgotten": 2}, {})


def test_the_life_of_a_session_is_folded_from_its_moves() -> None:
    lived = [after(SessionOpen("a"), Prompt("x"), *moves).lifecycle for moves in (
        [], [move("pause")], [move("pause"), move("resume")], [move("close")],
        [move("close"), move("archive")],
    )]  # fmt: skip
    assert lived == ["active", "paused", "resumed", "closed", "archived"]


def test_a_wrong_move_in_an_old_record_changes_nothing() -> None:
    assert after(SessionOpen("a"), Prompt("x"), move("resume")).lifecycle == "active"


def test_rewinding_takes_up_work_wherever_the_past_stood() -> None:
    paused = after(SessionOpen("a"), Prompt("x"), move("pause"))
    assert fold(paused, [event(Rewind(3), 5)]).lifecycle == "active"
    assert fold(paused, [event(("rewind", None), 5)]).lifecycle == "active"  # also once it is forgotten


def test_long_text_is_cut_in_state() -> None:
    state = after(
        Decision(LONG, LONG, (LONG,) * 30),
        Fact("text", LONG),
        Fact("deep", {"a": [LONG]}),
        SessionTitle(LONG),
        Handoff("q", "human", LONG, {"title": LONG}),
        AppSpan("Mail", LONG, LONG),
        Pending("p", LONG),
        FileChange("/a", "created", evidence=LONG),
        Action("t", outcome="error", error=LONG),
    )
    decision, question, app = state.decisions_made[0], state.questions["q"], state.apps["Mail"]
    texts = [decision["what"], decision["why"], decision["alternatives"][0], question["note"], app["title"]]
    texts += [state.facts["text"]["value"], state.facts["deep"]["value"], state.title, app["document"]]
    texts += [state.pending_actions["p"]["what"], state.errors[8]["error"]]
    texts += [state.files_modified["/a"].evidence]
    for text in texts:
        assert isinstance(text, str)
        assert len(text) == TEXT_BOUND
        assert text.endswith("…")
    assert len(decision["alternatives"]) == 10
    assert "title" not in question["answer_schema"]


def test_beyond_its_bound_a_table_lets_the_oldest_go_and_counts_it() -> None:
    state = after(*(Pending(str(n), "x") for n in range(BOUNDS["pending_actions"] + 3)))
    assert len(state.pending_actions) == BOUNDS["pending_actions"]
    assert next(iter(state.pending_actions)) == "3"
    assert state.omitted == {"pending_actions": 3}


def test_a_fork_keeps_its_parents_decisions_beside_its_own_at_the_same_positions() -> None:
    parent = after(Decision("theirs"), Action("Bash", outcome="error", error="old"), Decision("theirs too"))
    child = fold(
        inherited(parent, "child"),
        events(Decision("mine"), Action("Bash", outcome="error"), Decision("mine too")),
    )
    assert [(one.get("session"), one["seq"], one["what"]) for one in child.decisions_made.values()] == [
        ("s", 0, "theirs"),
        ("s", 2, "theirs too"),
        (None, 0, "mine"),
        (None, 2, "mine too"),
    ]
    assert len(child.errors) == 2
    assert (child.session, child.at) == ("child", 3)


def test_a_fork_of_a_fork_knows_whose_each_decision_was() -> None:
    first = after(Decision("a"))
    second = fold(inherited(first, "second"), events(Decision("b")))
    third = fold(inherited(second, "third"), events(Decision("c")))
    assert [(one.get("session"), one["what"]) for one in third.decisions_made.values()] == [
        ("s", "a"),
        ("second", "b"),
        (None, "c"),
    ]


def test_a_fork_mends_only_its_own_failures() -> None:
    parent = after(Action("Bash", outcome="error"))
    child = fold(inherited(parent, "c"), events(Action("Bash", outcome="error"), Action("Bash", retry_of=0)))
    assert [one["mended_by"] for one in child.errors.values()] == [None, 1]


def test_a_fork_begins_open_with_what_was_running_interrupted() -> None:
    child = inherited(after(SessionOpen("a"), ActionStart("Bash", call_id="c"), move("pause")), "child")
    assert (child.lifecycle, child.running, child.at) == ("open", {}, 0)
    assert [one["outcome"] for one in child.errors.values()] == ["interrupted"]


def test_every_kind_that_the_fold_knows_is_a_kind() -> None:
    assert set(APPLY) <= set(KINDS)


def test_the_delta_of_an_event_is_what_it_alone_adds() -> None:
    told = delta(event(Action("mv", files=(FileTouch("/b", "renamed", "/a"), FileTouch("/c", "read"))), 7))
    assert told["files_modified"][0]["path"] == "/b"
    assert told["files_read"] == ["/c"]
    assert told["tools_used"] == ["mv"]
    assert delta(event(payloads.Message("hello"))) == {}


def test_a_call_is_interrupted_when_its_session_ends() -> None:
    state = after(ActionStart("Bash", {"command": "make"}, call_id="c"), move("close"))
    assert state.running == {}
    error = state.errors[0]
    assert (error["outcome"], error["target"], error["found_at"]) == ("interrupted", "make", 1)


def test_a_call_is_interrupted_when_the_user_asks_for_the_next_thing_and_a_subagents_goes_on() -> None:
    told = [
        event(ActionStart("Bash", call_id="c"), 0, turn=1),
        event(ActionStart("Task", call_id="t", agent_id="sub"), 1, turn=1),
        event(Prompt("stop, do this"), 2, turn=2),
    ]
    state = fold(initial("s"), told)
    assert list(state.running) == ["t"]
    assert state.errors[0]["error"] == "the user asked for the next thing before it ended"


def test_a_call_that_finishes_after_all_was_not_interrupted() -> None:
    told = [
        event(ActionStart("Bash", call_id="c"), 0, turn=1),
        event(Prompt("meanwhile"), 1, turn=2),
        event(Action("Bash", call_id="c"), 2, turn=2),
    ]
    state = fold(initial("s"), told)
    assert (state.errors, state.counts["interrupted"]) == ({}, 0)


def test_a_call_is_interrupted_when_somebody_says_its_agent_is_gone() -> None:
    gone = payloads.ActionAmend("c", outcome="interrupted", error="the machine restarted")
    state = after(ActionStart("Bash", {"command": "make"}, call_id="c"), gone)
    assert state.running == {}
    assert (state.errors[0]["tool"], state.errors[0]["error"]) == ("Bash", "the machine restarted")


def test_a_retry_that_works_mends_all_it_went_back_to() -> None:
    state = after(
        Action("make", outcome="error"),
        Action("make", outcome="error", retry_of=0),
        Action("make", retry_of=1),
    )
    assert [one["mended_by"] for one in state.errors.values()] == [2, 2]


def test_an_answer_says_who_decided_what() -> None:
    asked = event(Handoff("q", "human", "Delete them?"), 0)
    answered = event(HandoffAnswer("q", "no"), 1, actor="person", source="cli")
    told = fold(initial("s"), [asked, answered]).answered["q"]
    assert (told["note"], told["answer"], told["by"], told["source"]) == (
        "Delete them?",
        "no",
        "person",
        "cli",
    )
    assert (told["asked"], told["seq"]) == (0, 1)


def test_what_came_from_the_web_is_named_in_the_state() -> None:
    page = event(Action("WebFetch", {"url": "https://x"}), 0, trust="web")
    state = fold(initial("s"), [page, event(Decision("as the page says"), 1, trust="web")])
    told = [(one["seq"], one["kind"], one["what"]) for one in state.untrusted.values()]
    assert told == [(0, "action", "https://x"), (1, "decision", "as the page says")]
    assert state.trust == "web"
