"""The encrypted event log in SQLite, and everything derived from it.

`Store` opens the database, its keys and its hash chain. Search index, snapshots, facts and counts are
derived from the events and can be rebuilt. `file_versions`, `framework_store` and `transcript_copies` are
databases beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.store import hash_chain, projections, queries, retention
    from fazm_memory.store.database import LOG_PAGES, Database, compress, decompress, migrate, pragmas
    from fazm_memory.store.event_log import (
        EVENT_COLUMNS,
        INSERT_EVENT,
        SEQ_BITS,
        SEQ_MASK,
        AppendResult,
        NewEvent,
        SessionHead,
        believed_time,
        event_id,
        pack,
        parse_json,
        to_event,
        to_stored,
        unpack,
    )
    from fazm_memory.store.file_versions import (
        ABSENT,
        FILE_CAP,
        NEWEST,
        PERMISSION_BITS,
        REWIND,
        VERSIONS_DATABASE,
        FileVersion,
        FileVersions,
        FolderChange,
        FolderHistory,
        NewVersion,
        device_prefix,
        digest_of,
        plain_root,
        too_large,
        versions_exist,
    )
    from fazm_memory.store.forget import (
        Tombstones,
        choose_events,
        files_named,
        follow_forgotten,
        forget_events,
        noted_sessions,
        ranges_of,
        read_noted,
        vacuum,
    )
    from fazm_memory.store.framework_store import (
        FrameworkItem,
        FrameworkStore,
        framework_store_exists,
        owner_of,
        parts_of,
    )
    from fazm_memory.store.projections import (
        INDEX_AFTER,
        StoreChanges,
        StoreWatcher,
        open_questions,
        store_overview,
    )
    from fazm_memory.store.queries import (
        CallEffects,
        EventFilter,
        EventQuery,
        event_page,
        events_of_item,
        kinds_of,
        outcomes_of,
        unfinished_calls,
    )
    from fazm_memory.store.search_index import (
        FileChangeSince,
        SearchHit,
        SearchScope,
        Span,
        best_first,
    )
    from fazm_memory.store.search_text import (
        INDEXED_TEXT,
        STOP_WORDS,
        SearchTerm,
        event_text,
        fts_quote,
        index_text,
        terms_of,
    )
    from fazm_memory.store.sessions import (
        AT_WORK,
        HERE,
        MAX_FORK_DEPTH,
        SILENT,
        SessionRow,
        common_ancestor,
        effective_ranges,
        lineage,
        session_end,
    )
    from fazm_memory.store.store import PAGE, STORE_FOLDER, Store
    from fazm_memory.store.transcript_copies import (
        EXACT,
        TranscriptCopies,
        TranscriptCopy,
        foreign_name,
        transcript_copies_exist,
    )
    from fazm_memory.store.verify import VerifyFinding, VerifyReport, verify_store
    from fazm_memory.store.views import (
        NOT_QUARANTINED,
        SPACING,
        FactRow,
        QuarantinedEvents,
        apply_quarantine,
        read_quarantine,
        record_quarantine,
        write_quarantine,
    )
    from fazm_memory.store.writer import Writer, earlier_call, earlier_failure

__getattr__ = lazy_exports(
    __name__,
    {
        "database": "LOG_PAGES Database compress decompress migrate pragmas",
        "event_log": (
            "AppendResult EVENT_COLUMNS INSERT_EVENT NewEvent SEQ_BITS SEQ_MASK SessionHead "
            "believed_time event_id pack parse_json to_event to_stored unpack"
        ),
        "file_versions": (
            "ABSENT FILE_CAP FileVersion FileVersions FolderChange FolderHistory NEWEST NewVersion "
            "PERMISSION_BITS REWIND VERSIONS_DATABASE device_prefix digest_of plain_root too_large "
            "versions_exist"
        ),
        "forget": (
            "Tombstones choose_events files_named follow_forgotten forget_events noted_sessions "
            "ranges_of read_noted vacuum"
        ),
        "framework_store": "FrameworkItem FrameworkStore framework_store_exists owner_of parts_of",
        "hash_chain": "",
        "projections": "INDEX_AFTER StoreChanges StoreWatcher open_questions store_overview",
        "queries": (
            "CallEffects EventFilter EventQuery event_page events_of_item kinds_of outcomes_of "
            "unfinished_calls"
        ),
        "retention": "",
        "search_index": "FileChangeSince SearchHit SearchScope Span best_first",
        "search_text": "INDEXED_TEXT STOP_WORDS SearchTerm event_text fts_quote index_text terms_of",
        "sessions": (
            "AT_WORK HERE MAX_FORK_DEPTH SILENT SessionRow common_ancestor effective_ranges lineage "
            "session_end"
        ),
        "store": "PAGE STORE_FOLDER Store",
        "transcript_copies": "EXACT TranscriptCopies TranscriptCopy foreign_name transcript_copies_exist",
        "verify": "VerifyFinding VerifyReport verify_store",
        "views": (
            "FactRow NOT_QUARANTINED QuarantinedEvents SPACING apply_quarantine read_quarantine "
            "record_quarantine write_quarantine"
        ),
        "writer": "Writer earlier_call earlier_failure",
    },
)
