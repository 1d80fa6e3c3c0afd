"""Whether we run as an app: some of what the system offers ends a process that is not one."""

from __future__ import annotations

from Foundation import NSBundle

# A plain interpreter runs inside Python.app, which has an identifier too.
PYTHON = "org.python."


def bundle_identifier() -> str | None:
    """The identifier of our own bundle, or None when an interpreter runs us."""
    identifier = NSBundle.mainBundle().bundleIdentifier()
    if identifier is None or str(identifier).startswith(PYTHON):
        return None
    return str(identifier)


def bundle_path() -> str:
    return str(NSBundle.mainBundle().bundlePath())
