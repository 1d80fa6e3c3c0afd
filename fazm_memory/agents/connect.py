"""Connecting an agent: a plan that can be shown, a backup, an edit; and removing exactly that again.

Only what was planned is written, and a file that has changed since then is not touched. On disconnect a file
that nobody else edited is restored byte for byte; from any other file only our part is removed.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from fazm_memory.agents import config_edit, hook_script
from fazm_memory.agents.base import CONNECTABLE, Places
from fazm_memory.agents.config_edit import JsonNode, NotJson, NotToml
from fazm_memory.errors import ConfigError, Conflict, InvalidRequest, NotFound
from fazm_memory.paths import disk_error, private_folder, read_regular, write_private
from fazm_memory.records import dataclass, field, replace

WIDE = 400  # characters of a line that is too long to compare


def unified_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """The exact difference. None is a missing file."""
    return "".join(difflib.unified_diff(_lines(before), _lines(after), name, name))


def readable_diff(name: str, before: bytes | None, after: bytes | None) -> tuple[str, bool]:
    """The difference for a person, and whether long lines were reformatted for it."""
    if _wide(before) or _wide(after):
        old, new = _laid_out(before), _laid_out(after)
        if old is not None and new is not None and old != new:
            return unified_diff(name, old, new), True
    return unified_diff(name, before, after), False


def _wide(data: bytes | None) -> bool:
    return data is not None and any(len(line) > WIDE for line in data.splitlines())


def _laid_out(data: bytes | None) -> bytes | None:
    """The JSON of a file with one value per line, or None if it is not plain JSON."""
    if data is None or not data.strip():
        return b""
    try:
        return json.dumps(json.loads(data), ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # comments, or another format
        return None


def _lines(data: bytes | None) -> list[str]:
    lines = [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=True)
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


SERVER = "fazm-memory"
DEFAULT_TOOLS = "small"
CLEANUP_SETTING = "cleanupPeriodDays"  # of Claude Code
SMALL_TOOLS = ("memory_context", "memory_search", "session_read", "session_note", "names_propose")
EMPTY = "{}\n"
ANSWERS = True


@dataclass(frozen=True)
class HookSetting:
    """A hook on an event. `answers`: the agent waits for our output; `reminds`: there may be some.

    The timeout is in the agent's unit.
    """

    answers: bool = False
    timeout: int = 10
    matcher: str | None = None
    reminds: bool = False


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


@dataclass(frozen=True)
class ConnectOptions:
    """The agents' places, our data folder, and how our MCP server is started."""

    places: Places
    home: Path
    server: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    temporary: bool = False  # the program lies where it will not be found tomorrow
    tools: str | None = None  # the MCP tool set; None keeps the one that is configured
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


def settings_of(agent: str, options: ConnectOptions) -> list[ConfigSetting]:
    """The settings that connect an agent."""
    places, stdio = options.places, {"type": "stdio"}
    if agent == "claude-code":
        own = places.env.get("CLAUDE_CONFIG_DIR")
        state = Path(own) / ".claude.json" if own else places.home / ".claude.json"
        server = _json_server(state, ("mcpServers",), options, stdio)
        return [_claude_hooks(options), server, _claude_cleanup(options)]
    if agent == "codex":
        root = config_folder(agent, places)
        hooks = _hooks(root / "hooks.json", CODEX, agent, options)
        return [hooks, _toml_server(root / "config.toml", options)]
    if agent == "gemini":
        path = config_folder(agent, places) / "settings.json"
        return [_hooks(path, GEMINI, agent, options), _json_server(path, ("mcpServers",), options, {})]
    if agent == "fazm":
        servers = config_folder(agent, places) / "mcp-servers.json"
        # Fazm runs Claude Code underneath, whose hooks fire in its sessions too.
        return [_json_server(servers, (), options, {"enabled": True}), _claude_hooks(options)]
    raise KeyError(agent)


def config_folder(agent: str, places: Places) -> Path:
    """The folder of an agent's configuration."""
    own = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(agent)
    configured = places.env.get(own) if own is not None else None
    names = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini", "fazm": ".fazm"}
    return Path(configured) if configured else places.home / names[agent]


def _claude_hooks(options: ConnectOptions) -> ConfigSetting:
    path = config_folder("claude-code", options.places) / "settings.json"
    return _hooks(path, CLAUDE, "claude-code", options)


def _claude_cleanup(options: ConnectOptions) -> ConfigSetting:
    """The number of days after which Claude Code deletes transcripts, if the user wants another one."""
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
        ours = _manifest(options.home).get("claude-code", {}).get(str(path), {}).get("cleanup")
        return text if ours is None or current(text) != ours["set"] else changed(text, ours["before"])

    return ConfigSetting("cleanup", path, complete, lambda text: changed(text, wanted), take)


