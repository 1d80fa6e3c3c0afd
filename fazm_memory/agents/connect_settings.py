"""Our part of each agent's configuration files.

This module says what it is, how it is put in and how it is taken out.

Hooks give a new session its context. The MCP server lets the agent ask. An agent that allows only one of them
gets that one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fazm_memory.agents import config_edit, hook_script
from fazm_memory.agents.base import Places, cline_data, config_folder
from fazm_memory.agents.claude_code.cleanup import CLEANUP_SETTING
from fazm_memory.agents.config_edit import JsonNode, NotJson
from fazm_memory.errors import ConfigError
from fazm_memory.paths import read_regular
from fazm_memory.records import dataclass, field

SERVER = "fazm-memory"
DEFAULT_TOOLS = "small"
SMALL_TOOLS = ("memory_context", "memory_search", "session_read", "session_note", "names_propose")
EMPTY = "{}\n"
ANSWERS = True


@dataclass(frozen=True)
class HookSetting:
    """A hook on an event.

    `answers`: the agent waits for our output; `reminds`: there may be some.

    The timeout is in the agent's unit.
    """

    answers: bool = False
    timeout: int = 10
    matcher: str | None = None
    reminds: bool = False

    def command(self, agent: str, home: Path, event: str = "") -> str:
        return hook_script.command(home, agent, answer=self.answers, remind=self.reminds, event=event)


CLAUDE = {
    "SessionStart": HookSetting(ANSWERS),
    "UserPromptSubmit": HookSetting(ANSWERS),
    "PreToolUse": HookSetting(reminds=True),
    "PostToolUse": HookSetting(),
    "PostToolUseFailure": HookSetting(),
    "PostToolBatch": HookSetting(),
    "PostCompact": HookSetting(),
    "SessionEnd": HookSetting(),
}
CODEX = {
    "SessionStart": HookSetting(ANSWERS),
    "UserPromptSubmit": HookSetting(ANSWERS),
    "PreToolUse": HookSetting(),
    "PostToolUse": HookSetting(),
    "PostCompact": HookSetting(),
    "SessionEnd": HookSetting(timeout=3),  # Codex warns about more
}
# Gemini's hooks have no call ids, so calls are read from its records. `BeforeTool` names files that are about
# to change.
GEMINI = {
    "SessionStart": HookSetting(ANSWERS, 10_000, "*"),
    "BeforeTool": HookSetting(timeout=10_000, matcher="write_file|replace"),
    "SessionEnd": HookSetting(timeout=10_000, matcher="*"),
}
# The records of the agents below are read as they grow. Their hooks only give the context.
# Only if the setting `ask_for_note` is on.
CLAUDE_NOTE = {"Stop": HookSetting(ANSWERS)}
QWEN = {"UserPromptSubmit": HookSetting(ANSWERS)}
COPILOT = "sessionStart"
CURSOR = "sessionStart"
HERMES = "pre_llm_call"
CLINE = "PreToolUse"  # the first event whose answer reaches the model
ANTIGRAVITY = "PreInvocation"


@dataclass(frozen=True)
class ConnectOptions:
    """The agents' places, our data folder, and how our MCP server is started."""

    places: Places
    home: Path
    server: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    temporary: bool = False  # the program lies where it will not be found tomorrow
    tools: str | None = None  # the MCP tool set; None keeps the one that is configured
    ask_for_note: bool = False  # whether Claude Code is asked for a note when it stops with open steps
    keep_days: int | None = None  # after how many days Claude Code may delete transcripts; None keeps that


@dataclass(frozen=True)
class ConfigSetting:
    """Our part of a configuration file. `fresh` is the content of a new file."""

    kind: Literal["hooks", "mcp", "cleanup"]
    path: Path
    complete: Callable[[str], bool]
    put: Callable[[str], str]
    take: Callable[[str], str]
    fresh: str = EMPTY
    executable: bool = False


def settings_of(agent: str, options: ConnectOptions) -> list[ConfigSetting]:
    """The settings that connect an agent."""
    return _SETTINGS[agent](options)


