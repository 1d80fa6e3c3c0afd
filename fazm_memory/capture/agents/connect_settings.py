"""What we put into which file of an agent: our hooks, and our MCP server.

Each setting knows three things about a text: whether all of ours is there, how to put it in, how to take it
out. Ours is known by what it runs, so it is found again whoever has moved it since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fazm_memory.capture import hook_script
from fazm_memory.capture.agents import connect_json, connect_toml
from fazm_memory.capture.agents.connect_json import Node, NotJson
from fazm_memory.capture.agents.reader import Places

SERVER = "fazm-memory"
EMPTY = "{}\n"
ANSWERS = True


@dataclass(frozen=True)
class Hook:
    """An event we listen to; `answers` when the agent waits for what we say. The timeout is in its unit."""

    answers: bool = False
    timeout: int = 10
    matcher: str | None = None


CLAUDE = {
    "SessionStart": Hook(ANSWERS),
    "UserPromptSubmit": Hook(ANSWERS),
    "PreToolUse": Hook(),
    "PostToolUse": Hook(),
    "PostToolUseFailure": Hook(),
    "PostToolBatch": Hook(),
    "PostCompact": Hook(),
    "SessionEnd": Hook(),
}
CODEX = {
    "SessionStart": Hook(ANSWERS),
    "UserPromptSubmit": Hook(ANSWERS),
    "PreToolUse": Hook(),
    "PostToolUse": Hook(),
    "PostCompact": Hook(),
    "SessionEnd": Hook(timeout=3),  # with more it complains aloud
}
# Gemini's hooks name no call, so calls are left to its records; a file is about to change is worth knowing.
GEMINI = {
    "SessionStart": Hook(ANSWERS, 10_000, "*"),
    "BeforeTool": Hook(timeout=10_000, matcher="write_file|replace"),
    "SessionEnd": Hook(timeout=10_000, matcher="*"),
}


@dataclass(frozen=True)
class Joining:
    """What a connection is made of: where agents keep things, where we do, and how our server is started."""

    places: Places
    home: Path
    server: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """One thing in one file. `fresh` is what the file is made from when it is not there."""

    kind: Literal["hooks", "mcp"]
    path: Path
    complete: Callable[[str], bool]
    put: Callable[[str], str]
    take: Callable[[str], str]
    fresh: str = EMPTY


def settings_of(agent: str, joining: Joining) -> list[Setting]:
    """What connecting an agent means."""
    places, stdio = joining.places, {"type": "stdio"}
    if agent == "claude-code":
        own = places.env.get("CLAUDE_CONFIG_DIR")
        state = Path(own) / ".claude.json" if own else places.home / ".claude.json"
        return [_claude_hooks(joining), _json_server(state, ("mcpServers",), joining, stdio)]
    if agent == "codex":
        root = folder_of(agent, places)
        hooks = _hooks(root / "hooks.json", CODEX, agent, joining)
        return [hooks, _toml_server(root / "config.toml", joining)]
    if agent == "gemini":
        path = folder_of(agent, places) / "settings.json"
        return [_hooks(path, GEMINI, agent, joining), _json_server(path, ("mcpServers",), joining, {})]
    if agent == "fazm":
        servers = folder_of(agent, places) / "mcp-servers.json"
        # Fazm runs Claude Code underneath, whose hooks fire in its sessions too.
        return [_json_server(servers, (), joining, {"enabled": True}), _claude_hooks(joining)]
    raise KeyError(agent)


def folder_of(agent: str, places: Places) -> Path:
    """Where an agent keeps its configuration."""
    own = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(agent)
    given = places.env.get(own) if own is not None else None
    names = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini", "fazm": ".fazm"}
    return Path(given) if given else places.home / names[agent]


def _claude_hooks(joining: Joining) -> Setting:
    path = folder_of("claude-code", joining.places) / "settings.json"
    return _hooks(path, CLAUDE, "claude-code", joining)


# -- hooks -----------------------------------------------------------------------------------------------


def _hooks(path: Path, wanted: Mapping[str, Hook], agent: str, joining: Joining) -> Setting:
    entries = {name: _entry(hook, agent, joining.home) for name, hook in wanted.items()}

    def complete(text: str) -> bool:
        root = connect_json.parse(text)
        return all(
            [one.value for one in _entries(root, name) if _is_ours(one)] == [entry]
            for name, entry in entries.items()
        )

    def put(text: str) -> str:
        text = take(text)
        root = _object(connect_json.parse(text), "the file")
        if root.child("hooks") is None:
            return connect_json.add_member(text, (), "hooks", {name: [one] for name, one in entries.items()})
        for name, entry in entries.items():
            hooks = _object(connect_json.parse(text).child("hooks"), '"hooks"')
            if hooks.child(name) is None:
                text = connect_json.add_member(text, ("hooks",), name, [entry])
            else:
                text = connect_json.add_item(text, ("hooks", name), entry)
        return text

    def take(text: str) -> str:
        hooks = _object(connect_json.parse(text), "the file").child("hooks")
        emptied: set[str] = set()
        for name in [one.key for one in hooks.children if one.key] if hooks is not None else ():
            shorter = _taken(text, name)
            if shorter != text and not connect_json.parse(shorter).value["hooks"][name]:
                emptied.add(name)
            text = shorter
        if not emptied:
            return text
        text = connect_json.remove(text, ("hooks",), lambda one: one.key in emptied)
        return connect_json.remove(text, (), lambda one: one.key == "hooks" and not one.children)

    return Setting("hooks", path, complete, put, take)


def _entry(hook: Hook, agent: str, home: Path) -> dict[str, Any]:
    command = hook_script.command(home, agent, answer=hook.answers)
    runs = {"type": "command", "command": command, "timeout": hook.timeout}
    if hook.matcher is None:
        return {"hooks": [runs]}
    return {"matcher": hook.matcher, "hooks": [{"name": SERVER, **runs}]}


def _entries(root: Node, event: str) -> list[Node]:
    hooks = root.child("hooks")
    entries = hooks.child(event) if hooks is not None else None
    return [] if entries is None else entries.children


def _taken(text: str, event: str) -> str:
    """The text without our entries for an event, nor our command in an entry of the user's own."""
    text = connect_json.remove(text, ("hooks", event), _is_ours)
    for number, entry in enumerate(_entries(connect_json.parse(text), event)):
        if entry.child("hooks") is not None:
            text = connect_json.remove(text, ("hooks", event, number, "hooks"), _runs_us)
    return text


