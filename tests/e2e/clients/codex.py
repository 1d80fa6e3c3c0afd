"""Codex, run with `codex exec` against the scripted model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.clients.client import Asked, Client
from tests.e2e.clients.hooks import HookLog
from tests.e2e.model_server.responses import Responses

HOOK_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
)

# The four features would make Codex look for its vendor's hosts when it starts.
_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
"""


class Codex(Client):
    wire = Responses()
    agent = "codex"

    def set_up(self) -> None:
        self.codex_home = self.home / ".codex"
        self.codex_home.mkdir()
        self.env.update(CODEX_HOME=str(self.codex_home), SCRIPTED_KEY="made-up")
        (self.codex_home / "config.toml").write_text(_CONFIG.format(url=self.model.url))

    def watch_hooks(self) -> HookLog:
        """Registered in config.toml, so that hooks.json stays for the memory to write."""
        log = HookLog(self.home / "hook-log")
        with (self.codex_home / "config.toml").open("a") as config:
            for event in HOOK_EVENTS:
                # Codex grants SessionEnd three seconds at most, and complains aloud when asked for more.
                seconds = 3 if event == "SessionEnd" else 20
                config.write(
                    f"\n[[hooks.{event}]]\n[[hooks.{event}.hooks]]\n"
                    f'type = "command"\ncommand = {json.dumps(log.command)}\ntimeout = {seconds}\n'
                )
        return log

    def trust_hooks(self) -> list[str]:
        """Codex runs a hook only while its hash is the approved one: call this after each change of hooks."""
        with AppServer(self) as server:
            listed = server.call("hooks/list", {"cwds": [str(self.workspace)]})
            hooks = [hook for entry in listed["data"] for hook in entry["hooks"]]
            waiting = [hook for hook in hooks if hook["trustStatus"] in ("untrusted", "modified")]
            state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in waiting}
            edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state}
            server.call("config/batchWrite", {"edits": [edit]})
        return list(state)

    def command(self, asked: Asked) -> list[str]:
        servers = {
            name: {"startup_timeout_sec": 120, "default_tools_approval_mode": "approve", **server}
            for name, server in asked.mcp_servers.items()
        }
        settings = {**asked.settings, **({"mcp_servers": servers} if servers else {})}
        self._forbid(asked.forbidden)
        command = ["exec", "--json", "--skip-git-repo-check"]
        for key, value in _dotted(settings):
            command += ["-c", f"{key}={json.dumps(value)}"]
        command += asked.extra_args
        if asked.resume is not None:
            command += ["fork" if asked.fork else "resume", asked.resume]
        return [*command, asked.prompt]

    def _forbid(self, programs: Sequence[str]) -> None:
        """Codex takes prohibitions only from a rules file, never from its settings."""
        rules = [f'prefix_rule(pattern=[{json.dumps(name)}], decision="forbidden")\n' for name in programs]
        (self.codex_home / "rules").mkdir(exist_ok=True)
        (self.codex_home / "rules" / "e2e.rules").write_text("".join(rules))

    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        return next((str(line["thread_id"]) for line in stdout_json if line["type"] == "thread.started"), "")

    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        rollouts = sorted((self.codex_home / "sessions").glob("*/*/*/rollout-*.jsonl"))
        own = [path for path in rollouts if session_id and path.stem.endswith(session_id)]
        subagents = [path for path in rollouts if session_id and _parent(path) == session_id]
        return (*own, *subagents)


def _parent(rollout: Path) -> str | None:
    """The session that spawned this one as its subagent, if any."""
    with rollout.open() as lines:
        meta = json.loads(lines.readline())["payload"]
    source = meta.get("source")
    spawn = source.get("subagent", {}).get("thread_spawn", {}) if isinstance(source, dict) else {}
    parent: str | None = spawn.get("parent_thread_id")
    return parent


def _dotted(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings as `-c` takes them: a JSON scalar or list is TOML too, a JSON object is not."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _said(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


class AppServer:
    """`codex app-server`: the JSON-RPC door that Codex's own screens use.

    `asked` answers what the server asks the person, by method.
    """

    def __init__(self, codex: Codex, asked: Callable[[str, Any], Any] | None = None) -> None:
        self._asked = asked
        self._process = codex.room.spawn(
            [str(codex.binary), "app-server"],
            env=codex.environment(),
            cwd=codex.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._last_id = 0

    def __enter__(self) -> AppServer:
        client = {"name": "fazm-memory-tests", "title": "Fazm Memory tests", "version": "1"}
        self.call("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=120)

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        for message in self._messages():
            if message.get("id") == self._last_id and "method" not in message:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
        raise AssertionError(f"codex app-server ended before it answered {method}")

    def turn(self, thread: str, words: str, mode: str) -> None:
        """Say something in a collaboration mode, `plan` or `default`, and wait until the turn has ended."""
        self.begin(thread, words, mode)
        self.until("turn/completed")

    def begin(self, thread: str, words: str, mode: str = "default") -> str:
        """Say something. Returns the turn that begins with it."""
        settings = {"model": "gpt-5.5", "reasoning_effort": None, "developer_instructions": None}
        mode_params = {"collaborationMode": {"mode": mode, "settings": settings}}
        started = self.call("turn/start", {"threadId": thread, "input": _said(words)} | mode_params)
        return str(started["turn"]["id"])

    def steer(self, thread: str, turn: str, words: str) -> None:
        """Type something while a turn runs."""
        self.call("turn/steer", {"threadId": thread, "expectedTurnId": turn, "input": _said(words)})

    def until(self, method: str, item: str = "") -> None:
        """Wait for a notification, of this type of item if one is named."""
        for message in self._messages():
            found = message.get("params", {}).get("item", {}).get("type", "")
            if message.get("method") == method and (not item or found == item):
                return
        raise AssertionError(f"codex app-server ended before {method}")

    def _messages(self) -> Iterator[Any]:
        """What the server sends. What it asks the person is answered on the way."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                assert self._asked is not None, f"codex asks {message['method']} and nobody answers"
                result = self._asked(message["method"], message["params"])
                self._send({"id": message["id"], "result": result})
            yield message

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
