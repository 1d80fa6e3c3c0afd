"""Cline CLI, run with `cline --json` against the scripted model. It leaves a hub that must be stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.model_server.chat import Chat


class Cline(Client):
    wire = Chat()
    agent = "cline"

    def set_up(self) -> None:
        self.sessions = self.home / ".cline" / "data" / "sessions"
        self.env.update(CLINE_TELEMETRY_DISABLED="1", DO_NOT_TRACK="1")
        provider = ("-p", "openai-compatible", "-k", "made-up", "-m", "scripted")
        self.call(str(self.binary), "auth", *provider, "-b", f"{self.model.url}/v1")

    def watch_hooks(self) -> HookLog:
        raise NotImplementedError

    def command(self, asked: Asked) -> list[str]:
        return ["--json", *asked.extra_args, asked.prompt]

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        found = sorted(self.sessions.glob("*/*.messages.json"), key=lambda path: path.stat().st_mtime_ns)
        return found[-1].parent.name if found else ""

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        return tuple(sorted(self.sessions.glob(f"{session_id}/*.messages.json")))

    def close(self) -> None:
        self.call(str(self.binary), "hub", "stop")
        super().close()
