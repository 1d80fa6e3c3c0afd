"""What we ourselves put into a session, found again in its records: it is not recorded a second time.

Everything we hand to an agent stands between two marks with the same nonce. Remembering it again would make
yesterday's memory today's evidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MARK = "<<<fazm-memory "
BEGIN = re.compile(r"<<<fazm-memory ([0-9a-f]{8,64}) begin[^>\n]{0,200}>>>\n?")
MOST_BLOCKS = 100


def without_injected(told: str) -> str:
    """The text without our blocks. A block that was cut off goes on to the end of the text."""
    if MARK not in told:
        return told
    kept: list[str] = []
    start = 0
    for _ in range(MOST_BLOCKS):
        found = BEGIN.search(told, start)
        if found is None:
            return "".join([*kept, told[start:]])
        kept.append(told[start : found.start()])
        end = f"{MARK}{found[1]} end>>>"
        closed = told.find(end, found.end())
        if closed < 0:
            break
        start = closed + len(end)
    return "".join(kept)


def nothing_injected(value: Any) -> Any:
    """A payload without our blocks in any of its texts, whichever door it came through."""
    if isinstance(value, str):
        return without_injected(value)
    if isinstance(value, Mapping):
        return {key: nothing_injected(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [nothing_injected(one) for one in value]
    return value
