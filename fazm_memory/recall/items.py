"""Items: the single facts a context is made of, each with its place in the log and how much it matters.

An item matters by what it changes for the next step: an open question before a decision, a naming convention
before a count of files. Everything a record said is quoted by the fence; the words around it are ours.
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fazm_memory.log.facts import FactRow
from fazm_memory.model.counting import plural, they
from fazm_memory.model.learned import NO_RULE, Learned, how_completely
from fazm_memory.model.state import HELD_BACK, SessionState
from fazm_memory.model.trust import DOUBTED
from fazm_memory.model.working_set import FileEntry
from fazm_memory.recall.failures import called, failed_calls
from fazm_memory.recall.fence import plain_name, quote
from fazm_memory.recall.recent import Recent

Section = Literal["DONE", "OPEN"]

WEIGHTS: dict[str, float] = {
    "question": 100,
    "pending": 90,
    "failed": 80,
    "interrupted": 78,
    "convention": 75,
    "changed": 72,
    "folder": 70,
    "skipped": 65,
    "preference": 64,
    "answered": 62,
    "decision": 60,
    "said": 55,
    "files": 50,
    "held": 49,
    "place": 48,
    "fact": 45,
    "evicted": 40,
    "request": 35,
    "mended": 30,
    "looked": 28,
    "vain": 25,
    "more": 20,
    "apps": 15,
}
NOTHING = Recent()
CHANGES = ("created", "modified", "renamed", "deleted")
NAMED_FILES = 4
LATEST_FILES = 8
MORE_FILES = 24
PLACES = 6
SAID = 400


@dataclass(frozen=True)
class Item:
    """One fact. `id` is stable, so that a person's choice about it lasts."""

    id: str
    section: Section
    kind: str
    text: str
    score: float
    session: str
    seq: int
    trust: str


def items_of(
    state: SessionState,
    learned: Learned,
    *,
    since: int,
    worth: float,
    end: Recent = NOTHING,
    headed: bool = True,
) -> list[Item]:
    """The items of one session from position `since` on; `worth` is how much the session itself matters, and
    a session that is `headed` has its first request and the last two in its heading."""
    made: list[Item] = []
    for section, kind, name, text, seq, trust in _told(state, learned, since, end, headed):
        doubt = 0.5 if trust in DOUBTED else 1.0
        score = WEIGHTS[kind] * worth * doubt + min(seq, 10**6) / 10**7
        made.append(
            Item(f"{state.session[:8]}:{kind}:{name}", section, kind, text, score, state.session, seq, trust)
        )
    return made


Told = tuple[Section, str, str, str, int, str]


def _told(state: SessionState, learned: Learned, since: int, end: Recent, headed: bool) -> Iterator[Told]:
    yield from _open(state, end)
    yield from _organised(learned, state)
    yield from _files(state, since)
    yield from _held(state)
    yield from _places(state, learned, since)
    yield from _asides(state, since, end, headed)
    yield from _answered(state, since)
    for one in reversed(list(state.decisions_made.values())):
        if one["seq"] >= since:
            why = f" because {quote(one['why'], 160)}" if one["why"] else ""
            other = (
                f"; not {', '.join(quote(alt, 60) for alt in one['alternatives'][:2])}"
                if one["alternatives"]
                else ""
            )
            text = f"decided {quote(one['what'], 160)}{why}{other} [{one['trust']}]"
            yield "DONE", "decision", str(one["seq"]), text, one["seq"], one["trust"]
    for key, one in state.facts.items():
        if one["trust"] != "user":  # the user's own word holds everywhere, not only in its session
            text = _fact("fact", key, one["value"], one["trust"])
            yield "DONE", "fact", key, text, one["seq"], one["trust"]
    for one in state.errors.values():
        if one["mended_by"] is not None and one["seq"] >= since:
            text = f"{called(one)} {one['outcome']}: {quote(one['error'] or '', 100)}"
            text += f", then worked @{one['mended_by']}"
            yield "DONE", "mended", str(one["seq"]), text, one["seq"], "tool"
    if state.evicted_keys:
        keys = list(state.evicted_keys)
        named = ", ".join(quote(key, 80) for key in keys[-5:])
        more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
        seq = max(state.evicted_keys.values())
        yield "DONE", "evicted", "keys", f"no longer in the model's context: {named}{more}", seq, "agent"


