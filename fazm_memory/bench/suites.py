"""The suites by name. A suite is a module with `run(options, tell)`, which yields figures as it gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fazm_memory.bench.figures import Figure

Tell = Callable[[str, int, int], None]  # what is being done, how much of it, out of how much


@dataclass(frozen=True)
class Options:
    sizes: tuple[int, ...] = (10_000, 100_000)
    quick: bool = False
    peers: bool = False
    folder: Path | None = None  # where the stores are made; the system's temporary folder otherwise


# name: (module, one line of help)
SUITES: dict[str, tuple[str, str]] = {
    "log": ("fazm_memory.bench.log_suite", "appending, reading, searching and verifying the log"),
    "time": ("fazm_memory.bench.time_suite", "states, differences and forks of one session of any length"),
    "start": (
        "fazm_memory.bench.start_suite",
        "starting the program and its MCP server; scrubbing a kilobyte",
    ),
    "hook": ("fazm_memory.bench.hooking", "the hooks that an agent waits for"),
    "import": ("fazm_memory.bench.importing", "importing a gigabyte of an agent's records"),
    "context": ("fazm_memory.bench.context_suite", "rendering a context and starting a session with it"),
    "recall": ("fazm_memory.bench.recall_suite", "whether the context and search hold the answers"),
    "page": ("fazm_memory.bench.page_suite", "the page in Chromium, over a large store and a small one"),
    "watch": ("fazm_memory.bench.watching", "a storm of files made and renamed, beside bare watchdog"),
}
DEFAULT = ("log", "start")


def suite(name: str) -> Callable[[Options, Tell], Iterator[Figure]]:
    """The function that runs a suite; its module is loaded now."""
    run: Callable[[Options, Tell], Iterator[Figure]] = import_module(SUITES[name][0]).run
    return run
