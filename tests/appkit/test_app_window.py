"""The window: a page answered in process, that can go nowhere else and posts through the bridge."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.appkit.standin.mac import Mac
from tests.appkit.standin.web import PageError


class Page:
    """What answers; it remembers what it was asked, and on which thread."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Mapping[str, str], bytes]] = []
        self.threads: set[str] = set()
        self.hold: threading.Event | None = None

    def __call__(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        self.asked.append((method, path, headers, body))
        self.threads.add(threading.current_thread().name.split("_")[0])
        if self.hold is not None:
            assert self.hold.wait(20)
        if path == "/broken":
            raise RuntimeError("the page broke")
        return 200, {"content-type": "text/plain"}, f"{method} {path}".encode()


@pytest.fixture
def page() -> Page:
    return Page()


@pytest.fixture
def window(mac: Mac, page: Page) -> Iterator[Any]:
    from fazm_memory.macos.window import TimelineWindow

    made = TimelineWindow(page)
    yield made
    made.stop()


def test_it_is_made_once_and_kept_when_closed(mac: Mac, window: Any) -> None:
    window.show("#/")
    (native,) = mac.windows
    assert native._p["releasedWhenClosed"] is False
    native.performClose_(None)
    assert not window.is_visible()
    window.show("#/settings")
    assert len(mac.windows) == 1
    assert window.is_visible()
    assert mac.web_views[0]._p["scripts"] == ['location.hash = "#/settings"']


def test_a_route_chosen_while_the_page_loads_is_loaded_and_not_lost(mac: Mac, window: Any) -> None:
    window.show("#/setup")
    view = mac.web_views[0]
    view._p["loading"] = True
    window.show("#/settings")
    assert (view._p["URL"]._p["text"], view._p["scripts"]) == ("fazm://app/#/settings", [])


def test_a_page_whose_process_the_system_ended_is_loaded_again(mac: Mac, window: Any, page: Page) -> None:
    window.show("#/s/abc")
    view, before = mac.web_views[0], len(page.asked)
    view.navigationDelegate().webViewWebContentProcessDidTerminate_(view)
    assert view._p["URL"]._p["text"] == "fazm://app/#/s/abc"
    assert len(page.asked) == before + 1


def test_a_route_cannot_become_a_script(mac: Mac, window: Any) -> None:
    window.show("#/")
    window.show('#/s/";alert(1)//</script>')
    (script,) = mac.web_views[0]._p["scripts"]
    name, _, value = script.partition(" = ")
    assert (name, json.loads(value)) == ("location.hash", '#/s/";alert(1)//</script>')


def test_with_a_window_there_is_a_menu_to_copy_and_quit_with(mac: Mac, window: Any) -> None:
    window.show("#/")
    bar = mac.singleton("NSApplication")._p["mainMenu"]
    titles = [mac.titles(one._p["submenu"]) for one in bar._p["itemArray"]]
    assert titles == [
        ["About Fazm Memory", "Quit Fazm Memory"],
        ["Undo", "Cut", "Copy", "Paste", "Select All"],
        ["Close Window", "Minimize", "Zoom", "Bring All to Front"],
    ]
    assert mac.singleton("NSApplication")._p["windowsMenu"] is bar._p["itemArray"][2]._p["submenu"]


def test_the_page_is_answered_off_the_main_thread_with_its_own_origin(
    mac: Mac, window: Any, page: Page
) -> None:
    window.show("#/")
    answer = mac.fetch(mac.web_views[0], "fazm://app/api/v1/sessions?limit=5&q=a%20b")
    assert (answer.status, answer.body) == (200, b"GET /api/v1/sessions?limit=5&q=a%20b")
    assert page.threads == {"page"}
    assert page.asked[-1][2] == {"origin": "fazm://app"}


def test_a_page_that_breaks_is_an_answer_and_the_next_one_works(mac: Mac, window: Any) -> None:
    window.show("#/")
    view = mac.web_views[0]
    broken = mac.fetch(view, "fazm://app/broken")
    assert (broken.status, broken.body) == (500, b"RuntimeError: the page broke")
    assert mac.fetch(view, "fazm://app/").status == 200


def test_a_task_that_was_stopped_is_not_answered(mac: Mac, window: Any, page: Page) -> None:
    window.show("#/")
    view = mac.web_views[0]
    page.hold = threading.Event()
    task = mac.start_task(view, "fazm://app/slow")
    mac.stop_task(view, task)
    page.hold.set()
    assert mac.fetch(view, "fazm://app/after").status == 200
    assert not task.answer.done


@pytest.mark.parametrize(
    "where", ["fazm://elsewhere/", "fazm://app.evil.example/", "fazm:///", "fazm://127.0.0.1/"]
)
def test_another_host_is_refused(mac: Mac, window: Any, page: Page, where: str) -> None:
    window.show("#/")
    before = len(page.asked)
    assert mac.fetch(mac.web_views[0], where).error is not None
    assert len(page.asked) == before


def test_a_post_by_the_scheme_is_refused_since_its_body_may_be_lost(mac: Mac, window: Any) -> None:
    window.show("#/")
    assert mac.fetch(mac.web_views[0], "fazm://app/api/v1/forget", method="POST").error is not None


@pytest.mark.parametrize(
    "where",
    ["https://example.com/", "http://127.0.0.1:8080/", "file:///etc/passwd", "javascript:alert(1)",
     "fazm://evil/", "data:text/html,x", "fazm-memory://resume/abcd1234"],
)  # fmt: skip
def test_the_page_cannot_leave(mac: Mac, window: Any, where: str) -> None:
    window.show("#/")
    assert mac.navigate(mac.web_views[0], where) is None


@pytest.mark.parametrize(
    ("where", "opened"),
    [("https://example.com/a", True), ("http://example.com/", True), ("file:///etc/passwd", False),
     ("fazm-memory://resume/abcd1234", False), ("javascript:alert(1)", False), ("fazm://evil/", False)],
)  # fmt: skip
def test_a_link_to_the_web_opens_in_the_browser_only_when_it_is_clicked(
    mac: Mac, window: Any, where: str, opened: bool
) -> None:
    window.show("#/")
    assert mac.navigate(mac.web_views[0], where) is None
    assert mac.opened == []
    assert mac.navigate(mac.web_views[0], where, clicked=True) is None
    assert mac.opened == ([where] if opened else [])


@pytest.mark.parametrize("system", [(13, 0), (15, 0)])
def test_the_window_opens_in_front_of_other_apps(page: Page, system: tuple[int, int]) -> None:
    with Mac(system).installed() as mac:
        from fazm_memory.macos.window import TimelineWindow

        window = TimelineWindow(page)
        window.show("#/")
        assert mac.singleton("NSApplication")._p["active"] is True
        # From macOS 14 on, being active is a request that the app in front may refuse.
        assert mac.windows[0]._p["beforeOtherApps"] is True
        window.stop()


def test_what_the_page_posts_is_answered_with_its_status(mac: Mac, window: Any, page: Page) -> None:
    window.show("#/")
    results = mac.message(mac.web_views[0], "fazm", {"path": "/api/v1/recording", "body": '{"pause": 900}'})
    assert results == [200, "POST /api/v1/recording"]
    method, path, headers, body = page.asked[-1]
    assert (method, path, body) == ("POST", "/api/v1/recording", b'{"pause": 900}')
    assert headers == {"origin": "fazm://app", "content-type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [None, "text", 5, {}, {"path": 5, "body": ""}, {"path": "api", "body": ""}, {"path": "/x"},
     {"path": "/x", "body": "a" * (3 << 20)}],
)  # fmt: skip
def test_a_message_of_another_form_is_refused(mac: Mac, window: Any, page: Page, body: Any) -> None:
    window.show("#/")
    before = len(page.asked)
    with pytest.raises(PageError):
        mac.message(mac.web_views[0], "fazm", body)
    assert len(page.asked) == before


def test_searching_opens_the_window_with_the_cursor_in_the_field(mac: Mac, window: Any) -> None:
    window.show("#/?search")
    view = mac.web_views[0]
    assert view._p["URL"]._p["text"] == "fazm://app/"
    for _ in range(2):  # the page is there, and is there again after a reload
        view.navigationDelegate().webView_didFinishNavigation_(view, None)
    assert view._p["scripts"] == ["document.querySelector('fm-search input')?.focus()"]
    window.show("#/?search")
    assert len(view._p["scripts"]) == 2
