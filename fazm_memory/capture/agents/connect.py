"""Joining an agent: a plan that can be shown, a backup, an edit; and taking exactly that out again.

Nothing is written that was not planned, and a file that has changed since the plan was made is not touched. A
file that nobody has edited since we did is put back byte for byte; of any other, ours alone is taken out.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fazm_memory.capture import hook_script
from fazm_memory.capture.agents import connect_json
from fazm_memory.capture.agents.connect_diff import difference, readable
from fazm_memory.capture.agents.connect_json import NotJson
from fazm_memory.capture.agents.connect_settings import Joining, Setting, folder_of, settings_of
from fazm_memory.capture.agents.connect_toml import NotToml
from fazm_memory.capture.agents.names import CONNECTABLE
from fazm_memory.errors import ConfigError, Conflict, InvalidRequest, NotFound
from fazm_memory.private import disk_error, private_folder, write_private

MANIFEST = "connections.json"
BACKUPS = "backups"
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "fazm": "fazm"}
SHARED = {"claude-code": "fazm", "fazm": "claude-code"}  # both want Claude Code's hooks

CODEX_TRUST = (
    "Codex runs a hook only after you have trusted it: start `codex`; it says that hooks need review. Open"
    " `/hooks`, look at those that run fazm-memory-hook, and trust them. Until then its records are read all"
    " the same."
)
AFTER = {
    "claude-code": "Sessions that are already open do not know the hooks yet; new ones do.",
    "codex": CODEX_TRUST,
    "gemini": "Sessions that are already open do not know the hooks yet; new ones do.",
    "fazm": "Fazm starts the server with its next session; its hooks are those of Claude Code underneath.",
}


@dataclass(frozen=True)
class Edit:
    """One file, before and after. None is a file that is not there.

    `clean` when nothing of ours was in it, so that going back to it is taking us out.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    clean: bool = True

    def diff(self) -> str:
        return difference(str(self.path), self.before, self.after)

    def readable(self) -> tuple[str, bool]:
        return readable(str(self.path), self.before, self.after)


@dataclass(frozen=True)
class Plan:
    """What would be changed; `notes` are for the person."""

    agent: str
    edits: tuple[Edit, ...]
    notes: tuple[str, ...] = ()
    moved: Mapping[str, Any] = field(
        default_factory=dict
    )  # records of edits that another agent now answers for


@dataclass(frozen=True)
class Joined:
    """Whether an agent is here, and whether all of ours is in its configuration."""

    agent: str
    here: bool
    hooks: bool
    mcp: bool
    trouble: str | None = None


def status(agent: str, joining: Joining) -> Joined:
    """How it stands with an agent, from its own configuration."""
    found: dict[str, bool] = {}
    for setting in settings_of(agent, joining):
        try:
            data = _read(setting.path)
            found[setting.kind] = data is not None and setting.complete(_text(data))
        except (NotJson, NotToml) as error:
            trouble = f"its configuration cannot be read: {setting.path}: {error}"
            return Joined(agent, True, False, False, trouble)
        except ConfigError as error:
            return Joined(agent, True, False, False, f"its configuration cannot be read: {error}")
    return Joined(agent, is_here(agent, joining), found["hooks"], found["mcp"])


def is_here(agent: str, joining: Joining) -> bool:
    """Whether the agent has been used on this machine, or could be."""
    path = joining.places.env.get("PATH")
    return folder_of(agent, joining.places).is_dir() or shutil.which(PROGRAMS[agent], path=path) is not None


def plan_connect(agent: str, joining: Joining) -> Plan:
    """The edits that join an agent: none when it is joined."""
    _check_name(agent)
    if not is_here(agent, joining):
        raise NotFound(
            f"{agent} was not found on this machine: there is no {folder_of(agent, joining.places)}",
            hint="start it once, then connect again; `fazm-memory agents` shows which are here",
        )
    notes = [AFTER[agent]]
    edits: dict[Path, Edit] = {}
    for setting in settings_of(agent, joining):
        before = _read(setting.path)
        edit = edits.get(setting.path) or Edit(setting.path, before, before)
        text = _text(edit.after or b"")
        text = text if text.strip() else setting.fresh
        clean = edit.clean and _try(setting, setting.take, text) == text
        if not _try(setting, setting.complete, text):
            edit = replace(edit, after=_bytes(_try(setting, setting.put, text)))
        edits[setting.path] = replace(edit, clean=clean)
        if setting.kind == "hooks" and connect_json.parse(text).value.get("disableAllHooks") is True:
            notes.append(f"{setting.path} has disableAllHooks: until that is gone no hook runs.")
    return Plan(agent, tuple(edit for edit in edits.values() if edit.before != edit.after), tuple(notes))


