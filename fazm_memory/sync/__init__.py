"""One memory on several machines, end-to-end encrypted.

The machines share a folder or an object store.

Each device writes its own sessions as sealed, signed segments and one head. The others import them as copies
that are only read. See docs/sync.md for the layout and the threat model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.sync.devices import device_rows
    from fazm_memory.sync.pairing import (
        PairAnswer,
        answer_request,
        candidate,
        create_vault,
        join_vault,
        new_code,
        pair_fingerprint,
        post_offer,
        post_request,
        read_answer,
        read_offer,
        read_request,
        refuse_request,
        withdraw_request,
    )
    from fazm_memory.sync.state import (
        FORMER,
        OUTGOING,
        REMOTES,
        Identity,
        SyncState,
        find_folders,
        own_folders,
    )
    from fazm_memory.sync.transports import Transport, open_transport, place_of
    from fazm_memory.sync.vault import EXCLUDED, Vault

__getattr__ = lazy_exports(
    __name__,
    {
        "devices": "device_rows",
        "pairing": "PairAnswer answer_request candidate create_vault join_vault new_code pair_fingerprint"
        " post_offer post_request read_answer read_offer read_request refuse_request withdraw_request",
        "state": "FORMER OUTGOING REMOTES Identity SyncState find_folders own_folders",
        "transports": "Transport open_transport place_of",
        "vault": "EXCLUDED Vault",
    },
)