def _claude_code(options: ConnectOptions) -> list[ConfigSetting]:
    places = options.places
    own = places.env.get("CLAUDE_CONFIG_DIR")
    state = Path(own) / ".claude.json" if own else places.home / ".claude.json"
    server = _json_server(state, ("mcpServers",), options, {"type": "stdio"})
    return [_claude_hooks(options), server, _claude_cleanup(options)]


def _codex(options: ConnectOptions) -> list[ConfigSetting]:
    root = config_folder("codex", options.places)
    hooks = _hooks(root / "hooks.json", CODEX, "codex", options)
    return [hooks, _toml_server(root / "config.toml", options)]


def _gemini(options: ConnectOptions) -> list[ConfigSetting]:
    path = config_folder("gemini", options.places) / "settings.json"
    return [_hooks(path, GEMINI, "gemini", options), _json_server(path, ("mcpServers",), options, {})]


def _fazm(options: ConnectOptions) -> list[ConfigSetting]:
    servers = config_folder("fazm", options.places) / "mcp-servers.json"
    # Fazm runs Claude Code underneath, whose hooks fire in its sessions too.
    return [_json_server(servers, (), options, {"enabled": True}), _claude_hooks(options)]


def _qwen(options: ConnectOptions) -> list[ConfigSetting]:
    path = config_folder("qwen", options.places) / "settings.json"
    return [_hooks(path, QWEN, "qwen", options), _json_server(path, ("mcpServers",), options, {})]


def _copilot(options: ConnectOptions) -> list[ConfigSetting]:
    root = config_folder("copilot", options.places)
    command = HookSetting(ANSWERS).command("copilot", options.home, COPILOT)
    entry = {"type": "command", "bash": command, "timeoutSec": 10}
    hooks = _own_file(root / "hooks" / f"{SERVER}.json", {"version": 1, "hooks": {COPILOT: [entry]}})
    more = {"type": "local", "tools": ["*"]}
    return [hooks, _json_server(root / "mcp-config.json", ("mcpServers",), options, more)]


def _cursor(options: ConnectOptions) -> list[ConfigSetting]:
    root = config_folder("cursor", options.places)
    entry = {"command": HookSetting(ANSWERS).command("cursor", options.home, CURSOR)}
    return [
        _entry_hooks(root / "hooks.json", {CURSOR: entry}, fresh='{\n  "version": 1\n}\n'),
        _json_server(root / "mcp.json", ("mcpServers",), options, {}),
    ]


def _cline(options: ConnectOptions) -> list[ConfigSetting]:
    servers = cline_data(options.places) / "settings" / "cline_mcp_settings.json"
    server = _json_server(servers, ("mcpServers",), options, {})
    hook = _script(options.places.home / ".cline" / "hooks" / CLINE, "cline", CLINE, options)
    return [server] if has_own_cline_hook(options) else [hook, server]


def has_own_cline_hook(options: ConnectOptions) -> bool:
    """Whether the user has a script of their own where ours would be.

    There can be only one.
    """
    try:
        script = read_regular(options.places.home / ".cline" / "hooks" / CLINE)
    except OSError:
        return False
    return bool(script.strip()) and not hook_script.is_ours(script.decode("utf-8", "replace"))


def _hermes(options: ConnectOptions) -> list[ConfigSetting]:
    path = config_folder("hermes", options.places) / "config.yaml"
    entry = {"command": HookSetting(ANSWERS).command("hermes", options.home)}
    return [
        _yaml_hook(path, ("hooks", HERMES), entry),
        _yaml_server(path, "mcp_servers", options, lambda current: _server_entry(options, current)),
    ]


def _goose(options: ConnectOptions) -> list[ConfigSetting]:
    def entry(current: Any) -> dict[str, Any]:
        server = _server_entry(options, current)
        values = {"name": SERVER, "type": "stdio", "enabled": True, "cmd": server["command"]}
        return values | {"args": server["args"], "envs": server.get("env", {}), "timeout": 300}

    path = config_folder("goose", options.places) / "config.yaml"
    return [_yaml_server(path, "extensions", options, entry)]