def preference(row: FactRow) -> Item:
    """The user's own word, whatever session it was said in."""
    text = _fact("preference", row.key, row.value, row.trust)
    score = WEIGHTS["preference"]
    return Item(f"preference:{row.key}", "DONE", "preference", text, score, "", row.seq, row.trust)


def _fact(kind: str, key: str, value: Any, trust: str) -> str:
    said = value if isinstance(value, str) else _json(value)
    return f"{kind} {quote(key, 60)} = {quote(said, 160)} [{trust}]"


def _open(state: SessionState, end: Recent) -> Iterator[Told]:
    for one in state.questions.values():
        text = (
            f"question for the {'user' if one['to'] == 'human' else 'agent'}: {quote(one['note'] or '', 240)}"
        )
        yield "OPEN", "question", one["id"], text, one["seq"], "agent"
    for one in state.pending_actions.values():
        yield (
            "OPEN",
            "pending",
            one["id"],
            f"still to do: {quote(one['what'] or '', 240)} [{one['trust']}]",
            one["seq"],
            one["trust"],
        )
    yield from failed_calls(state)
    for call, one in state.running.items():
        about = f" {quote(end.running[call], 160)}" if end.running.get(call) else ""
        text = f"{plain_name(one['tool'])} call{about} began and never finished"
        yield "OPEN", "interrupted", call, text, one["seq"], "agent"


def _answered(state: SessionState, since: int) -> Iterator[Told]:
    """What was asked and decided: an agent that waited for it goes on by it. The state does not say how far
    an answer is believed, so none is told as the user's own word."""
    for name, one in reversed(state.answered.items()):
        if one["seq"] >= since:
            said = one["answer"] if isinstance(one["answer"], str) else _json(one["answer"])
            what = "waived" if one["waived"] else f"answered {quote(said, 240)}"
            who = f"{_hand(one['by'])} ({plain_name(one['source'])})"
            text = f"question {quote(one['note'] or '', 160)}: {what} by {who}"
            yield "DONE", "answered", name, text, one["seq"], "agent"


def _hand(actor: str) -> str:
    return "a person" if actor == "person" else f"the {plain_name(actor)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _organised(learned: Learned, state: SessionState) -> Iterator[Told]:
    last = state.at - 1
    for folder in learned.folders:
        many = how_completely(folder.processed, folder.total, folder.listed, " processed")
        text = f"folder {quote(folder.path, 160)}: {many}"
        yield "DONE", "folder", folder.path, text, last, "local"
    for one in learned.conventions:
        before, after = one.examples[0]
        place = f" into {quote(one.destination, 100)}" if one.destination else ""
        text = (
            f"naming in {quote(one.folder, 120)}: {quote(one.pattern, 160)}{place},"
            f" e.g. {quote(before, 100)} -> {quote(after, 100)} ({plural(one.support, 'file')})"
        )
        if one.ambiguous:
            text += f", or {quote(one.ambiguous[0], 120)}"
        yield "DONE", "convention", f"{one.folder}:{one.pattern}", text, last, "local"
    for left in learned.skipped:
        some = ", ".join(quote(name, 60) for name in left.files[:NAMED_FILES])
        more = f" and {left.count - NAMED_FILES} more" if left.count > NAMED_FILES else ""
        name = f"{left.folder}:{left.rule}"
        if left.rule == NO_RULE:  # as likely not reached as left alone
            text = f"not processed in {quote(left.folder, 120)}, and no rule says why: {some}{more}"
            yield "OPEN", "skipped", name, text, last, "local"
        else:
            text = f"skipped in {quote(left.folder, 120)}: {quote(left.rule, 80)} ({some}{more})"
            yield "DONE", "skipped", name, text, last, "local"


