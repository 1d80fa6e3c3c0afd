"""Items: the facts of a context, each with its position in the log and a score.

The score says how much an item matters for the next step: an open question before a decision, a naming
convention before a count of files. Recorded text in an item is always quoted.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from fazm_memory.engines import naming
from fazm_memory.events import UNTRUSTED, target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import YES
from fazm_memory.recall.dialogue import shortened
from fazm_memory.recall.fixes import SETTING, SHELLS
from fazm_memory.recall.quoting import neutral, plain_name, quote
from fazm_memory.records import dataclass, field
from fazm_memory.session import (
    QUARANTINED_CALLS,
    FileEntry,
    SessionState,
    folder_progress_text,
)
from fazm_memory.store import FactRow, SessionRow, Store
from fazm_memory.text import plural, plural_with_verb

TAIL = 80  # events at the end of a session that are read
MAX_SOURCES = 8
MAX_SOLVED = 12  # resolved failures, the latest
SOURCE_FIELDS = ("url", "query", "uri", "link")


@dataclass(frozen=True)
class SessionEnd:
    """The end of a session.

    The agent's last words, the sources it read, the targets of running calls.
    """

    said: tuple[str, int] | None = None
    looked_at: tuple[tuple[str, int], ...] = ()
    running: Mapping[str, str] = field(default_factory=dict)
    solved_by: Mapping[int, str] = field(default_factory=dict)  # position and target of later successes


def item_id(session: str, kind: str, name: str) -> str:
    """The id of an item.

    A name that could be read as more than a name is replaced by its digest.
    """
    if neutral(name) != name:
        name = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{session[:8]}:{kind}:{name}"


def read_session_end(store: Store, row: SessionRow, state: SessionState) -> SessionEnd:
    """Read the last events of a session."""
    said: tuple[str, int] | None = None
    looked: dict[str, int] = {}
    tail = store.log.slice(row.n, row.id, max(0, row.head - TAIL), row.head)
    for event in store.quarantine_view.events(row.n, tail):
        if event.payload is None:
            continue
        if event.kind == "message":
            said = (event.payload.text, event.seq)
        elif event.kind == "action" and (source := _source(event.payload.input)):
            looked.pop(source, None)
            looked[source] = event.seq
    running: dict[str, str] = {}
    for call, entry in state.running.items():
        start = next(store.log.slice(row.n, row.id, entry["seq"], entry["seq"] + 1), None)
        if start is not None and start.payload is not None and start.kind == "action.start":
            running[call] = target_of(start.payload.input)
    mended = [error["mended_by"] for error in state.errors.values() if error["mended_by"] is not None]
    solved: dict[int, str] = {}
    for seq in mended[-MAX_SOLVED:]:
        action = next(store.log.slice(row.n, row.id, seq, seq + 1), None)
        if action is not None and action.payload is not None and action.kind == "action":
            solved[seq] = target_of(action.payload.input)
    return SessionEnd(said, tuple(reversed(list(looked.items())))[:MAX_SOURCES], running, solved)


def _source(input_: Any) -> str:
    """The address or query of a call that looked something up."""
    if not isinstance(input_, Mapping):
        return ""
    return next((str(input_[name]) for name in SOURCE_FIELDS if isinstance(input_.get(name), str)), "")


MAX_FAILURES = 6  # of one session
MAX_FAILED_LOOKUPS = 3
PROGRAMS = (
    "[ ag cat cd diff du egrep fd fgrep file find grep head ls pwd rg stat tail test tree type wc which"
)
AT_THE_END = 12  # events of a session
SUBAGENT_TOOLS = frozenset({"Task", "Agent", "task"})
LOOKUP_PROGRAMS = frozenset(PROGRAMS.split())
LOOKUP_TOOLS = frozenset(
    {"Read", "Grep", "Glob", "LS", "read_file", "list_directory", "glob", "grep", "read", "list",
     "search_file_content"}
)  # fmt: skip
MISUSE = lazy_regex(
    r"(?i)has not been read yet|string to replace not found|found \d+ matches of the string|exactly the same"
    r"|doesn't want to proceed|request interrupted|unknown skill|no such tool"
    r"|not a prompt-based skill|sibling tool call errored"
)  # how a tool was called, corrected in the next call
EXIT_CODE = lazy_regex(r"(?i)(?:exit code:? \d+)?")
COMMAND_SEPARATORS = lazy_regex(r"&&|\|\||[|;&\n]")

Section = Literal["DONE", "OPEN"]
ItemFields = tuple[Section, str, str, str, int, str]  # section, kind, name, text, seq, trust


def failed_calls(state: SessionState) -> Iterator[ItemFields]:
    """The newest unresolved failures and the latest failed lookups.

    Older failures are counted.
    """
    unresolved = [
        error
        for error in state.errors.values()
        if error["mended_by"] is None and not MISUSE.search(error["error"] or "")
    ]
    if branch_of(state):  # work went on after it
        unresolved = [error for error in unresolved if error["seq"] >= state.at - AT_THE_END]
    lookups = [error for error in unresolved if is_failed_lookup(error)]
    failed = [error for error in unresolved if not is_failed_lookup(error)]
    for error in failed[-MAX_FAILURES:]:
        text = f"{call_text(error)} {error['outcome']}: {quote(error['error'] or '', 160)}; unresolved"
        yield "DONE", "failed", str(error["seq"]), text, error["seq"], "tool"
    if before := failed[:-MAX_FAILURES]:
        text = f"{len(before)} more failed before those, unresolved; search kind:action failed finds them"
        yield "DONE", "more", "failed", text, before[-1]["seq"], "local"
    for error in lookups[-MAX_FAILED_LOOKUPS:]:
        text = f"not found: {call_text(error)}: {quote(error['error'] or '', 160)}"
        yield "DONE", "vain", str(error["seq"]), text, error["seq"], "tool"


def first_line(error: str) -> str:
    """The first line of an error that says something."""
    lines = [line.strip() for line in error.splitlines() if not EXIT_CODE.fullmatch(line.strip())]
    return next((line for line in lines if line), error)


def call_text(error: dict[str, Any]) -> str:
    """A call as tool and target."""
    target = error.get("target") or ""
    tool = plain_name(error["tool"] or "a call")
    return f"{tool} {quote(target, 120)}" if target else tool


def is_failed_lookup(error: dict[str, Any]) -> bool:
    """Whether a failed call only looked for something."""
    if error["outcome"] != "error":
        return False
    if error["tool"] not in SHELLS:
        return error["tool"] in LOOKUP_TOOLS
    parts = [part.split() for part in COMMAND_SEPARATORS.split(error.get("target") or "")]
    words = [[word for word in part if not SETTING.fullmatch(word)] for part in parts if part]
    return bool(words) and all(part and part[0].rsplit("/", 1)[-1] in LOOKUP_PROGRAMS for part in words)


WEIGHTS: dict[str, float] = {
    "question": 1.6,
    "asking": 1.5,
    "refused": 1.2,
    "next": 1.4,
    "proposed": 1.0,
    "artifact": 1.45,
    "pending": 1.5,
    "convention": 1.4,
    "folder": 1.3,
    "skipped": 1.2,
    "preference": 1.2,
    "decision": 1.1,
    "answered": 1.0,
    "note": 1.0,
    "changed": 0.9,
    "added": 0.9,
    "interrupted": 0.4,
    "commit": 0.8,
    "pull": 0.8,
    "uncommitted": 0.8,
    "fact": 0.7,
    "checks": 0.25,
    "said": 0.6,
    "held": 0.5,
    "files": 0.45,
    "place": 0.4,
    "looked": 0.4,
    "request": 0.4,
    "habit": 0.4,
    "failed": 0.35,
    "evicted": 0.3,
    "more": 0.2,
    "apps": 0.2,
    "mended": 0.15,
    "vain": 0.12,
}
LABELS: dict[str, str] = {
    "question": "waiting", "asking": "waiting", "next": "todo", "proposed": "todo", "pending": "todo",
    "interrupted": "todo", "decision": "why", "answered": "why", "fact": "known", "failed": "failed",
    "mended": "failed", "vain": "failed", "looked": "read", "request": "asked", "said": "done",
    "checks": "run", "commit": "commits", "uncommitted": "open", "apps": "apps",
    "added": "added",
}  # fmt: skip
UNKNOWN_END = SessionEnd()
ANSWERED = " -> "  # between a question and its answer
GENERIC_QUESTION = lazy_regex(
    r"(?i)(?:so,? |or )?(?:would you like|do you want|want|shall|should|may) (?:me to|i|we"
    r"|us to)? ?(?:go ahead and )?"
    r"(?:implement|fix|do|make|proceed|start|apply|explore|add|change|update|continue|address|go|dive)\b"
    r"[^?`'_/.]{0,100}\?"
)  # that means nothing without what came before it
CHANGES = ("created", "modified", "renamed", "deleted")
NAMED_FILES = 4
LATEST_FILES = 8
MORE_FILES = 24
MAX_FOLDERS = 6
AGENT_NOTE = 800  # characters of a note that an agent left for the next one
SHOWN_ITEMS = 8  # of an artifact, on its line
BOXES = {"completed": "x", "in_progress": "~", "cancelled": "-", "pending": " "}
MAX_LAST_WORDS = 400
LONGEST_DECISION = 150


@dataclass(frozen=True)
class Item:
    """One fact. `id` is stable, because a person may pin or exclude the item."""

    id: str
    section: Section
    kind: str
    text: str
    score: float
    session: str
    seq: int
    trust: str
    label: str = ""  # the group that it is shown in
    reason: str = ""  # why it may be included, if its kind does not say it
    message: int = -1  # lines of one message compete with each other
    at: int = 0  # when it was said; 0 if only its session is known
    turn: int = -1  # of the dialogue: a request and what the agent said to it
    place: int = 0  # in its message
    outcome: bool = False  # what came of the request of its turn
    undone: bool = False  # what was done for it was undone later
    latest: bool = False  # the last request of its session, or what came of it
    voice: float = 1.0  # how much its words matter by who says them


def session_items(
    state: SessionState,
    learned: naming.NamingReport,
    *,
    since: int,
    worth: float,
    end: SessionEnd = UNKNOWN_END,
    headed: bool = True,
) -> list[Item]:
    """The items of one session from position `since` on.

    `worth` is how much the session matters. A `headed` session shows its first and last two requests in its
    heading.
    """
    items: list[Item] = []
    for section, kind, name, text, seq, trust in _fields(state, learned, since, end, headed):
        trust_factor = 0.5 if trust in UNTRUSTED else 1.0
        score = WEIGHTS[kind] * worth * trust_factor + min(seq, 10**6) / 10**7
        id_ = item_id(state.session, kind, name)
        label = LABELS.get(kind, "open" if section == "OPEN" else "done")
        items.append(Item(id_, section, kind, text, score, state.session, seq, trust, label))
    return items


def _fields(
    state: SessionState, learned: naming.NamingReport, since: int, end: SessionEnd, headed: bool
) -> Iterator[ItemFields]:
    yield from _open(state, end)
    yield from _naming(learned, state)
    yield from _files(state, since)
    yield from _quarantined(state)
    yield from _folders(state, learned, since)
    yield from _minor(state, since, end, headed)
    yield from _answered(state, since)
    for decision in reversed(list(state.decisions_made.values())):
        if decision["seq"] >= since and _holds(decision):
            text = _decision(decision)
            yield "DONE", "decision", str(decision["seq"]), text, decision["seq"], decision["trust"]
    for key, fact in state.facts.items():
        if fact["trust"] != "user":  # those of the user are preferences and valid everywhere
            text = _fact("fact", key, fact["value"], fact["trust"])
            yield "DONE", "fact", key, text, fact["seq"], fact["trust"]
    for error in state.errors.values():
        misused = MISUSE.search(error["error"] or "")
        if error["mended_by"] is None or error["seq"] < since or misused:
            continue
        if branch_of(state):  # the usual round of edit and test
            continue
        solved = end.solved_by.get(error["mended_by"], "")
        then = (
            f"then {quote(solved, 120)} worked" if solved not in ("", error.get("target")) else "then worked"
        )
        text = f"{call_text(error)} {error['outcome']}: {quote(first_line(error['error'] or ''), 100)}"
        yield (
            "DONE",
            "mended",
            str(error["seq"]),
            f"{text}, {then} @{error['mended_by']}",
            error["seq"],
            "tool",
        )
    if state.evicted_keys and not branch_of(state):  # in a repository, the files that it has read
        keys = list(state.evicted_keys)
        named = ", ".join(quote(key, 80) for key in keys[-5:])
        more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
        seq = max(state.evicted_keys.values())
        yield "DONE", "evicted", "keys", f"no longer in the model's context: {named}{more}", seq, "agent"


def _holds(decision: dict[str, Any]) -> bool:
    """Whether a decision still holds and says more than a question or a yes."""
    settled = decision.get("form") == "plan" and (
        decision["what"] == "accepted" or decision["what"].rstrip().endswith("?")
    )
    agreed = decision.get("form") == "answer" and YES.fullmatch(decision["what"])
    return decision.get("superseded_by") is None and not settled and not agreed


def _decision(decision: dict[str, Any]) -> str:
    form, trust = decision.get("form"), f" [{decision['trust']}]"
    words = quote(shortened(decision["what"], LONGEST_DECISION), LONGEST_DECISION)
    if form is not None and decision["trust"] == "user":
        trust = ""
    if form == "refusal":
        return f"refused {quote(decision.get('about') or 'a call', 80)}: {words}{trust}"
    if form == "answer":
        question = shortened(decision.get("question") or "", LONGEST_DECISION)
        return f"{neutral(question)}{ANSWERED}{words}{trust}"
    if form == "plan":
        return f"on the plan: {words}{trust}"
    if form == "correction":
        return f"{words}{trust}"
    why = f" because {quote(decision['why'], 160)}" if decision["why"] else ""
    alternatives = ", ".join(quote(text, 60) for text in decision["alternatives"][:2])
    other = f"; not {alternatives}" if alternatives else ""
    return f"decided {words}{why}{other}{trust}"


def preference_item(row: FactRow) -> Item:
    """A fact that the user stated, in whichever session."""
    text = _fact("preference", row.key, row.value, row.trust)
    score = WEIGHTS["preference"]
    return Item(f"preference:{row.key}", "DONE", "preference", text, score, "", row.seq, row.trust, "rule")


def _fact(kind: str, key: str, value: Any, trust: str) -> str:
    text = value if isinstance(value, str) else _json(value)
    return f"{kind} {quote(key, 60)} = {quote(text, 160)} [{trust}]"


def _open(state: SessionState, end: SessionEnd) -> Iterator[ItemFields]:
    for question in state.questions.values():
        text = f"question for the user: {quote(question['note'] or '', 240)}"
        if question["to"] == "agent":
            text = f"note for the next agent: {quote(question['note'] or '', AGENT_NOTE)} [agent]"
        yield "OPEN", "question", question["id"], text, question["seq"], "agent"
    for pending in state.pending_actions.values():
        text = f"still to do: {quote(pending['what'] or '', 240)} [{pending['trust']}]"
        yield "OPEN", "pending", pending["id"], text, pending["seq"], pending["trust"]
    for artifact in state.artifacts.values():
        section: Section = "DONE" if artifact["done"] == artifact["total"] else "OPEN"
        yield section, "artifact", artifact["name"], _artifact(artifact), artifact["seq"], artifact["trust"]
    yield from failed_calls(state)
    for call, entry in state.running.items():
        ended_it = entry["seq"] >= state.at - AT_THE_END or not branch_of(state)
        if entry["tool"] in SUBAGENT_TOOLS or not ended_it:  # its request says what for, or work went on
            continue
        about = f" {quote(end.running[call], 160)}" if end.running.get(call) else ""
        text = f"{plain_name(entry['tool'])} call{about} began and never finished"
        yield "OPEN", "interrupted", call, text, entry["seq"], "agent"


def is_remark(item: Item) -> bool:
    """Whether an item is a correction without what it corrects."""
    return item.kind == "decision" and item.text.startswith('"')


def is_bare_answer(item: Item) -> bool:
    """Whether an item is an answer to a question that means nothing by itself."""
    question, arrow, _ = item.text.partition(ANSWERED)
    return item.kind == "decision" and bool(arrow) and GENERIC_QUESTION.fullmatch(question) is not None


def is_step(item: Item) -> bool:
    """Whether an item is an open step of the list that an agent kept for itself."""
    return item.kind == "pending" and ":pending:todo:" in item.id


def _artifact(artifact: dict[str, Any]) -> str:
    """An artifact on one line: how far it is, and its items, open ones first."""
    items = sorted(artifact["items"], key=lambda item: item["status"] in ("completed", "cancelled"))
    shown = "; ".join(
        f"[{BOXES[item['status']]}] {item['id']} {quote(item['text'] or '', 80)}"
        for item in items[:SHOWN_ITEMS]
    )
    more = f" and {artifact['total'] - SHOWN_ITEMS} more" if artifact["total"] > SHOWN_ITEMS else ""
    left = f", {artifact['done']} of {artifact['total']} done" if artifact["total"] else ""
    form = artifact["form"].replace("_", " ")
    rest = f": {shown}{more}" if shown else ""
    return f"{form} {quote(artifact['name'], 60)}{left}{rest} [{artifact['trust']}]"


def _answered(state: SessionState, since: int) -> Iterator[ItemFields]:
    """Answered questions.

    The state has no trust for an answer, so none counts as the user's own word.
    """
    for name, entry in reversed(state.answered.items()):
        if entry["seq"] >= since:
            answer = entry["answer"] if isinstance(entry["answer"], str) else _json(entry["answer"])
            what = "waived" if entry["waived"] else f"answered {quote(answer, 240)}"
            who = "a person" if entry["by"] == "person" else f"the {plain_name(entry['by'])}"
            text = (
                f"question {quote(entry['note'] or '', 160)}: {what} by {who} ({plain_name(entry['source'])})"
            )
            yield "DONE", "answered", name, text, entry["seq"], "agent"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _naming(learned: naming.NamingReport, state: SessionState) -> Iterator[ItemFields]:
    last = state.at - 1
    for folder in learned.folders:
        many = folder_progress_text(folder.processed, folder.total, folder.listed, " processed")
        text = f"folder {quote(folder.path, 160)}: {many}"
        yield "DONE", "folder", folder.path, text, last, "local"
    for rule in learned.conventions:
        before, after = rule.examples[0]
        place = f" into {quote(rule.destination, 100)}" if rule.destination else ""
        text = (
            f"naming in {quote(rule.folder, 120)}: {quote(rule.pattern, 160)}{place},"
            f" e.g. {quote(before, 100)} -> {quote(after, 100)} ({plural(rule.support, 'file')})"
        )
        if rule.ambiguous:
            text += f", or {quote(rule.ambiguous[0], 120)}"
        yield "DONE", "convention", f"{rule.folder}:{rule.pattern}", text, last, "local"
    for left in learned.skipped:
        some = ", ".join(quote(name, 60) for name in left.files[:NAMED_FILES])
        more = f" and {left.count - NAMED_FILES} more" if left.count > NAMED_FILES else ""
        name = f"{left.folder}:{left.rule}"
        if left.rule == naming.NO_RULE:  # perhaps not reached yet
            text = f"not processed in {quote(left.folder, 120)}, and no rule says why: {some}{more}"
            yield "OPEN", "skipped", name, text, last, "local"
        else:
            text = f"skipped in {quote(left.folder, 120)}: {quote(left.rule, 80)} ({some}{more})"
            yield "DONE", "skipped", name, text, last, "local"


def _files(state: SessionState, since: int) -> Iterator[ItemFields]:
    """The agent's changes as counts and the newest names, and the changes by others."""
    fresh = [entry for entry in state.files_modified.values() if entry.seq >= since]
    folder = state.workspace if branch_of(state) else None  # in a repository, paths are relative
    own = [entry for entry in reversed(fresh) if entry.by == "agent"]
    if own and not branch_of(state):
        text = f"files: {', '.join(_file(entry, folder) for entry in own[:LATEST_FILES])}"
        yield "DONE", "files", "agent", text, own[0].seq, "local"
        if more := own[LATEST_FILES:MORE_FILES]:
            text = f"files before those: {', '.join(_file(entry, folder) for entry in more)}"
            yield "DONE", "more", "agent", text, more[0].seq, "local"
    for by in ("person", "unknown"):
        others = [entry for entry in reversed(fresh) if entry.by == by]
        if others:
            named = ", ".join(
                f"{entry.authors()[-1].change} {_file(entry, folder)}" for entry in others[:LATEST_FILES]
            )
            more_of = len(others) - LATEST_FILES
            who = "a person" if by == "person" else "someone unknown"
            text = f"changed by {who}: {named}{f' and {more_of} more' if more_of > 0 else ''}"
            yield "DONE", "changed", by, text, others[0].seq, "local"


