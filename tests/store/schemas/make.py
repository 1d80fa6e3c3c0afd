"""Writes down a store of the present schema as SQL: run it once when a schema ships, and never again for it.

    python -m tests.store.schemas.make [VERSION]

`vN.sql` has the tables as step N left them and a small session in them. Every later program must be able to
open it; test_migrations.py sees to that.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.events.event import Action, Decision, Fact, FileTouch, Prompt, Rewind
from fazm_memory.store.hash_chain import ChainHeads
from fazm_memory.store.keys import load
from fazm_memory.store.schema import SCHEMA_VERSION, STEPS, statements
from fazm_memory.store.store import DATABASE, HEADS, STORE_FOLDER, Store
from tests.scribe import Scribe, move

FOLDER = Path(__file__).parent
MASTER = "5e" * 32  # the key of every sample store
REBUILT = ("minute", "run", "snapshot", "waiting", "words")

SAMPLE = [
    Prompt("Sort the invoices of 2025"),
    Action("mv", {"from": "a.pdf"}, files=(FileTouch("/w/2025/a.pdf", "renamed", "/w/a.pdf"),)),
    Action("mv", {"from": "b.pdf"}, outcome="error", error="no such file"),
    Decision("skip drafts", "the user said so", ("ask",)),
    Fact("naming", "date first"),
    Fact("folders", {"done": ["2025"]}),
    Action("Write", {"text": "a long text " * 400}),
    Rewind(7),
    move("pause", "lunch"),
]


def keyed(home: Path) -> None:
    """A home with the sample key in its place."""
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "master.key").write_text(MASTER)


def opened(path: Path, key: str) -> sqlcipher.Connection:
    connection = sqlcipher.connect(str(path), isolation_level=None)
    connection.execute(f"PRAGMA key=\"x'{key}'\"")
    return connection


def dump(version: int) -> Iterator[str]:
    """The sample session in the tables of this version."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        keyed(home)
        store = Store(home, key="file")
        Scribe(store).open(*SAMPLE, agent_session_id="sample", workspace="/w")
        made = sqlcipher.connect(":memory:")
        for step in STEPS[:version]:
            for statement in statements(step):
                made.execute(statement)
        yield from (f"{sql};" for sql in schema(made))
        tables = made.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").fetchall()
        for table in [name for (name,) in tables if name.partition("_")[0] not in REBUILT]:
            columns = [row[1] for row in made.execute(f"PRAGMA table_info({table})")]
            quoted = " || ',' || ".join(f"quote({column})" for column in columns)
            for (values,) in store.db.execute(f"SELECT {quoted} FROM {table}"):
                yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values});"
        yield "UPDATE session SET indexed=0, snapped=0, verified=0;"
        yield "INSERT INTO waiting SELECT n FROM session;"
        yield f"PRAGMA user_version={version};"
        made.close()
        store.close()


def schema(connection: sqlcipher.Connection) -> list[str]:
    """Every table and index as it was declared, without those that others bring along."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'words\\_%' ESCAPE '\\'"
        " ORDER BY type DESC, name"
    )
    return [" ".join(row[0].split()) for row in rows]


def old_store(home: Path, version: int) -> None:
    """A store as that version left it: the database, its key and its heads."""
    keyed(home)
    keys = load(home / "keys", store_exists=True)
    (home / STORE_FOLDER).mkdir()
    connection = opened(home / STORE_FOLDER / DATABASE, keys.database)
    connection.execute("PRAGMA journal_mode=wal")
    connection.executescript((FOLDER / f"v{version}.sql").read_text(encoding="utf-8"))
    heads = ChainHeads(home / "keys" / HEADS, keys.chain)
    heads.write(connection.execute("SELECT n, head, mac FROM session").fetchall())
    heads.close()
    connection.close()


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else SCHEMA_VERSION
    target = FOLDER / f"v{wanted}.sql"
    if target.exists():
        sys.exit(f"{target} has shipped: it is what is out there, and stays as it is")
    target.write_text("\n".join(dump(wanted)) + "\n", encoding="utf-8")