def _openclaw(options: ConnectOptions) -> list[ConfigSetting]:
    path = config_folder("openclaw", options.places) / "openclaw.json"
    return [_json_server(path, ("mcp", "servers"), options, {})]


def _antigravity(options: ConnectOptions) -> list[ConfigSetting]:
    root = options.places.home / ".gemini" / "config"
    plugin = root / "plugins" / SERVER
    command = HookSetting(ANSWERS).command("antigravity", options.home, ANTIGRAVITY)
    entry = {"type": "command", "command": command, "timeout": 10}
    about = {"name": SERVER, "description": "Gives a new conversation what was done before."}
    return [
        _own_file(plugin / "hooks.json", {SERVER: {ANTIGRAVITY: [entry]}}),
        _own_file(plugin / "plugin.json", about),
        _json_server(root / "mcp_config.json", ("mcpServers",), options, {}),
    ]


_SETTINGS: dict[str, Callable[[ConnectOptions], list[ConfigSetting]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "fazm": _fazm,
    "copilot": _copilot,
    "qwen": _qwen,
    "cursor": _cursor,
    "cline": _cline,
    "hermes": _hermes,
    "openclaw": _openclaw,
    "goose": _goose,
    "antigravity": _antigravity,
}


def _claude_hooks(options: ConnectOptions) -> ConfigSetting:
    path = config_folder("claude-code", options.places) / "settings.json"
    wanted = CLAUDE | (CLAUDE_NOTE if options.ask_for_note else {})
    return _hooks(path, wanted, "claude-code", options)


def _claude_cleanup(options: ConnectOptions) -> ConfigSetting:
    """Our setting of the days after which Claude Code deletes transcripts.

    It is written only if the user asked for a number.
    """
    path = config_folder("claude-code", options.places) / "settings.json"
    wanted = options.keep_days

    def current(text: str) -> Any:
        return _object(config_edit.parse(text), "the file").value.get(CLEANUP_SETTING)

    def changed(text: str, value: Any) -> str:
        text = config_edit.remove(text, (), lambda node: node.key == CLEANUP_SETTING)
        return text if value is None else config_edit.add_member(text, (), CLEANUP_SETTING, value)

    def complete(text: str) -> bool:
        return wanted is None or current(text) == wanted

    def take(text: str) -> str:
        # What stood there before. Without it Claude Code would delete more than the user wanted.
        ours = read_manifest(options.home).get("claude-code", {}).get(str(path), {}).get("cleanup")
        return text if ours is None or current(text) != ours["set"] else changed(text, ours["before"])

    return ConfigSetting("cleanup", path, complete, lambda text: changed(text, wanted), take)


# -- hooks -----------------------------------------------------------------------------------------------


def _hooks(
    path: Path, wanted: Mapping[str, HookSetting], agent: str, options: ConnectOptions
) -> ConfigSetting:
    entries = {name: _entry(hook, agent, options.home) for name, hook in wanted.items()}
    return _entry_hooks(path, entries)


def _entry_hooks(path: Path, entries: Mapping[str, Mapping[str, Any]], fresh: str = EMPTY) -> ConfigSetting:
    """An entry of ours for each event under "hooks"."""

    def complete(text: str) -> bool:
        root = config_edit.parse(text)
        return all(
            [node.value for node in _entries(root, name) if _is_ours(node)] == [entry]
            for name, entry in entries.items()
        )

    def put(text: str) -> str:
        text = take(text)
        root = _object(config_edit.parse(text), "the file")
        if root.child("hooks") is None:
            return config_edit.add_member(
                text, (), "hooks", {name: [entry] for name, entry in entries.items()}
            )
        for name, entry in entries.items():
            hooks = _object(config_edit.parse(text).child("hooks"), '"hooks"')
            if hooks.child(name) is None:
                text = config_edit.add_member(text, ("hooks",), name, [entry])
            else:
                text = config_edit.add_item(text, ("hooks", name), entry)
        return text

    def take(text: str) -> str:
        hooks = _object(config_edit.parse(text), "the file").child("hooks")
        emptied: set[str] = set()
        for name in [node.key for node in hooks.children if node.key] if hooks is not None else ():
            shorter = _taken(text, name)
            if shorter != text and not config_edit.parse(shorter).value["hooks"][name]:
                emptied.add(name)
            text = shorter
        if not emptied:
            return text
        text = config_edit.remove(text, ("hooks",), lambda node: node.key in emptied)
        return config_edit.remove(text, (), lambda node: node.key == "hooks" and not node.children)

    return ConfigSetting("hooks", path, complete, put, take, fresh)


def _own_file(path: Path, wanted: Mapping[str, Any]) -> ConfigSetting:
    """A file that is ours alone."""
    ours = json.dumps(wanted, indent=2) + "\n"

    def complete(text: str) -> bool:
        return bool(config_edit.parse(text).value == wanted)

    return ConfigSetting("hooks", path, complete, lambda text: ours, lambda text: EMPTY)


def _script(path: Path, agent: str, event: str, options: ConnectOptions) -> ConfigSetting:
    """An executable of ours that an agent runs by its name."""
    ours = f"#!/bin/sh\n{HookSetting(ANSWERS).command(agent, options.home, event)}\n"

    def complete(text: str) -> bool:
        return text == ours

    return ConfigSetting("hooks", path, complete, lambda text: ours, lambda text: "", "", executable=True)


def _entry(hook: HookSetting, agent: str, home: Path) -> dict[str, Any]:
    runs = {"type": "command", "command": hook.command(agent, home), "timeout": hook.timeout}
    if hook.matcher is None:
        return {"hooks": [runs]}
    return {"matcher": hook.matcher, "hooks": [{"name": SERVER, **runs}]}


def _entries(root: JsonNode, event: str) -> list[JsonNode]:
    hooks = root.child("hooks")
    entries = hooks.child(event) if hooks is not None else None
    return [] if entries is None else entries.children


def _taken(text: str, event: str) -> str:
    """The text without our entries for an event.

    Our command is also taken out of the user's own entries.
    """
    text = config_edit.remove(text, ("hooks", event), _is_ours)
    for number, entry in enumerate(_entries(config_edit.parse(text), event)):
        if entry.child("hooks") is not None:
            text = config_edit.remove(text, ("hooks", event, number, "hooks"), _runs_us)
    return text


def _is_ours(entry: JsonNode) -> bool:
    """An entry that runs our hook and nothing else."""
    hooks = entry.child("hooks")
    if hooks is None:
        return _runs_us(entry)
    return bool(hooks.children) and all(map(_runs_us, hooks.children))


def _runs_us(node: JsonNode) -> bool:
    command = node.child("command")
    return command is not None and hook_script.is_ours(command.value)


# -- the MCP server --------------------------------------------------------------------------------------


def _server_entry(options: ConnectOptions, current: Any) -> dict[str, Any]:
    """How an agent starts our server.

    A tool set that was chosen before stays, unless options name one.
    """
    arguments = list(options.server[1:])
    chosen = options.tools or _tool_set(current)
    if chosen is not None and chosen != DEFAULT_TOOLS:
        arguments += ["--tools", chosen]
    entry: dict[str, Any] = {"command": options.server[0], "args": arguments}
    return entry | ({"env": dict(options.env)} if options.env else {})


def _tool_set(entry: Any) -> str | None:
    """The tool set that an entry in a configuration asks for."""
    arguments = entry.get("args") if isinstance(entry, Mapping) else None
    if not isinstance(arguments, list) or "--tools" not in arguments[:-1]:
        return None
    return str(arguments[arguments.index("--tools") + 1])


def _json_server(
    path: Path, below: tuple[str, ...], options: ConnectOptions, more: Mapping[str, Any]
) -> ConfigSetting:
    def entry(current: Any) -> dict[str, Any]:
        return {**more, **_server_entry(options, current)}

    def present(text: str) -> Any:
        node: JsonNode | None = config_edit.parse(text)
        for name in (*below, SERVER):
            node = node.child(name) if node is not None else None
        return None if node is None else node.value

    def complete(text: str) -> bool:
        found = present(text)
        return found is not None and found == entry(found)

    def put(text: str) -> str:
        value: dict[str, Any] = {SERVER: entry(present(text))}
        text = take(text)
        node = _object(config_edit.parse(text), "the file")
        for number, name in enumerate(below):
            inner = node.child(name)
            if inner is None:
                for missing in reversed(below[number + 1 :]):
                    value = {missing: value}
                return config_edit.add_member(text, below[:number], name, value)
            node = _object(inner, f'"{name}"')
        return config_edit.add_member(text, below, SERVER, value[SERVER])

    def take(text: str) -> str:
        if present(text) is None:
            return text
        text = config_edit.remove(text, below, lambda node: node.key == SERVER)
        for number in reversed(range(len(below))):
            is_empty = partial(_is_empty, name=below[number])
            text = config_edit.remove(text, below[:number], is_empty)
        return text

    return ConfigSetting("mcp", path, complete, put, take)


def _is_empty(node: JsonNode, name: str) -> bool:
    return node.key == name and not node.children


def _yaml_server(
    path: Path, section: str, options: ConnectOptions, entry: Callable[[Any], dict[str, Any]]
) -> ConfigSetting:
    """A server of ours in a section of a YAML file.

    It is written as one line of JSON, which is YAML too.
    """

    def complete(text: str) -> bool:
        found = config_edit.yaml_member(text, section, SERVER)
        return found is not None and found == json.dumps(entry(_json(found)), ensure_ascii=False)

    def put(text: str) -> str:
        found = config_edit.yaml_member(text, section, SERVER)
        wanted = json.dumps(entry(_json(found)), ensure_ascii=False)
        return config_edit.add_yaml_member(take(text), section, SERVER, wanted)

    def take(text: str) -> str:
        return config_edit.remove_yaml_member(text, section, SERVER)

    return ConfigSetting("mcp", path, complete, put, take, fresh="")


def _yaml_hook(path: Path, place: tuple[str, str], entry: Mapping[str, Any]) -> ConfigSetting:
    """A hook of ours in a list of a YAML file, written as one line of JSON."""
    ours = json.dumps(entry, ensure_ascii=False)

    def complete(text: str) -> bool:
        return config_edit.yaml_items(text, place, hook_script.is_ours) == [ours]

    def put(text: str) -> str:
        return config_edit.add_yaml_item(take(text), place, ours)

    def take(text: str) -> str:
        return config_edit.remove_yaml_items(text, place, hook_script.is_ours)

    return ConfigSetting("hooks", path, complete, put, take, fresh="")


def _json(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return None


def _toml_server(path: Path, options: ConnectOptions) -> ConfigSetting:
    place = ("mcp_servers", SERVER)

    def complete(text: str) -> bool:
        # The user may have added more, such as which tools need no approval.
        found = config_edit.table(text, place)
        wanted = _server_entry(options, found)
        return found is not None and all(found.get(name) == value for name, value in wanted.items())

    def put(text: str) -> str:
        wanted = _server_entry(options, config_edit.table(text, place))
        return config_edit.add_table(config_edit.remove_table(text, place), place, wanted)

    def take(text: str) -> str:
        return config_edit.remove_table(text, place)

    return ConfigSetting("mcp", path, complete, put, take, fresh="")


def _object(node: JsonNode | None, what: str) -> JsonNode:
    if node is None or not isinstance(node.value, dict):
        raise NotJson(f"{what} is not an object")
    return node


MANIFEST = "connections.json"


def read_manifest(home: Path) -> dict[str, Any]:
    """What we wrote into which files.

    Per agent and file: whether we created it, and its backup.
    """
    try:
        found = json.loads((home / MANIFEST).read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(f"{home / MANIFEST} cannot be read: {error}.", hint="delete that file") from None
    return found if isinstance(found, dict) else {}
