"""Make a vault, and join one with its recovery key."""

from __future__ import annotations

import secrets
import socket
from typing import Any

from fazm_memory.errors import NotFound, SyncRefused
from fazm_memory.records import asdict
from fazm_memory.sync.crypto import KEY, NotAuthentic, VaultKeys, parse_recovery, recovery_text, vault_of
from fazm_memory.sync.heads import (
    ROOT,
    Certificate,
    Head,
    certify,
    learn_secrets,
    members_of,
    open_head,
    share_secret,
)
from fazm_memory.sync.state import Identity, SyncState
from fazm_memory.sync.transports import Transport


def create_vault(state: SyncState, *, place: dict[str, Any], name: str) -> str:
    """Make a vault with this device as its first.

    Returns the recovery key, which is stored nowhere.
    """
    recovery = secrets.token_bytes(KEY)
    keys, root = vault_of(recovery)
    identity = Identity.fresh(keys)
    epoch, secret = secrets.token_hex(8), secrets.token_bytes(KEY)
    certificate = certify(keys, identity.device, identity.keys, ROOT, root)
    sealed = share_secret(epoch, secret, {ROOT: keys.root_box})
    state.begin(
        identity, place=place, name=name, active=True, certificate=asdict(certificate), dirty=True,
        shared={epoch: {"rank": 1, "sealed": sealed}},
    )  # fmt: skip
    state.set(epochs={epoch: {"rank": 1, "secret": secret.hex()}})
    return recovery_text(recovery)


def join_vault(
    state: SyncState, transport: Transport, *, recovery: str, place: dict[str, Any], name: str | None
) -> None:
    """Join the vault of a recovery key.

    A device that left it takes up its identity again. One that was removed joins as a new device.
    """
    keys, root = vault_of(parse_recovery(recovery))
    heads = _read_all_heads(keys, transport)
    if not heads:
        raise NotFound(
            "There is no vault for this recovery key here.",
            hint="check the folder or URL; a folder that is synced may not have arrived yet",
        )
    members = members_of(keys, heads)
    known = state.identity()
    if known is not None and known.vault == keys and known.device not in members.removed:
        state.set(active=True, announced=False, place=place, name=name or state.get("name"), dirty=True)
        return
    certified = [head for head in heads if head.device in members.certified]
    epochs = learn_secrets(certified, ROOT, root.box_private)
    identity = Identity.fresh(keys)
    certificate = certify(keys, identity.device, identity.keys, ROOT, root)
    enter(state, identity, certificate, epochs, place=place, name=name or socket.gethostname()[:60])


def enter(
    state: SyncState, identity: Identity, certificate: Certificate, epochs: dict[str, Any], *,
    place: dict[str, Any], name: str,
) -> None:  # fmt: skip
    """Begin as a certified device of a vault that exists."""
    if not epochs:
        raise SyncRefused(
            "The vault shares no key with this recovery key.",
            hint="a folder that is synced may not have arrived yet; else the vault was altered",
        )
    state.begin(
        identity, place=place, name=name, active=True, certificate=asdict(certificate), dirty=True, shared={}
    )
    state.set(epochs=epochs)


def _read_all_heads(keys: VaultKeys, transport: Transport) -> list[Head]:
    """Every authentic head of a vault. Others are left out."""
    found = []
    for name in transport.list(f"{keys.id}/h"):
        data = transport.get(f"{keys.id}/h/{name}")
        try:
            if data is not None:
                found.append(open_head(keys, data))
        except NotAuthentic:
            continue
    return found
