"""The files from which hooks read contexts, and what a context depends on.

Apart from `context`, because handing out a finished file must not load what makes one.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote as url_unquote

from fazm_memory.paths import CONTEXT_FOLDER, private_folder, read_regular, write_private
from fazm_memory.recall.quoting import neutral
from fazm_memory.records import dataclass
from fazm_memory.store import SessionRow, Store
from fazm_memory.text import plural

MAX_CANDIDATES = 40  # sessions
SHORT = 8  # characters of a session's id in the ids of its items
CHOICES_KEY = "context.choices"
MARK = "mark"  # in the JSON file: identifies the inputs and the text


def read_choices(store: Store) -> dict[str, str]:
    """`pin` or `exclude` by item id."""
    row = store.db.execute("SELECT value FROM meta WHERE key=?", (CHOICES_KEY,)).fetchone()
    return {} if row is None else dict(json.loads(row[0]))


def set_choice(store: Store, item: str, choice: str | None) -> dict[str, str]:
    """Pin or exclude an item, or undo that with None. Returns all choices."""
    with store.db.transaction():
        choices = read_choices(store)
        choices.pop(item, None)
        if choice is not None:
            choices[item] = choice
        store.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (CHOICES_KEY, json.dumps(choices)))
    return choices


def pinned_sessions(store: Store, workspace: str | None, pinned: Collection[str]) -> list[SessionRow]:
    """The sessions of pinned items in this workspace."""
    if not pinned:
        return []
    begins = {begin for id_ in pinned if len(begin := id_.partition(":")[0]) == SHORT}
    return store.quarantine_view.rows(store.sessions.in_workspace(workspace, limit=None, begins=begins))


def candidate_sessions(store: Store, workspace: str | None, pinned: Collection[str] = ()) -> list[SessionRow]:
    """The sessions for a digest, latest first, then those of pinned items."""
    rows = store.quarantine_view.rows(store.sessions.in_workspace(workspace, limit=MAX_CANDIDATES))
    known = {row.n for row in rows}
    return rows + [row for row in pinned_sessions(store, workspace, pinned) if row.n not in known]


RESUME = "resume-"
NOTE = "note-"
FOLDERS = "folders.tsv"
MAX_FOLDERS = 20  # latest folders with a file of their own; others use that of the nearest parent
MAX_SESSIONS = 20  # latest sessions with a file of news


def hashed_name(name: str) -> str:
    """A safe file name for any text."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def context_file_name(workspace: str | None) -> str:
    """The name of the context file of a workspace, without suffix."""
    return "context" if workspace is None else hashed_name(workspace)


@dataclass(frozen=True)
class WrittenContext:
    """A context as its files have it: the text a model reads, and the same as data."""

    text: str
    data: dict[str, Any]


def write_context(home: Path, workspace: str | None, context: WrittenContext, inputs: str = "") -> Path:
    """Write the context as text and JSON. Returns the path of the text.

    `inputs` stands for all that it was made of, so that `read_context` can tell whether it still holds.
    """
    folder = private_folder(home / CONTEXT_FOLDER)
    path, text = context_path(home, workspace), context.text.encode("utf-8", "replace")
    data = json.dumps({**context.data, MARK: _mark(inputs, text)}, ensure_ascii=False, indent=1)
    write_private(folder / f"{path.stem}.json", data.encode("utf-8", "replace"), sync=False)
    write_private(path, text, sync=False)
    return path


def read_context(home: Path, workspace: str | None, inputs: str) -> WrittenContext | None:
    """The written context, or None if it was made of other inputs."""
    path = context_path(home, workspace)
    try:
        text, data = read_regular(path), json.loads(read_regular(path.with_suffix(".json")))
        # The mark of both, because a power cut may leave the text of another time beside the data.
        return WrittenContext(text.decode(), data) if data.pop(MARK, "") == _mark(inputs, text) else None
    except (OSError, ValueError, AttributeError):  # missing, not synced before a power cut, or not ours
        return None


def _mark(inputs: str, text: bytes) -> str:
    return hashlib.sha256(inputs.encode("utf-8", "surrogatepass") + b"\0" + text).hexdigest()


def write_folders(home: Path, workspaces: Iterable[str | None]) -> Path:
    """Write the list by which the hook script finds the context of each folder.

    It also has the day on which they were rendered.

    A line has the day, the file and the folder, which is empty for the context of the machine.
    """
    lines = []
    for workspace in workspaces:
        path = context_path(home, workspace)
        if path.exists() and not (workspace is not None and re.search(r"[\t\r\n]", workspace)):
            day = time.strftime("%Y-%m-%d", time.localtime(path.stat().st_mtime))
            lines.append(f"{day}\t{path.name}\t{workspace or ''}\n")
    data, path = "".join(lines).encode("utf-8", "replace"), private_folder(home / CONTEXT_FOLDER) / FOLDERS
    if not path.exists() or read_regular(path) != data:
        write_private(path, data, sync=False)
    return path


def folders_with_item(home: Path, item: str) -> list[str | None]:
    """The workspaces whose context file has an item, included or not.

    None is the whole machine.
    """
    found = []
    for path in sorted((home / CONTEXT_FOLDER).glob("*.json")):
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:  # another process is replacing the files
            continue
        except ValueError:  # not synced: empty after a power cut
            continue
        if any(row["id"] == item for row in data["items"]):
            uri = data.get("workspace_uri")
            found.append(None if uri is None else url_unquote(uri.removeprefix("file://")))
    return found


def context_path(home: Path, workspace: str | None) -> Path:
    return home / CONTEXT_FOLDER / f"{context_file_name(workspace)}.md"


def news_path(home: Path, agent_session_id: str) -> Path:
    return home / CONTEXT_FOLDER / f"{RESUME}{hashed_name(agent_session_id)}.md"


def write_news(home: Path, agent_session_id: str, text: str) -> Path:
    """Write the news that a session gets when its agent resumes it."""
    private_folder(home / CONTEXT_FOLDER)
    path = news_path(home, agent_session_id)
    write_private(path, text.encode("utf-8", "replace"), sync=False)
    return path


def note_request(agent_session_id: str, steps: int) -> str:
    """The request that an agent leaves a note before it stops with open steps."""
    return (
        f"Fazm Memory: this session stops with {plural(steps, 'open step')}. The user asks that you leave"
        " a note for the next session now, once. Call the tool session_note of fazm-memory with"
        f' session="{neutral(agent_session_id)}", kind="handoff", to="agent" and, as text, at most 120 words:'
        " what is done, what is open and why, what to do next, what to mind. Then stop. Without that tool,"
        " just stop."
    )


def write_note_request(home: Path, agent_session_id: str, text: str) -> Path:
    """Write the request that a session gets when its agent stops."""
    path = private_folder(home / CONTEXT_FOLDER) / f"{NOTE}{hashed_name(agent_session_id)}.md"
    write_private(path, text.encode("utf-8", "replace"), sync=False)
    return path


def remove_other_exports(home: Path, written: Iterable[Path]) -> None:
    """Remove every export but these."""
    names = {path.stem for path in written}
    for path in (home / CONTEXT_FOLDER).glob("*"):
        if path.suffix in (".md", ".json", ".keys", ".tsv") and path.stem not in names:
            path.unlink(missing_ok=True)
