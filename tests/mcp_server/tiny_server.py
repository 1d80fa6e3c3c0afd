"""A second implementation of the session-state protocol, in memory, written from docs/protocol.md.

It shares no code with Fazm Memory. It shows that the checklist tests the protocol and not one program. It
has what needs no files: no rewinding of files, no conventions, no search.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
from jsonschema import Draft202012Validator
from mcp.server.lowlevel.server import Server

ERROR = "ai.fazm/error"
MOVES = {
    "pause": {"open": "paused", "active": "paused", "resumed": "paused"},
    "resume": {"paused": "resumed", "closed": "resumed"},
    "close": {"open": "closed", "active": "closed", "paused": "closed", "resumed": "closed"},
    "archive": {"closed": "archived"},
}
WORKING = ("open", "active", "resumed")
WEB = ("webfetch", "websearch")
UNTRUSTED = ("web", "unverified")
DERIVED = ("decision", "fact", "pending", "handoff")  # what follows from what was read
TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 0}
MOMENT = {"type": ["integer", "string"], "minimum": 0, "minLength": 1}
LIST = {"type": "array"}
ROLE = {"enum": ["user", "agent"]}
LIMITS = {"type": "object", "additionalProperties": {"type": "number"}}
Json = dict[str, Any]


class Refused(Exception):
    def __init__(self, message: str, following: str = "Correct the arguments and call again.", **more: Any):
        super().__init__(message)
        self.next, self.more = following, more


@dataclass
class Session:
    id: str
    agent: str
    key: str
    title: str | None = None
    workspace: str | None = None
    parent: str | None = None
    past: list[Json] = field(default_factory=list)  # of the parent, up to the fork
    events: list[Json] = field(default_factory=list)
    lifecycle: str = "open"

    @property
    def turn(self) -> int:
        return max((event["turn"] for event in [*self.past, *self.events]), default=0)

    def info(self) -> Json:
        last = self.events[-1]["at"] if self.events else ""
        return {
            "id": self.id, "agent": self.agent, "agent_session_id": self.key, "title": self.title,
            "workspace": self.workspace, "lifecycle": self.lifecycle, "ended": None, "parent": self.parent,
            "opened_at": self.events[0]["at"] if self.events else "", "last_at": last, "turns": self.turn,
            "events": len(self.events), "actions": sum(one["kind"] == "action" for one in self.events),
        }  # fmt: skip


class TinyMemory:
    """All sessions, and the calls by name."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.clock = datetime(2026, 11, 15, 9, tzinfo=UTC)

    # -- writing -----------------------------------------------------------------------------------------

    def exact(self, handle: str) -> Session:
        found = self.sessions.get(handle)
        if found is None:
            raise Refused(f"No session has the handle {handle[:60]!r}.", "Call session_list or session_open.")
        return found

    def append(self, session: Session, kind: str, payload: Json, given: Json) -> Json:
        if given.get("expected_seq", len(session.events)) != len(session.events):
            raise Refused("The session has another head.", "Call session_events.", head=len(session.events))
        if given.get("turn", session.turn) < session.turn:
            raise Refused("That turn is over.", "Leave turn out.")
        if session.lifecycle not in WORKING and not kind.startswith("session.") and kind != "handoff.answer":
            raise Refused(f"The session is {session.lifecycle}.", "Call session_resume first.")
        self.clock += timedelta(seconds=1)
        tool = str(payload.get("tool", "")).lower()
        allowed = "agent" if kind != "action" else "web" if tool in WEB else "tool"
        if kind in DERIVED and any(
            one["turn"] == session.turn and one["trust"] in UNTRUSTED for one in session.events
        ):
            allowed = "web"
        digest = hashlib.sha256(json.dumps([session.id, len(session.events), payload]).encode()).hexdigest()
        event = {
            "seq": len(session.events), "at": self.clock.isoformat(), "kind": kind, "actor": "agent",
            "turn": given.get("turn", session.turn + (kind == "prompt")), "source": "mcp",
            "trust": given.get("trust", allowed), "payload": payload, "digest": digest,
            "prev": session.events[-1]["digest"] if session.events else "",
        }  # fmt: skip
        session.events.append(event)
        if session.lifecycle in ("open", "resumed") and not kind.startswith("session."):
            session.lifecycle = "active"
        return event

    def record(self, given: Json, kind: str, payload: Json) -> Json:
        session = self.exact(given["session"])
        call = payload.get("call_id")
        known = [one for one in session.events if call and one["payload"].get("call_id") == call]
        event = known[0] if known else self.append(session, kind, payload, given)
        self.watch_budget(session)
        head = len(session.events)
        return {"session": session.id, "seq": event["seq"], "head": head, "duplicate": bool(known)}

    def watch_budget(self, session: Session) -> None:
        budget = self.state(session, None)["budget"]
        told = {one["payload"]["what"]: one["payload"] for one in session.events if one["kind"] == "budget"}
        for what in budget.get("exceeded", ()):
            if what not in told or told[what]["spent"] <= budget["limits"][what]:  # raised since
                payload = {
                    "what": what,
                    "limit": float(budget["limits"][what]),
                    "spent": float(budget["spent"][what]),
                }
                self.append(session, "budget", payload, {})

    def open(self, given: Json) -> Json:
        agent, key = given.get("agent", "unknown"), given.get("key") or secrets.token_hex(8)
        for known in self.sessions.values():
            if (known.agent, known.key) == (agent, key):
                return self.answer(known) | {"context": ""}
        session = Session(secrets.token_hex(16), agent, key, given.get("title"), given.get("workspace"))
        self.sessions[session.id] = session
        limits = {f"budget_{what}": limit for what, limit in given.get("budget", {}).items()}
        self.append(session, "session.open", {"agent": agent, "agent_session_id": key, **limits}, {})
        session.lifecycle = "open"
        return self.answer(session) | {"context": ""}

    def answer(self, session: Session) -> Json:
        return {"session": session.id, "session_info": session.info()}

    def move(self, given: Json, name: str) -> Json:
        session = self.exact(given["session"])
        after = MOVES[name].get(session.lifecycle)
        if after is None:
            hint = "session_resume" if session.lifecycle not in WORKING else "session_pause or session_close"
            raise Refused(f"A session that is {session.lifecycle} cannot {name}.", f"Call {hint} first.")
        if name == "resume" and any(
            one["to"] == "human" for one in self.state(session, None)["open_questions"]
        ):
            raise Refused("A question to a person is open.", "Tell the user the question.")
        self.append(session, f"session.{name}", {}, given)
        session.lifecycle = after
        return self.answer(session) | {"briefing": ""}

    def fork(self, given: Json) -> Json:
        parent = self.exact(given["session"])
        at = self.position(parent, given.get("at"))
        child = Session(secrets.token_hex(16), parent.agent, secrets.token_hex(8), given.get("title"))
        child.parent, child.past = parent.id, self.effective(parent, at)
        self.sessions[child.id] = child
        opening = {"agent": parent.agent, "parent": parent.id, "parent_seq": at}
        self.append(child, "session.open", opening, {})
        child.lifecycle = "open"
        return self.answer(child)

    def action(self, given: Json) -> Json:
        names = ("tool", "input", "output", "error", "outcome", "duration_ms", "call_id", "retry_of", "files")
        payload = {name: given[name] for name in names if name in given}
        if "input_hash" in given:
            payload["caller_input_hash"] = given["input_hash"]
        payload["outcome"] = given.get("outcome", "error" if "error" in given else "ok")
        payload["input_hash"] = digest_of([payload["tool"], payload.get("input")])
        for earlier in reversed(self.exact(given["session"]).events):
            old = earlier["payload"]
            if earlier["kind"] == "action" and old["input_hash"] == payload["input_hash"]:
                if any(old.get(name) != payload.get(name) for name in ("outcome", "output", "error")):
                    payload.setdefault("retry_of", earlier["seq"])
                break
        return self.record(given, "action", payload)

    def message(self, given: Json) -> Json:
        session = self.exact(given["session"])
        kind = "prompt" if given.get("from") == "user" else "message"
        if kind == "message" and not any(one["kind"] == "prompt" for one in session.events):
            given = {"turn": session.turn + 1} | given
        return self.record(given, kind, {"text": given["text"]})

    def artifact(self, given: Json) -> Json:
        session = self.exact(given["session"])
        items = [{"text": one} if isinstance(one, str) else one for one in given.get("items", [])]
        if "set" in given:
            rows = [one for one in self.state(session, None)["artifacts"] if one["name"] == given["name"]]
            known = {one["id"]: one for one in (rows[0]["items"] if rows else [])}
            for change in given["set"]:
                name = change.get("id") or next(str(n) for n in range(1, 999) if str(n) not in known)
                known[name] = {**known.get(name, {}), **change, "id": name}
            items = list(known.values())
        return self.record(given, "artifact", {"name": given["name"], "items": items})

    def handoff(self, given: Json) -> Json:
        question = f"q{secrets.token_hex(4)}"
        self.record(given, "handoff", {"id": question, "to": given["to"], "note": given["note"]})
        return self.answer(self.exact(given["session"])) | {"question": question}

    def handoff_answer(self, given: Json) -> Json:
        session = self.exact(given["session"])
        asked = [one for one in self.state(session, None)["open_questions"] if one["id"] == given["question"]]
        if not asked or asked[0]["to"] == "human":
            raise Refused("That question is not open for an agent.", "Ask the user to answer it.")
        self.append(session, "handoff.answer", {"id": given["question"], "answer": given["answer"]}, given)
        return self.answer(session)

    def usage(self, given: Json) -> Json:
        names = ("input_tokens", "output_tokens", "cost_usd")
        limits = {f"budget_{what}": limit for what, limit in given.get("budget", {}).items()}
        written = self.record(given, "usage", {name: given[name] for name in names if name in given} | limits)
        return written | {"budget": self.state(self.exact(given["session"]), None)["budget"]}

    def retitle(self, given: Json) -> Json:
        session = self.exact(given["session"])
        self.append(session, "session.title", {"title": given["title"]}, given)
        session.title = given["title"]
        return self.answer(session)

    # -- reading -----------------------------------------------------------------------------------------

    def position(self, session: Session, moment: Any, *, begin: bool = False) -> int:
        head = len(session.events)
        if moment in (None, "now"):
            return head
        if moment == "start":
            return 0
        words = str(moment).split()
        if words[0] == "turn" and len(words) == 2 and words[1].isdecimal():
            turn = int(words[1]) - begin
            return next((one["seq"] for one in session.events if one["turn"] > turn), head)
        if words[0] == "event" and len(words) == 2 and words[1].isdecimal():
            return int(words[1]) + (not begin)
        if not str(moment).isdecimal() or int(moment) > head:
            raise Refused(f"There is no moment {moment!r}.")
        return int(moment)

    def effective(self, session: Session, at: int) -> list[Json]:
        """The events that count at a position: a rewind goes back to what counted then."""
        counting = list(session.past)
        for event in session.events[:at]:
            if event["kind"] == "rewind":
                counting = self.effective(session, event["payload"]["to"])
            counting.append(event)
        return counting

    def state(self, session: Session, moment: Any) -> Json:
        at = self.position(session, moment)
        state: Json = {"decisions_made": [], "facts": {}, "pending_actions": [], "open_questions": [],
                       "retries": [], "artifacts": [], "evicted_keys": [], "tools_used": {},
                       "files_modified": [], "data_sources": []}  # fmt: skip
        spent = {"tokens": 0, "usd": 0.0, "actions": 0}
        limits: Json = {}
        events = self.effective(session, at)
        for event in events:
            fold_event(state, event, spent, limits)
        left = {what: limit - spent.get(what, 0) for what, limit in limits.items()}
        state["budget"] = {
            "spent": spent, "limits": limits, "remaining": left,
            "exceeded": [what for what, rest in left.items() if rest < 0],
        }  # fmt: skip
        turn = max((event["turn"] for event in events), default=0)
        lifecycle = session.lifecycle if at == len(session.events) else "active"
        shown = {"lifecycle": lifecycle, "turn": turn, **state}
        return {"session": session.id, "at": at, **shown, "state_hash": digest_of(shown), "left_out": {}}

    def read_state(self, given: Json) -> Json:
        state = self.state(self.exact(given["session"]), given.get("at"))
        first = state["turn"] - given["turns"] + 1 if "turns" in given else 0
        state["files_modified"] = [
            one
            for one in state["files_modified"]
            if one["turn"] >= first and given.get("by", one["by"]) == one["by"]
        ]
        always = ("session", "at", "lifecycle", "turn", "state_hash", "left_out")
        return {
            name: value
            for name, value in state.items()
            if "keys" not in given or name in (*given["keys"], *always)
        }

    def read_events(self, given: Json) -> Json:
        session = self.exact(given["session"])
        start = self.position(session, given.get("from", 0), begin=True)
        stop = self.position(session, given.get("to"), begin="to" in given)
        if "cursor" in given:
            name, _, place = given["cursor"].partition(":")
            if name != session.id or not place.isdecimal():
                raise Refused("The cursor belongs to another list.", "Leave cursor out.")
            start = int(place)
        most = 4 * given.get("max_tokens", 1500)
        rows: list[Json] = []
        following = None
        for event in session.events[start:stop]:
            if "kind" in given and event["kind"] != given["kind"]:
                continue
            size = sum(len(json.dumps(row["payload"])) for row in [*rows, event])
            if rows and (len(rows) >= given.get("limit", 20) or size > most):
                following = f"{session.id}:{event['seq']}"
                break
            extra = {"state_hash": self.state(session, event["seq"] + 1)["state_hash"]}
            rows.append({**event, **(extra if given.get("state_hashes") else {})})
        return {"session": session.id, "head": len(session.events), "events": rows, "next_cursor": following}

    def listing(self, given: Json) -> Json:
        rows = [
            one.info()
            for one in reversed(self.sessions.values())
            if given.get("agent", one.agent) == one.agent
        ]
        skip = int(given.get("cursor", "0"))
        limit = given.get("limit", 20)
        following = str(skip + limit) if len(rows) > skip + limit else None
        return {"sessions": rows[skip : skip + limit], "next_cursor": following}

    def diff(self, given: Json) -> Json:
        session = self.exact(given["session"])
        first, second = (self.state(session, given[name]) for name in ("from", "to"))
        changed = {
            name: {"from": first[name], "to": second[name]} for name in first if first[name] != second[name]
        }
        instead = {row["seq"]: row["instead_of"] for row in second["decisions_made"] if "instead_of" in row}
        because = [
            {"seq": one["seq"], "kind": "decision", "role": "decision", **one["payload"],
             **({"instead_of": instead[one["seq"]]} if one["seq"] in instead else {})}
            for one in session.events[first["at"] : second["at"]]
            if one["kind"] == "decision"
        ]  # fmt: skip
        return {"session": session.id, "from": first["at"], "to": second["at"], "added": {}, "removed": {},
                "changed": changed, "because": because}  # fmt: skip

    def retries(self, given: Json) -> Json:
        session = self.exact(given["session"])
        found = []
        for event in session.events:
            tried = event["payload"].get("retry_of") if event["kind"] == "action" else None
            if tried is not None:
                old, new = session.events[tried]["payload"], event["payload"]
                names = {
                    "outcome": "outcome",
                    "output": "output",
                    "error": "error",
                    "duration": "duration_ms",
                }
                changed = [name for name, key in names.items() if old.get(key) != new.get(key)]
                same = old["input_hash"] == new["input_hash"]
                found.append({"seq": event["seq"], "retry_of": tried, "same_input": same, "changed": changed})
        return {"session": session.id, "retries": found[::-1], "left_out": 0}

    def untrusted(self, given: Json) -> Json:
        found = []
        for session in reversed(self.sessions.values()):
            for event in session.events if given.get("session", session.id) == session.id else ():
                if event["trust"] in UNTRUSTED and event["kind"] == "action":
                    after = followers(session, event)
                    files = [file["path"] for one in after for file in one["payload"].get("files", ())]
                    led_to = {"calls": len(after), "changes": len(files), "files": files}
                    about = {name: event[name] for name in ("seq", "kind", "trust", "digest")}
                    asked = event["payload"]["input_hash"]
                    found.append({"session": session.id, **about, "input_hash": asked, "led_to": led_to})
        return {"entries": found, "left_out": 0}

    def replay(self, given: Json) -> Json:
        """The calls that changed something and the decisions that stand, with the doubtful ones marked."""
        session = self.exact(given["session"])
        decided = {one["seq"]: one for one in self.state(session, None)["decisions_made"]}
        read = {file["path"] for one in session.events for file in one["payload"].get("files", ())
                if file["change"] != "read"}  # fmt: skip
        doubt: Json = {}
        for event in session.events:
            if event["kind"] == "action" and event["trust"] in UNTRUSTED:
                doubt |= {one["seq"]: event["seq"] for one in session.events[event["seq"] + 1 :]
                          if one["turn"] == event["turn"]}  # fmt: skip
        steps = []
        for event in session.events:
            payload = event["payload"]
            files = payload.get("files", [])
            changed = any(file["change"] != "read" for file in files)
            row = {"seq": event["seq"], "kind": event["kind"]}
            if event["seq"] in doubt:
                row["doubted_by"] = doubt[event["seq"]]
            if event["kind"] == "decision" and decided[event["seq"]]["superseded_by"] is None:
                steps.append({**row, "what": payload["what"]})
            elif event["kind"] == "action" and changed:
                steps.append({**row, "tool": payload["tool"]})
            elif event["kind"] == "action" and any(file["path"] in read for file in files):
                steps.append({**row, "kind": "check", "tool": payload["tool"]})
        return {"session": session.id, "total": len(steps), "steps": steps, "left_out": {}}

    def habits(self, given: Json) -> Json:
        """Commands that failed first and what was called in between, each with its events."""
        found: dict[str, Json] = {}
        for session in self.sessions.values():
            if given.get("workspace", session.workspace) != session.workspace:
                continue
            calls = [one for one in session.events if one["kind"] == "action"]
            for first, between, again in zip(calls, calls[1:], calls[2:], strict=False):
                outcomes = [one["payload"]["outcome"] for one in (first, again)]
                if outcomes == ["error", "ok"] and same_call(first, again):
                    command = first["payload"]["input"]["command"]
                    row = found.setdefault(command, {"command": command, "failures": 0, "mended": 0,
                                                     "mended_by": [], "events": []})  # fmt: skip
                    row["failures"] += 1
                    row["mended"] += 1
                    what = f"{between['payload']['tool']} {between['payload']['input']['command']}"
                    row["mended_by"] = [{"what": what, "count": row["mended"]}]
                    row["events"].append({"session": session.id, "seq": first["seq"]})
        return {"sessions": len(self.sessions), "failing_first": list(found.values())}

    def budget(self, given: Json) -> Json:
        budget = self.state(self.exact(given["session"]), None)["budget"]
        step = given.get("step", {})
        fits = {what: left >= step.get(what, 0) for what, left in budget["remaining"].items()}
        return {"session": given["session"], "budget": budget, "fits": all(fits.values()), "by_limit": fits}

    def get_artifacts(self, given: Json) -> Json:
        rows = self.state(self.exact(given["session"]), None)["artifacts"]
        return {
            "session": given["session"],
            "artifacts": [one for one in rows if given.get("name", one["name"]) == one["name"]],
        }


