"""What we ourselves put into a session, found again in its records: it is not recorded a second time.

Everything we hand to an agent stands between two marks with the same nonce, with a line of ours before it and
perhaps one after it. Remembering it again would make yesterday's memory today's evidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MARK = "<<<fazm-memory "
BEGIN = re.compile(r"<<<fazm-memory ([0-9a-f]{8,64}) begin[^>\n]{0,200}>>>\n?")
MOST_BLOCKS = 100
# In JSON a line break is two characters.
HEAD = re.compile(
    r"(?:Rendered on [^\n]{0,60}; days below count from then\.(?:\n|\\n))?"
    r"Fazm Memory: (?:what happened before|changed since|taking up session) [^\n]{0,2000}?(?:\n|\\n)\Z"
)
LONGEST_HEAD = 2_200
FOOT = re.compile(r"(?:(?:\n|\\n)Left out for space: [^\n]{0,200}?finds the rest\.)?(?:\n|\\n)?")


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
        before = told[start : found.start()]
        kept.append(_without_head(before))
        end = f"{MARK}{found[1]} end>>>"
        closed = told.find(end, found.end())
        if closed < 0:
            break
        start = closed + len(end)
        if kept[-1] != before and (foot := FOOT.match(told, start)) is not None:
            start = foot.end()
    return "".join(kept)


def _without_head(before: str) -> str:
    """What stands before a block, without the line of ours that leads into it."""
    end = before[-LONGEST_HEAD:]
    found = HEAD.search(end)
    return before if found is None else before[: len(before) - len(end) + found.start()]


def nothing_injected(value: Any) -> Any:
    """A payload without our blocks in any of its texts, whichever door it came through."""
    if isinstance(value, str):
        return without_injected(value)
    if isinstance(value, Mapping):
        return {key: nothing_injected(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [nothing_injected(one) for one in value]
    return value