def _files(state: SessionState, since: int) -> Iterator[Told]:
    """The agent's own changes as counts with the newest named; others' changes one line each hand."""
    fresh = [entry for entry in state.files_modified.values() if entry.seq >= since]
    own = [entry for entry in reversed(fresh) if entry.by == "agent"]
    if own:
        counts: Counter[str] = Counter(entry.change for entry in own)
        told = ", ".join(f"{counts[change]} {change}" for change in CHANGES if counts[change])
        text = f"files: {told}; latest {', '.join(map(_file, own[:LATEST_FILES]))}"
        yield "DONE", "files", "agent", text, own[0].seq, "local"
        if more := own[LATEST_FILES:MORE_FILES]:
            text = f"files before those: {', '.join(map(_file, more))}"
            yield "DONE", "more", "agent", text, more[0].seq, "local"
    for hand in ("person", "unknown"):
        others = [entry for entry in reversed(fresh) if entry.by == hand]
        if others:
            named = ", ".join(f"{entry.change} {_file(entry)}" for entry in others[:LATEST_FILES])
            more_of = len(others) - LATEST_FILES
            who = "a person" if hand == "person" else "someone unknown"
            text = f"changed by {who}: {named}{f' and {more_of} more' if more_of > 0 else ''}"
            yield "DONE", "changed", hand, text, others[0].seq, "local"


def _held(state: SessionState) -> Iterator[Told]:
    """That there was more than is told, in our own words: nothing of what is held back is in them."""
    if calls := state.counts.get(HELD_BACK):
        their = "files they changed" if calls > 1 else "files it changed"
        text = f"{they(calls, 'call', 'are')} in quarantine and not told here; {their} are in the timeline"
        yield "DONE", "held", "calls", text, state.at - 1, "local"


def _file(entry: FileEntry) -> str:
    came = f" (was {quote(posixpath.basename(entry.origin), 80)})" if entry.origin else ""
    return quote(entry.path, 120) + came


def _places(state: SessionState, learned: Learned, since: int) -> Iterator[Told]:
    """The folders in which something was changed, most changed first, but for those told with a progress."""
    known = {folder.path for folder in learned.folders}
    rows = []
    for path, entry in state.folders.items():
        counts = {change: entry[change] for change in (*CHANGES, "moved_out") if entry.get(change)}
        if counts and path not in known and entry["last_seq"] >= since:
            rows.append((sum(counts.values()), path, counts, entry["last_seq"]))
    rows.sort(key=lambda row: (-row[0], row[1]))
    if rows:
        told = "; ".join(f"{quote(path, 140)} ({_counted(counts)})" for _, path, counts, _ in rows[:PLACES])
        more = f" and {len(rows) - PLACES} more" if len(rows) > PLACES else ""
        yield "DONE", "place", "folders", f"folders: {told}{more}", max(row[3] for row in rows), "local"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {change.replace('_', ' ')}" for change, n in counts.items())


def _asides(state: SessionState, since: int, end: Recent, headed: bool) -> Iterator[Told]:
    """What is worth a line when there is room: the agent's last word, sources, requests in between, apps."""
    if end.said is not None and end.said[1] >= since:
        text = f"the agent's last words: {quote(' '.join(end.said[0].split()), SAID)} [agent]"
        yield "DONE", "said", "last", text, end.said[1], "agent"
    looked = [(source, seq) for source, seq in end.looked_at if seq >= since]
    if looked:
        text = f"looked at: {', '.join(quote(source, 120) for source, _ in looked)}"
        yield "DONE", "looked", "sources", text, looked[0][1], "tool"
    asked = [one for one in state.requests.values() if one["seq"] >= since]
    for one in asked[1:-2] if headed else asked:
        text = f"also asked: {quote(one['text'] or '', 160)} [{one['trust']}]"
        yield "DONE", "request", str(one["seq"]), text, one["seq"], one["trust"]
    if state.apps:
        named = [
            quote(app, 60) + (f" ({quote(one['document'], 100)})" if one["document"] else "")
            for app, one in list(state.apps.items())[-6:]
        ]
        seq = max(one["last_seq"] for one in state.apps.values())
        yield "DONE", "apps", "apps", f"apps: {', '.join(named)}", seq, "local"
