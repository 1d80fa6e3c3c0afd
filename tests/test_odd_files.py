"""Files of other programs may be anything: a pipe, a device, a folder, a terabyte of holes.

The class: a place that opens such a file with `open`, `read_text` or `sqlite3.connect` waits for ever or
fills memory. All of them go through `paths.open_regular` and have a limit. Looked for: every call in the
packages that read what agents, other machines and people wrote.
"""

from __future__ import annotations

import ast
import errno
import json
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fazm_memory
from fazm_memory.agents.base import Cursor, Places, Reader, RecordFile, complete_lines, lines_of
from fazm_memory.agents.claude_code.reader import _plans_in, _was_in_use
from fazm_memory.agents.registry import readers
from fazm_memory.agents.shared_database import restore_rows
from fazm_memory.agents.sqlite_file import read_only
from fazm_memory.bundle.exporter import BundleFile
from fazm_memory.errors import FazmMemoryError
from fazm_memory.ingest.spool import Spool
from fazm_memory.paths import NotRegularFile, open_regular, read_regular
from fazm_memory.rewind.own_folder import _same_file, _worktree_repository
from fazm_memory.sync.state import _origin
from fazm_memory.sync.transports import FolderTransport

PACKAGE = Path(fazm_memory.__file__).parent
PACKAGES = ("agents", "ingest", "watch", "rewind", "sync", "bundle", "formats", "recall", "app")
# Calls that may stay. Ours: in our own home, or shipped with the program. Checked: `open_regular` was first.
OURS, CHECKED, DESCRIPTOR = "ours", "checked", "a descriptor that was opened safely"
ALLOWED = {
    "agents/hook_script.py:write": OURS,
    "agents/registry.py:known_fields": OURS,
    "agents/connect.py:_backup": OURS,
    "agents/connect_settings.py:read_manifest": OURS,
    "agents/hook.py:_read": OURS,
    "agents/hook.py:_write": OURS,
    "agents/hook.py:run": OURS,
    "agents/sqlite_file.py:snapshot": "in memory",
    "agents/shared_database.py:restore_rows": CHECKED,
    "agents/sqlite_file.py:read_only": CHECKED,
    "agents/fazm.py:_rows": CHECKED,
    "ingest/limits.py:read_pause": OURS,
    "ingest/spool.py:bad": OURS,
    "watch/foreground_app.py:read_state": OURS,
    "watch/scope.py:read_list": OURS,
    "watch/versions.py:read_file": DESCRIPTOR,
    "rewind/own_folder.py:_can_clone": "written, not read",
    "rewind/safe_directory.py:find_file": DESCRIPTOR,
    "rewind/safe_directory.py:copy_out": DESCRIPTOR,
    "rewind/safe_directory.py:_write": DESCRIPTOR,
    "recall/exports.py:folders_with_item": OURS,
    "app/costs.py:shipped_prices": OURS,
    "app/recall.py:exported_today": OURS,
    "app/transcripts.py:_open_in": DESCRIPTOR,
    "app/process.py:boot_time": "the system's",
    "app/updates.py:_state": OURS,
    "app/doctor.py:check_agents": OURS,
    "app/doctor.py:_check_hook": OURS,
    "app/doctor.py:_encryption": OURS,
    "app/agents.py:import_progress": OURS,
}
SECONDS = 30
HUGE = 1 << 40


def opened_in(package: str) -> Iterator[str]:
    """`module:function` for each call that opens a file by itself."""
    for path in sorted((PACKAGE / package).rglob("*.py")):
        pending: list[tuple[ast.AST, str]] = [(ast.parse(path.read_text(encoding="utf-8")), "module")]
        while pending:
            node, function = pending.pop()
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                function = node.name
            if isinstance(node, ast.Call) and opens(node):
                yield f"{path.relative_to(PACKAGE)}:{function}"
            pending += [(child, function) for child in ast.iter_child_nodes(node)]


