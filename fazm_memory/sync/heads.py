"""Heads: one small signed object per device.

A head says who the device is and what its log holds.

A head is replaced as a whole and counts up. Its outer part is sealed with the vault key: the certificate, the
devices it removed and the epoch secrets it shares. Its inner part is sealed with the epoch's key, which
removed devices do not have: the objects of its log with their digests, the end of its chain, and how far it
has read the other devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from fazm_memory.records import asdict, dataclass, field, replace
from fazm_memory.sync.crypto import (
    SIGNATURE,
    KeyPairs,
    NotAuthentic,
    VaultKeys,
    derive,
    seal,
    seal_for,
    unseal,
    unseal_from,
    verify,
)
from fazm_memory.text import plain_name

ROOT = "root"
VERSION = 1


@dataclass(frozen=True)
class Certificate:
    """A device's public keys, signed by the root or by another device."""

    device: str
    sign: str
    box: str
    issuer: str
    signature: str = ""

    def message(self, vault: str) -> bytes:
        return f"device {vault} {self.device} {self.sign} {self.box} {self.issuer}".encode()


def certify(vault: VaultKeys, device: str, keys: KeyPairs, issuer: str, signer: KeyPairs) -> Certificate:
    plain = Certificate(device, keys.sign_public.hex(), keys.box_public.hex(), issuer)
    return sign_certificate(vault, plain, signer)


def sign_certificate(vault: VaultKeys, plain: Certificate, signer: KeyPairs) -> Certificate:
    return replace(plain, signature=signer.sign(plain.message(vault.id)).hex())


@dataclass(frozen=True)
class ObjectEntry:
    """One object of a log: the batches it holds and the digest of its bytes."""

    first: int
    last: int
    generation: int
    epoch: str
    digest: str
    size: int


@dataclass(frozen=True)
class LogState:
    """The inner part of a head."""

    batches: int = 0
    link: str = ""
    objects: tuple[ObjectEntry, ...] = ()
    name: str = ""
    seen: dict[str, tuple[int, str]] = field(default_factory=dict)  # device: batches read, link there
    left: bool = False
    at: int = 0  # the device's clock when it put this head, for people only
    excluded: dict[str, list[str]] = field(default_factory=dict)  # apps and folders never recorded there
    # Per object: when its newest event was. A machine that joins fetches by it; nothing else depends on it.
    newest: tuple[int, ...] = ()
    former: tuple[str, ...] = ()  # devices that this machine was before: its log counts once they are gone

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> LogState:
        objects = tuple(ObjectEntry(**entry) for entry in raw["objects"])
        seen = {device: (int(count), str(link)) for device, (count, link) in raw["seen"].items()}
        return LogState(
            raw["batches"], raw["link"], objects, plain_name(raw["name"]), seen, raw["left"],
            raw.get("at", 0),
            {kind: [str(name) for name in names] for kind, names in raw.get("excluded", {}).items()},
            tuple(int(at) for at in raw.get("newest", ())), tuple(map(str, raw.get("former", ()))),
        )  # fmt: skip


