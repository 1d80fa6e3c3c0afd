"""What hooks hand out: the files that are written are the files the hook reads, and no others stay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from fazm_memory.capture import hook_script
from fazm_memory.recall.fence import BLOCK

from .conftest import Desk


def hook(desk: Desk, **event: Any) -> str:
    """What the real hook answers, run as an agent runs it."""
    home = desk.config.home
    script = hook_script.write(home)
    told = {"hook_event_name": "SessionStart", "session_id": "new", "cwd": "/w", "source": "startup", **event}
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    done = subprocess.run(
        [str(script), "claude-code", "answer"],
        input=json.dumps(told).encode(),
        env=env,
        capture_output=True,
        check=True,
    )
    out = done.stdout.decode()
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""


def body(text: str) -> str:
    """The text from our own first word on: a hook may say before it on which day it was rendered."""
    return text[text.index("Fazm Memory:") :]


def test_a_fresh_session_is_given_what_the_context_command_prints(desk: Desk) -> None:
    desk.at("2026-11-14T10:00:00+00:00").say("s", "prompt", workspace="/w/photos", text="sort the photos")
    desk.at("2026-11-15T09:00:00+00:00").export_contexts()
    for source in ("startup", "clear", "compact"):
        told = hook(desk, cwd="/w/photos/2026", source=source)
        assert body(told) == desk.context("/w/photos").text
    assert body(hook(desk, cwd="/elsewhere")) == desk.context(None).text


def test_a_resumed_session_is_told_only_what_changed_since(desk: Desk) -> None:
    desk.at("2026-11-14T10:00:00+00:00").say("mine", "prompt", text="draft the letter")
    touched = [{"path": "/w/letter.md", "change": "created"}]
    desk.say("mine", "action", tool="Write", input={"file_path": "/w/letter.md"}, files=touched)
    desk.export_contexts()
    assert hook(desk, session_id="mine", source="resume") == ""
    desk.at("2026-11-14T12:00:00+00:00").say(
        "mine", "file", path="/w/letter.md", change="modified", by="person", evidence="edited in TextEdit",
        source="files",
    )  # fmt: skip
    desk.say("theirs", "prompt", text="add the invoice table")
    added = [{"path": "/w/table.csv", "change": "created"}]
    desk.say("theirs", "action", tool="Write", input={"file_path": "/w/table.csv"}, files=added)
    desk.at("2026-11-15T09:00:00+00:00").export_contexts()
    told = hook(desk, session_id="mine", source="resume")
    assert 'modified "/w/letter.md" by person' in told
    assert 'asked "add the invoice table"' in told
    assert 'created "/w/table.csv" by agent' in told
    assert "draft the letter" not in told
    assert BLOCK.search(told) is not None


def test_what_is_forgotten_leaves_the_files_too(desk: Desk) -> None:
    desk.at("2026-11-14T10:00:00+00:00").say("s", "prompt", text="about the zebra")
    desk.export_contexts()
    desk.forget("s")
    assert "zebra" not in everything(desk)
    desk.say("t", "prompt", text="about the gnu")
    desk.export_contexts()
    assert "gnu" in everything(desk)
    desk.pause_recording()
    desk.forget("t")
    assert everything(desk) == ""


def test_a_folder_nobody_works_in_any_more_has_no_file(desk: Desk) -> None:
    desk.say("s", "prompt", text="x")
    assert len(desk.export_contexts(["/gone"])) == 3
    assert len(desk.export_contexts()) == 2
    assert len(list(exported(desk))) == 4


def test_a_file_that_a_power_cut_left_empty_hinders_no_choice(desk: Desk) -> None:
    desk.say("s", "decision", what="by month")
    desk.export_contexts()
    (desk.config.home / "context" / "context.json").write_bytes(b"")
    item = f"{desk.session('s')['id'][:8]}:decision:1"
    assert desk.choose(item, "exclude") == {item: "exclude"}
    told = [path.read_text() for path in exported(desk) if path.suffix == ".md"]
    assert len(told) == 2
    assert not any("by month" in text for text in told)


def exported(desk: Desk) -> list[Path]:
    return [path for path in (desk.config.home / "context").glob("*") if path.is_file()]


def everything(desk: Desk) -> str:
    return "".join(path.read_text() for path in exported(desk))


def test_news_of_any_length_come_in_a_whole_fence_within_the_clients_cap(desk: Desk) -> None:
    desk.at("2026-11-14T10:00:00+00:00").say("me", "prompt", text="begin")
    desk.at("2026-11-14T11:00:00+00:00")
    for number in range(8):
        for n in range(12):
            desk.say(f"o{number}", "file", path=f"/w/{'folder/' * 16}{number}-{n}.txt", change="modified")
    desk.export_contexts()
    told = hook(desk, session_id="me", source="resume")
    block = BLOCK.search(told)
    assert block is not None
    assert len(told) <= 10_000
    assert "lines more, left out for space" in block[2].splitlines()[-1]
