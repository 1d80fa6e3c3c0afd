"""What a folder held when the agent looked: listings that are clear enough to be believed.

A file that was listed and then left alone was skipped, which is worth remembering; so a listing is told only
when the command is plainly one and nothing else was printed.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable
from typing import Any

MOST = 1000
# A pipe, a list, a redirection or an expansion outside quotes: the output may be anything.
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
UNCLEAR = re.compile(r"[|;&<>$`(){}*?\n\\]|\[")
LONG_FORMAT = re.compile(r"[-bcdlps][-rwxsStTl]{9}[@+.]?\s+\d+\s+\S+\s+\S+\s+[\d,]+\s+\S+\s+\S+\s+\S+\s(.+)")
LS_FLAGS = frozenset("1aAlhtrSpF")
FIND_TAKES_VALUE = frozenset(
    {"-type", "-name", "-iname", "-maxdepth", "-mindepth", "-path", "-size", "-mtime"}
)


def listed_by_command(command: str, output: str, cwd: str, home: str | None = None) -> list[dict[str, Any]]:
    """The folders a successful `ls` or `find` showed, as `seen` payloads; nothing when in doubt."""
    if UNCLEAR.search(QUOTED.sub("", command)) or not output.strip():
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if any(word.startswith("~") for word in words):
        if home is None:
            return []
        words = [home + word[1:] if word == "~" or word.startswith("~/") else word for word in words]
    if words[:1] == ["ls"]:
        return _ls(words[1:], output, cwd)
    if words[:1] == ["find"]:
        return _find(words[1:], output, cwd)
    if words in (["rg", "--files"], ["git", "ls-files"]):
        return listed_paths(output.splitlines(), cwd)
    return []


def listed_paths(paths: Iterable[str], cwd: str) -> list[dict[str, Any]]:
    """Paths one by one, told folder by folder."""
    folders: dict[str, list[str]] = {}
    for number, path in enumerate(paths):
        if number >= MOST:
            break
        whole = posixpath.normpath(posixpath.join(cwd, path.strip()))
        if path.strip() and not path.endswith("/"):
            folders.setdefault(posixpath.dirname(whole), []).append(posixpath.basename(whole))
    return [{"folder": folder, "files": files} for folder, files in folders.items() if folder[:1] == "/"]


def listed_names(folder: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """The names in one folder; those that end in a slash are folders themselves."""
    files = [name for name in names if name and not name.endswith("/") and name not in (".", "..")]
    if not files or not folder.startswith("/"):
        return []  # where a folder is that has no root, nobody could tell later
    seen: dict[str, Any] = {"folder": folder, "files": files[:MOST]}
    return [seen | {"total": len(files)} if len(files) > MOST else seen]


def _ls(words: list[str], output: str, cwd: str) -> list[dict[str, Any]]:
    flags = "".join(word[1:] for word in words if word.startswith("-"))
    folders = [word for word in words if not word.startswith("-")]
    if not set(flags) <= LS_FLAGS or len(folders) > 1:
        return []
    folder = posixpath.normpath(posixpath.join(cwd, *folders))
    lines = output.splitlines()
    if "l" in flags:
        lines = [_long_name(line) for line in lines]
    elif folders and lines == folders:
        return []  # `ls FILE` answers with the file itself
    if "F" in flags:
        lines = [line.rstrip("*@|=") for line in lines]
    return listed_names(folder, lines)


def _long_name(line: str) -> str:
    found = LONG_FORMAT.fullmatch(line)
    if found is None:
        return ""
    name = found.group(1).split(" -> ")[0]
    return f"{name}/" if line.startswith("d") else name


def _find(words: list[str], output: str, cwd: str) -> list[dict[str, Any]]:
    rest = iter(words)
    kind = ""
    for word in rest:
        if word in FIND_TAKES_VALUE:
            value = next(rest, "")
            kind = value if word == "-type" else kind
        elif word.startswith("-"):
            return []  # -delete, -exec, -print0, …: not a plain listing
    return listed_paths(output.splitlines(), cwd) if kind == "f" else []
