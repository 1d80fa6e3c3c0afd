"""Machines with homes of their own, a session to move between them, and what a forger can do to a bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from fazm_memory.app.memory import Memory
from fazm_memory.bundle import exporter
from fazm_memory.bundle.exporter import BundleFile
from fazm_memory.config import Config
from fazm_memory.store.file_versions import FileVersions
from tests.scribe import T0

NOW = T0 + 10_000_000


class Machine(Protocol):
    def __call__(self, name: str, now: Callable[[], int] = ...) -> Memory: ...


@contextmanager
def machines(folder: Path) -> Iterator[Machine]:
    """A machine with a home of that name, and a store of its own."""
    made: list[Memory] = []

    def make(name: str, now: Callable[[], int] = lambda: NOW) -> Memory:
        config = Config(home=folder / f"store-{name}", user_home=Path(f"/home/{name}"), key="file")
        made.append(Memory(config, now))
        return made[-1]

    yield make
    for one in made:
        one.close()


def filing(memory: Memory, user: str) -> str:
    work = f"/home/{user}/Documents"
    session = memory.sessions.open("fazm", key="abc", workspace=work, title="Invoices")["id"]
    memory.sessions.append(session, "prompt", text=f"file {work}/in please ⌂ and ⌂~ too")
    memory.sessions.append(session, "action", tool="Bash", input={"command": f"mv {work}/a.pdf {work}/b.pdf"},
                files=[{"path": f"{work}/b.pdf", "change": "renamed", "from": f"{work}/a.pdf"}])  # fmt: skip
    memory.sessions.append(session, "decision", what="by date", why="they are found so")
    memory.sessions.append(
        session, "fact", key="invoices", value={f"/home/{user}": [f"file:///home/{user}/x"]}
    )
    keep(memory, work, "a.pdf", b"first", 0o750)
    keep(memory, work, "b.pdf", b"second")
    return str(session)


def keep(memory: Memory, root: str, path: str, content: bytes, mode: int | None = None) -> None:
    versions = FileVersions(memory.config.home, memory.store.keys.database)
    versions.keep(root, path, T0, content, mode=mode)
    versions.close()


def kept(memory: Memory, root: str, path: str) -> bytes | None:
    versions = FileVersions(memory.config.home, memory.store.keys.database)
    try:
        last = versions.last(root, path)
        return None if last is None or last.digest is None else versions.read(last.digest)
    finally:
        versions.close()


def kept_mode(memory: Memory, root: str, path: str) -> int | None:
    versions = FileVersions(memory.config.home, memory.store.keys.database)
    try:
        last = versions.last(root, path)
        return None if last is None else last.mode
    finally:
        versions.close()


def lines_of(path: Path) -> list[dict[str, Any]]:
    file = BundleFile(path, None)
    try:
        return list(file.lines())
    finally:
        file.close()


def rewrite(path: Path, lines: list[dict[str, Any]]) -> None:
    """A bundle whose end vouches for what it holds now: a forger can do that."""
    running = hashlib.sha256()
    counts = {"sessions": 0, "events": 0, "versions": 0}
    for line in lines:
        counts[f"{next(iter(line))}s"] = counts.get(f"{next(iter(line))}s", 0) + 1
        text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        running.update(text.encode() + b"\n")
    path.unlink(missing_ok=True)
    exporter.write_bundle(path, [*lines, {"end": counts, "sha256": running.hexdigest()}], None)


def forge(memory: Memory, session: str, path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    memory.bundles.export(session, path)
    lines = lines_of(path)[:-1]
    for line in lines:
        edit(line)
    rewrite(path, lines)


def on(what: str, of: str | None = None, **values: Any) -> Callable[[dict[str, Any]], None]:
    def edit(line: dict[str, Any]) -> None:
        if what in line and (of is None or line[what].get("kind") == of):
            line[what].update(values)

    return edit
