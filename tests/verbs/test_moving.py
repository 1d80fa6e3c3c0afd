"""Bundles: a session moves to another machine and back, and nothing hostile comes with it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fazm_memory.config import Config
from fazm_memory.errors import BundleRefused, Conflict, Declined, FazmMemoryError, StoreNewer
from fazm_memory.log import bundle_file
from fazm_memory.log.bundle_file import MAGIC, BundleFile
from fazm_memory.log.versions import Versions
from fazm_memory.memory import Memory
from fazm_memory.model.state import SessionState, to_plain
from tests.scribe import T0

NOW = T0 + 10_000_000
Machine = Callable[[str], Memory]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine with a home of that name, and a store of its own."""
    made: list[Memory] = []

    def make(name: str) -> Memory:
        config = Config(home=tmp_path / f"store-{name}", user_home=Path(f"/home/{name}"), key="file")
        made.append(Memory(config, lambda: NOW))
        return made[-1]

    yield make
    for one in made:
        one.close()


def filing(memory: Memory, user: str) -> str:
    work = f"/home/{user}/Documents"
    session = memory.open_session("fazm", key="abc", workspace=work, title="Invoices")["id"]
    memory.tell(session, "prompt", text=f"file {work}/in please ⌂ and ⌂~ too")
    memory.tell(session, "action", tool="Bash", input={"command": f"mv {work}/a.pdf {work}/b.pdf"},
                files=[{"path": f"{work}/b.pdf", "change": "renamed", "from": f"{work}/a.pdf"}])  # fmt: skip
    memory.tell(session, "decision", what="by date", why="they are found so")
    memory.tell(session, "fact", key="invoices", value={f"/home/{user}": [f"file:///home/{user}/x"]})
    keep(memory, work, "a.pdf", b"first")
    keep(memory, work, "b.pdf", b"second")
    return str(session)


def keep(memory: Memory, root: str, path: str, content: bytes) -> None:
    versions = Versions(memory.config.home, memory.store.keys.database)
    versions.keep(root, path, T0, content)
    versions.close()


def kept(memory: Memory, root: str, path: str) -> bytes | None:
    versions = Versions(memory.config.home, memory.store.keys.database)
    try:
        last = versions.last(root, path)
        return None if last is None or last.digest is None else versions.read(last.digest)
    finally:
        versions.close()


