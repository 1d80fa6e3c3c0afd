"""A draft: something that happened, as a source tells it, before it is scrubbed, placed and recorded.

Every door (the `record` command, hooks, transcripts, MCP, the file watcher) says what it saw in drafts, and
the recorder alone makes events of them. `key` is what makes intake idempotent: two drafts with one key are
the same happening, whoever tells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Draft:
    """`session` is the agent's own name for its session, or one of our ids."""

    session: str
    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    agent: str | None = None
    at: int | None = None
    turn: int | None = None
    actor: str | None = None
    source: str = "record"
    trust: str | None = None
    key: str | None = None
    expected_seq: int | None = None
    door: str | None = None  # where it really came in, when `source` is only a claim
