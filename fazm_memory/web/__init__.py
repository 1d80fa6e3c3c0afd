"""The timeline page and its JSON API over `Memory` (docs/page-api.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.web.server import InProcessPage, PageServer

__getattr__ = lazy_exports(
    __name__,
    {
        "server": "InProcessPage PageServer",
    },
)