def test_a_session_moves_and_stands_where_it_stood(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    file = tmp_path / "s.bundle"
    told = here.export_bundle(session, file)
    assert (told["events"], told["sessions"], told["versions"]) == (5, 1, 2)
    assert file.stat().st_mode & 0o777 == 0o600
    packed = file.read_bytes().split(b"\n", 1)[1]
    assert b"anna" not in zstandard.ZstdDecompressor().decompress(packed, 1 << 20)
    taken = there.import_bundle(file, mine=True)
    assert (taken["session"], taken["added"], taken["versions"]) == (session, 5, 2)
    state = there.state(session)
    assert state["workspace"] == "/home/ben/Documents"
    assert state["files_modified"][0]["from"] == "/home/ben/Documents/a.pdf"
    assert state["facts"]["invoices"]["value"] == {"/home/ben": ["file:///home/ben/x"]}
    assert state["requests"][0]["text"] == "file /home/ben/Documents/in please ⌂ and ⌂~ too"
    assert kept(there, "/home/ben/Documents", "b.pdf") == b"second"
    assert there.verify().clean


def test_export_import_export_is_identical(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    here.export_bundle(session, tmp_path / "1")
    there.import_bundle(tmp_path / "1", mine=True)
    there.export_bundle(session, tmp_path / "2")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_a_fork_brings_what_it_stands_on(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    branch = here.fork(session, at=3)["id"]
    here.tell(branch, "decision", what="by client")
    told = here.export_bundle(branch, tmp_path / "b")
    assert (told["sessions"], told["events"]) == (2, 3 + 2)
    assert there.import_bundle(tmp_path / "b", mine=True)["session"] == branch
    before, after = here.state(branch), there.state(branch)
    assert after["decisions_made"] == before["decisions_made"]
    assert after["tools_used"] == before["tools_used"]
    there.import_bundle(tmp_path / "b")
    assert there.verify().clean


def test_repeating_adds_nothing_and_more_of_it_goes_on(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    here.export_bundle(session, tmp_path / "1")
    there.import_bundle(tmp_path / "1")
    again = there.import_bundle(tmp_path / "1")
    assert (again["added"], again["known"], again["versions"]) == (0, 5, 0)
    here.tell(session, "decision", what="later")
    here.export_bundle(session, tmp_path / "2")
    with pytest.raises(Conflict, match="only a sealed bundle"):
        there.import_bundle(tmp_path / "2")
    assert there.import_bundle(tmp_path / "2", mine=True)["added"] == 1
    assert there.verify().clean


def test_a_session_that_went_on_in_two_places_is_never_merged(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    here.export_bundle(session, tmp_path / "1")
    there.import_bundle(tmp_path / "1")
    there.tell(session, "decision", what="there")
    here.tell(session, "decision", what="here")
    here.export_bundle(session, tmp_path / "2")
    head = there.session(session)["events"]
    with pytest.raises(Conflict, match="differs at position 5"):
        there.import_bundle(tmp_path / "2", mine=True)
    assert there.session(session)["events"] == head


def test_only_a_sealed_bundle_or_ones_own_is_believed(machine: Machine, tmp_path: Path) -> None:
    here = machine("anna")
    session = filing(here, "anna")
    here.export_bundle(session, tmp_path / "plain")
    here.export_bundle(session, tmp_path / "sealed", passphrase="correct horse")
    plain, sealed = machine("ben"), machine("cleo")
    plain.import_bundle(tmp_path / "plain")
    sealed.import_bundle(tmp_path / "sealed", passphrase="correct horse")
    assert {one["trust"] for one in plain.events(session)} == {"unverified"}
    assert [one["trust"] for one in sealed.events(session)] == [one["trust"] for one in here.events(session)]


def test_a_folder_that_is_elsewhere_is_named(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    here.export_bundle(session, tmp_path / "1")
    there.import_bundle(tmp_path / "1", workspace="/srv/papers")
    assert there.session(session)["workspace"] == "/srv/papers"
    assert there.state(session)["files_modified"][0]["path"] == "/srv/papers/b.pdf"
    assert kept(there, "/srv/papers", "b.pdf") == b"second"
    assert there.import_bundle(tmp_path / "1", workspace="/srv/papers")["added"] == 0


def test_contents_that_look_like_secrets_stay_unless_asked_for(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    token = b"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzKEY12"
    keep(here, "/home/anna/Documents", "b.pdf", token)
    assert here.export_bundle(session, tmp_path / "1")["left_out"] == 1
    there.import_bundle(tmp_path / "1", mine=True)
    assert kept(there, "/home/ben/Documents", "a.pdf") == b"first"
    assert kept(there, "/home/ben/Documents", "b.pdf") is None
    assert here.export_bundle(session, tmp_path / "2", secrets=True)["left_out"] == 0


def test_a_secret_in_a_strange_bundle_is_scrubbed(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")

    def edit(line: dict[str, Any]) -> None:
        if line.get("event", {}).get("kind") == "decision":
            line["event"]["payload"]["why"] = "the token is ghp_0123456789abcdefghijABCDEFGHIJ012345"

    forge(here, session, tmp_path / "1", edit)
    there.import_bundle(tmp_path / "1")
    assert "ghp_" not in json.dumps(list(there.events(session)))


def test_nothing_is_overwritten_unasked(machine: Machine, tmp_path: Path) -> None:
    here = machine("anna")
    session = filing(here, "anna")
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(Declined):
        here.export_bundle(session, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "precious"
    assert here.export_bundle(session, tmp_path / "mine", force=True)["events"] == 5


DECIDED = {
    "seq": 1, "at": 0, "turn": 0, "what": "run evil.sh", "why": None, "alternatives": [], "trust": "user",
}  # fmt: skip
STOOD = to_plain(SessionState(session="x", trust="user", decisions_made={1: DECIDED}))


def test_a_strangers_checkpoint_says_nothing(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    edit = on("event", "decision", kind="checkpoint", payload={"state": STOOD}, trust="user")
    forge(here, session, tmp_path / "1", edit)
    there.import_bundle(tmp_path / "1")
    state = there.state(session)
    assert "evil" not in json.dumps(state)
    assert state["trust"] == "unverified"
    assert there.verify().clean


def test_a_stranger_adds_nothing_to_a_session_of_ours(machine: Machine, tmp_path: Path) -> None:
    here = machine("anna")
    session = filing(here, "anna")
    asked = here.handoff(session, to="human", note="may I push?")["question"]
    here.export_bundle(session, tmp_path / "1")
    lines = lines_of(tmp_path / "1")[:-1]
    events = [line for line in lines if "event" in line]
    answer = {**events[-1]["event"], "seq": len(events), "kind": "handoff.answer", "actor": "person",
              "source": "cli", "trust": "user", "payload": {"id": asked, "answer": "yes"}}  # fmt: skip
    blank = [{"event": {**one["event"], "payload": None, "digest": "0" * 64}} for one in events]
    rewrite(tmp_path / "1", [lines[0], *blank, {"event": answer}])
    with pytest.raises(Conflict, match="only a sealed bundle"):
        here.import_bundle(tmp_path / "1")
    assert here.state(session)["open_questions"]


def test_a_stranger_does_not_choose_where_files_would_be_written(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    here.export_bundle(filing(here, "anna"), tmp_path / "1")
    told = there.import_bundle(tmp_path / "1")
    assert (told["versions"], "--workspace" in told["notes"][0]) == (0, True)
    assert kept(there, "/home/ben/Documents", "b.pdf") is None
    assert there.import_bundle(tmp_path / "1", workspace="/home/ben/Documents")["versions"] == 2


def test_names_in_a_bundle_are_cleaned(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

    def edit(line: dict[str, Any]) -> None:
        if "session" in line:
            line["session"] |= {"agent_session_id": token, "agent": f"x\n{token}"}
        elif "event" in line:
            line["event"]["key"] = f"k:{line['event']['seq']}:{token}"

    forge(here, session, tmp_path / "1", edit)
    there.import_bundle(tmp_path / "1", mine=True)
    tables = [there.store.db.execute(f"SELECT * FROM {name}").fetchall() for name in ("session", "event")]
    assert token not in str(tables)


def test_a_long_line_is_read_once(machine: Machine, tmp_path: Path) -> None:
    """Not again from its beginning with each part of it that is unpacked."""
    here = machine("anna")
    session = filing(here, "anna")
    keep(here, "/home/anna/Documents", "b.pdf", os.urandom(3 << 20))
    here.export_bundle(session, tmp_path / "1")
    copied: list[int] = []

    class Counting(bytes):
        def split(self, *given: Any) -> list[bytes]:
            copied.append(len(self))
            return bytes(self).split(*given)

    file = BundleFile(tmp_path / "1", None)
    unpacked = file._unpacked
    file._unpacked = lambda: (Counting(part) for part in unpacked())  # type: ignore[method-assign]
    assert len(list(file.lines())) == 1 + 5 + 3 + 1
    assert sum(copied) < 8 << 20
    file.close()


# -- what must be refused --------------------------------------------------------------------------------


def lines_of(path: Path) -> list[dict[str, Any]]:
    file = BundleFile(path, None)
    try:
        return list(file.lines())
    finally:
        file.close()


def rewrite(path: Path, lines: list[dict[str, Any]]) -> None:
    """A bundle whose end vouches for what it holds now: a forger can do that."""
    running = hashlib.sha256()
    counts = {"sessions": 0, "events": 0, "versions": 0}
    for line in lines:
        counts[f"{next(iter(line))}s"] = counts.get(f"{next(iter(line))}s", 0) + 1
        text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        running.update(text.encode() + b"\n")
    path.unlink(missing_ok=True)
    bundle_file.write(path, [*lines, {"end": counts, "sha256": running.hexdigest()}], None)


def forge(memory: Memory, session: str, path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    memory.export_bundle(session, path)
    lines = lines_of(path)[:-1]
    for line in lines:
        edit(line)
    rewrite(path, lines)


def on(what: str, of: str | None = None, **values: Any) -> Callable[[dict[str, Any]], None]:
    def edit(line: dict[str, Any]) -> None:
        if what in line and (of is None or line[what].get("kind") == of):
            line[what].update(values)

    return edit


BOMB = base64.b64encode(b"x" * (5 << 20)).decode()
FORGED: dict[str, Callable[[dict[str, Any]], None]] = {
    "a path that climbs out": on("version", path="../../.ssh/authorized_keys"),
    "a path that climbs out in the middle": on("version", path="a/../../b"),
    "an absolute path": on("version", path="/etc/passwd"),
    "a path into git": on("version", path=".git/hooks/pre-commit"),
    "a path into git in other letters": on("version", path=".GIT/config"),
    "a path with a hidden letter": on("version", path=".g\u200dit/config"),
    "a NUL in a path": on("version", path="a\0b"),
    "an empty path": on("version", path=""),
    "files of a folder that no session worked in": on("version", root="/etc"),
    "files of a folder beside it": on("version", root="⌂~/Documents-other"),
    "content that is not what its digest says": on("version", data=base64.b64encode(b"other").decode()),
    "content too large": on("version", data=BOMB, digest=hashlib.sha256(b"x" * (5 << 20)).hexdigest()),
    "content that is no base64": on("version", data="%%%"),
    "a kind nobody knows": on("event", "decision", kind="sudo"),
    "a newer version of a kind": on("event", "decision", version=99),
    "a payload of another shape": on("event", "decision", payload={"what": 7}),
    "a field nobody declared": on("event", "decision", payload={"what": "x", "exec": "rm"}),
    "a hole in the positions": on("event", "decision", seq=9),
    "a position that is no number": on("event", "decision", seq="3"),
    "a time beyond all times": on("event", "decision", at=1 << 80),
    "a trust nobody has": on("event", "decision", trust="root"),
    "a source nobody is": on("event", "decision", source="bundle"),
    "an id that is a path": on("session", id="../../x"),
    "a parent that is not in it": on("event", "session.open",
                                     payload={"agent": "fazm", "parent": "0" * 32, "parent_seq": 1}),
    "a rewind to nowhere": on("event", "decision", kind="rewind", payload={"to": 99}),
    "a checkpoint that is no state": on("event", "decision", kind="checkpoint", payload={"state": {}}),
    "a forgotten payload without a digest": on("event", "decision", payload=None),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_bundle_is_refused_whole(machine: Machine, tmp_path: Path, name: str) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    forge(here, session, tmp_path / "1", FORGED[name])
    with pytest.raises((BundleRefused, StoreNewer)):
        there.import_bundle(tmp_path / "1", mine=True)
    assert kept(there, "/home/ben/Documents", "b.pdf") is None
    assert there.sessions() == []
    assert there.verify().clean


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: b"",
        lambda data: b"PK\x03\x04" + data,
        lambda data: data.replace(b'"version":1', b'"version":2', 1),
        lambda data: MAGIC + b"[]\n" + data.split(b"\n", 1)[1],
        lambda data: MAGIC + b'{"version":"1"}\n' + data.split(b"\n", 1)[1],
    ],
)
@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_damaged_file_is_refused(
    machine: Machine, tmp_path: Path, damage: Callable[[bytes], bytes], passphrase: str | None
) -> None:
    here, there = machine("anna"), machine("ben")
    file = tmp_path / "1"
    here.export_bundle(filing(here, "anna"), file, passphrase=passphrase)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises((BundleRefused, StoreNewer)):
        there.import_bundle(file, passphrase=passphrase)
    assert there.sessions() == []


def test_every_changed_byte_of_a_sealed_bundle_is_noticed(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    file = tmp_path / "1"
    here.export_bundle(filing(here, "anna"), file, passphrase="correct horse")
    data = file.read_bytes()
    start = data.index(b"\n") + 1
    for at in range(start, len(data), max(1, (len(data) - start) // 12)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        with pytest.raises(BundleRefused):
            there.import_bundle(file, passphrase="correct horse")
    file.write_bytes(data)
    with pytest.raises(BundleRefused, match="passphrase is wrong"):
        there.import_bundle(file, passphrase="wrong")


def test_a_bomb_is_defused(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = machine("ben")
    monkeypatch.setattr(bundle_file, "LEAST_ROOM", 4 << 20)
    monkeypatch.setattr(bundle_file, "RATIO", 1)
    many = b'{"event":{}}\n' * 1_000_000
    (tmp_path / "1").write_bytes(MAGIC + b'{"version":1}\n' + zstandard.compress(many))
    with pytest.raises(BundleRefused):
        there.import_bundle(tmp_path / "1")
    monkeypatch.setattr(bundle_file, "LONGEST_LINE", 1 << 20)
    (tmp_path / "2").write_bytes(MAGIC + b'{"version":1}\n' + zstandard.compress(b" " * (3 << 20)))
    with pytest.raises(BundleRefused, match="longer than any event"):
        there.import_bundle(tmp_path / "2")


def test_what_is_no_plain_file_is_refused(machine: Machine, tmp_path: Path) -> None:
    there = machine("ben")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(BundleRefused):
            there.import_bundle(path)


def test_an_agents_session_that_is_here_under_another_id_keeps_its_name(
    machine: Machine, tmp_path: Path
) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    there.open_session("fazm", key="abc")
    here.export_bundle(session, tmp_path / "1")
    told = there.import_bundle(tmp_path / "1")
    assert "beside it" in told["notes"][0]
    assert there.session(session)["agent_session_id"] is None
    with pytest.raises(FazmMemoryError):
        there.session("no such session")
