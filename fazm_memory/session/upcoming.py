"""What comes next in a session, as its own records say it.

`next_steps` returns entries with `what`, `from`, `status`, `seq`, `at` and `trust`, the surest first:

- `from: "request"`: the user's last request, if it got no answer (`status: "no answer"`) or the work on it
  broke off (`"broken off"`);
- `from: "check"`: a command for tests or lint that failed in the last turn and was not run again
  (`"failed"`);
- `from: "todo"`: the open steps of the agent's list, the one in progress first (`"in_progress"` or
  `"pending"`);
- `from: "plan"`: the phases or steps of the plan after the last one that was said to be done (`"pending"`),
  or the plan's title if it was accepted and nothing was changed since (`"accepted"`);
- `from: "note"`: the document that the user asked for to go on from later, if it is the last thing that was
  written (`"written"`);
- `from: "agent"`: what the agent's last answer names as next steps, advises the user to do or says that the
  work is ready for (`"proposed"`); next steps of an answer up to two turns earlier that the user did not
  take up (`"passed_over"`).

A question that waits for the user is no step: see `questions` of the state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fazm_memory.clock import iso
from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.text import content_words

if TYPE_CHECKING:
    from fazm_memory.session.state import SessionState, StateBuilder

ANNOUNCEMENT = 400  # characters at the end of a message
STEP = 240  # characters
MAX_STEPS = 12
TAIL = 6000  # characters at the end of a message that are searched
HEADING = lazy_regex(
    r"^\s*(?:#{1,6}\s+|\*\*|\d+\.\s+\*\*)?(?:(?:suggested|recommended|possible|the|my|our|immediate) )?"
    r"(?:next steps?|remaining(?: (?:work|steps?|tasks?|items?|to-?dos?)|(?=\W*$))"
    r"|what(?:'s|’s| is) (?:next|left|missing)"
    r"|still (?:to do|open|missing)|left to do|to-?dos?|follow-?ups?|outstanding(?: work| items?)?"
    r"|not (?:yet )?done(?: yet)?)\b[^\n.!?]{0,50}?[:*]*\s*$",
    re.I | re.M,
)
INLINE = lazy_regex(
    r"^\s*(?:[-*] )?\**(?:next steps?|remaining|still to do|up next|next up)\**:\**\s+(\S[^\n]{8,})$",
    re.I | re.M,
)
ITEM = lazy_regex(r"\s*(?:[-*•]|\d{1,2}[.)]|\[[ xX]\])\s+(?:\[([ xX])\]\s*)?(\S.*)")
DONE_ITEM = lazy_regex(r"^(?:✅|☑|✔|~~)|(?:✅|✔|\((?:done|completed?)\))\s*$", re.I)
EMPTY_ITEM = lazy_regex(r"(?:none|nothing|n/a|all done)\b", re.I)
# "Phase 2 of 4 is complete", "Step 3: done"
FINISHED = lazy_regex(
    r"\b(phase|step|part|stage|milestone)\s+(\d{1,2})(?:\s*(?:of|/)\s*(\d{1,2}))?\b"
    r"(?![^.\n]{0,60}\bnot\b)[^.\n]{0,60}?(?:\bcompleted?\b|\bdone\b|\bfinished\b|✅)",
    re.I,
)
PLAN_STEP = lazy_regex(
    r"^\s*(?:#{2,6}\s+|\*\*)?(?:(phase|step|part|stage|milestone)\s+)(\d{1,2})\b[\s:.)—–*-]*(.*?)\**\s*$",
    re.I | re.M,
)
# A message that ends by announcing the next call.
BROKEN_OFF = lazy_regex(
    r"(?:\A|[.!?:]\s+|\n)(?:(?:now|good|great|perfect|ok|okay|excellent|alright|first|next)[,.!]* )*(?:now )?"
    r"(?:let me(?! know)|let's (?:check|look|see|run|try)|i'?ll|i will|i need to|i'?m going to|now i)\b"
    r"[^\n]{0,200}[.:]?\s*\Z",
    re.I,
)
LOCAL_COMMAND = lazy_regex(
    r"/(?:model|exit|quit|clear|compact|cost|context|help|config|status|resume|login|logout|mcp|usage|theme|vim"
    r"|permissions|agents|hooks|memory|doctor|ide|terminal-setup|statusline|export|add-dir|bug|release-notes"
    r"|output-style|fast|effort|rename|tasks|todos|stats|upgrade|plugin)\b[^\n]{0,80}\Z"
)
FENCED = lazy_regex(r"```.*?(?:```|\Z)", re.S)
SENTENCE_END = lazy_regex(r"(?<=[.!?])\s+")
ITEM_MARK = lazy_regex(r"^\W*(?:\d{1,2}[.)]\s+)?")
ADVICE_TAIL = 800  # characters at the end of a message that are searched for advice
MAX_ADVICE = 3
ADVICE = lazy_regex(
    r"(?:you(?:'ll| will)? (?:may|might|should|still|need|must|have)\b(?: (?:also|now|still|want|need|to))* "
    r"(?:run|install|re-?install|restart|rebuild|update|set|add|push|commit|merge|deploy|review|test|check|clean|remove"
    r"|delete|migrate|create|configure|re-?run|enable|verify|fix)\b"
    r"|(?:don'?t forget|remember) to\b)(?![^\n]*\bif you\b)",
    re.I,
)
READY = lazy_regex(
    r"\bready (?:to (?:be )?|for (?:a |the |your )?)(?:commit|merge|push|review|deploy|release)",
    re.I,
)
COMMITS = lazy_regex(r"\bcommit", re.I)
TAKES_UP = lazy_regex(
    r"\b(?:next|first|second|third|last) (?:steps?|one|item)|\b(?:steps?|items?|points?|numbers?) \d", re.I
)
SHORT_REPLY = 20  # characters
TAKEN_UP = 0.5  # share of the words of a step
PASSED_TURNS = 2


def is_local_command(words: str) -> bool:
    """Whether the user's words only operate the agent's program.

    Such words ask nothing of the agent.
    """
    return words[:1] == "/" and LOCAL_COMMAND.match(words) is not None


def note_request(b: StateBuilder, event: Event, text: str | None) -> None:
    """Remember a request until it is answered. The agent's proposals end with it."""
    if b.proposed is not None and (b.proposed.get("advice") or _takes_up(text or "", b.proposed["steps"])):
        b.proposed = None
    b.unanswered = {
        "text": text, "seq": event.seq, "at": event.at, "trust": event.trust, "status": "no answer",
    }  # fmt: skip


