"""Two versions of a text side by side: the lines that differ with a little around them, as data.

Bounded: comparing is quadratic at its worst, so what is too long to compare is said to be, never half done.
"""

from __future__ import annotations

from difflib import SequenceMatcher, unified_diff
from typing import Any

AROUND = 3
MOST_LINES = 4000  # of both together
MOST_SHOWN = 2000


def hunks(before: str, after: str) -> tuple[list[dict[str, Any]], str | None]:
    """The hunks, and why there are none or not all; None when they are whole."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MOST_LINES:
        return [], f"too long to compare line by line: {len(old):,} and {len(new):,} lines"
    made: list[dict[str, Any]] = []
    shown = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND):
        lines: list[dict[str, str]] = []
        for tag, low, high, first, last in group:
            if tag == "equal":
                lines += [{"op": " ", "text": line} for line in old[low:high]]
                continue
            lines += [{"op": "-", "text": line} for line in old[low:high]]
            lines += [{"op": "+", "text": line} for line in new[first:last]]
        shown += len(lines)
        if shown > MOST_SHOWN:
            return made, f"more than {MOST_SHOWN:,} lines differ; the first are shown"
        (_, low, _, first, _), (_, _, high, _, last) = group[0], group[-1]
        made.append({"a": low + 1, "a_lines": high - low, "b": first + 1, "b_lines": last - first,
                     "lines": lines})  # fmt: skip
    return made, None


def as_text(before: str, after: str, *, first: str, second: str) -> str:
    """A unified diff of two short texts."""
    old, new = before.splitlines()[:MOST_SHOWN], after.splitlines()[:MOST_SHOWN]
    return "\n".join(unified_diff(old, new, first, second, lineterm=""))
