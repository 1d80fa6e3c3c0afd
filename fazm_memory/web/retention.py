"""Retention as the page shows and changes it: an age for each kind, a limit in size, and what that comes to.

What would go is worked out only when somebody asks for it, since it reads the sizes of all that is old. The
policy is read from its file each time: another process may have changed it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from fazm_memory.config import CONFIG_FILE, LIMITS, PREFIX, with_present_retention
from fazm_memory.errors import InvalidInput
from fazm_memory.memory import Memory
from fazm_memory.model.retention import Policy
from fazm_memory.private import alone, private_folder, write_private
from fazm_memory.web.asked import Asked, Body

FIRST_TABLE = re.compile(r"^\s*\[", re.MULTILINE)
NAMES = tuple(one.name for one in fields(Policy))
KINDS = {
    "actions": ("Details of actions", "what tools were given and gave back, and what agents said"),
    "files": ("Changes seen on disk", "which files changed, and when"),
    "apps": ("Apps in front", "which app and window you had before you"),
    "prompts": ("Your own words", "what you asked agents for"),
    "archived": ("Archived sessions", "all of the above but your own words, once a session is archived"),
    "versions": ("Contents of files", "what a rewind puts back; the last version of each file stays"),
}
STAYS = "Decisions, facts, questions, the digests of all events, and where each session stood."


def told(memory: Memory, effect: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The policy in force, kind by kind; what it would let go only if that was worked out."""
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
        "words": _words(days, megabytes),
    }


def _words(days: int, megabytes: int) -> str:
    unit = "day" if days == 1 else "days"
    age = f"Details of actions are kept for {days} {unit}" if days else "Details of actions are kept for good"
    room = f", in at most {megabytes:,} MB." if megabytes else "."
    return f"{age}{room} Decisions, facts, questions and where each session stood stay."


def today(memory: Memory, ask: Asked) -> dict[str, Any]:
    """The policy, and what a clean-up today would let go by it."""
    return told(memory, _effect(memory, _in_force(memory), dry_run=True))


def change(memory: Memory, body: Body) -> dict[str, Any]:
    """Other ages or another size; with `dry_run` (unless it is false) only what would be let go by them."""
    wanted = _wanted(body)
    dry_run = body.flag("dry_run", True)
    policy = _in_force(memory)
    changed = {name: value for name, value in wanted.items() if value != policy[name]}
    if not dry_run:
        _write(memory, changed)
    effect = _effect(memory, policy | changed, dry_run=dry_run)
    return told(memory, effect) | {"dry_run": dry_run}


def _in_force(memory: Memory) -> dict[str, int]:
    chosen = with_present_retention(memory.config)
    return {name: getattr(chosen, f"retain_{name}") for name in NAMES}


def _wanted(body: Body) -> dict[str, int]:
    """What is asked for, by name; what is not named stays as it is, and null is for good."""
    ages = body.value("ages")
    if ages is None:
        ages = {}
    if not isinstance(ages, dict):
        raise InvalidInput("ages must be an object", hint='such as {"actions": 180}')
    unknown = [name for name in ages if name not in KINDS]
    if unknown:
        raise InvalidInput(f"there is no age of {unknown[0][:40]!r}", hint=f"there are {', '.join(KINDS)}")
    wanted = {name: Body(ages).number(name) or 0 for name in ages}
    for given, name in (("days", "actions"), ("mb", "megabytes")):
        if given in body.given:
            wanted[name] = body.number(given) or 0
    for name, value in wanted.items():
        high = LIMITS[f"retain_{name}"][1]
        if value > high:
            what = KINDS[name][0] if name in KINDS else "The size"
            raise InvalidInput(f"{what}: {value:,} is too much", hint=f"at most {high:,}")
    return wanted


def _effect(memory: Memory, policy: Mapping[str, int], *, dry_run: bool) -> dict[str, Any]:
    kept = memory.config
    settings: dict[str, Any] = {f"retain_{name}": value for name, value in policy.items()}
    memory.config = replace(kept, **settings)
    try:
        done = memory.retain(dry_run=dry_run)
    finally:
        memory.config = kept
    names = ("events", "bytes", "sessions", "by_kind", "store_bytes")
    return {name: done[name] for name in names} | {"versions": done.get("versions", 0)}


def _write(memory: Memory, changed: Mapping[str, int]) -> None:
    """Set whole numbers in config.toml and leave every other line of it as it is."""
    for name in changed:
        variable = f"{PREFIX}RETAIN_{name.upper()}"
        if variable in memory.config.environment:
            raise InvalidInput(f"this is set by the variable {variable}", hint="change it there, or unset it")
    home = private_folder(memory.config.home)
    path = home / CONFIG_FILE
    with alone(home):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for name, value in changed.items():
            text = _with_line(text, f"retain_{name}", value)
        write_private(path, text.encode())


def _with_line(text: str, name: str, value: int) -> str:
    line = f"{name} = {value}"
    text, found = re.subn(rf"^{name}[ \t]*=.*$", line, text, flags=re.MULTILINE)
    if found:
        return text
    table = FIRST_TABLE.search(text)
    at = len(text) if table is None else table.start()
    before = text[:at] if not text[:at] or text[:at].endswith("\n") else f"{text[:at]}\n"
    return f"{before}{line}\n{text[at:]}"


READS = {"settings/retention": today}
WRITES = {"settings/retention": change}
PATIENT = frozenset(READS)  # it reads the sizes of all that is old
