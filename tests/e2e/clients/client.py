"""What the two drivers share: a fresh home, an explicit environment, and running a scenario to its end."""

from __future__ import annotations

import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from tests.e2e import tiny_mcp
from tests.e2e.clients.hooks import HookLog
from tests.e2e.clients.network import Room
from tests.e2e.clients.run import Launch, Run, Started
from tests.e2e.model_server.server import ModelServer, Wire
from tests.e2e.scenarios.script import Scenario, say

McpServers = Mapping[str, Mapping[str, Any]]

NOTHING = Scenario("nothing", (say("Done."),))
TINY_MCP: McpServers = {tiny_mcp.NAME: {"command": sys.executable, "args": [tiny_mcp.__file__]}}


class Options(TypedDict, total=False):
    """What may be asked of a run besides its prompt."""

    scenario: Scenario | None
    resume: str | None
    fork: bool
    extra_args: Sequence[str]
    settings: Mapping[str, Any] | None
    mcp_config: McpServers | None
    cwd: Path | None
    env: Mapping[str, str] | None


@dataclass(frozen=True)
class Asked:
    """What a run is asked to do; each driver words it as its client's command line."""

    prompt: str
    resume: str | None
    fork: bool
    settings: Mapping[str, Any]
    mcp_servers: McpServers
    forbidden: tuple[str, ...]
    extra_args: Sequence[str]


class Client(ABC):
    """A client in a home of its own, talking to a scripted model of its own.

    `env` and `path` may be changed before a run: what is in them is all that the client, its hooks and its
    MCP servers get to see.
    """

    wire: Wire
    agent: str  # as the memory names it

    def __init__(self, binary: Path, room: Room, folder: Path) -> None:
        self.binary = binary
        self.room = room
        self.home = folder / "home"
        self.workspace = folder / "workspace"
        self.path = ["/usr/local/bin", "/usr/bin", "/bin"]
        self._scratch = folder / "runs"
        for made in (self.home, self.workspace, self._scratch, self.home / "tmp"):
            made.mkdir(parents=True)
        self.model = ModelServer(self.wire, room.listen())
        self.env = {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        self._started: list[Started] = []
        self.set_up()

    @abstractmethod
    def set_up(self) -> None:
        """Write what the client needs in its home before its first run."""

    @abstractmethod
    def command(self, asked: Asked) -> list[str]:
        """The client's arguments for a run."""

    @abstractmethod
    def find_session_id(self, stdout_json: list[dict[str, Any]]) -> str:
        """The session's id as its output tells it; empty while nothing has been said."""

    @abstractmethod
    def find_transcripts(self, session_id: str) -> tuple[Path, ...]:
        """The session's own transcript, then those of its subagents."""

    @abstractmethod
    def watch_hooks(self) -> HookLog:
        """Register the plain shell hook for every event this client has."""

    def trust_hooks(self) -> list[str]:
        """Approve the hooks as a user would, where the client asks for it; returns those newly approved."""
        return []

    def run(self, prompt: str, *, timeout: float = 120, **options: Unpack[Options]) -> Run:
        """Run to the end; `start` explains the options."""
        return self.start(prompt, **options).wait(timeout)

    def start(
        self,
        prompt: str,
        *,
        scenario: Scenario | None = None,
        resume: str | None = None,
        fork: bool = False,
        extra_args: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        mcp_config: McpServers | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Started:
        """Begin a run and hand it over while it goes on.

        Without a scenario the model has nothing to say but "Done.". `settings` are the client's own:
        settings.json for Claude Code, config.toml for Codex. `mcp_config` has the same form for both: a name
        and its command, args and env.
        """
        cwd = cwd or self.workspace
        played = scenario or NOTHING
        self.model.learn(prompt, played)
        for name, text in played.files.items():
            (cwd / name).parent.mkdir(parents=True, exist_ok=True)
            (cwd / name).write_text(text)
        asked = Asked(
            prompt=prompt,
            resume=resume,
            fork=fork,
            settings={**played.settings, **(settings or {})},
            mcp_servers={**(TINY_MCP if played.mcp else {}), **(mcp_config or {})},
            forbidden=played.forbidden,
            extra_args=extra_args,
        )
        number = len(self._started)
        launch = Launch(
            prompt=prompt,
            out=self._scratch / f"{number}.out",
            err=self._scratch / f"{number}.err",
            model=self.model,
            session_id=self.find_session_id,
            transcripts=self.find_transcripts,
        )
        first_request = len(self.model.requests)
        with launch.out.open("wb") as out, launch.err.open("wb") as err:
            process = self.room.spawn(
                [str(self.binary), *self.command(asked)],
                env=self.environment(env),
                cwd=cwd,
                stdout=out,
                stderr=err,
            )
        started = Started(process, launch, first_request)
        self._started.append(started)
        return started

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Exactly what a run gets, and nothing of what the tests themselves run in."""
        return {"PATH": ":".join(self.path), **self.env, **(extra or {})}

    def call(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run another program where the client runs: same environment, same network, same workspace."""
        process = self.room.spawn(
            command,
            env=self.environment(),
            cwd=self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = process.communicate(stdin.encode())
        done = subprocess.CompletedProcess(command, process.returncode, out.decode(), err.decode())
        assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stderr}"
        return done

    def close(self) -> None:
        for started in self._started:
            started.stop()
        self.model.close()
