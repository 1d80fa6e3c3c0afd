"""The exports: the rendered files from which hooks answer, and which people and agents may read.

`context/context.md` is for the whole machine, one named by its digest for each folder, one for each session
that may be taken up again. `capture/hook.py` finds them by the same names without importing us. What is not
written again is removed, so that a forgotten thing does not live on in an old file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from fazm_memory.private import private_folder, write_private
from fazm_memory.recall.context_file import Context

FOLDER = "context"
RESUME = "resume-"
FOLDERS = 20  # latest folders that have a file of their own; in others the nearest above answers
SESSIONS = 20  # latest sessions whose news are kept ready


def digest_name(name: str) -> str:
    """A file name that no path can escape from."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def file_name(workspace: str | None) -> str:
    """The name of a workspace's context file, without its ending."""
    return "context" if workspace is None else digest_name(workspace)


def write(home: Path, workspace: str | None, context: Context) -> Path:
    """Keep the context in its two files, each replaced at once; the path of the text."""
    folder = private_folder(home / FOLDER)
    name = file_name(workspace)
    told = json.dumps(context.data, ensure_ascii=False, indent=1).encode("utf-8", "replace")
    write_private(folder / f"{name}.json", told, sync=False)
    path = folder / f"{name}.md"
    write_private(path, context.text.encode("utf-8", "replace"), sync=False)
    return path


def naming(home: Path, item: str) -> list[str | None]:
    """The folders whose context has an item, given or left out; None is the whole machine."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        try:
            told = json.loads(path.read_bytes())
        except FileNotFoundError:  # another process has just written them all anew
            continue
        except ValueError:  # they are not synced: a power cut may leave one empty until it is written again
            continue
        if any(one["id"] == item for one in told["items"]):
            found.append(told["workspace"])
    return found


def write_news(home: Path, agent_session_id: str, text: str) -> Path:
    """Keep what a session is told when its agent takes it up again."""
    path = private_folder(home / FOLDER) / f"{RESUME}{digest_name(agent_session_id)}.md"
    write_private(path, text.encode("utf-8", "replace"), sync=False)
    return path


def keep_only(home: Path, written: Iterable[Path]) -> None:
    """Remove every export but these."""
    kept = {path.stem for path in written}
    for path in (home / FOLDER).glob("*"):
        if path.suffix in (".md", ".json") and path.stem not in kept:
            path.unlink(missing_ok=True)
