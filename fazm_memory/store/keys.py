"""The master key of the store, in the OS keyring or in a file with mode 0600.

A store has one random 256-bit master key. The database key and the chain key are derived from it. An
existing store never gets a new key: a lost key is reported.
"""

from __future__ import annotations

import hashlib
import hmac
import stat
from pathlib import Path
from typing import Literal

from fazm_memory.errors import KeyUnavailable
from fazm_memory.paths import exclusive_lock, private_folder, write_private
from fazm_memory.records import dataclass

SERVICE = "Fazm Memory"
KEY_FILE = "master.key"
ACCOUNT_FILE = "keyring.account"
CHECK_FILE = "key.check"

Backend = Literal["keyring", "file"]


@dataclass(frozen=True)
class Keys:
    """The derived keys, and where the master key is, for `status` and `doctor`."""

    database: str  # 64 hex digits: the raw key SQLCipher takes
    chain: bytes
    backend: Backend
    where: str


def load(folder: Path, *, prefer: str = "auto", store_exists: bool) -> Keys:
    """The keys of the store with this key folder, created if the store is new."""
    private_folder(folder)
    known = _existing(folder)
    if known is not None:
        return known
    if store_exists:
        raise KeyUnavailable(
            f"The key of the store is missing: {folder} has neither {KEY_FILE} nor {ACCOUNT_FILE}.",
            hint="restore that folder from a backup; without the key the store cannot be read",
        )
    with exclusive_lock(folder):  # two processes must not make a key each
        return _existing(folder) or _make(folder, prefer)


def _existing(folder: Path) -> Keys | None:
    if (folder / KEY_FILE).exists():
        return _derive(folder, _read_file(folder / KEY_FILE), "file", str(folder / KEY_FILE))
    if (folder / ACCOUNT_FILE).exists():
        account = (folder / ACCOUNT_FILE).read_text(encoding="utf-8", errors="replace").strip()
        return _derive(folder, _from_keyring(account), "keyring", f"{_keyring_name()}, account {account}")
    return None


def _make(folder: Path, prefer: str) -> Keys:
    import secrets  # only for a new key

    master = secrets.token_bytes(32)
    write_private(folder / CHECK_FILE, _mark(master))  # first, so that every key has its check file
    if prefer != "file":
        account = f"store {secrets.token_hex(8)}"
        problem = _to_keyring(account, master)
        if problem is None:
            write_private(folder / ACCOUNT_FILE, account.encode())
            return _derive(folder, master, "keyring", f"{_keyring_name()}, account {account}")
        if prefer == "keyring":
            raise KeyUnavailable(
                f"The OS keyring, which the configuration asks for, cannot be used: {problem}.",
                hint='unlock or install a keyring, or set key = "auto" in config.toml',
            )
    write_private(folder / KEY_FILE, master.hex().encode() + b"\n")
    return _derive(folder, master, "file", str(folder / KEY_FILE))


def _read_file(path: Path) -> bytes:
    try:
        if stat.S_IMODE(path.stat().st_mode) != 0o600:
            path.chmod(0o600)
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise KeyUnavailable(
            f"The key file {path} cannot be read: {error.strerror}.", hint="check its owner and permissions"
        ) from error
    return _parse(text, str(path))


def _parse(text: str, where: str) -> bytes:
    try:
        master = bytes.fromhex(text)
    except ValueError:
        master = b""
    if len(master) != 32:
        raise KeyUnavailable(
            f"The key in {where} is not 64 hexadecimal digits. It was not used.",
            hint="restore it from a backup",
        )
    return master


def _derive(folder: Path, master: bytes, backend: Backend, where: str) -> Keys:
    """The working keys. The check file tells a wrong key from a damaged database."""
    path = folder / CHECK_FILE
    if path.exists() and not hmac.compare_digest(path.read_bytes().strip(), _mark(master)):
        raise KeyUnavailable(
            f"The key in {where} is not the key of this store. Nothing was changed.",
            hint="put the right key back",
        )
    return Keys(
        database=hmac.digest(master, b"fazm-memory database 1", hashlib.sha256).hex(),
        chain=hmac.digest(master, b"fazm-memory chain 1", hashlib.sha256),
        backend=backend,
        where=where,
    )


def _mark(master: bytes) -> bytes:
    return hmac.digest(master, b"fazm-memory check 1", hashlib.sha256)[:8].hex().encode()


def _keyring_name() -> str:
    import keyring  # slow to import, and not needed with a key file

    return str(keyring.get_keyring().name)


def _from_keyring(account: str) -> bytes:
    import keyring
    from keyring.errors import KeyringError

    try:
        text = keyring.get_password(SERVICE, account)
    except KeyringError as error:
        raise KeyUnavailable(
            f"The OS keyring refused the key: {error}.", hint="unlock the keyring, then try again"
        ) from error
    if text is None:
        raise KeyUnavailable(
            f"The OS keyring has no key for “{SERVICE}”, account “{account}”.",
            hint="restore the keyring item; without it the store cannot be read",
        )
    return _parse(text, "the OS keyring")


def _to_keyring(account: str, master: bytes) -> str | None:
    """Put the key into the OS keyring and read it back.

    Return the reason if that fails.
    """
    import keyring
    from keyring.errors import KeyringError

    backend = keyring.get_keyring()
    if backend.priority < 1:
        return f"{backend.name} does not store secrets"
    try:
        keyring.set_password(SERVICE, account, master.hex())
        stored = keyring.get_password(SERVICE, account)
    except (KeyringError, OSError, RuntimeError) as error:
        return str(error) or type(error).__name__
    return None if stored == master.hex() else "it did not return the stored key"