def _is_ours(entry: Node) -> bool:
    """An entry that runs our hook and nothing else."""
    hooks = entry.child("hooks")
    return hooks is not None and bool(hooks.children) and all(map(_runs_us, hooks.children))


def _runs_us(one: Node) -> bool:
    command = one.child("command")
    return command is not None and hook_script.is_ours(command.value)


# -- the MCP server --------------------------------------------------------------------------------------


def _json_server(path: Path, below: tuple[str, ...], joining: Joining, more: Mapping[str, Any]) -> Setting:
    wanted = {**more, "command": joining.server[0], "args": list(joining.server[1:])}
    if joining.env:
        wanted["env"] = dict(joining.env)

    def complete(text: str) -> bool:
        node: Node | None = connect_json.parse(text)
        for name in (*below, SERVER):
            node = node.child(name) if node is not None else None
        return node is not None and node.value == wanted

    def put(text: str) -> str:
        text = take(text)
        root = _object(connect_json.parse(text), "the file")
        if below and root.child(below[0]) is None:
            return connect_json.add_member(text, (), below[0], {SERVER: wanted})
        if below:
            _object(root.child(below[0]), f'"{below[0]}"')
        return connect_json.add_member(text, below, SERVER, wanted)

    def take(text: str) -> str:
        root = _object(connect_json.parse(text), "the file")
        holder = root.child(below[0]) if below else root
        if holder is None or holder.child(SERVER) is None:
            return text
        text = connect_json.remove(text, below, lambda one: one.key == SERVER)
        if not below:
            return text
        return connect_json.remove(text, (), lambda one: one.key == below[0] and not one.children)

    return Setting("mcp", path, complete, put, take)


def _toml_server(path: Path, joining: Joining) -> Setting:
    place = ("mcp_servers", SERVER)
    wanted: dict[str, Any] = {"command": joining.server[0], "args": list(joining.server[1:])}
    if joining.env:
        wanted["env"] = dict(joining.env)

    def complete(text: str) -> bool:
        # A user may have said more of it, such as which tools need no approval.
        found = connect_toml.table(text, place)
        return found is not None and all(found.get(name) == value for name, value in wanted.items())

    def put(text: str) -> str:
        return connect_toml.add_table(connect_toml.remove_table(text, place), place, wanted)

    def take(text: str) -> str:
        return connect_toml.remove_table(text, place)

    return Setting("mcp", path, complete, put, take, fresh="")


def _object(node: Node | None, what: str) -> Node:
    if node is None or not isinstance(node.value, dict):
        raise NotJson(f"{what} is not an object")
    return node
