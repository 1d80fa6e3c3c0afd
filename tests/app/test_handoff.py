"""Handing over: questions that wait for the right answer, and sessions taken up the best way there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.errors import InvalidInput, InvalidTransition
from fazm_memory.ingest.record_protocol import check_schema, line_to_draft
from tests.app.memory_fixture import MemoryFixture

CHOICE = {"type": "object", "properties": {"keep": {"type": "boolean"}}, "required": ["keep"]}


def ask(memory: MemoryFixture, session: str, schema: dict[str, Any] | None = None, to: str = "human") -> str:
    return str(memory.sessions.handoff(session, to=to, note="Which?", answer_schema=schema)["question"])


@pytest.mark.parametrize(
    ("schema", "expected", "kept"),
    [
        (None, "the left one", "the left one"),
        ({"type": "string"}, "12", "12"),
        ({"type": "integer", "maximum": 20}, "12", 12),
        ({"type": "boolean"}, "yes", True),
        ({"enum": ["a", "b"]}, "b", "b"),
        (CHOICE, '{"keep": false}', {"keep": False}),
        (CHOICE, {"keep": True}, {"keep": True}),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc", "abc"),
    ],
)
def test_an_answer_is_taken_as_it_was_asked_for(
    memory: MemoryFixture, schema: Any, expected: Any, kept: Any
) -> None:
    session = memory.begin()
    question = ask(memory, session, schema)
    assert memory.sessions.answer(session, question, expected)["open_questions"] == 0
    (result,) = memory.history.state(session)["answered_questions"]
    assert (result["answer"], result["by"], result["source"]) == (kept, "person", "cli")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "twelve"),
        ({"enum": ["a", "b"]}, "c"),
        (CHOICE, "{}"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "ABC"),
        ({"type": "string", "maxLength": 3}, "four"),
    ],
)
def test_another_answer_is_refused_and_the_question_stays_open(
    memory: MemoryFixture, schema: Any, expected: Any
) -> None:
    session = memory.begin()
    question = ask(memory, session, schema)
    with pytest.raises(InvalidInput, match="does not match"):
        memory.sessions.answer(session, question, expected)
    assert [one["id"] for one in memory.sessions.open_questions()] == [question]
    assert memory.sessions.answer(session, question, waived=True)["open_questions"] == 0


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#"},
        {"type": "object", "patternProperties": {"(a+)+$": {}}},
        {"type": "string", "pattern": "(?=a)b"},
        {"enum": ["x" * 5000]},
        json.loads('{"items":' * 30 + "{}" + "}" * 30),
    ],
)
def test_a_schema_that_is_none_or_could_do_harm_is_refused(memory: MemoryFixture, schema: Any) -> None:
    session = memory.begin()
    with pytest.raises(InvalidInput):
        ask(memory, session, schema)
    assert memory.sessions.get(session)["open_questions"] == 0


def test_a_pattern_that_would_take_for_ever_elsewhere_takes_no_time_here(memory: MemoryFixture) -> None:
    session = memory.begin()
    question = ask(memory, session, {"type": "string", "pattern": "^(a+)+$"})
    with pytest.raises(InvalidInput, match="does not match"):
        memory.sessions.answer(session, question, "a" * 5000 + "!")


def test_a_name_that_looks_like_a_keyword_is_data_among_choices() -> None:
    check_schema({"enum": [{"$ref": "x"}]})


def test_questions_are_counted_by_their_ids(memory: MemoryFixture) -> None:
    session = memory.begin()
    first, second = ask(memory, session), ask(memory, session, to="agent")
    memory.say(session, "handoff.answer", id="nobody asked", answer="x")
    assert memory.sessions.get(session)["open_questions"] == 2
    memory.say(session, "handoff.answer", id=second, answer="x")
    memory.say(session, "handoff.answer", id=second, answer="again")
    assert memory.sessions.get(session)["open_questions"] == 1
    assert [one["id"] for one in memory.sessions.open_questions()] == [first]


def test_no_more_is_asked_than_can_be_answered(memory: MemoryFixture) -> None:
    session = memory.begin()
    asked = [ask(memory, session) for _ in range(50)]
    with pytest.raises(InvalidTransition, match="50 open questions already; this one was not asked"):
        ask(memory, session)
    memory.sessions.answer(session, asked[0], "the left one")
    asked.append(ask(memory, session))
    for one in asked[1:]:
        memory.sessions.answer(session, one, waived=True)
    assert memory.history.state(session)["open_questions"] == []


def test_an_agent_goes_on_only_when_everything_is_answered_or_waived(memory: MemoryFixture) -> None:
    session = memory.begin()
    first, second = ask(memory, session), ask(memory, session)
    memory.sessions.move(session, "pause")
    memory.sessions.answer(session, first, "this")
    with pytest.raises(InvalidTransition, match="waits for a person"):
        memory.sessions.move(session, "resume")
    memory.sessions.answer(session, second, waived=True)
    assert memory.sessions.move(session, "resume")["lifecycle"] == "resumed"


def test_a_paused_session_stands_where_it_stood(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.renamed(session, "/w/a", "/w/b")
    memory.say(session, "pending", id="p", what="the rest")
    before = memory.history.state(session)
    memory.sessions.move(session, "pause")
    memory.sessions.move(session, "resume")
    after = memory.history.state(session)
    moved = {"at", "last_at", "lifecycle", "state_hash"}
    assert {name: one for name, one in after.items() if name not in moved} == {
        name: one for name, one in before.items() if name not in moved
    }


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, in a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def claude(memory: MemoryFixture, workspace: Path) -> str:
    return str(memory.sessions.open("claude-code", key="abc-1", workspace=str(workspace))["id"])


def test_a_session_is_taken_up_by_its_agent_where_it_worked(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    result = memory.recall.resume_offer(claude(memory, tmp_path))
    assert (result["took"], result["cwd"]) == ("exact", str(tmp_path))
    assert result["command"] == f"cd {tmp_path} && claude --resume abc-1"


def test_without_its_folder_a_new_session_is_given_the_briefing(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    results = memory.recall.resume_offer(claude(memory, tmp_path / "gone"))
    assert (results["took"], results["cwd"]) == ("briefing", None)
    assert "the folder it worked in is gone" in results["why"]
    assert results["command"].startswith("claude 'Fazm Memory: taking up session")


def test_without_its_own_record_a_new_session_is_given_the_briefing(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    session = claude(memory, tmp_path)
    with memory.store.db.transaction():
        memory.store.db.execute(
            "INSERT INTO cursor (path, agent, offset, size, updated_at) VALUES (?, 'claude-code', 1, 1, 1)",
            (str(tmp_path / "abc-1.jsonl"),),
        )
    assert memory.recall.resume_offer(session)["took"] == "briefing"
    (tmp_path / "abc-1.jsonl").write_text("{}")
    assert memory.recall.resume_offer(session)["took"] == "exact"


def test_a_branch_is_none_of_its_agents_own_sessions(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    results = memory.recall.resume_offer(memory.rewind.fork(claude(memory, tmp_path))["id"])
    assert results["took"] == "briefing"
    assert "claude-code itself does not know this session: it is a branch" in results["why"]


def test_after_a_rewind_the_agents_own_session_is_not_the_one_to_go_on_with(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    session = claude(memory, tmp_path)
    memory.say(session, "prompt", text="by vendor")
    memory.sessions.move(session, "pause")
    memory.sessions.move(session, "resume")
    assert memory.recall.resume_offer(session)["took"] == "exact"
    memory.rewind.apply(session, 1)
    result = memory.recall.resume_offer(session)
    assert (result["took"], result["why"][:22]) == ("briefing", "it was rewound to 1, a")
    memory.rewind.undo(session)
    assert memory.recall.resume_offer(session)["took"] == "exact"
    memory.rewind.undo(session)
    assert memory.recall.resume_offer(session)["took"] == "briefing"
    memory.say(session, "prompt", text="by date then")  # the agent has gone on from there itself
    assert memory.recall.resume_offer(session)["took"] == "exact"


def test_without_its_agent_the_command_is_offered_with_the_reason(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    result = memory.recall.resume_offer(claude(memory, tmp_path))
    assert (result["took"], result["command"]) == ("exact", f"cd {tmp_path} && claude --resume abc-1")
    assert result["blocked"] == "claude is not installed here"
    assert "claude is not installed here" in result["why"]
    assert "taking up session" in result["briefing"]


def test_without_its_agent_and_its_folder_the_briefing_is_for_the_clipboard(
    memory: MemoryFixture, tmp_path: Path, programs: Path
) -> None:
    gone = tmp_path / "gone"
    result = memory.recall.resume_offer(claude(memory, gone))
    assert (result["took"], result["command"]) == ("clipboard", None)
    assert result["native"] == f"cd {gone} && claude --resume abc-1"
    assert "the folder it worked in is gone" in result["blocked"]
    assert "claude is not installed here" in result["why"]


def test_a_form_answers_the_question_it_was_shown_for_and_opens_nothing_else(memory: MemoryFixture) -> None:
    session = memory.begin()
    question, other = ask(memory, session), ask(memory, session)
    with pytest.raises(InvalidTransition, match="waits for a person"):
        memory.sessions.answer(session, question, "the left one", source="mcp")
    with pytest.raises(InvalidInput, match="nothing else"):
        memory.sessions.answer(session, question, waived=True, source="mcp", door="form")
    with pytest.raises(InvalidInput, match="nothing else"):
        memory.sessions.append(session, "fact", source="mcp", door="form", key="sorted", value="by date")
    memory.sessions.answer(session, question, "the left one", source="mcp", door="form")
    (result,) = memory.history.state(session)["answered_questions"]
    assert (result["id"], result["by"], result["source"]) == (question, "person", "mcp")
    assert [one["trust"] for one in memory.history.events(session) if one["kind"] == "handoff.answer"] == [
        "agent"
    ]
    memory.sessions.move(session, "pause")
    with pytest.raises(InvalidTransition, match="waits for a person"):
        memory.sessions.move(session, "resume", source="mcp")
    assert [one["id"] for one in memory.sessions.open_questions()] == [other]


@pytest.mark.parametrize("source", ["form", "mcp", "cli", "web"])
def test_no_line_of_record_comes_through_a_form(memory: MemoryFixture, source: str) -> None:
    session = memory.begin()
    question = ask(memory, session)
    reply = {"session": session, "type": "handoff.answer", "source": source, "id": question, "answer": "y"}
    outcome = line_to_draft(json.dumps(reply).encode())
    assert outcome.door == "record"  # the source is only a claim
    (result,) = memory.sessions.record([outcome])
    assert isinstance(result.error, InvalidTransition)
    assert [one["id"] for one in memory.sessions.open_questions()] == [question]
