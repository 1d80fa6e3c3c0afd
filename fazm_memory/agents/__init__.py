"""The agents: their records, how to read them, how to connect and resume them.

To add an agent, write a module (or a package) with a reader that follows `base.Reader`, add its name to
`base.AGENTS` and the reader to `registry.readers`. Then, if the agent can do it: its resume command in
`base`, its configuration in `connect_settings`, its hook events in `hooks` of its package.
Shared helpers: `fields` reads untrusted records, `tool_calls` finds the files of a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.agents import hook_script, tool_calls
    from fazm_memory.agents.acp import AcpClient
    from fazm_memory.agents.base import (
        AGENTS,
        CHUNK,
        CONNECTABLE,
        INVALID_ID_REASON,
        MCP_ONLY,
        NEW_SESSION_COMMANDS,
        OWNERS,
        RESUME_COMMANDS,
        Chunk,
        Cursor,
        Places,
        Reader,
        RecordFile,
        config_folder,
        is_resumable_id,
        native_resume_command,
        no_command_reason,
        rewound_reason,
    )
    from fazm_memory.agents.claude_code.calls import TaskList
    from fazm_memory.agents.claude_code.cleanup import (
        CLEANUP_SETTING,
        cleanup_days,
        cleanup_settings_file,
        expiring_transcripts,
    )
    from fazm_memory.agents.claude_code.hooks import claude_hook_events, claude_task_events
    from fazm_memory.agents.claude_code.transcript import Transcript
    from fazm_memory.agents.codex.hooks import codex_hook_events
    from fazm_memory.agents.connect import (
        ConnectPlan,
        agent_status,
        apply_plan,
        connected_agents,
        is_installed,
        plan_connect,
        plan_disconnect,
    )
    from fazm_memory.agents.connect_settings import ConnectOptions
    from fazm_memory.agents.fazm import (
        FAZM,
        FAZM_APP,
        FAZM_NOTIFICATION,
        FazmAppSession,
        FazmControl,
        FazmWindow,
        Resumed,
        fazm_sessions,
    )
    from fazm_memory.agents.fields import (
        INJECTED_MARK,
        MAX_TEXT,
        capped,
        ident,
        mapping,
        moment,
        record_of,
        sequence,
        strip_injected,
        text,
    )
    from fazm_memory.agents.native_files import (
        NativeFile,
        agent_roots,
        is_session_file,
        moved_path,
        session_files,
    )
    from fazm_memory.agents.registry import FormatDrift, format_drift, readers, record_roots
    from fazm_memory.agents.shared_database import (
        is_row_database,
        is_rows,
        placed_rows,
        restore_rows,
        restored_rows_state,
        session_rows,
    )
    from fazm_memory.agents.sqlite_file import database_stats, snapshot
    from fazm_memory.agents.tool_calls import (
        listed_by_command,
        listed_names,
        patched_files,
        plain_tool_name,
        shell_files,
        summary,
        touched_files,
    )
    from fazm_memory.agents.written_session import (
        WRITABLE_AGENTS,
        CarriedCall,
        CarriedEntry,
        NativeSession,
        shell_command,
        write_session,
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "acp": "AcpClient",
        "base": (
            "AGENTS CHUNK CONNECTABLE INVALID_ID_REASON MCP_ONLY NEW_SESSION_COMMANDS OWNERS "
            "RESUME_COMMANDS Chunk Cursor Places Reader RecordFile config_folder is_resumable_id "
            "native_resume_command no_command_reason rewound_reason"
        ),
        "claude_code.calls": "TaskList",
        "claude_code.cleanup": "CLEANUP_SETTING cleanup_days cleanup_settings_file expiring_transcripts",
        "claude_code.hooks": "claude_hook_events claude_task_events",
        "claude_code.transcript": "Transcript",
        "codex.hooks": "codex_hook_events",
        "connect": (
            "ConnectPlan agent_status apply_plan connected_agents is_installed plan_connect plan_disconnect"
        ),
        "connect_settings": "ConnectOptions",
        "fazm": (
            "FAZM FAZM_APP FAZM_NOTIFICATION FazmAppSession FazmControl FazmWindow Resumed fazm_sessions"
        ),
        "fields": (
            "INJECTED_MARK MAX_TEXT capped ident mapping moment record_of sequence strip_injected text"
        ),
        "hook_script": "",
        "native_files": "NativeFile agent_roots is_session_file moved_path session_files",
        "registry": "FormatDrift format_drift readers record_roots",
        "shared_database": (
            "is_row_database is_rows placed_rows restore_rows restored_rows_state session_rows"
        ),
        "sqlite_file": "database_stats snapshot",
        "tool_calls": (
            "listed_by_command listed_names patched_files plain_tool_name shell_files summary touched_files"
        ),
        "written_session": (
            "CarriedCall CarriedEntry NativeSession WRITABLE_AGENTS shell_command write_session"
        ),
    },
)
