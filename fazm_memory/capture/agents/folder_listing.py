"""What a folder held when the agent looked: listings that are clear enough to be believed.

A file that was listed and then left alone was skipped, which is worth remembering; so a listing is told only
when the command is plainly one and nothing else was printed.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MOST = 1000
# A pipe, a list, a redirection or an expansion outside quotes: the output may be anything.
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
UNCLEAR = re.compile(r"[|;&<>$`(){}*?\n\\]|\[")
LONG_FORMAT = re.compile(r"[-bcdlps][-rwxsStTl]{9}[@+.]?\s+\d+\s+\S+\s+\S+\s+[\d,]+\s+\S+\s+\S+\s+\S+\s(.+)")
LS_FLAGS = frozenset("1aAlhtrSpF")
# Around a listing, what leaves each line of it as it is; `head` and `tail` leave some out.
ENTERED = re.compile(r"cd ([^\s|;&<>$`(){}*?\\'\"~\[]+) && ")
TRIMMED = re.compile(r"\s*2>\s*/dev/null|\s*\|\s*(?:(head|tail)(?:\s+-n?\s*\d+)?|sort|cat)\s*$")
FIND_TAKES_VALUE = frozenset(
    {"-type", "-name", "-iname", "-maxdepth", "-mindepth", "-path", "-size", "-mtime"}
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What `ls` showed of one folder: names, with a slash if it is `marked` which are folders."""

    folder: str
    names: tuple[str, ...]
    marked: bool
    whole: bool = True


def shown_by_command(command: str, output: str, cwd: str, home: str | None = None) -> Shown | None:
    """The folder that a successful `ls` showed, or a part of it; None when in doubt."""
    whole, command = True, command.strip()
    if entered := ENTERED.match(command):
        cwd, command = posixpath.join(cwd, entered.group(1)), command[entered.end() :]
    while trimmed := TRIMMED.search(command):
        whole = whole and trimmed.group(1) is None
        command = command[: trimmed.start()] + command[trimmed.end() :]
    words = _words(command, home)
    shown = _ls(words[1:], output, cwd) if words[:1] == ["ls"] else None
    if shown is None or not shown.folder.startswith("/"):
        return None
    return Shown(shown.folder, shown.names, shown.marked, whole)


def listed_by_command(command: str, output: str, cwd: str, home: str | None = None) -> list[dict[str, Any]]:
    """The folders a successful `ls` or `find` showed, as `seen` payloads; nothing when in doubt."""
    words = _words(command, home) if output.strip() else []
    if words[:1] == ["ls"]:
        shown = _ls(words[1:], output, cwd)
        return [] if shown is None else listed_names(shown.folder, shown.names)
    if words[:1] == ["find"]:
        return _find(words[1:], output, cwd)
    if words in (["rg", "--files"], ["git", "ls-files"]):
        return listed_paths(output.splitlines(), cwd)
    return []


def _words(command: str, home: str | None) -> list[str]:
    """The words of a plain command; none when it is not plain."""
    if UNCLEAR.search(QUOTED.sub("", command)):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if any(word.startswith("~") for word in words):
        if home is None:
            return []
        words = [home + word[1:] if word == "~" or word.startswith("~/") else word for word in words]
    return words


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


def _ls(words: list[str], output: str, cwd: str) -> Shown | None:
    flags = "".join(word[1:] for word in words if word.startswith("-"))
    folders = [word for word in words if not word.startswith("-")]
    if not set(flags) <= LS_FLAGS or len(folders) > 1:
        return None
    folder = posixpath.normpath(posixpath.join(cwd, *folders))
    lines = output.splitlines()
    if "l" in flags:
        lines = [_long_name(line) for line in lines]
    elif folders and lines == folders:
        return None  # `ls FILE` answers with the file itself
    if "F" in flags:
        lines = [line.rstrip("*@|=") for line in lines]
    names = tuple(line for line in lines if line.rstrip("/") not in ("", ".", ".."))
    if any("/" in name.rstrip("/") for name in names):
        return None  # paths, not names: `ls -l FILE`
    return Shown(folder, names, marked=not {"l", "p", "F"}.isdisjoint(flags))


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
