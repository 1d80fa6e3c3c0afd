"""Learn how files were named from examples, and apply it to new files.

`learn` turns renames into conventions and explains which files were skipped. `propose` says what a new file
would be called, or why that is not known. See README.md in this folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fazm_memory.engines.naming.learner import learn
    from fazm_memory.engines.naming.proposals import propose, propose_all
    from fazm_memory.engines.naming.values import (
        ALREADY_NAMED,
        NO_RULE,
        Convention,
        FolderProgress,
        ListedFile,
        NamingReport,
        Proposal,
        Rename,
        SkippedFiles,
    )

__all__ = [
    "ALREADY_NAMED",
    "NO_RULE",
    "Convention",
    "FolderProgress",
    "ListedFile",
    "NamingReport",
    "Proposal",
    "Rename",
    "SkippedFiles",
    "learn",
    "propose",
    "propose_all",
]

# Imported on first use: compiling the date patterns takes tens of milliseconds, and most programs that import
# this package never learn anything.
_LAZY = {"learn": "learner", "propose": "proposals", "propose_all": "proposals"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LAZY.get(name, 'values')}"), name)
    globals()[name] = value
    return value
