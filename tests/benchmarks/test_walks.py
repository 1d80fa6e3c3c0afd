"""Walks: which modules a command enters, counted from its calls."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType, ModuleType

from benchmarks import walks
from benchmarks.figures import Options


def module(name: str, code: str, **names: object) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(names)
    exec(code, made.__dict__)
    return made


def test_a_call_through_a_library_is_one_move_and_one_within_a_module_is_none() -> None:
    store = module("fazm_memory.store", "def read():\n    return inner()\ndef inner():\n    return 1")
    library = module("library", "def call(function):\n    return function()")
    recall = module(
        "fazm_memory.recall", "def ask():\n    return call(read)", call=library.call, read=store.read
    )
    tracer = walks.Tracer()

    def trace(frame: FrameType, event: str, argument: object) -> None:
        tracer(frame, event, argument)

    sys.setprofile(trace)
    try:
        recall.ask()
    finally:
        sys.setprofile(None)
    assert tracer.modules == {"fazm_memory.store", "fazm_memory.recall"}
    assert tracer.moves == 1


def test_every_command_is_traced_and_nothing_is_left_behind(tmp_path: Path) -> None:
    figures = list(walks.run(Options(folder=tmp_path), lambda what, done, total: None))
    assert [figure.what for figure in figures] == [
        "record, one line: modules entered",
        "record, one line: moves between them",
        "context: modules entered",
        "context: moves between them",
        "rewind --files --dry-run: modules entered",
        "rewind --files --dry-run: moves between them",
        "context: modules imported",
    ]
    assert all(figure.ours > 10 for figure in figures)
    assert list(tmp_path.iterdir()) == []
