"""Recall: context, briefings, search, habits, replay and resume.

Reads the log and states and renders them for models and people. Recorded text is quoted (see `quoting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.recall import exports
    from fazm_memory.recall.briefing import Briefing, artifact_markdown, build_briefing, render_news
    from fazm_memory.recall.context import Context, render_context
    from fazm_memory.recall.digest import Digest, build_digest
    from fazm_memory.recall.exports import WrittenContext, candidate_sessions, context_file_name
    from fazm_memory.recall.habits import Habits, find_habits
    from fazm_memory.recall.quoting import BLOCK, CHARACTERS_PER_TOKEN, plain_name, quote, quoted_strings
    from fazm_memory.recall.reminders import Reminder, collect_reminders, write_reminders
    from fazm_memory.recall.replay import (
        ReplayPlan,
        ReplaySource,
        ReplayStep,
        extract_workflow,
        plan_replay,
        workflow_folder,
    )
    from fazm_memory.recall.resume import (
        Continuation,
        ResumeOption,
        build_continuation,
        resume_offer,
        resume_options,
    )
    from fazm_memory.recall.search import changed_since, parse_start, search_memory, search_notes

__getattr__ = lazy_exports(
    __name__,
    {
        "briefing": "Briefing artifact_markdown build_briefing render_news",
        "context": "Context render_context",
        "digest": "Digest build_digest",
        "exports": "WrittenContext candidate_sessions context_file_name",
        "habits": "Habits find_habits",
        "quoting": "BLOCK CHARACTERS_PER_TOKEN plain_name quote quoted_strings",
        "reminders": "Reminder collect_reminders write_reminders",
        "replay": "ReplayPlan ReplaySource ReplayStep extract_workflow plan_replay workflow_folder",
        "resume": "Continuation ResumeOption build_continuation resume_offer resume_options",
        "search": "changed_since parse_start search_memory search_notes",
    },
)
