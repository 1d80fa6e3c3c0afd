"""What a new session says of the one before it: its plan was accepted there, or it was cleared.

A transcript does not say that it was replaced; only the new one does. It seldom names the session before, so
that is searched for in the same folder. If more than one session fits, nothing is reported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fazm_memory.agents.claude_code.decisions import refusal_reason
from fazm_memory.agents.claude_code.transcript import NAME
from fazm_memory.agents.fields import SESSION_NAME, mapping, moment, record_of, sequence, text
from fazm_memory.agents.meaning import PERSON
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular, read_regular

# The name of a session's transcript; copies that people keep have other names.
PLAN_BEGIN = 300  # characters of a plan by which a transcript is searched
ACCEPTED = "plan accepted in a new session"
CLEARED = "clear"  # as the hook calls it
TAIL = 64 << 10
LARGEST = 512 << 20  # bytes of a transcript that is searched whole
RECENT = 60 * 60 * 1_000_000  # a session that was silent for longer is not the one that was cleared
TIME = lazy_regex(rb'"timestamp":"([^"\\]{1,40})"')
LEFT = lazy_regex(rb"<command-name>/(?:exit|quit|logout)</command-name>")


def cleared_before(path: Path, session: str, at: int | None) -> Iterator[Draft]:
    """The end of the session that `/clear` replaced by this one: the only one that was in use before."""
    if at is None:
        return
    others = (other for other in path.parent.glob("*.jsonl") if other != path)
    found = [other.stem for other in others if SESSION_NAME.fullmatch(other.stem) and _was_in_use(other, at)]
    if len(found) == 1:
        key = f"{NAME}:{found[0]}:cleared:{session}"
        payload = {"reason": CLEARED}
        yield Draft(found[0], "session.close", payload, NAME, at, None, PERSON, "transcript", key=key)


def _was_in_use(path: Path, at: int) -> bool:
    """Whether the last record of a session is from shortly before a time, and does not end it."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            tail = file.read()
    except OSError:
        return False
    times = [time for found in TIME.findall(tail) if (time := moment(found.decode("ascii", "replace")))]
    if not times or not at - RECENT <= max(times) <= at:
        return False
    return LEFT.search(tail) is None


def plan_accepted_here(path: Path, session: str, accepted: Mapping[str, Any]) -> Iterator[Draft]:
    """What a session that begins with an accepted plan says of the session that presented it."""
    elder = _presenter(path, accepted) if accepted else ""
    if not elder or elder == session:
        return
    title, key = accepted["title"], f"{NAME}:{elder}:accepted:{session}"
    for kind, payload in (
        ("plan", {"title": title, "status": "accepted"}),
        ("decision", {"what": "accepted", "form": "plan", "about": title}),
        ("session.close", {"reason": ACCEPTED}),
    ):
        yield Draft(
            elder, kind, payload, NAME, accepted["at"], None, PERSON, "transcript", key=f"{key}:{kind}"
        )


def _presenter(path: Path, accepted: Mapping[str, Any]) -> str:
    """The session that presented a plan: the one it names, or the only one that ended with it."""
    if named := accepted.get("session"):
        return str(named) if (path.parent / f"{named}.jsonl").is_file() else ""
    begin = json.dumps(accepted["text"][:PLAN_BEGIN], ensure_ascii=False)[1:-1].encode("utf-8", "replace")
    others = (other for other in path.parent.glob("*.jsonl") if other != path and _presents_plans(other))
    found = [other.stem for other in others if _ended_with(other, begin, accepted["text"])]
    return found[0] if len(found) == 1 and SESSION_NAME.fullmatch(found[0]) else ""


def _presents_plans(path: Path) -> bool:
    """Whether a transcript has a plan. Most have none, so that the others are searched once."""
    try:
        stat = path.stat()
        return _has_plan(path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return False


@lru_cache(maxsize=4096)
def _has_plan(path: Path, mtime_ns: int, size: int) -> bool:
    return b'"ExitPlanMode"' in read_regular(path, LARGEST)


def _ended_with(path: Path, begin: bytes, plan: str) -> bool:
    """Whether a session presented this plan and the user left it without a word."""
    try:
        data = read_regular(path, LARGEST)
    except OSError:
        return False
    if begin not in data:
        return False
    presented: set[str] = set()
    for line in data.splitlines():
        if begin in line or b"tool_result" in line:
            content = mapping((record_of(line) or {}).get("message")).get("content")
            for block in map(mapping, sequence(content)):
                if text(mapping(block.get("input")).get("plan")).strip() == plan:
                    presented.add(text(block.get("id")))
                elif block.get("tool_use_id") in presented:
                    return refusal_reason(text(block.get("content"))) == ""
    return False
