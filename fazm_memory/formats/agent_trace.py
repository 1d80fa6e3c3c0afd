"""Who wrote which lines: a session's files as an Agent Trace record (agent-trace.dev, 0.1.0).

Every stored version of a file names who made it. Lines that a version added or changed belong to its maker.
Lines that stood there before the first known change belong to nobody here and are left out.
"""

from __future__ import annotations

import hashlib
import posixpath
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from fazm_memory import __version__
from fazm_memory.clock import to_datetime
from fazm_memory.formats.conversation import Conversation
from fazm_memory.formats.otel import provider_of
from fazm_memory.store import FileVersion

SPECIFICATION = "0.1.0"
MOST_LINES = 20_000  # of a file; comparing longer ones takes too long
CONTRIBUTORS = {"agent": "ai", "person": "human"}
PROVIDERS = {"gcp.gemini": "google", "x_ai": "xai", "mistral_ai": "mistral"}  # as models.dev names them

Owner = tuple[str, str]  # contributor type, and the session of an agent


def to_agent_trace(
    talk: Conversation, versions: Iterable[FileVersion], read: Callable[[str], bytes | None]
) -> dict[str, Any]:
    """The record of a session. `versions` are those of its files, `read` returns a stored content."""
    files, left_out = [], 0
    histories = _histories(versions)
    for path, history in sorted(histories.items()):
        relative = posixpath.relpath(path, talk.workspace) if talk.workspace else path
        owners = None if relative.startswith("..") else line_owners(history, read)
        if owners is None:
            left_out += 1
        elif conversations := list(_conversations(talk, *owners)):
            files.append({"path": relative, "conversations": conversations})
    commits = [row["hash"] for row in talk.state.get("commits") or () if row.get("hash")]
    moment = to_datetime(talk.last_at).astimezone(UTC)
    return {
        "version": SPECIFICATION,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"fazm-memory://sessions/{talk.id}")),
        "timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}Z",
        **({"vcs": {"type": "git", "revision": commits[-1]}} if commits else {}),
        "tool": {"name": "fazm-memory", "version": __version__},
        "files": files,
        "metadata": {"fazm_memory": {"session": talk.id, "agent": talk.agent, "files_left_out": left_out}},
    }


def _histories(versions: Iterable[FileVersion]) -> dict[str, list[FileVersion]]:
    """The versions of each file. A file in two watched folders is taken from the longer history."""
    found: dict[str, list[FileVersion]] = {}
    for (root, path), own in groupby(versions, lambda version: (version.root, version.path)):
        place, history = posixpath.join(root, path), list(own)
        if len(history) > len(found.get(place, ())):
            found[place] = history
    return found


def line_owners(
    history: list[FileVersion], read: Callable[[str], bytes | None]
) -> tuple[list[str], list[Owner | None]] | None:
    """The lines of the last version and who wrote each; None if it is no text or has no content."""
    lines: list[str] = []
    owners: list[Owner | None] = []
    for number, version in enumerate(history):
        data = b"" if version.absent else read(version.digest) if version.digest is not None else None
        if data is None or b"\0" in data:
            return None
        new = data.decode("utf-8", "replace").splitlines()
        if len(new) > MOST_LINES:
            return None
        first = number == 0 and version.changed_by is None and not version.absent
        owner = None if first else _owner(version)
        owners = [one for _, one in _merged(lines, owners, new, owner)]
        lines = new
    return (lines, owners) if lines else None


def _owner(version: FileVersion) -> Owner:
    kind = CONTRIBUTORS.get(version.changed_by or "", "unknown")
    return (kind, version.session or "") if kind == "ai" else (kind, "")


def _merged(
    old: list[str], owners: list[Owner | None], new: list[str], owner: Owner | None
) -> Iterator[tuple[str, Owner | None]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, low, high, begin, end in matcher.get_opcodes():
        same = owners[low:high] if tag == "equal" else [owner] * (end - begin)
        yield from zip(new[begin:end], same, strict=True)


def _conversations(
    talk: Conversation, lines: list[str], owners: list[Owner | None]
) -> Iterator[dict[str, Any]]:
    """The ranges of each contributor, this session's first."""
    ranges: dict[Owner, list[dict[str, Any]]] = {}
    place = 0
    for owner, run in groupby(owners):
        length = len(list(run))
        if owner is not None:
            text = "\n".join(lines[place : place + length])
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            ranges.setdefault(owner, []).append(
                {"start_line": place + 1, "end_line": place + length, "content_hash": f"sha256:{digest}"}
            )
        place += length
    for owner in sorted(ranges, key=lambda one: (one[1] != talk.id, one)):
        contributor = {"type": owner[0]}
        model = talk.models[-1] if owner[1] == talk.id and talk.models else ""
        if name := _model_id(model):
            contributor["model_id"] = name
        link = {"url": f"fazm-memory://sessions/{owner[1]}/events"} if owner[1] else {}
        yield {**link, "contributor": contributor, "ranges": ranges[owner]}


def _model_id(model: str) -> str:
    """The model as models.dev names it: with its provider, if that is known."""
    provider = provider_of(model)
    if not model or provider is None or "/" in model:
        return model[:250]
    return f"{PROVIDERS.get(provider, provider)}/{model}"[:250]
