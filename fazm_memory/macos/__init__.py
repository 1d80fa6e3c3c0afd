"""The only room with pyobjc. Its modules import it at their top and are themselves imported on macOS only.

What is here has been checked against pyobjc's own metadata and run against a scripted stand-in: statically
verified. Whether it works on a given Mac is for that Mac to say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from fazm_memory.capture.desktop import DesktopSource
from fazm_memory.capture.exclusions import Exclusions


def desktop_source(
    now: Callable[[], int],
    *,
    exclusions: Exclusions | None = None,
    trouble: Callable[[Exception], None],
    platform: str = sys.platform,
) -> DesktopSource | None:
    """What watches this system's desktop, to be started on the main thread; None where there is nothing."""
    if platform != "darwin":
        return None
    from fazm_memory.macos.accessibility import AccessibilitySource

    return AccessibilitySource(now, exclusions=exclusions or Exclusions(), trouble=trouble)
