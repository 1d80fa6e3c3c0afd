"""Who changed a file: the agent (which session, which call), a person, or nobody can tell; and how we know.

No system tells which process wrote a file. What we have is when it changed, which calls ran then, what they
named, and where their sessions work. The answer says which of these it rests on and how sure that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fazm_memory.model.words import By

SLACK = 1_500_000  # microseconds: clocks of hooks, delays of the disk, what a tool does on its way out
Sure = Literal["certain", "likely", "possible"]

# Tools that look and never touch: that one of them ran says nothing about who wrote.
ONLY_LOOK = frozenset(
    {
        "read", "readfile", "notebookread", "view", "viewimage", "grep", "glob", "ls", "list",
        "listdirectory", "search", "searchfilecontent", "webfetch", "websearch", "todowrite", "todoread",
        "updateplan", "askuserquestion", "exitplanmode", "toolsearch",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Happening:
    """A change on disk: it happened between `earliest` and `latest`."""

    path: str
    change: str
    earliest: int
    latest: int
    origin: str | None = None
    away: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, running (`ended` is None) or over. `touched` are the changes it told, path → change;
    `named` all the text of its input, in which a path may stand."""

    session: str
    tool: str
    started: int
    ended: int | None = None
    seq: int | None = None
    touched: tuple[tuple[str, str], ...] = ()
    named: str = ""

    def told(self) -> str:
        place = "" if self.seq is None else f" (#{self.seq})"
        return f"{self.tool}{place} of session {self.session[:8]}"


@dataclass(frozen=True, slots=True)
class Workplace:
    """A session that is not put aside, and where it works. `heard`: its calls reach us as they happen."""

    session: str
    workspace: str
    last_at: int
    heard: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """`told`: an action has told this very change already, so there is nothing to add."""

    by: By
    evidence: str
    session: str | None = None
    seq: int | None = None
    sure: Sure | None = None
    told: bool = False


def attribute(one: Happening, calls: Iterable[Call], places: Sequence[Workplace]) -> Verdict:
    """The best answer that the evidence allows."""
    then = [call for call in calls if _overlaps(call, one)]
    for call in then:
        if _told(call, one):
            return Verdict("agent", f"told by {call.told()}", call.session, call.seq, "certain", told=True)
    writers = [call for call in then if _bare(call.tool) not in ONLY_LOOK]
    naming = [call for call in writers if _names(call, one)]
    if naming:
        return _by_agents(naming, "named by", "certain" if not one.away else "likely")
    near = [place for place in places if inside(one.path, place.workspace)]
    here = {place.session for place in near}
    beside = [call for call in writers if call.session in here]
    if beside and not one.away:
        return _by_agents(beside, "in the workspace while it ran:", "likely")
    session = max(near, key=lambda place: (len(place.workspace), place.last_at)).session if near else None
    if one.away:
        what = "calls ran then that do not name it" if beside else "no call of that time names it"
        return Verdict("unknown", f"changed while not watched; {what}", session)
    unheard = [place for place in near if not place.heard]
    if unheard:
        return Verdict("unknown", "a session at work here is not heard as it works", session)
    if not near:
        return Verdict("unknown", "no session works in this folder", None)
    return Verdict("person", "no tool call that could write was running", session, None, "likely")


def _by_agents(calls: Sequence[Call], why: str, sure: Sure) -> Verdict:
    """One call, several of one session, or sessions that cannot be told apart."""
    sessions = sorted({call.session for call in calls})
    latest = max(calls, key=lambda call: call.started)
    if len(sessions) == 1:
        return Verdict("agent", f"{why} {latest.told()}", latest.session, latest.seq, sure)
    names = " or ".join(session[:8] for session in sessions)
    evidence = f"{why} calls of sessions {names}, which cannot be told apart"
    return Verdict("agent", evidence, latest.session, None, "possible")


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _overlaps(call: Call, one: Happening) -> bool:
    ended = one.latest if call.ended is None else call.ended
    return call.started - SLACK <= one.latest and one.earliest <= ended + SLACK


def _told(call: Call, one: Happening) -> bool:
    """Whether the call's own account has this change. A write may be told as creating or as modifying."""
    for path, change in call.touched:
        alike = change == one.change or {change, one.change} == {"created", "modified"}
        if path == one.path and alike:
            return True
    return False


def _names(call: Call, one: Happening) -> bool:
    touched = {path for path, _ in call.touched}
    return any(
        path in touched or path in call.named or _relative(path, call.named)
        for path in (one.path, one.origin)
        if path is not None
    )


def _relative(path: str, text: str) -> bool:
    """Whether a text has the file's name as a word of its own: `a.txt`, not the end of `data.txt`."""
    name = path.rpartition("/")[2]
    at = text.find(name) if len(name) >= 3 else -1
    while at >= 0:
        end = at + len(name)
        around = (text[at - 1] if at else " ") + (text[end] if end < len(text) else " ")
        if not any(letter.isalnum() or letter in "_-." for letter in around):
            return True
        at = text.find(name, at + 1)
    return False


def _bare(tool: str) -> str:
    return tool.rsplit("__", 1)[-1].replace("_", "").replace("-", "").lower()
