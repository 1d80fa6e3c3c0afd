"""Keys, signatures and sealed bytes of a vault.

Everything secret begins with the recovery key. It gives the vault key, which seals the heads, and the root
key pair, which certifies devices and opens epoch secrets. A device has an Ed25519 pair for signatures and an
X25519 pair to receive epoch secrets. An epoch secret gives one key per device for its segments. Each sealed
object has a random salt and so a key of its own: no nonce is ever used twice.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fazm_memory.errors import InvalidInput
from fazm_memory.records import dataclass

KEY = 32
SALT = 32
SIGNATURE = 64
CHECKSUM = 3
NONCE = bytes(12)


class NotAuthentic(ValueError):
    """Bytes that were not made with the right key, or were changed since."""


def derive(key: bytes, purpose: str, salt: bytes = b"") -> bytes:
    """A key for one purpose."""
    return HKDF(SHA256(), KEY, salt or None, f"fazm-memory sync 1 {purpose}".encode()).derive(key)


def seal(key: bytes, plain: bytes, context: str) -> bytes:
    """Encrypt for everybody with the key.

    `context` is not stored: it must be the same when opened.
    """
    salt = secrets.token_bytes(SALT)
    return salt + ChaCha20Poly1305(derive(key, "object", salt)).encrypt(NONCE, plain, context.encode())


def unseal(key: bytes, sealed: bytes, context: str) -> bytes:
    """The plain bytes, or NotAuthentic."""
    cipher = ChaCha20Poly1305(derive(key, "object", sealed[:SALT]))
    try:
        return cipher.decrypt(NONCE, sealed[SALT:], context.encode())
    except (InvalidTag, ValueError) as error:
        raise NotAuthentic("it was altered, cut, or made with another key") from error


def seal_for(public: bytes, plain: bytes, context: str) -> bytes:
    """Encrypt for the holder of one X25519 key."""
    once = X25519PrivateKey.generate()
    ours = once.public_key().public_bytes_raw()
    shared = once.exchange(X25519PublicKey.from_public_bytes(public))
    return ours + seal(derive(shared, "box", ours + public), plain, context)


def unseal_from(private: bytes, sealed: bytes, context: str) -> bytes:
    own = X25519PrivateKey.from_private_bytes(private)
    public = own.public_key().public_bytes_raw()
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(sealed[:KEY]))
    except ValueError as error:
        raise NotAuthentic("it is no sealed key") from error
    return unseal(derive(shared, "box", sealed[:KEY] + public), sealed[KEY:], context)


def verify(public: bytes, signature: bytes, message: bytes) -> None:
    """NotAuthentic unless the holder of the key signed the message."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError) as error:
        raise NotAuthentic("its signature is not valid") from error


@dataclass(frozen=True)
class KeyPairs:
    """The private keys of a device or of the root: one signs, one receives secrets."""

    sign_private: bytes
    box_private: bytes

    @staticmethod
    def generate() -> KeyPairs:
        return KeyPairs(secrets.token_bytes(KEY), secrets.token_bytes(KEY))

    @property
    def sign_public(self) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.sign_private).public_key().public_bytes_raw()

    @property
    def box_public(self) -> bytes:
        return X25519PrivateKey.from_private_bytes(self.box_private).public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.sign_private).sign(message)


@dataclass(frozen=True)
class VaultKeys:
    """The vault key and the public keys of the root: what every device knows."""

    key: bytes
    root_sign: bytes
    root_box: bytes

    @property
    def id(self) -> str:
        """The vault's name in the store. It commits to the root keys."""
        return hashlib.sha256(self.root_sign + self.root_box + derive(self.key, "id")).hexdigest()[:32]

    def name(self, *parts: object) -> str:
        """An opaque name that only devices of the vault can work out."""
        message = "\0".join(map(str, parts)).encode()
        return hmac.digest(derive(self.key, "name"), message, hashlib.sha256).hex()[:32]


def vault_of(recovery: bytes) -> tuple[VaultKeys, KeyPairs]:
    """The vault of a recovery key, and the private keys of its root."""
    root = KeyPairs(derive(recovery, "root sign"), derive(recovery, "root box"))
    return VaultKeys(derive(recovery, "vault"), root.sign_public, root.box_public), root


def recovery_text(recovery: bytes) -> str:
    """A recovery key as text to write down.

    14 groups of four letters and digits. The last 3 bytes are a checksum.
    """
    marked = recovery + hashlib.sha256(b"recovery" + recovery).digest()[:CHECKSUM]
    return groups(base64.b32encode(marked).decode())


def parse_recovery(text: str) -> bytes:
    """The recovery key of its text. Spaces, dashes and case do not matter."""
    marked = from_groups(text)
    recovery = marked[:KEY]
    if len(marked) != KEY + CHECKSUM or recovery_text(recovery) != groups(base64.b32encode(marked).decode()):
        raise InvalidInput(
            "This is not a recovery key: a character is wrong or missing.",
            hint="it has 14 groups of four letters and digits, as `sync init` printed them",
        )
    return recovery


def groups(text: str) -> str:
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def from_groups(text: str) -> bytes:
    """The bytes of base32 text in groups; empty if it is something else."""
    letters = "".join(text.upper().split()).replace("-", "").translate(str.maketrans("018", "OIB"))
    try:
        return base64.b32decode(letters)
    except ValueError:
        return b""


def fingerprint(*publics: bytes) -> str:
    """The keys of two devices as 20 letters and digits for people to compare.

    The order of the keys does not matter.
    """
    digest = hashlib.sha256(b"fingerprint" + b"".join(sorted(publics))).digest()
    return groups(base64.b32encode(digest[:15])[:20].decode())
