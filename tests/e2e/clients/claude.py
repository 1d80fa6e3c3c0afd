"""Claude Code, run in print mode against the scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.model_server.anthropic import Messages

HOOK_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SessionEnd",
)

# Allowed one by one: as root the client refuses to skip its permission checks altogether.
_ALLOWED = ["Bash", "Read", "Write", "Edit", "Agent"]


class Claude(Client):
    wire = Messages()
    agent = "claude-code"

    def set_up(self) -> None:
        self.config_dir = self.home / ".claude"
        self.config_dir.mkdir()
        self.env.update(
            CLAUDE_CONFIG_DIR=str(self.config_dir),
            ANTHROPIC_BASE_URL=self.model.url,
            ANTHROPIC_API_KEY="made-up",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_TELEMETRY="1",
            DISABLE_ERROR_REPORTING="1",
            DISABLE_AUTOUPDATER="1",
        )
        user_settings = {"permissions": {"allow": _ALLOWED}}
        (self.config_dir / "settings.json").write_text(json.dumps(user_settings, indent=2))
        self._hooks: dict[str, Any] = {}

    def watch_hooks(self) -> HookLog:
        """Registered through `--settings`, so that the user's settings.json stays for the memory to edit."""
        log = HookLog(self.home / "hook-log")
        entry = [{"hooks": [{"type": "command", "command": log.command, "timeout": 120}]}]
        self._hooks = dict.fromkeys(HOOK_EVENTS, entry)
        return log

    def command(self, asked: Asked) -> list[str]:
        rules = asked.settings.get("permissions", {})
        allow = [*rules.get("allow", ()), *(f"mcp__{name}" for name in asked.mcp_servers)]
        deny = [*rules.get("deny", ()), *(f"Bash({program}:*)" for program in asked.forbidden)]
        settings = {
            **asked.settings,
            "permissions": {**rules, "allow": allow, "deny": deny},
            "hooks": {**self._hooks, **asked.settings.get("hooks", {})},
        }
        command = ["-p", asked.prompt, "--output-format", "stream-json", "--verbose"]
        command += ["--settings", json.dumps(settings)]
        if asked.mcp_servers:
            command += ["--mcp-config", json.dumps({"mcpServers": asked.mcp_servers})]
        if asked.resume is not None:
            command += ["--resume", asked.resume]
        if asked.fork:
            command.append("--fork-session")
        return [*command, *asked.extra_args]

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        """The last one named: a fork's first lines may still carry its parent's."""
        return next((str(line["session_id"]) for line in reversed(stdout_json) if "session_id" in line), "")

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        projects = self.config_dir / "projects"
        own = projects.glob(f"*/{session_id}.jsonl")
        subagents = projects.glob(f"*/{session_id}/subagents/*.jsonl")
        return (*own, *sorted(subagents))
