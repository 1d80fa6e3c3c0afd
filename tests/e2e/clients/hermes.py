"""Hermes, run with `hermes chat -q` against the scripted model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.model_server.chat import Chat

TABLES = ("sessions", "messages")


class Hermes(Client):
    wire = Chat()
    agent = "hermes"

    def set_up(self) -> None:
        self.folder = self.home / ".hermes"
        self.folder.mkdir()
        self.database = self.folder / "state.db"
        model = {
            "default": "scripted",
            "provider": "custom",
            "base_url": f"{self.model.url}/v1",
            "api_key": "made-up",
        }
        # Every object of JSON is YAML too.
        lines = [f"model: {json.dumps(model)}", "hooks_auto_accept: true"]
        (self.folder / "config.yaml").write_text("\n".join([*lines, ""]))
        self.env.update(HERMES_HOME=str(self.folder), OPENAI_API_KEY="made-up")

    def watch_hooks(self) -> HookLog:
        raise NotImplementedError

    def command(self, asked: Asked) -> list[str]:
        resume = ["--resume", asked.resume] if asked.resume else []
        return ["chat", *resume, "-q", asked.prompt, "--yolo", *asked.extra_args]

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        """The session that was written to last."""
        if not self.database.exists():
            return ""
        with closing(sqlite3.connect(self.database)) as connection:
            query = "SELECT session_id FROM messages ORDER BY id DESC LIMIT 1"
            row = connection.execute(query).fetchone()
        return "" if row is None else str(row[0])

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        return (self.database,)

    def rows(self) -> dict[str, list[Any]]:
        """The rows of sessions and messages."""
        with closing(sqlite3.connect(self.database)) as connection:
            return {
                name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
                for name in TABLES
            }
