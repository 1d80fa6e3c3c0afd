"""Where a forked transcript of Claude Code comes from, and where its own records begin.

A fork is a new file that starts with copies. Some versions say so in every copy (`forkedFrom`), older ones
left the old session's id in them, and 2.1.197 rewrites the id and says nothing: then only the transcript that
shares its first record tells. What is copied belongs to the parent, whose own file tells it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HEAD = 256 << 10
UUID = re.compile(rb'"uuid":"([0-9a-fA-F-]{36})"')
TIMESTAMP = re.compile(rb'"timestamp":"([^"\\]{1,40})"')
SESSION = re.compile(rb'"sessionId":"([^"\\]{1,100})"')
FORKED = re.compile(rb'"forkedFrom":\{"sessionId":"([^"\\]{1,100})"')
INHERITED = re.compile(rb'"parentUuid":"|"subtype":"compact_boundary"|"isCompactSummary":true')
# The name of a session's transcript; copies that people keep have other names.
SESSION_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Lineage:
    """The session a transcript was forked from, and the offset at which its own records begin."""

    parent: str
    begins: int


@dataclass(frozen=True)
class Head:
    """How a transcript begins. Transcripts only grow, so this stays true.

    `inherited` when it begins in the middle of something: after a compaction a fork copies only what is left.
    """

    uuid: bytes
    session: str
    since: bytes
    forked_from: str
    inherited: bool


@dataclass
class Forks:
    """Knows the heads of the transcripts it has met, so that each is looked at once."""

    heads: dict[Path, Head] = field(default_factory=dict)
    folders: dict[Path, tuple[int, dict[bytes, list[Path]]]] = field(default_factory=dict)

    def head(self, path: Path) -> Head | None:
        """How a transcript begins, or None while it has no record with an id."""
        if path not in self.heads:
            with path.open("rb") as file:
                start = file.read(HEAD)
            if (uuid := UUID.search(start)) is None:
                return None
            line = start[start.rfind(b"\n", 0, uuid.start()) + 1 :].split(b"\n", 1)[0]
            self.heads[path] = Head(
                uuid[1],
                _name(SESSION, line),
                _first(TIMESTAMP, start),
                _name(FORKED, line),
                INHERITED.search(line) is not None,
            )
        return self.heads[path]

    def lineage(self, path: Path) -> Lineage | None:
        """What a transcript was forked from, or None when it was not or nothing tells."""
        head = self.head(path)
        if head is None:
            return None
        if head.forked_from:
            return _said(path, lambda line: _name(FORKED, line))
        if head.session and head.session != path.stem:
            return _said(path, lambda line: _name(SESSION, line))
        elder = [other for other in self._alike(path, head) if self._since(other) < self._since(path)]
        shared = [_shared(path, other) for other in sorted(elder, key=self._since)]
        # Of several that share as much, the first to have it is the parent: max keeps the first.
        return max(shared, key=lambda one: one.begins, default=None)

    def _since(self, path: Path) -> tuple[bytes, float]:
        """Since when a transcript is there: a fork's first line is younger than the records it copied."""
        return self.heads[path].since, getattr(path.stat(), "st_birthtime", 0.0)

    def _alike(self, path: Path, head: Head) -> list[Path]:
        """The others in the folder that begin like this one or, if it is inherited, hold its first record."""
        beside = self._folder(path.parent)
        alike = beside.get(head.uuid, [])
        if head.inherited:
            others = (one for paths in beside.values() for one in paths if one not in alike)
            alike = [*alike, *(one for one in others if one != path and _holds(one, head))]
        return [one for one in alike if one != path]

    def _folder(self, folder: Path) -> dict[bytes, list[Path]]:
        """The transcripts of a folder by the id of their first record; listed anew when one came or went."""
        changed = folder.stat().st_mtime_ns
        known = self.folders.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        beside: dict[bytes, list[Path]] = {}
        for path in folder.glob("*.jsonl"):
            if SESSION_NAME.fullmatch(path.stem):
                try:
                    head = self.head(path)
                except OSError:
                    continue  # deleted or closed to us since it was listed: it tells nothing
                if head is not None:
                    beside.setdefault(head.uuid, []).append(path)
        self.folders[folder] = changed, beside
        return beside


def _holds(path: Path, head: Head) -> bool:
    wanted = b'"uuid":"%s"' % head.uuid
    try:
        with path.open("rb") as file:
            return any(wanted in line for line in file)
    except OSError:
        return False


def _said(path: Path, whose: Callable[[bytes], str]) -> Lineage:
    """The copies say whose they are. Without the parent's own transcript they are all that is left of it."""
    found = _copies(path, whose)
    known = SESSION_NAME.fullmatch(found.parent) and any(path.parent.parent.glob(f"*/{found.parent}.jsonl"))
    return found if known else Lineage(found.parent, 0)


def _shared(path: Path, elder: Path) -> Lineage:
    with elder.open("rb") as file:
        known = {uuid for line in file for uuid in UUID.findall(line)}
    return _copies(path, lambda line: "" if known.isdisjoint(UUID.findall(line)) else elder.stem)


def _copies(path: Path, whose: Callable[[bytes], str]) -> Lineage:
    """Whose the copies are, and the offset after the last: they stand in one run at the beginning."""
    parent, offset, begins = "", 0, 0
    with path.open("rb") as file:
        for line in file:
            offset += len(line)
            if not UUID.search(line):
                continue
            owner = whose(line)
            if owner in ("", path.stem) or not line.endswith(b"\n"):
                break
            parent, begins = owner, offset
    return Lineage(parent, begins)


def _first(pattern: re.Pattern[bytes], start: bytes) -> bytes:
    found = pattern.search(start)
    return found[1] if found else b""


def _name(pattern: re.Pattern[bytes], line: bytes) -> str:
    return _first(pattern, line).decode("utf-8", "replace")
