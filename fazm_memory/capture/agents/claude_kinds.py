"""The kinds of records Claude Code writes that tell us nothing new, and how they are seen before parsing.

The names are those of version 2.1.197, and of older versions where they differ. What is in none of these
lists and is not read is really unknown: it is kept and counted.
"""

from __future__ import annotations

import re

# Bookkeeping of the client: queues, modes, names, links, its own snapshots of files.
NOISE = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "attribution-snapshot", "bridge-session",
        "content-replacement", "ended-by-model", "file-history-snapshot", "fork-context-ref", "frame-link",
        "isolation-latch", "last-prompt", "marble-origami-commit", "marble-origami-reset",
        "marble-origami-snapshot", "mode", "permission-mode", "pr-link", "progress", "queue-operation",
        "relocated", "saved_hook_context", "speculation-accept", "tag", "task-summary", "worktree-state",
    }
)  # fmt: skip
# Notices on the screen. Compactions are the only system records that change what the model knows.
SYSTEM_NOISE = frozenset(
    {
        "agents_killed", "api_error", "api_metrics", "away_summary", "bridge_status", "file_snapshot",
        "informational", "local_command", "memory_recall", "memory_saved", "message_rated",
        "model_consent_fallback", "model_fallback", "model_refusal_fallback", "model_refusal_no_fallback",
        "notification", "permission_denied", "permission_retry", "post_turn_summary", "scheduled_task_fire",
        "status", "stop_hook_summary", "task_notification", "task_progress", "task_started", "task_summary",
        "task_updated", "thinking", "thinking_tokens", "turn_duration", "turn_starting", "init",
        "hook_started", "hook_progress", "hook_response", "api_retry", "commands_changed",
    }
)  # fmt: skip
BOUNDARIES = frozenset({"compact_boundary", "microcompact_boundary"})

# An attachment is context that the client handed to the model; of these only what a person typed while the
# agent was at work is told, the rest (listings, reminders, hooks and what hooks put in) is not.
TYPED_MEANWHILE = "queued_command"

TYPE_FIRST = re.compile(rb'\s*\{"type":"([a-z_-]{1,40})"[,}]')
ATTACHMENT = re.compile(
    rb'\s*\{"parentUuid":(?:null|"[^"\\]{0,80}"),(?:"[A-Za-z]{1,30}":(?:true|false|null|"[^"\\]{0,200}"),){0,8}'
    rb'"attachment":\{"type":"([a-z_]{1,60})"'
)


def is_noise(line: bytes) -> bool:
    """Whether a line is plainly bookkeeping: seen by its first bytes, so that it need not be parsed."""
    if found := TYPE_FIRST.match(line):
        return found.group(1).decode() in NOISE
    if found := ATTACHMENT.match(line):
        return found.group(1).decode() != TYPED_MEANWHILE
    return False
