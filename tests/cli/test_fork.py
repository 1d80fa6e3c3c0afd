"""Fork, rewind, hand off, answer, replay: positions, not copies."""

from __future__ import annotations

from .conftest import Run


def test_a_fork_sees_its_parents_past_and_not_its_future(run: Run, session: str) -> None:
    made = run("fork", session, "--at", "3", "--json").json
    assert (made["parent"], made["parent_seq"], made["lifecycle"]) == (session, 3, "open")
    state = run("state", made["id"], "--json").json
    assert state["tools_used"] == {"Bash": 1}
    assert state["decisions_made"] == []
    run("record", stdin=[{"type": "decision", "session": made["id"], "what": "another way"}])
    assert [one["what"] for one in run("state", made["id"], "--json").json["decisions_made"]] == [
        "another way"
    ]
    assert [one["what"] for one in run("state", session, "--json").json["decisions_made"]] == ["dates first"]
    assert run("verify").code == 0


def test_a_fork_is_closed_and_its_parent_stays_open(run: Run, session: str) -> None:
    fork = run("fork", session, "--at", "3", "--json").json["id"]
    before = run("state", session, "--json").json
    assert run("close", fork, "--json").json["lifecycle"] == "closed"
    assert run("state", session, "--json").json == before
    late, on = ({"type": "decision", "session": one, "what": "on"} for one in (fork, session))
    assert "resume it before going on" in run("record", stdin=[late]).out
    run("record", stdin=[on])
    lives = {one["id"]: one["lifecycle"] for one in run("sessions", "--json").json}
    assert (lives[fork], lives[session]) == ("closed", "active")
    assert run("state", session, "--json").json["decisions_made"][-1]["what"] == "on"
    assert run("verify").code == 0


def test_a_rewind_moves_the_head_and_erases_nothing(run: Run, session: str) -> None:
    planned = run("rewind", session, "--to", "3", "--dry-run", "--json").json
    assert planned["diff"]["removed"]["decisions_made"][0]["what"] == "dates first"
    assert len(run("events", session, "--json").json) == 4
    run("rewind", session, "--to", "3")
    assert run("state", session, "--json").json["decisions_made"] == []
    assert [event["kind"] for event in run("events", session, "--json").json][-2:] == ["decision", "rewind"]
    assert run("state", session, "--at", "4", "--json").json["decisions_made"] != []
    run("record", stdin=[{"type": "decision", "session": session, "what": "vendor first"}])
    assert [one["what"] for one in run("state", session, "--json").json["decisions_made"]] == ["vendor first"]
    assert run("verify").code == 0


def test_a_position_that_is_not_there_is_refused(run: Run, session: str) -> None:
    assert run("fork", session, "--at", "9").code == 4
    assert "positions go from 0 to 4" in run("rewind", session, "--to", "9").err


def test_a_session_goes_on_only_when_its_questions_are_answered(run: Run, session: str) -> None:
    question = run("handoff", session, "--to", "human", "--note", "Which folder?", "--json").json["question"]
    waiting = run("status", "--json").json["open_questions"][0]
    assert (waiting["session"], waiting["id"], waiting["note"]) == (session, question, "Which folder?")
    assert f"fazm-memory answer {session[:8]} {question} TEXT" in run("status").out
    assert f"question {question} for the human: Which folder?" in run("show", session).out
    assert run("answer", session, question).code == 2
    for line in ({"type": "session.pause"}, {"type": "session.resume"},
                 {"type": "handoff.answer", "id": question, "answer": "mine"}):  # fmt: skip
        run("record", stdin=[line | {"session": session}])
    assert run("status", "--json").json["open_questions"] == [waiting]  # an agent cannot answer for a person
    assert run("sessions", "--json").json[0]["lifecycle"] == "paused"
    run("record", stdin=[{"type": "session.close", "session": session}])
    run("answer", session, question, "x")
    run("resume", session)
    question = run("handoff", session, "--to", "human", "--note", "Which folder?", "--json").json["question"]
    run("pause", session)
    refused = run("resume", session)
    assert refused.code == 7
    assert "waits for a person: Which folder?" in refused.err
    assert run("answer", session, "nope", "x").code == 4
    assert run("answer", session, question, "the second", "--json").json["open_questions"] == 0
    assert run("resume", session).code == 0
    answered = run("events", session, "--kind", "handoff.answer", "--json").json[-1]
    assert (answered["actor"], answered["payload"]["answer"]) == ("person", "the second")


def test_a_question_may_be_waived(run: Run, session: str) -> None:
    question = run("handoff", session, "--to", "human", "--note", "Sure?", "--json").json["question"]
    run("pause", session)
    run("answer", session, question, "--waive")
    assert run("resume", session).code == 0


def test_a_replay_leaves_out_dead_ends_and_names_what_varies(run: Run) -> None:
    def call(command: str, **more: object) -> dict[str, object]:
        return {"type": "action", "session": "r", "tool": "Bash", "input": {"command": command}, **more}

    def moved(old: str, new: str) -> list[dict[str, str]]:
        return [{"path": f"/w/oct/{new}", "change": "renamed", "from": f"/w/oct/{old}"}]

    run("record", stdin=[
        call("ls"), call("mv a b", error="denied"),
        call("mv a 2026-10-01-a", files=moved("a", "2026-10-01-a")),
        call("mv c 2026-10-02-c", files=moved("c", "2026-10-02-c")),
        {"type": "decision", "session": "r", "what": "dates first"},
    ])  # fmt: skip
    plan = run("replay", "r", "--json").json
    assert [step.get("command", step.get("what")) for step in plan["steps"]] == [
        "mv a 2026-10-01-a", "mv c 2026-10-02-c", "dates first",
    ]  # fmt: skip
    assert plan["left_out"] == {"changed nothing": 1, "error": 1}
    assert plan["parameters"][0] == {"name": "folder", "value": "/w/oct", "uses": 4}
    script = run("replay", "r", "--script").out
    assert script == "#!/bin/sh\nset -eu\nmv a 2026-10-01-a\nmv c 2026-10-02-c\n# decided: dates first\n"
    assert "2. Bash mv c 2026-10-02-c" in run("replay", "r").out


def test_a_plan_does_not_hold_what_was_rewound(run: Run, session: str) -> None:
    run("rewind", session, "--to", "2")
    assert run("replay", session, "--json").json["steps"] == []