def opens(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "open"
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    if name == "open":
        mode = call.args[0] if call.args else None
        return isinstance(mode, ast.Constant) and str(mode.value) in ("r", "rb", "r+b")
    return name in ("read_text", "read_bytes") or ast.unparse(call.func) in ("sqlite3.connect", "mmap.mmap")


@pytest.mark.parametrize("package", PACKAGES)
def test_files_of_others_are_opened_in_one_way(package: str) -> None:
    new = set(opened_in(package)) - set(ALLOWED)

    assert not new, "use paths.open_regular or read_regular, or say in ALLOWED why not"


def test_the_list_of_exceptions_has_no_old_entries() -> None:
    assert set(ALLOWED) <= {call for package in PACKAGES for call in opened_in(package)}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def holes(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE)


@pytest.fixture(params=[pipe, endless, folder, holes])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The path of something that is no file of an agent."""
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    request.param(path)
    return path


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def late(*_: object) -> None:
        raise AssertionError("this waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def origin(path: Path) -> object:
    return _origin(path)


def worktree(path: Path) -> object:
    os.rename(path, path.with_name(".git"))
    return _worktree_repository(str(path.parent))


def lineage(path: Path) -> object:
    with open_regular(path) as file:
        return list(lines_of(file))


def database(path: Path) -> object:
    with read_only(path) as connection:
        return connection.execute("SELECT * FROM sqlite_master").fetchall()


READING: list[Callable[[Path], object]] = [
    lambda path: read_regular(path),
    lambda path: complete_lines(path, 0),
    lambda path: _plans_in(path, 0, 0),
    lambda path: _was_in_use(path, 0),
    lambda path: restore_rows(path, "opencode", "s", b""),
    lambda path: BundleFile(path, None).__enter__(),
    lambda path: FolderTransport(path.parent).get(path.name),
    *(lineage, database, origin, worktree),
]


@pytest.mark.parametrize("read", READING)
def test_an_odd_file_is_refused_at_once(read: Callable[[Path], object], odd: Path) -> None:
    try:
        found = read(odd)
    except (OSError, sqlite3.Error, FazmMemoryError):
        return
    assert not found or found is True  # nothing was taken from it


@pytest.mark.parametrize("make", [pipe, endless, folder, holes])
@pytest.mark.parametrize(
    "name",
    [
        ".claude/projects/-x/11111111-2222-4333-8444-555555555555.jsonl",
        ".codex/sessions/2026/11/18/rollout-2026-11-18T09-00-00-11111111-2222-4333-8444-555555555555.jsonl",
        ".gemini/tmp/x/chats/session-2026-11-18T09-00-11111111.json",
        ".local/share/opencode/opencode.db",
        ".cursor/chats/x/11111111-2222-4333-8444-555555555555/store.db",
        ".copilot/session-state/11111111-2222-4333-8444-555555555555/events.jsonl",
        ".cline/data/sessions/s1/s1.messages.json",
        ".fazm/acp-sessions.json",
    ],
)
def test_an_odd_file_in_the_place_of_a_record_stops_no_reader(
    name: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    make(path)
    places = Places(tmp_path, {})
    for reader in readers(places):
        for record in found_by(reader, places):
            try:
                chunk = reader.read(record, Cursor())
            except (OSError, sqlite3.Error):
                continue
            assert not [draft for draft in chunk.drafts if draft.kind != "session.open"]


def found_by(reader: Reader, places: Places) -> list[RecordFile]:
    try:
        return list(reader.find(places))
    except OSError:
        return []  # the importer names the folder and goes on


@pytest.mark.parametrize("make", [pipe, endless, folder, holes])
def test_an_odd_file_in_the_spool_stops_no_hook_event(make: Callable[[Path], None], tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    place = spool.prepare()
    good = place / "1763456789000000-1.claude-code.json"
    good.write_text(json.dumps({"hook_event_name": "Stop"}))
    make(place / "1763456789000001-2.claude-code.json")

    taken = spool.take()

    assert [file.path.name for file in taken] == [good.name]


@pytest.mark.parametrize("make", [pipe, endless, folder])
def test_odd_files_are_not_compared(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "one")
    (tmp_path / "other").write_text("text")

    assert not _same_file(str(tmp_path / "one"), str(tmp_path / "other"))


def test_a_link_in_the_place_of_a_file_can_be_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("private")
    (tmp_path / "link").symlink_to(tmp_path / "key")

    with pytest.raises(NotRegularFile) as refused:
        open_regular(tmp_path / "link", last_link=False)
    assert refused.value.errno == errno.ELOOP
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"private"