def followers(session: Session, source: Json) -> list[Json]:
    """The calls of the same turn after a call of doubtful origin."""
    return [
        one
        for one in session.events[source["seq"] + 1 :]
        if one["kind"] == "action" and one["turn"] == source["turn"]
    ]


def same_call(one: Json, other: Json) -> bool:
    return bool(one["payload"]["input_hash"] == other["payload"]["input_hash"])


def digest_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def fold_event(state: Json, event: Json, spent: Json, limits: Json) -> None:
    kind, payload, seq = event["kind"], event["payload"], event["seq"]
    limits |= {
        name.removeprefix("budget_"): value for name, value in payload.items() if name.startswith("budget_")
    }
    if kind == "decision":
        fold_decision(state, payload, seq)
    elif kind == "action":
        spent["actions"] += 1
        fold_action(state, payload, seq, event["turn"])
    elif kind == "usage":
        spent["tokens"] += payload.get("input_tokens", 0) + payload.get("output_tokens", 0)
        spent["usd"] = round(spent["usd"] + payload.get("cost_usd", 0), 6)
    elif kind in ("fact", "fact.retract"):
        state["facts"].pop(payload["key"], None)
        if kind == "fact":
            state["facts"][payload["key"]] = {"value": payload["value"], "seq": seq}
    elif kind == "pending":
        state["pending_actions"].append({**payload, "seq": seq})
    elif kind == "pending.done":
        state["pending_actions"] = [one for one in state["pending_actions"] if one["id"] != payload["id"]]
    elif kind == "handoff":
        state["open_questions"].append({**payload, "seq": seq})
    elif kind == "handoff.answer":
        state["open_questions"] = [one for one in state["open_questions"] if one["id"] != payload["id"]]
    elif kind == "evicted":
        state["evicted_keys"] = list(dict.fromkeys([*state["evicted_keys"], *payload["keys"]]))
    elif kind == "artifact":
        before = [one for one in state["artifacts"] if one["name"] == payload["name"]]
        items = [{"status": "pending", "id": str(n), **one} for n, one in enumerate(payload["items"], 1)]
        done = sum(one["status"] == "completed" for one in items)
        version = before[0]["version"] + 1 if before else 1
        state["artifacts"] = [one for one in state["artifacts"] if one not in before]
        row = {"name": payload["name"], "version": version, "done": done, "total": len(items), "items": items}
        state["artifacts"].append({**row, "seq": seq})


