"""Eviction: what a compacted context no longer mentions, by name, and where in the log it stands.

An agent that names what went is believed. Others say that their context was compacted, and perhaps what they
kept as a summary. The state knows what there was to know: files, decisions, facts, work to do. What the
summary does not mention is out of sight and gets a key that leads back to its event; once the agent touches
it again, it is in sight again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fazm_memory.model.builder import Builder
from fazm_memory.model.events import Event
from fazm_memory.model.payloads import Evicted

ENOUGH = 0.6  # of the words of something that a summary which mentions it has
WORD = re.compile(r"\w{3,}")


def evicted(b: Builder, event: Event, p: Evicted) -> None:
    b.count("compactions")
    summary = (p.summary or "").lower()
    words = set(WORD.findall(summary))
    for key, seq, said in () if p.keys else _known(b):
        if not _mentions(summary, words, said):
            b.put("evicted_keys", key, seq)
        else:
            b.evicted_keys.pop(key, None)
    stand = {key: seq for key, seq, _ in _known(b)} if p.keys else {}
    for key in p.keys:  # where it stands, if it is known; else at least where it was let go of
        b.put("evicted_keys", key, stand.get(key, event.seq))


def in_sight(b: Builder, key: str) -> None:
    """What was just touched or said is in the context again."""
    b.evicted_keys.pop(key, None)


def _known(b: Builder) -> Iterator[tuple[str, int, str]]:
    """Everything that can be lost from sight: its key, its position, what would mention it.

    What matters most comes last: beyond the bound the first go.
    """
    for path, entry in b.files_modified.items():
        yield f"file:{path}", entry.seq, path
    for key, one in b.facts.items():
        yield f"fact:{key}", one["seq"], f"{key} {_text(one['value'])}"
    for seq, one in b.decisions_made.items():
        if "session" not in one:  # a fork's parent has its own positions
            yield f"decision:{seq}", seq, one["what"] or ""
    for name, one in b.pending_actions.items():
        yield f"pending:{name}", one["seq"], one["what"] or ""


def _mentions(summary: str, words: set[str], said: str) -> bool:
    """Whether a summary has a file by its name, or most of the words of anything else."""
    said = said.lower()
    if not summary:
        return False
    if said.startswith(("/", "~")):
        return said.rstrip("/").rsplit("/", 1)[-1] in summary
    if said and said in summary:
        return True
    wanted = set(WORD.findall(said))
    return bool(wanted) and len(wanted & words) >= ENOUGH * len(wanted)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
