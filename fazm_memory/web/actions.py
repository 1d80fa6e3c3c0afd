"""The page's POST routes, each a function of the memory and the body. The user is the actor."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fazm_memory.app import Memory, session_with_times
from fazm_memory.clock import to_datetime
from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.paths import private_folder
from fazm_memory.web.reading import choose
from fazm_memory.web.requests import JsonBody, NotHere
from fazm_memory.web.settings import excluded

Write = Callable[..., Any]

SOURCE = "web"
SECOND = 1_000_000


def _session(memory: Memory, result: dict[str, Any]) -> dict[str, Any]:
    """The result of an operation, with the session as in the page's lists."""
    return {**result, **session_with_times(memory, memory.store.sessions.resolve(result["id"]))}


def _move(move: str) -> Write:
    def work(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
        result = _session(memory, memory.sessions.move(id, move, reason=body.text("reason"), source=SOURCE))
        if move == "resume":
            result["resume"] = memory.recall.resume_offer(result["id"])
        return result

    return work


def fork(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    result = memory.rewind.fork(
        id, at=body.number("at"), title=body.text("title"), into=body.text("into"), source=SOURCE
    )
    return _session(memory, result)


def rewind(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    to = body.number("to")
    if to is None:
        raise InvalidInput("`to` is required: the position to go back to.")
    result = memory.rewind.apply(
        id, to, files=body.flag("files"), force=body.flag("force"), reason=body.text("reason"), source=SOURCE,
        expected_seq=body.number("expected_seq"), plan=body.text("plan"),
    )  # fmt: skip
    return _session(memory, result)


def undo(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    return memory.rewind.undo(id, force=body.flag("force"), source=SOURCE)


def handoff(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    schema = body.value("answer_schema")
    if schema is not None and not isinstance(schema, dict):
        raise InvalidInput("answer_schema must be a JSON object.")
    to = body.text("to") or "human"
    result = memory.sessions.handoff(id, to=to, note=body.needed("note"), answer_schema=schema, source=SOURCE)
    return _session(memory, result)


def answer(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    result = memory.sessions.answer(
        id, body.needed("question"), body.value("answer"), waived=body.flag("waived"), source=SOURCE
    )
    return _session(memory, result)


def quarantine(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    return memory.maintenance.quarantine(
        id,
        seq=body.number("seq"),
        lift=body.flag("lift"),
        words_only=body.flag("words_only"),
        reason=body.text("reason"),
        source=SOURCE,
    )


def pin(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    """Pin the content of an event in the context."""
    seq = body.number("seq")
    if seq is None:
        raise InvalidInput("`seq` is required: the event to pin.")
    item = memory.timeline.event_details(id, seq)["context_item"]
    if item is None:
        raise InvalidInput(
            "This event cannot be pinned.",
            hint="Decisions, facts, open questions, pending actions and failures can be pinned.",
        )
    choice = "pin" if body.flag("pinned", True) else None
    memory.recall.choose_item(item, choice)
    return {"item": item, "choice": choice or "auto"}


def forget(memory: Memory, body: JsonBody) -> dict[str, Any]:
    seqs = body.value("seqs")
    if seqs is not None and not (
        isinstance(seqs, list) and all(type(seq) is int and seq >= 0 for seq in seqs) and seqs
    ):
        raise InvalidInput("seqs must be a list of positions.")
    return memory.maintenance.forget(
        body.text("session"), since=body.moment("since"), until=body.moment("until"), seqs=seqs,
        dry_run=body.flag("dry_run", True), source=SOURCE,
    )  # fmt: skip


def recording(memory: Memory, body: JsonBody) -> dict[str, Any]:
    if body.values.get("resume") is True:
        return memory.recording.resume()
    if "pause" not in body.values:
        raise InvalidInput("Either `pause` (seconds or null) or `resume` is required.")
    seconds = body.number("pause")
    return memory.recording.pause(None if seconds is None else seconds * SECOND)


def exclusions(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Add or remove an excluded app or folder."""
    verbs = (
        ("add", memory.recording.exclude_app, memory.recording.exclude_folder),
        ("remove", memory.recording.include_app, memory.recording.include_folder),
    )
    for verb, app, folder in verbs:
        entry = body.value(verb)
        if not isinstance(entry, dict):
            continue
        if entry.get("folder"):
            folder(JsonBody(entry).needed("folder"))
        else:
            app(JsonBody(entry).needed("app"))
        return excluded(memory)
    raise InvalidInput("`add` or `remove` is required.", hint='For example {"add": {"app": "Mail"}}.')


def reveal(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Show a file in the file manager. Only paths in the log, so that a page cannot probe the disk."""
    path = body.needed("path")
    if not _known(memory, path, body.text("session"), body.number("seq")):
        raise NotFound(f'The log does not contain "{path[:200]}".', hint="Give its session and event.")
    shown = Path(path)
    while not shown.exists() and shown != shown.parent:
        shown = shown.parent
    if sys.platform == "darwin":
        command = ["open", "-R", str(shown)]
    else:
        command = ["xdg-open", str(shown if shown.is_dir() else shown.parent)]
    try:
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise NotHere(
            f"{command[0]} cannot be started: {error.strerror}.", hint=f"The file is at {shown}."
        ) from None
    return {"revealed": str(shown)}


def _known(memory: Memory, path: str, session: str | None, seq: int | None) -> bool:
    if not path.startswith("/"):
        return False
    if session is None:
        return path in memory.timeline.filter_choices()["workspaces"]
    row = memory.store.sessions.resolve(session)
    if path == row.workspace:
        return True
    if seq is not None:
        files = memory.timeline.event_details(row.id, seq)["files"]
        return any(path in (file["path"], file["from"]) for file in files)
    return any(path == file["path"] for file in memory.history.state(row.id)["files_modified"])


def export(memory: Memory, body: JsonBody) -> dict[str, Any]:
    session = memory.sessions.get(body.needed("session"))["id"]
    folder = private_folder(private_folder(memory.config.home) / "exports")
    path = folder / f"{session[:12]}-{to_datetime(memory.now()):%Y-%m-%dT%H%M%S}.fazm"
    result = memory.bundles.export(session, path)
    return {**result, "path": str(path)}


SESSION = "sessions/{id}"
MOVES = ("pause", "resume", "close", "archive", "restore")
ROUTES: dict[str, Write] = {
    **{f"{SESSION}/{move}": _move(move) for move in MOVES},
    f"{SESSION}/fork": fork,
    f"{SESSION}/rewind": rewind,
    f"{SESSION}/undo": undo,
    f"{SESSION}/handoff": handoff,
    f"{SESSION}/answer": answer,
    f"{SESSION}/quarantine": quarantine,
    f"{SESSION}/pin": pin,
    "context/choice": choose,
    "forget": forget,
    "recording": recording,
    "exclusions": exclusions,
    "reveal": reveal,
    "export": export,
}
