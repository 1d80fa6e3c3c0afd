"""What can be said in the log: one frozen dataclass per kind of event.

Fields are added with a default, never renamed or retyped: that would be a new version of the kind, with an
upcaster in `events.py`. Free text is scrubbed and capped before it gets here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fazm_memory.model.codec import named
from fazm_memory.model.words import By, Change, Outcome, Touch

FAILED: frozenset[str] = frozenset({"error", "denied", "timeout", "interrupted"})


@dataclass(frozen=True, slots=True)
class SessionOpen:
    """A session begins. A fork names its parent and the position it stands on."""

    agent: str
    agent_session_id: str | None = None
    workspace: str | None = None
    title: str | None = None
    parent: str | None = None
    parent_seq: int | None = None
    background: bool = False
    model: str | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SessionTitle:
    title: str


@dataclass(frozen=True, slots=True)
class LifecycleMove:
    """pause, resume, close, archive and restore say only why; which of them is the event's kind."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user asked for, in the user's words. It begins a turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """What the agent said to the user."""

    text: str


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A file an action touched; `inferred` with `why` when the evidence does not settle it."""

    path: str
    change: Touch
    origin: str | None = field(default=None, metadata=named("from"))
    inferred: bool = False
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The files a folder held when the agent worked in it: what it then left alone, it skipped."""

    folder: str
    files: tuple[str, ...]
    total: int | None = None


@dataclass(frozen=True, slots=True)
class ActionStart:
    """A tool call has begun. If nothing finishes it, it was interrupted, and the state says so."""

    tool: str
    input: Any = None
    call_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call with what went in, what came out and how it ended: one row of the commit log."""

    tool: str
    input: Any = None
    output: Any = None
    output_summary: str | None = None
    outcome: Outcome = "ok"
    error: str | None = None
    duration_ms: int | None = None
    call_id: str | None = None
    input_hash: str | None = None
    files: tuple[FileTouch, ...] = ()
    retry_of: int | None = None
    agent_id: str | None = None
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionAmend:
    """A second source knows more of an action than the first did, such as its exit code."""

    call_id: str
    outcome: Outcome | None = None
    error: str | None = None
    duration_ms: int | None = None
    output_summary: str | None = None
    files: tuple[FileTouch, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    what: str
    why: str | None = None
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A durable fact. A later one with the same key supersedes it; the log keeps both."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class FactRetract:
    key: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    id: str
    what: str


@dataclass(frozen=True, slots=True)
class PendingDone:
    id: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change seen on disk rather than told by a tool call, with who made it and how we know.

    `call` is the position of the agent's call that made it, in the same session.
    """

    path: str
    change: Change
    origin: str | None = field(default=None, metadata=named("from"))
    by: By = "unknown"
    evidence: str | None = None
    since: str | None = None
    before: str | None = None
    after: str | None = None
    sure: str | None = None
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Evicted:
    """The context overflowed: these keys are no longer in the model's view, and stay readable here."""

    keys: tuple[str, ...]
    summary: str | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class Handoff:
    id: str
    to: Literal["human", "agent"]
    note: str
    answer_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HandoffAnswer:
    id: str
    answer: Any = None
    waived: bool = False


@dataclass(frozen=True, slots=True)
class Rewind:
    """The head moves back to a position; nothing is erased, what follows goes on from there.

    With `files` those the agent had changed go back as well: `touched` says how. `undoes` is the rewind, by
    its position, that this one takes back.
    """

    to: int
    files: bool = False
    reason: str | None = None
    touched: tuple[FileTouch, ...] = ()
    undoes: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A time we know nothing of, and why."""

    what: str
    since: str
    until: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class AppSpan:
    app: str
    title: str | None = None
    document: str | None = None
    bundle: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens spent; `budget_tokens` when the session's limit changed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    budget_tokens: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """These events, or the whole session, are of doubtful origin and leave every export until released."""

    seqs: tuple[int, ...]
    reason: str | None = None
    released: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Payloads were forgotten on purpose; their digests stay, so that the chain still verifies.

    `ranges` are half-open pairs of positions. A payload that is gone and not named here was taken away.
    `left` has, by position, the digest of what is left of events that say how others are read.
    """

    count: int
    reason: str
    ranges: tuple[tuple[int, ...], ...] = ()
    left: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the session stood here. What led there may be let go after; the fold goes on from this."""

    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The store was damaged and this is what was saved of it."""

    kept: int
    lost: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record of an agent that we cannot read yet: kept as it is, counted, never guessed at."""

    type: str
    raw: Any = None
