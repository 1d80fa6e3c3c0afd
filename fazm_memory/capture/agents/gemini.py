"""Gemini CLI: one file of records per session, in which a message is written again whenever it has grown.

`~/.gemini/tmp/<project>/chats/session-*.jsonl`, and `chats/<session>/<id>.jsonl` for its subagents. A header,
`$set` patches of the metadata, and messages; of several with one id the last holds. Verified against what
Gemini CLI 0.61.0 wrote when it was run and against its source. Files of the older `.json` kind are not read.

Keys. A message is `gemini:<session>:<message id>`, its n-th call `gemini:<session>:<message id>:<n>`: a call
is written when it has its result, and never moves. Hooks know neither id, so a call that a hook also tells
must be recognised by its input and its time.

A turn that is given up is taken out of the history by `$set`; it happened all the same and is not untold.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fazm_memory.capture.agents.fields import ident, record_of
from fazm_memory.capture.agents.gemini_chat import NAME, Chat
from fazm_memory.capture.agents.reader import CHUNK, Chunk, Cursor, Places, RecordFile, complete_lines

HEADER = 4 << 10
ROOT_MARK = ".project_root"  # beside `chats`: the folder the project is


class Gemini:
    """Reads chats; `home` is where `~` points in the commands they hold."""

    name = NAME

    def __init__(self, home: str | None = None) -> None:
        self.home = home
        self._sessions: dict[Path, str] = {}  # a chat never changes its session: looked up once

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = places.home / ".gemini" / "tmp"
        main = sorted(root.glob("*/chats/session-*.jsonl"), key=lambda path: path.name)
        for path in [*main, *sorted(root.glob("*/chats/*/*.jsonl"))]:
            try:
                stat = path.stat()
                session = path.parent.name if path.parent.name != "chats" else self._session(path)
            except FileNotFoundError:
                continue  # Gemini removes sessions in which nothing was said
            yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session(self, path: Path) -> str:
        """The session's id, which the name of its file holds only in part."""
        if path not in self._sessions:
            try:
                with path.open("rb") as file:
                    header = record_of(file.readline(HEADER)) or {}
            except OSError:
                header = {}  # reading it will tell what is wrong
            if not (session := ident(header.get("sessionId"))):
                return path.stem
            self._sessions[path] = session
        return self._sessions[path]

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        lines = complete_lines(record.path, cursor.offset, limit)
        chat = Chat(record.session, _project(record.path), cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            if (taken := record_of(line)) is not None:
                chat.take(taken)
            elif line.strip():
                bad += 1
        if not lines.more:
            chat.finish()
        after = Cursor(lines.offset, chat.carry())
        return Chunk(tuple(chat.drafts), after, lines.more, chat.unknown, bad)


def _project(path: Path) -> str:
    """The project's folder, as Gemini noted it beside the chats; empty when it did not."""
    chats = path.parent if path.parent.name == "chats" else path.parent.parent
    try:
        return (chats.parent / ROOT_MARK).read_text(encoding="utf-8", errors="replace").strip()[:4096]
    except OSError:
        return ""