def fold_decision(state: Json, payload: Json, seq: int) -> None:
    row = {"seq": seq, "superseded_by": None, **payload}
    for old in state["decisions_made"]:
        named = payload.get("replaces") == old["seq"]
        if old["superseded_by"] is None and (named or payload["what"] in old.get("alternatives", ())):
            old["superseded_by"] = seq
            row["instead_of"] = {"seq": old["seq"], "what": old["what"]}
    state["decisions_made"].append(row)


def fold_action(state: Json, payload: Json, seq: int, turn: int) -> None:
    state["tools_used"][payload["tool"]] = state["tools_used"].get(payload["tool"], 0) + 1
    for file in payload.get("files", ()):
        if file["change"] != "read":
            row = {"path": file["path"], "change": file["change"], "by": "agent", "seq": seq}
            state["files_modified"] = [one for one in state["files_modified"] if one["path"] != file["path"]]
            state["files_modified"].append({**row, "turn": turn})
    url = payload.get("input", {}).get("url") if isinstance(payload.get("input"), dict) else None
    if url:
        parts = urlsplit(url)
        name, place = f"{parts.netloc}{parts.path}", parts.netloc
        rows = [one for one in state["data_sources"] if one["name"] == name]
        if not rows:
            state["data_sources"].append(
                {"kind": "url", "name": name, "place": place, "read": 0, "written": 0, "count": 0}
            )
        source = (rows or state["data_sources"])[-1]
        source |= {"read": source["read"] + 1, "count": source["count"] + 1}
    if "retry_of" in payload:
        state["retries"].append({"seq": seq, "retry_of": payload["retry_of"], "tool": payload["tool"]})


