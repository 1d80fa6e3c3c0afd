"""Labels: recorded text made fit for one line of a menu, and times as a glance wants them.

What an agent or a web page called something may hold anything; in a menu it is one short line, without
characters that nobody sees or that turn the line around.
"""

from __future__ import annotations

import posixpath
import unicodedata

from fazm_memory.model.clock import moment

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
LONGEST = 48
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def label(text: str | None, most: int = LONGEST, *, empty: str = "untitled") -> str:
    """One line of at most so many characters, cut at its end."""
    # What is cut off need not be looked at, however long it is.
    seen = "".join(" " if unicodedata.category(one) in _UNSEEN else one for one in (text or "")[: 8 * most])
    line = " ".join(seen.split())
    return (line if len(line) <= most else line[: most - 1].rstrip() + "…") or empty


def folder_label(path: str | None, user_home: str) -> str | None:
    """A folder by its last name, or ~ for the home itself."""
    if not path:
        return None
    return (
        "~" if path.rstrip("/") == user_home.rstrip("/") else label(posixpath.basename(path.rstrip("/")), 28)
    )


def age(at: int, now: int) -> str:
    """How long ago, in the largest unit that says something."""
    past = max(0, now - at)
    if past < MINUTE:
        return "just now"
    if past < HOUR:
        return f"{past // MINUTE} min ago"
    if past < DAY:
        return f"{past // HOUR} h ago"
    days = (moment(now).date() - moment(at).date()).days
    return "yesterday" if days <= 1 else f"{days} days ago"


def left(until: int, now: int) -> str:
    """How much longer, rounded up: a countdown never says nothing is left while something is."""
    rest = max(0, until - now)
    if rest <= MINUTE:
        return "1 min left"
    minutes = -(-rest // MINUTE)
    if minutes < 60:
        return f"{minutes} min left"
    if minutes < 24 * 60:
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min left" if minutes else f"{hours} h left"
    return f"until {moment(until):%A %H:%M}"


def clock(at: int) -> str:
    return f"{moment(at):%H:%M}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
