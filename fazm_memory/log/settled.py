"""What a damaged store knew and no event tells: a person's choices about the context, and what is held back.

Recovery takes it over from the wreck. Of what is held back nothing is let go that either the log or the wreck
holds; what cannot be read is left out.
"""

from __future__ import annotations

import json

from fazm_memory.log import quarantine
from fazm_memory.log.quarantine import NOTHING, Held
from fazm_memory.log.salvage import Wreck
from fazm_memory.log.store import Store

CHOICES = "context.choices"  # as `recall/choices.py` keeps them


def take_over(wreck: Wreck, store: Store) -> None:
    """Keep both in a new store whose sessions have their old numbers. In a transaction."""
    found = dict(wreck.rows("meta", "key, value"))
    try:
        choices = json.loads(found.get(CHOICES, "{}"))
        book = {int(n): Held(bool(one["whole"]), frozenset(one["seqs"]))
                for n, one in json.loads(found.get(quarantine.KEY, "{}")).items()}  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        wreck.notes.append(f"pins, exclusions and quarantine could not be read from the old store: {error}")
        return
    if choices:
        store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (CHOICES, json.dumps(choices)))
    for number, held in book.items():
        known = quarantine.read(store.db).get(number, NOTHING)
        quarantine.keep(store.db, number, Held(known.whole or held.whole, known.seqs | held.seqs))