def note_answer(b: StateBuilder, event: Event, text: str) -> None:
    """Read in a message what is answered, done and next."""
    b.last_said = event.seq
    if BROKEN_OFF.search(text[-ANNOUNCEMENT:]) is None:
        b.unanswered = None
    tail = text[-TAIL:]
    headed = proposed_steps(tail)
    if steps := headed or advised_steps(tail):
        b.proposed = {
            "steps": steps, "seq": event.seq, "at": event.at, "trust": event.trust, "turn": event.turn,
            "advice": not headed,
        }  # fmt: skip
    elif b.proposed is not None and b.proposed.get("advice"):
        b.proposed = None  # the agent went on after it
    for unit, number, total in FINISHED.findall(tail):
        known = b.progress if b.progress is not None and b.progress["unit"] == unit.lower() else None
        done = max(int(number), 0 if known is None else known["done"])
        of = int(total) if total else None if known is None else known["of"]
        b.progress = {"unit": unit.lower(), "done": done, "of": of, "seq": event.seq}


def note_work(b: StateBuilder) -> None:
    """A call after a message: the request is still being worked on."""
    if b.unanswered is None and b.requests:
        row = b.requests[next(reversed(b.requests))]
        b.unanswered = {name: row[name] for name in ("text", "seq", "at", "trust")} | {"status": "broken off"}
    elif b.unanswered is not None and b.unanswered["status"] == "no answer":
        b.unanswered = b.unanswered | {"status": "broken off"}


def proposed_steps(text: str) -> list[str]:
    """The open items under the last heading such as "Next steps:" in a message."""
    heading = next(reversed(list(HEADING.finditer(text))), None)
    if heading is None:
        inline = INLINE.search(text)
        return [] if inline is None or EMPTY_ITEM.match(inline[1]) else [_plain(inline[1])]
    steps: list[str] = []
    for line in text[heading.end() :].split("\n"):
        item = ITEM.match(line)
        if item is None:
            if line.strip() and (steps or line.lstrip()[:1] in "#|"):
                if line[:1] in " \t" and steps:
                    continue  # more on the item before
                break
            continue
        if line[:1] in " \t" and len(line) - len(line.lstrip()) > 1 and steps:
            continue  # part of the item before
        if item[1] not in ("x", "X") and not DONE_ITEM.search(item[2]) and not EMPTY_ITEM.match(item[2]):
            steps.append(_plain(item[2]))
    return steps[:MAX_STEPS]


def advised_steps(text: str) -> list[str]:
    """What the end of a message advises the user to do.

    It may also say what the work is ready for.
    """
    prose = FENCED.sub("\n", text)[-ADVICE_TAIL:]
    sentences = [part.strip() for line in prose.split("\n") for part in SENTENCE_END.split(line)]
    found = [ITEM_MARK.sub("", part) for part in sentences if ADVICE.match(ITEM_MARK.sub("", part))]
    found += [ITEM_MARK.sub("", part) for part in sentences if READY.search(part) and "?" not in part]
    return [_plain(part) for part in dict.fromkeys(found)][:MAX_ADVICE]


def is_ready_for(step: str) -> bool:
    """Whether a proposal only says what the work is ready for.

    That is a status and no step.
    """
    return READY.search(step) is not None


def _takes_up(request: str, steps: list[str]) -> bool:
    """Whether a request answers the agent's proposals.

    If not, it asks for something else.
    """
    words = content_words(request)
    return (
        len(request) <= SHORT_REPLY
        or TAKES_UP.search(request) is not None
        or any(len(words & content_words(step)) >= TAKEN_UP * len(content_words(step)) for step in steps)
    )


