"""The store as one: what lies where, and that nothing is made anew in silence."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fazm_memory.errors import KeyUnavailable, StoreDamaged, StoreUnsafe
from fazm_memory.events.event import Fact, Message, SessionOpen
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.store.event_log import NewEvent
from fazm_memory.store.store import DATABASE, FIRST_PAGE, HEADS, STORE_FOLDER, Store
from fazm_memory.store.verify import verify_store
from fazm_memory.store.views import SPACING
from tests.conftest import OpenStore
from tests.scribe import Scribe


@pytest.mark.parametrize("umask", [0, 0o077])
def test_everything_under_home_is_its_owners_alone_under_any_umask(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = Store(home / "deep" / "home", key="file")
        Scribe(store).open(Message("x"))
        during = list(home.rglob("*"))
        modes = {one: stat.S_IMODE(one.lstat().st_mode) for one in during}
        store.close()
    finally:
        os.umask(before)
    assert {mode for one, mode in modes.items() if one.is_dir()} == {0o700}
    assert {mode for one, mode in modes.items() if not one.is_dir()} == {0o600}
    assert {stat.S_IMODE(one.stat().st_mode) for one in home.rglob("*") if one.is_file()} == {0o600}


def test_the_data_and_its_key_lie_in_folders_of_their_own(home: Path, store: Store) -> None:
    Scribe(store).open()
    assert {one.name for one in home.iterdir()} == {STORE_FOLDER, "keys"}
    assert (home / STORE_FOLDER / DATABASE).exists()
    assert (home / "keys" / HEADS).exists()
    assert STORE_FOLDER.endswith(".noindex")


def test_a_store_whose_key_is_gone_is_refused_and_left(home: Path, open_store: OpenStore) -> None:
    open_store().close()
    (home / "keys" / "master.key").unlink()
    before = (home / STORE_FOLDER / DATABASE).read_bytes()
    with pytest.raises(KeyUnavailable, match="key of the store is missing"):
        Store(home, key="file")
    assert (home / STORE_FOLDER / DATABASE).read_bytes() == before
    assert not (home / "keys" / "master.key").exists()


@pytest.mark.parametrize("name", ["home", "keys", STORE_FOLDER])
def test_a_folder_of_the_store_that_is_a_link_is_refused(home: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    if name == "home":
        home.symlink_to(tmp_path / "elsewhere")
    else:
        home.mkdir(mode=0o700)
        (home / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnsafe, match="symbolic link"):
        Store(home, key="file")
    assert list((tmp_path / "elsewhere").iterdir()) in ([], [tmp_path / "elsewhere" / "keys"])


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_database_that_is_gone_is_not_replaced_in_silence(
    home: Path, open_store: OpenStore, how: str
) -> None:
    store = open_store()
    Scribe(store).open(Message("x"))
    store.close()
    if how == "deleted":
        store.path.unlink()
    else:
        store.path.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="1 session") as refused:
        Store(home, key="file")
    assert refused.value.hint
    assert not store.path.exists() or store.path.stat().st_size == 0


def test_a_store_that_was_never_used_may_be_deleted(home: Path, open_store: OpenStore) -> None:
    store = open_store()
    store.close()
    store.path.unlink()
    Scribe(open_store()).open(Message("x"))
    assert verify_store(open_store().log).clean


def test_a_store_that_must_be_there_is_not_made(home: Path) -> None:
    with pytest.raises(StoreDamaged, match=r"[Nn]o (new )?store"):
        Store(home, key="file", create=False)


def test_closing_keeps_a_spare_of_the_first_page(home: Path, open_store: OpenStore) -> None:
    store = open_store()
    Scribe(store).open(Message("x"))
    store.close()
    assert (home / "keys" / FIRST_PAGE).read_bytes() == store.path.read_bytes()[:4096]


def test_closing_twice_or_after_the_store_was_moved_away_is_no_error(
    home: Path, open_store: OpenStore
) -> None:
    store = open_store()
    store.close()
    store.path.rename(home / "moved")
    store.close()
    assert (home / "moved").exists()


def test_the_size_counts_what_waits_in_the_write_ahead_log(scribe: Scribe) -> None:
    before = scribe.store.size()
    scribe.open(Message("x" * 10_000))
    assert scribe.store.size() > before


def test_sessions_at_once_never_see_each_others_state(open_store: OpenStore) -> None:
    one, other = Scribe(open_store()), Scribe(open_store())
    first, second = one.open(workspace="/a"), other.open(workspace="/b")
    for n in range(70):
        one.tell(first, Message(f"first {n}"))
        other.tell(second, Message(f"second {n}"))
    assert {result.text.split()[0] for result in other.payloads(first)[1:]} == {"first"}
    assert {result.text.split()[0] for result in one.payloads(second)[1:]} == {"second"}
    assert one.state(second).workspace == "/b"


def test_the_state_at_the_head_is_kept_once_and_is_the_fold(store: Store) -> None:
    for round_ in range(3):
        with store.writing() as writer:
            head = writer.create("a", 1) if round_ == 0 else writer.head(1)
            if round_ == 0:
                opened = NewEvent("session.open", SessionOpen("a"), 1, "agent", "record", "agent")
                writer.append(head, opened)
            for n in range(450):
                made = NewEvent("fact", Fact(f"k{n % 50}", [round_, n]), n, "agent", "record", "agent")
                writer.append(head, made)
        row = store.sessions.resolve(head.id)
        plain = fold(initial_state(row.id), store.log.slice(row.n, row.id))
        assert store.snapshots.far_behind(row.n, row.head)
        store.snapshot_heads([row])
        assert not store.snapshots.far_behind(row.n, row.head)
        assert store.snapshots.state_at(row.n, row.id, row.head) == plain
        kept = [seq for (seq,) in store.db.execute("SELECT seq FROM snapshot ORDER BY seq").fetchall()]
        assert [seq for seq in kept if seq % SPACING] == [row.head]
