"""GitHub Copilot CLI, run with `copilot -p` against the scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.model_server.chat import Chat


class Copilot(Client):
    wire = Chat()
    agent = "copilot"

    def set_up(self) -> None:
        self.sessions = self.home / ".copilot" / "session-state"
        self.sessions.mkdir(parents=True)
        self.env.update(
            COPILOT_OFFLINE="true",
            COPILOT_PROVIDER_BASE_URL=f"{self.model.url}/v1",
            COPILOT_PROVIDER_API_KEY="made-up",
            COPILOT_MODEL="gpt-4.1",
            COPILOT_AUTO_UPDATE="false",
            CI="1",
        )

    def watch_hooks(self) -> HookLog:
        raise NotImplementedError

    def command(self, asked: Asked) -> list[str]:
        command = ["-p", asked.prompt, "--allow-all-tools", "--allow-all-paths", "--output-format", "json"]
        return [*command, *([f"--resume={asked.resume}"] if asked.resume else []), *asked.extra_args]

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        """The session that was written to last."""
        found = sorted(self.sessions.glob("*/events.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return found[-1].parent.name if found else ""

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        return tuple(self.sessions.glob(f"{session_id}/events.jsonl"))
