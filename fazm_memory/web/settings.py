"""The page's settings and the setup of the first launch.

The retention policy is read from its file each time, because another process may have changed it. What a
policy would delete is computed only on request, because that reads the sizes of all old events.

The setup has the steps of the first launch. Its texts are in the user's language.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Mapping
from typing import Any

from fazm_memory.agents import apply_plan, plan_connect, plan_disconnect
from fazm_memory.app import Memory, agent_overviews, companion_pid, connection_setup
from fazm_memory.clock import iso, to_datetime
from fazm_memory.config import LIMITS, reload_retention, save_settings
from fazm_memory.errors import ConfigError, FazmMemoryError, InvalidInput, StoreBusy
from fazm_memory.events import RetentionPolicy
from fazm_memory.records import fields
from fazm_memory.store import VERSIONS_DATABASE
from fazm_memory.translation import current_language, translate, translate_filled
from fazm_memory.watch import scope as seeded
from fazm_memory.watch import watched_roots
from fazm_memory.web.requests import JsonBody, QueryParameters

NAMES = tuple(field.name for field in fields(RetentionPolicy))
KINDS = {
    "actions": ("Details of actions", "input and output of tools"),
    "messages": ("Agents' messages", "what agents wrote to you"),
    "files": ("File changes", "which files changed, and when"),
    "apps": ("Apps in front", "which app and window was in front"),
    "prompts": ("Your prompts", "what you asked agents for"),
    "archived": ("Archived sessions", "all of the above except your prompts, once a session is archived"),
    "versions": ("File contents", "what a rewind restores; the last version of each file is kept"),
}
STAYS = "Decisions, facts, questions, the digests of all events, and the state of each session."


def retention(memory: Memory, effect: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The current policy by kind, with what it would delete if `effect` was computed."""
    policy = _in_force(memory)
    days, megabytes = policy["actions"], policy["megabytes"]
    return {
        "days": days or None,
        "mb": megabytes or None,
        "kinds": [
            {"name": name, "words": words, "about": about, "days": policy[name] or None}
            for name, (words, about) in KINDS.items()
        ],
        "stays": STAYS,
        "would_forget": effect,
        "policy": policy,
        "announced": memory.maintenance.announced_retention(),
        "words": _words(days, megabytes),
    }


def _words(days: int, megabytes: int) -> str:
    unit = "day" if days == 1 else "days"
    age = f"Details of actions are kept for {days} {unit}" if days else "Details of actions are kept forever"
    size = f", in at most {megabytes:,} MB." if megabytes else "."
    return f"{age}{size} Decisions, facts, questions and the state of each session are always kept."


