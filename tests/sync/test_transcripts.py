"""Transcripts travel by choice: the agent's own resume works on another machine."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fazm_memory.agents.native_files import project_folder
from fazm_memory.app.companion import Companion
from fazm_memory.errors import Conflict, NotFound
from fazm_memory.store import TranscriptCopies
from tests.app.test_transcripts import SESSION
from tests.sync.machines import Machine, Machines

LINE = b'{"type": "user", "text": "Tidy the rhinoceros folder"}\n'


def shared(machines: Machines, *names: str) -> list[Machine]:
    found = [machines.add(name) for name in names]
    for machine in found:
        machine.sync.share_transcripts(True)
    return found


def begin(machine: Machine, lines: bytes = LINE) -> str:
    """A session of Claude Code whose transcript was copied."""
    workspace = str(machine.config.user_home / "shop")
    session = machine.sessions.open("claude-code", key=SESSION, workspace=workspace, source="record")["id"]
    machine.say(session, "prompt", text="Tidy the rhinoceros folder")
    write(machine, lines)
    return str(session)


def write(machine: Machine, lines: bytes) -> None:
    """Append to the transcript and copy it, as the companion does."""
    path = transcript(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((path.read_bytes() if path.exists() else b"") + lines)
    copies = machine.transcript_copies
    root = machine.config.user_home / ".claude"
    known = copies.of_session(SESSION)
    with copies.db.transaction():
        copy = known[0] if known else copies.create(
            session=SESSION, agent="claude-code", root="claude", path=str(path.relative_to(root)),
            origin=str(root), form="exact", source_size=0, source_mtime=0.0, mode=0o600, mark="",
            at=machine.now(),
        )  # fmt: skip
        copy = copies.append(copy, lines)
        copies.update(copy, source_mtime=machine.now() / 1e6, source_size=copy.size, at=machine.now())


def transcript(machine: Machine) -> Path:
    home = machine.config.user_home
    return home / ".claude" / "projects" / project_folder(str(home / "shop")) / f"{SESSION}.jsonl"


def parts(machines: Machines) -> list[Path]:
    return [path for path in machines.files() if "/t/" in str(path)]


def copies_of(machine: Machine) -> TranscriptCopies:
    return machine.transcript_copies


def test_a_transcript_is_restored_where_the_agent_looks_for_it_on_the_other_machine(
    machines: Machines,
) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    machines.settle()
    answer = laptop.transcripts.restore(session)
    assert transcript(laptop).read_bytes() == LINE
    assert answer["agent_session_id"] == SESSION
    assert SESSION in str(answer["resume"])
    assert answer["workspace"] == str(laptop.config.user_home / "shop")
    assert not any(b"rhinoceros" in path.read_bytes() for path in machines.files())


def test_what_is_appended_travels_and_replaced_parts_are_deleted(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    machines.settle()
    write(mini, b"second\n" * 8)
    machines.settle()
    assert len(parts(machines)) == 1
    laptop.transcripts.restore(session)
    assert transcript(laptop).read_bytes() == LINE + b"second\n" * 8
    machines.add("studio").sync.share_transcripts(True)
    machines.settle()
    studio = machines.all[-1]
    studio.transcripts.restore(session)
    assert transcript(studio).read_bytes() == LINE + b"second\n" * 8


def test_nothing_travels_until_it_is_switched_on_and_off_takes_it_back(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = begin(mini)
    machines.settle()
    assert parts(machines) == []
    with pytest.raises(NotFound) as refused:
        laptop.transcripts.restore(session)
    assert "sync transcripts on" in str(refused.value.hint)
    mini.sync.share_transcripts(True)
    machines.settle()
    assert len(parts(machines)) == 1
    assert laptop.sync.transcript_sharing()["to_fetch"] == 1
    assert laptop.existing_transcript_copies is None
    mini.sync.share_transcripts(False)
    machines.settle()
    assert parts(machines) == []


def test_forgetting_reaches_transcripts_on_every_machine(machines: Machines) -> None:
    mini, laptop, studio = shared(machines, "mini", "laptop", "studio")
    session = begin(mini)
    machines.settle()
    write(mini, b"second\n" * 8)  # named by two uploads
    machines.settle()
    assert laptop.maintenance.forget(match="rhinoceros")["copies"]["copies of transcripts"] == 1
    machines.settle()
    assert parts(machines) == []
    for machine in (mini, laptop, studio):
        assert copies_of(machine).all() == []
        with pytest.raises(NotFound):
            machine.transcripts.restore(session)
    machines.add("later").sync.share_transcripts(True)
    machines.settle()
    assert machines.all[-1].sync.transcript_sharing()["to_fetch"] == 0


def test_an_active_transcript_waits_until_it_is_quiet(machines: Machines) -> None:
    mini, _ = shared(machines, "mini", "laptop")
    mini.sync.round(acknowledge=False)
    begin(mini)
    mini.sync.round(acknowledge=False)
    assert parts(machines) == []
    mini.pass_time(days=1)
    mini.sync.round(acknowledge=False)
    assert len(parts(machines)) == 1


def test_the_limit_keeps_the_newest(machines: Machines) -> None:
    mini, _ = shared(machines, "mini", "laptop")
    begin(mini)
    mini.sync.share_transcripts(True, limit=0)
    machines.settle()
    assert parts(machines) == []
    mini.sync.share_transcripts(True, limit=1 << 20)
    machines.settle()
    assert len(parts(machines)) == 1


def test_an_altered_part_is_refused_and_named(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    mini.sync.round()
    (part,) = parts(machines)
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    assert any("transcript was refused" in problem for problem in laptop.sync.round()["problems"])
    with pytest.raises(NotFound):
        laptop.transcripts.restore(session)


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("claude", "settings.json"),
        ("claude", "CLAUDE.md"),
        ("claude", "commands/deploy.md"),
        ("claude", "hooks/run.sh"),
        ("claude", "session-env/1/hook-0.sh"),
        ("claude", "projects/-w/memory/MEMORY.md"),
        ("codex", "config.toml"),
        ("codex", "AGENTS.md"),
        ("home", ".ssh/authorized_keys"),
        ("home", ".zshrc"),
        ("home", ".claude/settings.json"),
        ("home", ".gemini/settings.json"),
        ("home", "Library/LaunchAgents/evil.plist"),
        ("nowhere", "a.jsonl"),
    ],
)
def test_a_machine_cannot_place_other_files_by_a_transcript(machines: Machines, root: str, path: str) -> None:
    """A hostile machine of the vault names a file that agents or shells obey."""
    desk, laptop = shared(machines, "desk", "laptop")
    session = begin(desk)
    with desk.transcript_copies.db.transaction():
        desk.transcript_copies.db.execute("UPDATE copy SET root=?, path=?, mode=511", (root, path))
    machines.settle()
    before = {file for file in laptop.config.user_home.rglob("*") if "memory" not in file.parts}

    with pytest.raises((Conflict, NotFound)):
        laptop.transcripts.restore(session)

    assert {file for file in laptop.config.user_home.rglob("*") if "memory" not in file.parts} == before


def test_a_session_comes_without_the_files_that_agents_obey(machines: Machines) -> None:
    """A script of a hook is copied on its own machine. Another machine restores the rest."""
    desk, laptop = shared(machines, "desk", "laptop")
    session = begin(desk)
    copies, root = desk.transcript_copies, str(desk.config.user_home / ".claude")
    with copies.db.transaction():
        for path in (f"session-env/{SESSION}/hook-0.sh", f"file-history/{SESSION}/1@v1"):
            copy = copies.create(
                session=SESSION, agent="claude-code", root="claude", path=path, origin=root, form="exact",
                source_size=0, source_mtime=0.0, mode=0o600, mark="", at=desk.now(),
            )  # fmt: skip
            copies.append(copy, b"echo obeyed\n")
    machines.settle()

    answer = laptop.transcripts.restore(session)

    assert transcript(laptop).read_bytes() == LINE
    assert sorted(file["action"] for file in answer["files"]) == ["left out", "left out", "write"]
    [note] = answer["notes"]
    assert "session-env" in note or "file-history" in note
    folders = [laptop.config.user_home / ".claude" / name for name in ("session-env", "file-history")]
    assert not any(folder.exists() for folder in folders)


def test_a_transcript_is_not_restored_through_a_link(machines: Machines, tmp_path: Path) -> None:
    [desk] = shared(machines, "desk")
    session = begin(desk)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    project = transcript(desk).parent
    transcript(desk).unlink()
    project.rmdir()
    project.symlink_to(elsewhere)

    with pytest.raises(Conflict, match="is a link"):
        desk.transcripts.restore(session)

    assert list(elsewhere.iterdir()) == []


def hermes(machine: Machine, *sessions: str) -> Path:
    """A database of Hermes with a message for each session."""
    path = machine.config.user_home / ".hermes" / "state.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, started_at REAL, cwd TEXT)")
        connection.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,"
            " timestamp REAL, active INTEGER, compacted INTEGER)"
        )
        for session in sessions:
            at = machine.now() / 1e6 - 3600
            cwd = str(machine.config.user_home / "shop")
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (session, at, cwd))
            values = (session, f"Tidy the rhinoceros folder of {session}", at)
            connection.execute("INSERT INTO messages VALUES (NULL, ?1, 'user', ?2, ?3, 1, 0)", values)
    os.utime(path, (machine.now() / 1e6 - 1800,) * 2)
    return path


def rows(path: Path) -> list[tuple[str, str, str]]:
    query = (
        "SELECT m.session_id, content, cwd FROM messages m JOIN sessions s ON s.id = m.session_id ORDER BY 1"
    )
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_rows_of_a_database_that_sessions_share_travel_too(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    there, here = hermes(mini, "mini-1"), hermes(laptop, "laptop-1")
    for machine in (mini, laptop):
        Companion(machine).once()
    machines.settle()
    before = rows(here)

    answer = laptop.transcripts.restore(mini.sessions.get("mini-1")["id"])

    [step] = answer["files"]
    assert (step["path"], step["action"]) == (str(here), "write")
    [arrived] = [row for row in rows(here) if row not in before]
    assert arrived == (*rows(there)[0][:2], str(laptop.config.user_home / "shop"))
    assert set(before) < set(rows(here))
    laptop.maintenance.forget(session=mini.sessions.get("mini-1")["id"])
    machines.settle()
    for machine in (mini, laptop):
        stored = [
            b"".join(machine.transcript_copies.content(copy)) for copy in machine.transcript_copies.all()
        ]
        assert not any(b"mini-1" in text for text in stored)
    assert parts(machines) == [] or laptop.transcript_copies.of_session("laptop-1")


@pytest.mark.parametrize("above", [1, 2])
def test_a_folder_that_becomes_a_link_after_the_plan_is_not_written_through(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: int
) -> None:
    """The class: a check by path, then a write by path. In between an agent can put a link there."""
    [desk] = shared(machines, "desk")
    session = begin(desk)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = transcript(desk).parents[above - 1]
    shutil.rmtree(folder)
    folder.symlink_to(elsewhere)
    monkeypatch.setattr("fazm_memory.app.transcripts._link_above", lambda *_: None)  # it looked before that

    with pytest.raises(Conflict, match="is a link"):
        desk.transcripts.restore(session)

    assert list(elsewhere.iterdir()) == []


def test_a_file_that_becomes_a_link_after_the_plan_is_replaced_and_not_read(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [desk] = shared(machines, "desk")
    session = begin(desk)
    private = tmp_path / "private"
    private.write_text("a key")
    transcript(desk).unlink()
    transcript(desk).symlink_to(private)
    monkeypatch.setattr(type(desk.transcripts), "_action", lambda *_: "replace")

    done = desk.transcripts.restore(session)

    assert private.read_text() == "a key"
    assert not transcript(desk).is_symlink()
    assert "backup" not in done["files"][0]