# -- hooks -----------------------------------------------------------------------------------------------


def _hooks(
    path: Path, wanted: Mapping[str, HookSetting], agent: str, options: ConnectOptions
) -> ConfigSetting:
    entries = {name: _entry(hook, agent, options.home) for name, hook in wanted.items()}

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

    return ConfigSetting("hooks", path, complete, put, take)


def _entry(hook: HookSetting, agent: str, home: Path) -> dict[str, Any]:
    command = hook_script.command(home, agent, answer=hook.answers, remind=hook.reminds)
    runs = {"type": "command", "command": command, "timeout": hook.timeout}
    if hook.matcher is None:
        return {"hooks": [runs]}
    return {"matcher": hook.matcher, "hooks": [{"name": SERVER, **runs}]}


def _entries(root: JsonNode, event: str) -> list[JsonNode]:
    hooks = root.child("hooks")
    entries = hooks.child(event) if hooks is not None else None
    return [] if entries is None else entries.children


def _taken(text: str, event: str) -> str:
    """The text without our entries for an event and without our command in the user's entries."""
    text = config_edit.remove(text, ("hooks", event), _is_ours)
    for number, entry in enumerate(_entries(config_edit.parse(text), event)):
        if entry.child("hooks") is not None:
            text = config_edit.remove(text, ("hooks", event, number, "hooks"), _runs_us)
    return text


def _is_ours(entry: JsonNode) -> bool:
    """An entry that runs our hook and nothing else."""
    hooks = entry.child("hooks")
    return hooks is not None and bool(hooks.children) and all(map(_runs_us, hooks.children))


def _runs_us(node: JsonNode) -> bool:
    command = node.child("command")
    return command is not None and hook_script.is_ours(command.value)


# -- the MCP server --------------------------------------------------------------------------------------


def _server_entry(options: ConnectOptions, current: Any) -> dict[str, Any]:
    """How an agent starts our server. A tool set that was chosen before stays, unless options name one."""
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
        wanted = entry(present(text))
        text = take(text)
        root = _object(config_edit.parse(text), "the file")
        if below and root.child(below[0]) is None:
            return config_edit.add_member(text, (), below[0], {SERVER: wanted})
        if below:
            _object(root.child(below[0]), f'"{below[0]}"')
        return config_edit.add_member(text, below, SERVER, wanted)

    def take(text: str) -> str:
        root = _object(config_edit.parse(text), "the file")
        holder = root.child(below[0]) if below else root
        if holder is None or holder.child(SERVER) is None:
            return text
        text = config_edit.remove(text, below, lambda node: node.key == SERVER)
        if not below:
            return text
        return config_edit.remove(text, (), lambda node: node.key == below[0] and not node.children)

    return ConfigSetting("mcp", path, complete, put, take)


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
BACKUPS = "backups"
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "fazm": "fazm"}
SHARED = {"claude-code": "fazm", "fazm": "claude-code"}  # both want Claude Code's hooks

CODEX_TRUST = (
    "Codex runs a hook only after you have trusted it. Start `codex`, open `/hooks` and trust those that run"
    " fazm-memory-hook. Until then its records are read all the same."
)
AFTER = {
    "claude-code": "The hooks work in new sessions, not in those that are already open.",
    "codex": CODEX_TRUST,
    "gemini": "The hooks work in new sessions, not in those that are already open.",
    "fazm": "Fazm starts the server with its next session; its hooks are those of Claude Code underneath.",
}


@dataclass(frozen=True)
class FileEdit:
    """A file before and after; None is a missing file. `clean`: nothing of ours was in it before."""

    path: Path
    before: bytes | None
    after: bytes | None
    clean: bool = True

    def diff(self) -> str:
        return unified_diff(str(self.path), self.before, self.after)

    def readable(self) -> tuple[str, bool]:
        return readable_diff(str(self.path), self.before, self.after)


@dataclass(frozen=True)
class ConnectPlan:
    """The edits to be applied. `notes` are for the person."""

    agent: str
    edits: tuple[FileEdit, ...]
    notes: tuple[str, ...] = ()
    # Records of edits in files that another connected agent still needs.
    moved: Mapping[str, Any] = field(default_factory=dict)
    connects: bool = True


@dataclass(frozen=True)
class AgentStatus:
    """Whether an agent is installed, and which of our settings are complete."""

    agent: str
    here: bool
    hooks: bool
    mcp: bool
    trouble: str | None = None
    stale: bool = False  # our server is configured, but not as it is started now, such as after a move


