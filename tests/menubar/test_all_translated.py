"""Every text of the menu, the notifications and the setup comes from the table of translations.

Translations are replaced by marks, and what is recorded by Cyrillic letters. Latin letters outside of a mark
are then a text that stays English in every language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory import translation
from fazm_memory.app.memory import Memory
from fazm_memory.config import load
from fazm_memory.menubar.menu import build_menu
from fazm_memory.menubar.status import (
    DAY,
    HOUR,
    MINUTE,
    AgentLine,
    FazmState,
    FrontApp,
    OpenPoint,
    Problem,
    Question,
    SessionLine,
    Status,
    SyncLine,
    Update,
    new_notices,
)
from tests.app.test_setup import System
from tests.menubar.test_menu import entries

NOW = 1_790_000_000_000_000
DATA = "ждщ"
NAMES = re.compile(r"Fazm Memory|claude-code|/[^\s⟦⟧]*")  # our name, an agent's, paths


class Marks(dict[str, Any]):
    """A language in which every text is marked."""

    def get(self, english: str, default: Any = None) -> Any:
        marked = f"⟦{english}⟧"
        return [marked, marked] if default is None else marked  # only counts have no default


@pytest.fixture(autouse=True)
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(translation, "translations", lambda: {"de": Marks()})
    translation.set_language("de")
    yield
    translation.set_language("en")


def english_in(text: str) -> str:
    """What is left of a text without its marks and names."""
    left = NAMES.sub("", text)
    while (shorter := re.sub(r"⟦[^⟦⟧]*⟧", "", left)) != left:
        left = shorter
    return "".join(re.findall(r"[A-Za-z]{2,}", left))


SESSIONS = tuple(
    SessionLine(str(n), title, DATA, f"/{DATA}", DATA, NOW - ago, "active", 3, 1, 2, device)
    for n, (title, ago, device) in enumerate(
        [(DATA, 1, None), (None, 5 * MINUTE, DATA), (DATA, 2 * HOUR, None), (DATA, 3 * DAY, None)]
    )
)
FULL = Status(
    NOW, True, None, None, (Problem(DATA, DATA), Problem(DATA, DATA, permission=True)), NOW - HOUR,
    SESSIONS, tuple(Question("0", str(n), DATA, DATA) for n in range(6)), DATA, DATA,
    (
        AgentLine(DATA, DATA, NOW - MINUTE), AgentLine(DATA, trouble=DATA), AgentLine(DATA, connectable=True),
        AgentLine(DATA, heard=NOW - DAY), AgentLine(DATA, trouble=DATA, stale=True),
    ),
    FrontApp(DATA), True, SyncLine(NOW - HOUR), FazmState(True, 2, (DATA, DATA)), DATA,
    (OpenPoint(DATA, "0", 3),), Update("1.2", DATA), True,
)  # fmt: skip
STATUSES = {
    "full": FULL,
    "empty": Status(NOW),
    "paused": replace(FULL, recording=False, attention=(), paused_until=None, fazm=FazmState(answers=False)),
    "paused for minutes": replace(FULL, recording=False, attention=(), paused_until=NOW + 20 * MINUTE),
    "paused for hours": replace(FULL, recording=False, attention=(), paused_until=NOW + 130 * MINUTE),
    "not synced": replace(FULL, sync=SyncLine(None, DATA), fazm=FazmState(True, 1)),
}


@pytest.mark.parametrize("name", STATUSES)
def test_every_line_of_the_menu_is_translated(name: str) -> None:
    menu = build_menu(STATUSES[name])
    shown = [menu.hint, *(text for entry in entries(menu.rows) for text in (entry.title, entry.hint))]
    assert {text: left for text in shown if (left := english_in(text))} == {}


def test_what_a_screen_reader_says_is_translated() -> None:
    spoken = [entry.spoken for entry in entries(build_menu(FULL).rows)]
    assert {text: left for text in spoken if (left := english_in(text))} == {}


def test_every_notification_is_translated() -> None:
    ended = tuple(replace(session, lifecycle="closed") for session in SESSIONS)
    before = replace(FULL, questions=(), attention=(), update=None)
    for after in (
        replace(FULL, attention=(), update=None),
        replace(FULL, questions=(), update=None),
        replace(FULL, questions=(), attention=()),
        replace(before, sessions=ended),
    ):
        notices = new_notices(before, after)
        assert notices
        shown = [text for notice in notices for text in (notice.title, notice.text)]
        assert {text: left for text in shown if (left := english_in(text))} == {}


def test_every_step_of_the_setup_is_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = tmp_path / "user"
    for folder in (".claude", "Documents", "Desktop"):
        (user / folder).mkdir(parents=True)
    (user / ".claude" / "settings.json").write_text("{}")
    monkeypatch.setenv("PATH", "/nowhere")
    config = load({"HOME": str(user), "FAZM_MEMORY_HOME": str(tmp_path / "home"), "FAZM_MEMORY_KEY": "file"})
    memory = Memory(config, lambda: NOW)
    memory.setup.platform, memory.setup.system = "darwin", System(config, misplaced=True)
    steps = memory.setup.steps()
    assert {"move", "connect", "accessibility", "folders", "login"} <= {step.name for step in steps}
    shown = [text for step in steps for text in (step.title, step.why, step.action, step.note)]
    shown += [text for step in steps for choice in step.choices for text in (choice.title, choice.note)]
    memory.close()
    assert {text: left for text in shown if (left := english_in(text))} == {}
