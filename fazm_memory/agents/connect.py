"""Connecting and disconnecting an agent.

A plan can be shown before anything is written. A backup is made, then the files are edited. Disconnecting
removes exactly that edit.

Only what was planned is written, and a file that has changed since then is not touched. On disconnect a file
that nobody else edited is restored byte for byte; from any other file only our part is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents import config_edit, hook_script
from fazm_memory.agents.base import CONNECTABLE, config_folder
from fazm_memory.agents.claude_code.cleanup import CLEANUP_SETTING
from fazm_memory.agents.config_edit import NotJson, NotToml, NotYaml
from fazm_memory.agents.connect_settings import (
    MANIFEST,
    SERVER,
    SMALL_TOOLS,
    ConfigSetting,
    ConnectOptions,
    has_own_cline_hook,
    read_manifest,
    settings_of,
)
from fazm_memory.errors import ConfigError, Conflict, InvalidRequest, NotFound
from fazm_memory.paths import disk_error, private_folder, read_regular, write_private
from fazm_memory.records import dataclass, field, replace

WIDE = 400  # characters of a line that is too long to compare


def unified_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """The exact difference. None is a missing file."""
    from difflib import unified_diff  # `status` shows no differences

    return "".join(unified_diff(_lines(before), _lines(after), name, name))


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


BACKUPS = "backups"
# Programs that are not called like the agent.
PROGRAMS = {"claude-code": "claude", "cursor": "cursor-agent", "antigravity": "agy"}
SHARED = {"claude-code": "fazm", "fazm": "claude-code"}  # both want Claude Code's hooks

CODEX_TRUST = (
    "Codex runs a hook only after you have trusted it. Start `codex`, open `/hooks` and trust those that run"
    " fazm-memory-hook. Until then its records are read all the same."
)
NEW_SESSIONS = "The hooks work in new sessions, not in those that are already open."
CLINE_OWN_HOOK = (
    "You have a hook of your own at ~/.cline/hooks/PreToolUse, and Cline runs only one. So new sessions get"
    " no context by themselves; the agent can ask the MCP server for it."
)
AFTER = {
    "claude-code": NEW_SESSIONS,
    "codex": CODEX_TRUST,
    "gemini": NEW_SESSIONS,
    "copilot": NEW_SESSIONS,
    "qwen": "A session gets the context with its first prompt.",
    "cursor": NEW_SESSIONS,
    "cline": "A session gets the context with its first tool call. Cline ignores what hooks say before that.",
    "hermes": "Hermes asks once whether it may run the hook. Restart it to load the server.",
    "openclaw": "OpenClaw gets only the MCP server: its hooks are plugins. Restart its gateway.",
    "goose": "Goose has no hooks, so it gets only the MCP server. Restart its sessions.",
    "antigravity": "A conversation gets the context with its first model call. Restart the CLI.",
    "fazm": "Fazm starts the server with its next session; its hooks are those of Claude Code underneath.",
}


@dataclass(frozen=True)
class FileEdit:
    """A file before and after; None is a missing file.

    `clean`: nothing of ours was in it before.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    clean: bool = True
    executable: bool = False

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
            whole = data is not None and setting.complete(_text(data))
            found[setting.kind] = found.get(setting.kind, True) and whole
            if setting.kind == "mcp" and data is not None and not found["mcp"]:
                stale = setting.take(_text(data)) != _text(data)
        except (NotJson, NotToml, NotYaml) as error:
            trouble = f"Its configuration {setting.path} cannot be read: {error}"
            return AgentStatus(agent, True, False, False, trouble)
        except ConfigError as error:
            return AgentStatus(agent, True, False, False, f"Its configuration cannot be read. {error}")
    hooks = found.get("hooks", False)
    return AgentStatus(agent, is_installed(agent, options), hooks, found["mcp"], stale=stale)


def is_installed(agent: str, options: ConnectOptions) -> bool:
    """Whether the agent has a configuration or a program on this machine."""
    if config_folder(agent, options.places).is_dir():
        return True
    return shutil.which(PROGRAMS.get(agent, agent), path=options.places.env.get("PATH")) is not None


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
        edit = edits.get(setting.path) or FileEdit(
            setting.path, before, before, executable=setting.executable
        )
        text = _text(edit.after or b"")
        text = text if text.strip() else setting.fresh
        clean = edit.clean and _try(setting, setting.take, text) == text
        if not _try(setting, setting.complete, text):
            edit = replace(edit, after=_bytes(_try(setting, setting.put, text)))
        edits[setting.path] = replace(edit, clean=clean)
        if setting.kind == "hooks" and setting.path.suffix == ".json":
            notes += _hook_notes(agent, setting.path, text)
    if agent == "cline" and has_own_cline_hook(options):
        notes.append(CLINE_OWN_HOOK)
    return ConnectPlan(
        agent, tuple(edit for edit in edits.values() if edit.before != edit.after), tuple(notes)
    )


def _hook_notes(agent: str, path: Path, text: str) -> list[str]:
    """What in the user's own settings keeps our part from working."""
    notes = []
    if config_edit.parse(text).value.get("disableAllHooks") is True:
        notes.append(f"{path} sets disableAllHooks. No hook runs until you remove it.")
    if names := _allowed_tools_of_full_set(text):
        notes.append(
            f"{path} allows tools that only the full set has: {', '.join(names)}. The default set"
            f" has five tools. `fazm-memory connect {agent} --tools full` offers all."
        )
    return notes


def _allowed_tools_of_full_set(settings: str) -> list[str]:
    """Our tools that a permission rule names and that the default set does not have."""
    permissions = config_edit.parse(settings).value.get("permissions")
    allowed = permissions.get("allow") if isinstance(permissions, dict) else None
    prefix = f"mcp__{SERVER}__"
    names = [rule.removeprefix(prefix) for rule in allowed or () if str(rule).startswith(prefix)]
    return [name for name in names if name not in SMALL_TOOLS]


def plan_disconnect(agent: str, options: ConnectOptions) -> ConnectPlan:
    """The edits that remove our part from an agent's configuration, if any."""
    _check_name(agent)
    records = read_manifest(options.home)
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
            bare = shorter.strip() in ("", "{}", setting.fresh.strip())
            after = None if record.get("made") and bare else _bytes(shorter)
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
    records = read_manifest(options.home)
    own = dict(records.get(plan.agent, {})) if plan.connects else {}
    backups = []
    for edit in plan.edits:
        name = None
        if edit.before is not None:
            name = f"{stamp}-{plan.agent}-{edit.path.name.lstrip('.')}"
            write_private(private_folder(options.home / BACKUPS) / name, edit.before)
            backups.append(options.home / BACKUPS / name)
        _write(edit.path, edit.after, 0o700 if edit.executable else 0o600)
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
    return sorted(read_manifest(home))


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
    except (NotJson, NotToml, NotYaml) as error:
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


def _write(path: Path, data: bytes | None, mode: int) -> None:
    """Replace a file atomically, keep its permissions, and follow a link.

    `mode` is of a new file.
    """
    real = path.resolve()
    if data is None:
        path.unlink(missing_ok=True)
        if path.parent.name == SERVER and not any(path.parent.iterdir()):
            path.parent.rmdir()  # a folder that we created for our files
        return
    import tempfile  # `status` writes no settings

    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        mode = real.stat().st_mode & 0o777 if real.exists() else mode
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


def _backup(home: Path, record: Mapping[str, Any]) -> bytes | None:
    name = record["backup"]
    return None if name is None else (home / BACKUPS / str(name)).read_bytes()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