WRITES = {
    "turn": NUMBER,
    "expected_seq": NUMBER,
    "trust": {"enum": ["unverified", "web", "tool", "local", "agent"]},
}


def schema(required: str, **properties: Any) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def writing(required: str, **properties: Any) -> Json:
    return schema(f"session {required}", session=TEXT, **properties, **WRITES)


def calls(memory: TinyMemory) -> dict[str, tuple[Json, Callable[[Json], Json]]]:
    def of(kind: str, *names: str) -> Callable[[Json], Json]:
        return lambda given: memory.record(
            given, kind, {name: given[name] for name in names if name in given}
        )

    def pending(given: Json) -> Json:
        name = given.get("id") or secrets.token_hex(4)
        return memory.record(given, "pending", {"id": name, "what": given["what"]}) | {"id": name}

    def evicted(given: Json) -> Json:
        return of("evicted", "keys", "summary")(given) | {"evicted_keys": given["keys"]}

    def rewind(given: Json) -> Json:
        session = memory.exact(given["session"])
        memory.append(session, "rewind", {"to": memory.position(session, given["to"])}, given)
        return memory.answer(session)

    reading = {"session": TEXT, "max_tokens": NUMBER}
    moves = {
        f"session_{name}": (writing("", reason=TEXT), lambda given, name=name: memory.move(given, name))
        for name in MOVES
    }
    return {
        "session_open": (schema("", agent=TEXT, key=TEXT, workspace=TEXT, title=TEXT, budget=LIMITS,
                                context={"type": "boolean"}), memory.open),
        **moves,
        "session_retitle": (writing("title", title=TEXT), memory.retitle),
        "session_fork": (schema("session", session=TEXT, at=MOMENT, title=TEXT), memory.fork),
        "session_rewind": (writing("to", to=MOMENT, reason=TEXT), rewind),
        "session_handoff": (writing("to note", to={"enum": ["human", "agent"]}, note=TEXT), memory.handoff),
        "handoff_answer": (writing("question answer", question=TEXT, answer={}), memory.handoff_answer),
        "action_record": (writing("tool", tool=TEXT, input={}, output={}, error=TEXT, outcome=TEXT,
                                  duration_ms=NUMBER, call_id=TEXT, retry_of=NUMBER, input_hash=TEXT,
                                  files=LIST), memory.action),
        "decision_record": (writing("what", what=TEXT, why=TEXT, alternatives=LIST, replaces=NUMBER),
                            of("decision", "what", "why", "alternatives", "replaces")),
        "fact_record": (writing("key value", key=TEXT, value={}), of("fact", "key", "value")),
        "fact_retract": (writing("key", key=TEXT), of("fact.retract", "key")),
        "pending_add": (writing("what", what=TEXT, id=TEXT), pending),
        "pending_done": (writing("id", id=TEXT), of("pending.done", "id")),
        "message_record": (writing("text", text=TEXT, **{"from": ROLE}), memory.message),
        "evicted_record": (writing("keys", keys={"type": "array"}, summary=TEXT), evicted),
        "usage_record": (writing("", input_tokens=NUMBER, output_tokens=NUMBER, cost_usd={"type": "number"},
                                 budget=LIMITS), memory.usage),
        "artifact_put": (writing("name", name=TEXT, form=TEXT, items=LIST, set=LIST),
                         memory.artifact),
        "session_list": (schema("", agent=TEXT, limit=NUMBER, cursor=TEXT), memory.listing),
        "session_state": (schema("session", at=MOMENT, keys={"type": "array"}, turns=NUMBER,
                                 by={"enum": ["agent", "person", "unknown"]}, **reading), memory.read_state),
        "session_events": (schema("session", to=MOMENT, kind=TEXT, limit=NUMBER, cursor=TEXT,
                                  state_hashes={"type": "boolean"}, **{"from": MOMENT}, **reading),
                           memory.read_events),
        "session_diff": (schema("session from to", to=MOMENT, **{"from": MOMENT}, **reading), memory.diff),
        "session_retries": (schema("session", **reading), memory.retries),
        "budget_get": (schema("session", session=TEXT, step=LIMITS), memory.budget),
        "untrusted_list": (schema("", session=TEXT, workspace=TEXT), memory.untrusted),
        "replay_plan": (schema("session", **reading), memory.replay),
        "habits_get": (schema("", workspace=TEXT), memory.habits),
        "artifact_get": (schema("session", name=TEXT, **reading), memory.get_artifacts),
    }  # fmt: skip