def plan_disconnect(agent: str, joining: Joining) -> Plan:
    """The edits that take our part out of an agent's configuration: none when there is nothing of ours."""
    _check_name(agent)
    records = _manifest(joining.home)
    kept = _kept_for_another(agent, joining, records)
    edits: dict[Path, Edit] = {}
    for setting in settings_of(agent, joining):
        before = _read(setting.path)
        edit = edits.get(setting.path) or Edit(setting.path, before, before)
        if before is None or edit.after is None or str(setting.path) in kept:
            continue
        record = records.get(agent, {}).get(str(setting.path), {})
        if record.get("after") == _digest(before):
            after = _backup(joining.home, record)
        else:
            shorter = _try(setting, setting.take, _text(edit.after))
            after = None if record.get("made") and shorter.strip() in ("", "{}") else _bytes(shorter)
        edits[setting.path] = replace(edit, after=after)
    moved = {path: record for path, record in records.get(agent, {}).items() if path in kept}
    changed = tuple(edit for edit in edits.values() if edit.before != edit.after)
    return Plan(agent, changed, moved=moved)


def carry_out(plan: Plan, joining: Joining, *, joining_it: bool, stamp: str) -> list[Path]:
    """Make the edits; the backups that were kept of what was there before."""
    for edit in plan.edits:
        if _read(edit.path) != edit.before:
            raise Conflict(
                f"{edit.path} has just been changed by somebody else; nothing was edited", hint="try again"
            )
    if joining_it:
        hook_script.write(joining.home)
    records = _manifest(joining.home)
    own = dict(records.get(plan.agent, {})) if joining_it else {}
    backups = []
    for edit in plan.edits:
        name = None
        if edit.before is not None:
            name = f"{stamp}-{plan.agent}-{edit.path.name.lstrip('.')}"
            write_private(private_folder(joining.home / BACKUPS) / name, edit.before)
            backups.append(joining.home / BACKUPS / name)
        _write(edit.path, edit.after)
        own[str(edit.path)] = _record(own.get(str(edit.path)), edit, name)
    records = {**records, plan.agent: own} if joining_it else _without(records, plan)
    write_private(private_folder(joining.home) / MANIFEST, json.dumps(records, indent=1).encode())
    if not joining_it and not records:
        shutil.rmtree(joining.home / hook_script.FOLDER, ignore_errors=True)
    return backups


def _record(first: Mapping[str, Any] | None, edit: Edit, backup: str | None) -> dict[str, Any]:
    """What must be known to go back: whether we made the file, and what it was before us."""
    after = _digest(edit.after or b"")
    if first is not None and first["after"] == _digest(edit.before or b""):
        return {**first, "after": after}  # nobody else has edited it since our first edit
    made = edit.before is None or bool(first and first["made"])
    return {"made": made, "backup": backup, "after": after if edit.clean else ""}


def connected(home: Path) -> list[str]:
    """The agents that were connected from here."""
    return sorted(_manifest(home))


def _without(records: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    left = {agent: dict(files) for agent, files in records.items() if agent != plan.agent}
    other = SHARED.get(plan.agent)
    if other in left:
        left[other] |= plan.moved
    return left


def _kept_for_another(agent: str, joining: Joining, records: Mapping[str, Any]) -> set[str]:
    """Files that another connected agent needs as they are."""
    other = SHARED.get(agent)
    if other is None or other not in records:
        return set()
    mine = {str(setting.path) for setting in settings_of(agent, joining)}
    return mine & {str(setting.path) for setting in settings_of(other, joining)}


def _check_name(agent: str) -> None:
    if agent not in CONNECTABLE:
        raise InvalidRequest(
            f"there is nothing to connect in {agent!r}", hint=f"it works for {', '.join(CONNECTABLE)}"
        )


# -- files -----------------------------------------------------------------------------------------------


def _try(setting: Setting, do: Any, text: str) -> Any:
    try:
        return do(text)
    except (NotJson, NotToml) as error:
        raise ConfigError(
            f"{setting.path} cannot be edited: {error}; nothing was changed",
            hint="open that file in an editor, mend that place and connect again; or put our part in by hand:"
            " docs/connect.md shows it",
        ) from None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror or error}; nothing was changed",
            hint="check its owner and permissions, then try again",
        ) from None


def _write(path: Path, data: bytes | None) -> None:
    """Replace a file at once, through a link if it is one, with the permissions it had."""
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
        raise ConfigError(f"{home / MANIFEST} cannot be read: {error}", hint="remove it") from None
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
