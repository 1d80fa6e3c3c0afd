"""The main thread: the only one that may touch the screen, and one that never waits for anything of ours.

Other threads hand work over (`on_main`) or ask and wait (`ask_main`). What goes wrong in a callback is told
and never reaches the run loop, which it would end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from PyObjCTools import AppHelper

T = TypeVar("T")


def on_main(work: Callable[[], object]) -> None:
    """Have it done on the main thread, soon; whoever asks does not wait."""
    AppHelper.callAfter(work)


def ask_main(work: Callable[[], T]) -> T:
    """Have it done on the main thread and wait for what comes of it. Never from the main thread itself."""
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError("the main thread does not wait for itself")
    made: Future[T] = Future()

    def do() -> None:
        try:
            made.set_result(work())
        except Exception as error:
            made.set_exception(error)

    AppHelper.callAfter(do)
    return made.result()
