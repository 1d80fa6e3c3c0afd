"""The title of a session, which Claude Code writes again and again: only a new one is news.

A person's own name for a session stays, whatever the model calls it later. A summary may be of another
session: then the record it sums up is not among those here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fazm_memory.capture.agents.fields import text

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
LONGEST = 500


class Titles:
    """The title so far, and how many there were."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.title: str = text(carry.get("title"))
        self.named: bool = bool(carry.get("named"))
        self.count: int = carry.get("count") or 0

    def carry(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value}

    def take(self, kind: str, record: Mapping[str, Any], recent: Sequence[str]) -> str:
        """The title a record gives, when it is a new one. `recent` are the ids of the latest records."""
        named = kind == "custom-title"
        title = " ".join(text(record.get(TITLES[kind]))[: LONGEST * 2].split())[:LONGEST]
        foreign = kind == "summary" and record.get("leafUuid") not in recent
        if not title or title == self.title or foreign or (self.named and not named):
            return ""
        self.title, self.named, self.count = title, named, self.count + 1
        return title
