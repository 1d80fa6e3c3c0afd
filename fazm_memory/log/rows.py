"""Rows to values and back: how an event lies in its table.

A payload is compact JSON, compressed when that pays; the first byte tells which, so no column is spent on it.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
import zstandard

from fazm_memory.errors import StoreDamaged, StoreNewer
from fazm_memory.log.database import RECOVER_HINT
from fazm_memory.log.tables import SEQ_MASK
from fazm_memory.model import codec
from fazm_memory.model.events import Event, NewerVersion, read_payload

EVENT_COLUMNS = "id, at, turn, kind, version, actor, source, trust, key, payload, digest, mac"
INSERT_EVENT = f"INSERT INTO event ({EVENT_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
WORTH_COMPRESSING = 1536
LARGEST_PAYLOAD = 64 << 20

_compressor = zstandard.ZstdCompressor(level=3)
_decompressor = zstandard.ZstdDecompressor()

# What the codec's own encoder refuses is refused here too: dates, and whatever only looks like a value.
_STRICT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS


def to_stored(payload: Any) -> bytes:
    """The exact bytes the log keeps and digests; PayloadError names what cannot be kept.

    Every append comes by here, so the quick encoder is asked first. It knows no number of more than 64 bits
    and writes what is not a number as null: what it refuses, or may have got wrong, the codec does.
    """
    try:
        quick = orjson.dumps(codec.encode(payload), option=_STRICT)
    except TypeError:
        return pack(codec.to_bytes(payload))
    return pack(codec.to_bytes(payload) if b"null" in quick else quick)


def pack(payload: bytes) -> bytes:
    """The bytes as stored. JSON begins with `{`, a compressed frame with its magic."""
    if len(payload) < WORTH_COMPRESSING:
        return payload
    packed = _compressor.compress(payload)
    return packed if len(packed) < len(payload) else payload


def unpack(stored: bytes) -> bytes:
    if stored[:4] != ZSTD_MAGIC:
        return bytes(stored)
    return _decompressor.decompress(stored, max_output_size=LARGEST_PAYLOAD)


# Digits as noughts, all else as blanks: how a long number is found without looking at every byte in Python.
_DIGITS = bytes(48 if 48 <= one <= 57 else 32 for one in range(256))
_LONG = b"0" * 19  # fewer digits fit into 64 bits


def parsed(payload: bytes) -> Any:
    """The value of stored JSON. The quick parser would take a number of more than 64 bits for a fraction, and
    refuses a few things that were kept once: those are read by the patient one."""
    if _LONG not in payload.translate(_DIGITS):
        try:
            return orjson.loads(payload)
        except orjson.JSONDecodeError:
            return json.loads(payload.decode())
    return json.loads(payload.decode())


def to_event(row: tuple[Any, ...], session: str, prev: bytes) -> Event:
    """The event of a row; its payload is None when it has been forgotten."""
    id_, at, turn, kind, version, actor, source, trust, _key, stored, digest, mac = row
    try:
        payload = None if stored is None else read_payload(kind, version, parsed(unpack(stored)))
    except NewerVersion as error:
        raise StoreNewer(str(error), hint="update Fazm Memory; nothing was changed") from None
    except (ValueError, TypeError, zstandard.ZstdError) as error:
        raise StoreDamaged(
            f"event {id_ & SEQ_MASK} of session {session[:8]} cannot be read: {error}", hint=RECOVER_HINT
        ) from error
    return Event(session, id_ & SEQ_MASK, at, turn, kind, version, actor, source, trust, payload,
                 digest.hex(), prev.hex(), mac.hex())  # fmt: skip
