"""Launch at login without the Mac app: one file that the system reads at the next login.

On macOS a launch agent, on Linux a user unit of systemd with the link that enables it. The app itself uses
the system's login items instead.
"""

from __future__ import annotations

import os
import plistlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fazm_memory.app.agent_status import connection_setup
from fazm_memory.config import Config
from fazm_memory.paths import write_private

LABEL = "org.fazm.memory"
UNIT = "fazm-memory.service"
SYSTEMD_RUNNING = Path("/run/systemd/system")


class LoginFile:
    """The file, and on Linux its link, that launch the companion at login."""

    def __init__(self, config: Config, platform: str = sys.platform, systemd: Path = SYSTEMD_RUNNING) -> None:
        self.platform, self.home = platform, config.user_home
        setup = connection_setup(config)
        self.command = (*setup.server[:-1], "run")
        self.env = dict(setup.env)
        self.available = platform == "darwin" or systemd.exists()

    @property
    def path(self) -> Path:
        if self.platform == "darwin":
            return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        return self.home / ".config" / "systemd" / "user" / UNIT

    @property
    def link(self) -> Path | None:
        return None if self.platform == "darwin" else self.path.parent / "default.target.wants" / UNIT

    def enabled(self) -> bool:
        return self.path.exists() and (self.link is None or self.link.is_symlink())

    def enable(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = _agent(self.command, self.env) if self.platform == "darwin" else _unit(self.command, self.env)
        write_private(self.path, text)
        if self.link is not None:
            self.link.parent.mkdir(exist_ok=True)
            self.link.unlink(missing_ok=True)
            self.link.symlink_to(os.path.join("..", UNIT))

    def disable(self) -> None:
        for path in (self.link, self.path):
            if path is not None:
                path.unlink(missing_ok=True)


def _agent(command: Sequence[str], env: Mapping[str, str]) -> bytes:
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "EnvironmentVariables": dict(env),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},  # again after a crash, not after it was quit
            "ProcessType": "Interactive",
            "LimitLoadToSessionType": "Aqua",
        }
    )


def _unit(command: Sequence[str], env: Mapping[str, str]) -> bytes:
    lines = [f"Environment={_quoted(f'{name}={value}')}" for name, value in env.items()]
    return "\n".join(
        [
            "[Unit]", "Description=Fazm Memory", "", "[Service]",
            f"ExecStart={' '.join(map(_quoted, command))}", *lines, "Restart=on-failure", "",
            "[Install]", "WantedBy=default.target", "",
        ]
    ).encode()  # fmt: skip


def _quoted(word: str) -> str:
    """A word for systemd, which expands % and $ and reads quotes and backslashes like a shell."""
    safe = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return safe if safe == shlex.quote(word) else f'"{safe}"'