def _quarantined(state: SessionState) -> Iterator[ItemFields]:
    """How many calls are in quarantine, without their contents."""
    if calls := state.counts.get(QUARANTINED_CALLS):
        their = "files they changed" if calls > 1 else "files it changed"
        count = plural_with_verb(calls, "call", "are")
        text = f"{count} in quarantine and not shown here; {their} are in the timeline"
        yield "DONE", "held", "calls", text, state.at - 1, "local"


def _file(entry: FileEntry, folder: str | None) -> str:
    came = f" (was {quote(posixpath.basename(entry.origin), 80)})" if entry.origin else ""
    return quote(inside(entry.path, folder), 120) + came


def _folders(state: SessionState, learned: naming.NamingReport, since: int) -> Iterator[ItemFields]:
    """The folders with changes, most changed first.

    Folders with a progress have an item already.
    """
    known = {folder.path for folder in learned.folders}
    rows = []
    if branch_of(state):  # files of a repository are told by commits and as uncommitted
        return
    for path, entry in state.folders.items():
        counts = {change: entry[change] for change in (*CHANGES, "moved_out") if entry.get(change)}
        if counts and path not in known and entry["last_seq"] >= since:
            rows.append((sum(counts.values()), path, counts, entry["last_seq"]))
    rows.sort(key=lambda row: (-row[0], row[1]))
    if rows:
        texts = [f"{quote(path, 140)} ({_counts_text(counts)})" for _, path, counts, _ in rows[:MAX_FOLDERS]]
        more = f" and {len(rows) - MAX_FOLDERS} more" if len(rows) > MAX_FOLDERS else ""
        text = f"folders: {'; '.join(texts)}{more}"
        yield "DONE", "place", "folders", text, max(row[3] for row in rows), "local"


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {change.replace('_', ' ')}" for change, n in counts.items())


