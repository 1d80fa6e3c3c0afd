"""Reminders: what memory adds at the moment of a call.

A reminder has a key, which is a file name or the beginning of a command, and one line of text. What the user
said when an agent had changed a file also has words: it is told only if the next change of the file has one
of them. The companion writes all reminders into two files. Before a call the hook script looks for the keys.
Only if one occurs does `hook.py` decide whether the agent is told: at most two lines at a call, five in a
session, never one twice.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from fazm_memory.clock import to_datetime
from fazm_memory.events import target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import private_folder, write_private
from fazm_memory.recall.dialogue import split_sentences
from fazm_memory.recall.fixes import SHELLS
from fazm_memory.recall.items import is_failed_lookup
from fazm_memory.recall.quoting import neutral, quote
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
PROHIBITION = lazy_regex(
    r"(?i)(?:^|[,.;:!(-] ?|\b(?:please|and|but|so|just) )"
    r"(?:don'?t|do not|never|stop)\s+(?:ever |just |use |run |touch |edit |change |do |any )*"
)
GIT_VERBS = lazy_regex(r"(?i)(?:git )?(stash|push|commit|rebase|reset|merge|checkout|amend|clean)(?:ing)?\b")
IN_QUOTES = lazy_regex(r"[`'\"]([a-z][\w./:-]*(?: [\w./:=-]+){1,5})[`'\"]")
FILE_NAME = lazy_regex(r"(?<![\w/])(?:[\w.-]+/)*[\w-]+\.(?:[a-z]{1,5}|[a-z]+\d?)\b")
REFUSED_CHANGE = lazy_regex(r"(?:Edit|MultiEdit|Write|NotebookEdit) (/[^…]+)")
# What is to be done at once says nothing about the next change.
MOMENTARY = lazy_regex(
    r"(?i)^(?:no[,.]? |ok[,.]? |please )*(?:revert|undo|stop|wait|continue|roll ?back|write down|let'?s"
    r"|can you|what (?:we|you|i)|could you|replace lines?)\b|\?[)\s]*$"
)
WORD = lazy_regex(r"[A-Za-z_][\w.-]*")
IDENTIFIER = lazy_regex(r"[a-z][A-Z]|\w_\w|\w\.\w|[a-z]\d")
SHORTEST_WORD = 5  # characters of a word that shows what a change is about
USUAL_SHARE = 0.07  # of the sessions; a word in the requests of more of them is usual
PLAIN_KEY = lazy_regex(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+")  # the same in JSON


@dataclass(frozen=True)
class Reminder:
    """One reminder for the hook.

    `key` occurs in the calls that it is about, `folder` is where it holds ("" for everywhere).

    With `words`, a change of the file must also have one of them.
    """

    key: str
    folder: str
    text: str
    at: int
    words: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]  # nothing is said twice, for any key


def session_reminders(
    store: Store, row: SessionRow, state: SessionState, usual: Container[str] = ()
) -> Iterator[Reminder]:
    """The reminders that follow from one session.

    `usual` words are common in requests and say little.
    """
    folder = row.workspace or ""
    yield from _rules(state, folder)
    yield from _said_about_files(state, folder, usual)
    yield from _changed_by_a_person(state, folder, row.last_at)
    yield from _solved_failures(store, row, state)


def _solved_failures(store: Store, row: SessionRow, state: SessionState) -> Iterator[Reminder]:
    """Commands that failed and then worked unchanged, after other commands.

    Edits in between are done.
    """
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


def _said_about_files(state: SessionState, folder: str, usual: Container[str]) -> Iterator[Reminder]:
    """What the user said when refusing the change of a file, or just after a change."""
    for row in state.decisions_made.values():
        if row["trust"] != "user" or row.get("superseded_by") is not None:
            continue
        refused = REFUSED_CHANGE.fullmatch(row.get("about") or "") if row.get("form") == "refusal" else None
        files = [refused[1]] if refused else row.get("files") or []
        for sentence in split_sentences(row["what"] or "") if files else ():
            words = _telling_words(sentence.text, usual)
            if not words or len(sentence.text) > LONGEST_RULE or MOMENTARY.search(sentence.text):
                continue
            when = f"{to_datetime(row['at']):%d %b}"
            text = (
                f"on {when}, about a change of this file, the user said: {quote(sentence.text, LONGEST_RULE)}"
            )
            for path in files:
                yield Reminder(posixpath.basename(path), folder, text, row["at"], words)
            break  # one line for each decision


def _telling_words(text: str, usual: Container[str]) -> tuple[str, ...]:
    """The words of a sentence that show in a change whether it is about the same.

    An identifier, or the word that is forbidden, shows it alone and begins with a plus sign. Of others it
    takes two.
    """
    forbidden = [
        text[found.end() :].split(" ", 1)[0].strip(",.;:").lower() for found in PROHIBITION.finditer(text)
    ]
    words = dict.fromkeys(word.rstrip(".-") for word in WORD.findall(text))
    found = []
    for word in words:
        low = word.lower()
        if len(low) >= SHORTEST_WORD and low not in usual:
            found.append(f"+{low}" if low in forbidden or IDENTIFIER.search(word) else low)
    return tuple(found)


def usual_words(states: Iterable[SessionState]) -> frozenset[str]:
    """Words that occur in the requests of more than a few sessions."""
    counts: Counter[str] = Counter()
    sessions = 0
    for state in states:
        sessions += 1
        said = " ".join(row["text"] or "" for row in state.requests.values())
        counts.update({word.rstrip(".-") for word in WORD.findall(said.lower())})
    most = max(1, round(sessions * USUAL_SHARE))
    return frozenset(word for word, count in counts.items() if count > most)


def _keys(words: str) -> Iterator[str]:
    """What a prohibition is about: a git command, a quoted command, a file."""
    if verb := GIT_VERBS.match(words):
        yield "commit --amend" if verb[1].lower() == "amend" else f"git {verb[1].lower()}"
    clause = re.split(r"[,;]|\bbut\b|\binstead\b", words)[0]
    yield from (found[1] for found in IN_QUOTES.finditer(clause))
    yield from (posixpath.basename(found[0]) for found in FILE_NAME.finditer(clause))


def _changed_by_a_person(state: SessionState, folder: str, last: int) -> Iterator[Reminder]:
    """Files that the agent worked on and a person changed last."""
    for path, entry in state.files_modified.items():
        authors = entry.authors()
        by_agent = any(author.by == "agent" for author in authors)
        if by_agent and entry.by == "person" and authors[-1].change in ("modified", "renamed"):
            name = posixpath.basename(path)
            what = "renamed" if authors[-1].change == "renamed" else "changed"
            text = f"a person {what} {neutral(name)} on {to_datetime(last):%d %b} after an agent worked on it"
            yield Reminder(name, folder, f"{text}; read it again first", last)


def collect_reminders(
    store: Store, sessions: Iterable[tuple[SessionRow, SessionState]], now: int
) -> list[Reminder]:
    """The reminders of these sessions, latest first, one for each key and text."""
    found: dict[tuple[str, str], Reminder] = {}
    recent = [(row, state) for row, state in sessions if now - row.last_at <= MAX_AGE]
    usual = usual_words(state for _, state in recent)
    for row, state in recent:
        for reminder in session_reminders(store, row, state, usual):
            if len(reminder.key) >= SHORTEST_KEY and PLAIN_KEY.fullmatch(reminder.key):
                found.setdefault((reminder.id, reminder.key), reminder)
    return list(found.values())[:MAX_REMINDERS]


def write_reminders(folder: Path, reminders: Iterable[Reminder]) -> list[Path]:
    """Write the keys for the hook script and the list for `hook.py`.

    Without reminders there is neither.
    """
    rows = list(reminders)
    if not rows:
        return []
    folder = private_folder(folder)
    keys = "".join(f"{key}\n" for key in dict.fromkeys(row.key for row in rows))
    lines = "".join(
        f"{row.id}\t{row.key}\t{_plain(row.folder)}\t{' '.join(row.words)}\t{_plain(row.text)}\n"
        for row in rows
    )
    files = {LIST_FILE: lines, KEYS_FILE: keys}
    for name, text in files.items():
        write_private(folder / name, text.encode("utf-8", "replace"), sync=False)
    return [folder / name for name in files]


def _plain(text: Any) -> str:
    return " ".join(str(text).split())
