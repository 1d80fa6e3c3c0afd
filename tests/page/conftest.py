"""Worlds, served; browsers, watched. What reads shares one world; what changes it gets its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser, Page

from tests.page.browsing import Watch, chromium, new_context
from tests.page.serving import Served, serving
from tests.page.story import NOW, make_world
from tests.page.webkit import EngineCrashed, Window, window

OpenPage = Callable[..., Page]
CRASHES = (
    2  # of WebKitGTK in one run, after which a test begins anew: its own memory fails it once in a while
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser or node."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test in which the engine itself crashed begins anew, with a window and a story of its own. That is
    said; and a page that makes it crash again and again fails."""
    if not item.path.name.startswith("test_webkit") or not isinstance(item, pytest.Function):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    before = EngineCrashed.count
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if before < EngineCrashed.count <= CRASHES and any(report.failed for report in reports):
        print(f"\nWebKitGTK crashed in {item.nodeid}: it begins anew")
        item.session._setupstate.teardown_exact(None)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="package", autouse=True)
def in_greenwich() -> Iterator[None]:
    """The story's times are the same everywhere."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served story for tests that only look."""
    with serving(make_world(tmp_path_factory.mktemp("shown"))) as served:
        yield served


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """A served story of the test's own, to change."""
    with serving(make_world(tmp_path / "own")) as served:
        yield served


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens the page at an address; afterwards nothing may have gone wrong in it."""
    opened: list[tuple[Any, Watch]] = []

    def opener(served: Served, address: str = "", *, refusals: bool = False, **options: Any) -> Page:
        context = new_context(browser, NOW // 1000, **options)
        watch = Watch(served.origin, refusals)
        page = context.new_page()
        watch.over(page)
        page.goto(served.door())
        page.goto("about:blank")  # a document of its own: nothing of the first is left on it
        page.goto(f"{served.origin}/{address}")
        opened.append((context, watch))
        return page

    yield opener
    for context, watch in opened:
        context.close()
        watch.check()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served story that a module of WebKit's tests may change: each has sessions or settings of its own."""
    with serving(make_world(tmp_path_factory.mktemp("webkit"))) as served:
        yield served


@pytest.fixture(scope="module")
def opened(told: Served) -> Iterator[Window]:
    """One window of WebKit for a module: each test goes to its own address."""
    with window(told.door()) as page:
        yield page


@pytest.fixture
def page(opened: Window) -> Iterator[Window]:
    """The window; nothing has gone wrong in it afterwards."""
    yield opened
    assert opened.errors() == []
