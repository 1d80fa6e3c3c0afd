"""What the page does: each POST as a function of the façade and its body. All is the user's own word."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.memory import Memory
from fazm_memory.model.clock import moment
from fazm_memory.private import private_folder
from fazm_memory.verbs.browsing import with_times
from fazm_memory.web.answers import NotHere
from fazm_memory.web.asked import Body
from fazm_memory.web.contexts import choose
from fazm_memory.web.settings import excluded

Write = Callable[..., Any]

SOURCE = "web"
SECOND = 1_000_000


def _session(memory: Memory, told: dict[str, Any]) -> dict[str, Any]:
    """What a verb answered, with the session as the page's lists have it."""
    return {**told, **with_times(memory.store.sessions.resolve(told["id"]))}


def _move(move: str) -> Write:
    def work(memory: Memory, body: Body, id: str) -> dict[str, Any]:
        told = _session(memory, memory.move(id, move, reason=body.text("reason"), source=SOURCE))
        if move == "resume":
            told["resume"] = memory.resume_offer(told["id"])
        return told

    return work


def fork(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    made = memory.fork(
        id, at=body.number("at"), title=body.text("title"), into=body.text("into"), source=SOURCE
    )
    return _session(memory, made)


def rewind(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    to = body.number("to")
    if to is None:
        raise InvalidInput("`to` is needed: the position to go back to")
    told = memory.rewind(
        id, to, files=body.flag("files"), force=body.flag("force"), reason=body.text("reason"), source=SOURCE,
        expected_seq=body.number("expected_seq"), plan=body.text("plan"),
    )  # fmt: skip
    return _session(memory, told)


def undo(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    return memory.undo_rewind(id, force=body.flag("force"), source=SOURCE)


def handoff(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    schema = body.value("answer_schema")
    if schema is not None and not isinstance(schema, dict):
        raise InvalidInput("answer_schema must be a JSON object")
    to = body.text("to") or "human"
    told = memory.handoff(id, to=to, note=body.needed("note"), answer_schema=schema, source=SOURCE)
    return _session(memory, told)


def answer(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    told = memory.answer(
        id, body.needed("question"), body.value("answer"), waived=body.flag("waived"), source=SOURCE
    )
    return _session(memory, told)


def quarantine(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    return memory.quarantine(
        id,
        seq=body.number("seq"),
        lift=body.flag("lift"),
        words_only=body.flag("words_only"),
        reason=body.text("reason"),
        source=SOURCE,
    )


def pin(memory: Memory, body: Body, id: str) -> dict[str, Any]:
    """Pin in the context what an event said, if a context can hold it."""
    seq = body.number("seq")
    if seq is None:
        raise InvalidInput("`seq` is needed: the event to pin")
    item = memory.event_details(id, seq)["context_item"]
    if item is None:
        raise InvalidInput(
            "a context holds no such thing",
            hint="decisions, facts, open questions, pending actions and failures can be pinned",
        )
    choice = "pin" if body.flag("pinned", True) else None
    memory.choose(item, choice)
    return {"item": item, "choice": choice or "auto"}


def forget(memory: Memory, body: Body) -> dict[str, Any]:
    seqs = body.value("seqs")
    if seqs is not None and not (
        isinstance(seqs, list) and all(type(one) is int and one >= 0 for one in seqs) and seqs
    ):
        raise InvalidInput("seqs must be a list of positions")
    return memory.forget(
        body.text("session"), since=body.moment("since"), until=body.moment("until"), seqs=seqs,
        dry_run=body.flag("dry_run", True), source=SOURCE,
    )  # fmt: skip


def recording(memory: Memory, body: Body) -> dict[str, Any]:
    if body.given.get("resume") is True:
        return memory.resume_recording()
    if "pause" not in body.given:
        raise InvalidInput("say pause, with seconds or null, or resume")
    seconds = body.number("pause")
    return memory.pause_recording(None if seconds is None else seconds * SECOND)


def exclusions(memory: Memory, body: Body) -> dict[str, Any]:
    """Add an app or a folder, or take it off its list."""
    verbs = (
        ("add", memory.exclude_app, memory.exclude_folder),
        ("remove", memory.include_app, memory.include_folder),
    )
    for way, app, folder in verbs:
        one = body.value(way)
        if not isinstance(one, dict):
            continue
        if one.get("folder"):
            folder(Body(one).needed("folder"))
        else:
            app(Body(one).needed("app"))
        return excluded(memory)
    raise InvalidInput("say what to add or remove", hint='such as {"add": {"app": "Mail"}}')


def reveal(memory: Memory, body: Body) -> dict[str, Any]:
    """Show a file in the file manager. Only what the log knows, so that a page cannot poke about the disk."""
    path = body.needed("path")
    if not _known(memory, path, body.text("session"), body.number("seq")):
        raise NotFound(
            f"the log does not know {path[:200]!r}", hint="give the session and the event it is of"
        )
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
        raise NotHere(f"{command[0]} cannot be started: {error.strerror}", hint=f"it is at {shown}") from None
    return {"revealed": str(shown)}


def _known(memory: Memory, path: str, session: str | None, seq: int | None) -> bool:
    if not path.startswith("/"):
        return False
    if session is None:
        return path in memory.choices_of_filters()["workspaces"]
    row = memory.store.sessions.resolve(session)
    if path == row.workspace:
        return True
    if seq is not None:
        return any(path in (one["path"], one["from"]) for one in memory.event_details(row.id, seq)["files"])
    return any(path == one["path"] for one in memory.state(row.id)["files_modified"])


def export(memory: Memory, body: Body) -> dict[str, Any]:
    session = memory.session(body.needed("session"))["id"]
    folder = private_folder(private_folder(memory.config.home) / "exports")
    path = folder / f"{session[:12]}-{moment(memory.now()):%Y-%m-%dT%H%M%S}.fazm"
    told = memory.export_bundle(session, path)
    return {**told, "path": str(path)}


ONE = "sessions/{id}"
MOVES = ("pause", "resume", "close", "archive", "restore")
ROUTES: dict[str, Write] = {
    **{f"{ONE}/{move}": _move(move) for move in MOVES},
    f"{ONE}/fork": fork,
    f"{ONE}/rewind": rewind,
    f"{ONE}/undo": undo,
    f"{ONE}/handoff": handoff,
    f"{ONE}/answer": answer,
    f"{ONE}/quarantine": quarantine,
    f"{ONE}/pin": pin,
    "context/choice": choose,
    "forget": forget,
    "recording": recording,
    "exclusions": exclusions,
    "reveal": reveal,
    "export": export,
}
