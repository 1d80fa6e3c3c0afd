"""Servers and browser windows for the tests of the page.

Stories run in both browsers: `page` is a window over `server`, a story of the module and browser that tests
may change as long as each uses its own sessions or settings. Tests for Chromium only use `open_page`, and
`shared_server` if they only read. Ports, homes and displays are never shared, so modules can run in parallel.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser, Page

from tests.page.chromium import PageErrors, chromium, chromium_window, enter, new_context
from tests.page.server import Server, serve
from tests.page.story import World, make_world
from tests.page.webkit import EngineCrashed, webkit_window
from tests.page.window import Window

OpenPage = Callable[..., Page]
OpenWindow = Callable[[str], AbstractContextManager[Window]]
MAX_CRASHES = 2  # of WebKitGTK in one run after which a test is repeated


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser or node."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Repeat a test in which WebKitGTK itself crashed. A page that crashes it again and again fails."""
    if not isinstance(item, pytest.Function) or "webkit" not in item.name:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    before = EngineCrashed.count
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if before < EngineCrashed.count <= MAX_CRASHES and any(report.failed for report in reports):
        print(f"\nWebKitGTK crashed in {item.nodeid}: repeating it")
        item.session._setupstate.teardown_exact(None)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="package", autouse=True)
def utc() -> Iterator[None]:
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


@pytest.fixture(scope="module", params=["chromium", "webkit"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def open_window(engine: str, request: pytest.FixtureRequest) -> OpenWindow:
    """Opens another window of the same browser."""
    if engine == "webkit":
        return webkit_window
    browser: Browser = request.getfixturevalue("browser")
    return lambda address: chromium_window(browser, address)


@pytest.fixture(scope="module")
def add_to_story() -> Callable[[World], None]:
    """What a module adds to its story before it is served. Override it."""
    return lambda _world: None


@pytest.fixture(scope="module")
def server(
    engine: str, add_to_story: Callable[[World], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    world = make_world(tmp_path_factory.mktemp(engine))
    add_to_story(world)
    with serve(world) as server:
        yield server


@pytest.fixture(scope="module")
def window(server: Server, open_window: OpenWindow) -> Iterator[Window]:
    with open_window(server.door()) as window:
        yield window


@pytest.fixture
def page(window: Window) -> Iterator[Window]:
    """The window of the module. Nothing may have gone wrong in it afterwards."""
    yield window
    assert window.errors() == []


@pytest.fixture(scope="package")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A story that no test changes."""
    with serve(make_world(tmp_path_factory.mktemp("shared"))) as server:
        yield server


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens the page at an address in Chromium. Nothing may have gone wrong in it afterwards."""
    opened: list[tuple[Any, PageErrors]] = []

    def opener(server: Server, address: str = "", *, failed_requests: bool = False, **options: Any) -> Page:
        context = new_context(browser, **options)
        errors = PageErrors(server.origin, failed_requests)
        page = context.new_page()
        errors.watch(page)
        enter(page, server, address)
        opened.append((context, errors))
        return page

    yield opener
    for context, errors in opened:
        context.close()
        assert errors.found == []
