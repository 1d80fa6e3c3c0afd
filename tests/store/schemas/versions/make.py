"""Writes down a store of versions as SQL: run it once when a schema of it ships, and never again for it.

    python -m tests.store.schemas.versions.make [VERSION]

`vN.sql` has the tables as step N left them and a few versions in them, which every later program must be able
to read.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import zstandard
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.store.file_versions import STEPS, digest_of
from fazm_memory.store.schema import statements
from tests.store.schemas.make import schema

FOLDER = Path(__file__).parent
SCRIPT, WORDS = b"#!/bin/sh\n", b"words\n"
MODES = 3  # the first schema in which a version has its mode
SAMPLE = [
    # path, at, content or reason, mark: device, inode, size, time and mode, or nothing
    ("run.sh", 10, SCRIPT, f"1:2:10:1000:{0o100755}"),
    ("words.txt", 10, WORDS, ""),
    ("words.txt", 20, "absent", ""),
    ("link", 10, "a link to words.txt", f"1:3:9:1000:{0o120777}"),
]


def _mode(mark: str) -> str:
    mode = int(mark.rpartition(":")[2] or 0)
    return str(mode & 0o777) if stat.S_ISREG(mode) else "NULL"


def dump(version: int) -> Iterator[str]:
    made = sqlcipher.connect(":memory:", isolation_level=None)
    for step in STEPS[:version]:
        for statement in statements(step):
            made.execute(statement)
    yield from (f"{sql};" for sql in schema(made))
    total = 0
    for data in (SCRIPT, WORDS):
        packed = zstandard.ZstdCompressor(level=3).compress(data)
        total += len(packed)
        yield f"INSERT INTO blob VALUES ('{digest_of(data)}', {len(data)}, X'{packed.hex()}');"
    for path, at, given, mark in SAMPLE:
        held = f"'{digest_of(given)}', NULL" if isinstance(given, bytes) else f"NULL, '{given}'"
        more, known = ("", "") if version < MODES else (", mode", f", {_mode(mark)}")
        values = f"'/r', '{path}', {at}, {held}, '{mark}'{known}"
        yield f"INSERT INTO version (root, path, at, digest, reason, mark{more}) VALUES ({values});"
    yield f"INSERT INTO total VALUES (1, {total});"
    yield f"PRAGMA user_version={version};"
    made.close()


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else len(STEPS)
    target = FOLDER / f"v{wanted}.sql"
    if target.exists():
        sys.exit(f"{target} has shipped: it is what is out there, and stays as it is")
    target.write_text("\n".join(dump(wanted)) + "\n", encoding="utf-8")
