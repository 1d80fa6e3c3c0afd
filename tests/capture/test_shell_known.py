"""What a session knows of folders between its commands, and what that lets a command tell."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fazm_memory.capture.agents.claude_transcript import Transcript
from fazm_memory.capture.agents.tool_call import shell_files
from fazm_memory.capture.checkpoints import Checkpoints
from fazm_memory.capture.folders_then import Folders
from fazm_memory.capture.ignore import Ignore
from fazm_memory.capture.shell import Known, file_effects
from fazm_memory.capture.shell.known import MOST_NAMES
from fazm_memory.capture.tree import scan
from fazm_memory.log.store import Store


def told(command: str, known: Known, output: str = "", *, ok: bool = True) -> list[str]:
    files = shell_files(command, cwd="/w", output=output, ok=ok, known=known)
    return [
        f"{one['change']} {one['path'].removeprefix('/w/')}{'?' if one.get('inferred') else ''}"
        for one in files
        if one["change"] != "read"
    ]


def test_a_pattern_is_told_by_name_after_a_listing_and_never_for_certain() -> None:
    known = Known()
    assert told("mv *.jpg pics/", Known()) == []
    told("ls", known, "a.jpg\nb.jpg\nnotes.txt\npics\n")
    assert told("mv *.jpg pics/", known) == ["renamed pics/a.jpg?", "renamed pics/b.jpg?"]


def test_what_a_command_moved_is_not_moved_again_and_is_where_it_went() -> None:
    known = Known()
    told("ls -F", known, "a.jpg\nb.jpg\npics/\n")
    told("mv a.jpg pics", known)
    assert told("rm *.jpg", known) == ["deleted b.jpg?"]
    assert told("mv pics/* .", known) == ["renamed a.jpg?"]


def test_a_folder_that_was_made_is_one_later() -> None:
    known = Known()
    told("mkdir out", known)
    assert told("cp x out", known) == ["created out/x?"]


def test_a_folder_that_moved_takes_what_is_in_it_along() -> None:
    known = Known()
    told("ls old", known, "a.txt\nb.txt\n")
    told("ls -p", known, "old/\n")
    told("mv old new", known)
    assert told("rm new/*", known) == ["deleted new/a.txt?", "deleted new/b.txt?"]
    assert told("rm old/*", known) == []


def test_a_later_listing_says_what_is_no_longer_there() -> None:
    known = Known()
    told("ls", known, "a.txt\nb.txt\n")
    told("ls", known, "b.txt\n")
    assert told("rm *.txt", known) == ["deleted b.txt?"]
    told("ls | head -1", known, "c.txt\n")
    assert told("cp *.txt /x/", known) == ["created /x/c.txt?"]


def test_a_part_of_a_listing_takes_nothing_away() -> None:
    known = Known()
    told("ls", known, "a.txt\nb.txt\n")
    told("cd . && ls 2>/dev/null | head -1", known, "b.txt\n")
    assert told("rm *.txt", known) == ["deleted a.txt?", "deleted b.txt?"]


def test_a_command_that_failed_teaches_nothing() -> None:
    known = Known()
    told("ls", known, "a.txt\n")
    told("rm a.txt", known, ok=False)
    assert told("mv *.txt /x/", known) == ["renamed /x/a.txt?"]


def test_files_that_other_tools_touched_are_known_too() -> None:
    known = Known()
    known.take([{"path": "/w/docs/a.md", "change": "read"}], [{"folder": "/w/docs", "files": ["b.md"]}])
    known.take([{"path": "/w/docs/c.md", "from": "/w/docs/b.md", "change": "renamed"}])
    assert told("rm docs/*.md", known) == ["deleted docs/a.md?", "deleted docs/c.md?"]


def test_only_so_much_is_carried_and_the_latest_of_it() -> None:
    known = Known()
    for number in range(6):
        known.listed(f"/w/d{number}", [f"f{one}" for one in range(500)], whole=True, marked=True)
    carried = json.loads(json.dumps(known.carry()))
    assert sum(map(len, carried.values())) <= MOST_NAMES
    assert list(carried) == ["/w/d2", "/w/d3", "/w/d4", "/w/d5"]
    assert len(file_effects("rm *", cwd="/w/d5", known=Known(carried))) == 500


def test_a_transcript_is_read_on_with_what_it_knew() -> None:
    def call(number: int, command: str, output: str) -> list[dict[str, object]]:
        used = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        place = {"cwd": "/w", "timestamp": "2026-11-16T07:00:00Z"}
        return [
            place | {"type": "assistant", "uuid": f"a{number}", "message": {"content": [used]}},
            place | {"type": "user", "uuid": f"u{number}", "message": {"content": [result]}},
        ]

    first = Transcript("s", None, {})
    for record in call(1, "ls", "a.jpg\nb.jpg\nkeep.txt"):
        first.take(record)
    second = Transcript("s", None, json.loads(json.dumps(first.carry())))
    for record in call(2, "mkdir pics && mv *.jpg pics/", ""):
        second.take(record)
    action = next(draft for draft in second.drafts if draft.kind == "action")
    assert [one["path"] for one in action.payload["files"]] == ["/w/pics", "/w/pics/a.jpg", "/w/pics/b.jpg"]


def test_a_call_that_is_announced_is_told_with_what_the_watcher_saw_before_it(tmp_path: Path) -> None:
    work = Path(os.path.realpath(tmp_path)) / "work"
    (work / "pics").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg"):
        (work / name).touch()
    store = Store(tmp_path / "home", key="file")
    Checkpoints(store.db).save(scan(str(work), Ignore(str(work)), at=1_000))
    (work / "late.jpg").touch()  # the disk of today is not asked

    folders = Folders(store.db)
    early = folders.known_to("early", str(work), 999, True)
    assert file_effects("rm *.jpg", cwd=str(work), known=early) == ()
    known = folders.known_to("one", str(work), 2_000, True)
    moved = file_effects("mv *.jpg pics", cwd=str(work), known=known)
    assert [effect.path for effect in moved] == [f"{work}/pics/a.jpg", f"{work}/pics/b.jpg"]
    assert folders.known_to("one", str(work), 2_500, False) is known
    assert file_effects("rm *.jpg", cwd=str(work), known=known) == ()

    Checkpoints(store.db).save(scan(str(work), Ignore(str(work)), at=3_000))
    known = folders.known_to("one", str(work), 4_000, True)
    removed = file_effects("rm *.jpg", cwd=str(work), known=known)
    assert [effect.path for effect in removed] == [f"{work}/{name}.jpg" for name in ("a", "b", "late")]
    store.close()
