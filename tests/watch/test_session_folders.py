"""Folders that a session knows between its commands, and the effects that rest on them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fazm_memory.agents.claude_code.transcript import Transcript
from fazm_memory.agents.tool_calls import shell_files
from fazm_memory.engines.shell_effects import KnownFolders, file_effects
from fazm_memory.engines.shell_effects.state import MOST_NAMES
from fazm_memory.store.store import Store
from fazm_memory.watch.scope import SessionFolders
from fazm_memory.watch.tree import IgnoreRules, TreeCheckpoints, scan


def effects_of(command: str, known: KnownFolders, output: str = "", *, ok: bool = True) -> list[str]:
    files = shell_files(command, cwd="/w", output=output, ok=ok, known=known)
    return [
        f"{file['change']} {file['path'].removeprefix('/w/')}{'?' if file.get('inferred') else ''}"
        for file in files
        if file["change"] != "read"
    ]


def test_a_glob_is_resolved_after_a_listing_and_always_inferred() -> None:
    known = KnownFolders()
    assert effects_of("mv *.jpg pics/", KnownFolders()) == []
    effects_of("ls", known, "a.jpg\nb.jpg\nnotes.txt\npics\n")
    assert effects_of("mv *.jpg pics/", known) == ["renamed pics/a.jpg?", "renamed pics/b.jpg?"]


def test_a_moved_file_is_known_at_its_new_place_only() -> None:
    known = KnownFolders()
    effects_of("ls -F", known, "a.jpg\nb.jpg\npics/\n")
    effects_of("mv a.jpg pics", known)
    assert effects_of("rm *.jpg", known) == ["deleted b.jpg?"]
    assert effects_of("mv pics/* .", known) == ["renamed a.jpg?"]


def test_a_created_folder_is_known_later() -> None:
    known = KnownFolders()
    effects_of("mkdir out", known)
    assert effects_of("cp x out", known) == ["created out/x?"]


def test_a_moved_folder_takes_its_contents_along() -> None:
    known = KnownFolders()
    effects_of("ls old", known, "a.txt\nb.txt\n")
    effects_of("ls -p", known, "old/\n")
    effects_of("mv old new", known)
    assert effects_of("rm new/*", known) == ["deleted new/a.txt?", "deleted new/b.txt?"]
    assert effects_of("rm old/*", known) == []


def test_a_later_listing_shows_what_is_gone() -> None:
    known = KnownFolders()
    effects_of("ls", known, "a.txt\nb.txt\n")
    effects_of("ls", known, "b.txt\n")
    assert effects_of("rm *.txt", known) == ["deleted b.txt?"]
    effects_of("ls | head -1", known, "c.txt\n")
    assert effects_of("cp *.txt /x/", known) == ["created /x/c.txt?"]


def test_part_of_a_listing_removes_nothing() -> None:
    known = KnownFolders()
    effects_of("ls", known, "a.txt\nb.txt\n")
    effects_of("cd . && ls 2>/dev/null | head -1", known, "b.txt\n")
    assert effects_of("rm *.txt", known) == ["deleted a.txt?", "deleted b.txt?"]


def test_nothing_is_learned_from_a_failed_command() -> None:
    known = KnownFolders()
    effects_of("ls", known, "a.txt\n")
    effects_of("rm a.txt", known, ok=False)
    assert effects_of("mv *.txt /x/", known) == ["renamed /x/a.txt?"]


def test_files_touched_by_other_tools_are_known() -> None:
    known = KnownFolders()
    known.add_call([{"path": "/w/docs/a.md", "change": "read"}], [{"folder": "/w/docs", "files": ["b.md"]}])
    known.add_call([{"path": "/w/docs/c.md", "from": "/w/docs/b.md", "change": "renamed"}])
    assert effects_of("rm docs/*.md", known) == ["deleted docs/a.md?", "deleted docs/c.md?"]


def test_only_the_latest_folders_are_carried() -> None:
    known = KnownFolders()
    for number in range(6):
        known.add_listing(f"/w/d{number}", [f"f{file}" for file in range(500)], whole=True, marked=True)
    carried = json.loads(json.dumps(known.carry()))
    assert sum(map(len, carried.values())) <= MOST_NAMES
    assert list(carried) == ["/w/d2", "/w/d3", "/w/d4", "/w/d5"]
    assert len(file_effects("rm *", cwd="/w/d5", known=KnownFolders(carried))) == 500


def test_known_folders_are_carried_when_a_transcript_is_resumed() -> None:
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
    assert [file["path"] for file in action.payload["files"]] == ["/w/pics", "/w/pics/a.jpg", "/w/pics/b.jpg"]


def test_a_call_announced_by_a_hook_uses_the_last_scan_before_it(tmp_path: Path) -> None:
    work = Path(os.path.realpath(tmp_path)) / "work"
    (work / "pics").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg"):
        (work / name).touch()
    store = Store(tmp_path / "home", key="file")
    TreeCheckpoints(store.db).save(scan(str(work), IgnoreRules(str(work)), at=1_000))
    (work / "late.jpg").touch()  # the disk of today is not asked

    folders = SessionFolders(store.db)
    early = folders.known_to("early", str(work), 999, True)
    assert file_effects("rm *.jpg", cwd=str(work), known=early) == ()
    known = folders.known_to("one", str(work), 2_000, True)
    moved = file_effects("mv *.jpg pics", cwd=str(work), known=known)
    assert [effect.path for effect in moved] == [f"{work}/pics/a.jpg", f"{work}/pics/b.jpg"]
    assert folders.known_to("one", str(work), 2_500, False) is known
    assert file_effects("rm *.jpg", cwd=str(work), known=known) == ()

    TreeCheckpoints(store.db).save(scan(str(work), IgnoreRules(str(work)), at=3_000))
    known = folders.known_to("one", str(work), 4_000, True)
    removed = file_effects("rm *.jpg", cwd=str(work), known=known)
    assert [effect.path for effect in removed] == [f"{work}/{name}.jpg" for name in ("a", "b", "late")]
    store.close()
