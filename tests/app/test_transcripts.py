"""Copies of the agents' transcripts: byte for byte as they grow, restored, forgotten, within their limits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.native_files import project_folder
from fazm_memory.app.companion import Companion
from fazm_memory.app.memory import Memory
from fazm_memory.clock import iso
from fazm_memory.config import Config
from fazm_memory.errors import Conflict, NotFound
from fazm_memory.events.event import Draft
from fazm_memory.ingest import transcript_copier
from fazm_memory.store import transcript_copies
from fazm_memory.store.recovery.recover import check_side_databases

NOW = 1_794_733_200_000_000  # 2026-11-15, nine in the morning UTC
SECOND = 1_000_000
DAY = 86_400 * SECOND
SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
THREAD = "019a6d00-0000-7000-8000-0000000000aa"
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


class Machine:
    """A home with agents' files and a memory. The clock moves only when told to."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.user = root / "user"
        self.workspace = str(self.user / "proj")
        self.now = NOW
        self.config = Config(home=root / "memory", user_home=self.user, key="file", **settings)
        self.memory = Memory(self.config, lambda: self.now)
        self.user.mkdir(parents=True, exist_ok=True)

    @property
    def project(self) -> Path:
        return self.user / ".claude" / "projects" / project_folder(self.workspace)

    def transcript(self, session: str = SESSION) -> Path:
        return self.project / f"{session}.jsonl"

    def write(self, path: Path, data: bytes) -> Path:
        """Append to a file, with the time of our clock."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
        self.touch(path)
        return path

    def touch(self, path: Path) -> None:
        os.utime(path, (self.now / SECOND, self.now / SECOND))

    def say(self, text: str, session: str = SESSION, *, ends: str = "\n") -> bytes:
        """Append a prompt to a transcript of Claude Code. Returns the line."""
        number = len(self.transcript(session).read_bytes()) if self.transcript(session).exists() else 0
        record = {
            "type": "user", "uuid": f"00000000-0000-4000-8000-{number:012x}", "parentUuid": None,
            "sessionId": session, "timestamp": iso(self.now), "cwd": self.workspace,
            "message": {"role": "user", "content": text},
        }  # fmt: skip
        line = (json.dumps(record) + ends).encode()
        self.write(self.transcript(session), line)
        return line

    def record(self) -> None:
        companion = Companion(self.memory)
        companion.once()
        assert companion.statistics.troubles == {}

    def copied(self, session: str = SESSION) -> dict[str, bytes]:
        """The copies of a session by path."""
        copies = self.memory.transcript_copies
        return {copy.path: b"".join(copies.content(copy)) for copy in copies.of_session(session)}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.memory.close()


def name(machine: Machine, path: Path) -> str:
    return path.relative_to(machine.user / ".claude").as_posix()


def test_a_transcript_is_copied_with_all_that_belongs_to_its_session(machine: Machine) -> None:
    machine.say("File the scans.")
    beside = [
        machine.write(machine.project / SESSION / "subagents" / "agent-a1.jsonl", b'{"type":"user"}\n'),
        machine.write(machine.project / SESSION / "subagents" / "agent-a1.meta.json", b'{"agentType":"x"}'),
        machine.write(machine.project / SESSION / "tool-results" / "b.txt", b"\xff\x00 not text"),
        machine.write(machine.user / ".claude" / "todos" / f"{SESSION}-agent-{SESSION}.json", b"[]"),
        machine.write(machine.user / ".claude" / "file-history" / SESSION / "0a1b2c3d@v1", b"before\n"),
    ]
    machine.write(machine.user / ".claude" / "todos" / f"{OTHER}-agent-{OTHER}.json", b"[]")
    machine.record()
    wanted = {name(machine, path): path.read_bytes() for path in [machine.transcript(), *beside]}
    assert machine.copied() == wanted


QWEN = "22222222-2222-4333-8444-555555555555"
BACKGROUND_AGENT = f"subagents/{QWEN}/agent-a1"


def test_a_session_of_qwen_comes_back_with_its_side_files(machine: Machine) -> None:
    """The names are those that Qwen Code 0.24.4 itself deletes with a session, and two that it leaves."""
    home = machine.user / ".qwen"
    project = home / "projects" / "-user-proj"
    prompt = {
        "uuid": "u1", "sessionId": QWEN, "timestamp": iso(machine.now), "type": "user",
        "cwd": machine.workspace, "message": {"role": "user", "parts": [{"text": "File the scans."}]},
    }  # fmt: skip
    line = json.dumps(prompt).encode() + b"\n"
    files = {
        project / "chats" / f"{QWEN}.jsonl": line,
        project / "chats" / f"{QWEN}.runtime.json": b'{"session_id": "x"}',
        project / "chats" / f"{QWEN}.worktree.json": b'{"path": "/w"}',
        project / "chats" / f"{QWEN}.pr.json": b"[]",
        project / "chats" / f"{QWEN}.ledger.jsonl": b'{"prompt":"p1"}\n',
        project / f"{BACKGROUND_AGENT}.jsonl": line.replace(b"u1", b"u2"),
        project / f"{BACKGROUND_AGENT}.meta.json": b'{"agentType": "reader"}',
        home / "file-history" / QWEN / "0a1b2c3d@v1": b"before\n",
        home / "todos" / f"{QWEN}.json": b"[]",
    }
    for path, data in files.items():
        machine.write(path, data)
    others = [project / "chats" / f"{OTHER}.pr.json", home / "file-history" / OTHER / "1@v1"]
    for path in others:
        machine.write(path, b"[]")
    machine.record()
    [session] = machine.memory.sessions.listing()  # the ledger is no session
    for path in [*files, *others]:
        path.unlink()

    machine.memory.transcripts.restore(session["id"])

    assert {path: path.read_bytes() for path in files} == files
    assert not any(path.exists() for path in others)


def test_a_chat_that_qwen_archived_is_one_copy_and_comes_back_from_the_archive(machine: Machine) -> None:
    chats = machine.user / ".qwen" / "projects" / "-user-proj" / "chats"
    (chats / "archive").mkdir(parents=True)
    machine.write(chats / f"{QWEN}.jsonl", b'{"type":"system","uuid":"u1"}\n')
    machine.record()
    (chats / f"{QWEN}.jsonl").rename(chats / "archive" / f"{QWEN}.jsonl")
    machine.record()
    (chats / "archive" / f"{QWEN}.jsonl").unlink()

    machine.memory.transcripts.restore(QWEN)

    assert [path.name for path in chats.glob("**/*.jsonl")] == [f"{QWEN}.jsonl"]
    assert (chats / "archive" / f"{QWEN}.jsonl").exists()


def test_versions_in_the_file_history_are_read_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = machine.user / ".claude" / "file-history" / SESSION / "0a1b2c3d@v1"
    machine.write(version, b"before\n")
    machine.say("File the scans.")
    machine.record()
    opened: list[Path] = []
    real = transcript_copier.open_regular

    def watched(path: Path, **options: Any) -> Any:
        opened.append(path)
        return real(path, **options)

    monkeypatch.setattr(transcript_copier, "open_regular", watched)
    machine.now += SECOND
    machine.say("And the bills.")
    machine.record()

    assert machine.transcript() in opened
    assert version not in opened


def test_growth_is_appended_and_stored_chunks_stay(machine: Machine) -> None:
    for number in range(40):
        machine.say(f"prompt {number} " + "x" * 40_000)
        machine.now += SECOND
        if number % 3 == 0:
            machine.record()
    machine.record()
    [copy] = machine.memory.transcript_copies.of_session(SESSION)
    before = machine.memory.transcript_copies.parts(copy)
    assert b"".join(machine.memory.transcript_copies.content(copy)) == machine.transcript().read_bytes()
    machine.say("one more")
    machine.record()
    after = machine.memory.transcript_copies.parts(machine.memory.transcript_copies.of_session(SESSION)[0])
    assert after[: len(before) - 1] == before[:-1]
    assert len(after) < 20
    assert machine.copied()[name(machine, machine.transcript())] == machine.transcript().read_bytes()


def test_equal_beginnings_of_files_are_stored_once(machine: Machine) -> None:
    for session in (SESSION, OTHER):
        data = b"".join(b'{"type":"mode","n":%d,"x":"%s"}\n' % (n, b"y" * 900) for n in range(3000))
        machine.write(machine.transcript(session), data)
        machine.say("hello", session)
    machine.record()
    [one], [two] = (machine.memory.transcript_copies.of_session(session) for session in (SESSION, OTHER))
    digests = [{part[2] for part in machine.memory.transcript_copies.parts(copy)} for copy in (one, two)]
    assert len(digests[0] & digests[1]) == 2


def test_a_half_written_line_waits_until_the_file_is_quiet(machine: Machine) -> None:
    first = machine.say("whole")
    half = machine.say("half", ends="")
    machine.record()
    assert list(machine.copied().values()) == [first]
    machine.now += 400 * SECOND
    machine.record()
    assert list(machine.copied().values()) == [first + half]


def test_a_change_in_the_middle_is_noticed_when_the_file_is_quiet(machine: Machine) -> None:
    for number in range(3):
        machine.say(f"{number} " + "z" * 9000)
    machine.record()
    data = bytearray(machine.transcript().read_bytes())
    data[12_000:12_004] = b"ZZZZ"
    machine.transcript().write_bytes(data)
    machine.touch(machine.transcript())
    machine.now += 400 * SECOND
    machine.record()
    assert list(machine.copied().values()) == [bytes(data)]


def test_a_link_in_the_place_of_a_transcript_is_not_copied(machine: Machine, tmp_path: Path) -> None:
    """A link may name any file of yours. Its content must not get into the copies, which may be synced."""
    (tmp_path / "id_ed25519").write_text("a private key\n")
    machine.say("a real session")
    other = machine.transcript().with_name("22222222-2222-4333-8444-555555555555.jsonl")
    other.symlink_to(tmp_path / "id_ed25519")

    machine.record()

    assert not any(b"private key" in data for data in machine.copied().values())


def test_another_file_under_the_same_name_does_not_replace_the_copy(machine: Machine) -> None:
    old = machine.say("the long history") + machine.say("with more")
    machine.record()
    machine.transcript().unlink()
    machine.now += SECOND
    new = machine.say("a new beginning")
    machine.record()
    copies = machine.memory.transcript_copies
    contents = [(copy.replaced, b"".join(copies.content(copy))) for copy in copies.all()]
    assert contents == [(1, old), (0, new)]


def test_a_deleted_transcript_is_restored_byte_for_byte_and_with_the_time_of_now(machine: Machine) -> None:
    machine.say("File the scans.")
    meta = machine.write(machine.project / SESSION / "subagents" / "agent-a1.meta.json", b"{}")
    machine.record()
    wanted = machine.transcript().read_bytes()
    machine.transcript().unlink()
    meta.unlink()
    machine.now += 40 * DAY
    plan = machine.memory.transcripts.restore(SESSION, dry_run=True)
    assert not machine.transcript().exists()
    assert [step["action"] for step in plan["files"]] == ["write", "write"]
    done = machine.memory.transcripts.restore(SESSION)
    assert machine.transcript().read_bytes() == wanted
    assert meta.read_bytes() == b"{}"
    assert machine.transcript().stat().st_mtime == machine.now / SECOND
    assert done["resume"] == f"cd {machine.workspace} && claude --resume {SESSION}"
    assert all(step["exact"] for step in done["files"])


def test_a_session_of_cowork_comes_back_with_what_its_app_lists_it_by(machine: Machine) -> None:
    below = machine.user / ".config" / "Claude" / "local-agent-mode-sessions" / "org" / "account"
    own = below / "local_1" / ".claude" / "projects" / "hashed"
    machine.say("File the scans.")
    machine.write(own / f"{SESSION}.jsonl", machine.transcript().read_bytes())
    machine.transcript().unlink()
    about = machine.write(below / "local_1.json", json.dumps({"cliSessionId": SESSION}).encode())
    meta = machine.write(own / SESSION / "subagents" / "agent-a1.meta.json", b"{}")
    audit = machine.write(below / "local_1" / "audit.jsonl", b"{}\n")
    wanted = {path: path.read_bytes() for path in (own / f"{SESSION}.jsonl", about, meta)}
    machine.record()
    for path in (*wanted, audit):
        path.unlink()
    machine.memory.transcripts.restore(SESSION)
    assert {path: path.read_bytes() for path in wanted} == wanted
    assert not audit.exists()  # a chain that only the app may write


def test_thirty_days_of_the_vendors_cleanup_lose_nothing(machine: Machine) -> None:
    wanted = {}
    for day in range(40):
        session = f"{day:08d}-2222-4333-8444-555555555555"
        machine.say(f"day {day}", session)
        wanted[session] = machine.transcript(session).read_bytes()
        machine.record()
        machine.now += DAY
        for path in machine.project.glob("*.jsonl"):
            if path.stat().st_mtime < machine.now / SECOND - 30 * 86_400:
                path.unlink()
    left = {path.stem for path in machine.project.glob("*.jsonl")}
    assert len(left) == 30
    for session, data in wanted.items():
        machine.memory.transcripts.restore(session)
        assert machine.transcript(session).read_bytes() == data


def test_a_newer_file_that_differs_is_not_overwritten_without_force(machine: Machine) -> None:
    machine.say("one")
    machine.record()
    machine.now += SECOND
    machine.say("two")
    newer = machine.transcript().read_bytes()
    with pytest.raises(Conflict):
        machine.memory.transcripts.restore(SESSION)
    assert machine.transcript().read_bytes() == newer
    done = machine.memory.transcripts.restore(SESSION, force=True)
    assert machine.transcript().read_bytes() == newer.splitlines(keepends=True)[0]
    assert Path(done["files"][0]["backup"]).read_bytes() == newer


def test_a_session_is_restored_into_another_home_at_the_same_place_below_it(
    machine: Machine, tmp_path: Path
) -> None:
    machine.say("one")
    machine.record()
    there = tmp_path / "elsewhere"
    done = machine.memory.transcripts.restore(SESSION, home=str(there))
    workspace = str(there / "proj")
    path = there / ".claude" / "projects" / project_folder(workspace) / f"{SESSION}.jsonl"
    assert (done["workspace"], path.read_bytes()) == (workspace, machine.transcript().read_bytes())
    done = machine.memory.transcripts.restore(SESSION, home=str(there), workspace="/srv/proj")
    assert done["files"][0]["path"].endswith(f"/-srv-proj/{SESSION}.jsonl")


def test_a_rollout_of_codex_is_found_again_after_it_was_archived(machine: Machine) -> None:
    meta = {"id": THREAD, "timestamp": iso(machine.now), "cwd": machine.workspace, "cli_version": "0.166.0"}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    lines = [("session_meta", meta), ("response_item", message)]
    data = b"".join(
        json.dumps({"timestamp": iso(machine.now), "type": kind, "payload": payload}).encode() + b"\n"
        for kind, payload in lines
    )
    codex, file = machine.user / ".codex", f"rollout-2026-11-15T09-00-00-{THREAD}.jsonl"
    rollout = machine.write(codex / "sessions" / "2026" / "11" / "15" / file, data)
    machine.record()
    archived = codex / "archived_sessions" / file
    archived.parent.mkdir()
    rollout.rename(archived)
    machine.record()
    assert machine.copied(THREAD) == {f"archived_sessions/{file}": data}
    archived.unlink()
    machine.memory.transcripts.restore(THREAD)
    assert archived.read_bytes() == data


def test_what_was_written_while_recording_was_paused_is_not_copied(machine: Machine) -> None:
    before = machine.say("before")
    machine.record()
    machine.memory.recording.pause()
    machine.now += 10 * SECOND
    machine.say("in private")
    machine.record()
    machine.now += 10 * SECOND
    machine.memory.recording.resume()
    machine.now += 10 * SECOND
    after = machine.say("after")
    machine.record()
    assert list(machine.copied().values()) == [before + after]
    machine.transcript().unlink()
    done = machine.memory.transcripts.restore(SESSION)
    assert (done["files"][0]["exact"], done["files"][0]["left_out"]) == (False, 1)
    assert "paused" in done["notes"][0]
    machine.now += SECOND
    more = machine.say("and on")  # what follows in the restored file continues the copy
    machine.record()
    assert list(machine.copied().values()) == [before + after + more]


def test_a_redacted_copy_has_no_secret_and_keeps_every_other_line(tmp_path: Path) -> None:
    machine = Machine(tmp_path, transcripts="redacted")
    plain = machine.say("File the scans.")
    machine.say(f"the token is {SECRET}")
    machine.record()
    [data] = machine.copied().values()
    assert data.startswith(plain)
    assert SECRET.encode() not in data
    assert len(data.splitlines()) == 2
    machine.transcript().unlink()
    assert "redacted" in machine.memory.transcripts.restore(SESSION)["notes"][0]
    machine.memory.close()


def test_switched_off_nothing_is_copied(tmp_path: Path) -> None:
    machine = Machine(tmp_path, transcripts="off")
    machine.say("one")
    machine.record()
    assert machine.memory.existing_transcript_copies is None
    with pytest.raises(NotFound, match="no copy"):
        machine.memory.transcripts.restore(SESSION)
    machine.memory.close()


def test_a_session_in_an_excluded_folder_is_not_copied(machine: Machine) -> None:
    machine.memory.recording.exclude_folder(machine.workspace)
    machine.say("one")
    machine.record()
    assert machine.copied() == {}


def test_forgetting_reaches_the_copy_and_none_is_made_again(machine: Machine) -> None:
    machine.say("forget me")
    machine.say("keep me", OTHER)
    machine.record()
    row = machine.memory.sessions.get(SESSION)
    done = machine.memory.maintenance.forget(row["id"])
    assert done["copies"]["copies of transcripts"] == 1
    machine.now += SECOND
    machine.say("more")
    machine.record()
    assert machine.copied() == {}
    assert len(machine.copied(OTHER)) == 1


def test_restoring_a_forgotten_session_says_that_it_was_forgotten(machine: Machine) -> None:
    machine.say("the beginning")
    machine.record()
    machine.memory.maintenance.forget(SESSION)
    with pytest.raises(NotFound) as refused:
        machine.memory.transcripts.restore(SESSION)
    assert "forgotten" in (refused.value.hint or "")


def test_forgetting_a_text_reaches_copies_that_have_it_as_json(machine: Machine) -> None:
    machine.say('the "Zebrafish" quarry')
    machine.say("another", OTHER)
    machine.record()
    machine.memory.maintenance.forget(match='the "zebrafish" Quarry')
    assert machine.copied() == {}
    assert len(machine.copied(OTHER)) == 1


def test_forgetting_a_session_reaches_the_copies_of_its_forks(machine: Machine) -> None:
    machine.say("the beginning")
    machine.record()
    row = machine.memory.sessions.get(SESSION)
    opening = {"agent": "claude-code", "parent": row["id"], "parent_seq": 1, "agent_session_id": OTHER}
    machine.memory.sessions.record([Draft(OTHER, "session.open", opening, agent="claude-code")])
    machine.say("the beginning, and on", OTHER)
    machine.record()
    assert machine.memory.sessions.get(OTHER)["parent"] == row["id"]
    assert machine.copied(OTHER)
    machine.memory.maintenance.forget(row["id"])
    assert machine.copied(OTHER) == {}


def fork_without_words_of_its_own(machine: Machine) -> Path:
    """A transcript that has the first record of another one and nothing else, so it is no session of ours."""
    lines = [machine.say(text).replace(b'": "', b'":"') for text in ("the beginning", "and on")]
    machine.transcript().write_bytes(b"".join(lines))  # as the agent writes JSON
    snapshot = b'{"type":"file-history-snapshot","timestamp":"%s"}\n' % iso(machine.now + SECOND).encode()
    copied = lines[0].replace(SESSION.encode(), OTHER.encode())
    fork = machine.write(machine.transcript(OTHER), snapshot + copied)
    machine.record()
    with pytest.raises(NotFound):
        machine.memory.sessions.get(OTHER)
    return fork


def test_forgetting_a_session_reaches_copies_of_forks_that_are_no_sessions(machine: Machine) -> None:
    fork = fork_without_words_of_its_own(machine)
    machine.say("something else", THREAD)
    machine.record()
    assert machine.copied(OTHER)
    done = machine.memory.maintenance.forget(SESSION)
    assert (machine.copied(OTHER), len(machine.copied(THREAD))) == ({}, 1)
    assert str(fork) in [copy["what"] for copy in done["remaining"]]
    machine.record()
    assert machine.copied(OTHER) == {}


def test_forgetting_one_record_reaches_them_too(machine: Machine) -> None:
    fork_without_words_of_its_own(machine)
    machine.memory.maintenance.forget(SESSION, seqs=[machine.memory.sessions.get(SESSION)["events"] - 1])
    assert machine.copied(OTHER)  # it has not the last record
    machine.memory.maintenance.forget(SESSION, seqs=[1])
    assert machine.copied(OTHER) == {}


def test_a_fork_that_is_no_session_is_restored_into_another_workspace(
    machine: Machine, tmp_path: Path
) -> None:
    fork = fork_without_words_of_its_own(machine)
    there = tmp_path / "elsewhere"
    done = machine.memory.transcripts.restore(OTHER, home=str(there), workspace="/srv/proj")
    restored = there / ".claude" / "projects" / "-srv-proj" / fork.name
    assert restored.read_bytes() == fork.read_bytes()
    assert done["resume"] == f"cd /srv/proj && claude --resume {OTHER}"


def test_copies_older_than_the_policy_are_deleted_and_not_made_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, retain_transcripts=10)
    machine.say("old")
    machine.record()
    machine.now += 20 * DAY
    machine.say("new", OTHER)
    machine.record()
    assert machine.memory.maintenance.retain(dry_run=True)["transcripts"] == 1
    assert machine.memory.maintenance.retain()["transcripts"] == 1
    machine.record()
    assert (machine.copied(), len(machine.copied(OTHER))) == ({}, 1)
    machine.memory.close()


def test_the_oldest_copies_make_room_above_the_limit(machine: Machine) -> None:
    machine.memory.config = replace(machine.config, transcript_megabytes=1)
    for number in range(3):
        session = f"{number:08d}-2222-4333-8444-555555555555"
        machine.write(machine.transcript(session), os.urandom(400_000).hex().encode() + b"\n")
        machine.say("x", session)
        machine.now += SECOND
        machine.record()
    copies = machine.memory.transcript_copies
    assert copies.size()["stored"] <= 1 << 20
    assert f"{2:08d}-2222-4333-8444-555555555555" in copies.sessions()
    assert f"{0:08d}-2222-4333-8444-555555555555" not in copies.sessions()


def test_what_the_vendor_will_delete_is_announced_with_the_setting(machine: Machine) -> None:
    machine.say("old")
    machine.say("of the desktop app", OTHER)
    path = machine.transcript(OTHER)
    path.write_bytes(path.read_bytes() + b'{"type":"user","entrypoint":"claude-desktop"}\n')
    machine.touch(path)
    machine.record()
    machine.now += 10 * DAY
    assert machine.memory.transcripts.expiring()["sessions"] == 0
    machine.now += 15 * DAY
    expiring = machine.memory.status()["transcripts"]["expiring"]
    assert (expiring["sessions"], expiring["copied"], expiring["after_days"]) == (1, 1, 30)
    notice = machine.memory.transcripts.expiring_notice()
    assert notice is not None
    assert "cleanupPeriodDays" in notice
    (machine.user / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 3650}')
    assert machine.memory.transcripts.expiring_notice() is None


def test_a_damaged_database_of_copies_is_recovered_page_by_page(machine: Machine) -> None:
    for number in range(6):
        session = f"{number:08d}-2222-4333-8444-555555555555"
        machine.write(machine.transcript(session), os.urandom(30_000).hex().encode() + b"\n")
        machine.say("x", session)
    machine.record()
    home, key = machine.config.home, machine.memory.store.keys.database
    machine.memory.close()
    path = home / "store.noindex" / transcript_copies.TRANSCRIPTS_DATABASE
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    path.write_bytes(data)
    assert any(check.problem for check in check_side_databases(home, key, 1 << 30))
    machine.memory.maintenance.recover()
    copies = machine.memory.transcript_copies
    saved = copies.all()
    assert 0 < len(saved) <= 6
    for copy in saved:
        content = b"".join(copies.content(copy))
        assert machine.transcript(copy.session).read_bytes() == content
    machine.record()
    assert len(copies.sessions()) == 6


def test_growing_costs_about_what_was_appended(machine: Machine) -> None:
    """The parts of a long file that are written again when a line is added stay small."""
    copies = machine.memory.transcript_copies
    with copies.db.transaction():
        copy = copies.create(
            session="s", agent="a", root="claude", path="p", origin="/", form="exact", source_size=0,
            source_mtime=0.0, mode=0o600, mark="", at=0,
        )  # fmt: skip
        copy = copies.append(copy, os.urandom(700_000))
        written = 0
        for _ in range(256):
            before = {part[2] for part in copies.parts(copy)}
            copy = copies.append(copy, os.urandom(1000))
            written += sum(part[1] for part in copies.parts(copy) if part[2] not in before)
    assert written < 256 * 1000 * 20
    assert copy.size == 700_000 + 256_000


def test_a_transcript_without_a_recorded_session_is_restored_by_the_agents_id(machine: Machine) -> None:
    path = machine.write(machine.transcript(OTHER), b'{"type":"mode","mode":"normal"}\n')
    machine.record()
    data = path.read_bytes()
    path.unlink()
    done = machine.memory.transcripts.restore(OTHER)
    assert (done["session"], path.read_bytes()) == (None, data)
