"""The page's POST routes, each a function of the memory and the body.

The user is the actor.

Also the decisions and open points of all sessions, with what the user says about them. Such a mark is
recorded in the session itself, as the user's word, so the next context has it.
"""

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
from fazm_memory.web.requests import JsonBody, NotHere, QueryParameters
from fazm_memory.web.settings import excluded

Write = Callable[..., Any]

SOURCE = "web"
SECOND = 1_000_000


def _session(memory: Memory, result: dict[str, Any]) -> dict[str, Any]:
    """The result of an operation, with the session as in the page's lists."""
    return {**result, **session_with_times(memory, memory.store.sessions.resolve(result["id"]))}


def _move(move: str) -> Write:
    def work(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
        return _session(memory, memory.sessions.move(id, move, reason=body.text("reason"), source=SOURCE))

    return work


def resume(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    session, briefing = memory.recall.resume(id, reason=body.text("reason"), source=SOURCE)
    return _session(memory, session) | {"resume": memory.recall.resume_offer(id, briefing.text)}


def fork(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    result = memory.rewind.fork(
        id, at=body.place("at"), title=body.text("title"), into=body.text("into"), source=SOURCE
    )
    return _session(memory, result)


def rewind(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    to = body.place("to")
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


ITEM_FIELDS = ("id", "text", "status", "note")


def artifacts(memory: Memory, body: JsonBody, id: str) -> dict[str, Any]:
    """Change, add (without an id) or remove items of an artifact."""
    changes, without = body.value("set") or [], body.value("remove") or []
    if not isinstance(changes, list) or not all(_is_item(change) for change in changes):
        raise InvalidInput(f"set must be a list of items with texts for {', '.join(ITEM_FIELDS)}.")
    if not isinstance(without, list) or not all(isinstance(item, str) for item in without):
        raise InvalidInput("remove must be a list of the ids of items.")
    if not changes and not without:
        raise InvalidInput("Either `set` or `remove` is required.")
    memory.sessions.edit_artifact(
        id, body.needed("name"), changes, without=without, version=body.number("version"), source=SOURCE
    )
    return {"artifacts": memory.history.state(id)["artifacts"]}


def _is_item(change: object) -> bool:
    return (
        isinstance(change, dict)
        and set(change) <= set(ITEM_FIELDS)
        and all(isinstance(value, str) for value in change.values())
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
    """Show a file in the file manager.

    Only paths in the log, so that a page cannot probe the disk.
    """
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
# -- decisions and open points ---------------------------------------------------------------------------

SESSIONS = 40  # sessions of a page
DONE = ("completed", "cancelled", "done")


def points(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    """The points of the latest sessions, newest first.

    `by`: only those of a person or an agent.
    """
    by = query.text("by")
    if by not in (None, "person", "agent"):
        raise InvalidInput(f'by must be person or agent, not "{by[:20]}".')
    page = memory.timeline.session_page(cursor=query.text("cursor"), limit=SESSIONS)
    items: list[dict[str, Any]] = []
    for session in page["items"]:
        about = {"session": session["id"], "title": session["title"], "lifecycle": session["lifecycle"],
                 "ended": session["ended"]}  # fmt: skip
        state = memory.history.state(session["id"], quarantined=False)
        found = [*_open(state), *_decisions(state)]
        items += [{**about, **point} for point in found if by is None or point["by"] == by]
    if query.text("cursor") is None and by != "person":
        known = {(item["session"], item["seq"]) for item in items if item["state"] == "open"}
        items += _of_handover(memory, known)
    return {"items": items, "next": page["next"]}


def _open(state: dict[str, Any]) -> list[dict[str, Any]]:
    handed = [asking for asking in state["open_questions"] if asking["to"] == "human"]
    pending = state["pending_actions"]
    known = {action["what"] for action in pending}
    todos = [item for item in state["todos"] if item["status"] not in DONE and item["text"] not in known]
    return [
        *(_point("asked", asking, asking["text"], None) for asking in state["questions"]),
        *(_point("question", asking, asking["note"], asking["id"]) for asking in handed),
        *(_point("pending", action, action["what"], action["id"]) for action in pending),
        *(_point("todo", item, item["text"], item["text"]) for item in todos),
    ]


def _point(kind: str, row: dict[str, Any], text: str, id: str | None) -> dict[str, Any]:
    """An open point of the agent. Steps of its list have no position and no time."""
    return {
        "kind": kind, "id": id, "text": text, "seq": row.get("seq"), "at": row.get("at"), "by": "agent",
        "state": "open",
    }  # fmt: skip


def _of_handover(memory: Memory, known: set[tuple[str, int | None]]) -> list[dict[str, Any]]:
    """The handover's open points that no session lists.

    For example files that are not committed.
    """
    titles: dict[str, dict[str, Any]] = {}
    found = []
    for item in (
        item for thread in memory.recall.present_context(None).data["threads"] for item in thread["open"]
    ):
        session, seq = item["session"], item["seq"]
        if session is None or (session, seq) in known:
            continue
        about = titles.setdefault(session, memory.sessions.get(session))
        found.append({"session": session, "title": about["title"], "lifecycle": about["lifecycle"],
                      "ended": about["ended"], "kind": "handover", "id": item["id"], "text": item["text"],
                      "seq": seq, "at": item["at"], "by": "agent", "state": "open"})  # fmt: skip
    return found


def _decisions(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"kind": "decision", "id": None, "text": decision["what"], "why": decision["why"],
         "question": decision.get("question"), "seq": decision["seq"], "at": decision["at"],
         "by": "person" if decision["actor"] == "person" else "agent",
         "state": "holds" if decision["superseded_by"] is None else "superseded",
         "superseded_by": decision["superseded_by"]}
        for decision in reversed(state["decisions_made"])
    ]  # fmt: skip


def mark(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Mark a point as done, no longer valid or wrong.

    Only what is wrong needs a text.
    """
    session, kind, verdict = body.needed("session"), body.needed("kind"), body.needed("mark")
    text, said = body.text("text"), body.text("said")
    append = memory.sessions.append
    if kind == "decision" and verdict in ("superseded", "wrong"):
        seq = body.number("seq")
        if seq is None:
            raise InvalidInput("seq is required: the position of the decision.")
        what = said or (None if verdict == "wrong" else f"No longer: {text}")
        if what is None:
            raise InvalidInput("said is required: what is right instead.")
        why = f"The user called this {'wrong' if verdict == 'wrong' else 'superseded'}: {text}"
        return append(session, "decision", source=SOURCE, what=what, why=why, replaces=seq)
    if kind == "pending" and verdict == "done":
        return append(session, "pending.done", source=SOURCE, id=body.needed("id"))
    if kind == "todo" and verdict == "done":
        state = memory.history.state(session)
        items = [{**item, "status": "completed"} if item["text"] == body.needed("id") else item
                 for item in state["todos"]]  # fmt: skip
        return append(session, "todos", source=SOURCE, items=items)
    if kind == "handover" and verdict == "done":
        memory.recall.choose_item(body.needed("id"), "exclude")
        return {"id": body.needed("id")}
    if kind == "asked" and verdict in ("done", "superseded"):
        what = said or ("done" if verdict == "done" else "no longer needed")
        return append(session, "decision", source=SOURCE, what=what, form="answer", question=text)
    raise InvalidInput(f'A {kind[:20]} cannot be marked "{verdict[:20]}".')


MOVES = ("pause", "close", "archive", "restore")
ROUTES: dict[str, Write] = {
    **{f"{SESSION}/{move}": _move(move) for move in MOVES},
    f"{SESSION}/resume": resume,
    f"{SESSION}/fork": fork,
    f"{SESSION}/rewind": rewind,
    f"{SESSION}/undo": undo,
    f"{SESSION}/handoff": handoff,
    f"{SESSION}/answer": answer,
    f"{SESSION}/quarantine": quarantine,
    f"{SESSION}/artifacts": artifacts,
    f"{SESSION}/pin": pin,
    "context/choice": choose,
    "forget": forget,
    "recording": recording,
    "exclusions": exclusions,
    "reveal": reveal,
    "export": export,
    "points": mark,
}
READS = {"points": points}
WRITING = frozenset(READS)  # the handover may first update the index
