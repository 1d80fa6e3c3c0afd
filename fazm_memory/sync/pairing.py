"""Make a vault, and join one by its recovery key or by a short code.

A code goes through the vault's own place. Its 56 random bits, through scrypt, seal three messages: the public
key of the first device (the offer), the public keys of the new one (the request), and the answer with its
certificate and the vault's keys, which only its private key opens. With the offer and the request both
devices show a fingerprint of the two. People compare it on both before the answer is made and before it is
used. A refusal is an answer without content.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
from typing import Any

import orjson

from fazm_memory.errors import Declined, InvalidInput, NotFound, SyncRefused
from fazm_memory.records import asdict, dataclass
from fazm_memory.sync.crypto import (
    KEY,
    NotAuthentic,
    VaultKeys,
    derive,
    fingerprint,
    from_groups,
    groups,
    parse_recovery,
    recovery_text,
    seal,
    seal_for,
    unseal,
    unseal_from,
    vault_of,
)
from fazm_memory.sync.heads import (
    ROOT,
    Certificate,
    Head,
    certify,
    learn_secrets,
    members_of,
    open_head,
    share_secret,
    sign_certificate,
)
from fazm_memory.sync.state import Identity, SyncState
from fazm_memory.sync.transports import Transport
from fazm_memory.text import plain_name

CODE_BYTES = 10  # 16 letters; the last 24 bits are a checksum against typing errors
SECRET_BYTES = 7


def create_vault(state: SyncState, *, place: dict[str, Any], name: str) -> str:
    """Make a vault with this device as its first.

    Returns the recovery key, which is stored nowhere.
    """
    recovery = secrets.token_bytes(KEY)
    keys, root = vault_of(recovery)
    identity = Identity.fresh(keys)
    epoch, secret = secrets.token_hex(8), secrets.token_bytes(KEY)
    certificate = certify(keys, identity.device, identity.keys, ROOT, root)
    sealed = share_secret(epoch, secret, {ROOT: keys.root_box})
    state.begin(
        identity, place=place, name=name, active=True, certificate=asdict(certificate), dirty=True,
        shared={epoch: {"rank": 1, "sealed": sealed}},
    )  # fmt: skip
    state.set(epochs={epoch: {"rank": 1, "secret": secret.hex()}})
    return recovery_text(recovery)


def join_vault(
    state: SyncState, transport: Transport, *, recovery: str, place: dict[str, Any], name: str | None
) -> None:
    """Join the vault of a recovery key.

    A device that left it takes up its identity again. One that was removed joins as a new device.
    """
    keys, root = vault_of(parse_recovery(recovery))
    heads = _read_all_heads(keys, transport)
    if not heads:
        raise NotFound(
            "There is no vault for this recovery key here.",
            hint="check the folder or URL; a folder that is synced may not have arrived yet",
        )
    members = members_of(keys, heads)
    known = state.identity()
    if known is not None and known.vault == keys and known.device not in members.removed:
        state.set(active=True, announced=False, place=place, name=name or state.get("name"), dirty=True)
        return
    certified = [head for head in heads if head.device in members.certified]
    epochs = learn_secrets(certified, ROOT, root.box_private)
    identity = Identity.fresh(keys)
    certificate = certify(keys, identity.device, identity.keys, ROOT, root)
    enter(state, identity, certificate, epochs, place=place, name=name or socket.gethostname()[:60])


def enter(
    state: SyncState, identity: Identity, certificate: Certificate, epochs: dict[str, Any], *,
    place: dict[str, Any], name: str,
) -> None:  # fmt: skip
    """Begin as a certified device of a vault that exists."""
    if not epochs:
        raise SyncRefused(
            "The vault shares no key with this recovery key.",
            hint="a folder that is synced may not have arrived yet; else the vault was altered",
        )
    state.begin(
        identity, place=place, name=name, active=True, certificate=asdict(certificate), dirty=True, shared={}
    )
    state.set(epochs=epochs)


def _read_all_heads(keys: VaultKeys, transport: Transport) -> list[Head]:
    """Every authentic head of a vault. Others are left out."""
    found = []
    for name in transport.list(f"{keys.id}/h"):
        data = transport.get(f"{keys.id}/h/{name}")
        try:
            if data is not None:
                found.append(open_head(keys, data))
        except NotAuthentic:
            continue
    return found


def new_code() -> str:
    """A code to show: four groups of four letters and digits."""
    secret = secrets.token_bytes(SECRET_BYTES)
    return groups(base64.b32encode(secret + _checksum(secret)).decode())


def _checksum(secret: bytes) -> bytes:
    return hashlib.sha256(b"pair" + secret).digest()[: CODE_BYTES - SECRET_BYTES]


@dataclass(frozen=True)
class Rendezvous:
    """The key of a code, and the names of the two messages."""

    key: bytes

    @staticmethod
    def of(code: str) -> Rendezvous:
        raw = from_groups(code)
        if len(raw) != CODE_BYTES or _checksum(raw[:SECRET_BYTES]) != raw[SECRET_BYTES:]:
            raise InvalidInput(
                "This is not a pairing code.", hint="`sync pair` on the other machine shows it"
            )
        salt = b"fazm-memory pair 1"
        return Rendezvous(hashlib.scrypt(raw, salt=salt, n=1 << 15, r=8, p=1, maxmem=1 << 26, dklen=32))

    def name(self, what: str) -> str:
        return f"pair/{derive(self.key, f'name {what}').hex()[:32]}"


@dataclass(frozen=True)
class PairRequest:
    """The device that wants to join."""

    device: str
    sign: str
    box: str
    name: str

    def fingerprint(self, other: bytes) -> str:
        return fingerprint(bytes.fromhex(self.sign), other)


def post_request(transport: Transport, code: str, identity: Identity, name: str) -> PairRequest:
    """On the new machine: leave its public keys for the other one."""
    meeting = Rendezvous.of(code)
    keys = identity.keys
    request = PairRequest(identity.device, keys.sign_public.hex(), keys.box_public.hex(), name)
    transport.put(meeting.name("request"), seal(meeting.key, orjson.dumps(asdict(request)), "pair request"))
    return request


def withdraw_request(transport: Transport, code: str) -> None:
    """On the new machine: take the request back."""
    transport.delete(Rendezvous.of(code).name("request"))


def post_offer(transport: Transport, code: str, identity: Identity) -> None:
    """First machine: leave its public key.

    The new machine can then show the fingerprint at once.
    """
    meeting = Rendezvous.of(code)
    transport.put(meeting.name("offer"), seal(meeting.key, identity.keys.sign_public, "pair offer"))


def read_offer(transport: Transport, code: str) -> bytes | None:
    """On the new machine: the public key of the first one, once it is there."""
    meeting = Rendezvous.of(code)
    data = transport.get(meeting.name("offer"))
    try:
        return None if data is None else unseal(meeting.key, data, "pair offer")
    except NotAuthentic:
        return None  # not complete yet


def read_request(transport: Transport, code: str) -> PairRequest | None:
    """On the first machine: the request, once it is there."""
    meeting = Rendezvous.of(code)
    data = transport.get(meeting.name("request"))
    if data is None:
        return None
    try:
        raw = orjson.loads(unseal(meeting.key, data, "pair request"))
        return PairRequest(**raw | {"name": plain_name(raw["name"])})
    except NotAuthentic:
        return None  # not complete yet, or not made with this code


def answer_request(
    transport: Transport, code: str, request: PairRequest, identity: Identity, epochs: dict[str, Any]
) -> None:
    """First machine: certify the new device, after people compared fingerprints."""
    meeting = Rendezvous.of(code)
    plain = Certificate(request.device, request.sign, request.box, identity.device)
    certificate = sign_certificate(identity.vault, plain, identity.keys)
    vault = identity.vault
    answer = {
        "key": vault.key.hex(), "root_sign": vault.root_sign.hex(), "root_box": vault.root_box.hex(),
        "certificate": asdict(certificate), "epochs": epochs, "signer": identity.keys.sign_public.hex(),
    }  # fmt: skip
    sealed = seal_for(bytes.fromhex(request.box), orjson.dumps(answer), "pair answer")
    transport.put(meeting.name("answer"), seal(meeting.key, sealed, "pair answer"))
    transport.delete(meeting.name("request"))
    transport.delete(meeting.name("offer"))


def refuse_request(transport: Transport, code: str) -> None:
    """First machine: end the pairing without an answer.

    A machine that asked is told.
    """
    meeting = Rendezvous.of(code)
    if transport.get(meeting.name("request")) is not None:
        transport.put(meeting.name("answer"), seal(meeting.key, b"", "pair answer"))
        transport.delete(meeting.name("request"))
    transport.delete(meeting.name("offer"))


def pair_fingerprint(offer: bytes, identity: Identity) -> str:
    """New machine: the fingerprint to compare.

    It is made from the key that the first machine offered.
    """
    return fingerprint(offer, identity.keys.sign_public)


@dataclass(frozen=True)
class PairAnswer:
    """What the first machine gives to the new one."""

    identity: Identity
    certificate: Certificate
    epochs: dict[str, Any]
    signer: bytes  # the public key of the first machine

    def accept(self, state: SyncState, *, place: dict[str, Any], name: str) -> None:
        enter(state, self.identity, self.certificate, self.epochs, place=place, name=name)


def read_answer(transport: Transport, code: str, identity: Identity) -> PairAnswer | None:
    """New machine: read the answer once it is there.

    It is deleted from the store. Raises Declined if the first machine refused.
    """
    meeting = Rendezvous.of(code)
    data = transport.get(meeting.name("answer"))
    if data is None:
        return None
    sealed = unseal(meeting.key, data, "pair answer")
    transport.delete(meeting.name("answer"))
    if not sealed:
        raise Declined("The other machine refused. Nothing was joined.", hint="run both commands again")
    raw = orjson.loads(unseal_from(identity.keys.box_private, sealed, "pair answer"))
    vault = VaultKeys(*(bytes.fromhex(raw[name]) for name in ("key", "root_sign", "root_box")))
    certificate = Certificate(**raw["certificate"])
    return PairAnswer(
        Identity(vault, identity.device, identity.keys),
        certificate,
        raw["epochs"],
        bytes.fromhex(raw["signer"]),
    )


def candidate() -> Identity:
    """A new device that belongs to no vault yet."""
    return Identity.fresh(VaultKeys(b"", b"", b""))
