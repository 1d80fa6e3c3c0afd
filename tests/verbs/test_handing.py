"""Handing over: questions that wait for the right answer, and sessions taken up the best way there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture.answer_schema import check_schema
from fazm_memory.capture.lines import line_to_draft
from fazm_memory.errors import InvalidInput, InvalidTransition

from .desk import Desk

CHOICE = {"type": "object", "properties": {"keep": {"type": "boolean"}}, "required": ["keep"]}


def ask(desk: Desk, session: str, schema: dict[str, Any] | None = None, to: str = "human") -> str:
    return str(desk.handoff(session, to=to, note="Which?", answer_schema=schema)["question"])


@pytest.mark.parametrize(
    ("schema", "said", "kept"),
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
def test_an_answer_is_taken_as_it_was_asked_for(desk: Desk, schema: Any, said: Any, kept: Any) -> None:
    session = desk.begin()
    question = ask(desk, session, schema)
    assert desk.answer(session, question, said)["open_questions"] == 0
    (told,) = desk.state(session)["answered_questions"]
    assert (told["answer"], told["by"], told["source"]) == (kept, "person", "cli")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer"}, "twelve"),
        ({"enum": ["a", "b"]}, "c"),
        (CHOICE, "{}"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "ABC"),
        ({"type": "string", "maxLength": 3}, "four"),
    ],
)
def test_another_answer_is_refused_and_the_question_stays_open(desk: Desk, schema: Any, said: Any) -> None:
    session = desk.begin()
    question = ask(desk, session, schema)
    with pytest.raises(InvalidInput, match="not the answer asked for"):
        desk.answer(session, question, said)
    assert [one["id"] for one in desk.open_questions()] == [question]
    assert desk.answer(session, question, waived=True)["open_questions"] == 0


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
def test_a_schema_that_is_none_or_could_do_harm_is_refused(desk: Desk, schema: Any) -> None:
    session = desk.begin()
    with pytest.raises(InvalidInput):
        ask(desk, session, schema)
    assert desk.session(session)["open_questions"] == 0


def test_a_pattern_that_would_take_for_ever_elsewhere_takes_no_time_here(desk: Desk) -> None:
    session = desk.begin()
    question = ask(desk, session, {"type": "string", "pattern": "^(a+)+$"})
    with pytest.raises(InvalidInput, match="does not match"):
        desk.answer(session, question, "a" * 5000 + "!")


def test_a_name_that_looks_like_a_keyword_is_data_among_choices() -> None:
    check_schema({"enum": [{"$ref": "x"}]})


def test_questions_are_counted_by_their_ids(desk: Desk) -> None:
    session = desk.begin()
    first, second = ask(desk, session), ask(desk, session, to="agent")
    desk.say(session, "handoff.answer", id="nobody asked", answer="x")
    assert desk.session(session)["open_questions"] == 2
    desk.say(session, "handoff.answer", id=second, answer="x")
    desk.say(session, "handoff.answer", id=second, answer="again")
    assert desk.session(session)["open_questions"] == 1
    assert [one["id"] for one in desk.open_questions()] == [first]


def test_no_more_is_asked_than_can_be_answered(desk: Desk) -> None:
    session = desk.begin()
    asked = [ask(desk, session) for _ in range(50)]
    with pytest.raises(InvalidTransition, match="50 open questions already; this one was not asked"):
        ask(desk, session)
    desk.answer(session, asked[0], "the left one")
    asked.append(ask(desk, session))
    for one in asked[1:]:
        desk.answer(session, one, waived=True)
    assert desk.state(session)["open_questions"] == []


def test_an_agent_goes_on_only_when_everything_is_answered_or_waived(desk: Desk) -> None:
    session = desk.begin()
    first, second = ask(desk, session), ask(desk, session)
    desk.move(session, "pause")
    desk.answer(session, first, "this")
    with pytest.raises(InvalidTransition, match="waits for a person"):
        desk.move(session, "resume")
    desk.answer(session, second, waived=True)
    assert desk.move(session, "resume")["lifecycle"] == "resumed"


def test_a_paused_session_stands_where_it_stood(desk: Desk) -> None:
    session = desk.begin()
    desk.renamed(session, "/w/a", "/w/b")
    desk.say(session, "pending", id="p", what="the rest")
    before = desk.state(session)
    desk.move(session, "pause")
    desk.move(session, "resume")
    after = desk.state(session)
    moved = {"at", "last_at", "lifecycle"}
    assert {name: one for name, one in after.items() if name not in moved} == {
        name: one for name, one in before.items() if name not in moved
    }


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def claude(desk: Desk, workspace: Path) -> str:
    return str(desk.open_session("claude-code", key="abc-1", workspace=str(workspace))["id"])


def test_a_session_is_taken_up_by_its_agent_where_it_worked(
    desk: Desk, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    told = desk.resume_offer(claude(desk, tmp_path))
    assert (told["took"], told["cwd"]) == ("exact", str(tmp_path))
    assert told["command"] == f"cd {tmp_path} && claude --resume abc-1"


def test_without_its_folder_a_new_session_is_given_the_briefing(
    desk: Desk, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    told = desk.resume_offer(claude(desk, tmp_path / "gone"))
    assert (told["took"], told["cwd"]) == ("briefing", None)
    assert "the folder it worked in is gone" in told["why"]
    assert told["command"].startswith("claude 'Fazm Memory: taking up session")


def test_without_its_own_record_a_new_session_is_given_the_briefing(
    desk: Desk, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    session = claude(desk, tmp_path)
    with desk.store.db.transaction():
        desk.store.db.execute(
            "INSERT INTO cursor (path, agent, offset, size, updated_at) VALUES (?, 'claude-code', 1, 1, 1)",
            (str(tmp_path / "abc-1.jsonl"),),
        )
    assert desk.resume_offer(session)["took"] == "briefing"
    (tmp_path / "abc-1.jsonl").write_text("{}")
    assert desk.resume_offer(session)["took"] == "exact"


def test_a_branch_is_none_of_its_agents_own_sessions(desk: Desk, tmp_path: Path, programs: Path) -> None:
    install(programs, "claude")
    told = desk.resume_offer(desk.fork(claude(desk, tmp_path))["id"])
    assert told["took"] == "briefing"
    assert "claude-code itself does not know this session: it is a branch" in told["why"]


def test_after_a_rewind_the_agents_own_session_is_not_the_one_to_go_on_with(
    desk: Desk, tmp_path: Path, programs: Path
) -> None:
    install(programs, "claude")
    session = claude(desk, tmp_path)
    desk.say(session, "prompt", text="by vendor")
    desk.move(session, "pause")
    desk.move(session, "resume")
    assert desk.resume_offer(session)["took"] == "exact"
    desk.rewind(session, 1)
    told = desk.resume_offer(session)
    assert (told["took"], told["why"][:22]) == ("briefing", "it was rewound to 1, a")
    desk.undo_rewind(session)
    assert desk.resume_offer(session)["took"] == "exact"
    desk.undo_rewind(session)
    assert desk.resume_offer(session)["took"] == "briefing"
    desk.say(session, "prompt", text="by date then")  # the agent has gone on from there itself
    assert desk.resume_offer(session)["took"] == "exact"


def test_without_its_agent_the_briefing_is_for_the_clipboard(
    desk: Desk, tmp_path: Path, programs: Path
) -> None:
    told = desk.resume_offer(claude(desk, tmp_path))
    assert (told["took"], told["command"]) == ("clipboard", None)
    assert "claude is not installed here" in told["why"]
    assert "taking up session" in told["briefing"]


def test_a_form_answers_the_question_it_was_shown_for_and_opens_nothing_else(desk: Desk) -> None:
    session = desk.begin()
    question, other = ask(desk, session), ask(desk, session)
    with pytest.raises(InvalidTransition, match="waits for a person"):
        desk.answer(session, question, "the left one", source="mcp")
    with pytest.raises(InvalidInput, match="nothing else"):
        desk.answer(session, question, waived=True, source="mcp", door="form")
    with pytest.raises(InvalidInput, match="nothing else"):
        desk.tell(session, "fact", source="mcp", door="form", key="sorted", value="by date")
    desk.answer(session, question, "the left one", source="mcp", door="form")
    (told,) = desk.state(session)["answered_questions"]
    assert (told["id"], told["by"], told["source"]) == (question, "person", "mcp")
    assert [one["trust"] for one in desk.events(session) if one["kind"] == "handoff.answer"] == ["agent"]
    desk.move(session, "pause")
    with pytest.raises(InvalidTransition, match="waits for a person"):
        desk.move(session, "resume", source="mcp")
    assert [one["id"] for one in desk.open_questions()] == [other]


@pytest.mark.parametrize("source", ["form", "mcp", "cli", "web"])
def test_no_line_of_record_comes_through_a_form(desk: Desk, source: str) -> None:
    session = desk.begin()
    question = ask(desk, session)
    said = {"session": session, "type": "handoff.answer", "source": source, "id": question, "answer": "y"}
    told = line_to_draft(json.dumps(said).encode())
    assert told.door == "record"  # the source is only a claim
    (result,) = desk.record([told])
    assert isinstance(result.error, InvalidTransition)
    assert [one["id"] for one in desk.open_questions()] == [question]
