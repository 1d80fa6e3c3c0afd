"""Short labels for the menu: recorded text in one line, ages and countdowns.

Recorded text may hold anything. In a menu it is one short line without invisible characters or characters
that change the direction of text.
"""

from __future__ import annotations

import posixpath
import unicodedata

from fazm_memory.clock import to_datetime
from fazm_memory.errors import FazmMemoryError
from fazm_memory.text import sentence
from fazm_memory.translation import format_weekday_time, translate, translate_count, translate_filled

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
LONGEST = 48
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def error_text(error: FazmMemoryError) -> tuple[str, str]:
    """The title of an error, and its message with what to do next, in the user's language."""
    words = (translate_filled(part) for part in (error.message, error.hint) if part)
    return translate(error.title), " ".join(map(sentence, words))


def label(text: str | None, most: int = LONGEST, *, empty: str | None = None) -> str:
    """One line of at most `most` characters."""
    start = (text or "")[: 8 * most]  # texts may be very long
    visible = "".join(" " if unicodedata.category(char) in _INVISIBLE else char for char in start)
    line = " ".join(visible.split())
    return (line if len(line) <= most else line[: most - 1].rstrip() + "…") or (
        translate("untitled") if empty is None else empty
    )


def folder_label(path: str | None, user_home: str) -> str | None:
    """The last part of a folder's path, or ~ for the home folder."""
    if not path:
        return None
    return (
        "~" if path.rstrip("/") == user_home.rstrip("/") else label(posixpath.basename(path.rstrip("/")), 28)
    )


def age(at: int, now: int) -> str:
    """How long ago, in the largest useful unit."""
    past = max(0, now - at)
    if past < MINUTE:
        return translate("just now")
    if past < HOUR:
        return translate("{n} min ago", n=past // MINUTE)
    if past < DAY:
        return translate("{n} h ago", n=past // HOUR)
    days = (to_datetime(now).date() - to_datetime(at).date()).days
    if days <= 1:
        return translate("yesterday")
    return translate_count(days, "{n} day ago", "{n} days ago")


def time_left(until: int, now: int) -> str:
    """How much longer, rounded up."""
    rest = max(0, until - now)
    minutes = max(1, -(-rest // MINUTE))
    if minutes < 60:
        return translate("{n} min left", n=minutes)
    if minutes < 24 * 60:
        hours, minutes = divmod(minutes, 60)
        if minutes:
            return translate("{hours} h {minutes} min left", hours=hours, minutes=minutes)
        return translate("{n} h left", n=hours)
    return translate("until {moment}", moment=format_weekday_time(to_datetime(until)))
