"""Zstandard for stored bytes, safe to call from several threads.

A compressor or decompressor of the library must not be used by two threads at once: it would write or read
wrong bytes. Each thread has its own.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zstandard

LEVEL = 3


class _OfThread(threading.local):
    """The compressors, by level, and the decompressor of one thread."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}

    def __getattr__(self, name: str) -> Any:
        if name != "decompressor":
            raise AttributeError(name)
        import zstandard  # listings read no payload

        self.decompressor = zstandard.ZstdDecompressor()
        return self.decompressor


_of_thread = _OfThread()


def compress(data: bytes, level: int = LEVEL) -> bytes:
    compressor = _of_thread.compressors.get(level)
    if compressor is None:
        import zstandard

        compressor = _of_thread.compressors[level] = zstandard.ZstdCompressor(level=level)
    return compressor.compress(data)


def decompress(data: bytes, largest: int = 0) -> bytes:
    """The original bytes. `largest` is their most, for frames that do not say how long they are."""
    return _of_thread.decompressor.decompress(data, max_output_size=largest)


def frame_error() -> type[Exception]:
    """The error of bytes that cannot be decompressed."""
    import zstandard

    return zstandard.ZstdError
