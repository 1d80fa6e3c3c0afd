"""Where the key is kept, and every way of not having it."""

from __future__ import annotations

import multiprocessing
import stat
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest

from fazm_memory.errors import KeyUnavailable
from fazm_memory.store import keys
from fazm_memory.store.keys import ACCOUNT_FILE, CHECK_FILE, KEY_FILE, load


class Vault(keyring.backend.KeyringBackend):
    """A keyring in memory; `locked` refuses, `forgetful` keeps nothing."""

    priority = 5
    name = "Vault"

    def __init__(self, *, locked: bool = False, forgetful: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.items: dict[tuple[str, str], str] = {}
        self.locked, self.forgetful = locked, forgetful

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked("the vault is locked")
        return self.items.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise keyring.errors.KeyringLocked("the vault is locked")
        if not self.forgetful:
            self.items[service, username] = password


NONE: keyring.backend.KeyringBackend = keyring.backends.fail.Keyring()  # type: ignore[no-untyped-call]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def _given_back() -> Iterator[None]:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


@pytest.fixture
def vault(_given_back: None) -> Vault:
    made = Vault()
    keyring.set_keyring(made)
    return made


@pytest.mark.parametrize("prefer", ["auto", "keyring"])
def test_the_key_is_kept_in_the_keyring_where_there_is_one(folder: Path, vault: Vault, prefer: str) -> None:
    made = load(folder, prefer=prefer, store_exists=False)
    assert made.backend == "keyring"
    assert made.where.startswith("Vault, account store ")
    assert not (folder / KEY_FILE).exists()
    (secret,) = vault.items.values()
    assert secret not in "".join(one.read_text() for one in folder.iterdir())
    assert load(folder, prefer=prefer, store_exists=True) == made


def test_a_key_file_is_used_when_that_is_asked_for(folder: Path, vault: Vault) -> None:
    made = load(folder, prefer="file", store_exists=False)
    assert (made.backend, made.where) == ("file", str(folder / KEY_FILE))
    assert vault.items == {}


@pytest.mark.usefixtures("_given_back")
@pytest.mark.parametrize("backend", [NONE, Vault(locked=True), Vault(forgetful=True)])
def test_without_a_keyring_that_works_a_key_file_is_used_and_reported(
    folder: Path, backend: keyring.backend.KeyringBackend
) -> None:
    keyring.set_keyring(backend)
    made = load(folder, prefer="auto", store_exists=False)
    assert (made.backend, made.where) == ("file", str(folder / KEY_FILE))


@pytest.mark.usefixtures("_given_back")
@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (NONE, "does not store secrets"),
        (Vault(locked=True), "the vault is locked"),
        (Vault(forgetful=True), "did not return the stored key"),
    ],
)
def test_a_keyring_that_is_demanded_and_does_not_work_is_refused_with_the_reason(
    folder: Path, backend: keyring.backend.KeyringBackend, words: str
) -> None:
    keyring.set_keyring(backend)
    with pytest.raises(KeyUnavailable, match=words):
        load(folder, prefer="keyring", store_exists=False)
    assert not (folder / KEY_FILE).exists()


def test_a_locked_keyring_is_reported_and_no_other_key_is_made(folder: Path, vault: Vault) -> None:
    load(folder, store_exists=False)
    vault.locked = True
    with pytest.raises(KeyUnavailable, match="refused the key: the vault is locked"):
        load(folder, store_exists=True)
    assert not (folder / KEY_FILE).exists()


def test_a_keyring_that_lost_the_item_is_reported(folder: Path, vault: Vault) -> None:
    load(folder, store_exists=False)
    vault.items.clear()
    with pytest.raises(KeyUnavailable, match="has no key for “Fazm Memory”"):
        load(folder, store_exists=True)


def test_an_existing_store_never_gets_a_new_key(folder: Path) -> None:
    with pytest.raises(KeyUnavailable, match="key of the store is missing"):
        load(folder, prefer="file", store_exists=True)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("text", ["", "\n", "ab" * 16, "ab" * 31, "ab" * 33, "zz" * 32, "ключ", "\x00" * 64])
def test_an_empty_short_or_unreadable_key_is_refused_and_left_as_it_is(folder: Path, text: str) -> None:
    load(folder, prefer="file", store_exists=False)
    (folder / KEY_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(KeyUnavailable, match="not 64 hexadecimal digits"):
        load(folder, prefer="file", store_exists=True)
    assert (folder / KEY_FILE).read_text(encoding="utf-8") == text


def test_a_wrong_key_is_refused_before_the_store_is_touched(folder: Path) -> None:
    load(folder, prefer="file", store_exists=False)
    (folder / KEY_FILE).write_text("ab" * 32)
    with pytest.raises(KeyUnavailable, match="not the key of this store"):
        load(folder, prefer="file", store_exists=True)


def test_a_wrong_key_is_never_taken_for_the_right_one_by_being_there_first(folder: Path) -> None:
    """The mark that tells keys apart is made with the key, never later from whatever lies there."""
    right = load(folder, prefer="file", store_exists=False)
    kept = (folder / KEY_FILE).read_text()
    (folder / CHECK_FILE).unlink()
    (folder / KEY_FILE).write_text("ab" * 32)
    assert load(folder, prefer="file", store_exists=True).database != right.database
    (folder / KEY_FILE).write_text(kept)
    assert load(folder, prefer="file", store_exists=True) == right


def test_the_two_keys_are_derived_and_differ_from_their_master(folder: Path) -> None:
    made = load(folder, prefer="file", store_exists=False)
    master = (folder / KEY_FILE).read_text().strip()
    assert len(made.database) == 64
    assert len({made.database, made.chain.hex(), master}) == 3


def test_no_two_stores_have_the_same_key(tmp_path: Path) -> None:
    made = [load(tmp_path / name, prefer="file", store_exists=False).database for name in "abc"]
    assert len(set(made)) == 3


def test_the_key_and_its_folder_are_its_owners_alone(folder: Path) -> None:
    load(folder, prefer="file", store_exists=False)
    (folder / KEY_FILE).chmod(0o644)
    load(folder, prefer="file", store_exists=True)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


def test_what_the_file_names_as_its_account_is_read_even_if_it_is_not_text(
    folder: Path, vault: Vault
) -> None:
    load(folder, store_exists=False)
    (folder / ACCOUNT_FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(KeyUnavailable, match="has no key"):
        load(folder, store_exists=True)


def _first(folder: Path, ready: Barrier, answers: multiprocessing.SimpleQueue[str]) -> None:
    ready.wait()
    try:
        answers.put(load(folder, prefer="file", store_exists=False).database)
    except KeyUnavailable as error:
        answers.put(error.message)


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for round_ in range(5):
        folder = tmp_path / f"keys {round_}"
        ready, answers = context.Barrier(6), context.SimpleQueue()
        children = [context.Process(target=_first, args=(folder, ready, answers)) for _ in range(6)]
        for child in children:
            child.start()
        made = {answers.get() for _ in children}
        for child in children:
            child.join()
        assert made == {load(folder, prefer="file", store_exists=True).database}


def test_the_keyring_is_not_loaded_for_a_key_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(folder, prefer="file", store_exists=False)
    monkeypatch.setattr(keys, "_keyring_name", lambda: pytest.fail("asked for the keyring"))
    assert load(folder, store_exists=True).backend == "file"
