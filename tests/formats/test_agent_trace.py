"""Agent Trace: every line of a file has its writer, in the form of the published schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fazm_memory.formats.otel import line_owners
from fazm_memory.store import FileVersion
from tests.app.memory_fixture import MemoryFixture
from tests.formats.test_formats import exported


def closed(required: str, **fields: Any) -> dict[str, Any]:
    """An object that has no other fields, as everywhere in the published schema."""
    return {
        "type": "object",
        "properties": fields,
        "required": required.split(),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
LINE = {"type": "integer", "minimum": 1}
CONTRIBUTOR = closed(
    "type", type={"enum": ["human", "ai", "mixed", "unknown"]}, model_id={"type": "string", "maxLength": 250}
)
RANGE = closed(
    "start_line end_line", start_line=LINE, end_line=LINE, content_hash=TEXT, contributor=CONTRIBUTOR
)
RELATED = {"type": "array", "items": closed("type url", type=TEXT, url=TEXT)}
CONVERSATION = closed(
    "ranges",
    url={"type": "string", "pattern": r"^[a-z][a-z0-9+.-]*://\S+$"},
    contributor=CONTRIBUTOR,
    ranges={"type": "array", "items": RANGE},
    related=RELATED,
)
FILE = closed("path conversations", path=TEXT, conversations={"type": "array", "items": CONVERSATION})
RECORD = closed(
    "version id timestamp files",
    version={"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
    id={
        "type": "string",
        "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    },
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
    vcs=closed("type revision", type={"enum": ["git", "jj", "hg", "svn"]}, revision=TEXT),
    tool=closed("name version", name=TEXT, version=TEXT),
    files={"type": "array", "items": FILE},
    metadata={"type": "object"},
)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFixture]:
    monkeypatch.setenv("TZ", "UTC")
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()


def version(content: str, by: str | None, session: str = "") -> FileVersion:
    return FileVersion("/w", "a.txt", 1, content, session=session or None, changed_by=by)


def read(content: str) -> bytes:
    return content.encode()


def test_lines_belong_to_who_added_them() -> None:
    history = [
        version("one\ntwo\n", None),
        version("one\ntwo\nthree\n", "agent", "s1"),
        version("one\nTWO\nthree\n", "person"),
        version("zero\none\nTWO\nthree\n", "agent", "s2"),
    ]
    found = line_owners(history, read)
    assert found is not None
    assert found[0] == ["zero", "one", "TWO", "three"]
    assert found[1] == [("ai", "s2"), None, ("human", ""), ("ai", "s1")]


def test_a_file_that_an_agent_created_is_its_own_and_no_text_has_no_lines() -> None:
    absent = FileVersion("/w", "a.txt", 1, None, reason="absent")
    found = line_owners([absent, version("a\nb\n", "agent", "s1")], read)
    assert found is not None
    assert found[1] == [("ai", "s1")] * 2
    assert line_owners([version("a\0b", "agent")], read) is None
    assert line_owners([version("a", "agent")], lambda digest: None) is None


def test_the_record_of_a_session_fits_the_published_schema(memory: MemoryFixture) -> None:
    home = memory.config.user_home
    folder = str(home / "shop")
    session = memory.begin(folder)
    memory.say(session, "usage", input_tokens=1, output_tokens=1, model="claude-opus-4-5")
    memory.act(
        session, "Write", {"file_path": f"{folder}/a.py"}, call_id="c",
        files=[{"path": f"{folder}/a.py", "change": "created"}],
    )  # fmt: skip
    stored = memory.file_versions
    stored.keep(folder, "a.py", 1, b"mine = 1\n")
    stored.keep(folder, "a.py", 2, b"mine = 1\nours = 2\n")
    stored.mark_recorded(folder, "a.py", session, changed_by="agent")

    text = exported(memory, session, "agent-trace")

    record = json.loads(text)
    Draft202012Validator(RECORD).validate(record)
    (file,) = record["files"]
    (ours,) = [one for one in file["conversations"] if one["contributor"]["type"] == "ai"]
    assert (file["path"], ours["contributor"]["model_id"]) == ("a.py", "anthropic/claude-opus-4-5")
    assert ours["url"] == f"fazm-memory://sessions/{session}/events"
    assert [(one["start_line"], one["end_line"]) for one in ours["ranges"]] == [(2, 2)]
    assert "mine = 1" not in text
    assert exported(memory, session, "agent-trace") == text


def test_a_session_without_stored_files_has_an_empty_record(memory: MemoryFixture) -> None:
    record = json.loads(exported(memory, memory.begin("/w"), "agent-trace"))
    Draft202012Validator(RECORD).validate(record)
    assert record["files"] == []


def test_changed_files_without_a_stored_version_are_counted(memory: MemoryFixture) -> None:
    session = memory.begin("/w")
    for name, change in (("a.py", "created"), ("b.py", "modified"), ("c.py", "deleted")):
        path = f"/w/{name}"
        memory.act(session, "Edit", {"file_path": path}, files=[{"path": path, "change": change}])
    file = memory.config.home.parent / "x.json"

    result = memory.bundles.export_as(session, file, "agent-trace")

    assert (result["files"], result["files_left_out"]) == (0, 2)
    assert json.loads(file.read_text())["metadata"]["fazm_memory"]["files_left_out"] == 2
