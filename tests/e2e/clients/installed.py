"""Where the pinned clients are, and a plain complaint when they are not: never a silent skip."""

from __future__ import annotations

import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INSTALL = "tests/e2e/clients/install"

_MACHINE = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class ClientMissing(Exception):
    """A client is absent or is not the pinned version."""


def pinned_version(package: str) -> str:
    manifest = _json(HERE / "package.json")
    pins: dict[str, str] = manifest["dependencies"] | manifest["optionalDependencies"]
    return pins[package]


def claude_binary() -> Path:
    """The native program itself: the npm wrapper would only add Node to what is under test."""
    _check("@anthropic-ai/claude-code")
    return _program(HERE / f"node_modules/@anthropic-ai/claude-code-{_platform()}", "claude")


def codex_binary() -> Path:
    _check("@openai/codex")
    return _program(HERE / f"node_modules/@openai/codex-{_platform()}", "vendor/*/bin/codex")


def copilot_binary() -> Path:
    _check("@github/copilot")
    return _program(HERE / f"node_modules/@github/copilot-{_platform()}", "copilot")


def cline_binary() -> Path:
    """The native program alone: the package `cline` would bring 240 MB of libraries with it."""
    _check("@cline/cli-linux-x64")
    return _program(HERE / "node_modules/@cline/cli-linux-x64", "bin/cline")


def opencode_binary() -> Path:
    _check("opencode-linux-x64")
    return _program(HERE / "node_modules/opencode-linux-x64", "bin/opencode")


def qwen_program() -> Path:
    """A script for Node, which comes with the MCP suites."""
    _check("@qwen-code/qwen-code")
    return _program(HERE / "node_modules/@qwen-code/qwen-code", "cli.js")


def qwen_binary() -> Path:
    """The Node that runs Qwen Code."""
    qwen_program()
    return _program(HERE.parent / f"mcp_suites/node_modules/node-{_platform()}", "bin/node")


def hermes_binary() -> Path:
    """A program in an environment of its own, made from `hermes.lock`."""
    folder = HERE / "node_modules/.hermes"
    pinned = re.search(r"^hermes-agent(?:\[\w+\])?==(\S+)", (HERE / "hermes.lock").read_text(), re.MULTILINE)
    assert pinned is not None
    if not list(folder.glob(f"lib/python*/site-packages/hermes_agent-{pinned[1]}.dist-info")):
        raise ClientMissing(f"hermes-agent {pinned[1]} is needed and not installed. Run: {INSTALL}")
    return _program(folder, "bin/hermes")


def _check(package: str) -> None:
    manifest = HERE / "node_modules" / package / "package.json"
    found = _json(manifest)["version"] if manifest.exists() else "nothing"
    wanted = pinned_version(package)
    if found != wanted:
        raise ClientMissing(f"{package} {wanted} is needed, {found} is installed. Run: {INSTALL}")


def _program(folder: Path, pattern: str) -> Path:
    programs = list(folder.glob(pattern))
    if len(programs) != 1:
        raise ClientMissing(f"no program {pattern} for this platform in {folder}. Run: {INSTALL}")
    return programs[0]


def _platform() -> str:
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{system}-{_MACHINE.get(machine, machine)}"


def _json(path: Path) -> Any:
    return json.loads(path.read_text())
