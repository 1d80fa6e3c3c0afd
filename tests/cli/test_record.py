"""`record`: one answer per line, and a bad line loses nothing else."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

OPEN = {"type": "session.open", "session": "s", "agent": "fazm", "workspace": "/w"}
GOOD = {"type": "prompt", "session": "s", "text": "hello"}


def test_every_line_gets_its_answer_in_order(run: Run) -> None:
    results = run("record", stdin=[OPEN, GOOD, {"type": "action", "session": "s", "tool": "Read"}])
    assert [(one["ok"], one["line"], one["seq"]) for one in results.lines] == [
        (True, 1, 0),
        (True, 2, 1),
        (True, 3, 2),
    ]


def test_the_end_of_what_was_never_open_is_recorded_and_reported(run: Run) -> None:
    done = {"type": "pending.done", "session": "s"}
    results = run("record", stdin=[
        OPEN, {"type": "pending", "session": "s", "id": "p1", "what": "the scans"},
        done | {"id": "p2"}, done | {"id": "p1"}, done | {"id": "p1"},
        done | {"id": "ghp_R9xK2mVq7TzLw4BnYc8PdHs1JfGa3UeXoNiM"},
    ])  # fmt: skip
    assert [one["ok"] for one in results.lines] == [True] * 6
    notes = [one.get("note") for one in results.lines]
    assert notes[:5] == [
        None, None, "nothing was pending under the name 'p2'", None, "'p1' was done already",
    ]  # fmt: skip
    assert "ghp_" not in results.out
    fork = run("fork", "s", "--at", "2", "--json").json["id"]
    (there,) = run("record", stdin=[done | {"session": fork, "id": "p1"}]).lines
    assert "note" not in there  # open in its parent where it was left


def test_taking_back_a_fact_that_was_never_stated_is_recorded_and_reported(run: Run) -> None:
    taken_back = {"type": "fact.retract", "session": "s", "key": "port"}
    fact = {"type": "fact", "session": "s", "key": "port", "value": 80}
    results = run("record", stdin=[OPEN, taken_back, fact, taken_back, taken_back]).lines
    assert [one["ok"] for one in results] == [True] * 5
    assert [one.get("note") for one in results[1:]] == [
        "there was no fact 'port'", None, None, "the fact 'port' was retracted already",
    ]  # fmt: skip


def test_a_named_position_must_hold_what_is_named(run: Run) -> None:
    decided = {"type": "decision", "session": "s", "what": "use B"}
    called = {"type": "action", "session": "s", "tool": "Bash", "input": {"command": "ls"}}
    named = [
        decided | {"what": "use A"}, decided | {"replaces": 2}, decided | {"replaces": 0},
        decided | {"replaces": 1}, called | {"retry_of": 1}, called, called | {"retry_of": 3},
    ]  # fmt: skip
    results = run("record", stdin=[OPEN, *named]).lines
    assert [one["ok"] for one in results] == [True, True, False, False, True, False, True, True]
    assert "replaces is 2, but session" in results[2]["error"]
    assert "has no decision there" in results[3]["error"]
    assert "has no action there" in results[5]["error"]
    state = run("state", "s", "--json").json
    assert [one["superseded_by"] for one in state["decisions_made"]] == [2, None]


def test_a_mistyped_field_or_type_is_answered_with_the_nearest(run: Run) -> None:
    field = {"type": "action", "session": "s", "tool": "Bash", "inptu": {}}
    mistyped, unknown = run("record", stdin=[OPEN, field, {"type": "acton", "session": "s"}]).lines[1:]
    assert 'Did you mean "input"?' in mistyped["error"]
    assert unknown["hint"].startswith('Did you mean "action"?')
    for_every_line = {"type": "message", "session": "s", "text": "x", "expected_sequence": 1}
    [answer] = run("record", stdin=[for_every_line]).lines
    assert answer["hint"].startswith('Did you mean "expected_seq"? Every line may have type, session,')


def bash(command: str, output: str = "") -> dict[str, Any]:
    return {"type": "action", "session": "s", "tool": "Bash", "input": {"command": command}, "output": output}


def test_files_that_were_not_reported_are_read_from_the_calls(run: Run) -> None:
    names = ["scan_20261102.pdf", "scan_20261103.pdf", "scan_20261104.pdf", "notes.txt"]
    moves = [bash(f"mv scan_202611{day}.pdf 2026-11-{day}.pdf") for day in ("02", "03", "04")]
    results = run("record", stdin=[OPEN, GOOD, bash("ls", "\n".join(names)), *moves])
    assert [one["seq"] for one in results.lines] == list(range(6))  # one event for each line
    state = run("state", "s", "--json").json
    first = state["files_modified"][0]
    assert (first["change"], first["path"], first["from"], first["by"]) == (
        "renamed",
        "/w/2026-11-02.pdf",
        "/w/scan_20261102.pdf",
        "agent",
    )
    assert [(one["folder"], one["files"]) for one in state["skipped"]] == [("/w", ["notes.txt"])]
    proposed = run("conventions", "s", "--apply", "scan_20261201.pdf", "--json").json["proposals"]
    assert proposed[0]["becomes"] == "2026-12-01.pdf"
    asked = run("events", "s", "--file", "notes.txt", "--json").json
    assert [one["seq"] for one in asked] == [2]


def test_an_agent_that_says_that_nothing_was_touched_is_believed(run: Run) -> None:
    run("record", stdin=[OPEN, bash("mv a b") | {"files": []}])
    assert run("state", "s", "--json").json["files_modified"] == []


def test_what_is_of_untrusted_origin_is_marked_with_its_digest_and_provenance(run: Run) -> None:
    page = "https://example.com/page"
    line = {"type": "action", "session": "s", "tool": "read_page", "output": "do this", "source": page}
    run("record", stdin=[OPEN, line, GOOD | {"trust": "untrusted", "source": "inbox"}])
    events = run("events", "s", "--json").json
    state = run("state", "s", "--json").json
    assert [(one["seq"], one["source"], one["trust"], one["digest"]) for one in state["untrusted"]] == [
        (1, page, "web", events[1]["digest"]),
        (2, "inbox", "unverified", events[2]["digest"]),
    ]
    assert set(run("status", "--json").json["sources"]) == {"record"}


HOSTILE: list[tuple[str, bytes]] = [
    ("not JSON", b"{nope"),
    ("an array", b"[1,2]"),
    ("a number", b"7"),
    ("no type", b'{"session":"s"}'),
    ("an unknown type", b'{"type":"wish","session":"s"}'),
    ("a type that is no text", b'{"type":{"a":1},"session":"s"}'),
    ("no session", b'{"type":"prompt","text":"x"}'),
    ("an empty session", b'{"type":"prompt","session":" ","text":"x"}'),
    ("a session that is a number", b'{"type":"prompt","session":7,"text":"x"}'),
    ("NUL in a name", b'{"type":"prompt","session":"a\\u0000b","text":"x"}'),
    ("a lone surrogate in a name", b'{"type":"prompt","session":"\\ud800","text":"x"}'),
    ("not UTF-8", b'{"type":"prompt","session":"s","text":"\xff\xfe"}'),
    ("UTF-16", '{"type":"prompt"}'.encode("utf-16")),
    ("NaN", b'{"type":"fact","session":"s","key":"k","value":NaN}'),
    ("Infinity", b'{"type":"fact","session":"s","key":"k","value":-Infinity}'),
    ("a number beyond all", b'{"type":"action","session":"s","tool":"t","input":{"n":1e999}}'),
    (
        "deep nesting",
        b'{"type":"fact","session":"s","key":"k","value":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    ),
    ("unclosed deep nesting", b'{"a":' * 100_000),
    ("a name twice", b'{"type":"prompt","session":"s","text":"a","text":"b"}'),
    ("year 0", b'{"type":"prompt","session":"s","text":"x","at":"0000-01-01T00:00:00Z"}'),
    ("year 10000", b'{"type":"prompt","session":"s","text":"x","at":"10000-01-01T00:00:00Z"}'),
    ("a time that is a number", b'{"type":"prompt","session":"s","text":"x","at":1731600000}'),
    ("a time that is nonsense", b'{"type":"prompt","session":"s","text":"x","at":"yesterday"}'),
    (
        "the last moment there is",
        b'{"type":"prompt","session":"s","text":"x","at":"9999-12-31T23:59:59-12:00"}',
    ),
    ("text that is a number", b'{"type":"prompt","session":"s","text":5}'),
    ("text that is missing", b'{"type":"prompt","session":"s"}'),
    ("a field nobody knows", b'{"type":"prompt","session":"s","text":"x","mood":"good"}'),
    ("an unknown outcome", b'{"type":"action","session":"s","tool":"t","outcome":"meh"}'),
    ("an unknown change", b'{"type":"file","session":"s","path":"/a","change":"painted"}'),
    ("files that are text", b'{"type":"action","session":"s","tool":"t","files":"a"}'),
    ("a turn below zero", b'{"type":"prompt","session":"s","text":"x","turn":-1}'),
    ("a turn that is true", b'{"type":"prompt","session":"s","text":"x","turn":true}'),
    ("a turn beyond counting", b'{"type":"prompt","session":"s","text":"x","turn":1e400}'),
    ("an enormous number", b'{"type":"prompt","session":"s","text":"x","turn":' + b"9" * 5000 + b"}"),
    ("an unknown actor", b'{"type":"prompt","session":"s","text":"x","actor":"god"}'),
    ("a trust nobody grants", b'{"type":"prompt","session":"s","text":"x","trust":"root"}'),
    ("a position already taken", b'{"type":"prompt","session":"s","text":"x","expected_seq":0}'),
    ("a very long session name", b'{"type":"prompt","session":"' + b"s" * 5000 + b'","text":"x"}'),
]


@pytest.mark.parametrize(("what", "line"), HOSTILE, ids=[what for what, _ in HOSTILE])
def test_a_bad_line_is_refused_in_words_and_loses_nothing_else(run: Run, what: str, line: bytes) -> None:
    results = run("record", stdin=[OPEN, GOOD, line, GOOD])
    first, second, third, fourth = results.lines
    assert [first["ok"], second["ok"], third["ok"], fourth["ok"]] == [True, True, False, True]
    assert third["line"] == 3
    assert third["error"]
    assert "Traceback" not in results.err
    assert [event["kind"] for event in run("events", first["session"], "--json").json] == [
        "session.open",
        "prompt",
        "prompt",
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_called_by_its_name(run: Run, encoding: str) -> None:
    result = run("record", stdin=f"{json.dumps(OPEN)}\n{json.dumps(GOOD)}\n".encode(encoding))
    answers = result.lines[:2]
    assert [one["error"] for one in answers] == ["the line is UTF-16, not UTF-8"] * 2
    assert all("UTF-8" in one["hint"] for one in answers)


def test_a_hundred_megabyte_line_is_refused_and_the_next_is_kept(run: Run) -> None:
    huge = b'{"type":"prompt","session":"s","text":"' + b"x" * (100 << 20) + b'"}'
    results = run("record", stdin=[OPEN, huge, GOOD])
    assert [one["ok"] for one in results.lines] == [True, False, True]
    assert "longer than" in results.lines[1]["error"]


def test_text_that_looks_strange_is_kept(run: Run) -> None:
    """Odd is not wrong: what a person or a file name can hold is recorded."""
    odd = "emoji 🗂️ and\ttabs, NUL \x00, a lone surrogate \ud800, ‮bidi‬"
    result = run("record", stdin=[OPEN, {"type": "prompt", "session": "s", "text": odd}])
    assert result.lines[1]["ok"], result.lines
    kept = run("events", result.lines[0]["session"], "--json").json[1]["payload"]["text"]
    assert "emoji 🗂" in kept
    assert "\x00" not in kept
    assert "\u202e" not in kept


def test_a_batch_without_a_final_newline_is_complete(run: Run) -> None:
    result = run("record", stdin=b"\n".join(json.dumps(one).encode() for one in (OPEN, GOOD)))
    assert len(result.lines) == 2


def test_the_same_call_reported_twice_is_one_action(run: Run) -> None:
    action = {"type": "action", "session": "s", "tool": "Bash", "call_id": "c1"}
    result = run("record", stdin=[OPEN, action, action])
    assert result.lines[2] == result.lines[1] | {"line": 3, "duplicate": True}
    assert run("sessions", "--json").json[0]["actions"] == 1


def test_a_conflict_names_the_head(run: Run) -> None:
    result = run("record", stdin=[OPEN, GOOD | {"expected_seq": 5}])
    assert result.lines[1]["head"] == 1
    assert result.lines[1]["code"] == 8


def test_a_retry_names_what_it_retries(run: Run) -> None:
    call: dict[str, Any] = {"type": "action", "session": "s", "tool": "Bash", "input": {"command": "x"}}
    result = run("record", stdin=[OPEN, call | {"error": "timed out after 3 s"}, call | {"output": "done"}])
    actions = run("events", result.lines[0]["session"], "--kind", "action", "--json").json
    assert [(one["outcome"], one["retry_of"]) for one in actions] == [("timeout", None), ("ok", 1)]
    state = run("state", result.lines[0]["session"], "--json").json
    assert state["errors"][0]["mended_by"] == 2


def test_an_agent_cannot_claim_to_be_believed_more_than_its_door_allows(run: Run) -> None:
    result = run(
        "record",
        stdin=[OPEN, {"type": "decision", "session": "s", "what": "x", "trust": "user"},
               {"type": "action", "session": "s", "tool": "WebFetch", "trust": "user"},
               {"type": "prompt", "session": "s", "text": "x", "trust": "web"}],
    )  # fmt: skip
    events = run("events", result.lines[0]["session"], "--json").json
    assert [event["trust"] for event in events[1:]] == ["agent", "web", "web"]


def test_random_mutations_of_good_lines_never_lose_their_neighbours(run: Run) -> None:
    rng = random.Random(7)
    sample = json.dumps({"type": "action", "session": "m", "tool": "T", "input": {"a": [1, "x"]}, "turn": 1})
    lines: list[Any] = [OPEN]
    for _ in range(150):
        data = bytearray(sample.encode())
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.choice([b for b in range(256) if b != 10])
        lines += [bytes(data), GOOD]
    results = run("record", stdin=lines)
    answers = {one["line"]: one for one in results.lines}
    assert all(answers[line]["ok"] for line in range(3, 302, 2))
    assert run("verify", "--json").json["clean"]


def test_a_session_that_nobody_opened_is_reported_of_once(run: Run, session: str) -> None:
    prompt = {"type": "prompt", "text": "go on"}
    made = run("record", stdin=[prompt | {"session": "tidi"}, prompt | {"session": "tidi"}])
    new = made.lines[0]["session"]
    assert new != session
    assert made.err.count("note: Line 1") == made.err.count("\n") == 1
    assert new in made.err
    assert set(made.lines[0]) == {"ok", "line", "session", "seq"}
    assert run("record", stdin=[prompt | {"session": "tidi"}, prompt | {"session": "tidy"}]).err == ""
    opened = [{"type": "session.open", "session": "new"}, prompt | {"session": "new"}]
    assert run("record", stdin=opened).err == ""


def test_what_is_wrong_with_the_lines_ends_with_another_code_than_what_is_wrong_with_the_store(
    run: Run, home: Path
) -> None:
    assert run("record", stdin=[OPEN, GOOD | {"expected_seq": 9}]).code == 6
    run("recording", "pause")
    results = run("record", stdin=[GOOD, {"type": "nothing"}])
    assert (results.code, [one["code"] for one in results.lines]) == (9, [9, 6])
    run("recording", "resume")
    (home / "keys" / "master.key").write_text("ab")
    results = run("record", stdin=[GOOD])
    assert (results.code, results.lines[0]["code"], run("sessions").code) == (11, 11, 11)


def test_a_damaged_store_ends_record_with_its_own_code(run: Run, home: Path) -> None:
    run("record", stdin=[OPEN])
    (home / "store.noindex" / "memory.db").write_bytes(b"\0" * 8192)
    result = run("record", stdin=[GOOD])
    assert (result.code, result.lines[0]["code"]) == (12, 12)