def next_steps(state: SessionState) -> list[dict[str, Any]]:
    """What comes next, the surest first. See the module for the fields."""
    found: list[dict[str, Any]] = []
    asked = state.unanswered
    if asked is not None and state.last_said is not None and not is_local_command(asked["text"] or ""):
        found.append(_entry(asked["text"] or "", "request", asked["status"], asked))
    found += _failed_checks(state)
    todos = [todo for todo in state.todos if todo["status"] in ("in_progress", "pending")]
    for todo in sorted(todos, key=lambda todo: todo["status"] != "in_progress"):
        found.append(_entry(todo["text"] or "", "todo", todo["status"], todo))
    if not todos:
        found += _plan_steps(state)
    return found + _notes(state) + _proposals(state)


def _failed_checks(state: SessionState) -> list[dict[str, Any]]:
    """The last run of tests and of lint in the last turn, if it failed."""
    latest = {row["kind"]: row for row in sorted(state.checks.values(), key=lambda row: int(row["seq"]))}
    began = state.turn_starts.get(state.turn, 0)
    return [
        _entry(latest[kind]["command"], "check", "failed", latest[kind])
        for kind in ("test", "lint")
        if kind in latest and latest[kind]["outcome"] != "ok" and latest[kind]["seq"] >= began
    ]


def _notes(state: SessionState) -> list[dict[str, Any]]:
    """The last document that was written to go on from.

    None if something was changed after it.
    """
    note = next(reversed(state.notes.values()), None)
    if note is None or any(entry.seq > note["seq"] for entry in state.files_modified.values()):
        return []
    return [_entry(note["path"], "note", "written", note)]


def _proposals(state: SessionState) -> list[dict[str, Any]]:
    said = state.proposed
    passed = 0 if said is None else state.turn - said.get("turn", state.turn)
    if said is None or passed > PASSED_TURNS:
        return []
    committed = any(row["seq"] > said["seq"] for row in state.commits.values())
    return [
        _entry(step, "agent", "passed_over" if passed else "proposed", said)
        for step in said["steps"]
        if not (committed and COMMITS.search(step))
    ]


def _plan_steps(state: SessionState) -> list[dict[str, Any]]:
    """The steps of the plan that are still to do.

    All of them if it is accepted and not begun.
    """
    plan = state.plan
    if plan is None or plan["status"] != "accepted" or any(todo["seq"] > plan["seq"] for todo in state.todos):
        return []
    if state.ending is not None and state.ending["how"] == "replaced":
        return []  # the session that replaced this one carries it out
    progress = state.progress
    if progress is not None and progress["seq"] > plan["seq"]:
        steps = plan_steps(plan["text"] or "")
        return [
            _entry(f"{unit} {number}: {words}", "plan", "pending", plan)
            for unit, number, words in steps
            if unit == progress["unit"] and number > progress["done"]
        ]
    begun = any(plan.get("late") or entry.seq > plan["seq"] for entry in state.files_modified.values())
    if begun or not plan["title"]:
        return []  # how far is not known
    return [_entry(plan["title"], "plan", "accepted", plan)]


def complete_last_step(b: StateBuilder, *, said_after: bool = False) -> None:
    """Complete the last step once the agent has answered.

    Agents often forget to close it. Called before the user's next request is taken. `said_after`: the list
    is recorded after the answer.
    """
    open_ = [todo for todo in b.todos if todo["status"] in ("in_progress", "pending")]
    if len(open_) != 1 or len(b.todos) < 2 or open_[0]["status"] != "in_progress":
        return
    if b.unanswered is None and b.asking is None and (said_after or (b.last_said or 0) > open_[0]["seq"]):
        b.todos = [
            todo | {"status": "completed", "passed_at": b.last_said} if todo is open_[0] else todo
            for todo in b.todos
        ]
        for name in [name for name, entry in b.pending_actions.items() if entry["what"] == open_[0]["text"]]:
            del b.pending_actions[name]


def plan_steps(text: str) -> list[tuple[str, int, str]]:
    """The steps of a plan that are not marked as done.

    Each is a unit such as "phase", a number and words.
    """
    steps = [(unit.lower(), int(number), words) for unit, number, words in PLAN_STEP.findall(text)]
    open_ = [(unit, number, _plain(words)) for unit, number, words in steps if not DONE_ITEM.search(words)]
    return [step for step in open_ if step[2]][:MAX_STEPS]


def _entry(what: str, source: str, status: str, row: Mapping[str, Any]) -> dict[str, Any]:
    at = row.get("at")
    return {
        "what": what, "from": source, "status": status, "seq": row["seq"],
        "at": None if at is None else iso(at), "trust": row.get("trust", "agent"),
    }  # fmt: skip


def _plain(text: str) -> str:
    text = text.replace("**", "").replace("~~", "").strip().rstrip(":")
    return text if len(text) <= STEP else text[: STEP - 1] + "…"
