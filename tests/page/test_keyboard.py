"""Every command with the keyboard alone, and the focus afterwards. Chromium only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage
from tests.page.screens import open_screen
from tests.page.server import Server, serve
from tests.page.story import NOTES, add, make_world

MAX_TABS = 150
NAME = """() => {
    const it = document.activeElement;
    return it.getAttribute("aria-label") || it.labels?.[0]?.textContent || it.textContent.trim();
}"""
WINDOWS: dict[str, dict[str, Any]] = {
    "480 px": {"viewport": {"width": 480, "height": 800}},
    "200 %": {"viewport": {"width": 640, "height": 430}, "device_scale_factor": 2},
    "low": {"viewport": {"width": 1280, "height": 420}},
}
FOCUS_SCREENS = (
    "#/s/{release}",
    "#/s/{site}@11",
    "#/context",
    "#/settings",
    "#/compare?a={site}@3&b={site}@18",
)
MAX_STOPS = 600
# Record each stop of the Tab key, and what covers its middle. Of something larger than the window the visible
# part counts; of a link with two lines, the first. The keys lead from one button of the test to another,
# before the first and after the last control: beyond those the browser moves the focus, at a time of its own.
WATCH_FOCUS = """() => {
    const name = (it) => it.getAttribute("aria-label") || it.textContent.trim().slice(0, 40) || it.tagName;
    const middle = (from, to, limit) => (Math.max(0, from) + Math.min(limit, to)) / 2;
    const [start, end] = ["start", "end"].map((id) => {
        const button = Object.assign(document.createElement("button"), { id });
        Object.assign(button.style, { position: "fixed", opacity: 0, pointerEvents: "none" });
        return button;
    });
    document.body.prepend(start);
    document.body.append(end);
    globalThis.begin = (button) => {
        Object.assign(globalThis, { reached: [], covered: [] });
        button.focus();
    };
    document.addEventListener("keyup", (event) => {
        const focused = document.activeElement;
        if (event.key !== "Tab" || [start, end, document.body].includes(focused)) return;
        globalThis.reached.push(name(focused));
        const box = focused.getClientRects()[0];
        const x = middle(box.left, box.right, innerWidth), y = middle(box.top, box.bottom, innerHeight);
        const hit = document.elementFromPoint(x, y);
        const own = hit && (focused.contains(hit) || hit.closest("label")?.control === focused);
        if (!own) globalThis.covered.push([name(focused), hit ? hit.className || hit.tagName : "nothing"]);
    });
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A story for this module. Each test changes its own sessions."""
    with serve(make_world(tmp_path_factory.mktemp("keyboard"))) as server:
        yield server


@pytest.fixture
def open_session(server: Server, open_page: OpenPage) -> Any:
    def opener(key: str, seq: int | None = None) -> Page:
        address = f"#/s/{server.world.ids[key]}" + ("" if seq is None else f"@{seq}")
        page = open_page(server, address)
        shown(page, seq)
        return page

    return opener


def shown(page: Page, seq: int | None = None) -> None:
    expect(page.get_by_role("listbox", name="Events").get_by_role("option").first).to_be_visible()
    if seq is not None:
        event = page.get_by_role("region", name="Event", exact=True)
        expect(event).to_contain_text(f"position {seq}")
        expect(page.get_by_text("Raw event")).to_be_visible()


def focused(page: Page) -> str:
    return str(page.evaluate(NAME))


def tab_to(page: Page, name: str) -> None:
    passed = []
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        passed.append(focused(page))
        if passed[-1] == name:
            return
    raise AssertionError(f"Tab does not lead to {name!r}, but to {sorted(set(passed))}")


def enter(page: Page, name: str) -> None:
    tab_to(page, name)
    page.keyboard.press("Enter")


def choose(page: Page, menu: str, command: str) -> None:
    enter(page, menu)
    for _ in range(20):
        if focused(page) == command:
            return page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"the menu {menu!r} has no {command!r}")


def dialog(page: Page, name: str | re.Pattern[str]) -> Locator:
    found = page.get_by_role("dialog", name=name)
    expect(found).to_be_visible()
    expect(found.locator("[aria-busy=true]")).to_have_count(0)
    return found


def toast(page: Page, text: str) -> None:
    expect(page.locator(".toast-text").filter(has_text=re.compile(re.escape(text))).last).to_be_visible()


def focus_returns_to(page: Page, name: str) -> None:
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_function(f"(name) => ({NAME})() === name", arg=name)


def test_a_session_is_paused_resumed_and_undone(server: Server, open_session: Any) -> None:
    session = server.world.ids["today"]
    page = open_session("today")
    enter(page, "Pause")
    toast(page, "Paused.")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_count(0)
    focus_returns_to(page, "Resume")  # the pressed button is gone
    page.keyboard.press("Enter")
    dialog(page, "Resume this session")
    enter(page, "Resume and copy briefing")
    toast(page, "Resumed.")
    focus_returns_to(page, "Resume")
    assert server.world.memory.sessions.get(session)["lifecycle"] == "resumed"
    page.keyboard.press("u")
    toast(page, "Undone")
    assert server.world.memory.sessions.get(session)["lifecycle"] == "paused"


def test_a_question_is_answered(server: Server, open_session: Any) -> None:
    page = open_session("release")
    enter(page, "Answer…")
    dialog(page, "Answer")
    page.keyboard.press("Escape")
    focus_returns_to(page, "Answer…")
    page.keyboard.press("Enter")
    dialog(page, "Answer")
    tab_to(page, "Push the tag")
    page.keyboard.press("Space")
    tab_to(page, "Name of the release")
    page.keyboard.type("2.4.1")
    enter(page, "Answer")
    toast(page, "Answered.")
    last = list(server.world.memory.history.events(server.world.ids["release"], kind="handoff.answer"))[-1]
    assert last["payload"]["answer"] == {"push": True, "name": "2.4.1"}
    expect(page.get_by_role("button", name="Answer…")).to_have_count(0)
    focus_returns_to(page, "Resume")


def test_a_question_is_handed_off_and_waived(server: Server, open_session: Any) -> None:
    page = open_session("fork")
    enter(page, "Hand off…")
    dialog(page, "Hand off")
    page.keyboard.type("Check the totals")  # the note has the focus
    enter(page, "Hand off")
    toast(page, "Handed off.")
    focus_returns_to(page, "Hand off…")
    expect(page.get_by_role("button", name="Waive", exact=True)).to_be_visible()
    enter(page, "Waive")
    dialog(page, "Waive this question?")
    enter(page, "Waive")
    toast(page, "Waived.")
    assert not server.world.memory.history.state(server.world.ids["fork"])["open_questions"]


def test_a_session_is_rewound_with_its_files(server: Server, open_session: Any) -> None:
    notes = server.world.folder / "notes.md"
    now = notes.read_text()
    page = open_session("folder")
    tab_to(page, "Events")
    page.keyboard.press("Home")
    shown(page, 1)
    choose(page, "Event commands", "Rewind to here…")
    dialog(page, "Rewind")
    tab_to(page, "Also restore the files")
    expect(page.get_by_label("Also restore the files")).to_be_checked()
    enter(page, "Rewind")
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    assert notes.read_text() == NOTES
    focus_returns_to(page, "Event commands")
    page.keyboard.press("u")
    toast(page, "Undone")
    assert notes.read_text() == now


def test_enter_in_the_title_makes_a_fork(open_session: Any) -> None:
    page = open_session("site")
    enter(page, "Fork…")
    dialog(page, re.compile("Fork from"))
    tab_to(page, "Title")
    page.keyboard.press("Control+A")
    page.keyboard.type("The other way")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The other way", level=1)).to_be_visible()


def test_replay_export_and_exclude_from_the_menu(open_session: Any) -> None:
    page = open_session("invoices")
    choose(page, "More", "Replay plan…")
    dialog(page, "Replay plan")
    page.keyboard.press("Escape")
    focus_returns_to(page, "More")
    page.keyboard.press("Shift+Tab")
    choose(page, "More", "Export…")
    dialog(page, "Export this session")
    enter(page, "Export")
    dialog(page, "Exported")
    enter(page, "Done")
    focus_returns_to(page, "More")
    page.keyboard.press("Shift+Tab")
    choose(page, "More", "Exclude this folder…")
    dialog(page, "Exclude from recording")
    enter(page, "Exclude")
    toast(page, "/Users/dana/Downloads is now excluded.")
    focus_returns_to(page, "More")


def test_an_app_is_excluded_in_the_settings(server: Server, open_page: OpenPage) -> None:
    page = open_page(server, "#/settings")
    button = "Exclude a folder or app…"
    expect(page.get_by_role("button", name=button)).to_be_visible()
    enter(page, button)
    dialog(page, "Exclude from recording")
    tab_to(page, "What")
    page.keyboard.type("An app")
    tab_to(page, "Name")
    page.keyboard.type("Diary")
    page.keyboard.press("Enter")
    toast(page, "Diary is now excluded.")
    expect(page.get_by_role("region", name="Never recorded").get_by_text("Diary", exact=True)).to_be_visible()
    focus_returns_to(page, button)  # although the card was redrawn


def test_an_event_is_pinned_and_forgotten(server: Server, open_session: Any) -> None:
    session = server.world.ids["invoices"]
    decision = next(server.world.memory.history.events(session, kind="decision"))["seq"]
    page = open_session("invoices", decision)
    choose(page, "Event commands", "Pin to context")
    toast(page, "Pinned")
    page.keyboard.press("Shift+Tab")
    choose(page, "Event commands", "Forget this event…")
    opened = dialog(page, f"Forget the event at position {decision}")
    expect(opened.get_by_text("will be forgotten")).to_be_visible()
    tab_to(page, "I understand that this cannot be undone")
    page.keyboard.press("Space")
    enter(page, "Forget")
    toast(page, "1 event forgotten.")
    focus_returns_to(page, "Event commands")
    assert (
        next(server.world.memory.history.events(session, start=decision, stop=decision + 1))["payload"]
        is None
    )


def test_a_time_range_is_forgotten(server: Server, open_session: Any) -> None:
    page = open_session("flights")
    choose(page, "More", "Forget a time range…")
    opened = dialog(page, "Forget a time range")
    expect(opened.get_by_text("will be forgotten")).to_be_visible()  # the visible range is filled in
    tab_to(page, "I understand that this cannot be undone")
    page.keyboard.press("Space")
    enter(page, "Forget")
    toast(page, "forgotten.")
    focus_returns_to(page, "More")
    found = server.world.memory.recall.search("fares")
    assert server.world.ids["flights"] not in [result["session"] for result in found]


def test_the_focus_returns_although_the_header_was_redrawn(server: Server, open_session: Any) -> None:
    page = open_session("release")
    enter(page, "Fork…")
    dialog(page, re.compile("Fork from"))
    add(server.world, "dana-release", "prompt", {"text": "One more thing."})
    expect(page.locator(".session-facts-line")).to_contain_text("2 turns")
    page.keyboard.press("Escape")
    focus_returns_to(page, "Fork…")


def walk(page: Page, key: str, start: str, end: str) -> tuple[list[str], list[list[str]]]:
    """Press the key from one end of the page to the other. Return all names, and what covers which."""
    page.evaluate("(id) => begin(document.getElementById(id))", start)
    for _ in range(MAX_STOPS):
        page.keyboard.press(key)
        if page.evaluate("() => document.activeElement.id") == end:
            reached, covered = page.evaluate("() => [reached, covered]")
            return reached, covered
    raise AssertionError(f"more than {MAX_STOPS} stops")


@pytest.mark.parametrize("window", WINDOWS)
def test_the_focused_control_is_not_covered(shared_server: Server, open_page: OpenPage, window: str) -> None:
    """Forwards and backwards, since each direction scrolls controls in at another edge."""
    page = open_page(shared_server, **WINDOWS[window])
    covered: dict[str, Any] = {}
    for screen in FOCUS_SCREENS:
        page.goto("about:blank")  # a document for each screen
        open_screen(page, shared_server, screen)
        page.evaluate(WATCH_FOCUS)
        forwards, covered_forwards = walk(page, "Tab", "start", "end")
        backwards, covered_backwards = walk(page, "Shift+Tab", "end", "start")
        assert len(forwards) > 5, screen
        assert forwards == backwards[::-1], screen
        if wrong := covered_forwards + covered_backwards:
            covered[screen] = wrong
    assert covered == {}
