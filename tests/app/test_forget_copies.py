"""Forgetting reaches every copy: one text is put into every place, and no file may still have it.

Looked for: every table of every database (decrypted, unpacked), every other file of the data folder, other
letter case and Unicode forms, text with quotes and line breaks, UTF-16, names of files, and copies that no
event leads to.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fazm_memory.app.copies import PLACES, CopyPlace
from fazm_memory.events.event import Draft
from fazm_memory.ingest.spool import Spool
from fazm_memory.recall.exports import read_choices
from fazm_memory.store import file_versions, framework_store, schema, transcript_copies
from fazm_memory.store.database import Database
from fazm_memory.store.recovery.page_reader import PageReader
from fazm_memory.store.store import STORE_FOLDER
from fazm_memory.sync import state as sync_state
from fazm_memory.text import TextMatch
from fazm_memory.watch.scope import WatchedFolder, save_watched_folders
from fazm_memory.watch.tree import IgnoreRules, TreeCheckpoints, scan
from tests.app.memory_fixture import START, MemoryFixture

TEXT = "Zebrafish-Quarry 77"
MATCH = TextMatch(TEXT)
HOUR = 3_600_000_000


def has_text(cell: Any) -> bool:
    if isinstance(cell, bytes):
        if cell[:4] == zstandard.MAGIC_NUMBER.to_bytes(4, "little"):
            cell = zstandard.ZstdDecompressor().decompress(cell, max_output_size=1 << 24)
        return MATCH.in_bytes(cell)
    return isinstance(cell, str) and MATCH.in_text(cell)


def holders(memory: MemoryFixture) -> set[str]:
    """Tables and files of the data folder that have the text."""
    key, home = memory.store.keys.database, memory.config.home
    memory.close()
    found = set()
    for path in sorted(home.rglob("*")):
        if path.suffix == ".db" and path.parent.name == STORE_FOLDER:
            found |= {f"{path.name}:{table}" for table, cell in cells(path, key) if has_text(cell)}
        elif path.is_file() and has_text(path.read_bytes()):
            found.add(str(path.relative_to(home)))
    return found


STEPS = {
    "memory.db": schema.STEPS,
    "versions.db": file_versions.STEPS,
    "drawer.db": framework_store.STEPS,
}


def cells(path: Path, key: str) -> Iterator[tuple[str, Any]]:
    """Every value of every table of a database."""
    db = Database(path, key, steps=STEPS[path.name])
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
        for row in db.execute(f'SELECT * FROM "{table}"').fetchall():
            yield from ((table, cell) for cell in row)
    db.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture
def session(memory: MemoryFixture, workspace: Path) -> str:
    """A session with the text in every kind of copy. Its agent calls it `agent-session-1`."""
    opening = {"agent": "fazm", "workspace": str(workspace)}
    draft = Draft("agent-session-1", "session.open", opening, agent="fazm", source="record")
    appended = memory.sessions.record([draft])[0].appended
    assert appended is not None
    opened = appended.session
    memory.say(opened, "prompt", text=f"look for {TEXT}")
    memory.say(opened, "decision", what="an ordinary decision", why=f"because of\n{TEXT}")
    memory.say(opened, "fact", key="place", value={"name": TEXT})
    memory.act(opened, "Bash", {"command": f"echo '{TEXT}'"}, output=TEXT)
    memory.say(opened, "message", text="words that stay")
    memory.say(opened, "pending", id=f"ask {TEXT}", what="an open point")
    for item in ("pending:ask " + TEXT, "fact:place"):
        memory.recall.choose_item(f"{opened[:8]}:{item}", "pin")
    versions = memory.file_versions
    versions.keep(str(workspace), "letter.txt", START, f"Dear {TEXT.upper()}".encode())
    versions.keep(str(workspace), "wide.txt", START, f"Dear {TEXT}".encode("utf-16"))
    versions.keep(str(workspace), f"{TEXT}.txt", START, b"only its name")
    versions.keep(str(workspace), "other.txt", START, b"another file")
    memory.framework_store.put("langgraph", "another-session", "state", json.dumps({"q": TEXT}).encode())
    spool = Spool(memory.config.home)
    hook = {"hook_event_name": "UserPromptSubmit", "session_id": "agent-session-1", "prompt": TEXT}
    (spool.prepare() / "1-1.claude-code.json").write_text(json.dumps(hook))
    (spool.prepare() / "2-1.claude-code.json").write_text(json.dumps(hook | {"prompt": "else"}))
    carry = {"carry": {"open": {"c1": {"tool": "Bash", "input": {"command": f"cat {TEXT}"}}}}, "held": {}}
    with memory.store.db.transaction():
        memory.store.db.execute(
            "INSERT INTO cursor VALUES (?,?,?,?,?,?,?,?)",
            ("/r/agent-session-1.jsonl", "claude-code", 1, 1, 1, "f", json.dumps(carry).encode(), 1),
        )
    (workspace / f"{TEXT}.txt").write_text("x")
    TreeCheckpoints(memory.store.db).save(scan(str(workspace), IgnoreRules(str(workspace)), START))
    memory.recall.export_contexts()
    exports = memory.config.home / "exports"
    exports.mkdir(mode=0o700)
    memory.bundles.export(opened, exports / "a.fazm")
    scripts = memory.config.home / "resume"
    scripts.mkdir(mode=0o700)
    (scripts / "resume-1.command").write_text(f"claude '{TEXT}'")
    return opened


def test_a_text_is_in_many_places_and_after_forgetting_in_none(memory: MemoryFixture, session: str) -> None:
    before = holders(memory)
    assert {"memory.db:event", "memory.db:cursor", "memory.db:tree", "versions.db:blob"} <= before
    assert {"memory.db:meta", "memory.db:fact", "memory.db:session"} <= before
    assert {"versions.db:version", "drawer.db:item", "spool/1-1.claude-code.json"} <= before
    assert {"context/context.md", "resume/resume-1.command"} <= before
    planned = memory.maintenance.forget(match=TEXT.lower(), dry_run=True)
    assert holders(memory) == before
    result = memory.maintenance.forget(match=TEXT.lower())
    assert holders(memory) == set()
    assert not list((memory.config.home / "exports").iterdir())
    same = ("sessions", "events", "kept")
    assert {name: planned[name] for name in same} == {name: result[name] for name in same}
    assert result["copies"]["file versions"] == planned["copies"]["file versions"] == 3
    assert result["copies"]["bundles exported by the page"] == 1
    assert result["copies"]["choices of what contexts say"] == 1


def pages_with(memory: MemoryFixture, word: str) -> set[str]:
    """Databases with a word in a decrypted page or write-ahead log, in use or free."""
    key, found = memory.store.keys.database, set()
    for path in sorted((memory.config.home / STORE_FOLDER).glob("*.db")):
        with closing(PageReader(path, key, None)) as pages:
            content = b"".join(pages.read(number) or b"" for number in range(1, pages.count + 1)).lower()
            if word.encode() in content or word.encode("utf-16-le") in content:
                found.add(path.name)
    return found


def test_no_page_of_any_database_has_the_text_after_forgetting(memory: MemoryFixture, session: str) -> None:
    """Deleted rows stay in free pages, and words in the search index, unless they are overwritten."""
    word = TEXT.split("-")[0].lower()
    assert {"memory.db", "versions.db", "drawer.db"} <= pages_with(memory, word)
    memory.maintenance.forget(match=TEXT)
    assert pages_with(memory, word) == set()


def test_a_choice_goes_with_its_session_or_the_event_it_is_named_after(
    memory: MemoryFixture, session: str
) -> None:
    choose = [f"{session[:8]}:decision:2", f"{session[:8]}:fact:place"]
    for item in choose:
        memory.recall.choose_item(item, "exclude")
    memory.maintenance.forget(since=START - HOUR, until=START + HOUR)
    assert set(read_choices(memory.store)) == {f"{session[:8]}:decision:2"}
    memory.maintenance.forget(session)
    assert read_choices(memory.store) == {}


def test_a_name_in_the_settings_of_the_store_is_named(memory: MemoryFixture, workspace: Path) -> None:
    save_watched_folders(memory.store.db, [WatchedFolder(str(workspace / TEXT))])
    remaining = memory.maintenance.forget(match=TEXT)["remaining"]
    assert any("watch" in copy["what"] for copy in remaining), remaining


# Tables of all databases that may have recorded text. The first list is filled and searched here.
FILLED = {
    "memory.db": "session event words snapshot cursor fact tree meta",
    "versions.db": "blob version folder restore",
    "drawer.db": "item",
    "transcripts.db": "chunk copy part forgotten",
}
# The second has ids, digests, times and counts, or names of devices and files on their way between machines.
WITHOUT_TEXT = {
    "memory.db": "waiting turn minute rewind failed_call run arrival receipt usage claimed",
    "versions.db": "total",
    "drawer.db": "",
    "transcripts.db": "",
    "sync.db": "setting batch part sent object garbage device copy waiting tombstone shared_file shared_blob"
    " wanted_blob edition lost shared_transcript shared_part shared_chunk wanted_transcript",
}
SYNC_STEPS = tuple(step for name, step in vars(sync_state).items() if name.startswith("STEP_"))
ALL_STEPS = {**STEPS, "transcripts.db": transcript_copies.STEPS, "sync.db": SYNC_STEPS}


@pytest.mark.parametrize("name", ALL_STEPS)
def test_for_every_table_it_is_decided_whether_forgetting_must_look_into_it(name: str) -> None:
    created = re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", " ".join(ALL_STEPS[name]))
    dropped = re.findall(r"DROP TABLE (\w+)", " ".join(ALL_STEPS[name]))
    known = f"{FILLED.get(name, '')} {WITHOUT_TEXT[name]}".split()
    assert sorted(set(created) - set(dropped)) == sorted(known)


def test_what_does_not_match_stays(memory: MemoryFixture, session: str, workspace: Path) -> None:
    memory.maintenance.forget(match=TEXT)
    versions = memory.file_versions
    last = versions.last(str(workspace), "other.txt")
    assert last is not None
    assert versions.read(str(last.digest)) == b"another file"
    assert [path.name for path in (memory.config.home / "spool").glob("*.json")] == ["2-1.claude-code.json"]
    assert "words that stay" in str(list(memory.history.events(session)))
    assert memory.maintenance.verify().clean


def test_a_file_that_still_has_the_text_on_disk_is_named(
    memory: MemoryFixture, session: str, workspace: Path
) -> None:
    (workspace / "letter.txt").write_text(f"Dear {TEXT}")
    remaining = memory.maintenance.forget(match=TEXT)["remaining"]
    assert [copy["what"] for copy in remaining if "on disk" in copy["why"]] == [
        ", ".join(sorted([f"{workspace}/{TEXT}.txt", f"{workspace}/letter.txt"]))
    ]


def test_copies_that_no_event_leads_to_are_found(memory: MemoryFixture, workspace: Path) -> None:
    memory.begin(str(workspace))
    memory.file_versions.keep(str(workspace), "letter.txt", START, TEXT.encode())
    result = memory.maintenance.forget(match=TEXT)
    assert (result["events"], result["copies"]) == (0, {"file versions": 1})
    assert holders(memory) == set()


def test_a_whole_session_takes_its_hook_events_open_calls_and_bundles(
    memory: MemoryFixture, session: str
) -> None:
    memory.maintenance.forget(session)
    assert not list((memory.config.home / "spool").glob("*.json"))
    assert not list((memory.config.home / "exports").iterdir())
    assert {name for name in holders(memory) if not name.startswith(("versions.db", "drawer.db"))} == {
        "memory.db:tree"  # the name of a file that no event touched
    }


def test_a_time_takes_the_file_versions_of_that_time(memory: MemoryFixture, session: str) -> None:
    versions = memory.file_versions
    versions.keep("/elsewhere", "note.txt", START + 5 * HOUR, b"later")
    memory.maintenance.forget(since=START - HOUR, until=START + HOUR)
    assert versions.size() == len(zstandard.ZstdCompressor(level=3).compress(b"later"))
    assert {name for name in holders(memory) if not name.startswith("drawer.db")} <= {
        "memory.db:tree", "versions.db:version", "spool/1-1.claude-code.json"
    }  # fmt: skip


def test_set_aside_stores_are_named_and_deleted_when_asked(memory: MemoryFixture, session: str) -> None:
    aside = memory.config.home / "quarantine" / "2026-11-14T090000"
    aside.mkdir(parents=True)
    (aside / "memory.db").write_bytes(b"damaged")
    remaining = memory.maintenance.forget(session)["remaining"]
    assert [copy["what"] for copy in remaining] == [str(aside)]
    assert "forget --set-aside" in remaining[0]["remove"]
    assert memory.maintenance.forget_set_aside(dry_run=True)["set_aside"] == [str(aside)]
    assert aside.exists()
    memory.maintenance.forget_set_aside()
    assert not aside.exists()
    assert memory.maintenance.forget(match="nothing has this")["remaining"] == []


def test_an_export_that_cannot_be_read_is_named(memory: MemoryFixture, session: str) -> None:
    bundle = memory.config.home / "exports" / "sealed.fazm"
    memory.bundles.export(session, bundle, passphrase="four words of nonsense")
    remaining = memory.maintenance.forget(match=TEXT)["remaining"]
    assert str(bundle) in [copy["what"] for copy in remaining]


def test_other_files_of_the_data_folder_are_named(memory: MemoryFixture, session: str) -> None:
    backups = memory.config.home / "backups"
    backups.mkdir()
    (backups / "settings.json").write_text(json.dumps({"note": TEXT}))
    remaining = memory.maintenance.forget(match=TEXT)["remaining"]
    assert str(backups / "settings.json") in [copy["what"] for copy in remaining]


def test_the_agents_own_transcript_is_named(memory: MemoryFixture, session: str, tmp_path: Path) -> None:
    transcript = tmp_path / "agent-session-1.jsonl"
    transcript.write_text("{}\n")
    with memory.store.db.transaction():
        memory.store.db.execute("UPDATE cursor SET path=?", (str(transcript),))
    remaining = memory.maintenance.forget(session)["remaining"]
    assert [copy["what"] for copy in remaining] == [str(transcript)]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Straße in Köln", "STRASSE IN KÖLN"),
        (unicodedata.normalize("NFD", "Café Zoé"), "café zoé"),
        ('he said "stop\nnow"', '"stop\nnow"'),
        ("C:\\temp\\x", "c:\\temp"),
    ],
)
def test_a_text_is_found_in_any_form(memory: MemoryFixture, written: str, asked: str) -> None:
    opened = memory.begin()
    memory.say(opened, "prompt", text=written)
    memory.file_versions.keep("/w", "a.txt", START, written.encode())
    memory.file_versions.keep("/w", "a.json", START, json.dumps([written]).encode())
    result = memory.maintenance.forget(match=asked)
    assert (result["events"], result["copies"]["file versions"]) == (1, 2)


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("curl https://a.example/?q=zebra%20quarry+77", "Zebra Quarry 77"),
        ('curl -d \'{"q": "Caf\\u00e9 Zo\\u00e9"}\'', "café zoé"),
        ('send {"q": "he said \\"stop\\nnow\\""}', '"stop\nnow"'),
    ],
)
def test_a_text_is_found_inside_an_argument_of_a_command(
    memory: MemoryFixture, command: str, asked: str
) -> None:
    memory.act(memory.begin(), "Bash", {"command": command})

    assert memory.maintenance.forget(match=asked)["events"] == 1


def test_the_path_of_a_transcript_with_the_text_is_named(memory: MemoryFixture, session: str) -> None:
    with memory.store.db.transaction():
        memory.store.db.execute("UPDATE cursor SET path=?", (f"/r/{TEXT}/1.jsonl",))

    remaining = memory.maintenance.forget(match=TEXT)["remaining"]

    assert [copy["what"] for copy in remaining if TEXT in copy["why"]] == ["1 transcript path"]


def test_every_place_counts_deletes_and_has_a_name_of_its_own() -> None:
    for place in PLACES:
        assert place.find is not CopyPlace.find
        assert place.forget is not CopyPlace.forget
    assert len({place.name for place in PLACES}) == len(PLACES)
