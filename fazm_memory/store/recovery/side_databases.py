"""Recovery of the databases beside the log: file versions and framework data.

They have no hash chain, but pages are authenticated and content has digests. A damaged database is set aside
and every complete row is copied into a new one. A database that another process has open is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

from fazm_memory.errors import StoreDamaged
from fazm_memory.records import dataclass
from fazm_memory.store import file_versions, framework_store, transcript_copies
from fazm_memory.store.database import Database, database_files, in_use
from fazm_memory.store.file_versions import delete_unused_blobs
from fazm_memory.store.recovery.journal import RecoveryFolder, set_aside
from fazm_memory.store.recovery.page_reader import PageReader, RowReader, RowShape
from fazm_memory.store.schema import statements
from fazm_memory.store.store import STORE_FOLDER
from fazm_memory.text import plural

IN_USE = "another process has it open, so it was left as it is: end that one, then recover again"
LOST = "lost: its content was on a damaged page"
VERSIONS = {
    "version": RowShape(
        "id, root, path, at, session, digest, reason, mark, told, seq, hand, mode", "-ttiTTTti", more=3
    ),
    "blob": RowShape("digest, size, data", "tib"),
    "restore": RowShape("id, session, root, stage, began, ended, told", "-tttiIt"),
    "folder": RowShape("id, root, path, at, came, session, seq, hand", "-ttiiTIt"),
}
MODES = statements(file_versions.STEP_3)[1]
DRAWER = {"item": RowShape("n, shelf, owner, name, at, data", "-ttTib")}

TRANSCRIPTS = {
    "copy": RowShape(transcript_copies.COLUMNS, "-ttttttii?iit?ii", more=1),
    "part": RowShape("copy, start, size, digest", "iiit"),
    "chunk": RowShape("digest, size, data", "tib"),
    "forgotten": RowShape("id, session, at", "-ti"),
}

Save = Callable[[RowReader, Database], str]


@dataclass(frozen=True)
class SideDatabase:
    """A database beside the log: file name, schema, row shapes, and how rows are saved."""

    file: str
    steps: tuple[str, ...]
    shapes: Mapping[str, RowShape]
    save: Save


@dataclass(frozen=True)
class SideDatabaseCheck:
    """The result of a check: the problem, if any, and whether all pages were read."""

    file: str
    problem: str | None
    whole: bool


def check_side_databases(home: Path, key: str, most: int) -> list[SideDatabaseCheck]:
    """Check each one without changing it. Files of more than `most` bytes are only opened."""
    found = []
    for side, path in _existing(home):
        whole = path.stat().st_size <= most
        problem = _problem(path, key, side) if whole else _refused(path, key, side)
        found.append(SideDatabaseCheck(side.file, problem, whole))
    return found


def recover_side_databases(home: Path, key: str, aside: RecoveryFolder) -> list[str]:
    """Recover each damaged one. Return notes on what was done."""
    notes = []
    for side, path in _existing(home):
        problem = _problem(path, key, side)
        if problem is not None:
            result = IN_USE if in_use(path) else _recover(home, path, key, side, aside)
            notes.append(f"{side.file}: {problem}; {result}")
    return notes


def _existing(home: Path) -> Iterator[tuple[SideDatabase, Path]]:
    for side in ALL:
        path = home / STORE_FOLDER / side.file
        if path.exists() and path.stat().st_size:
            yield side, path


def _refused(path: Path, key: str, side: SideDatabase) -> str | None:
    try:
        Database(path, key, create=False, steps=side.steps).close()
    except StoreDamaged as error:
        return error.message
    return None


def _problem(path: Path, key: str, side: SideDatabase) -> str | None:
    damage = _damage(path, key)
    if damage is not None and not in_use(path):
        return damage
    try:
        with closing(Database(path, key, create=False, steps=side.steps)) as db:
            if damage is not None:  # perhaps a page being written: check again under the write lock
                with db.transaction():
                    damage = _damage(path, key)
            check = db.execute("PRAGMA quick_check(1)").fetchone()[0] if damage is None else damage
            return None if check == "ok" else damage or f"SQLite reports: {check}"
    except StoreDamaged as error:
        return error.message


def _damage(path: Path, key: str) -> str | None:
    with closing(PageReader(path, key, None)) as pages:
        if not pages.damaged and not pages.cut_off:
            return None
        cut = ", its end was cut off" if pages.cut_off else ""
        return f"{len(pages.damaged)} of {plural(pages.count, 'page')} damaged{cut}"


def _recover(home: Path, path: Path, key: str, side: SideDatabase, aside: RecoveryFolder) -> str:
    folder = aside.folder()
    with (
        set_aside(home, database_files(path), folder),
        closing(PageReader(folder / path.name, key, None)) as pages,
        closing(Database(path, key, steps=side.steps)) as db,
    ):
        return side.save(RowReader(pages, side.shapes), db)


def _insert(db: Database, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    # The last copy counts: a moved row may have left an older one.
    marks = ",".join("?" * (columns.count(",") + 1))
    db.executemany(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", rows)


def _save_versions(rows: RowReader, db: Database) -> str:
    """Copy versions with the content that matches its digest. Others get a reason."""
    with db.transaction():
        for table in ("version", "restore", "folder"):
            columns = VERSIONS[table].columns
            _insert(db, table, columns, rows.each(table, columns))
        db.execute(f"{MODES} AND mode IS NULL")  # rows older than this column
        columns = VERSIONS["blob"].columns
        _insert(db, "blob", columns, (row for row in rows.each("blob", columns) if _true(*row)))
        delete_unused_blobs(db)
        lost = db.execute(
            "UPDATE version SET digest=NULL, reason=?"
            " WHERE digest IS NOT NULL AND digest NOT IN (SELECT digest FROM blob)",
            (LOST,),
        ).rowcount
        kept = db.execute("SELECT count(*) FROM version").fetchone()[0]
    without = f", {lost} without content" if lost else ""
    return f"{plural(kept, 'version')} of files saved{without}"


def _true(digest: str, size: int, data: bytes) -> bool:
    try:
        content = zstandard.ZstdDecompressor().decompress(data, max_output_size=file_versions.FILE_CAP)
    except zstandard.ZstdError:
        return False
    return len(content) == size and file_versions.digest_of(content) == digest


def _save_drawer(rows: RowReader, db: Database) -> str:
    columns = DRAWER["item"].columns
    with db.transaction():
        _insert(db, "item", columns, rows.each("item", columns))
        kept = db.execute("SELECT count(*) FROM item").fetchone()[0]
    return f"{plural(kept, 'item')} of other programs saved"


def _save_transcripts(rows: RowReader, db: Database) -> str:
    """Save the copies of which every part is readable. The others are made again from the agent's file."""
    with db.transaction():
        for table in ("copy", "part", "forgotten"):
            columns = TRANSCRIPTS[table].columns
            _insert(db, table, columns, rows.each(table, columns))
        columns = TRANSCRIPTS["chunk"].columns
        _insert(db, "chunk", columns, (row for row in rows.each("chunk", columns) if _true(*row)))
        whole = (
            "SELECT id FROM copy WHERE size = (SELECT coalesce(sum(part.size), 0) FROM part JOIN chunk"
            " ON chunk.digest = part.digest WHERE part.copy = copy.id)"
        )
        lost = db.execute(f"DELETE FROM copy WHERE id NOT IN ({whole})").rowcount
        db.execute("DELETE FROM part WHERE copy NOT IN (SELECT id FROM copy)")
        db.execute("DELETE FROM chunk WHERE digest NOT IN (SELECT digest FROM part)")
        saved = db.execute("SELECT count(*) FROM copy").fetchone()[0]
    gone = f", {lost} incomplete ones dropped" if lost else ""
    return f"{plural(saved, 'copied transcript')} saved{gone}"


ALL = (
    SideDatabase(file_versions.VERSIONS_DATABASE, file_versions.STEPS, VERSIONS, _save_versions),
    SideDatabase(framework_store.DATABASE, framework_store.STEPS, DRAWER, _save_drawer),
    SideDatabase(
        transcript_copies.TRANSCRIPTS_DATABASE, transcript_copies.STEPS, TRANSCRIPTS, _save_transcripts
    ),
)
