"""packaging/, resources/ and setup_app.py, loaded as what they are: files, not a package."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
Load = Callable[[str], ModuleType]


@pytest.fixture(scope="session")
def load() -> Iterator[Load]:
    before = list(sys.path)
    sys.path.insert(0, str(ROOT / "packaging"))

    def loader(path: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(Path(path).stem.replace("-", "_"), ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield loader
    sys.path[:] = before
