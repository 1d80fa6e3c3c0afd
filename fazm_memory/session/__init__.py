"""What a session is at a moment: state, reducer, differences.

Also events as rows for lists and drawings. Pure: no clock and no disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.session import diff
    from fazm_memory.session.calls import looks_only, refused_command, writes_to_source
    from fazm_memory.session.dialogue import chosen_options, later_replaces, listed_options, title_of
    from fazm_memory.session.diff import (
        CALL_KINDS,
        DEFERRED_WINDOW,
        Consequences,
        consequences_of,
        disk_changes_by_call,
        hunks,
    )
    from fazm_memory.session.naming_report import (
        folder_progress_text,
        learn_from_session,
        naming_json,
        naming_report_json,
        paths_in_use,
    )
    from fazm_memory.session.outline import (
        OutlineRow,
        OutlineTurn,
        event_json,
        lane_marks,
        outline_rows,
        outline_turns,
        summary_row,
    )
    from fazm_memory.session.reducer import fold, fork_state, initial_state
    from fazm_memory.session.repository import (
        discarded_names,
        is_named,
        still_uncommitted,
        uncommitted_files,
    )
    from fazm_memory.session.state import (
        BOUNDS,
        FOLD_VERSION,
        QUARANTINED_CALLS,
        VALUE_BOUND,
        FileAuthor,
        FileEntry,
        SessionState,
        budget_now,
        changed_files,
        check_answered,
        fits,
        from_plain,
        from_snapshot,
        has_limits,
        parent_folder,
        state_hash,
        state_to_json,
        to_plain,
        to_snapshot,
        waiting_questions,
    )
    from fazm_memory.session.upcoming import is_local_command, is_ready_for, next_steps

__getattr__ = lazy_exports(
    __name__,
    {
        "calls": "looks_only refused_command writes_to_source",
        "dialogue": "chosen_options later_replaces listed_options title_of",
        "diff": "CALL_KINDS Consequences DEFERRED_WINDOW consequences_of disk_changes_by_call hunks",
        "naming_report": (
            "folder_progress_text learn_from_session naming_json naming_report_json paths_in_use"
        ),
        "outline": "OutlineRow OutlineTurn event_json lane_marks outline_rows outline_turns summary_row",
        "reducer": "fold fork_state initial_state",
        "repository": "discarded_names is_named still_uncommitted uncommitted_files",
        "state": (
            "BOUNDS FOLD_VERSION FileAuthor FileEntry QUARANTINED_CALLS SessionState VALUE_BOUND "
            "budget_now changed_files check_answered fits has_limits from_plain from_snapshot "
            "parent_folder state_hash state_to_json to_plain to_snapshot waiting_questions"
        ),
        "upcoming": "is_local_command is_ready_for next_steps",
    },
)
