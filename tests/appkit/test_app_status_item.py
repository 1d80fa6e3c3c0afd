"""The status item over the real rumps: a menu value in, the same menu on the screen, nothing left behind."""

from __future__ import annotations

import gc
import itertools
import threading
from dataclasses import replace
from typing import Any

import pytest

from fazm_memory.menubar.menu import Command, Menu, MenuEntry, Separator, build_menu
from fazm_memory.menubar.status import FrontApp, Problem, Question, SessionLine, Status
from tests.appkit.standin.app import items
from tests.appkit.standin.mac import Mac

NOW = 1_790_000_000_000_000


class Bar:
    """A status item that is up, and what was clicked and went wrong in it."""

    def __init__(self, mac: Mac, made: Menu | None = None) -> None:
        from fazm_memory.macos.status_item import StatusItem

        self.mac = mac
        self.clicks: list[Command] = []
        self.troubles: list[Exception] = []
        self.fresh: Menu | None = None
        self.item = StatusItem(self.clicks.append, lambda: self.fresh, self.troubles.append)
        self.item.run(lambda: self.item.show(made or build_menu(status())))


def status(sessions: int = 3, **more: Any) -> Status:
    lines = [
        SessionLine(f"id{n}", "The same title", "fazm", "/w", "w", NOW - n * 60_000_000)
        for n in range(sessions)
    ]
    return Status(NOW, sessions=tuple(lines), **more)


def shape(native: Any) -> list[Any]:
    """What stands in a menu of the Mac, with its submenus."""
    found: list[Any] = []
    for one in items(native):
        below = one._p.get("submenu")
        found.append("—" if one._p.get("separatorItem") else one._p["title"])
        if below is not None and items(below):
            found.append(shape(below))
    return found


def wanted(rows: tuple[MenuEntry | Separator, ...]) -> list[Any]:
    found: list[Any] = []
    for one in rows:
        found.append("—" if isinstance(one, Separator) else one.title)
        if isinstance(one, MenuEntry) and one.entries:
            found.append(wanted(one.entries))
    return found


STATUSES = [
    status(0),
    status(1),
    status(6),
    status(3, recording=False),
    status(3, recording=False, paused_until=NOW + 10**9),
    status(2, questions=(Question("a", "q", "Which?"),)),
    status(2, attention=(Problem("broken"), Problem("no permission", permission=True))),
    status(3, front=FrontApp("Safari"), login=True),
    status(3, front=FrontApp("Mail"), login=False, yesterday="much"),
]


@pytest.mark.parametrize("before", range(len(STATUSES)))
def test_from_any_menu_to_any_other_the_screen_shows_the_value(mac: Mac, before: int) -> None:
    bar = Bar(mac)
    for after in STATUSES:
        bar.item.show(build_menu(STATUSES[before]))
        bar.item.show(build_menu(after))
        assert shape(mac.menu()) == wanted(build_menu(after).rows)
    assert bar.troubles == []


def test_sessions_with_one_title_are_each_their_own(mac: Mac) -> None:
    bar = Bar(mac, build_menu(status(3)))
    latest = items(mac.item("Latest Sessions")._p["submenu"])
    assert len(latest) == 3
    for one in latest:
        resume = items(one._p["submenu"])[0]
        resume._p["target"].callback_(resume)
    assert bar.clicks == [Command("resume", f"id{n}") for n in range(3)]


@pytest.mark.parametrize("bundle", ["org.example.app", None])
@pytest.mark.parametrize(
    ("made", "image", "symbol", "hint"),
    [
        (status(), "recordingTemplate", "record.circle", "recording"),
        (status(recording=False), "pausedTemplate", "pause.circle", "paused until you resume"),
        (
            status(attention=(Problem("x"),)),
            "attentionTemplate",
            "exclamationmark.circle",
            "attention: x",
        ),
    ],
)
def test_each_state_has_a_template_image_and_words_for_it(
    made: Status, image: str, symbol: str, hint: str, bundle: str | None
) -> None:
    with Mac(bundle_identifier=bundle).installed() as mac:
        Bar(mac, build_menu(made))
        button = mac.status_items[0].button()
        shown = button.image()
        assert (shown._p["name"], shown._p["template"]) == (symbol if bundle is None else image, True)
        assert button.toolTip() == f"Fazm Memory: {hint}"
        assert "-[NSStatusBarButton setAccessibilityLabel:]" in mac.sent
        assert button.title() == ""


def test_an_open_menu_is_not_touched_and_changes_when_it_has_closed(mac: Mac) -> None:
    bar = Bar(mac)
    before = mac.titles()
    with mac.menu_open():
        bar.item.show(build_menu(status(0, recording=False)))
        bar.item.show(build_menu(status(0, attention=(Problem("news"),))))
        assert mac.titles() == before
    mac.settle()
    assert mac.titles()[0] == "Attention: news"
    assert bar.troubles == []


def test_when_it_opens_it_tells_the_ages_of_that_moment(mac: Mac) -> None:
    bar = Bar(mac, build_menu(status(1, last_event=NOW)))
    bar.fresh = build_menu(replace(status(1, last_event=NOW), now=NOW + 300_000_000))
    with mac.menu_open():
        assert mac.titles()[1] == "Last event 5 min ago"


def test_a_click_survives_what_it_calls_and_the_trouble_is_reported(mac: Mac) -> None:
    bar = Bar(mac)

    def broken(*_: Any) -> Any:
        raise RuntimeError("no")

    bar.item.clicked = broken
    bar.item.fresh = broken
    mac.choose("Timeline…")
    assert [str(one) for one in bar.troubles] == ["no", "no"]
    bar.item.clicked = bar.clicks.append
    mac.choose("Timeline…")
    assert bar.clicks == [Command("timeline")]


def test_off_the_main_thread_it_may_not_be_changed(mac: Mac) -> None:
    bar = Bar(mac)
    raised: list[str] = []

    def show() -> None:
        try:
            bar.item.show(build_menu(status(0)))
        except Exception as error:
            raised.append(type(error).__name__)

    thread = threading.Thread(target=show)
    thread.start()
    thread.join()
    assert raised == ["OffMainThread"]


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.campaign)])
def test_however_often_the_menu_changes_nothing_is_left_behind(mac: Mac, count: int) -> None:
    import rumps

    bar = Bar(mac)
    menus = [build_menu(one) for one in STATUSES]
    remembered = rumps.rumps.NSApp._ns_to_py_and_callback

    def rounds(times: int) -> tuple[int, int]:
        for made in itertools.islice(itertools.cycle(menus), times):
            bar.item.show(made)
        bar.item.show(menus[0])
        gc.collect()
        return len(remembered), sum(type(one).__name__ == "NSMenuItem" for one in gc.get_objects())

    first = rounds(2 * len(menus))
    assert rounds(count) == first
    assert first[0] == sum(1 for _ in menus[0].commands()) + _silent(menus[0].rows)


def _silent(rows: tuple[MenuEntry | Separator, ...]) -> int:
    """Entries without a command: rumps remembers those too, as long as they are there."""
    entries = [one for one in rows if isinstance(one, MenuEntry)]
    return sum((one.command is None) + _silent(one.entries) for one in entries)
