"""What can be recorded: drafts, events, payloads, trust, lifecycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.events import codec, event, kinds
    from fazm_memory.events.codec import PayloadError, json_schema
    from fazm_memory.events.event import (
        DAY,
        FAILED,
        GROUPS,
        KINDS,
        KINDS_WITHOUT_TEXT,
        RECENTLY_ACTIVE,
        RETAINED_FIELDS,
        TRANSIENT,
        Action,
        ActionAmend,
        ActionStart,
        AppSpan,
        Artifact,
        ArtifactItem,
        Branch,
        BudgetPassed,
        Checkpoint,
        Decision,
        Draft,
        Event,
        Evicted,
        FileChange,
        FileTouch,
        FolderListing,
        Forgotten,
        LifecycleMove,
        NewerVersion,
        Plan,
        Prompt,
        Quarantine,
        Recovered,
        RetentionPolicy,
        Rewind,
        SessionOpen,
        StoredPayload,
        TodoItem,
        Todos,
        UnknownRecord,
        Usage,
        call_position,
        canonical_json,
        causal_position,
        expired,
        input_hash,
        is_fully_retained,
        oldest_payloads,
        payload_class,
        read_payload,
        retained_payload,
        target_of,
        totals_by_group,
    )
    from fazm_memory.events.kinds import (
        ACTORS,
        FORM_SOURCE,
        KIND_NAMES,
        LIFECYCLES,
        PERSON_SOURCES,
        SOURCES,
        TRUST_RANK,
        TRUSTS,
        UNTRUSTED,
        ArtifactForm,
        BudgetLimit,
        By,
        Change,
        Lifecycle,
        Outcome,
        PlanStatus,
        TodoStatus,
        Touch,
        Trust,
        default_actor,
        event_trust,
        limit_trust,
        lowest_trust,
        trust_ceiling,
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "codec": "PayloadError json_schema",
        "event": (
            "Action ActionAmend ActionStart AppSpan Artifact ArtifactItem Branch BudgetPassed Checkpoint DAY "
            "Decision Draft Event Evicted FAILED FileChange FileTouch FolderListing Forgotten GROUPS "
            "KINDS KINDS_WITHOUT_TEXT LifecycleMove NewerVersion Plan Prompt Quarantine "
            "RECENTLY_ACTIVE RETAINED_FIELDS Recovered RetentionPolicy Rewind SessionOpen "
            "StoredPayload TRANSIENT TodoItem Todos UnknownRecord Usage call_position canonical_json "
            "causal_position expired input_hash is_fully_retained oldest_payloads payload_class "
            "read_payload retained_payload target_of totals_by_group"
        ),
        "kinds": (
            "ACTORS ArtifactForm BudgetLimit By Change FORM_SOURCE KIND_NAMES LIFECYCLES Lifecycle Outcome "
            "PERSON_SOURCES PlanStatus SOURCES TRUSTS TRUST_RANK TodoStatus Touch Trust UNTRUSTED "
            "default_actor event_trust limit_trust lowest_trust trust_ceiling"
        ),
    },
)