def agent_status(agent: str, options: ConnectOptions) -> AgentStatus:
    """The status of an agent, from its configuration."""
    found: dict[str, bool] = {}
    stale = False
    for setting in settings_of(agent, options):
        try:
            data = _read(setting.path)
            found[setting.kind] = data is not None and setting.complete(_text(data))
            if setting.kind == "mcp" and data is not None and not found["mcp"]:
                stale = setting.take(_text(data)) != _text(data)
        except (NotJson, NotToml) as error:
            trouble = f"Its configuration {setting.path} cannot be read: {error}"
            return AgentStatus(agent, True, False, False, trouble)
        except ConfigError as error:
            return AgentStatus(agent, True, False, False, f"Its configuration cannot be read. {error}")
    return AgentStatus(agent, is_installed(agent, options), found["hooks"], found["mcp"], stale=stale)


def is_installed(agent: str, options: ConnectOptions) -> bool:
    """Whether the agent has a configuration or a program on this machine."""
    path = options.places.env.get("PATH")
    return (
        config_folder(agent, options.places).is_dir() or shutil.which(PROGRAMS[agent], path=path) is not None
    )


def plan_connect(agent: str, options: ConnectOptions) -> ConnectPlan:
    """The edits that connect an agent; none if it is connected."""
    _check_name(agent)
    if not is_installed(agent, options):
        raise NotFound(
            f"{agent} was not found on this machine. {config_folder(agent, options.places)} does not exist.",
            hint="start it once, then connect again; `fazm-memory agents` lists installed agents",
        )
    if options.temporary:
        raise ConfigError(
            f"Fazm Memory runs from a temporary place: {options.server[0]}. Nothing was changed.",
            hint="move the app to Applications, open it there, then connect again",
        )
    notes = [AFTER[agent]]
    edits: dict[Path, FileEdit] = {}
    for setting in settings_of(agent, options):
        before = _read(setting.path)
        edit = edits.get(setting.path) or FileEdit(setting.path, before, before)
        text = _text(edit.after or b"")
        text = text if text.strip() else setting.fresh
        clean = edit.clean and _try(setting, setting.take, text) == text
        if not _try(setting, setting.complete, text):
            edit = replace(edit, after=_bytes(_try(setting, setting.put, text)))
        edits[setting.path] = replace(edit, clean=clean)
        if setting.kind == "hooks" and config_edit.parse(text).value.get("disableAllHooks") is True:
            notes.append(f"{setting.path} sets disableAllHooks. No hook runs until you remove it.")
        if setting.kind == "hooks" and (names := _allowed_tools_of_full_set(text)):
            notes.append(
                f"{setting.path} allows tools that only the full set has: {', '.join(names)}. The default set"
                f" has five tools. `fazm-memory connect {agent} --tools full` offers all."
            )
    return ConnectPlan(
        agent, tuple(edit for edit in edits.values() if edit.before != edit.after), tuple(notes)
    )


def _allowed_tools_of_full_set(settings: str) -> list[str]:
    """Our tools that a permission rule names and that the default set does not have."""
    permissions = config_edit.parse(settings).value.get("permissions")
    allowed = permissions.get("allow") if isinstance(permissions, dict) else None
    prefix = f"mcp__{SERVER}__"
    names = [rule.removeprefix(prefix) for rule in allowed or () if str(rule).startswith(prefix)]
    return [name for name in names if name not in SMALL_TOOLS]


def plan_disconnect(agent: str, options: ConnectOptions) -> ConnectPlan:
    """The edits that remove our part from an agent's configuration; none if there is none."""
    _check_name(agent)
    records = _manifest(options.home)
    shared_files = _shared_files(agent, options, records)
    edits: dict[Path, FileEdit] = {}
    for setting in settings_of(agent, options):
        before = _read(setting.path)
        edit = edits.get(setting.path) or FileEdit(setting.path, before, before)
        if before is None or edit.after is None or str(setting.path) in shared_files:
            continue
        record = records.get(agent, {}).get(str(setting.path), {})
        if record.get("after") == _digest(before):
            after = _backup(options.home, record)
        else:
            shorter = _try(setting, setting.take, _text(edit.after))
            after = None if record.get("made") and shorter.strip() in ("", "{}") else _bytes(shorter)
        edits[setting.path] = replace(edit, after=after)
    moved = {path: record for path, record in records.get(agent, {}).items() if path in shared_files}
    changed = tuple(edit for edit in edits.values() if edit.before != edit.after)
    return ConnectPlan(agent, changed, moved=moved, connects=False)


