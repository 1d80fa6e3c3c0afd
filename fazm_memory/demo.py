"""The demo: two days of a filing task, played on real files in a temporary folder.

On the first day an agent renames invoices, leaves some files alone, fails once and is put aside. On the
second a new session, which knows nothing, is given the context and goes on: new files are named by what was
learned.
The files are real, and so are the memory and its log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.config import Config
from fazm_memory.memory import Memory
from fazm_memory.model.clock import micros, moment

SECOND = 1_000_000
VENDORS = (("acme", "20261102"), ("globex", "20261105"), ("hooli", "20261109"))
LATER = ("invoice_initech_20261110.pdf", "invoice_stark_20261112.pdf")
LEFT = ("notes.txt", "draft_invoice_umbrella.pdf")


@dataclass(frozen=True)
class Step:
    """Something to show: a line of the story, or a text that somebody is given."""

    title: str
    text: str = ""


class Play:
    """The memory, the folder and the clock of a demo."""

    def __init__(self, folder: Path, now: int) -> None:
        self.folder = folder
        self.downloads = folder / "Downloads"
        self.downloads.mkdir()
        self.clock = now
        self.calls = 0
        config = Config(home=folder / "memory", user_home=folder, key="file")
        self.memory = Memory(config, lambda: self.clock)

    def at(self, days_ago: int, hour: int) -> None:
        day = moment(self.clock).date() - timedelta(days_ago)
        self.clock = micros(datetime.combine(day, time(hour)).astimezone())

    def say(self, session: str, kind: str, **payload: Any) -> None:
        self.clock += 20 * SECOND
        for result in self.memory.record([Draft(session, kind, payload, agent="fazm")]):
            if result.error is not None:
                raise result.error

    def open(self, session: str) -> None:
        self.say(session, "session.open", agent="fazm", workspace=str(self.downloads))

    def look(self, session: str) -> None:
        """The agent lists the folder as it is."""
        files = sorted(path.name for path in self.downloads.iterdir())
        self.say(session, "seen", folder=str(self.downloads), files=files)

    def rename(self, session: str, old: str, new: str) -> None:
        """Really rename a file, and record the call that did."""
        (self.downloads / old).rename(self.downloads / new)
        self.calls += 1
        moved = {"path": str(self.downloads / new), "change": "renamed", "from": str(self.downloads / old)}
        self.say(session, "action", tool="Bash", input={"command": f"mv {old} {new}"}, files=[moved],
                 call_id=f"call-{self.calls}")  # fmt: skip

    def shown(self, text: str) -> str:
        """A text with the temporary folder as `~`, which it stands for."""
        return text.replace(str(self.folder), "~")


@contextmanager
def playing(now: int) -> Iterator[Play]:
    """A play in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="fazm-memory-demo-") as name:
        play = Play(Path(name).resolve(), now)
        try:
            yield play
        finally:
            play.memory.close()


def play_two_days(play: Play) -> Iterator[Step]:
    """Both days, step by step."""
    today = play.clock
    yield from _yesterday(play)
    play.clock = today
    for name in LATER:
        (play.downloads / name).write_text("%PDF-1.4 demo\n")
    context = play.memory.context(str(play.downloads))
    yield Step("Today. A new session knows nothing, and is given this:", play.shown(context.text))
    yield from _today(play)


def _yesterday(play: Play) -> Iterator[Step]:
    play.at(1, 16)
    for name in (*(f"invoice_{vendor}_{day}.pdf" for vendor, day in VENDORS), *LEFT):
        (play.downloads / name).write_text("%PDF-1.4 demo\n")
    play.open("yesterday")
    play.say("yesterday", "prompt", text="Rename the invoices in Downloads, date first. Leave drafts alone.")
    play.look("yesterday")
    for vendor, day in VENDORS:
        play.rename(
            "yesterday", f"invoice_{vendor}_{day}.pdf", f"{day[:4]}-{day[4:6]}-{day[6:]} {vendor}.pdf"
        )
    play.say("yesterday", "decision", what="the date comes first", why="then the folder sorts by time",
             alternatives=["vendor first"])  # fmt: skip
    play.say("yesterday", "action", tool="Bash", input={"command": "qpdf --check 2026-11-09*.pdf"},
             error="qpdf: command not found")  # fmt: skip
    play.say("yesterday", "pending", id="umbrella", what="the Umbrella draft needs a purchase order")
    play.say("yesterday", "session.pause")
    yield Step(
        "Yesterday. An agent was asked to rename the invoices in ~/Downloads, and left:", _listing(play)
    )


def _today(play: Play) -> Iterator[Step]:
    play.open("today")
    play.say("today", "prompt", text="Continue organizing my files like yesterday.")
    lines = []
    for one in play.memory.conventions("yesterday", names=[*LATER, *LEFT])["proposals"]:
        if one["becomes"] is None:
            lines.append(f"    {one['name']} stays: {one['because']}")
        else:
            play.rename("today", one["name"], one["becomes"])
            lines.append(f"    {one['name']} → {one['becomes']}")
    yield Step("“Continue organizing my files like yesterday.” So it did:", "\n".join(lines))
    yield Step("~/Downloads now:", _listing(play))


def _listing(play: Play) -> str:
    return "\n".join(f"    {path.name}" for path in sorted(play.downloads.iterdir()))


def demo(now: Callable[[], int]) -> Iterator[Step]:
    """The steps of the demo as of now."""
    with playing(now()) as play:
        yield from play_two_days(play)
