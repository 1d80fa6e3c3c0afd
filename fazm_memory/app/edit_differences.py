"""What an edit changed in a file, read from the call itself.

Used where no version of the file was kept: agents' edit tools carry the old and the new text, or a patch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fazm_memory.events import target_of
from fazm_memory.session import hunks

OLD = ("old_string", "oldString", "old_str", "old_text", "search", "old")
NEW = ("new_string", "newString", "new_str", "new_text", "replace", "new", "new_source", "insert_text")
WHOLE = ("content", "contents", "file_text", "text")
PATCH = ("patch", "diff", "input", "patch_text")
PATCH_FILE = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
PATCH_WORD = "*** "
MAX_LINES = 2000  # of a patch

Hunk = dict[str, Any]


def edit_hunks(call_input: Any, path: str) -> tuple[list[Hunk], str | None]:
    """The hunks of a call for one file, and a note: how much they show. Positions in the file are unknown.

    A hunk without `a` and `b` has no line numbers.
    """
    if isinstance(call_input, str):
        return _patch_hunks(call_input, path)
    if not isinstance(call_input, dict):
        return [], None
    for name in PATCH:
        text = call_input.get(name)
        if isinstance(text, str) and _is_patch(text):
            return _patch_hunks(text, path)
    edits = call_input.get("edits")
    parts = [part for part in edits if isinstance(part, dict)] if isinstance(edits, list) else [call_input]
    found: list[Hunk] = []
    for part in parts:
        old, new = _first(part, OLD), _first(part, NEW)
        if old is None and new is None:
            continue
        found += _without_numbers(hunks(old or "", new or "")[0])
    if found:
        return found, "From the edit itself. Line numbers are not known."
    whole = _first(call_input, WHOLE)
    if whole is not None and target_of(call_input).endswith(path.rsplit("/", 1)[-1]):
        return hunks("", whole)[0], "The whole new content. What was there before is not known."
    return [], None


def _first(part: dict[str, Any], names: Iterable[str]) -> str | None:
    return next((part[name] for name in names if isinstance(part.get(name), str)), None)


def _without_numbers(found: list[Hunk]) -> list[Hunk]:
    return [{"a": None, "b": None, "lines": hunk["lines"]} for hunk in found]


def _is_patch(text: str) -> bool:
    return text.lstrip().startswith(("*** Begin Patch", "--- ", "diff --git ")) or "<<<<<<< SEARCH" in text


def _patch_hunks(text: str, path: str) -> tuple[list[Hunk], str | None]:
    if "<<<<<<< SEARCH" in text:
        blocks = [_without_numbers(hunks(old, new)[0]) for old, new in _search_blocks(text)]
        found = [hunk for block in blocks for hunk in block]
    else:
        found = [hunk for file, hunk in _patch_parts(text) if _same_file(file, path)]
    return found, "From the patch of the call." if found else None


def _same_file(named: str, path: str) -> bool:
    return not named or path == named or path.endswith(f"/{named.removeprefix('./')}")


def _patch_parts(text: str) -> Iterator[tuple[str, Hunk]]:
    """Each hunk of a unified diff or of an apply_patch text, with its file."""
    file = ""
    lines: list[dict[str, str]] = []
    for line in text.splitlines()[:MAX_LINES]:
        name = _file_named(line)
        if name is not None or line.startswith(("@@", PATCH_WORD)):
            if lines:
                yield file, {"a": None, "b": None, "lines": lines}
            file, lines = name if name is not None else file, []
        elif line[:1] in ("+", "-", " ") and not line.startswith("--- "):
            lines.append({"op": line[0], "text": line[1:]})
    if lines:
        yield file, {"a": None, "b": None, "lines": lines}


def _file_named(line: str) -> str | None:
    for word in PATCH_FILE:
        if line.startswith(word):
            return line.removeprefix(word).strip()
    if line.startswith("+++ "):
        return line.removeprefix("+++ ").split("\t")[0].strip().removeprefix("b/")
    return None


def _search_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Old and new text of the blocks between SEARCH and REPLACE marks."""
    sides: list[list[str]] = [[], []]
    side: int | None = None
    for line in text.splitlines()[:MAX_LINES]:
        if line.startswith("<<<<<<< SEARCH"):
            sides, side = [[], []], 0
        elif line.startswith("=======") and side == 0:
            side = 1
        elif line.startswith(">>>>>>> REPLACE") and side == 1:
            yield "\n".join(sides[0]), "\n".join(sides[1])
            side = None
        elif side is not None:
            sides[side].append(line)
