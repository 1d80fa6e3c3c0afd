"""The tools that open a session and move it through its life, branch it or rewind it."""

from __future__ import annotations

from typing import Any

from fazm_memory.mcp_server.handles import to_open, to_read, to_write
from fazm_memory.mcp_server.listing_tools import session_line
from fazm_memory.mcp_server.pages import room, tables_fitted
from fazm_memory.mcp_server.recording_tools import write
from fazm_memory.mcp_server.tool import (
    ANY_OBJECT,
    EXPECTED,
    MAYBE_STRING,
    OBJECTS,
    SESSION,
    SESSION_SHAPE,
    SOURCE,
    STRING,
    TOKENS,
    Caller,
    Told,
    Tool,
    flag,
    fresh,
    record,
    shape,
    text,
    whole,
)
from fazm_memory.model.counting import plural, they
from fazm_memory.recall.fence import quote

CONTEXT_TOKENS = 1000
REASON = text("Why, for whoever reads the log.", most=2000)
MOVED = shape({"session": SESSION_SHAPE, "briefing": STRING}, ("session",))
MAYBE_OBJECT: dict[str, Any] = {"type": ["object", "null"]}
SHOWN = 10  # files that a plan names in words; the data has more, and counts the rest in `left_out`
FIRST = frozenset({"files"})


def session_open(caller: Caller, given: dict[str, Any]) -> Told:
    """Open, and tell what happened before: an agent that calls nothing else starts with a memory."""
    memory = caller.memory
    agent = given.get("agent") or caller.agent
    # A key of the host's belongs to its own agent: another name would make a second session of it.
    key = given.get("key") or (caller.key if agent == caller.agent else None) or fresh(16)
    to_open(caller, agent, key)
    workspace = given.get("workspace") or caller.workspace
    made = memory.open_session(agent, key=key, workspace=workspace, title=given.get("title"), source=SOURCE)
    data: dict[str, Any] = {"session": made, "context": ""}
    if given.get("context", True):
        budget = given.get("context_tokens", CONTEXT_TOKENS)
        data["context"] = memory.context(workspace, budget=budget, besides=made["agent_session_id"]).text
    lines = [f"session {made['id']} is {made['lifecycle']}; pass this id as `session`"]
    if made["lifecycle"] in ("paused", "closed", "archived"):
        lines.append("it was put aside: call session_resume with it before you write to it")
    return Told(data, "\n".join([*lines, data["context"]]).rstrip())


def _move(caller: Caller, given: dict[str, Any], move: str) -> dict[str, Any]:
    reason = {"reason": given["reason"]} if "reason" in given else {}
    return caller.memory.session(write(caller, given, f"session.{move}", reason)["session"])


def session_pause(caller: Caller, given: dict[str, Any]) -> Told:
    made = _move(caller, given, "pause")
    return Told({"session": made}, f"session {made['id']} is paused; session_resume takes it up again")


def session_resume(caller: Caller, given: dict[str, Any]) -> Told:
    found = to_write(caller, given["session"])
    briefing = caller.memory.briefing(found["id"]).text
    # Not through `write`: only the façade's own verb refuses while a person still has to answer.
    made = caller.memory.move(found["id"], "resume", reason=given.get("reason"), source=SOURCE)
    return Told(
        {"session": made, "briefing": briefing}, f"session {made['id']} is resumed\n{briefing}".rstrip()
    )


def session_close(caller: Caller, given: dict[str, Any]) -> Told:
    made = _move(caller, given, "close")
    return Told(
        {"session": made}, f"session {made['id']} is closed with {plural(made['events'], 'event')} kept"
    )


def session_fork(caller: Caller, given: dict[str, Any]) -> Told:
    found = to_read(caller, given["session"])
    made = caller.memory.fork(
        found["id"], at=given.get("at"), title=given.get("title"), into=given.get("into"), source=SOURCE
    )
    folder, listed = made.pop("folder"), made.pop("manifest")
    data = {"session": made, "folder": folder, "manifest": listed}
    told = f"a branch of {found['id']} at {made['parent_seq']}: {session_line(made)}"
    if listed is not None:
        missing = listed["missing"]
        told += f"\n{they(listed['files'] - missing, 'file', 'are')} in {quote(folder)}; {missing} missing"
    return Told(data, told)


def session_rewind(caller: Caller, given: dict[str, Any]) -> Told:
    found = to_write(caller, given["session"])
    if given.get("dry_run"):
        plan = caller.memory.rewind_plan(found["id"], given["to"])
        lines = [
            f"{one['action']} {quote(one['path'])}: {quote(one['why'])}" for one in plan["files"][:SHOWN]
        ]
        lines += [
            f"{one['action']} the folder {quote(one['path'])}, empty then: {quote(one['why'])}"
            for one in plan["folders"][:SHOWN]
        ]
        head = f"a rewind to {given['to']} would touch {plural(len(plan['files']), 'file')}; nothing was done"
        shown, lost = tables_fitted(plan, room(TOKENS), leading=FIRST)
        return Told({"session": found, "plan": shown, "left_out": lost}, "\n".join([head, *lines]))
    made = caller.memory.rewind(
        found["id"],
        given["to"],
        files=given.get("files", False),
        force=given.get("force", False),
        reason=given.get("reason"),
        expected_seq=given.get("expected_seq"),
        plan=given.get("plan"),
        source=SOURCE,
    )
    files, undo = made.pop("files"), made.pop("undo")
    made.pop("finished", None)
    made.pop("folders", None)  # of the empty ones the plan tells
    done = sum(one["done"] for one in files)
    left = f"{they(len(files) - done, 'file', 'were')} left alone"
    told = f"{they(done, 'file', 'are')} as before, {left}" if files else "no file was touched"
    listed, lost = tables_fitted({"files": files}, room(TOKENS), leading=FIRST)
    return Told(
        {"session": made, **listed, "undo": undo, "left_out": lost},
        f"session {made['id']} stands at {given['to']} again; nothing was erased, and {told}",
    )


