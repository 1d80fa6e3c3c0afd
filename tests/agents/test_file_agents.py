"""Agents with files: Cursor's transcripts, Cline CLI, Antigravity CLI and Claude Cowork."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fazm_memory.agents.antigravity import Antigravity
from fazm_memory.agents.base import Places
from fazm_memory.agents.claude_code.reader import ClaudeCode, ClaudeCowork
from fazm_memory.agents.cline import Cline
from fazm_memory.agents.cursor import CursorAgent
from fazm_memory.events.event import Draft
from tests.agents.reading import FIXTURES, of_kind, read_on, record_of

CURSOR = "3b7d4c10-52aa-4e0f-9d0a-6a1d5a0f7b21"
CLINE = "1794905035000_ab12c"
CLAUDE = "1d779516-aeee-4849-b335-58eba7c1b4c3"


def outcomes(drafts: list[Draft]) -> list[tuple[Any, ...]]:
    return [(one["tool"], one["outcome"], one.get("error")) for one in of_kind(drafts, "action")]


def test_cursor_transcripts(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "cursor" / "projects", tmp_path / ".cursor" / "projects")
    main, subagent = sorted(CursorAgent().find(Places(tmp_path)), key=lambda file: len(file.path.parts))
    lines = [json.loads(line) for line in main.path.read_text().splitlines()]
    blocks = [
        block for line in lines if line.get("role") == "assistant" for block in line["message"]["content"]
    ]
    drafts, _, chunks = read_on(CursorAgent(), main)
    assert chunks[-1].unknown == {}
    assert (main.session, subagent.session) == (CURSOR, CURSOR)
    assert of_kind(drafts, "session.open")[0]["workspace"] == "/Users/dana/notes"
    assert of_kind(drafts, "prompt") == [{"text": "Tidy the notes."}]
    assert len(of_kind(drafts, "action")) == sum(block["type"] == "tool_use" for block in blocks) == 2
    assert len(of_kind(drafts, "message")) == sum(block["type"] == "text" for block in blocks) == 2
    moved, opened = (one["files"][0] for one in of_kind(drafts, "action"))
    assert (moved["path"], moved["change"], moved["inferred"]) == ("/Users/dana/notes/b.md", "renamed", True)
    assert (opened["change"], opened["inferred"]) == ("read", True)
    below = read_on(CursorAgent(), subagent)[0]
    assert [(draft.kind, draft.payload["agent_id"]) for draft in below] == [("action", "sub-1")]


def test_a_transcript_of_cursor_is_not_read_if_the_session_has_a_database(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "cursor" / "projects", tmp_path / ".cursor" / "projects")
    store = tmp_path / ".cursor" / "chats" / "0f" / CURSOR / "store.db"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"")
    assert [file.path for file in CursorAgent().find(Places(tmp_path))] == [store]


def test_cline(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "cline-3.0.65", tmp_path / ".cline" / "data")
    main, subagent = Cline().find(Places(tmp_path))
    messages = json.loads(main.path.read_text())["messages"]
    results = [block for one in messages for block in one["content"] if block["type"] == "tool_result"]
    drafts, cursor, chunks = read_on(Cline(), main)
    assert chunks[-1].unknown == {}
    assert of_kind(drafts, "session.open") == [
        {
            "agent": "cline",
            "agent_session_id": CLINE,
            "workspace": "/Users/dana/fence",
            "title": "Paint the fence",
            "model": "small-1",
        }
    ]
    assert of_kind(drafts, "prompt") == [{"text": "Paint the fence."}]
    assert [one["text"] for one in of_kind(drafts, "message")] == ["I look.", "The fence is blue."]
    assert len(of_kind(drafts, "action")) == len(results) == 5
    assert len(of_kind(drafts, "usage")) == sum("metrics" in one for one in messages)
    assert outcomes(drafts) == [
        ("run_commands", "ok", None),
        ("editor", "ok", None),
        ("editor", "ok", None),
        ("run_commands", "error", "exit code 3: no rule"),
        ("read_files", "ok", None),
    ]
    assert [one["files"][0]["change"] for one in of_kind(drafts, "action") if "files" in one] == [
        "created",
        "modified",
        "read",
    ]
    assert "TEXT OF A HOOK" not in json.dumps([draft.payload for draft in drafts])
    assert read_on(Cline(), main, cursor)[0] == []
    below = read_on(Cline(), subagent)[0]
    assert [(draft.kind, draft.payload["agent_id"]) for draft in below] == [("action", "agent_1_abc")]


def test_cline_is_read_on_when_its_file_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / CLINE / f"{CLINE}.messages.json"
    path.parent.mkdir()
    fixture = FIXTURES / "cline-3.0.65" / "sessions" / CLINE / path.name
    stored = json.loads(fixture.read_text())
    path.write_text(json.dumps({**stored, "messages": stored["messages"][:2]}))
    first, cursor, _ = read_on(Cline(), record_of(path, CLINE))
    path.write_text('{"messages": [')
    waiting = Cline().read(record_of(path, CLINE), cursor)
    path.write_text(json.dumps(stored))
    rest, _, _ = read_on(Cline(), record_of(path, CLINE), cursor)
    at_once = read_on(Cline(), record_of(path, CLINE))[0]

    assert [draft.kind for draft in first][-1] == "action.start"
    assert (waiting.drafts, waiting.waiting, waiting.bad) == ((), True, 0)
    both = [draft.key for draft in (*first, *rest) if draft.kind != "action.start"]
    assert both == [draft.key for draft in at_once]


def test_antigravity(tmp_path: Path) -> None:
    root = tmp_path / ".gemini" / "antigravity-cli"
    shutil.copytree(FIXTURES / "antigravity", root)
    (record,) = Antigravity().find(Places(tmp_path))
    drafts = read_on(Antigravity(), record)[0]
    steps = [json.loads(line) for line in record.path.read_text().splitlines()]
    called = sum(len(step.get("tool_calls", [])) for step in steps)
    assert of_kind(drafts, "session.open")[0]["workspace"] == "/Users/dana/sky"
    assert of_kind(drafts, "prompt") == [{"text": "Name the stars."}]
    assert len(of_kind(drafts, "action")) == called == 3
    assert outcomes(drafts) == [
        ("run_command", "error", "exit code 2: no rule"),
        ("write_to_file", "ok", None),
        ("view_file", "ok", None),
    ]
    assert [one["files"] for one in of_kind(drafts, "action")[1:]] == [
        [{"path": "/Users/dana/sky/stars.md", "change": "created"}],
        [{"path": "/Users/dana/sky/stars.md", "change": "read"}],
    ]
    assert [one["text"] for one in of_kind(drafts, "message")] == ["I try.", "The star is Vega."]
    assert of_kind(drafts, "evicted") == [{"keys": [], "summary": "The stars were named."}]


def test_cowork_is_read_like_claude_code_under_its_own_name(tmp_path: Path) -> None:
    for folder in ("Library/Application Support/Claude", ".config/Claude"):
        home = tmp_path / folder.split("/")[0]
        below = home / folder / "local-agent-mode-sessions" / "org" / "account"
        session = below / "local_1"
        project = session / ".claude" / "projects" / "hashed"
        project.mkdir(parents=True)
        source = FIXTURES / "claude-code-2.1.197" / "projects" / "-Users-dana-proj" / f"{CLAUDE}.jsonl"
        shutil.copy(source, project / source.name)
        about = {"cliSessionId": CLAUDE, "cwd": "/Users/dana/house", "title": "The house", "model": "m"}
        (below / "local_1.json").write_text(json.dumps(about))

        (record,) = ClaudeCowork().find(Places(home))
        drafts, cursor, _ = read_on(ClaudeCowork(), record)
        plain = read_on(ClaudeCode(), record_of(source, CLAUDE))[0]
        assert [(draft.kind, draft.key) for draft in drafts] == [(draft.kind, draft.key) for draft in plain]
        assert {draft.agent for draft in drafts} == {"claude-cowork"}
        opening = of_kind(drafts, "session.open")[0]
        assert (opening["agent"], opening["workspace"]) == ("claude-cowork", "/Users/dana/house")
        assert opening["title"] == "The house"

        (below / "local_1.json").write_text(json.dumps({**about, "title": "The new house"}))
        assert of_kind(read_on(ClaudeCowork(), record, cursor)[0], "session.title") == [
            {"title": "The new house"}
        ]
