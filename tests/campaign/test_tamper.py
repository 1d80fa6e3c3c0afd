"""Tampering: every single edit, deletion, swap and cut is found, and the event is named."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from fazm_memory.errors import FazmMemoryError
from fazm_memory.events.event import Action, Decision, FileTouch, Message, Prompt
from fazm_memory.store.forget import forget_events
from fazm_memory.store.hash_chain import SLOT
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.campaign.conftest import Tell
from tests.campaign.tampering import EDITS, Editor
from tests.scribe import T0, Scribe


def lived_in(scribe: Scribe) -> None:
    """A few sessions with all sorts of events, large ones, keyed ones, forgotten ones."""
    for name in "abcd":
        session = scribe.open(Prompt(f"do {name}"), Decision(name, "because"))
        for n in range(20):
            touched = (FileTouch(f"/w/{name}/{n}", "created"),)
            scribe.tell(
                session, Action("Write", {"n": n, "text": name * (n * 200)}, files=touched), key=f"{name}{n}"
            )
        scribe.tell(session, Message("done"), Message("done"))
    forget_events(scribe.store, {scribe.row(session).n: [1, 4, 5, 6]}, reason="asked", at=T0, source="cli")


@pytest.mark.parametrize("rounds", [12, pytest.param(100, marks=pytest.mark.campaign)])
def test_every_tampering_with_the_database_is_found_and_named(
    scribe: Scribe, tell: Tell, rounds: int
) -> None:
    lived_in(scribe)
    assert verify_store(scribe.store.log).clean
    editor = Editor(scribe.store, Random(rounds))
    missed = []
    found: Counter[str] = Counter()
    for _ in range(rounds):
        for name, edit in EDITS.items():
            editor.run("BEGIN")
            named = edit(editor)
            findings = verify_store(scribe.store.log).findings
            editor.run("ROLLBACK")
            if named <= {(one.session, one.seq) for one in findings}:
                found[name] += 1
            else:
                missed.append((name, named, findings))
    tell(f"tampering: {found.total()} of {rounds * len(EDITS)} found and named, {len(EDITS)} ways")
    assert missed == []
    assert verify_store(scribe.store.log).clean


@pytest.mark.parametrize("edits", [40, pytest.param(400, marks=pytest.mark.campaign)])
def test_every_tampering_with_the_heads_outside_is_found(scribe: Scribe, tell: Tell, edits: int) -> None:
    lived_in(scribe)
    path = scribe.store.heads.path
    whole, random = path.read_bytes(), Random(edits)
    used = [n for n in range(len(whole) // SLOT.size) if any(whole[n * SLOT.size : (n + 1) * SLOT.size])]
    for _ in range(edits):
        data, slot = bytearray(whole), random.choice(used)
        match random.choice(["byte", "zero", "cut", "swap", "delete"]):
            case "byte":
                data[slot * SLOT.size + random.randrange(48)] ^= random.randrange(1, 256)
            case "zero":
                data[slot * SLOT.size : (slot + 1) * SLOT.size] = bytes(SLOT.size)
            case "cut":
                del data[slot * SLOT.size + random.randrange(48) :]
            case "swap":
                other = random.choice([one for one in used if one != slot])
                first, second = (slice(n * SLOT.size, (n + 1) * SLOT.size) for n in (slot, other))
                data[first], data[second] = data[second], data[first]
            case "delete":
                path.unlink()
        if path.exists():
            path.write_bytes(data)
        assert not verify_store(scribe.store.log).clean
        path.write_bytes(whole)
    tell(f"tampering with the heads outside: {edits} of {edits} found")
    assert verify_store(scribe.store.log).clean


@pytest.fixture
def damaged(home: Path, tmp_path: Path) -> Path:
    """A store that lies still, and one whose last events are in the write-ahead log alone."""
    store = Store(home, key="file")
    scribe = Scribe(store)
    lived_in(scribe)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(home, tmp_path / "still")
    scribe.open(*(Message(f"more {n}") for n in range(80)))
    shutil.copytree(home, tmp_path / "wal")
    store.close()
    return tmp_path


@pytest.mark.parametrize("flips", [30, pytest.param(300, marks=pytest.mark.campaign)])
@pytest.mark.parametrize(("which", "file"), [("still", "memory.db"), ("wal", "memory.db-wal")])
def test_one_flipped_bit_is_reported_or_found_and_no_new_store_is_made(
    damaged: Path, tell: Tell, which: str, file: str, flips: int
) -> None:
    random = Random(flips)
    home = damaged / "flipped"
    reply: Counter[str] = Counter()
    for _ in range(flips):
        shutil.copytree(damaged / which, home)
        target = home / "store.noindex" / file
        data = bytearray(target.read_bytes())
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        target.write_bytes(data)
        reply[outcome(home)] += 1
        assert os.path.getsize(home / "store.noindex" / "memory.db") > 0
        shutil.rmtree(home)
    tell(f"one flipped bit in {file}: {dict(reply)}")
    assert set(reply) <= {"findings", "StoreDamaged"}


def outcome(home: Path) -> str:
    """What a person would learn: an error with words, findings, or nothing."""
    try:
        with contextlib.closing(Store(home, key="file")) as store:
            return "findings" if not verify_store(store.log).clean else "nothing"
    except FazmMemoryError as error:
        return type(error).__name__ if error.hint else "no way on"
