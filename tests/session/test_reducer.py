"""What each kind of event does to the state of its session."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events import event as payloads
from fazm_memory.events.event import (
    KINDS,
    Action,
    ActionAmend,
    ActionStart,
    AppSpan,
    Artifact,
    ArtifactItem,
    Decision,
    Evicted,
    Fact,
    FactRetract,
    FileChange,
    FileTouch,
    FolderListing,
    Handoff,
    HandoffAnswer,
    Pending,
    PendingDone,
    Prompt,
    Rewind,
    SessionOpen,
    SessionTitle,
    Usage,
)
from fazm_memory.session.reducer import (
    HANDLERS,
    event_delta,
    fold,
    fork_state,
    initial_state,
    interrupt_running,
)
from fazm_memory.session.state import (
    BOUNDS,
    MAX_LISTED_FILES,
    TEXT_BOUND,
    SessionState,
    from_snapshot,
    state_hash,
    state_to_json,
    to_snapshot,
)
from tests.scribe import T0, event, events, move

LONG = "word " * 1000


def after(*results: Any) -> SessionState:
    return fold(initial_state("s"), events(*results))


def test_a_session_begins_open_and_empty() -> None:
    state = after(SessionOpen("fazm", workspace="/w", title="Sort", budget_tokens=1000))
    assert (state.agent, state.workspace, state.title, state.lifecycle) == ("fazm", "/w", "Sort", "open")
    assert state.budget["limit"] == 1000
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
    result = event(Action("edit", files=(FileTouch("/a", "modified"),)), actor="person")
    assert fold(initial_state("s"), [result]).files_modified["/a"].by == "person"


def test_a_call_that_began_runs_until_it_is_reported_to_have_ended() -> None:
    started = ActionStart("Bash", call_id="c")
    begun = {"tool": "Bash", "seq": 0, "at": T0, "turn": 0, "target": ""}
    assert after(started).running == {"c": begun}
    assert after(started, Action("Bash", call_id="c")).running == {}


def test_a_call_that_never_ended_is_reported_as_interrupted() -> None:
    state = interrupt_running(after(ActionStart("Bash", call_id="c"), Prompt("go on")))
    assert state.running == {}
    assert state.errors[0]["outcome"] == "interrupted"
    assert state.errors[0]["error"] == "call c never finished"


def test_interrupting_keeps_to_the_bound_and_counts_what_goes() -> None:
    running = [ActionStart("Bash", call_id=f"c{n}") for n in range(BOUNDS["running"])]
    state = interrupt_running(after(Action("Read", outcome="error"), *running))
    assert len(state.errors) == BOUNDS["errors"]
    assert state.omitted["errors"] == 1 + BOUNDS["running"] - BOUNDS["errors"]
    assert list(state.errors)[-1] == BOUNDS["running"]


def test_decisions_keep_their_reason_their_turn_and_their_trust() -> None:
    made = event(Decision("rename", "the user asked", ("copy",)), turn=3, trust="tool")
    decision = fold(initial_state("s"), [made]).decisions_made[0]
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
    state = after(FolderListing("/w", ("a", "b")), FolderListing("/w", ("b", "c"), total=9))
    assert state.seen["/w"] == {"files": ["a", "b", "c"], "total": 9, "seq": 1}
    many = after(FolderListing("/w", tuple(map(str, range(MAX_LISTED_FILES + 5))))).seen["/w"]
    assert (len(many["files"]), many["total"]) == (MAX_LISTED_FILES, MAX_LISTED_FILES + 5)


def test_apps_count_their_spans_and_keep_the_last_window() -> None:
    state = after(AppSpan("Mail", "Inbox"), AppSpan("Mail", "Re: tax", document="/d"))
    assert state.apps["Mail"] == {"spans": 2, "title": "Re: tax", "document": "/d", "last_seq": 1}


def test_the_budget_adds_up() -> None:
    state = after(Usage(10, 5, 1, budget_tokens=100), Usage(1, 1, 1))
    shown = state_to_json(state)["budget"]
    assert shown == {
        "input_tokens": 11, "output_tokens": 6, "cached_tokens": 2, "limit": 100,
        "spent": {"tokens": 17, "usd": 0.0}, "limits": {"tokens": 100}, "remaining": {"tokens": 83},
        "exceeded": [],
    }  # fmt: skip


def test_time_while_paused_is_not_spent_and_an_exceeded_limit_is_named() -> None:
    state = after(
        SessionOpen("fazm", budget_seconds=3, budget_actions=1),  # at second 0
        move("pause"), move("resume"),  # from second 1 to 2
        Action("Bash"), Action("Bash"),  # until second 4
    )  # fmt: skip
    shown = state_to_json(state)["budget"]
    assert shown["spent"] == {"tokens": 0, "usd": 0.0, "seconds": 3, "actions": 2}
    assert shown["remaining"] == {"seconds": 0, "actions": -1}
    assert shown["exceeded"] == ["actions"]


def test_an_answer_in_a_pause_does_not_end_it_and_a_closed_session_spends_no_time() -> None:
    state = after(
        SessionOpen("fazm", budget_seconds=9),  # at second 0
        Handoff("q", "human", "which?"), move("pause"),  # paused from second 2
        HandoffAnswer("q", "this one"), FileChange("/w/a", "modified"), move("resume"),  # until second 5
        move("close"), move("resume"),  # closed from second 6 to 7
        Action("Bash"),  # until second 8
    )  # fmt: skip
    assert state_to_json(state)["budget"]["spent"]["seconds"] == 4


def test_every_author_of_a_file_is_kept_with_the_turn_of_the_call() -> None:
    state = fold(initial_state("s"), [
        event(Prompt("one"), 0, turn=1),
        event(ActionStart("Bash", call_id="c"), 1, turn=1),
        event(Prompt("two"), 2, turn=2),
        event(FileChange("/w/a", "modified", by="agent", call=1), 3, turn=2, source="files"),
        event(FileChange("/w/a", "modified", by="person"), 4, turn=2, source="files"),
    ])  # fmt: skip
    [entry] = state.files_modified.values()
    assert [(one.by, one.seq, one.turn) for one in entry.authors()] == [("agent", 3, 1), ("person", 4, 2)]
    assert entry.json_by("unknown") is None
    assert (entry.json_by("agent") or {})["seq"] == 3


def test_a_file_that_was_read_before_is_not_created() -> None:
    state = after(
        Action("Read", files=(FileTouch("/w/a", "read"),)),
        Action("Write", files=(FileTouch("/w/a", "created"),)),
    )
    assert state.files_modified["/w/a"].change == "modified"


def test_a_decision_for_a_rejected_alternative_replaces_the_earlier_one() -> None:
    state = after(
        Decision("use Postgres", "known", ("use SQLite",)),
        Decision("log in JSON"),
        Decision("use SQLite", "no server"),
        Decision("log as text", replaces=1),
    )
    rows = list(state.decisions_made.values())
    assert [row["superseded_by"] for row in rows] == [2, 3, None, None]
    assert rows[2]["instead_of"] == {"seq": 0, "what": "use Postgres"}
    assert rows[3]["instead_of"]["what"] == "log in JSON"


def test_a_rejected_alternative_may_be_chosen_with_the_words_around_it() -> None:
    state = after(
        Decision("vendor first in names", None, ("date first",)),
        Decision("date first in names", "it sorts"),
        Decision("use Postgres for orders", None, ("use SQLite",)),
        Decision("use SQLite in the tests of the importer"),
    )
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [1, None, None, None]


def test_the_same_decision_again_stands_instead_of_nothing() -> None:
    state = after(Decision("drop rows without a number"), Decision("drop rows  without a number"))
    first, second = state.decisions_made.values()
    assert first["superseded_by"] == 1
    assert "instead_of" not in second


def test_an_artifact_keeps_its_latest_version_and_counts_what_is_done() -> None:
    state = after(
        Artifact("features", "feature_list", (ArtifactItem("login"), ArtifactItem("export"))),
        Artifact("features", "feature_list", (ArtifactItem("login", "completed"), ArtifactItem("export"))),
        Artifact("scratch", text="x"),
        Artifact("scratch", removed=True),
    )
    [row] = state.artifacts.values()
    assert (row["version"], row["done"], row["total"], row["items"][0]["status"]) == (2, 1, 2, "completed")


def test_data_sources_are_in_the_working_set() -> None:
    state = after(
        Action("Bash", {"command": "psql -d shop -c 'select 1'"}),
        Action("Bash", {"command": "psql -d shop -c 'insert into t values (1)'"}),
        Action("Bash", {"command": "curl -X POST https://api.example.com/v1/orders -d x"}),
        Action("WebFetch", {"url": "https://docs.example.com/guide?q=1"}),
        Action("mcp__gmail__send_message", {"to": "x"}),
        Action("Read", files=(FileTouch("/w/costs.xlsx", "read"),)),
        AppSpan("Numbers", "Budget", "/w/Budget.numbers"),
    )
    rows = [(row["kind"], row["name"], row["read"], row["written"]) for row in state.data_sources.values()]
    assert rows == [
        ("database", "shop", 1, 1),
        ("api", "api.example.com/v1/orders", 0, 1),
        ("url", "docs.example.com/guide", 1, 0),
        ("mailbox", "gmail", 0, 1),
        ("spreadsheet", "costs.xlsx", 1, 0),
        ("spreadsheet", "Budget.numbers", 1, 0),
    ]


def test_equal_states_have_one_hash_and_a_difference_another() -> None:
    def two(session: str, *more: Any) -> str:
        given = [SessionOpen("fazm"), Decision("x"), *more]
        return state_hash(
            fold(initial_state(session), [event(one, n, session=session) for n, one in enumerate(given)])
        )

    assert two("s") == two("other") != two("s", Decision("y"))
    state = after(SessionOpen("fazm"), Action("Bash", files=(FileTouch("/w/a", "created"),)))
    assert state_hash(from_snapshot(to_snapshot(state))) == state_hash(state)


def test_the_first_prompt_names_a_session_that_nobody_named() -> None:
    assert after(SessionOpen("a"), Prompt("Sort it\nplease"), Prompt("more")).title == "Sort it"
    assert after(SessionOpen("a", title="Mine"), Prompt("Sort")).title == "Mine"
    assert after(Prompt("Sort"), SessionTitle("Better")).title == "Better"
    assert after(Prompt("  \n ")).title is None


def test_trust_falls_to_the_lowest_and_stays_there() -> None:
    trusts = ["user", "web", "agent"]
    results = [event(Prompt("x"), seq, trust=trust) for seq, trust in enumerate(trusts)]
    assert fold(initial_state("s"), results).trust == "web"


def test_a_forgotten_event_leaves_its_place_and_nothing_else() -> None:
    state = fold(initial_state("s"), [event(("decision", None)), event(("action", None), 1)])
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
        fork_state(parent, "child"),
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
    second = fold(fork_state(first, "second"), events(Decision("b")))
    third = fold(fork_state(second, "third"), events(Decision("c")))
    assert [(one.get("session"), one["what"]) for one in third.decisions_made.values()] == [
        ("s", "a"),
        ("second", "b"),
        (None, "c"),
    ]


def test_a_fork_mends_its_parents_failure_only_by_the_same_intent() -> None:
    def make(target: str, **more: Any) -> Action:
        return Action("Bash", input={"command": f"make {target}"}, **more)

    parent = after(make("a", outcome="error"), make("a", outcome="error", retry_of=0))
    child = fold(fork_state(parent, "c"), events(make("b", outcome="error"), make("b", retry_of=0)))
    assert [one["mended_by"] for one in child.errors.values()] == [None, None, 1]
    mended = fold(child, [event(make("a"), 2, session="c")])
    assert [(one["mended_by"], one.get("mended_in")) for one in mended.errors.values()] == [
        (2, "c"),
        (2, "c"),
        (1, None),
    ]


def test_a_fork_begins_open_with_what_was_running_interrupted() -> None:
    child = fork_state(after(SessionOpen("a"), ActionStart("Bash", call_id="c"), move("pause")), "child")
    assert (child.lifecycle, child.running, child.at) == ("open", {}, 0)
    assert [one["outcome"] for one in child.errors.values()] == ["interrupted"]


def test_every_kind_that_the_fold_knows_is_a_kind() -> None:
    assert set(HANDLERS) <= set(KINDS)


def test_the_delta_of_an_event_is_what_it_alone_adds() -> None:
    result = event_delta(
        event(Action("mv", files=(FileTouch("/b", "renamed", "/a"), FileTouch("/c", "read"))), 7)
    )
    assert result["files_modified"][0]["path"] == "/b"
    assert result["files_read"] == ["/c"]
    assert result["tools_used"] == ["mv"]
    assert event_delta(event(payloads.Message("hello"))) == {}


def test_a_call_is_interrupted_when_its_session_ends() -> None:
    state = after(ActionStart("Bash", {"command": "make"}, call_id="c"), move("close"))
    assert state.running == {}
    error = state.errors[0]
    assert (error["outcome"], error["target"], error["found_at"]) == ("interrupted", "make", 1)


def test_a_call_is_interrupted_when_the_user_asks_for_the_next_thing_and_a_subagents_goes_on() -> None:
    results = [
        event(ActionStart("Bash", call_id="c"), 0, turn=1),
        event(ActionStart("Task", call_id="t", agent_id="sub"), 1, turn=1),
        event(Prompt("stop, do this"), 2, turn=2),
    ]
    state = fold(initial_state("s"), results)
    assert list(state.running) == ["t"]
    assert state.errors[0]["error"] == "the user asked for the next thing before it ended"


def test_a_call_that_finishes_after_all_was_not_interrupted() -> None:
    results = [
        event(ActionStart("Bash", call_id="c"), 0, turn=1),
        event(Prompt("meanwhile"), 1, turn=2),
        event(Action("Bash", call_id="c"), 2, turn=2),
    ]
    state = fold(initial_state("s"), results)
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
    result = fold(initial_state("s"), [asked, answered]).answered["q"]
    assert (result["note"], result["answer"], result["by"], result["source"]) == (
        "Delete them?",
        "no",
        "person",
        "cli",
    )
    assert (result["asked"], result["seq"]) == (0, 1)


def test_what_came_from_the_web_is_named_in_the_state() -> None:
    page = event(Action("WebFetch", {"url": "https://x"}), 0, trust="web")
    state = fold(initial_state("s"), [page, event(Decision("as the page says"), 1, trust="web")])
    results = [(one["seq"], one["kind"], one["what"]) for one in state.untrusted.values()]
    assert results == [(0, "action", "https://x"), (1, "decision", "as the page says")]
    assert state.trust == "web"
