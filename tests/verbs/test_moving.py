"""Bundles: a session moves to another machine and back, and nothing hostile comes with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fazm_memory.errors import Conflict, Declined
from fazm_memory.log.bundle_file import BundleFile
from fazm_memory.model.state import SessionState, to_plain
from tests.verbs.bundles import Machine, filing, forge, keep, kept, kept_mode, lines_of, machines, on, rewrite


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machines(tmp_path) as made:
        yield made


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


def test_the_modes_of_files_move_and_bundles_without_them_come_in_as_ever(
    machine: Machine, tmp_path: Path
) -> None:
    here, there, third = machine("anna"), machine("ben"), machine("cleo")
    session, file = filing(here, "anna"), tmp_path / "s.bundle"
    here.export_bundle(session, file)
    there.import_bundle(file, mine=True)
    assert kept_mode(there, "/home/ben/Documents", "a.pdf") == 0o750
    assert kept_mode(there, "/home/ben/Documents", "b.pdf") is None
    old = tmp_path / "old.bundle"
    forge(here, session, old, lambda line: line.get("version", {}).pop("mode", None))
    third.import_bundle(old, mine=True)
    assert kept(third, "/home/cleo/Documents", "a.pdf") == b"first"
    assert kept_mode(third, "/home/cleo/Documents", "a.pdf") is None


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


@pytest.mark.parametrize("source", ["hook", "cli"])
def test_a_strangers_word_that_a_session_works_somewhere_opens_no_folder_to_an_agent(
    machine: Machine, tmp_path: Path, source: str
) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    work = tmp_path / "work"
    work.mkdir()
    forge(here, session, tmp_path / "1", on("event", "session.open", source=source))
    there.import_bundle(tmp_path / "1", workspace=str(work))
    with pytest.raises(Declined, match="only an agent says"):
        there.fork(session, into=str(tmp_path / "out"), source="mcp")
    assert not (tmp_path / "out").exists()


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
