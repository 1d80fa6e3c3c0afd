"""Output of the command line: data to stdout, messages to stderr.

Colours and progress bars appear only on a terminal.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fazm_memory.clock import TimeError, to_datetime
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.lazy import lazy_regex
from fazm_memory.text import format_size as format_size
from fazm_memory.text import plural as plural
from fazm_memory.text import plural_with_verb as plural_with_verb
from fazm_memory.text import single_line as single_line

if TYPE_CHECKING:
    from fazm_memory.app import Memory

DIGITS = 18  # fits a 64-bit integer
COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34"}
# The only escape sequences that are printed. Recorded text may contain others, which could hide text.
OWN_COLOURS = lazy_regex(rf"(\x1b\[(?:0|{'|'.join(COLOURS.values())})m)")


def print_json(value: Any) -> None:
    """Print an indented JSON document."""
    json.dump(value, sys.stdout, ensure_ascii=_ascii_only(), indent=2)
    sys.stdout.write("\n")


def print_json_line(value: Any) -> None:
    """Print a JSON value on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=_ascii_only(), separators=(",", ":")) + "\n")


def _ascii_only() -> bool:
    """Whether JSON must escape non-ASCII characters because the output is not Unicode."""
    return not (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def sync_progress_text(progress: dict[str, Any]) -> str:
    """How far a long round of sync is.

    It may also have been interrupted. The next round goes on there.
    """
    total = plural(progress["total"], progress["what"])
    return f"{progress['doing']}: {progress['done']:,} of {total}"


def echo(text: str = "") -> None:
    """Print text to stdout, without control characters from recorded text."""
    sys.stdout.write(printable(text) + "\n")


def echo_err(text: str) -> None:
    """Print a message to stderr."""
    sys.stderr.write(printable(text) + "\n")


def printable(text: str) -> str:
    """Replace characters that would move the cursor or cannot be encoded."""
    parts = OWN_COLOURS.split(text)  # every second part is one of our colours
    safe = "".join(
        part if n % 2 else "".join(char if char.isprintable() or char in "\n\t" else "�" for char in part)
        for n, part in enumerate(parts)
    )
    encoding = sys.stdout.encoding or "utf-8"
    return safe.encode(encoding, "replace").decode(encoding)


def paint(text: str, colour: str, *, stream: Any = None) -> str:
    """Add colour if the stream is a terminal."""
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def terminal_width() -> int:
    """The columns of the terminal; 200 if the output is none."""
    return max(40, os.get_terminal_size().columns) if sys.stdout.isatty() else 200


def fit(text: str, *, lines: int = 1, indent: int = 8) -> str:
    """Cut a text to at most so many lines of the terminal.

    Unchanged if the output is not a terminal.
    """
    if not sys.stdout.isatty():
        return text
    width = terminal_width()
    if lines > 1:
        import textwrap

        return textwrap.fill(text, width, subsequent_indent=" " * indent, max_lines=lines, placeholder=" …",
                             break_on_hyphens=False)  # fmt: skip
    room, parts = width, OWN_COLOURS.split(text)
    for n in range(0, len(parts), 2):  # every second part is one of our colours
        if len(parts[n]) > room:
            parts[n] = parts[n][: max(0, room - 1)] + ("…" if room else "")
        room -= len(parts[n])
    return "".join(parts)


def table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> None:
    """Print columns. Lines are cut at the width of the terminal."""
    cells = [[single_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[n]) for row in [list(header), *cells]) for n in range(len(header))]
    room = terminal_width()
    for number, row in enumerate([list(header), *cells]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        cut = line if len(line) <= room else line[: room - 1] + "…"
        echo(paint(cut, "dim") if number == 0 else cut)


def format_time(text: str, now: int) -> str:
    """A time for people: today, yesterday or the date."""
    # astimezone() applies the offset of that date, which may differ from today's (summer time).
    local, today = datetime.fromisoformat(text).astimezone(), to_datetime(now)
    if local.date() == today.date():
        return f"today {local:%H:%M}"
    if (today.date() - local.date()).days == 1:
        return f"yesterday {local:%H:%M}"
    return f"{local:%Y-%m-%d %H:%M}"


def non_negative_int(text: str) -> int:
    """Argument type: a count or a position."""
    if not text.isdecimal() or len(text) > DIGITS:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a whole number of 0 or more with at most {DIGITS} digits"
        )
    return int(text)


def integer(text: str) -> int:
    """Argument type: an integer whose range depends on the session."""
    if not re.fullmatch(r"-?[0-9]{1,60}", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
    return int(text)


def latest_session(memory: Memory) -> str:
    """The session that was active last, for commands without an id."""
    found = memory.sessions.listing(limit=1)
    if not found:
        raise NotFound("There is no session yet.", hint="`fazm-memory import` imports the past.")
    return str(found[0]["id"])


MOMENT = 'a position, a turn ("turn 3"), a time ("yesterday 16:00", 10m) or an event'


def moment(text: str) -> str:
    """Argument type: a moment of a session. Which there are depends on the session."""
    if re.fullmatch(r"-[0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of 0 or more")
    return text


def parse_moment(text: str, now: int) -> int:
    """A time from ISO 8601, a span before now (2h) or a day (yesterday)."""
    from fazm_memory.recall import parse_start  # slow to import, and seldom needed

    if weeks := re.fullmatch(r"([0-9]{1,4})\s*w", text.strip()):
        text = f"{7 * int(weeks[1])}d"
    elif text.strip().lower() == "week":
        text = "this week"
    try:
        return parse_start(text, now=now)
    except TimeError as error:
        hint = "You can also use a day (yesterday, last week) or a span before now (90m, 2h, 3d, 1w)."
        raise InvalidRequest(str(error), hint=hint) from None


PROGRESS_EVERY = 3.0  # seconds between two lines where there is no terminal


class Progress:
    """A progress bar on stderr.

    Without a terminal it is a line every few seconds, and none for short work.
    """

    def __init__(self, what: str, total: int | None = None, unit: str = "") -> None:
        self.what, self.total, self.unit, self.shown = what, total, unit and f" {unit}", 0.0
        self.alive = sys.stderr.isatty()
        if not self.alive:
            self.shown = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def at(self, done: int) -> None:
        now = time.monotonic()
        if now - self.shown < (0.1 if self.alive else PROGRESS_EVERY):
            return
        self.shown = now
        if not self.alive:
            of = f" of {self.total:,}" if self.total else ""
            sys.stderr.write(f"{self.what}: {done:,}{of}{self.unit}\n")
            sys.stderr.flush()
            return
        if self.total:
            filled = min(20, 20 * done // self.total)
            bar = "█" * filled + "░" * (20 - filled)
            sys.stderr.write(f"\r{self.what} {bar} {done:,}/{self.total:,}{self.unit}\x1b[K")
        else:
            sys.stderr.write(f"\r{self.what} {done:,}{self.unit}\x1b[K")
        sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self.alive and self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
