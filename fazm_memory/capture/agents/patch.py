"""The apply_patch format, as Codex and opencode have it: which files a patch adds, changes, moves, removes.

Only the headers are read. A line of content starts with a space, a plus, a minus or `@@`, so a line that
starts with `*** ` is always a header.
"""

from __future__ import annotations

import posixpath
from typing import Any

from fazm_memory.capture.agents.tool_call import touch

ADD, DELETE, UPDATE, MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "


def patched_files(patch: str, cwd: str) -> list[dict[str, Any]]:
    """The files a patch touches, as an action tells them."""
    touched: list[dict[str, Any]] = []
    for line in patch.splitlines():
        if not line.startswith("*** "):
            continue
        if line.startswith(ADD):
            touched.append(touch(_path(line, ADD, cwd), "created"))
        elif line.startswith(DELETE):
            touched.append(touch(_path(line, DELETE, cwd), "deleted"))
        elif line.startswith(UPDATE):
            touched.append(touch(_path(line, UPDATE, cwd), "modified"))
        elif line.startswith(MOVE) and touched and touched[-1]["change"] == "modified":
            touched[-1] = touch(_path(line, MOVE, cwd), "renamed", touched[-1]["path"])
    return touched


def _path(line: str, header: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, line[len(header) :].strip()))