def _minor(state: SessionState, since: int, end: SessionEnd, headed: bool) -> Iterator[ItemFields]:
    """Items for when there is room: last words, sources, other requests, apps."""
    if end.said is not None and end.said[1] >= since:
        text = f"the agent's last words: {quote(' '.join(end.said[0].split()), MAX_LAST_WORDS)} [agent]"
        yield "DONE", "said", "last", text, end.said[1], "agent"
    looked = [(source, seq) for source, seq in end.looked_at if seq >= since]
    if looked:
        text = f"looked at: {', '.join(quote(source, 120) for source, _ in looked)}"
        yield "DONE", "looked", "sources", text, looked[0][1], "tool"
    requests = [row for row in state.requests.values() if row["seq"] >= since and (row["text"] or "").strip()]
    for request in requests[1:-2] if headed else requests:
        trust = "" if request["trust"] == "user" else f" [{request['trust']}]"
        text = f"{quote(request['text'] or '', 160)}{trust}"
        yield "DONE", "request", str(request["seq"]), text, request["seq"], request["trust"]
    if state.apps:
        named = [
            quote(app, 60) + (f" ({quote(entry['document'], 100)})" if entry["document"] else "")
            for app, entry in list(state.apps.items())[-6:]
        ]
        seq = max(entry["last_seq"] for entry in state.apps.values())
        yield "DONE", "apps", "apps", f"apps: {', '.join(named)}", seq, "local"


