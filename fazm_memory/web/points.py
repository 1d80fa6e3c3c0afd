"""Decisions and open points of all sessions, and what the user says about them.

A mark is recorded in the session itself, as the user's word: the next context tells it.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.app import Memory
from fazm_memory.errors import InvalidInput
from fazm_memory.web.requests import JsonBody, QueryParameters

SOURCE = "web"
SESSIONS = 40  # sessions of a page
DONE = ("completed", "cancelled", "done")


def points(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    """The points of the latest sessions, newest first. `by`: only those of a person or an agent."""
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
    """What the handover calls open and no session lists, such as files that are not committed."""
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
    """Say of a point that it is done, no longer holds or was wrong. Only what is wrong needs a text."""
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


READS = {"points": points}
WRITING = frozenset(READS)  # the handover may first update the index
WRITES = {"points": mark}
