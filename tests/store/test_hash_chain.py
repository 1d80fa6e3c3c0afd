"""The keyed chain, and the heads outside the database."""

from __future__ import annotations

import errno
import hmac
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.errors import StoreFull
from fazm_memory.store.hash_chain import SLOT, ChainHead, ChainHeads, digest_of, genesis, hmac_sha256, link

KEY = b"k" * 32
FIELDS: dict[str, Any] = {
    "key": KEY, "prev": b"p" * 32, "digest": b"d" * 32, "session": "s", "seq": 3, "at": 5, "turn": 1,
    "kind": "prompt", "version": 1, "actor": "person", "source": "hook", "trust": "user", "dedupe": None,
}  # fmt: skip


@pytest.fixture
def heads(tmp_path: Path) -> Any:
    made = ChainHeads(tmp_path / "heads", KEY)
    yield made
    made.close()


@pytest.mark.parametrize("field", FIELDS)
def test_the_mac_covers_every_field(field: str) -> None:
    others = {int: 99, bytes: b"x" * 32, str: "other", type(None): "key"}
    assert link(**FIELDS) != link(**(FIELDS | {field: others[type(FIELDS[field])]}))


def test_no_key_is_not_an_empty_key() -> None:
    assert link(**FIELDS) != link(**(FIELDS | {"dedupe": ""}))


@given(first=st.text(), second=st.text(), digits=st.integers(0, 99))
def test_fields_cannot_run_into_each_other(first: str, second: str, digits: int) -> None:
    one = FIELDS | {"trust": "user", "dedupe": first + second}
    other = FIELDS | {"trust": "user", "dedupe": first + "|" + second}
    assert link(**one) != link(**other)
    assert link(**(FIELDS | {"seq": 1, "at": digits})) != link(
        **(FIELDS | {"seq": 10 + digits // 10, "at": 0})
    )


def test_no_two_sessions_begin_alike_and_none_without_the_key() -> None:
    assert len({genesis(KEY, "a"), genesis(KEY, "b"), genesis(b"x" * 32, "a")}) == 3
    assert len(digest_of(b"")) == 32


@given(key=st.binary(max_size=200), message=st.binary(max_size=200))
def test_a_mark_is_the_hmac_that_everybody_else_computes(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.digest(key, message, "sha256")


def test_heads_come_back_as_they_were_written(heads: ChainHeads) -> None:
    heads.write([(1, 4, b"a" * 32), (7, 2, b"b" * 32)])
    assert heads.read_all() == ({1: ChainHead(4, b"a" * 32), 7: ChainHead(2, b"b" * 32)}, [])
    heads.write([(1, 5, b"c" * 32)])
    assert heads.read_all()[0][1] == ChainHead(5, b"c" * 32)


def test_no_slot_lies_across_two_sectors() -> None:
    assert 512 % SLOT.size == 0


def test_a_slot_announced_is_empty_until_it_is_written(heads: ChainHeads) -> None:
    heads.announce([3])
    assert heads.read_all() == ({3: ChainHead(0, bytes(32))}, [])
    assert heads.last() == 3


def test_the_file_is_its_owners_alone(heads: ChainHeads) -> None:
    heads.announce([1])
    assert stat.S_IMODE(heads.path.stat().st_mode) == 0o600


@given(number=st.integers(0, 3), at=st.integers(0, SLOT.size - 1), bit=st.integers(0, 7))
def test_one_flipped_bit_in_a_slot_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, number: int, at: int, bit: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped heads"
    path.unlink(missing_ok=True)
    heads = ChainHeads(path, KEY)
    heads.write((n, n + 1, bytes([n]) * 32) for n in range(4))
    data = bytearray(path.read_bytes())
    data[number * SLOT.size + at] ^= 1 << bit
    path.write_bytes(data)
    read, altered = heads.read_all()
    heads.close()
    assert altered == [number]
    assert number not in read


def test_a_slot_moved_to_another_session_is_noticed(heads: ChainHeads) -> None:
    heads.write([(1, 4, b"a" * 32), (2, 2, b"b" * 32)])
    data = bytearray(heads.path.read_bytes())
    one, two = slice(SLOT.size, 2 * SLOT.size), slice(2 * SLOT.size, 3 * SLOT.size)
    data[one], data[two] = data[two], data[one]
    heads.path.write_bytes(data)
    assert heads.read_all() == ({}, [1, 2])


def test_a_file_cut_short_is_noticed(heads: ChainHeads) -> None:
    heads.write([(0, 1, b"a" * 32), (1, 4, b"a" * 32)])
    os.truncate(heads.path, SLOT.size + 20)
    assert heads.read_all()[1] == [1]


def test_heads_of_another_key_are_not_believed(heads: ChainHeads) -> None:
    heads.write([(1, 4, b"a" * 32)])
    assert ChainHeads(heads.path, b"x" * 32).read_all() == ({}, [1])


def test_without_a_file_there_are_no_heads(heads: ChainHeads) -> None:
    assert not heads.exists()
    assert heads.read_all() == ({}, [])


def test_a_full_disk_is_reported_in_words(heads: ChainHeads, monkeypatch: pytest.MonkeyPatch) -> None:
    heads.open()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(StoreFull, match="no room left"):
        heads.announce([1])
