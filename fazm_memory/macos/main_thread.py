"""Work on the main thread, the only one that may use AppKit. It never waits for other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from PyObjCTools import AppHelper

T = TypeVar("T")


def on_main(work: Callable[[], object]) -> None:
    """Run `work` on the main thread soon, without waiting."""
    AppHelper.callAfter(work)


def call_on_main(work: Callable[[], T]) -> T:
    """Run `work` on the main thread and wait for its result. Not from the main thread itself."""
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError("The main thread cannot wait for itself.")
    result: Future[T] = Future()

    def do() -> None:
        try:
            result.set_result(work())
        except Exception as error:
            result.set_exception(error)

    AppHelper.callAfter(do)
    return result.result()
