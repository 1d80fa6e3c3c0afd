"""What every test may ask for: a store in a folder of its own, closed when the test is over."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fazm_memory.store.store import Store
from tests.scribe import Scribe

# How long an example takes says nothing on a busy machine. The same examples in every run, so that a change
# is judged by what it changed; `make campaign` draws new ones.
settings.register_profile(
    "house",
    max_examples=50,
    deadline=None,
    derandomize="CAMPAIGN" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("linux"):
        if sys.platform != "linux":
            pytest.skip(f"only on Linux: {mark.args[0]}")


OpenStore = Callable[..., Store]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def open_store(home: Path) -> Iterator[OpenStore]:
    """Opens the test's store, as often as asked; each opening is a connection of its own."""
    opened: list[Store] = []

    def opener(where: Path = home, **more: object) -> Store:
        store = Store(where, key="file", **more)  # type: ignore[arg-type]
        opened.append(store)
        return store

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()


@pytest.fixture
def scribe(store: Store) -> Scribe:
    return Scribe(store)