def branch_of(state: SessionState) -> str:
    return getattr(state, "branch", None) or ""


def inside(path: str, folder: str | None) -> str:
    """A path relative to a folder, if it is in it."""
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    return path.removeprefix(prefix) if prefix and path != prefix else path


KIND_REASONS: dict[str, str] = {
    "question": "an open question",
    "asking": "a question of the agent that waits for the user",
    "next": "what comes next",
    "refused": "a command that the user stopped",
    "proposed": "what the agent's last answer proposes",
    "pending": "still to do",
    "artifact": "a list that the work follows",
    "failed": "failed and unresolved",
    "interrupted": "began and never finished",
    "convention": "how files are named there",
    "changed": "changed by somebody other than the agent",
    "folder": "progress in a folder",
    "skipped": "skipped files",
    "preference": "your own preference, valid everywhere",
    "answered": "a question that was settled",
    "decision": "a decision",
    "said": "the agent's last words",
    "files": "the files changed last",
    "held": "quarantined calls",
    "place": "the folders changed most",
    "fact": "a fact that was noted",
    "evicted": "no longer in the model's context",
    "request": "another request",
    "mended": "failed at first, then worked",
    "looked": "sources that were read",
    "vain": "a search that found nothing",
    "more": "files changed before the last ones",
    "apps": "the apps in front",
    "commit": "a commit",
    "pull": "a pull request",
    "uncommitted": "changed and not committed",
    "checks": "how tests and checks are run",
    "note": "a document that was written for later",
    "added": "functions, tests and fields that were added",
    "habit": "recurs across sessions",
}
MORE_FAILED = "older failures, unresolved"
ADVERBS = ("earlier today", "yesterday", "on ")  # labels that need no "on" before them
PINNED = "you pinned it"
NO_ROOM_FOR_PINS = "you pinned it, but all pins together do not fit"
EXCLUDED = "you excluded it"
UNTRUSTED_ORIGIN = "untrusted origin, so it counts half"
NO_ROOM = "left out: more important facts filled the budget"


def inclusion_reason(item: Item, *, label: str | None, choice: str | None, included: bool) -> str:
    """Why an item is in the context or not.

    `label` is the day of its session, `choice` is pin or exclude.
    """
    if choice == "exclude":
        return EXCLUDED
    if choice == "pin":
        return PINNED if included else NO_ROOM_FOR_PINS
    kind = item.reason or (MORE_FAILED if item.id.endswith(":more:failed") else KIND_REASONS[item.kind])
    when = f", {label if label.startswith(ADVERBS) else f'on {label}'}" if label else ""
    untrusted = f"; {UNTRUSTED_ORIGIN}" if item.trust in UNTRUSTED else ""
    return f"{kind}{when}{untrusted}{'' if included else f'; {NO_ROOM}'}"