@dataclass(frozen=True)
class Removal:
    """A device that was removed.

    It says up to where the log of the device is believed, and who was a member then.
    """

    device: str
    number: int
    log: dict[str, Any]
    members: tuple[str, ...]
    certificate: Certificate

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Removal:
        return Removal(
            str(raw["device"]), int(raw["number"]), raw["log"], tuple(raw["members"]),
            Certificate(**raw["certificate"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Head:
    device: str
    number: int
    certificate: Certificate
    epoch: str
    removals: tuple[Removal, ...] = ()
    # Epoch secrets it shares: id to rank, issuer and, by device or root, the sealed secret.
    epochs: dict[str, dict[str, Any]] = field(default_factory=dict)
    log: LogState | None = None  # None if this device cannot open it
    raw: bytes = b""

    def to_stored(self) -> dict[str, Any]:
        stored = asdict(replace(self, log=None, raw=b""))
        return stored | {"raw": None, "log": None if self.log is None else self.log.to_json()}

    @staticmethod
    def from_stored(raw: Mapping[str, Any]) -> Head:
        log = None if raw["log"] is None else LogState.from_json(raw["log"])
        return Head(**_outer(raw), log=log)


def _outer(raw: Mapping[str, Any]) -> dict[str, Any]:
    removals = tuple(Removal.from_json(one) for one in raw["removals"])
    return {
        "device": str(raw["device"]), "number": int(raw["number"]), "removals": removals,
        "certificate": Certificate(**raw["certificate"]), "epoch": str(raw["epoch"]), "epochs": raw["epochs"],
    }  # fmt: skip


def pack_head(vault: VaultKeys, head: Head, epoch_secret: bytes, signer: KeyPairs) -> bytes:
    assert head.log is not None
    inner = seal(
        _inner_key(epoch_secret, head.device), orjson.dumps(head.log.to_json()), _context(vault, head)
    )
    outer = asdict(replace(head, log=None, raw=b""))
    outer = {name: value for name, value in outer.items() if name not in ("log", "raw")}
    text = orjson.dumps({"version": VERSION, **outer, "inner": inner.hex()})
    return seal(vault.key, signer.sign(b"head " + vault.id.encode() + text) + text, f"head {vault.id}")


def open_head(vault: VaultKeys, data: bytes) -> Head:
    """Open a head and check its signature.

    The signature must be by the key in its own certificate. Its log is not opened yet.
    """
    plain = unseal(vault.key, data, f"head {vault.id}")
    signature, text = plain[:SIGNATURE], plain[SIGNATURE:]
    try:
        raw = orjson.loads(text)
        if raw["version"] > VERSION:
            raise NotAuthentic("it was written by a newer Fazm Memory: update this one")
        head = Head(**_outer(raw), raw=bytes.fromhex(raw["inner"]))
        verify(bytes.fromhex(head.certificate.sign), signature, b"head " + vault.id.encode() + text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise error if isinstance(error, NotAuthentic) else NotAuthentic(f"it is no head: {error}") from error
    if head.certificate.device != head.device:
        raise NotAuthentic("its certificate is of another device")
    return head


def open_log(vault: VaultKeys, head: Head, epoch_secret: bytes) -> LogState:
    plain = unseal(_inner_key(epoch_secret, head.device), head.raw, _context(vault, head))
    try:
        return LogState.from_json(orjson.loads(plain))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotAuthentic(f"its log cannot be read: {error}") from error


def _inner_key(epoch_secret: bytes, device: str) -> bytes:
    return derive(epoch_secret, f"head of {device}")


def _context(vault: VaultKeys, head: Head) -> str:
    return f"log {vault.id} {head.device} {head.number}"


# -- membership -----------------------------------------------------------------------------------------


@dataclass
class Members:
    """The devices of a vault: certified, and which of them were removed by whom."""

    certified: dict[str, Certificate]
    removed: dict[str, Removal]

    def current(self) -> dict[str, Certificate]:
        return {device: one for device, one in self.certified.items() if device not in self.removed}


@lru_cache(maxsize=1 << 16)  # a vault of many devices would verify all certificates again in each round
def _certified(signer: bytes, certificate: Certificate, vault: str) -> bool:
    try:
        verify(signer, bytes.fromhex(certificate.signature), certificate.message(vault))
    except ValueError:
        return False
    return True


def members_of(
    vault: VaultKeys, heads: Iterable[Head], known: Mapping[str, Removal] | None = None
) -> Members:
    """The members of the vault, from these heads and removals known already.

    A certificate counts if the root signed it, or a member; one by a device that was removed counts only if
    the removal names it. A removal counts unless its maker was removed before it made it. Of two devices that
    removed each other, the one that the root certified wins.
    """
    waiting = {head.device: head for head in heads}
    found: list[Head] = []
    signers = {ROOT: vault.root_sign}
    grown = True
    while grown:
        grown = False
        for device, head in list(waiting.items()):
            one = head.certificate
            if one.issuer not in signers:
                continue
            del waiting[device]
            if not _certified(signers[one.issuer], one, vault.id):
                continue
            signers[device] = bytes.fromhex(one.sign)
            found.append(head)
            grown = True
    removed = dict(known or {})
    for head in sorted(found, key=lambda head: (head.certificate.issuer != ROOT, head.device)):
        if head.device not in removed or head.number <= removed[head.device].number:
            for removal in head.removals:
                removed.setdefault(removal.device, removal)
    certified = {head.device: head.certificate for head in found}
    for device, one in list(certified.items()):
        if one.issuer in removed and device not in removed[one.issuer].members:
            del certified[device]
    certified |= {device: one.certificate for device, one in removed.items() if device not in certified}
    return Members(certified, removed)


# -- epochs ---------------------------------------------------------------------------------------------


def share_secret(epoch: str, secret: bytes, publics: Mapping[str, bytes]) -> dict[str, str]:
    """An epoch secret, sealed for each of these devices."""
    return {name: seal_for(public, secret, f"epoch {epoch} {name}").hex() for name, public in publics.items()}


def learn_secrets(heads: Iterable[Head], name: str, box_private: bytes) -> dict[str, dict[str, Any]]:
    """The epoch secrets that these heads share with a device or with the root."""
    found: dict[str, dict[str, Any]] = {}
    for head in heads:
        for epoch, shared in head.epochs.items():
            sealed = shared.get("sealed", {}).get(name)
            if sealed is None or epoch in found:
                continue
            try:
                secret = unseal_from(box_private, bytes.fromhex(sealed), f"epoch {epoch} {name}")
            except ValueError:
                continue
            found[epoch] = {"rank": int(shared["rank"]), "secret": secret.hex()}
    return found


def newest(epochs: Mapping[str, Mapping[str, Any]]) -> str:
    """The epoch to write with."""
    return max(epochs, key=lambda epoch: (int(epochs[epoch]["rank"]), epoch))