def apply_plan(plan: ConnectPlan, options: ConnectOptions, *, stamp: str) -> list[Path]:
    """Apply the edits. Returns the backups of the files as they were."""
    for edit in plan.edits:
        if _read(edit.path) != edit.before:
            raise Conflict(
                f"{edit.path} was changed by another program. Nothing was edited.", hint="try again"
            )
    if plan.connects:
        hook_script.write(options.home)
    records = _manifest(options.home)
    own = dict(records.get(plan.agent, {})) if plan.connects else {}
    backups = []
    for edit in plan.edits:
        name = None
        if edit.before is not None:
            name = f"{stamp}-{plan.agent}-{edit.path.name.lstrip('.')}"
            write_private(private_folder(options.home / BACKUPS) / name, edit.before)
            backups.append(options.home / BACKUPS / name)
        _write(edit.path, edit.after)
        own[str(edit.path)] = _record(own.get(str(edit.path)), edit, name) | _cleanup_record(
            own, edit, options
        )
    records = {**records, plan.agent: own} if plan.connects else _without(records, plan)
    write_private(private_folder(options.home) / MANIFEST, json.dumps(records, indent=1).encode())
    if not plan.connects and not records:
        shutil.rmtree(options.home / hook_script.FOLDER, ignore_errors=True)
    return backups


def _record(first: Mapping[str, Any] | None, edit: FileEdit, backup: str | None) -> dict[str, Any]:
    """What disconnecting needs: whether we created the file, and its backup."""
    after = _digest(edit.after or b"")
    if first is not None and first["after"] == _digest(edit.before or b""):
        return {**first, "after": after}  # unchanged since our last edit
    created = edit.before is None or bool(first and first["made"])
    return {"made": created, "backup": backup, "after": after if edit.clean else ""}


def _cleanup_record(own: Mapping[str, Any], edit: FileEdit, options: ConnectOptions) -> dict[str, Any]:
    """What `_claude_cleanup` needs to put the user's own number back."""
    known = own.get(str(edit.path), {}).get("cleanup")
    if options.keep_days is None or edit.path.name != "settings.json" or edit.after is None:
        return {} if known is None else {"cleanup": known}
    values = [None if data is None else _cleanup_value(data) for data in (edit.before, edit.after)]
    if values[1] != options.keep_days:
        return {} if known is None else {"cleanup": known}
    return {"cleanup": {"before": values[0] if known is None else known["before"], "set": values[1]}}


def _cleanup_value(settings: bytes) -> Any:
    text = _text(settings)
    return config_edit.parse(text).value.get(CLEANUP_SETTING) if text.strip() else None


def connected_agents(home: Path) -> list[str]:
    """The agents that were connected with this data folder."""
    return sorted(_manifest(home))


def _without(records: Mapping[str, Any], plan: ConnectPlan) -> dict[str, Any]:
    left = {agent: dict(files) for agent, files in records.items() if agent != plan.agent}
    other = SHARED.get(plan.agent)
    if other in left:
        left[other] |= plan.moved
    return left


def _shared_files(agent: str, options: ConnectOptions, records: Mapping[str, Any]) -> set[str]:
    """Files that another connected agent still needs."""
    other = SHARED.get(agent)
    if other is None or other not in records:
        return set()
    mine = {str(setting.path) for setting in settings_of(agent, options)}
    return mine & {str(setting.path) for setting in settings_of(other, options)}


def _check_name(agent: str) -> None:
    if agent not in CONNECTABLE:
        raise InvalidRequest(
            f"{agent!r} cannot be connected.", hint=f"agents that can: {', '.join(CONNECTABLE)}"
        )


# -- files -----------------------------------------------------------------------------------------------


def _try(setting: ConfigSetting, do: Any, text: str) -> Any:
    try:
        return do(text)
    except (NotJson, NotToml) as error:
        raise ConfigError(
            f"{setting.path} cannot be edited: {error}. Nothing was changed.",
            hint="correct the file and connect again, or add our part yourself: see docs/connect.md",
        ) from None


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror or error}. Nothing was changed.",
            hint="check its owner and permissions, then try again",
        ) from None


def _write(path: Path, data: bytes | None) -> None:
    """Replace a file atomically, keep its permissions, and follow a link."""
    real = path.resolve()
    if data is None:
        path.unlink(missing_ok=True)
        return
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
        descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, real)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise disk_error(error, path) from error


def _manifest(home: Path) -> dict[str, Any]:
    try:
        found = json.loads((home / MANIFEST).read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(f"{home / MANIFEST} cannot be read: {error}.", hint="delete that file") from None
    return found if isinstance(found, dict) else {}


def _backup(home: Path, record: Mapping[str, Any]) -> bytes | None:
    name = record["backup"]
    return None if name is None else (home / BACKUPS / str(name)).read_bytes()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
