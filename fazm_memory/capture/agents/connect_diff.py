"""What an edit would change, as a difference of lines: as the file is, and so that a person can read it.

Agents write some of their files with all of it on one line. As it is, that would be shown as one endless line
that goes and one that comes; so both sides are laid out first, for the eye alone: the file is not written so.
"""

from __future__ import annotations

import difflib
import json

WIDE = 400  # characters of a line that nobody can compare with another


def difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """The exact difference; None is a file that is not there."""
    return "".join(difflib.unified_diff(_lines(before), _lines(after), name, name))


def readable(name: str, before: bytes | None, after: bytes | None) -> tuple[str, bool]:
    """The difference for a person, and whether it is one of the same values laid out anew."""
    if _wide(before) or _wide(after):
        old, new = _laid_out(before), _laid_out(after)
        if old is not None and new is not None and old != new:
            return difference(name, old, new), True
    return difference(name, before, after), False


def _wide(data: bytes | None) -> bool:
    return data is not None and any(len(line) > WIDE for line in data.splitlines())


def _laid_out(data: bytes | None) -> bytes | None:
    """The JSON of a file with a value a line; None when it is not plain JSON."""
    if data is None or not data.strip():
        return b""
    try:
        return json.dumps(json.loads(data), ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # comments, or another format: then it is shown as it is
        return None


def _lines(data: bytes | None) -> list[str]:
    lines = [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=True)
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]
