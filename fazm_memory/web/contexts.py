"""The context as the page shows it: item by item, with a person's choice, and the ways learned on the way."""

from __future__ import annotations

from typing import Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.memory import Memory
from fazm_memory.recall import choices
from fazm_memory.web.asked import Asked, Body

TASKS = 6  # sessions whose naming and skipping is told
CHOICES = {"auto": None, "exclude": "exclude", "pin": "pin"}


def context(memory: Memory, ask: Asked) -> dict[str, Any]:
    return _told(memory, ask.text("workspace"))


def _told(memory: Memory, workspace: str | None) -> dict[str, Any]:
    told = dict(memory.context(workspace).data)
    chosen = choices.read(memory.store)
    told["items"] = [
        {
            **{name: value for name, value in one.items() if name != "included"},
            "given": one["included"],
            "choice": chosen.get(one["id"], "auto"),
        }
        for one in told["items"]
    ]
    tasks = told.pop("tasks")
    workspaces = memory.choices_of_filters()["workspaces"]
    return {**told, **_ways(memory, tasks), "workspaces": workspaces}


def _items(memory: Memory, workspace: str | None) -> set[str]:
    return {one["id"] for one in memory.context(workspace).data["items"]}


def yesterday(memory: Memory, ask: Asked) -> dict[str, Any]:
    told = memory.context(ask.text("workspace")).data
    tasks = [
        {
            **task,
            "label": task["day"],
            "items": [one for one in told["items"] if one["session"] == task["session"]],
        }
        for task in told["tasks"]
    ]
    return {"day": told["day"], "tasks": tasks, **_ways(memory, told["tasks"])}


def _ways(memory: Memory, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Folders with how far they came, naming conventions and skipped files of the sessions that are told."""
    folders, conventions, skipped = [], [], []
    for task in tasks[:TASKS]:
        learned = memory.conventions(task["session"])
        of = {"session": task["session"], "title": task["title"]}
        folders += [
            {"path": one["folder"], **{name: one[name] for name in ("processed", "total", "listed")}, **of}
            for one in learned["folders_processed"]
        ]
        conventions += [{**one, **of} for one in learned["conventions"]]
        skipped += [{**one, **of} for one in learned["skipped"]]
    return {"folders": folders, "conventions": conventions, "skipped": skipped}


def choose(memory: Memory, body: Body) -> dict[str, Any]:
    workspace, item, choice = body.text("workspace"), body.needed("item"), body.needed("choice")
    if choice == "include":
        # What was excluded comes back to its rank; what did not fit by its rank is pinned.
        choice = "auto" if choices.read(memory.store).get(item) == "exclude" else "pin"
    if choice not in CHOICES:
        raise InvalidInput(
            f"there is no choice {choice[:20]!r}", hint=f"there are: {', '.join(CHOICES)}, include"
        )
    if item not in choices.read(memory.store) and item not in _items(memory, workspace):
        raise NotFound(f"there is no item {item[:80]!r} in this context", hint="read the context again")
    memory.choose(item, CHOICES[choice])
    return _told(memory, workspace)
