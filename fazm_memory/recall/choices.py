"""A person's say in the context: which items are always in it, and which never.

Kept in the store by item id. A pinned item is told as long as what it says stands, see `pins`.
"""

from __future__ import annotations

import json

from fazm_memory.log.store import Store

KEY = "context.choices"


def read(store: Store) -> dict[str, str]:
    """`pin` or `exclude` by item id."""
    row = store.db.execute("SELECT value FROM meta WHERE key=?", (KEY,)).fetchone()
    return {} if row is None else dict(json.loads(row[0]))


def choose(store: Store, item: str, choice: str | None) -> dict[str, str]:
    """Make a choice about an item, or take it back with None; all choices after that."""
    with store.db.transaction():
        choices = read(store)
        choices.pop(item, None)
        if choice is not None:
            choices[item] = choice
        store.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, json.dumps(choices)))
    return choices
