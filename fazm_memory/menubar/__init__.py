"""The menu bar as plain values, and what its commands do. Independent of the operating system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.menubar.commands import follow_link, perform
    from fazm_memory.menubar.fazm_state import FazmMonitor, FazmState
    from fazm_memory.menubar.labels import error_text
    from fazm_memory.menubar.menu import Command, Icon, Menu, MenuEntry, Separator, build_menu
    from fazm_memory.menubar.notices import Notice, new_notices
    from fazm_memory.menubar.status import FrontApp, Problem, Status, SystemState, gather_status, headline
    from fazm_memory.menubar.terminals import TERMINALS
    from fazm_memory.menubar.worker import Worker

__getattr__ = lazy_exports(
    __name__,
    {
        "commands": "follow_link perform",
        "fazm_state": "FazmMonitor FazmState",
        "labels": "error_text",
        "menu": "Command Icon Menu MenuEntry Separator build_menu",
        "notices": "Notice new_notices",
        "status": "FrontApp Problem Status SystemState gather_status headline",
        "terminals": "TERMINALS",
        "worker": "Worker",
    },
)
