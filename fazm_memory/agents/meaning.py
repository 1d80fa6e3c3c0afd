"""What calls of agents mean: answers, refusals and lists of steps, in each agent's form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fazm_memory.agents.fields import MAX_TEXT, capped, ident, mapping, sequence, text
from fazm_memory.events import target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

PERSON = "person"
STATUSES = frozenset({"pending", "in_progress", "completed", "cancelled"})
MOST_STEPS = 200
STEP = 1000  # characters

# Tools that write a list of steps: the field with the list and the field with the text of a step.
STEP_TOOLS = {
    "update_plan": ("plan", "step"),  # Codex
    "todowrite": ("todos", "content"),  # opencode
    "todo_write": ("todos", "content"),  # Qwen
    "todo": ("todos", "content"),  # Hermes
    "write_todos": ("todos", "description"),  # Gemini
}
QUESTION_TOOLS = frozenset({"request_user_input", "question", "ask_user"})  # Codex, opencode, Gemini
# A refusal with the user's reason: opencode.
FEEDBACK = lazy_regex(
    r"The user rejected permission to use this specific tool call with the following feedback:\s*(.+)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Meaning:
    """An event that a call stands for. `suffix` completes the key of the call."""

    kind: str
    payload: dict[str, Any]
    suffix: str
    actor: str | None = None


def call_meanings(
    call_id: str, tool: str, tool_input: Any, output: str, outcome: str, result: Mapping[str, Any]
) -> Iterator[Meaning]:
    """The events that a call stands for, for agents without forms of their own.

    `output` is what the model read, `result` an object with more, if the agent stores one.
    """
    if outcome == "denied" and (reason := FEEDBACK.match(output)):
        yield refusal(call_id, tool, tool_input, reason[1].strip())
    if outcome != "ok":
        return
    arguments = mapping(tool_input)
    if tool in STEP_TOOLS:
        listed, words = STEP_TOOLS[tool]
        items = (mapping(item) for item in sequence(arguments.get(listed)))
        yield steps({**item, "text": item.get(words)} for item in items)
    elif tool in QUESTION_TOOLS:
        answers = result.get("answers") or _object(output).get("answers")
        for number, asked in enumerate(map(mapping, sequence(arguments.get("questions")))):
            named = ident(asked.get("id")) or str(number)
            given = (
                answers.get(named)
                if isinstance(answers, dict)
                else dict(enumerate(sequence(answers))).get(number)
            )
            yield from answer(call_id, number, asked, _chosen(given))


def _object(output: str) -> dict[str, Any]:
    try:
        return mapping(json.loads(output)) if output.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}


def _chosen(given: Any) -> str:
    """The answer to a question: a text, several texts, or an object with them."""
    if isinstance(given, dict):
        given = given.get("answers")
    return ", ".join(map(text, given)) if isinstance(given, list) else text(given)


def answer(call_id: str, number: int, asked: Mapping[str, Any], what: str) -> Iterator[Meaning]:
    """The user's answer to a question with options."""
    if not what.strip():
        return
    labels = [text(mapping(option).get("label")) for option in sequence(asked.get("options"))]
    payload = {
        "what": capped(what.strip(), MAX_TEXT),
        "form": "answer",
        "question": capped(text(asked.get("question")), MAX_TEXT),
        "alternatives": [label for label in labels if label],
        "call_id": call_id,
    }
    yield Meaning("decision", payload, f"answer:{number}", PERSON)


def refusal(call_id: str, tool: str, tool_input: Any, reason: str) -> Meaning:
    """The user's reason to refuse a call."""
    asked = mapping(next(iter(sequence(mapping(tool_input).get("questions"))), None))
    question = text(asked.get("question"))
    payload = {
        "what": capped(reason, MAX_TEXT),
        "form": "refusal",
        "about": f"{tool} {question or target_of(tool_input)}".strip(),
        "call_id": call_id,
    }
    return Meaning("decision", payload | ({"question": question} if question else {}), "refusal", PERSON)


def steps(items: Iterable[Mapping[str, Any]]) -> Meaning:
    """A list of steps, each with `text`, `status` and perhaps `id`."""
    found = [_step(item) for item in items if text(item.get("text")).strip()]
    return Meaning("todos", {"items": found[:MOST_STEPS]}, "todos")


def _step(item: Mapping[str, Any]) -> dict[str, Any]:
    status = item.get("status") if item.get("status") in STATUSES else "pending"
    step = {"text": capped(text(item["text"]).strip(), STEP), "status": status}
    return step | ({"id": name} if (name := ident(item.get("id"))) else {})
