"""Settings as the page shows and changes them: agents, folders, exclusions, retention, storage."""

from __future__ import annotations

import platform
from typing import Any

from fazm_memory.capture import exclusions as seeded
from fazm_memory.capture.agents.connect import carry_out, plan_connect, plan_disconnect
from fazm_memory.capture.instance import running
from fazm_memory.capture.watched import watched_roots
from fazm_memory.joined import joining_of, survey
from fazm_memory.log.versions import DATABASE
from fazm_memory.memory import Memory
from fazm_memory.model.clock import iso, moment
from fazm_memory.web import retention
from fazm_memory.web.asked import Asked, Body

RECENT = 200  # sessions whose folders are told


def settings(memory: Memory, ask: Asked) -> dict[str, Any]:
    return {
        "agents": [one.to_json() for one in survey(memory)],
        "permissions": _permissions(memory),
        "roots": _roots(memory),
        "exclusions": excluded(memory),
        "retention": retention.told(memory),
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


READS = {"settings": settings, **retention.READS}
WRITES = {"settings/agents": agents, **retention.WRITES}
PATIENT = retention.PATIENT
