"""The permission to read windows: explained and asked for once, and from then on only shown.

The system's own question comes up once in the life of an app; after that the way is through its settings. How
it stands is looked at by the desktop source, so the menu changes by itself when the permission is given.
"""

from __future__ import annotations

from pathlib import Path

from AppKit import NSWorkspace
from ApplicationServices import AXIsProcessTrusted, AXIsProcessTrustedWithOptions, kAXTrustedCheckOptionPrompt
from Foundation import NSURL

from fazm_memory.macos.accessibility import SETTINGS
from fazm_memory.macos.asking import alert
from fazm_memory.private import write_private

FILE = "permission-asked"
TITLE = "May Fazm Memory see which windows you work in?"
TEXT = (
    "It then remembers which app, window and document was in front while your agents worked. It never reads"
    " what you type, password managers or private windows, and nothing leaves this Mac.\n\n"
    "macOS calls this permission Accessibility. Without it everything else is recorded as well."
)
ALLOW, LATER = "Continue", "Not Now"


def permitted() -> bool:
    return bool(AXIsProcessTrusted())


def to_be_asked(home: Path) -> bool:
    """Whether this is the first time, here, that the permission is missing."""
    return not permitted() and not (home / FILE).exists()


def explain(home: Path) -> bool:
    """Say what the permission is for; whether to go on. Noted first, so that it is said once."""
    write_private(home / FILE, b"asked once\n", sync=False)
    return alert(TITLE, TEXT, (ALLOW, LATER))


def prompt() -> None:
    """Have the system ask; it does so once, and shows the way to its settings."""
    AXIsProcessTrustedWithOptions({kAXTrustedCheckOptionPrompt: True})


def open_settings() -> None:
    NSWorkspace.sharedWorkspace().openURL_(NSURL.URLWithString_(SETTINGS))
