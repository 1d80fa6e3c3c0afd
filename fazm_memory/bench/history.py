"""A history: scripted sessions over several days, with questions whose answers are known.

Written as plain text, a line per happening, so that a history reads like the days it tells of:

    == name (sort)                          begins a history
    @ 2026-11-14 16:00 KEY AGENT FOLDER     what follows happens in this session, from then on
    ask … / note …                          the user's request / the agent's words
    seen FOLDER: a | b | c                  a listing
    mv FOLDER: old -> new                   a rename by the agent
    ok TOOL: input => output                a call that worked; `bad` one that failed with an error
    do TOOL created PATH                    a call that changed a file (created, modified, deleted, read)
    decide what // why // other, other      `todo ID: what`, `did ID`, `hand question`, `fact key = value`,
    own key = value                         … the user's own word
    person modified PATH                    seen on disk; also `unknown deleted PATH`
    start TOOL: input                       a call that never ends
    evict a | b                             `pause`, `close`, `resume`
    noise N                                 N calls that have nothing to do with any question
    ? sort | words to search by | answer & answer

A line that begins with four spaces goes on with the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.model.clock import parse

NOW = "2026-11-15T09:00:00+00:00"
SECOND = 1_000_000
URLS = ("http://", "https://")


class NotAHistory(ValueError):
    """A line that nothing is known to do with."""


@dataclass(frozen=True)
class Question:
    sort: str
    words: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class History:
    name: str
    sort: str
    workspace: str
    drafts: tuple[Draft, ...]
    questions: tuple[Question, ...]


def histories(text: str) -> list[History]:
    """Every history of a text."""
    made = []
    for part in text.split("\n== ")[1:] if not text.startswith("== ") else ("\n" + text).split("\n== ")[1:]:
        head, _, body = part.partition("\n")
        name, _, sort = head.rstrip(") ").partition(" (")
        made.append(_history(name, sort, body))
    return made


def _history(name: str, sort: str, body: str) -> History:
    teller = _Teller(name)
    questions = []
    for line in body.replace("\n    ", " ").splitlines():
        if line.startswith("? "):
            what, words, answers = (part.strip() for part in line[2:].split(" | ", 2))
            questions.append(Question(what, words, tuple(one.strip() for one in answers.split(" & "))))
        elif line.strip():
            teller.tell(line.strip())
    return History(name, sort, teller.first, tuple(teller.drafts), tuple(questions))


class _Teller:
    """Turns lines into drafts, a few seconds after one another."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.drafts: list[Draft] = []
        self.first = ""
        self.key, self.agent, self.folder, self.at, self.calls = "", "", "", 0, 0

    def tell(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if verb == "@":
            day, time, key, self.agent, self.folder = rest.split(" ", 4)
            self.key = f"{self.name}-{key}"
            self.first = self.first or self.folder
            self.at = parse(f"{day}T{time}:00+00:00")
            about = {"agent": self.agent, "workspace": self.folder, "agent_session_id": self.key}
            self._add("session.open", about)
        elif verb == "noise":
            for kind, payload in noise(self.folder, int(rest)):
                self._add(kind, payload)
        elif verb in SIMPLE:
            kind, payload, source = SIMPLE[verb](rest)
            self._add(kind, payload, source)
            if verb in SPOKEN:
                self._add("message", {"text": SPOKEN[verb].format(rest.replace(" // ", ", "))})
        elif verb in ("ok", "bad", "start", "do", "mv"):
            self._call(verb, rest)
        else:
            raise NotAHistory(line)

    def _add(self, kind: str, payload: dict[str, Any], source: str = "record") -> None:
        self.at += 7 * SECOND
        self.drafts.append(Draft(self.key, kind, payload, agent=self.agent, at=self.at, source=source))

    def _call(self, verb: str, rest: str) -> None:
        self.calls += 1
        call = {"call_id": f"{self.key}-{self.calls}"}
        if verb == "mv":
            folder, _, names = rest.partition(": ")
            old, new = names.split(" -> ")
            target = new if new.startswith("/") else f"{folder}/{new}"
            moved = {"path": target, "change": "renamed", "from": f"{folder}/{old}"}
            given = {"command": f"mv '{folder}/{old}' '{target}'"}
            self._add("action", call | {"tool": "Bash", "input": given, "files": [moved]})
        elif verb == "do":
            tool, change, path = rest.split(" ", 2)
            files = [{"path": path, "change": change}]
            self._add("action", call | {"tool": tool, "input": {"file_path": path}, "files": files})
        else:
            tool, _, told = rest.partition(": ")
            asked, _, answer = told.partition(" => ")
            name = "url" if asked.startswith(URLS) else "query" if tool == "WebSearch" else "command"
            payload = call | {"tool": tool, "input": {name: asked}}
            if verb == "start":
                self._add("action.start", payload)
            else:
                self._add("action", payload | ({"error": answer} if verb == "bad" else {"output": answer}))
                if verb == "bad":
                    self._add("message", {"text": f"That did not work: {answer}. Let me see."})


Said = tuple[str, dict[str, Any], str]


def _seen(rest: str) -> Said:
    folder, _, files = rest.partition(": ")
    return "seen", {"folder": folder, "files": files.split(" | ")}, "record"


def _decide(rest: str) -> Said:
    what, why, others = ([*rest.split(" // "), "", ""])[:3]
    told: dict[str, Any] = {"what": what}
    if why:
        told["why"] = why
    if others:
        told["alternatives"] = others.split(", ")
    return "decision", told, "record"


def _todo(rest: str) -> Said:
    name, _, what = rest.partition(": ")
    return "pending", {"id": name, "what": what}, "record"


def _fact(source: str) -> Any:
    def told(rest: str) -> Said:
        key, _, value = rest.partition(" = ")
        return "fact", {"key": key, "value": value}, source

    return told


def _by(hand: str) -> Any:
    def told(rest: str) -> Said:
        change, _, path = rest.partition(" ")
        return "file", {"path": path, "change": change, "by": hand, "evidence": "seen on disk"}, "files"

    return told


SIMPLE: dict[str, Any] = {
    "ask": lambda rest: ("prompt", {"text": rest}, "record"),
    "note": lambda rest: ("message", {"text": rest}, "record"),
    "hand": lambda rest: ("handoff", {"id": rest[:20], "to": "human", "note": rest}, "record"),
    "did": lambda rest: ("pending.done", {"id": rest}, "record"),
    "evict": lambda rest: ("evicted", {"keys": rest.split(" | ")}, "record"),
    "pause": lambda rest: ("session.pause", {}, "record"),
    "resume": lambda rest: ("session.resume", {}, "record"),
    "close": lambda rest: ("session.close", {}, "record"),
    "seen": _seen,
    "decide": _decide,
    "todo": _todo,
    "fact": _fact("record"),
    "own": _fact("cli"),
    "person": _by("person"),
    "unknown": _by("unknown"),
}

# What agents say besides: so that the last messages are worth something too.
SPOKEN = {
    "decide": "I will go this way: {}.",
    "todo": "Not done yet: {}.",
    "fact": "Good to know: {}.",
    "hand": "{}",
}
LOOKS = ("ls -la {folder}", "git status", "wc -l {folder}/part-{n}.txt", "head -50 {folder}/log-{n}.txt",
         "stat {folder}/item-{n}", "find {folder} -newer marker-{n}", "du -sh {folder}", "date")  # fmt: skip


def noise(folder: str, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What most of any session consists of: looking around, and saying so."""
    for n in range(count):
        command = LOOKS[n % len(LOOKS)].format(folder=folder, n=n)
        listing = " ".join(f"entry-{n}-{m}.dat" for m in range(6))
        yield "action", {"tool": "Bash", "input": {"command": command}, "output": listing}
        if n % 3 == 0:
            yield (
                "message",
                {"text": f"Entry {n} is as expected. I look at the next part before I go on with it."},
            )
