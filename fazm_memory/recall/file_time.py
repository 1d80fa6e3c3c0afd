"""When a file was last written, if it is still there: some conventions name files by that."""

from __future__ import annotations

import os

from fazm_memory.model.clock import iso


def file_time(path: str) -> str | None:
    """The moment a file was last written as ISO 8601, or None when nobody can say. Links are not followed."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):  # gone, out of reach, or no path at all: then its name must do
        return None
    return iso(found.st_mtime_ns // 1000)
