"""Reminders: what memory adds at the moment of a call, because it changes the outcome.

A reminder has a key, which is a file name or the beginning of a command, and one line of text. The companion
writes all of them into two files. Before a call the hook script looks for the keys. Only if one occurs does
`hook.py` decide whether the agent is told: at most two lines at a call, five in a session, never one twice.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fazm_memory.clock import to_datetime
from fazm_memory.events import target_of
from fazm_memory.paths import private_folder, write_private
from fazm_memory.recall.fixes import SHELLS
from fazm_memory.recall.items import is_failed_lookup
from fazm_memory.recall.quoting import neutral, quote
from fazm_memory.recall.sentences import split_sentences
from fazm_memory.records import dataclass
from fazm_memory.session import SessionState
from fazm_memory.store import SessionRow, Store

KEYS_FILE = "reminders.keys"
LIST_FILE = "reminders.tsv"
MAX_REMINDERS = 60
MAX_AGE = 30 * 86_400_000_000  # microseconds
LONGEST_RULE = 200  # characters
SHORTEST_KEY, LONGEST_KEY = 5, 120
MAX_BETWEEN = 12  # events between a failure and the success
MAX_STEPS = 2
PROHIBITION = re.compile(
    r"(?i)(?:^|[,.;:!(-] ?|\b(?:please|and|but|so|just) )"
    r"(?:don'?t|do not|never|stop)\s+(?:ever |just |use |run |touch |edit |change |do |any )*"
)
GIT_VERBS = re.compile(r"(?i)(?:git )?(stash|push|commit|rebase|reset|merge|checkout|amend|clean)(?:ing)?\b")
IN_QUOTES = re.compile(r"[`'\"]([a-z][\w./:-]*(?: [\w./:=-]+){1,5})[`'\"]")
FILE_NAME = re.compile(r"(?<![\w/])(?:[\w.-]+/)*[\w-]+\.(?:[a-z]{1,5}|[a-z]+\d?)\b")
PLAIN_KEY = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+")  # the same in JSON


@dataclass(frozen=True)
class Reminder:
    """`key` occurs in the calls that it is about, `folder` is where it holds ("" for everywhere)."""

    key: str
    folder: str
    text: str
    at: int

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.key}\0{self.text}".encode()).hexdigest()[:12]


def session_reminders(store: Store, row: SessionRow, state: SessionState) -> Iterator[Reminder]:
    """The reminders that follow from one session."""
    folder = row.workspace or ""
    yield from _rules(state, folder)
    yield from _changed_by_a_person(state, folder, row.last_at)
    yield from _solved_failures(store, row, state)


def _solved_failures(store: Store, row: SessionRow, state: SessionState) -> Iterator[Reminder]:
    """Commands that failed and then worked unchanged, after other commands. Edits in between are done."""
    for error in state.errors.values():
        command = error.get("target") or ""
        if error["tool"] not in SHELLS or error["mended_by"] is None or "\n" in command:
            continue
        if error["mended_by"] - error["seq"] > MAX_BETWEEN or not SHORTEST_KEY <= len(command) <= LONGEST_KEY:
            continue
        between = store.quarantine_view.events(
            row.n, store.log.slice(row.n, row.id, error["seq"] + 1, error["mended_by"] + 1)
        )
        calls = [event for event in between if event.kind == "action" and event.payload is not None]
        if not calls or target_of(calls[-1].payload.input) != command:
            continue
        steps = [target_of(call.payload.input) for call in calls[:-1] if call.payload.tool in SHELLS]
        if len(steps) == len(calls) - 1 and 0 < len(steps) <= MAX_STEPS and not all(map(_only_looks, steps)):
            when = f"{to_datetime(calls[-1].at):%d %b}"
            told = f"{quote(command, 80)} failed on {when}: {quote(error['error'] or '', 90)}"
            solution = ", then ".join(quote(step, 80) for step in steps)
            yield Reminder(command, row.workspace or "", f"{told}; what solved it: {solution}", calls[-1].at)


def _only_looks(command: str) -> bool:
    return is_failed_lookup({"tool": "Bash", "outcome": "error", "target": command})


def _rules(state: SessionState, folder: str) -> Iterator[Reminder]:
    """What the user forbade, if it names a file or a command."""
    words = [*state.requests.values()]
    words += [row for row in state.decisions_made.values() if row.get("form") in ("refusal", "correction")]
    for row in words:
        if row["trust"] != "user" or row.get("superseded_by") is not None:
            continue
        for sentence in split_sentences(row.get("text") or row.get("what") or ""):
            if len(sentence.text) > LONGEST_RULE or sentence.text.endswith("?"):
                continue
            for found in PROHIBITION.finditer(sentence.text):
                for key in _keys(sentence.text[found.end() :]):
                    text = f"the user said: {quote(sentence.text, LONGEST_RULE)}"
                    yield Reminder(key, folder, text, row.get("at") or 0)


def _keys(words: str) -> Iterator[str]:
    """What a prohibition is about: a git command at its beginning, a quoted command, a file."""
    if verb := GIT_VERBS.match(words):
        yield "commit --amend" if verb[1].lower() == "amend" else f"git {verb[1].lower()}"
    clause = re.split(r"[,;]|\bbut\b|\binstead\b", words)[0]
    yield from (found[1] for found in IN_QUOTES.finditer(clause))
    yield from (posixpath.basename(found[0]) for found in FILE_NAME.finditer(clause))


def _changed_by_a_person(state: SessionState, folder: str, last: int) -> Iterator[Reminder]:
    """Files that the agent worked on and a person changed last."""
    for path, entry in state.files_modified.items():
        if entry.by == "person" and entry.change in ("modified", "renamed"):
            name = posixpath.basename(path)
            what = "renamed" if entry.change == "renamed" else "changed"
            text = f"a person {what} {neutral(name)} on {to_datetime(last):%d %b} after an agent worked on it"
            yield Reminder(name, folder, f"{text}; read it again first", last)


def collect_reminders(
    store: Store, sessions: Iterable[tuple[SessionRow, SessionState]], now: int
) -> list[Reminder]:
    """The reminders of these sessions, latest first, one for each key and text."""
    found: dict[str, Reminder] = {}
    for row, state in sessions:
        if now - row.last_at > MAX_AGE:
            continue
        for reminder in session_reminders(store, row, state):
            if len(reminder.key) >= SHORTEST_KEY and PLAIN_KEY.fullmatch(reminder.key):
                found.setdefault(reminder.id, reminder)
    return list(found.values())[:MAX_REMINDERS]


def write_reminders(folder: Path, reminders: Iterable[Reminder]) -> list[Path]:
    """Write the keys for the hook script, and the list for `hook.py`; nothing if there are no reminders."""
    rows = list(reminders)
    if not rows:
        return []
    folder = private_folder(folder)
    keys = "".join(f"{key}\n" for key in dict.fromkeys(row.key for row in rows))
    lines = "".join(f"{row.id}\t{row.key}\t{_plain(row.folder)}\t{_plain(row.text)}\n" for row in rows)
    for name, text in ((LIST_FILE, lines), (KEYS_FILE, keys)):
        write_private(folder / name, text.encode("utf-8", "replace"), sync=False)
    return [folder / LIST_FILE, folder / KEYS_FILE]


def _plain(text: Any) -> str:
    return " ".join(str(text).split())
