"""A session as one portable file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.bundle import exporter, importer
    from fazm_memory.bundle.exporter import BundleSession, BundleVersion

__getattr__ = lazy_exports(
    __name__,
    {
        "exporter": "BundleSession BundleVersion",
        "importer": "",
    },
)