def preview_retention(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    """The policy, and what it would delete today."""
    return retention(memory, _effect(memory, _in_force(memory), dry_run=True))


def change_retention(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Change ages or the size limit.

    With `dry_run`, the default, only return what would be deleted.
    """
    wanted = _wanted(body)
    dry_run = body.flag("dry_run", True)
    policy = _in_force(memory)
    changed = {name: value for name, value in wanted.items() if value != policy[name]}
    if not dry_run:
        _write(memory, changed)
    effect = _effect(memory, policy | changed, dry_run=dry_run)
    return retention(memory, effect) | {"dry_run": dry_run}


def _in_force(memory: Memory) -> dict[str, int]:
    chosen = reload_retention(memory.config)
    return {name: getattr(chosen, f"retain_{name}") for name in NAMES}


def _wanted(body: JsonBody) -> dict[str, int]:
    """The requested values by name.

    null means forever. Missing names stay as they are.
    """
    ages = body.value("ages")
    if ages is None:
        ages = {}
    if not isinstance(ages, dict):
        raise InvalidInput("ages must be an object.", hint='For example {"actions": 180}.')
    unknown = [name for name in ages if name not in KINDS]
    if unknown:
        raise InvalidInput(f'Unknown kind "{unknown[0][:40]}".', hint=f"Kinds: {', '.join(KINDS)}.")
    wanted = {name: JsonBody(ages).number(name) or 0 for name in ages}
    for field, name in (("days", "actions"), ("mb", "megabytes")):
        if field in body.values:
            wanted[name] = body.number(field) or 0
    for name, value in wanted.items():
        high = LIMITS[f"retain_{name}"][1]
        if value > high:
            what = KINDS[name][0] if name in KINDS else "The size"
            raise InvalidInput(f"{what}: {value:,} is too large.", hint=f"The maximum is {high:,}.")
    return wanted


def _effect(memory: Memory, policy: Mapping[str, int], *, dry_run: bool) -> dict[str, Any]:
    done = memory.maintenance.retain(policy=RetentionPolicy(**policy), dry_run=dry_run)
    names = ("events", "bytes", "sessions", "by_kind", "store_bytes")
    return {name: done[name] for name in names} | {"versions": done.get("versions", 0)}


def _write(memory: Memory, changed: Mapping[str, int]) -> None:
    try:
        save_settings(memory.config, {f"retain_{name}": value for name, value in changed.items()})
    except ConfigError as error:
        raise InvalidInput(error.message, hint=error.hint) from None


# -- all settings ----------------------------------------------------------------------------------------

RECENT = 200  # sessions whose folders are listed


def settings(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return {
        "agents": [agent.to_json() for agent in agent_overviews(memory)],
        "permissions": _permissions(memory),
        "roots": _roots(memory),
        "exclusions": excluded(memory),
        "retention": retention(memory),
        "storage": _storage(memory),
        "sync": memory.sync.status(),
        "recording": memory.recording.status(),
        "companion": companion_pid(memory.config.home),
    }


def _permissions(memory: Memory) -> list[dict[str, str]]:
    desktop = memory.recording.desktop()
    if desktop is not None:
        state = "granted" if desktop["permitted"] else "missing"
    else:
        mac = platform.system() == "Darwin"
        state = "unknown: the companion is not running" if mac else "not on this system"
    return [{"name": "accessibility", "state": state, "why": "to record which app and window is in front"}]


def _roots(memory: Memory) -> list[dict[str, Any]]:
    """Folders that the companion watches or would watch, with the reason."""
    rows = memory.store.sessions.listing(limit=RECENT)
    chosen, added = memory.config, memory.recording.added_folders()
    found = watched_roots(rows, now=memory.now(), user_home=str(chosen.user_home), added=added)
    awake = companion_pid(chosen.home) is not None
    why = "an agent works there, or you added it" if awake else "the companion is not running"
    return [
        {"path": root.folder, "watched": awake and root.refused is None, "why": root.refused or why}
        for root in found
    ]


def excluded(memory: Memory) -> dict[str, Any]:
    own = memory.recording.excluded_apps()
    apps = [{"name": name, "seeded": False} for name in own["apps"]]
    apps += [{"name": name, "seeded": True} for name in (*own["settings"], *seeded.NAMES)]
    return {"apps": apps, "folders": [{"path": folder} for folder in memory.recording.excluded_folders()]}


def _storage(memory: Memory) -> dict[str, Any]:
    store = memory.store
    versions = store.path.with_name(VERSIONS_DATABASE)
    oldest = store.db.execute("SELECT min(opened_at) FROM session WHERE forgotten=0").fetchone()[0]
    copies = memory.transcripts.overview()
    return {
        "home": str(memory.config.home),
        "log_bytes": store.size(),
        "versions_bytes": versions.stat().st_size if versions.exists() else 0,
        "oldest": None if oldest is None else iso(oldest),
        **store.sessions.totals(),
        "key": {"backend": store.keys.backend, "where": store.keys.where},
        "transcripts": copies | {"notice": memory.transcripts.expiring_notice(copies["expiring"])},
    }


# -- agents ----------------------------------------------------------------------------------------------


def agents(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Connect or disconnect an agent.

    With `dry_run`, the default, only show the edits.
    """
    agent, joins, dry_run = body.needed("agent"), body.flag("connect", True), body.flag("dry_run", True)
    joining = connection_setup(memory.config)
    plan = (plan_connect if joins else plan_disconnect)(agent, joining)
    backups = []
    if not dry_run:
        stamp = f"{to_datetime(memory.now()):%Y-%m-%dT%H%M%S}"
        backups = apply_plan(plan, joining, stamp=stamp)
        if joins:
            memory.recall.export_contexts()
    return {
        "agent": next(found.to_json() for found in agent_overviews(memory) if found.agent == agent),
        "changes": [{"path": str(edit.path), "diff": edit.diff()} for edit in plan.edits],
        "backups": [str(path) for path in backups],
        "notes": list(plan.notes),
        "dry_run": dry_run,
    }


# -- sync ------------------------------------------------------------------------------------------------


def sync(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Sync now, or make, join or change a vault if `do` says so.

    The answer also has the new status.
    """
    do = body.text("do") or "round"
    if do not in SYNC_STEPS:
        raise InvalidInput(f'Unknown step "{do[:40]}".')
    return {**SYNC_STEPS[do](memory, body), "sync": memory.sync.status()}


def _sync_round(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """One round, after switching the sharing of files or transcripts on or off."""
    if body.value("files") is not None:
        memory.sync.share_files(body.flag("files"))
    if body.value("transcripts") is not None:
        memory.sync.share_transcripts(body.flag("transcripts"))
    return {"report": memory.sync.round(busy=_refuse_second_round)}


def _refuse_second_round() -> None:
    raise StoreBusy("A sync is running already.", hint="it includes what is new, or the next sync does")


def _place(body: JsonBody) -> dict[str, Any]:
    """Where the vault is: one field takes a folder or a URL."""
    place = body.needed("place").strip()
    return {"url": place} if "://" in place else {"folder": place}


def _sync_init(memory: Memory, body: JsonBody) -> dict[str, Any]:
    made = memory.sync.init(**_place(body), name=body.text("name"))
    return {"recovery_key": made["recovery_key"]}


def _sync_join(memory: Memory, body: JsonBody) -> dict[str, Any]:
    memory.sync.join(recovery=body.needed("key"), **_place(body), name=body.text("name"), receive=False)
    return {}


def _sync_ask(memory: Memory, body: JsonBody) -> dict[str, Any]:
    memory.sync.ask_to_join(body.needed("code"), **_place(body), name=body.text("name"))
    return {}


def _sync_answer(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return {"fingerprint": memory.sync.join_fingerprint()}


def _sync_accepted(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return {"accepted": memory.sync.join_accepted()}


def _sync_finish(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return memory.sync.finish_join()


def _sync_pair(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return {"code": memory.sync.pair_code()}


def _sync_request(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return {"request": memory.sync.pair_request(body.needed("code"))}


def _sync_confirm(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return memory.sync.confirm_pair(body.needed("code"), body.needed("fingerprint"))


def _sync_rename(memory: Memory, body: JsonBody) -> dict[str, Any]:
    memory.sync.rename(body.needed("name"))
    with contextlib.suppress(StoreBusy):  # the next round tells the others
        memory.sync.round(busy=_refuse_second_round)
    return {}


def _sync_remove(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return {"removed": memory.sync.remove(body.needed("device"))["name"]}


def _sync_leave(memory: Memory, body: JsonBody) -> dict[str, Any]:
    return {"announced": memory.sync.leave()["announced"]}


SYNC_STEPS: dict[str, Callable[[Memory, JsonBody], dict[str, Any]]] = {
    "round": _sync_round, "init": _sync_init, "join": _sync_join, "ask": _sync_ask, "answer": _sync_answer,
    "accepted": _sync_accepted, "finish": _sync_finish, "pair": _sync_pair, "request": _sync_request,
    "confirm": _sync_confirm, "rename": _sync_rename, "remove": _sync_remove, "leave": _sync_leave,
}  # fmt: skip


# -- setup -----------------------------------------------------------------------------------------------


def setup(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return {
        "language": current_language(),
        "finished": memory.setup.finished,
        "steps": [step.to_json() for step in memory.setup.steps()],
        "labels": {
            "heading": translate("Set up Fazm Memory"),
            "about": translate("Every step can be skipped. You find all of them in the settings later."),
            "done": translate("done"),
            "skip": translate("Skip"),
            "undo": translate("Take Back"),
            "edits": translate("Show the changes"),
            "finish": translate("Finish"),
            "reading": translate("Importing…"),
            "nothing": translate("Nothing is left to set up."),
        },
    }


def apply_step(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Do or take back one choice of a step."""
    step, choice = body.needed("step"), body.text("choice") or ""
    try:
        return {"message": memory.setup.apply(step, choice, on=body.flag("on", True))}
    except FazmMemoryError as error:
        error.message, error.hint = translate_filled(error.message), translate_filled(error.hint)
        raise


def import_part(memory: Memory, body: JsonBody) -> dict[str, Any]:
    """Import the next part of the last month. The page calls it until nothing is left."""
    return memory.setup.import_part()


def finish_setup(memory: Memory, body: JsonBody) -> dict[str, Any]:
    memory.setup.finish()
    return {"finished": True}


READS = {"settings": settings, "settings/retention": preview_retention, "setup": setup}
WRITES = {
    "settings/agents": agents,
    "settings/retention": change_retention,
    "settings/sync": sync,
    "setup": apply_step,
    "setup/import": import_part,
    "setup/finish": finish_setup,
}
SLOW = frozenset({"settings/retention"})  # reads the sizes of all old events
