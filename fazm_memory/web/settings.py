"""Settings as the page shows and changes them: agents, folders, exclusions, retention, storage."""

from __future__ import annotations

import platform
import re
from dataclasses import replace
from typing import Any

from fazm_memory import config as configuration
from fazm_memory.capture import exclusions as seeded
from fazm_memory.capture.agents.connect import carry_out, plan_connect, plan_disconnect
from fazm_memory.capture.instance import running
from fazm_memory.capture.watched import watched_roots
from fazm_memory.config import CONFIG_FILE, LIMITS
from fazm_memory.errors import InvalidInput
from fazm_memory.joined import joining_of, survey
from fazm_memory.log.versions import DATABASE
from fazm_memory.memory import Memory
from fazm_memory.model.clock import iso, moment
from fazm_memory.private import alone, private_folder, write_private
from fazm_memory.web.asked import Asked, Body

RECENT = 200  # sessions whose folders are told
DAYS, MEGABYTES = "retain_actions", "retain_megabytes"
FIRST_TABLE = re.compile(r"^\s*\[", re.MULTILINE)


def settings(memory: Memory, ask: Asked) -> dict[str, Any]:
    return {
        "agents": [one.to_json() for one in survey(memory)],
        "permissions": _permissions(memory),
        "roots": _roots(memory),
        "exclusions": excluded(memory),
        "retention": _retention(memory),
        "storage": _storage(memory),
        "recording": memory.recording(),
        "companion": running(memory.config.home),
    }


def _permissions(memory: Memory) -> list[dict[str, str]]:
    desk = memory.desktop()
    if desk is not None:
        state = "granted" if desk["permitted"] else "missing"
    else:
        mac = platform.system() == "Darwin"
        state = "unknown: the companion is not running" if mac else "not on this system"
    return [{"name": "accessibility", "state": state, "why": "to know which app and window were in front"}]


def _roots(memory: Memory) -> list[dict[str, Any]]:
    """Folders that the companion watches, or would, and why not."""
    rows = memory.store.sessions.listing(limit=RECENT)
    chosen = memory.config
    found = watched_roots(rows, now=memory.now(), user_home=str(chosen.user_home), added=chosen.watch)
    awake = running(chosen.home) is not None
    why = "an agent works there, or you added it" if awake else "the companion is not running"
    return [
        {"path": one.folder, "watched": awake and one.refused is None, "why": one.refused or why}
        for one in found
    ]


def excluded(memory: Memory) -> dict[str, Any]:
    own = memory.excluded_apps()
    apps = [{"name": name, "seeded": False} for name in own["apps"]]
    apps += [{"name": name, "seeded": True} for name in (*own["settings"], *seeded.NAMES)]
    return {"apps": apps, "folders": [{"path": one} for one in memory.excluded_folders()]}


def _storage(memory: Memory) -> dict[str, Any]:
    store = memory.store
    versions = store.path.with_name(DATABASE)
    oldest = store.db.execute("SELECT min(opened_at) FROM session WHERE forgotten=0").fetchone()[0]
    return {
        "home": str(memory.config.home),
        "log_bytes": store.size(),
        "versions_bytes": versions.stat().st_size if versions.exists() else 0,
        "oldest": None if oldest is None else iso(oldest),
        **store.sessions.totals(),
        "key": {"backend": store.keys.backend, "where": store.keys.where},
    }


# -- retention -------------------------------------------------------------------------------------------


def _retention(memory: Memory, effect: dict[str, Any] | None = None) -> dict[str, Any]:
    chosen = configuration.load(memory.config.environment)
    days, megabytes = getattr(chosen, DAYS), getattr(chosen, MEGABYTES)
    age = f"Details of actions are kept for {days} days" if days else "Details of actions are kept for good"
    room = f", in at most {megabytes:,} MB." if megabytes else "."
    return {
        "days": days or None,
        "mb": megabytes or None,
        "would_forget": effect,
        "policy": memory.policy().__dict__,
        "words": f"{age}{room} Decisions, facts, questions and where each session stood stay.",
    }


def retention(memory: Memory, body: Body) -> dict[str, Any]:
    """Another age or size; with `dry_run` (unless it is false) only what would be let go by it."""
    days, megabytes = body.number("days") or 0, body.number("mb") or 0
    wanted = {DAYS: days, MEGABYTES: megabytes}
    for name, value in wanted.items():
        low, high = LIMITS[name]
        if not low <= value <= high:
            raise InvalidInput(f"{value} is too much", hint=f"at most {high}")
    kept = memory.config
    memory.config = replace(kept, retain_actions=days, retain_megabytes=megabytes)
    try:
        dry_run = body.flag("dry_run", True)
        if not dry_run:
            _write_settings(memory, wanted)
        told = memory.retain(dry_run=dry_run)
    finally:
        memory.config = kept
    effect = {"events": told["events"], "bytes": told["bytes"], "sessions": told["sessions"]}
    return _retention(memory, effect) | {"dry_run": dry_run}


def _write_settings(memory: Memory, wanted: dict[str, int]) -> None:
    """Set whole numbers in config.toml and leave every other line of it as it is."""
    home = private_folder(memory.config.home)
    path = home / CONFIG_FILE
    with alone(home):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for name, value in wanted.items():
            line = f"{name} = {value}"
            text, found = re.subn(rf"^{name}[ \t]*=.*$", line, text, flags=re.MULTILINE)
            if not found:
                table = FIRST_TABLE.search(text)
                at = len(text) if table is None else table.start()
                before = text[:at] if not text[:at] or text[:at].endswith("\n") else f"{text[:at]}\n"
                text = f"{before}{line}\n{text[at:]}"
        write_private(path, text.encode())


# -- agents ----------------------------------------------------------------------------------------------


def agents(memory: Memory, body: Body) -> dict[str, Any]:
    """Join an agent or take our part out again; the edits are shown first with `dry_run`."""
    agent, joins, dry_run = body.needed("agent"), body.flag("connect", True), body.flag("dry_run", True)
    joining = joining_of(memory.config)
    plan = (plan_connect if joins else plan_disconnect)(agent, joining)
    backups = []
    if not dry_run:
        stamp = f"{moment(memory.now()):%Y-%m-%dT%H%M%S}"
        backups = carry_out(plan, joining, joining_it=joins, stamp=stamp)
        if joins:
            memory.export_contexts()
    return {
        "agent": next(one.to_json() for one in survey(memory) if one.agent == agent),
        "changes": [{"path": str(edit.path), "diff": edit.diff()} for edit in plan.edits],
        "backups": [str(path) for path in backups],
        "notes": list(plan.notes),
        "dry_run": dry_run,
    }


READS = {"settings": settings}
WRITES = {"settings/retention": retention, "settings/agents": agents}
