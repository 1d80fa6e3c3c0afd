"""Event payloads, events, drafts, and the registry of event kinds.

An event never changes. A kind that must change gets a new version and an upcaster from the old one. An
event of a newer version than this program knows is refused, because guessing would corrupt the session's
state.

The last part says which payloads may be forgotten: a policy by kind and age, and a limit by size. Only
transient payloads expire: inputs and outputs of tools, and what was seen on disk and on the screen. `at` of
a stored payload is when it arrived, so imported history counts from its import.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from fazm_memory.events import codec
from fazm_memory.events.codec import PayloadError, json_alias
from fazm_memory.events.kinds import (
    ArtifactForm,
    BudgetLimit,
    By,
    Change,
    DecisionForm,
    Outcome,
    PlanStatus,
    TodoStatus,
    Touch,
)
from fazm_memory.records import dataclass, field

FAILED: frozenset[str] = frozenset({"error", "denied", "timeout", "interrupted"})


@dataclass(frozen=True, slots=True)
class SessionOpen:
    """A session begins. A fork names its parent and the position it branched from.

    `device` is set in the copy of a session that another machine records: the id of that machine.
    """

    agent: str
    agent_session_id: str | None = None
    workspace: str | None = None
    title: str | None = None
    parent: str | None = None
    parent_seq: int | None = None
    background: bool = False
    model: str | None = None
    budget_tokens: int | None = None
    device: str | None = None
    budget_usd: float | None = None
    budget_seconds: int | None = None
    budget_actions: int | None = None


@dataclass(frozen=True, slots=True)
class SessionTitle:
    title: str


@dataclass(frozen=True, slots=True)
class LifecycleMove:
    """The reason of a pause, resume, close, archive or restore.

    The event's kind says which.
    """

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user asked for, verbatim.

    It begins a turn, unless it was typed while a tool ran (`queued`).
    """

    text: str
    form: Literal["queued"] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What the agent said to the user."""

    text: str


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A file that an action touched.

    It is `inferred`, with `why`, when the evidence is no proof. `line` is the first line that an edit
    changed, where the agent's record says so.
    """

    path: str
    change: Touch
    origin: str | None = field(default=None, metadata=json_alias("from"))
    inferred: bool = False
    why: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The files in a folder when the agent listed it.

    Files that it left alone count as skipped.
    """

    folder: str
    files: tuple[str, ...]
    total: int | None = None


@dataclass(frozen=True, slots=True)
class ActionStart:
    """A tool call has begun. If nothing ends it, the state shows it as interrupted."""

    tool: str
    input: Any = None
    call_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call that has ended: input, output, outcome and files.

    `input_hash` is ours. `caller_input_hash` is the caller's own, if it gave one.
    """

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
    seen: tuple[FolderListing, ...] = ()
    caller_input_hash: str | None = None


