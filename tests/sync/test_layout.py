"""The layout in docs/sync.md, read with nothing but its rules and a recovery key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path

import zstandard
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tests.sync.machines import Machines
from tests.sync.test_replication import work


def derive(key: bytes, purpose: str, salt: bytes | None = None) -> bytes:
    return HKDF(SHA256(), 32, salt, b"fazm-memory sync 1 " + purpose.encode()).derive(key)


def unseal(key: bytes, sealed: bytes, context: str) -> bytes:
    cipher = ChaCha20Poly1305(derive(key, "object", sealed[:32]))
    return cipher.decrypt(bytes(12), sealed[32:], context.encode())


def unseal_from(private: bytes, sealed: bytes, context: str) -> bytes:
    own = X25519PrivateKey.from_private_bytes(private)
    public, once = own.public_key().public_bytes_raw(), sealed[:32]
    shared = own.exchange(X25519PublicKey.from_public_bytes(once))
    return unseal(derive(shared, "box", once + public), sealed[32:], context)


class Reader:
    """A reader of one vault, made of its recovery key."""

    def __init__(self, folder: Path, recovery: str) -> None:
        secret = base64.b32decode(recovery.replace("-", ""))[:32]
        self.vault_key = derive(secret, "vault")
        self.root_box = derive(secret, "root box")
        sign = Ed25519PrivateKey.from_private_bytes(derive(secret, "root sign")).public_key()
        self.root_sign = sign.public_bytes_raw()
        box = X25519PrivateKey.from_private_bytes(self.root_box).public_key().public_bytes_raw()
        digest = hashlib.sha256(self.root_sign + box + derive(self.vault_key, "id"))
        self.vault = digest.hexdigest()[:32]
        self.folder = folder / self.vault

    def name(self, *parts: object) -> str:
        message = "\0".join(map(str, parts)).encode()
        return hmac.digest(derive(self.vault_key, "name"), message, hashlib.sha256).hex()[:32]


def test_a_vault_is_read_with_the_rules_of_the_documentation(machines: Machines) -> None:
    mini = machines.add("mini")
    session = work(mini, "Count the tulips")
    mini.sync.round()
    reader = Reader(machines.folder, machines.recovery)
    (path,) = (reader.folder / "h").iterdir()
    plain = unseal(reader.vault_key, path.read_bytes(), f"head {reader.vault}")
    signature, text = plain[:64], plain[64:]
    head = json.loads(text)
    certificate, device = head["certificate"], head["device"]
    signer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(certificate["sign"]))
    signer.verify(signature, b"head " + reader.vault.encode() + text)
    Ed25519PublicKey.from_public_bytes(reader.root_sign).verify(
        bytes.fromhex(certificate["signature"]),
        f"device {reader.vault} {device} {certificate['sign']} {certificate['box']} root".encode(),
    )
    assert path.name == reader.name("device", device)

    epoch = head["epoch"]
    shared = bytes.fromhex(head["epochs"][epoch]["sealed"]["root"])
    secret = unseal_from(reader.root_box, shared, f"epoch {epoch} root")
    inner = unseal(
        derive(secret, f"head of {device}"),
        bytes.fromhex(head["inner"]),
        f"log {reader.vault} {device} {head['number']}",
    )
    log = json.loads(inner)
    assert (log["name"], log["batches"]) == ("mini", 1)

    (entry,) = log["objects"]
    numbers = [entry["first"], entry["last"], entry["generation"]]
    object_ = reader.folder / "o" / path.name / reader.name("object", device, *numbers)
    data = object_.read_bytes()
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (entry["digest"], entry["size"])
    sealed, signature = data[:-64], data[-64:]
    context = f"segment {reader.vault} {device} {' '.join(map(str, numbers))} {epoch}"
    signer.verify(signature, f"{context} {hashlib.sha256(sealed).hexdigest()}".encode())
    packed = unseal(derive(secret, f"segments of {device}"), sealed, context)
    segment = zstandard.ZstdDecompressor().decompress(packed)
    length = int.from_bytes(segment[:4], "big")
    header, payloads = json.loads(segment[4 : 4 + length]), segment[4 + length :]
    (part,) = header["batches"][0]["parts"]
    assert (part["session"], part["start"], part["agent"]) == (session, 0, "fazm")
    lengths = [event[-1] for event in part["events"]]
    assert sum(lengths) == len(payloads)
    assert part["events"][1][2] == "prompt"
    prompt = json.loads(payloads[lengths[0] : lengths[0] + lengths[1]])
    assert prompt["text"] == "Count the tulips"

    said = [[[session, 0, len(part["events"]), part["mark"]]], []]
    start = hashlib.sha256(b"fazm-memory sync start").hexdigest()
    assert header["before"] == start
    assert log["link"] == hashlib.sha256(f"{start} {json.dumps(said, sort_keys=True)}".encode()).hexdigest()