def check(name: str, wanted: Json, given: Json) -> None:
    """Refuse arguments that do not fit, with the valid names for an unknown one."""
    problem = next(Draft202012Validator(wanted).iter_errors(given), None)
    if problem is None:
        return
    if problem.validator != "additionalProperties":
        raise Refused(problem.message[:200])
    known = list(wanted["properties"])
    unknown = next(one for one in given if one not in known)
    near = get_close_matches(unknown, known, n=1, cutoff=0.5)
    more = {"unknown": unknown, "valid": known} | ({"nearest": near[0]} if near else {})
    raise Refused(f"{name} has no argument {unknown!r}.", **more)


def tiny_server() -> Server[Any]:
    memory = TinyMemory()
    offered = calls(memory)

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        tools = [
            {"name": name, "description": name, "inputSchema": wanted}
            for name, (wanted, _) in offered.items()
        ]
        return types.ListToolsResult(tools=[types.Tool.model_validate(one) for one in tools])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        given = params.arguments or {}
        wanted, work = offered[params.name]
        try:
            check(params.name, wanted, given)
            data = work(given)
        except Refused as refused:
            told = {"ok": False, "error": str(refused), "kept": "Nothing was recorded.", "next": refused.next,
                    "session": given.get("session"), **refused.more}  # fmt: skip
            said = types.TextContent(type="text", text=str(refused))
            return types.CallToolResult(content=[said], is_error=True, _meta={ERROR: told})
        text = types.TextContent(type="text", text=json.dumps(data))
        return types.CallToolResult(content=[text], structured_content=data)

    return Server("tiny", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