MOVES = record({"session": SESSION, "reason": REASON, "expected_seq": EXPECTED}, ("session",))

TOOLS = (
    Tool(
        "session_open",
        "Open a session",
        "Call this first, once, when you begin a task: it gives the handle that every other tool takes,"
        " and what happened before in this folder (context). With a `key` that is known already you get"
        " the same session again. Costs up to context_tokens (1000); context=false costs about 100."
        ' Example: {"workspace": "/Users/dana/Downloads", "title": "Tidy invoices"}',
        record(
            {
                "workspace": text("The folder you work in, absolute.", most=4096),
                "title": text("What it is about.", most=500),
                "agent": text("Your name; the client's own, when left out.", most=200),
                "key": text("Your own id of this conversation, if you have one.", most=200),
                "context": flag("Also return what happened before.", default=True),
                "context_tokens": whole("How much of it.", least=200, most=2400, default=CONTEXT_TOKENS),
            }
        ),
        shape(
            {"session": SESSION_SHAPE, "context": STRING},
            ("session", "context"),
        ),
        session_open,
    ),
    Tool(
        "session_pause",
        "Pause a session",
        "Call when you stop before the task is done, for example to wait for the user: the session is put"
        " aside, and nothing can be written to it until session_resume. Costs about 150 tokens."
        ' Example: {"session": "…", "reason": "waiting for access"}',
        MOVES,
        MOVED,
        session_pause,
        idempotent=True,
    ),
    Tool(
        "session_resume",
        "Resume a session",
        "Call when the user wants to go on with earlier work (session_list or memory_search finds it): a"
        " paused or closed session is taken up again. Returns a briefing: where it stood, the last good step,"
        ' what is open, what changed since. Costs up to about 1200 tokens. Example: {"session": "…"}',
        record({"session": SESSION, "reason": REASON}, ("session",)),
        shape({"session": SESSION_SHAPE, "briefing": STRING}, ("session", "briefing")),
        session_resume,
        idempotent=True,
    ),
    Tool(
        "session_close",
        "Close a session",
        "Call when the task is done. All of it stays readable, and session_resume opens it again."
        ' Costs about 150 tokens. Example: {"session": "…", "reason": "all invoices are renamed"}',
        MOVES,
        MOVED,
        session_close,
        idempotent=True,
    ),
    Tool(
        "session_fork",
        "Branch a session",
        "Call to try a different way: a new session that stands where another stood, which is left as it is."
        " With `into` its files are written, as they were then, into that new folder beside its own."
        ' Costs about 200 tokens. Example: {"session": "…", "at": 42, "title": "by vendor instead"}',
        record(
            {
                "session": SESSION,
                "at": whole("After its first this many events; now, when left out."),
                "title": text("What the branch is about.", most=500),
                "into": text("A new or empty folder, absolute, for its files.", most=4096),
            },
            ("session",),
        ),
        shape({"session": SESSION_SHAPE, "folder": MAYBE_STRING, "manifest": MAYBE_OBJECT}, ("session",)),
        session_fork,
    ),
    Tool(
        "session_rewind",
        "Rewind a session",
        "Call to undo: a session's state moves back to an earlier position and goes on from there. The log"
        " keeps what came after. With files=true the files you changed since go back too, by shell or not;"
        " dry_run=true only tells the plan. What others changed since is refused, with force=true too: only"
        " a person may insist, elsewhere. Ask the user first: what was recorded since no longer counts."
        " Costs about 150 tokens, with files up to 1500."
        ' Example: {"session": "…", "to": 42, "reason": "wrong folder"}',
        record(
            {
                "session": SESSION,
                "to": whole("The position to stand at again."),
                "files": flag("Also bring back the files.", default=False),
                "dry_run": flag("Only tell what it would do to files.", default=False),
                "force": flag("Also past events and calls that nobody has seen yet.", default=False),
                "plan": text("The digest of the plan that was shown: only that is done.", most=200),
                "reason": REASON,
                "expected_seq": EXPECTED,
            },
            ("session", "to"),
        ),
        shape(
            {
                "session": SESSION_SHAPE,
                "files": OBJECTS,
                "undo": MAYBE_STRING,
                "plan": ANY_OBJECT,
                "left_out": ANY_OBJECT,
            },
            ("session",),
        ),
        session_rewind,
        destructive=True,
    ),
)
