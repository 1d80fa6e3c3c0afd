"""The Mac app.

The only package with pyobjc: its modules import it at their top, on macOS only.

The code is checked against pyobjc's metadata and runs against a scripted stand-in in the tests. The doctor
checks it on a real Mac.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports
from fazm_memory.watch import DesktopSource, Exclusions

if TYPE_CHECKING:
    from fazm_memory.macos.app import MenuBarApp
    from fazm_memory.macos.setup import MAC_CHECKS, MacSetup
    from fazm_memory.macos.system import show_failed_start

__getattr__ = lazy_exports(
    __name__,
    {
        "app": "MenuBarApp",
        "setup": "MAC_CHECKS MacSetup",
        "system": "show_failed_start",
    },
)


def desktop_source(
    now: Callable[[], int],
    *,
    exclusions: Exclusions | None = None,
    trouble: Callable[[Exception], None],
    platform: str = sys.platform,
) -> DesktopSource | None:
    """The desktop source of this system, to be started on the main thread.

    None if there is none.
    """
    if platform != "darwin":
        return None
    from fazm_memory.macos.accessibility import AccessibilitySource  # loads frameworks of the Mac

    return AccessibilitySource(now, exclusions=exclusions or Exclusions(), trouble=trouble)
