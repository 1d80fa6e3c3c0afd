"""The menu bar as plain values, and what its commands do.

Independent of the operating system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.menubar.commands import TERMINALS, Worker, follow_link, perform
    from fazm_memory.menubar.menu import Command, Icon, Menu, MenuEntry, Separator, build_menu
    from fazm_memory.menubar.status import (
        FazmMonitor,
        FazmState,
        FrontApp,
        Notice,
        Problem,
        Status,
        SystemState,
        error_text,
        gather_status,
        headline,
        new_notices,
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "commands": "TERMINALS Worker follow_link perform",
        "menu": "Command Icon Menu MenuEntry Separator build_menu",
        "status": (
            "FazmMonitor FazmState FrontApp Notice Problem Status SystemState error_text gather_status "
            "headline new_notices"
        ),
    },
)
