"""Artifacts as text: Markdown for people and files, quoted lines for models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fazm_memory.recall.quoting import quote
from fazm_memory.text import single_line

BOXES = {"completed": "x", "in_progress": "~", "cancelled": "-", "pending": " "}
FORMS = {"feature_list": "feature list", "progress_log": "progress log", "checklist": "checklist",
         "document": "document"}  # fmt: skip
MOST_LINES = 40
TEXT = 300


def artifact_markdown(artifact: Mapping[str, Any]) -> str:
    """The artifact as a Markdown document."""
    lines = [f"# {single_line(artifact['name'])}", ""]
    if artifact["text"]:
        lines += [artifact["text"].rstrip(), ""]
    for item in artifact["items"]:
        note = f" ({item['note']})" if item.get("note") else ""
        lines.append(f"- [{BOXES[item['status']]}] {single_line((item['text'] or '') + note)}")
    return "\n".join(lines).rstrip() + "\n"


def artifact_lines(artifact: Mapping[str, Any]) -> list[str]:
    """The artifact for a model: a heading, then one line for each item, open items first."""
    left = f", {artifact['done']} of {artifact['total']} done" if artifact["total"] else ""
    heading = (
        f"{FORMS[artifact['form']]} {quote(artifact['name'], 80)}, version {artifact['version']}{left}"
        f" [{artifact['trust']}]"
    )
    rows = sorted(artifact["items"], key=lambda item: item["status"] in ("completed", "cancelled"))
    lines = [
        f"  [{BOXES[item['status']]}] {item['id']}: {quote(item['text'] or '', TEXT)}"
        + (f" ({quote(item['note'], TEXT)})" if item.get("note") else "")
        for item in rows[:MOST_LINES]
    ]
    if len(rows) > MOST_LINES or artifact["total"] > len(rows):
        lines.append(f"  and {artifact['total'] - min(len(rows), MOST_LINES)} more items")
    if artifact["text"]:
        lines.append(f"  {quote(artifact['text'], 2 * TEXT)}")
    return [heading, *lines]
