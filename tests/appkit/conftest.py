"""A Mac of the test's own, in the place of pyobjc while the test runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.appkit.standin.mac import Mac


@pytest.fixture
def mac() -> Iterator[Mac]:
    with Mac().installed() as made:
        yield made
