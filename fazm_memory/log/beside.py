"""Recovery of what lies beside the log: kept versions of files, and the drawer.

They have no chain, but each of their pages proves itself and each content has its digest. A damaged one is
set aside as it is, and every row that can be read whole goes into a new one. The log is not touched. Nor is
one that another process has open: what that wrote afterwards would go into the one that was set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from fazm_memory.errors import StoreDamaged
from fazm_memory.log import drawer, versions
from fazm_memory.log.database import Database
from fazm_memory.log.journal import Aside, set_aside
from fazm_memory.log.letting_go import sweep
from fazm_memory.log.migrations import statements
from fazm_memory.log.raw_pages import RawPages
from fazm_memory.log.raw_rows import RawRows, Shape
from fazm_memory.log.sides import in_use, sides
from fazm_memory.log.store import STORE_FOLDER
from fazm_memory.model.counting import plural

IN_USE = "another process has it open, so it was left as it is: end that one, then recover again"
LOST = "lost: what it held lay on a damaged page"
VERSIONS = {
    "version": Shape(
        "id, root, path, at, session, digest, reason, mark, told, seq, hand, mode", "-ttiTTTti", more=3
    ),
    "blob": Shape("digest, size, data", "tib"),
    "restore": Shape("id, session, root, stage, began, ended, told", "-tttiIt"),
    "folder": Shape("id, root, path, at, came, session, seq, hand", "-ttiiTIt"),
}
MODES = statements(versions.STEP_3)[1]
DRAWER = {"item": Shape("n, shelf, owner, name, at, data", "-ttTib")}

Save = Callable[[RawRows, Database], str]


@dataclass(frozen=True)
class Beside:
    """A database beside the log: its file, its schema, what its rows look like, and how they are saved."""

    file: str
    steps: tuple[str, ...]
    shapes: Mapping[str, Shape]
    save: Save


@dataclass(frozen=True)
class Looked:
    """What a look at one of them found: what is wrong with it, if anything, and whether all was read."""

    file: str
    problem: str | None
    whole: bool


def look_beside(home: Path, key: str, most: int) -> list[Looked]:
    """Look at each as a recovery would, and change nothing. One of more than `most` bytes is only opened."""
    found = []
    for one, path in _there(home):
        whole = path.stat().st_size <= most
        problem = _problem(path, key, one) if whole else _refused(path, key, one)
        found.append(Looked(one.file, problem, whole))
    return found


def recover_beside(home: Path, key: str, aside: Aside) -> list[str]:
    """Recover each that is damaged; what came of it, in words."""
    notes = []
    for one, path in _there(home):
        problem = _problem(path, key, one)
        if problem is not None:
            came = IN_USE if in_use(path) else _recover(home, path, key, one, aside)
            notes.append(f"{one.file}: {problem}; {came}")
    return notes


def _there(home: Path) -> Iterator[tuple[Beside, Path]]:
    for one in ALL:
        path = home / STORE_FOLDER / one.file
        if path.exists() and path.stat().st_size:
            yield one, path


def _refused(path: Path, key: str, one: Beside) -> str | None:
    """Why it cannot be opened, or None."""
    try:
        Database(path, key, create=False, steps=one.steps).close()
    except StoreDamaged as error:
        return error.message
    return None


def _problem(path: Path, key: str, one: Beside) -> str | None:
    """What is wrong with it, or None. A newer one, or one that somebody else holds, is not damaged."""
    damage = _damage(path, key)
    if damage is not None and not in_use(path):
        return damage
    try:
        with closing(Database(path, key, create=False, steps=one.steps)) as db:
            if damage is not None:  # a page that was just being written looks so: now nobody writes
                with db.transaction():
                    damage = _damage(path, key)
            check = db.execute("PRAGMA quick_check(1)").fetchone()[0] if damage is None else damage
            return None if check == "ok" else damage or f"the database says: {check}"
    except StoreDamaged as error:
        return error.message


def _damage(path: Path, key: str) -> str | None:
    with closing(RawPages(path, key, None)) as pages:
        if not pages.damaged and not pages.cut_off:
            return None
        cut = ", its end was cut off" if pages.cut_off else ""
        return f"{len(pages.damaged)} of {plural(pages.count, 'page')} damaged{cut}"


def _recover(home: Path, path: Path, key: str, one: Beside, aside: Aside) -> str:
    folder = aside.folder()
    with (
        set_aside(home, sides(path), folder),
        closing(RawPages(folder / path.name, key, None)) as pages,
        closing(Database(path, key, steps=one.steps)) as db,
    ):
        return one.save(RawRows(pages, one.shapes), db)


def _insert(db: Database, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    # The one that came last counts: of a row that was moved an older copy may be left.
    marks = ",".join("?" * (columns.count(",") + 1))
    db.executemany(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", rows)


def _save_versions(rows: RawRows, db: Database) -> str:
    """Versions with the contents that prove true; one whose content is lost says so."""
    with db.transaction():
        for table in ("version", "restore", "folder"):
            columns = VERSIONS[table].columns
            _insert(db, table, columns, rows.each(table, columns))
        db.execute(f"{MODES} AND mode IS NULL")  # of rows from before there were any
        columns = VERSIONS["blob"].columns
        _insert(db, "blob", columns, (row for row in rows.each("blob", columns) if _true(*row)))
        sweep(db)
        lost = db.execute(
            "UPDATE version SET digest=NULL, reason=?"
            " WHERE digest IS NOT NULL AND digest NOT IN (SELECT digest FROM blob)",
            (LOST,),
        ).rowcount
        kept = db.execute("SELECT count(*) FROM version").fetchone()[0]
    without = f", {lost} without what it held" if lost else ""
    return f"{plural(kept, 'version')} of files saved{without}"


def _true(digest: str, size: int, data: bytes) -> bool:
    try:
        held = zstandard.ZstdDecompressor().decompress(data, max_output_size=versions.FILE_CAP)
    except zstandard.ZstdError:
        return False
    return len(held) == size and versions.digest_of(held) == digest


def _save_drawer(rows: RawRows, db: Database) -> str:
    columns = DRAWER["item"].columns
    with db.transaction():
        _insert(db, "item", columns, rows.each("item", columns))
        kept = db.execute("SELECT count(*) FROM item").fetchone()[0]
    return f"{plural(kept, 'item')} that programs had left here saved"


ALL = (
    Beside(versions.DATABASE, versions.STEPS, VERSIONS, _save_versions),
    Beside(drawer.DATABASE, drawer.STEPS, DRAWER, _save_drawer),
)
