"""How the command line speaks: data to stdout, talk to stderr, and nothing fancy where no person looks."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from fazm_memory.errors import InvalidRequest
from fazm_memory.model.clock import TimeError, moment, parse
from fazm_memory.model.counting import plural as plural
from fazm_memory.model.counting import they as they

DIGITS = 18  # of a number that every layer can hold
COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34"}
# The only escapes we write. Recorded text may hold them too: these do no harm, others hide what is there.
OWN_COLOURS = re.compile(rf"(\x1b\[(?:0|{'|'.join(COLOURS.values())})m)")


def emit_json(value: Any) -> None:
    """One JSON document on stdout, readable by people too."""
    json.dump(value, sys.stdout, ensure_ascii=_escaped(), indent=2)
    sys.stdout.write("\n")


def emit_line(value: Any) -> None:
    """One JSON value on one line, at once: for protocols of a line per line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=_escaped(), separators=(",", ":")) + "\n")


def _escaped() -> bool:
    """Whether JSON spells out letters beyond ASCII: where the output has no Unicode, it loses nothing so."""
    return not (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def say(text: str = "") -> None:
    """Text for people on stdout: it may hold recorded text, so control characters are shown, not obeyed."""
    sys.stdout.write(plain(text) + "\n")


def talk(text: str) -> None:
    """Something about the run itself, on stderr."""
    sys.stderr.write(plain(text) + "\n")


def plain(text: str) -> str:
    """Text that cannot move the cursor or break the encoding of the terminal."""
    kept = OWN_COLOURS.split(text)  # every other part is a colour of ours
    safe = "".join(
        part if n % 2 else "".join(char if char.isprintable() or char in "\n\t" else "�" for char in part)
        for n, part in enumerate(kept)
    )
    encoding = sys.stdout.encoding or "utf-8"
    return safe.encode(encoding, "replace").decode(encoding)


def paint(text: str, colour: str, *, stream: Any = None) -> str:
    """Coloured for a person at a terminal; as it is for anybody else."""
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> None:
    """Columns as wide as they need to be, the last one cut at the edge of the terminal."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[n]) for row in [list(header), *cells]) for n in range(len(header))]
    room = 200
    if sys.stdout.isatty():
        room = max(40, os.get_terminal_size().columns)
    for number, row in enumerate([list(header), *cells]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        cut = line if len(line) <= room else line[: room - 1] + "…"
        say(paint(cut, "dim") if number == 0 else cut)


def one_line(text: object) -> str:
    return " ".join(str(text).split())


def when(text: str, now: int) -> str:
    """A moment as a person would say it: the time today, else the day."""
    read, today = datetime.fromisoformat(text), moment(now)
    local = read.astimezone()  # by the offset of then: between summer and winter it is another
    if local.date() == today.date():
        return f"today {local:%H:%M}"
    if (today.date() - local.date()).days == 1:
        return f"yesterday {local:%H:%M}"
    return f"{local:%Y-%m-%d %H:%M}"


def size(count: int) -> str:
    value = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def clock(fixed: str | None) -> Callable[[], int]:
    """The machine's clock, or the moment given with --now."""
    if fixed is None:
        return lambda: time.time_ns() // 1000
    try:
        at = parse(fixed)
    except TimeError as error:
        raise InvalidRequest(str(error)) from None
    return lambda: at


def whole(text: str) -> int:
    """The type of an argument that counts or names a position."""
    if not text.isdecimal() or len(text) > DIGITS:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a whole number from 0 up, of {DIGITS} digits at most"
        )
    return int(text)


def integer(text: str) -> int:
    """The type of an argument whose range only the session knows."""
    if not re.fullmatch(r"-?[0-9]{1,60}", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
    return int(text)


def moment_argument(text: str, now: int) -> int:
    """A time, how long ago it is, or the beginning of a day as a person says it, such as yesterday."""
    from fazm_memory.recall.query import begin_of

    try:
        return begin_of(text, now=now)
    except TimeError as error:
        hint = "days such as yesterday or last week will do, too, and how long ago it is: 90m, 2h, 3d"
        raise InvalidRequest(str(error), hint=hint) from None


class Progress:
    """A bar on stderr for long work; silent where no person looks."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what, self.total, self.shown = what, total, 0.0
        self.alive = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def at(self, done: int) -> None:
        if not self.alive or time.monotonic() - self.shown < 0.1:
            return
        self.shown = time.monotonic()
        if self.total:
            filled = min(20, 20 * done // self.total)
            bar = "█" * filled + "░" * (20 - filled)
            sys.stderr.write(f"\r{self.what} {bar} {done:,}/{self.total:,}\x1b[K")
        else:
            sys.stderr.write(f"\r{self.what} {done:,}\x1b[K")
        sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self.alive and self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
