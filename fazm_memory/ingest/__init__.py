"""Recording: drafts from agents, hooks, files and surfaces become events.

A draft is prepared (`prepare`: redact, check, infer files) and then placed in the log (`recorder`). Drafts
come from the `record` protocol, from agents' own records (`importer`, which `transcript_watcher` calls when
they grow) and from hooks (`spool`). `limits` says whether and how much: the pause switch and quotas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.ingest.importer import NOTHING_LEFT, WAVE_BYTES, Importer, ImportStatistics, TimeRange
    from fazm_memory.ingest.limits import (
        COMPANION_AGENT,
        COMPANION_SESSION,
        Pause,
        QuotaLimits,
        clear_pause,
        companion_opening,
        pause_gap,
        read_pause,
        read_usage,
        write_pause,
    )
    from fazm_memory.ingest.read_ahead import WORTHWHILE, ReadAhead, WorkerSetup, worker_count
    from fazm_memory.ingest.record_protocol import LineReader, check_schema, coerce_answer, line_to_draft
    from fazm_memory.ingest.recorder import Recorder, RecordResult
    from fazm_memory.ingest.spool import (
        HOOK_SEEN_PREFIX,
        PART_SUFFIX,
        PROBE,
        HookEvent,
        Spool,
        SpoolReader,
        due_at,
    )
    from fazm_memory.ingest.transcript_copier import CopyStatistics, TranscriptCopier, file_mark
    from fazm_memory.ingest.transcript_watcher import (
        RECORD_SUFFIXES,
        RecordFolder,
        TranscriptWatcher,
        record_folders,
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "importer": "ImportStatistics Importer NOTHING_LEFT TimeRange WAVE_BYTES",
        "limits": (
            "COMPANION_AGENT COMPANION_SESSION Pause QuotaLimits clear_pause companion_opening pause_gap "
            "read_pause read_usage write_pause"
        ),
        "read_ahead": "ReadAhead WORTHWHILE WorkerSetup worker_count",
        "record_protocol": "LineReader check_schema coerce_answer line_to_draft",
        "recorder": "RecordResult Recorder",
        "spool": "HOOK_SEEN_PREFIX PART_SUFFIX PROBE HookEvent Spool SpoolReader due_at",
        "transcript_copier": "CopyStatistics TranscriptCopier file_mark",
        "transcript_watcher": "RECORD_SUFFIXES RecordFolder TranscriptWatcher record_folders",
    },
)
