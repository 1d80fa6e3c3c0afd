"""Failed calls as items: what is broken still, apart from look-ups that found nothing.

A test that fails is open until it passes. A search without a match or a file that is not there is an answer:
nothing is left to mend, and a day of them must not push out what is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from fazm_memory.model.state import SessionState
from fazm_memory.recall.fence import plain_name, quote
from fazm_memory.recall.mends import SETTING, SHELLS

FAILURES = 12  # of one session: a context has no room for more
IN_VAIN = 3
PROGRAMS = (
    "[ ag cat cd diff du egrep fd fgrep file find grep head ls pwd rg stat tail test tree type wc which"
)
LOOKING = frozenset(PROGRAMS.split())
LOOKING_TOOLS = frozenset(
    {"Read", "Grep", "Glob", "LS", "read_file", "list_directory", "glob", "grep", "read", "list",
     "search_file_content"}
)  # fmt: skip
JOINTS = re.compile(r"&&|\|\||[|;&\n]")

Failed = tuple[Literal["DONE", "OPEN"], str, str, str, int, str]


def failed_calls(state: SessionState) -> Iterator[Failed]:
    """The newest failures that nothing mended, a count of the older ones, and the latest look-ups in vain."""
    unmended = [one for one in state.errors.values() if one["mended_by"] is None]
    vain = [one for one in unmended if in_vain(one)]
    failed = [one for one in unmended if not in_vain(one)]
    for one in failed[-FAILURES:]:
        text = f"{called(one)} {one['outcome']}: {quote(one['error'] or '', 160)}; not mended"
        yield "OPEN", "failed", str(one["seq"]), text, one["seq"], "tool"
    if before := failed[:-FAILURES]:
        text = f"{len(before)} more failed before those, not mended; `kind:action failed` finds them"
        yield "OPEN", "more", "failed", text, before[-1]["seq"], "local"
    for one in vain[-IN_VAIN:]:
        text = f"looked in vain: {called(one)}: {quote(one['error'] or '', 160)}"
        yield "DONE", "vain", str(one["seq"]), text, one["seq"], "tool"


def called(one: dict[str, Any]) -> str:
    """A call by its tool and what it was about."""
    target = one.get("target") or ""
    tool = plain_name(one["tool"] or "a call")
    return f"{tool} {quote(target, 120)}" if target else tool


def in_vain(one: dict[str, Any]) -> bool:
    """Whether a failed call only looked for something."""
    if one["outcome"] != "error":
        return False
    if one["tool"] not in SHELLS:
        return one["tool"] in LOOKING_TOOLS
    parts = [part.split() for part in JOINTS.split(one.get("target") or "")]
    words = [[word for word in part if not SETTING.fullmatch(word)] for part in parts if part]
    return bool(words) and all(part and part[0].rsplit("/", 1)[-1] in LOOKING for part in words)
