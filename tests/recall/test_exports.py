"""What hooks hand out: the files that are written are the files the hook reads, and no others stay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import hook_script
from fazm_memory.recall import exports
from fazm_memory.recall.exports import context_file_name
from fazm_memory.recall.quoting import BLOCK

from .conftest import ClockedMemory


def hook(memory: ClockedMemory, **event: Any) -> str:
    """What the real hook answers, run as an agent runs it."""
    home = memory.config.home
    script = hook_script.write(home)
    result = {
        "hook_event_name": "SessionStart",
        "session_id": "new",
        "cwd": "/w",
        "source": "startup",
        **event,
    }
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    done = subprocess.run(
        [str(script), "claude-code", "answer"],
        input=json.dumps(result).encode(),
        env=env,
        capture_output=True,
        check=True,
    )
    out = done.stdout.decode()
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""


def body(text: str) -> str:
    """The text from our own first word on: a hook may say before it on which day it was rendered."""
    return text[text.index("Fazm Memory:") :]


def test_a_fresh_session_is_given_what_the_context_command_prints(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("s", "prompt", workspace="/w/photos", text="sort the photos")
    memory.at("2026-11-15T09:00:00+00:00").recall.export_contexts()
    for source in ("startup", "clear", "compact"):
        result = hook(memory, cwd="/w/photos/2026", source=source)
        assert body(result) == memory.recall.context("/w/photos").text
    assert body(hook(memory, cwd="/elsewhere")) == memory.recall.context(None).text


def test_a_resumed_session_is_reported_only_what_changed_since(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("mine", "prompt", text="draft the letter")
    touched = [{"path": "/w/letter.md", "change": "created"}]
    memory.say("mine", "action", tool="Write", input={"file_path": "/w/letter.md"}, files=touched)
    memory.recall.export_contexts()
    assert hook(memory, session_id="mine", source="resume") == ""
    memory.at("2026-11-14T12:00:00+00:00").say(
        "mine", "file", path="/w/letter.md", change="modified", by="person", evidence="edited in TextEdit",
        source="files",
    )  # fmt: skip
    memory.say("theirs", "prompt", text="add the invoice table")
    added = [{"path": "/w/table.csv", "change": "created"}]
    memory.say("theirs", "action", tool="Write", input={"file_path": "/w/table.csv"}, files=added)
    memory.at("2026-11-15T09:00:00+00:00").recall.export_contexts()
    results = hook(memory, session_id="mine", source="resume")
    assert 'modified "/w/letter.md" by person' in results
    assert 'asked "add the invoice table"' in results
    assert 'created "/w/table.csv" by agent' in results
    assert "draft the letter" not in results
    assert BLOCK.search(results) is not None


def test_what_is_forgotten_leaves_the_files_too(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("s", "prompt", text="about the zebra")
    memory.recall.export_contexts()
    memory.maintenance.forget("s")
    assert "zebra" not in everything(memory)
    memory.say("t", "prompt", text="about the gnu")
    memory.recall.export_contexts()
    assert "gnu" in everything(memory)
    memory.recording.pause()
    memory.maintenance.forget("t")
    assert everything(memory) == ""


def test_a_folder_nobody_works_in_any_more_has_no_file(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="x")
    assert len(memory.recall.export_contexts(["/gone"])) == 3
    assert len(memory.recall.export_contexts()) == 2
    assert len(exported(memory)) == 5  # both as text and data, and the list of folders


def test_a_file_that_a_power_cut_left_empty_hinders_no_choice(memory: ClockedMemory) -> None:
    memory.say("s", "decision", what="by month")
    memory.recall.export_contexts()
    (memory.config.home / "context" / "context.json").write_bytes(b"")
    item = f"{memory.sessions.get('s')['id'][:8]}:decision:1"
    assert memory.recall.choose_item(item, "exclude") == {item: "exclude"}
    results = [path.read_text() for path in exported(memory) if path.suffix == ".md"]
    assert len(results) == 2
    assert not any("by month" in text for text in results)


def exported(memory: ClockedMemory) -> list[Path]:
    return [path for path in (memory.config.home / "context").glob("*") if path.is_file()]


def everything(memory: ClockedMemory) -> str:
    return "".join(path.read_text() for path in exported(memory))


def test_news_of_any_length_come_in_a_whole_fence_within_the_clients_cap(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("me", "prompt", text="begin")
    memory.at("2026-11-14T11:00:00+00:00")
    for number in range(8):
        for n in range(12):
            memory.say(f"o{number}", "file", path=f"/w/{'folder/' * 16}{number}-{n}.txt", change="modified")
    memory.recall.export_contexts()
    results = hook(memory, session_id="me", source="resume")
    block = BLOCK.search(results)
    assert block is not None
    assert len(results) <= 10_000
    assert "lines more, left out for space" in block[2].splitlines()[-1]


def written(memory: ClockedMemory) -> dict[str, int]:
    """The export files, each with its identity: a file that is written again is another one."""
    folder = memory.config.home / "context"
    return {path.name: path.stat().st_ino for path in folder.glob("*.md")}


def folder_file(folder: str) -> str:
    return f"{context_file_name(folder)}.md"


def test_only_the_contexts_of_folders_with_new_events_are_written_again(memory: ClockedMemory) -> None:
    memory.at("2026-11-15T09:00:00+00:00").say("a", "prompt", workspace="/w/photos", text="sort the photos")
    memory.say("b", "prompt", workspace="/w/letters", text="write the letter")
    memory.recall.export_contexts()
    before = written(memory)
    memory.recall.export_contexts()
    assert written(memory) == before
    memory.say("b", "decision", what="date first", why="it sorts")
    memory.recall.export_contexts()
    after = written(memory)
    assert after[folder_file("/w/photos")] == before[folder_file("/w/photos")]
    assert after[folder_file("/w/letters")] != before[folder_file("/w/letters")]
    assert body(hook(memory, cwd="/w/letters")) == memory.recall.context("/w/letters").text
    assert "date first" in hook(memory, cwd="/elsewhere")


def test_a_fact_or_a_new_hour_or_a_lost_file_has_every_context_written_again(memory: ClockedMemory) -> None:
    memory.at("2026-11-15T09:00:00+00:00").say("a", "prompt", workspace="/w/photos", text="sort the photos")
    memory.recall.export_contexts()
    name, seen = folder_file("/w/photos"), {written(memory)[folder_file("/w/photos")]}
    memory.recall.add_fact("language", "German")
    memory.recall.export_contexts()
    assert "German" in hook(memory, cwd="/w/photos")
    memory.at("2026-11-15T10:01:00+00:00").recall.export_contexts()
    seen.add(written(memory)[name])
    (memory.config.home / "context" / name).unlink()
    memory.recall.export_contexts()
    assert name in written(memory)
    assert len(seen) == 2


def test_news_appear_when_another_session_works_in_the_folder(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("mine", "prompt", workspace="/w", text="draft the letter")
    memory.recall.export_contexts()
    assert hook(memory, session_id="mine", source="resume") == ""
    memory.at("2026-11-14T10:20:00+00:00").say(
        "theirs", "prompt", workspace="/w", text="add the invoice table"
    )
    added = [{"path": "/w/table.csv", "change": "created"}]
    memory.say("theirs", "action", tool="Write", input={"file_path": "/w/table.csv"}, files=added)
    for _ in range(2):
        memory.recall.export_contexts()
        assert "invoice table" in hook(memory, session_id="mine", source="resume")


@pytest.fixture
def marked(memory: ClockedMemory, monkeypatch: pytest.MonkeyPatch) -> ClockedMemory:
    """One decision, and written contexts whose text can be told from a new one."""
    write = exports.write_context

    def write_marked(
        home: Path, folder: str | None, context: exports.WrittenContext, inputs: str = ""
    ) -> Path:
        return write(home, folder, exports.WrittenContext("as written", context.data), inputs)

    monkeypatch.setattr(exports, "write_context", write_marked)
    memory.at("2026-11-14T10:00:00+00:00").say("s", "decision", what="by month")
    memory.recall.export_contexts()
    return memory


def test_the_written_context_is_given_while_nothing_changed(marked: ClockedMemory) -> None:
    assert marked.recall.present_context("/w").text == "as written"
    assert marked.recall.present_context("/w", budget=300).text != "as written"


@pytest.mark.parametrize("change", ["an event", "a choice", "a fact", "another hour", "another text"])
def test_a_written_context_is_not_given_after_a_change(marked: ClockedMemory, change: str) -> None:
    memory = marked
    if change == "an event":
        memory.say("s", "decision", what="by year")
    elif change == "a choice":
        exports.set_choice(memory.store, f"{memory.sessions.get('s')['id'][:8]}:decision:1", "pin")
    elif change == "a fact":
        memory.recall.add_fact("paper", "A4")
    elif change == "another hour":
        memory.at("2026-11-14T11:00:00+00:00")
    else:
        exports.context_path(memory.config.home, "/w").write_text("cut by a power cut")

    found = memory.recall.present_context("/w")

    assert found.text == memory.recall.context("/w").text
    assert found.data == memory.recall.context("/w").data


def test_a_written_context_is_read_as_it_was_rendered(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("s", "decision", what="by month", why="ünïcode")
    memory.recall.export_contexts()
    rendered = memory.recall.context("/w")

    found = memory.recall.present_context("/w")

    assert (found.text, found.data) == (rendered.text, rendered.data)