@dataclass(frozen=True, slots=True)
class ActionAmend:
    """Details of an action from a second source, such as its exit code."""

    call_id: str
    outcome: Outcome | None = None
    error: str | None = None
    duration_ms: int | None = None
    output_summary: str | None = None
    files: tuple[FileTouch, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the agent, or, with a `form`, of the user.

    `refusal`: the user refused a call; `what` is the reason verbatim and `about` names the call.
    `answer`: the user answered a `question`; `alternatives` are the options.
    `plan`: the user's verdict on the plan `about`.
    `replaces` is the position of the decision that this one replaces.
    """

    what: str
    why: str | None = None
    alternatives: tuple[str, ...] = ()
    form: DecisionForm | None = None
    question: str | None = None
    about: str | None = None
    call_id: str | None = None
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that the agent presented, or what became of it.

    Only a presentation has the text.
    """

    title: str
    status: PlanStatus = "presented"
    text: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: str
    status: TodoStatus = "pending"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Todos:
    """The agent's whole list of steps at this moment. It replaces the list before."""

    items: tuple[TodoItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactItem:
    """An entry of an artifact: text, status and note."""

    text: str
    status: TodoStatus = "pending"
    id: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """A lasting document of the work, whole.

    It has items, a text, or both, and replaces the version before.
    """

    name: str
    form: ArtifactForm = "checklist"
    items: tuple[ArtifactItem, ...] = ()
    text: str | None = None
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """The git branch of the workspace, at the beginning and when it changes."""

    name: str
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A durable fact. A later fact with the same key replaces it; the log keeps both."""

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
    """A change found on disk, with who made it and how that is known.

    `call` is the position of the agent's call that made it, in the same session.
    """

    path: str
    change: Change
    origin: str | None = field(default=None, metadata=json_alias("from"))
    by: By = "unknown"
    evidence: str | None = None
    since: str | None = None
    before: str | None = None
    after: str | None = None
    sure: str | None = None
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Evicted:
    """Keys that left the model's context when it was compacted.

    They stay readable here.
    """

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
    """The session continues from an earlier position. Nothing is erased.

    With `files`, the files that the agent had changed were restored too: `touched` says how. `undoes` is the
    position of the rewind that this one takes back.
    """

    to: int
    files: bool = False
    reason: str | None = None
    touched: tuple[FileTouch, ...] = ()
    undoes: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A time of which nothing is known, and why."""

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
    """Tokens used and money spent.

    The `budget_` fields are set when a limit of the session changed. `written_tokens` are those of
    `input_tokens` that were written to the provider's cache, and `written_hour_tokens` those of them that
    it keeps for an hour.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    budget_tokens: int | None = None
    model: str | None = None
    cost_usd: float | None = None
    budget_usd: float | None = None
    budget_seconds: int | None = None
    budget_actions: int | None = None
    written_tokens: int = 0
    written_hour_tokens: int = 0


@dataclass(frozen=True, slots=True)
class BudgetPassed:
    """A limit of the session was passed: which, the limit, and what was spent by then."""

    what: BudgetLimit
    limit: float
    spent: float


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Events that are untrusted and left out of exports until released.

    With `whole`, that is the entire session.
    """

    seqs: tuple[int, ...]
    reason: str | None = None
    released: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Payloads that were forgotten on purpose.

    Their digests stay, so the hash chain still verifies. `ranges` are half-open pairs of positions. A
    payload that is missing and not named here was tampered with. `left` has, by position, the digest of the
    retained part of an event.
    """

    count: int
    reason: str
    ranges: tuple[tuple[int, ...], ...] = ()
    left: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of the session at this position.

    Earlier payloads may be forgotten afterwards.
    """

    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The store was damaged: how many events were recovered and lost."""

    kept: int
    lost: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record of an agent that cannot be read yet, stored as it is."""

    type: str
    raw: Any = None


Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class EventKind:
    """A kind of event.

    Has its payload class, its version, and upcasters from older versions.
    """

    name: str
    payload: type
    version: int = 1
    upcasters: Mapping[int, Upcaster] = field(default_factory=dict)
    durable: bool = False  # the tier that retention may never forget


def _kinds(*kinds: EventKind) -> dict[str, EventKind]:
    return {kind.name: kind for kind in kinds}


KINDS: dict[str, EventKind] = _kinds(
    EventKind("session.open", SessionOpen, durable=True),
    EventKind("session.title", SessionTitle, durable=True),
    EventKind("session.pause", LifecycleMove, durable=True),
    EventKind("session.resume", LifecycleMove, durable=True),
    EventKind("session.close", LifecycleMove, durable=True),
    EventKind("session.archive", LifecycleMove, durable=True),
    EventKind("session.restore", LifecycleMove, durable=True),
    EventKind("prompt", Prompt),
    EventKind("message", Message),
    EventKind("action.start", ActionStart),
    EventKind("action", Action),
    EventKind("action.amend", ActionAmend),
    EventKind("decision", Decision, durable=True),
    EventKind("plan", Plan, durable=True),
    EventKind("todos", Todos, durable=True),
    EventKind("branch", Branch, durable=True),
    EventKind("artifact", Artifact, durable=True),
    EventKind("fact", Fact, durable=True),
    EventKind("fact.retract", FactRetract, durable=True),
    EventKind("pending", Pending, durable=True),
    EventKind("pending.done", PendingDone, durable=True),
    EventKind("file", FileChange),
    EventKind("seen", FolderListing),
    EventKind("evicted", Evicted, durable=True),
    EventKind("handoff", Handoff, durable=True),
    EventKind("handoff.answer", HandoffAnswer, durable=True),
    EventKind("rewind", Rewind, durable=True),
    EventKind("gap", Gap, durable=True),
    EventKind("app", AppSpan),
    EventKind("usage", Usage, durable=True),
    EventKind("budget", BudgetPassed, durable=True),
    EventKind("quarantine", Quarantine, durable=True),
    EventKind("forgotten", Forgotten, durable=True),
    EventKind("checkpoint", Checkpoint, durable=True),
    EventKind("recovered", Recovered, durable=True),
    EventKind("unknown", UnknownRecord),
)


class UnknownKind(PayloadError):
    """There is no such kind of event."""


class NewerVersion(PayloadError):
    """The event was written by a newer program than this one."""


class Event(NamedTuple):
    """A recorded event.

    `payload` is None once it has been forgotten; the digest stays.
    """

    session: str
    seq: int
    at: int  # microseconds since 1970, UTC: integers hash and sort the same everywhere
    turn: int
    kind: str
    version: int
    actor: str
    source: str
    trust: str
    payload: Any
    digest: str
    prev: str
    mac: str = ""


def call_position(event: Event) -> int | None:
    """The position of the call that made a change on disk.

    A change on disk is recorded later than the call that made it, sometimes in the next turn. Only the file
    watcher is believed: an agent could backdate its changes.
    """
    change = event.payload
    if not isinstance(change, FileChange) or event.source != "files" or change.call is None:
        return None
    return change.call if 0 <= change.call < event.seq else None


def causal_position(event: Event) -> int:
    """The position of the event's call, or its own."""
    call = call_position(event)
    return event.seq if call is None else call


@dataclass(frozen=True, slots=True)
class Draft:
    """Something that happened, as a source reports it.

    It is not yet redacted and recorded. `session` is the agent's own id of its session, or one of ours. Two
    drafts with one `key` are the same event, whoever reports it. Import cursors store drafts, so these
    field names are a stored format.
    """

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
    door: str | None = None  # how it really arrived, when `source` is only a claim


def payload_class(kind: str) -> type:
    known = KINDS.get(kind)
    if known is None:
        raise UnknownKind(f"Unknown event kind {kind[:60]!r}.")
    return known.payload


def read_payload(kind: str, version: int, raw: Mapping[str, Any]) -> Any:
    """The typed payload of a stored event.

    It is upgraded to the current version of its kind.
    """
    known = KINDS.get(kind)
    if known is None or version > known.version:
        raise NewerVersion(
            f"Event kind {kind} version {version} was written by a newer Fazm Memory. Update to read it."
        )
    for old in range(version, known.version):
        raw = known.upcasters[old](dict(raw))
    return codec.decode(known.payload, raw)


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical_json(value: Any) -> bytes:
    """Encode a value so that equal values give equal bytes.

    Sorted keys, compact, UTF-8. The log refuses NaN later.
    """
    return _CANONICAL.encode(value).encode("utf-8", "surrogatepass")


def input_hash(tool: str, value: Any) -> str:
    """A hash that is equal for equal calls. Used to recognise retries."""
    return hashlib.sha256(tool.encode() + b"\0" + canonical_json(value)).hexdigest()[:32]


TARGETS = ("command", "file_path", "path", "url", "query", "pattern", "prompt")
ITEM_TARGETS = (*TARGETS, "content", "text", "title", "step", "name")  # of an object in a list
TARGET = 160


def target_of(value: Any) -> str:
    """The target of a call on one line: its command, its file, or its first argument."""
    if isinstance(value, Mapping):
        named = [value[name] for name in TARGETS if name in value]
        value = next(iter(named or value.values()), "")
    if isinstance(value, (list, tuple)):
        value = " ".join(_item_target(item) for item in value[:20])
    elif isinstance(value, Mapping):
        value = _item_target(value)
    line = " ".join(str("" if value is None else value)[: 4 * TARGET].split())
    return line if len(line) <= TARGET else line[: TARGET - 1] + "…"


def _item_target(item: Any) -> str:
    """What an item of a list is about: its text, or a field of the object."""
    if not isinstance(item, Mapping):
        return str(item)
    named = [item[name] for name in ITEM_TARGETS if isinstance(item.get(name), str)]
    return next(iter(named), "") or canonical_json(dict(item)).decode("utf-8", "replace")


# Fields that other events depend on. They survive when the event is forgotten.
RETAINED_FIELDS: dict[str, tuple[str, ...]] = {
    "session.open": ("agent", "parent", "parent_seq", "background", "device"),
    "rewind": ("to", "files", "undoes"),
    "quarantine": ("seqs", "released", "whole"),
}
KINDS_WITHOUT_TEXT = frozenset({"rewind", "quarantine"})  # nothing of their text is in a session's state


def retained_payload(kind: str, payload: Any) -> Any:
    """What remains of a payload when its event is forgotten; None when nothing does."""
    names = RETAINED_FIELDS.get(kind)
    if names is None or payload is None:
        return None
    if kind == "session.open" and not (payload.parent or payload.background or payload.device):
        return None  # the session's existence says as much
    return type(payload)(**{name: getattr(payload, name) for name in names})


def is_fully_retained(event: Event) -> bool:
    """Whether an event has nothing that could be forgotten."""
    return event.payload is None or event.payload == retained_payload(event.kind, event.payload)


DAY = 86_400_000_000
RECENTLY_ACTIVE = 7 * DAY  # younger sessions lose details for space last

GROUPS: dict[str, tuple[str, ...]] = {
    "actions": ("action", "action.start", "action.amend", "seen", "unknown"),
    "messages": ("message",),
    "files": ("file",),
    "apps": ("app",),
    "prompts": ("prompt",),
}
GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
TRANSIENT = frozenset(GROUP_OF)


@dataclass(frozen=True)
class RetentionPolicy:
    """Days to keep each group of kinds. 0 keeps it forever."""

    actions: int = 180
    messages: int = 0
    files: int = 365
    apps: int = 60
    prompts: int = 0
    archived: int = 30  # in an archived session, for all but prompts
    versions: int = 90
    megabytes: int = 4096  # size of the log; 0 is no limit

    def cutoff(self, kind: str, now: int, *, archived: bool) -> int | None:
        """The time before which this kind expires, or None if it never does."""
        group = GROUP_OF.get(kind)
        if group is None or KINDS[kind].durable:
            return None
        days = int(getattr(self, group))
        if archived and group != "prompts" and self.archived:
            days = min(days or self.archived, self.archived)
        return now - days * DAY if days else None

    def earliest(self, now: int) -> int:
        """The latest cutoff of all kinds. Nothing younger can expire."""
        both = [(kind, archived) for kind in TRANSIENT for archived in (True, False)]
        cutoffs = [self.cutoff(kind, now, archived=archived) for kind, archived in both]
        return max((cutoff for cutoff in cutoffs if cutoff is not None), default=0)


@dataclass(frozen=True)
class StoredPayload:
    """A payload in the log."""

    seq: int
    kind: str
    at: int
    size: int


def expired(
    policy: RetentionPolicy, payloads: Iterable[StoredPayload], now: int, *, archived: bool
) -> list[StoredPayload]:
    """The payloads of a session that the policy no longer keeps."""
    limits = {kind: policy.cutoff(kind, now, archived=archived) for kind in TRANSIENT}
    return [row for row in payloads if (limit := limits.get(row.kind)) is not None and row.at < limit]


def oldest_payloads(payloads: Iterable[StoredPayload], wanted: int) -> list[StoredPayload]:
    """The oldest transient payloads that free at least `wanted` bytes, or all of them."""
    chosen: list[StoredPayload] = []
    for payload in payloads:
        if wanted <= 0:
            break
        if payload.kind in TRANSIENT and payload.kind not in GROUPS["prompts"]:
            chosen.append(payload)
            wanted -= payload.size
    return chosen


def totals_by_group(payloads: Iterable[StoredPayload]) -> Mapping[str, dict[str, int]]:
    """Number and bytes of the payloads of each group."""
    totals = {group: {"events": 0, "bytes": 0} for group in GROUPS}
    for payload in payloads:
        total = totals[GROUP_OF[payload.kind]]
        total["events"] += 1
        total["bytes"] += payload.size
    return {group: total for group, total in totals.items() if total["events"]}
