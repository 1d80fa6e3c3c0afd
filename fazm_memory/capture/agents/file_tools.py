"""Which files a file tool touched: told by its name and its input, without asking the disk.

Agents name these tools alike (`Read`, `read_file`, `read`), and so do file servers over MCP; the names of the
arguments differ more. A search or a listing touches no file unless it was pointed at one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text
from fazm_memory.capture.agents.tool_call import MOST_FILES, touch

PATH_NAMES = (
    "file_path", "filePath", "absolute_path", "notebook_path", "target_file", "filename", "file", "path",
    "uri",
)  # fmt: skip
MANY_NAMES = ("paths", "file_paths", "files", "include")
MOVE_FROM = ("source", "old_path", "oldPath", "from", "src", "source_path", "old_name", "oldName", "old")
MOVE_TO = ("destination", "new_path", "newPath", "to", "dst", "dest", "destination_path", "target", "new")
NEW_NAME = ("new_name", "newName")  # within the folder where the file is

READ = frozenset(
    {
        "read", "notebookread", "readnotebook", "readfile", "viewfile", "view", "readtextfile",
        "readmediafile", "readmultiplefiles", "readmanyfiles", "viewimage",
    }
)  # fmt: skip
WRITE = frozenset({"write", "writefile", "createfile", "savefile", "filewrite"})
EDIT = frozenset(
    {"edit", "multiedit", "notebookedit", "editnotebook", "editfile", "replace", "strreplace", "applydiff"}
)
MOVE = frozenset({"movefile", "renamefile"})
MAY_MOVE = frozenset({"move", "rename", "mv"})  # files, if what they were given looks like it
DELETE = frozenset({"deletefile", "removefile"})
SEARCH = frozenset({"grep", "searchfilecontent", "greptool"})

UNKNOWN_WHETHER_NEW = "it was not told whether the file was there before"


def touched(
    tool: str, given: Any, *, cwd: str, created: bool | None = None, home: str | None = None
) -> list[dict[str, Any]]:
    """The files a call of this tool touched if it went well. `created` says whether a written file is new."""
    name, arguments = bare(tool), mapping(given)
    if name in MOVE or name in MAY_MOVE:
        return _moved(arguments, cwd, home, plain=name in MAY_MOVE)
    paths = [_placed(path, cwd, home) for path in _paths(arguments)][:MOST_FILES]
    if name in READ:
        return [touch(path, "read") for path in paths]
    if name in WRITE:
        return [_written(path, created) for path in paths]
    if name in EDIT:
        # An edit that replaces nothing by something is how some agents create a file.
        change = "created" if created else "modified"
        return [touch(path, change) for path in paths]
    if name in DELETE:
        return [touch(path, "deleted") for path in paths]
    if name in SEARCH:
        # Only a name with an ending is plainly a file; a folder was searched, not read.
        return [touch(path, "read") for path in paths if posixpath.splitext(path)[1]]
    return []


def bare(tool: str) -> str:
    """`Read`, `read_file` and `mcp__filesystem__read_file` in one spelling.

    What other servers' tools do by these names is not ours to know.
    """
    if tool.startswith("mcp__"):
        _, server, *rest = tool.split("__")
        if not rest or not any(word in server.lower() for word in ("file", "fs", "desktop-commander")):
            return ""
        tool = rest[-1]
    return tool.replace("_", "").replace("-", "").lower()


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    one = next((text(arguments[name]) for name in PATH_NAMES if text(arguments.get(name)).strip()), "")
    if one:
        return [one]
    for name in MANY_NAMES:
        if many := [path for path in sequence(arguments.get(name)) if text(path).strip()]:
            return many
    return []


def _moved(arguments: Mapping[str, Any], cwd: str, home: str | None, *, plain: bool) -> list[dict[str, Any]]:
    origin = next((text(arguments[name]) for name in MOVE_FROM if text(arguments.get(name))), "")
    goal = next((text(arguments[name]) for name in MOVE_TO if text(arguments.get(name))), "")
    renamed = next((text(arguments[name]) for name in NEW_NAME if text(arguments.get(name))), "")
    if renamed:
        origin = origin or next(iter(_paths(arguments)), "")
        goal = goal or posixpath.join(posixpath.dirname(origin), renamed)
    if not origin or not goal or (plain and not all("/" in one or "." in one for one in (origin, goal))):
        return []
    return [touch(_placed(goal, cwd, home), "renamed", _placed(origin, cwd, home))]


def _written(path: str, created: bool | None) -> dict[str, Any]:
    if created is None:
        return touch(path, "modified") | {"inferred": True, "why": UNKNOWN_WHETHER_NEW}
    return touch(path, "created" if created else "modified")


def _placed(path: str, cwd: str, home: str | None) -> str:
    """A path that stands on its own, as far as the record tells where it started from."""
    path = path.strip().removeprefix("file://")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(cwd, path)) if path[:1] not in ("~", "") else path
