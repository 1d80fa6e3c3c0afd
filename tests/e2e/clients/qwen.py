"""Qwen Code, run with `qwen -p` against the scripted model, on the Node of the MCP suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.clients.installed import qwen_program
from tests.e2e.model_server.chat import Chat


class Qwen(Client):
    wire = Chat()
    agent = "qwen"

    def set_up(self) -> None:
        self.chats = self.home / ".qwen" / "projects"
        folder = self.home / ".qwen"
        folder.mkdir(parents=True)
        settings = {
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "security": {"auth": {"selectedType": "openai"}},
            "$version": 4,
        }
        # In the client's own form: it would write another one anew.
        (folder / "settings.json").write_text(json.dumps(settings, indent=2))
        self.env.update(
            OPENAI_API_KEY="made-up",
            OPENAI_BASE_URL=f"{self.model.url}/v1",
            OPENAI_MODEL="scripted",
            QWEN_SANDBOX="false",
        )

    def watch_hooks(self) -> HookLog:
        raise NotImplementedError

    def command(self, asked: Asked) -> list[str]:
        command = [
            str(qwen_program()),
            "-p",
            asked.prompt,
            "--approval-mode",
            "yolo",
            "--output-format",
            "stream-json",
        ]
        return [*command, *(["--resume", asked.resume] if asked.resume else []), *asked.extra_args]

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        """The session that was written to last."""
        found = sorted(self.chats.glob("*/chats/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return found[-1].stem if found else ""

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        return tuple(self.chats.glob(f"*/chats/{session_id}.jsonl"))
