"""What calls of Claude Code mean: answers, refusals and verdicts of the user, plans, lists of steps.

Transcript and hooks report the same call, so both use this and give the same events with the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.agents.fields import MAX_TEXT, capped, ident, mapping, sequence, text
from fazm_memory.agents.meaning import PERSON, STATUSES, Meaning, answer, refusal, steps
from fazm_memory.lazy import lazy_regex
from fazm_memory.text import plan_title

ASK, PRESENT_PLAN, WRITE_STEPS = "AskUserQuestion", "ExitPlanMode", "TodoWrite"

# The client's words around a refusal. Only what follows "the user said:" is the user's.
REFUSED = lazy_regex(
    r"\s*(?:Error: )?The user doesn't want to proceed with this tool use\.(?:[^\n]*?"
    r"To tell you how to proceed, the user said:\s*(?P<reason>.*)|.*)",
    re.DOTALL,
)
CLIENT_NOTE = lazy_regex(r"\n\s*\nNote: The user's next message may contain.*", re.DOTALL)
REFUSED_BY_USER = "refused by the user"
ANSWERED = lazy_regex(r'"((?:[^"\\]|\\.)+?)"="((?:[^"\\]|\\.)*)"')


def refusal_reason(output: str) -> str | None:
    """The reason of a refusal in the user's words, "" without a reason, None if it is no refusal."""
    found = REFUSED.fullmatch(output)
    if found is None:
        return None
    return CLIENT_NOTE.sub("", found["reason"] or "").strip()


def presented_plan(call_id: str, tool: str, tool_input: Any) -> Iterator[Meaning]:
    """The plan that a call presents to the user."""
    plan = text(mapping(tool_input).get("plan")).strip()
    if tool == PRESENT_PLAN and plan:
        payload = {"title": plan_title(plan), "text": capped(plan, MAX_TEXT), "call_id": call_id}
        yield Meaning("plan", payload | {"status": "presented"}, "plan")


def meanings(
    call_id: str, tool: str, tool_input: Any, output: str, outcome: str, result: Mapping[str, Any]
) -> Iterator[Meaning]:
    """The events that an ended call stands for. `result` is the client's own object, if it has one."""
    if outcome in ("ok", "denied"):
        yield from presented_plan(call_id, tool, tool_input)
    reason = refusal_reason(output) if outcome == "denied" else None
    if reason:
        yield from _refused(call_id, tool, tool_input, reason)
    elif outcome != "ok":
        return
    elif tool == PRESENT_PLAN:
        yield from _approved(call_id, tool_input, result)
    elif tool == ASK:
        yield from _answers(call_id, tool_input, output, result)
    elif tool == WRITE_STEPS:
        items = (mapping(item) for item in sequence(mapping(tool_input).get("todos")))
        yield steps({**item, "text": item.get("content")} for item in items)


def _refused(call_id: str, tool: str, tool_input: Any, reason: str) -> Iterator[Meaning]:
    plan = text(mapping(tool_input).get("plan")).strip()
    if tool == PRESENT_PLAN and plan:
        yield from _verdict(call_id, plan_title(plan), "rejected", reason)
        return
    yield refusal(call_id, tool, tool_input, reason)


def _approved(call_id: str, tool_input: Any, result: Mapping[str, Any]) -> Iterator[Meaning]:
    """An accepted plan. The user may have edited it before."""
    plan = text(mapping(tool_input).get("plan")).strip()
    final = text(result.get("plan")).strip() or plan
    if not final or result.get("isAgent") is True:
        return
    yield from _verdict(call_id, plan_title(final), "accepted", "accepted", final if final != plan else "")


def _verdict(call_id: str, title: str, status: str, words: str, edited: str = "") -> Iterator[Meaning]:
    payload = {"title": title, "status": status, "call_id": call_id}
    if edited:
        payload["text"] = capped(edited, MAX_TEXT)
    yield Meaning("plan", payload, "verdict", PERSON)
    decision = {"what": capped(words, MAX_TEXT), "form": "plan", "about": title, "call_id": call_id}
    yield Meaning("decision", decision, "decision", PERSON)


def _answers(call_id: str, tool_input: Any, output: str, result: Mapping[str, Any]) -> Iterator[Meaning]:
    """The answers to the questions of a call, one decision for each question."""
    asked = {text(question.get("question")): question for question in _questions(tool_input)}
    answers = mapping(result.get("answers")) or dict(ANSWERED.findall(output))
    notes = mapping(result.get("annotations"))
    for number, (question, given) in enumerate(answers.items()):
        chosen = ", ".join(map(str, given)) if isinstance(given, list) else text(given)
        note = text(mapping(notes.get(question)).get("notes")).strip()
        what = "\n".join(part for part in (chosen.strip(), note if note != chosen else "") if part)
        yield from answer(call_id, number, asked.get(question, {"question": question}), what)


def _questions(tool_input: Any) -> list[Mapping[str, Any]]:
    return [mapping(question) for question in sequence(mapping(tool_input).get("questions"))]


CREATE, UPDATE, LIST = "TaskCreate", "TaskUpdate", "TaskList"
CREATED = lazy_regex(r"Task #(\S{1,40}) created successfully: (.*)", re.DOTALL)


class TaskList:
    """The list of a session whose client reports it task by task."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.tasks: dict[str, dict[str, Any]] = {name: dict(task) for name, task in carry.items()}

    def ended(self, tool: str, tool_input: Any, output: str, result: Mapping[str, Any]) -> Iterator[Meaning]:
        """Take a successful call. Yields the whole list if it has changed."""
        before = {name: dict(task) for name, task in self.tasks.items()}
        arguments = mapping(tool_input)
        if tool == CREATE:
            self._create(arguments, output, mapping(result.get("task")))
        elif tool == UPDATE and result.get("success") is not False:
            self._update(arguments)
        elif tool == LIST:
            for task in map(mapping, sequence(result.get("tasks"))):
                self._put(ident(task.get("id")), text(task.get("subject")), text(task.get("status")))
        if self.tasks != before:
            yield steps({"id": name, **task} for name, task in self.tasks.items())

    def _create(self, arguments: Mapping[str, Any], output: str, task: Mapping[str, Any]) -> None:
        found = CREATED.match(output)
        name = ident(task.get("id")) or (found[1] if found else "")
        self._put(name, text(arguments.get("subject")) or (found[2].strip() if found else ""), "pending")

    def _update(self, arguments: Mapping[str, Any]) -> None:
        name, status = ident(arguments.get("taskId")), text(arguments.get("status"))
        if status == "deleted":
            self.tasks.pop(name, None)
        elif name in self.tasks:
            self._put(name, text(arguments.get("subject")), status)

    def _put(self, name: str, subject: str, status: str) -> None:
        known = self.tasks.get(name, {"text": "", "status": "pending"})
        if name and (subject or known["text"]):
            self.tasks[name] = {
                "text": subject or known["text"],
                "status": status if status in STATUSES else known["status"],
            }
