"""The recall benchmark: are the answers in what a new session is given, and does search find them?

Every history is recorded as an agent would record it; then each question is put to the context, to the first
five hits of a search, and, within the same budget, to what is usually handed on instead: the last messages,
and a plain list of the latest actions.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fazm_memory.bench.history import NOW, History, Question, histories
from fazm_memory.config import Config
from fazm_memory.log.words import words_of
from fazm_memory.memory import Memory
from fazm_memory.model.clock import parse
from fazm_memory.model.events import Event, target_of
from fazm_memory.recall.fence import BLOCK, CHARACTERS_A_TOKEN, strings_in

SORTS = ("filing", "coding", "research", "mixed", "unseen")
HITS = 5


@dataclass(frozen=True)
class Asked:
    """One question of one history, and who could answer it."""

    history: str
    question: Question
    context: bool
    search: bool
    messages: bool
    actions: bool


def all_histories() -> list[History]:
    return [
        one for sort in SORTS for one in histories(import_module(f"fazm_memory.bench.histories.{sort}").TEXT)
    ]


def ask_all(told: list[History], folder: Path | None = None) -> Iterator[Asked]:
    """Every question of every history. All are in one store, so that they are in each other's way."""
    with tempfile.TemporaryDirectory(prefix="fazm-memory-recall-", dir=folder) as name:
        home = Path(name) / "home"
        memory = Memory(Config(home=home, user_home=home, key="file"), lambda: parse(NOW))
        try:
            for one in told:
                refused = [done.error for done in memory.record(one.drafts) if done.error is not None]
                if refused:
                    raise refused[0]
            for one in told:
                yield from ask(memory, one)
        finally:
            memory.close()


def ask(memory: Memory, history: History) -> Iterator[Asked]:
    context = plain(memory.context(history.workspace).text)
    room = memory.config.context_tokens * CHARACTERS_A_TOKEN
    events = _in_time(memory, history.workspace)
    messages = newest([_message(event) for event in events], room)
    actions = newest([_action(event) for event in events], room)
    for question in history.questions:
        hits = [_whole(memory, hit) for hit in memory.search(question.words, limit=HITS)]
        yield Asked(
            history.name,
            question,
            answered(question, context),
            answered(question, "\n".join(hits)),
            answered(question, messages),
            answered(question, actions),
        )


def plain(context: str) -> str:
    """A context with its quotes undone: what whoever reads it understands."""
    found = BLOCK.search(context)
    return context if found is None else "\n".join([context, *strings_in(found[2])])


def answered(question: Question, text: str) -> bool:
    return all(answer in text for answer in question.answers)


def newest(lines: list[str], room: int) -> str:
    """The newest lines that fit."""
    kept: list[str] = []
    for line in reversed([line for line in lines if line]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(reversed(kept))


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


def _whole(memory: Memory, hit: dict[str, Any]) -> str:
    """All that a hit leads to: the event itself, or what its session shows."""
    row = memory.store.sessions.resolve(hit["session"])
    event = next(memory.store.log.slice(row.n, row.id, hit["seq"], hit["seq"] + 1), None)
    told = words_of(event) if event is not None and event.kind == hit["kind"] else ""
    return told or plain_item(hit["snippet"])


def plain_item(text: str) -> str:
    return "\n".join([text, *strings_in(text)])


def shares(asked: list[Asked]) -> dict[str, dict[str, float]]:
    """By sort of question and in all: the share of questions that each could answer."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        groups[one.question.sort].append(one)
    groups = dict(sorted(groups.items())) | {"all": asked}
    return {
        sort: {
            who: sum(getattr(one, who) for one in some) / len(some)
            for who in ("context", "search", "messages", "actions")
        }
        | {"questions": len(some)}
        for sort, some in groups.items()
    }
