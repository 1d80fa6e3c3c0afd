"""opencode, run with `opencode run` against the scripted model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.model_server.chat import Chat

MODEL = "scripted/scripted"


class Opencode(Client):
    wire = Chat()
    agent = "opencode"

    def set_up(self) -> None:
        self.database = self.home / ".local" / "share" / "opencode" / "opencode.db"
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "made-up"},
            "models": {"scripted": {"name": "scripted"}},
        }
        config = {
            "provider": {"scripted": provider},
            "model": MODEL,
            "small_model": MODEL,
            "autoupdate": False,
            "share": "disabled",
        }
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(config))
        self.env.update(OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1")

    def watch_hooks(self) -> HookLog:
        raise NotImplementedError

    def command(self, asked: Asked) -> list[str]:
        command = ["run", "--format", "json", *(["--session", asked.resume] if asked.resume else [])]
        return [*command, *asked.extra_args, asked.prompt]

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        return next((str(line["sessionID"]) for line in stdout_json if "sessionID" in line), "")

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        return (self.database,)

    def rows(self) -> dict[str, list[Any]]:
        """Every row of every table of the database."""
        with closing(sqlite3.connect(self.database)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
            return {
                name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
                for (name,) in names
            }
