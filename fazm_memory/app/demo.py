"""The demo: two days of a filing task, on real files in a temporary folder.

On the first day an agent renames invoices, skips some files and fails once. On the second day a new session
gets the context and names new files by what was learned. The memory and its log are real too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Memory
from fazm_memory.clock import to_datetime, to_micros
from fazm_memory.config import Config
from fazm_memory.events import Draft
from fazm_memory.records import dataclass

SECOND = 1_000_000
VENDORS = (("acme", "20261102"), ("globex", "20261105"), ("hooli", "20261109"))
LATER = ("invoice_initech_20261110.pdf", "invoice_stark_20261112.pdf")
SKIPPED = ("notes.txt", "draft_invoice_umbrella.pdf")


@dataclass(frozen=True)
class DemoStep:
    """A step to show: its title and a text."""

    title: str
    text: str = ""


class Demo:
    """The memory, folder and clock of a demo."""

    def __init__(self, folder: Path, now: int) -> None:
        self.folder = folder
        self.downloads = folder / "Downloads"
        self.downloads.mkdir()
        self.clock = now
        self.calls = 0
        config = Config(home=folder / "memory", user_home=folder, key="file")
        self.memory = Memory(config, lambda: self.clock)

    def at(self, days_ago: int, hour: int) -> None:
        day = to_datetime(self.clock).date() - timedelta(days_ago)
        self.clock = to_micros(datetime.combine(day, time(hour)).astimezone())

    def say(self, session: str, kind: str, **payload: Any) -> None:
        self.clock += 20 * SECOND
        for result in self.memory.sessions.record([Draft(session, kind, payload, agent="fazm")]):
            if result.error is not None:
                raise result.error

    def open(self, session: str) -> None:
        self.say(session, "session.open", agent="fazm", workspace=str(self.downloads))

    def look(self, session: str) -> None:
        """Record that the agent listed the folder."""
        files = sorted(path.name for path in self.downloads.iterdir())
        self.say(session, "seen", folder=str(self.downloads), files=files)

    def rename(self, session: str, old: str, new: str) -> None:
        """Rename a file and record the call."""
        (self.downloads / old).rename(self.downloads / new)
        self.calls += 1
        moved = {"path": str(self.downloads / new), "change": "renamed", "from": str(self.downloads / old)}
        self.say(session, "action", tool="Bash", input={"command": f"mv {old} {new}"}, files=[moved],
                 call_id=f"call-{self.calls}")  # fmt: skip

    def shown(self, text: str) -> str:
        """The text with the temporary folder shown as `~`."""
        return text.replace(str(self.folder), "~")


@contextmanager
def demo_folder(now: int) -> Iterator[Demo]:
    """A demo in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="fazm-memory-demo-") as name:
        demo = Demo(Path(name).resolve(), now)
        try:
            yield demo
        finally:
            demo.memory.close()


def two_days(demo: Demo) -> Iterator[DemoStep]:
    today = demo.clock
    yield from _yesterday(demo)
    demo.clock = today
    for name in LATER:
        (demo.downloads / name).write_text("%PDF-1.4 demo\n")
    context = demo.memory.recall.context(str(demo.downloads))
    yield DemoStep("Today. A new session starts with this context:", demo.shown(context.text))
    yield from _today(demo)


def _yesterday(demo: Demo) -> Iterator[DemoStep]:
    demo.at(1, 16)
    for name in (*(f"invoice_{vendor}_{day}.pdf" for vendor, day in VENDORS), *SKIPPED):
        (demo.downloads / name).write_text("%PDF-1.4 demo\n")
    demo.open("yesterday")
    demo.say("yesterday", "prompt", text="Rename the invoices in Downloads, date first. Leave drafts alone.")
    demo.look("yesterday")
    for vendor, day in VENDORS:
        demo.rename(
            "yesterday", f"invoice_{vendor}_{day}.pdf", f"{day[:4]}-{day[4:6]}-{day[6:]} {vendor}.pdf"
        )
    demo.say("yesterday", "decision", what="the date comes first", why="then the folder sorts by time",
             alternatives=["vendor first"])  # fmt: skip
    demo.say("yesterday", "action", tool="Bash", input={"command": "qpdf --check 2026-11-09*.pdf"},
             error="qpdf: command not found")  # fmt: skip
    demo.say("yesterday", "pending", id="umbrella", what="the Umbrella draft needs a purchase order")
    demo.say("yesterday", "session.pause")
    yield DemoStep(
        "Yesterday. An agent renamed the invoices in ~/Downloads. The folder then:", _listing(demo)
    )


def _today(demo: Demo) -> Iterator[DemoStep]:
    demo.open("today")
    demo.say("today", "prompt", text="Continue organizing my files like yesterday.")
    lines = []
    for proposal in demo.memory.recall.conventions("yesterday", names=[*LATER, *SKIPPED])["proposals"]:
        if proposal["becomes"] is None:
            lines.append(f"    {proposal['name']} stays: {proposal['because']}")
        else:
            demo.rename("today", proposal["name"], proposal["becomes"])
            lines.append(f"    {proposal['name']} → {proposal['becomes']}")
    yield DemoStep("“Continue organizing my files like yesterday.” The new session does:", "\n".join(lines))
    yield DemoStep("~/Downloads now:", _listing(demo))


def _listing(demo: Demo) -> str:
    return "\n".join(f"    {path.name}" for path in sorted(demo.downloads.iterdir()))


def run_demo(now: Callable[[], int]) -> Iterator[DemoStep]:
    """The steps of the demo as of now."""
    with demo_folder(now()) as demo:
        yield from two_days(demo)
