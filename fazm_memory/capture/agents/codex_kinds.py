"""The kinds of records that Codex writes: those that tell something, and those known to tell nothing more.

A kind that is in neither is new to us: it is kept as it is and counted, so that somebody looks at it.
"""

from __future__ import annotations

import re

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
AT_ONCE = frozenset({"web_search_call", "image_generation_call"})
TURN_STARTS = frozenset({"task_started", "turn_started"})
TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})
TITLES = frozenset({"thread_name_updated", "session_name_updated"})

# Items that say how a call ended, and the end events that said it in versions without items.
ITEMS = frozenset(
    {"CommandExecution", "FileChange", "McpToolCall", "WebSearch", "ImageView", "CollabAgentToolCall"}
)
END_EVENTS = {
    "exec_command_end": "CommandExecution",
    "patch_apply_end": "FileChange",
    "mcp_tool_call_end": "McpToolCall",
    "web_search_end": "WebSearch",
}

# Thoughts, settings, beginnings of what is told when it ends, and doubles of what another record tells.
RECORD_NOISE = frozenset(
    {
        "world_state", "inter_agent_communication", "inter_agent_communication_metadata",
        "security_risk_score", "realtime_item", "dynamic_tools_updated",
    }
)  # fmt: skip
RESPONSE_NOISE = frozenset(
    {
        "reasoning", "agent_message", "compaction", "compaction_summary", "compaction_trigger",
        "context_compaction", "ghost_snapshot", "additional_tools", "configuration_update", "other",
    }
)  # fmt: skip
EVENT_NOISE = frozenset(
    {
        "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
        "agent_reasoning_section_break", "context_compacted", "thread_settings_applied",
        "thread_goal_updated", "thread_rolled_back", "undo_completed", "entered_review_mode",
        "exited_review_mode", "sub_agent_activity", "error", "warning", "stream_error", "plan_update",
        "view_image_tool_call", "image_generation_end", "item_started", "hook_started", "hook_completed",
        "turn_diff", "session_configured", "background_event", "guardian_assessment", "guardian_warning",
        "exec_command_begin", "mcp_tool_call_begin", "patch_apply_begin", "web_search_begin",
        "collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end", "collab_close_end",
        "collab_resume_end", "dynamic_tool_call_request", "dynamic_tool_call_response",
        "shutdown_complete", "deprecation_notice", "model_reroute",
    }
)  # fmt: skip
ITEM_NOISE = frozenset(
    {
        "UserMessage", "AgentMessage", "Reasoning", "Plan", "ContextCompaction", "EnteredReviewMode",
        "ExitedReviewMode", "Sleep", "ImageGeneration", "SubAgentActivity", "HookPrompt", "Error",
    }
)  # fmt: skip

# The longest of these are seen by how their lines begin, which spares reading them: thoughts are encrypted at
# great length.
_NOISE_LINE = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d{1,15},)?"type":"(?:world_state"'
    rb'|response_item","payload":\{"type":"reasoning"'
    rb'|event_msg","payload":\{"type":"(?:thread_settings_applied|agent_reasoning|user_message|agent_message)")'
)


def is_noise(line: bytes) -> bool:
    """Whether a line tells nothing, as far as its beginning says so."""
    return _NOISE_LINE.match(line) is not None
