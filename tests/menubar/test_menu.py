"""The menu as a value: what it says for each status, and laws that hold for any."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.menubar.menu import Command, Menu, MenuEntry, Separator, build_menu
from fazm_memory.menubar.status import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    AgentLine,
    FrontApp,
    Problem,
    Question,
    SessionLine,
    Status,
    SyncLine,
    age,
    label,
    time_left,
)

NOW = 1_790_000_000_000_000

LAST = SessionLine("a1", "Rename the invoices", "fazm", "/u/Invoices", "Invoices", NOW - 5 * MINUTE)
OLDER = SessionLine("b2", None, "codex", None, None, NOW - 2 * HOUR)
FULL = Status(
    NOW,
    last_event=NOW - 20 * SECOND,
    sessions=(LAST, OLDER),
    questions=(Question("a1", "q1", "Which folder is right?", "Rename the invoices"),),
    yesterday="Sort the photos, and 2 more sessions",
    agents=(
        AgentLine("fazm", "hooks and MCP", NOW - MINUTE, connectable=True),
        AgentLine("codex", "", None, None, connectable=True),
        AgentLine("gemini", "", NOW - DAY),
        AgentLine("claude-code", "hooks", None, "connected but silent", connectable=True),
    ),
    front=FrontApp("Safari", "com.apple.Safari"),
    login=False,
)


def entries(rows: tuple[MenuEntry | Separator, ...]) -> Iterator[MenuEntry]:
    for one in rows:
        if isinstance(one, MenuEntry):
            yield one
            yield from entries(one.entries)


def found(made: Menu, id_: str) -> MenuEntry:
    return next(one for one in entries(made.rows) if one.id == id_)


def titles(made: Menu) -> list[str]:
    return [one.title if isinstance(one, MenuEntry) else "—" for one in made.rows]


def test_the_whole_menu_of_a_working_day() -> None:
    assert titles(build_menu(FULL)) == [
        "Recording",
        "Last event just now",
        "—",
        "? Which folder is right?",
        "—",
        "Resume “Rename the invoices”",
        "Latest Sessions",
        "—",
        "Timeline…",
        "Search…",
        "Yesterday: Sort the photos, and 2 more sessions",
        "Copy Context",
        "Open Context File",
        "—",
        "Pause Recording",
        "Don’t Record Safari",
        "Forget",
        "—",
        "Connected Agents",
        "Settings…",
        "Set Up…",
        "Launch at Login",
        "About Fazm Memory",
        "—",
        "Quit Fazm Memory (Recording Stops)",
    ]


def test_what_stands_below_the_first_level() -> None:
    made = build_menu(FULL)
    assert [one.title for one in found(made, "sessions").entries] == [
        "Rename the invoices · Invoices · 5 min ago",
        "untitled · 2 h ago",
    ]
    assert [one.title for one in found(made, "pause").entries] == [
        "15 Minutes",
        "1 Hour",
        "Until Tomorrow",
        "Until I Resume",
    ]
    assert [one.title for one in found(made, "forget").entries] == ["Last 5 Minutes", "Last Hour", "Today"]
    assert [one.title for one in found(made, "agents").entries] == [
        "fazm: connected by hooks and MCP, last active 1 min ago",
        "codex: not connected: connect…",
        "gemini: read from its transcripts, last active yesterday",
        "claude-code: ⚠ connected but silent",
    ]


@pytest.mark.parametrize(
    ("status", "icon", "words"),
    [
        (Status(NOW), "recording", "Recording"),
        (Status(NOW, recording=False), "paused", "Paused until you resume"),
        (
            Status(NOW, recording=False, paused_until=NOW + 15 * MINUTE - SECOND),
            "paused",
            "Paused, 15 min left",
        ),
        (
            Status(NOW, recording=False, paused_until=NOW + 90 * MINUTE),
            "paused",
            "Paused, 1 h 30 min left",
        ),
        (
            Status(NOW, attention=(Problem("The store is damaged: page 5"),)),
            "attention",
            "Attention: The store is damaged: page 5",
        ),
    ],
)
def test_the_three_states(status: Status, icon: str, words: str) -> None:
    made = build_menu(status)
    assert (made.icon, titles(made)[0]) == (icon, words)
    assert made.hint.casefold() == f"fazm memory: {words}".casefold()


def test_permissions_are_offered_only_when_they_are_missing() -> None:
    broken = build_menu(
        Status(NOW, attention=(Problem("windows cannot be seen", "Settings", permission=True),))
    )
    assert found(broken, "permissions").command == Command("permissions")
    assert "permissions" not in build_menu(FULL).commands()


def test_resuming_recording_is_offered_only_while_it_is_paused() -> None:
    assert "record" in build_menu(Status(NOW, recording=False)).commands()
    assert "record" not in build_menu(FULL).commands()


def test_the_app_in_front_is_named_with_its_identifier() -> None:
    assert build_menu(FULL).commands()["exclude"] == Command("exclude", "Safari", "com.apple.Safari")
    assert "exclude" not in build_menu(Status(NOW)).commands()


@pytest.mark.parametrize(("login", "checked", "about"), [(True, True, ""), (False, False, "on")])
def test_a_click_on_launch_at_login_turns_it_over(login: bool, checked: bool, about: str) -> None:
    one = found(build_menu(Status(NOW, login=login)), "login")
    assert (one.checked, one.command) == (checked, Command("login", about))


def test_where_nothing_can_be_launched_at_login_it_is_not_offered() -> None:
    assert "login" not in build_menu(Status(NOW)).commands()


def test_more_questions_than_there_is_room_for_are_counted() -> None:
    asked = tuple(Question("a", f"q{n}", f"What about {n}?") for n in range(7))
    made = build_menu(Status(NOW, questions=asked))
    assert found(made, "questions-more").title == "3 more questions…"


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        (0, "just now"),
        (-MINUTE, "just now"),
        (MINUTE, "1 min ago"),
        (HOUR, "1 h ago"),
        (3 * DAY, "3 days ago"),
    ],
)
def test_an_age_in_its_largest_unit(past: int, expected: str) -> None:
    assert age(NOW - past, NOW) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [(SECOND, "1 min left"), (MINUTE + 1, "2 min left"), (59 * MINUTE + 1, "1 h left"), (0, "1 min left")],
)
def test_a_countdown_is_rounded_up(rest: int, expected: str) -> None:
    assert time_left(NOW + rest, NOW) == expected


# -- laws ------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=200)
MOMENT = st.integers(NOW - 400 * DAY, NOW + 400 * DAY)
NAME = st.text("abcdef0123456789", min_size=8, max_size=8)
STATUSES = st.builds(
    Status,
    now=st.just(NOW),
    recording=st.booleans(),
    paused_since=st.none() | MOMENT,
    paused_until=st.none() | MOMENT,
    attention=st.lists(st.builds(Problem, TEXT, TEXT), max_size=3).map(tuple),
    last_event=st.none() | MOMENT,
    sessions=st.lists(
        st.builds(SessionLine, NAME, st.none() | TEXT, TEXT, st.none() | TEXT, st.none() | NAME, MOMENT),
        max_size=12,
        unique_by=lambda one: one.id,
    ).map(tuple),
    questions=st.lists(
        st.builds(Question, NAME, NAME, TEXT, TEXT), max_size=9, unique_by=lambda one: one.id
    ).map(tuple),
    yesterday=TEXT,
    agents=st.lists(
        st.builds(AgentLine, NAME, TEXT, st.none() | MOMENT, st.none() | TEXT, st.booleans()),
        max_size=4,
        unique_by=lambda one: one.name,
    ).map(tuple),
    front=st.none() | st.builds(FrontApp, TEXT, st.none() | TEXT),
    login=st.none() | st.booleans(),
)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(STATUSES)
def test_whatever_was_recorded_every_line_is_short_and_readable(status: Status) -> None:
    for one in entries(build_menu(status).rows):
        assert 0 < len(one.title) <= 140
        assert not {unicodedata.category(character) for character in one.title} & UNSEEN


@given(STATUSES)
def test_ids_are_unique_and_the_menu_depends_on_the_status_alone(status: Status) -> None:
    made = build_menu(status)
    ids = Counter(one.id for one in entries(made.rows))
    assert [name for name, times in ids.items() if times > 1] == []
    assert made == build_menu(status)


@given(STATUSES)
def test_no_two_lines_touch_and_the_menu_begins_and_ends_with_words(status: Status) -> None:
    rows = build_menu(status).rows
    kinds = [isinstance(one, Separator) for one in rows]
    assert not kinds[0]
    assert not kinds[-1]
    assert not any(one and other for one, other in itertools.pairwise(kinds))


@given(STATUSES)
def test_one_can_always_quit_pause_and_look_and_the_menu_stays_bounded(status: Status) -> None:
    made = build_menu(status)
    assert {"quit", "pause-15m", "timeline", "search", "forget-5m", "settings", "about"} <= set(
        made.commands()
    )
    assert sum(1 for _ in entries(made.rows)) < 70


@given(STATUSES)
def test_the_icon_is_attention_whenever_there_is_trouble(status: Status) -> None:
    wanted = "attention" if status.attention else "recording" if status.recording else "paused"
    assert build_menu(status).icon == wanted


@given(st.text(max_size=500), st.integers(4, 60))
def test_a_label_is_never_longer_than_asked_nor_empty(text: str, most: int) -> None:
    assert 0 < len(label(text, most, empty="-")) <= most


def test_sync_says_when_it_last_worked_and_what_is_wrong() -> None:
    def line(sync: SyncLine | None) -> MenuEntry | None:
        found = [entry for entry in entries(build_menu(Status(NOW, sync=sync)).rows) if entry.id == "sync"]
        return found[0] if found else None

    assert line(None) is None
    works = line(SyncLine(NOW - 5 * MINUTE))
    assert works is not None
    assert works.title == f"Synced {age(NOW - 5 * MINUTE, NOW)}"
    broken = line(SyncLine(NOW - HOUR, "The folder is not there."))
    assert broken is not None
    assert "The folder is not there" in broken.title
    assert broken.command == Command("why", "The folder is not there.", broken.hint)


def test_a_session_of_another_machine_says_so() -> None:
    far = SessionLine("c3", "Sort the photos", "fazm", "/u/P", "P", NOW, device="mini")
    menu = build_menu(Status(NOW, sessions=(far,)))
    assert any("on mini" in entry.title for entry in entries(menu.rows))
