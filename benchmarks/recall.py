"""Recall suite: are the answers in the context, and does search find them?

Histories are recorded as an agent would record them. Then each question is put to the context, to the first
five search hits, and, within the same budget, to what is usually handed on instead: the last messages, and a
list of the latest actions. With notes and transcripts of real days, those come first (`real_days.py`).

A history is scripted sessions over several days, with questions whose answers are known. It is plain text,
one line per event (`histories/*.txt`):

    == name (sort)                          begins a history
    @ 2026-11-14 16:00 KEY AGENT FOLDER     the session of the following lines, and their time
    ask … / note …                          the user's request / the agent's message
    seen FOLDER: a | b | c                  a directory listing
    mv FOLDER: old -> new                   a rename by the agent
    ok TOOL: input => output                a call that worked; `bad` for one that failed with an error
    do TOOL created PATH                    a call that changed a file (created, modified, deleted, read)
    decide what // why // other, other      `todo ID: what`, `did ID`, `hand question`, `fact key = value`
    own key = value                         a fact from the user
    person modified PATH                    seen on disk; also `unknown deleted PATH`
    start TOOL: input                       a call that never ends
    evict a | b                             `pause`, `close`, `resume`
    noise N                                 N calls that no question is about
    ? sort | search words | answer & answer

A line that begins with four spaces continues the line before.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import real_days
from benchmarks.figures import Figure, Goal, Options, Report
from fazm_memory.app import Memory
from fazm_memory.clock import parse_time
from fazm_memory.config import Config
from fazm_memory.events import Draft, Event, target_of
from fazm_memory.recall import BLOCK, CHARACTERS_PER_TOKEN, quoted_strings

HISTORIES = Path(__file__).with_name("histories")
HITS = 5
NOW = "2026-11-15T09:00:00+00:00"
SECOND = 1_000_000
URLS = ("http://", "https://")
OTHERS = (("messages", "the last messages, same budget"), ("actions", "the latest actions, same budget"))


def run(options: Options, report: Report) -> Iterator[Figure]:
    if options.notes is not None:
        yield from _real_days(options, report)
    if options.only is None:
        yield from _scripted(options, report)


def _real_days(options: Options, report: Report) -> Iterator[Figure]:
    scores = list(real_days.score_days(options, report))
    groups: dict[tuple[int | None, str], list[real_days.DayScore]] = defaultdict(list)
    for score in scores:
        groups[score.budget, score.source].append(score)
    for (budget, source), days in groups.items():
        where = f"{len(days)} real days{'' if budget is None else f', {budget:,} tokens'}, {source}"
        measures = {
            "facts": [day.facts for day in days],
            "must-facts": [day.must for day in days if day.must is not None],
            "noise": [day.noise for day in days],
        }
        for measure, values in measures.items():
            if measure != "noise" or budget is not None:
                yield _share(f"{where}: {measure}", values, GOALS.get((budget, source, measure)))


# Shares of a note in percent: (budget, source, measure).
GOALS: dict[tuple[int | None, str, str], float] = {
    (1000, real_days.CONTEXT, "facts"): 84,
    (2000, real_days.CONTEXT, "facts"): 92,
    (2000, real_days.CONTEXT, "must-facts"): 97,
    (2000, real_days.CONTEXT, "noise"): 5,
}


def _share(what: str, values: Sequence[float], goal: float | None = None) -> Figure:
    """The mean of shares in percent, with its confidence interval.

    A goal on noise is an upper bound.
    """
    low, high = real_days.interval(values)
    bound = None if goal is None else Goal(at_most=1) if what.endswith("noise") else Goal(at_least=1)
    mean = 100 * fmean(values) if values else 0.0
    against = "" if goal is None else "the goal"
    return Figure(what, "%", mean, goal, against, goal=bound, interval=(100 * low, 100 * high))


def _scripted(options: Options, report: Report) -> Iterator[Figure]:
    scripted = all_histories()
    questions = sum(len(history.questions) for history in scripted)
    asked: list[QuestionResult] = []
    for result in ask_all(scripted, options.folder):
        asked.append(result)
        report("asking", len(asked), questions)
    for sort, share in shares(asked).items():
        what = f"{sort}: {share['questions']:.0f} questions"
        for other, against in OTHERS:
            yield Figure(f"{what}, context", "%", 100 * share["context"], 100 * share[other], against)
    what = f"{questions} questions of {len(scripted)} histories"
    goal = 95
    yield _share(f"{what}, context", [float(result.context) for result in asked], goal)
    yield _share(f"{what}, search, first five hits", [float(result.search) for result in asked], goal)
    days = list(ask_all(desktop_days(), options.folder))
    what = f"{len(days)} questions of {len(desktop_days())} desktop days"
    yield _share(f"{what}, context", [float(result.context) for result in days], goal)
    yield _share(f"{what}, search, first five hits", [float(result.search) for result in days])
    yield _share(f"{what}, the last messages", [float(result.messages) for result in days])


@dataclass(frozen=True)
class QuestionResult:
    """One question of one history, and where its answer was."""

    history: str
    question: Question
    context: bool
    search: bool
    messages: bool
    actions: bool


def all_histories() -> list[History]:
    return [
        history
        for path in sorted(HISTORIES.glob("*.txt"))
        for history in histories(path.read_text(encoding="utf-8"))
    ]


def desktop_days() -> list[History]:
    """Days at a desktop, told in words only: mail, forms, research, filing.

    No search was tuned on them.
    """
    return list(histories((HISTORIES / "desktop" / "days.txt").read_text(encoding="utf-8")))


def ask_all(recorded: list[History], folder: Path | None = None) -> Iterator[QuestionResult]:
    """Ask every question of every history.

    All are in one store, so that search has to choose.
    """
    with tempfile.TemporaryDirectory(prefix="fazm-memory-recall-", dir=folder) as name:
        home = Path(name) / "home"
        memory = Memory(Config(home=home, user_home=home, key="file"), lambda: parse_time(NOW))
        try:
            for history in recorded:
                for result in memory.sessions.record(history.drafts):
                    if result.error is not None:
                        raise result.error
            for history in recorded:
                yield from ask(memory, history)
        finally:
            memory.close()


def ask(memory: Memory, history: History) -> Iterator[QuestionResult]:
    context = plain(memory.recall.context(history.workspace).text)
    room = memory.config.context_tokens * CHARACTERS_PER_TOKEN
    events = _in_time(memory, history.workspace)
    messages = newest([_message(event) for event in events], room)
    actions = newest([_action(event) for event in events], room)
    for question in history.questions:
        hits = [real_days.whole_hit(memory, hit) for hit in memory.recall.search(question.words, limit=HITS)]
        yield QuestionResult(
            history.name,
            question,
            answered(question, context),
            answered(question, "\n".join(hits)),
            answered(question, messages),
            answered(question, actions),
        )


def plain(context: str) -> str:
    """A context with its quoted strings decoded."""
    found = BLOCK.search(context)
    return context if found is None else "\n".join([context, *quoted_strings(found[2])])


def answered(question: Question, text: str) -> bool:
    return all(answer in text for answer in question.answers)


def newest(lines: list[str], room: int) -> str:
    """The newest lines that fit."""
    chosen: list[str] = []
    for line in reversed([line for line in lines if line]):
        room -= len(line) + 1
        if room < 0:
            break
        chosen.append(line)
    return "\n".join(reversed(chosen))


def _in_time(memory: Memory, workspace: str) -> list[Event]:
    rows = memory.store.sessions.in_workspace(workspace, limit=100)
    events = [event for row in rows for event in memory.store.log.slice(row.n, row.id)]
    return sorted(events, key=lambda event: (event.at, event.seq))


def _message(event: Event) -> str:
    return f"{event.kind}: {event.payload.text}" if event.kind in ("prompt", "message") else ""


def _action(event: Event) -> str:
    if event.kind != "action":
        return ""
    p = event.payload
    files = ", ".join(f"{touch.change} {touch.path}" for touch in p.files)
    return f"{p.tool} {target_of(p.input)} {p.outcome} {p.error or p.output_summary or ''} {files}"


def shares(asked: list[QuestionResult]) -> dict[str, dict[str, float]]:
    """Share of the questions answered, by sort of question and in all."""
    groups: dict[str, list[QuestionResult]] = defaultdict(list)
    for result in asked:
        groups[result.question.sort].append(result)
    groups = dict(sorted(groups.items())) | {"all": asked}
    return {
        sort: {
            who: sum(getattr(result, who) for result in some) / len(some)
            for who in ("context", "search", "messages", "actions")
        }
        | {"questions": len(some)}
        for sort, some in groups.items()
    }


class InvalidHistory(ValueError):
    """A line that cannot be understood."""


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
    """Parse every history of a text."""
    parsed = []
    for part in text.split("\n== ")[1:] if not text.startswith("== ") else ("\n" + text).split("\n== ")[1:]:
        head, _, body = part.partition("\n")
        name, _, sort = head.rstrip(") ").partition(" (")
        parsed.append(_history(name, sort, body))
    return parsed


def _history(name: str, sort: str, body: str) -> History:
    script = _Script(name)
    questions = []
    for line in body.replace("\n    ", " ").splitlines():
        if line.startswith("? "):
            what, words, answers = (part.strip() for part in line[2:].split(" | ", 2))
            questions.append(Question(what, words, tuple(answer.strip() for answer in answers.split(" & "))))
        elif line.strip():
            script.run(line.strip())
    return History(name, sort, script.workspace, tuple(script.drafts), tuple(questions))


class _Script:
    """Turns lines into drafts, a few seconds apart."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.drafts: list[Draft] = []
        self.workspace = ""
        self.key, self.agent, self.folder, self.at, self.calls = "", "", "", 0, 0

    def run(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if verb == "@":
            day, time, key, self.agent, self.folder = rest.split(" ", 4)
            self.key = f"{self.name}-{key}"
            self.workspace = self.workspace or self.folder
            self.at = parse_time(f"{day}T{time}:00+00:00")
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
            raise InvalidHistory(line)

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
            arguments = {"command": f"mv '{folder}/{old}' '{target}'"}
            self._add("action", call | {"tool": "Bash", "input": arguments, "files": [moved]})
        elif verb == "do":
            tool, change, path = rest.split(" ", 2)
            files = [{"path": path, "change": change}]
            self._add("action", call | {"tool": tool, "input": {"file_path": path}, "files": files})
        else:
            tool, _, call_text = rest.partition(": ")
            asked, _, answer = call_text.partition(" => ")
            name = "url" if asked.startswith(URLS) else "query" if tool == "WebSearch" else "command"
            payload = call | {"tool": tool, "input": {name: asked}}
            if verb == "start":
                self._add("action.start", payload)
            else:
                self._add("action", payload | ({"error": answer} if verb == "bad" else {"output": answer}))
                if verb == "bad":
                    self._add("message", {"text": f"That did not work: {answer}. Let me see."})


Line = tuple[str, dict[str, Any], str]


def _listing(rest: str) -> Line:
    folder, _, files = rest.partition(": ")
    return "seen", {"folder": folder, "files": files.split(" | ")}, "record"


def _decide(rest: str) -> Line:
    what, why, others = ([*rest.split(" // "), "", ""])[:3]
    decision: dict[str, Any] = {"what": what}
    if why:
        decision["why"] = why
    if others:
        decision["alternatives"] = others.split(", ")
    return "decision", decision, "record"


def _todo(rest: str) -> Line:
    name, _, what = rest.partition(": ")
    return "pending", {"id": name, "what": what}, "record"


def _fact(source: str) -> Any:
    def parse_fact(rest: str) -> Line:
        key, _, value = rest.partition(" = ")
        return "fact", {"key": key, "value": value}, source

    return parse_fact


def _changed(by: str) -> Any:
    def parse_change(rest: str) -> Line:
        change, _, path = rest.partition(" ")
        return "file", {"path": path, "change": change, "by": by, "evidence": "seen on disk"}, "files"

    return parse_change


SIMPLE: dict[str, Any] = {
    "ask": lambda rest: ("prompt", {"text": rest}, "record"),
    "note": lambda rest: ("message", {"text": rest}, "record"),
    "hand": lambda rest: ("handoff", {"id": rest[:20], "to": "human", "note": rest}, "record"),
    "did": lambda rest: ("pending.done", {"id": rest}, "record"),
    "evict": lambda rest: ("evicted", {"keys": rest.split(" | ")}, "record"),
    "pause": lambda rest: ("session.pause", {}, "record"),
    "resume": lambda rest: ("session.resume", {}, "record"),
    "close": lambda rest: ("session.close", {}, "record"),
    "seen": _listing,
    "decide": _decide,
    "todo": _todo,
    "fact": _fact("record"),
    "own": _fact("cli"),
    "person": _changed("person"),
    "unknown": _changed("unknown"),
}

# Messages that agents write with these events, so that the last messages are a fair comparison.
SPOKEN = {
    "decide": "I will go this way: {}.",
    "todo": "Not done yet: {}.",
    "fact": "Good to know: {}.",
    "hand": "{}",
}
LOOKS = ("ls -la {folder}", "git status", "wc -l {folder}/part-{n}.txt", "head -50 {folder}/log-{n}.txt",
         "stat {folder}/item-{n}", "find {folder} -newer marker-{n}", "du -sh {folder}", "date")  # fmt: skip


def noise(folder: str, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that only look around, with messages, like most of a session."""
    for n in range(count):
        command = LOOKS[n % len(LOOKS)].format(folder=folder, n=n)
        listing = " ".join(f"entry-{n}-{m}.dat" for m in range(6))
        yield "action", {"tool": "Bash", "input": {"command": command}, "output": listing}
        if n % 3 == 0:
            yield (
                "message",
                {"text": f"Entry {n} is as expected. I look at the next part before I go on with it."},
            )
