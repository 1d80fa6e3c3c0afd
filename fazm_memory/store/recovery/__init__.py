"""Reading damaged databases, and rebuilding a store from what can still be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.store.recovery import recover
    from fazm_memory.store.recovery.journal import QUARANTINE, RecoveryFolder, check_finished
    from fazm_memory.store.recovery.recover import (
        SideDatabaseCheck,
        check_side_databases,
        recover_side_databases,
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "journal": "QUARANTINE RecoveryFolder check_finished",
        "recover": "SideDatabaseCheck check_side_databases recover_side_databases",
    },
)
