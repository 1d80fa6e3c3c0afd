"""Contents as sealed objects of their own, named by device, epoch and digest.

Versions of files and parts of transcripts travel this way. A batch names them; each is put once and deleted
when no batch names it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from fazm_memory.records import dataclass
from fazm_memory.sync.crypto import NotAuthentic, derive, seal, unseal
from fazm_memory.sync.state import Identity, SyncState

AT_ONCE = 8  # contents that are put at the same time


@dataclass(frozen=True)
class SealedContents:
    """One kind of contents: how they are called in the store, and how they are sealed."""

    state: SyncState
    identity: Identity
    kind: str
    folder: str

    def name(self, device: str, digest: str, epoch: str) -> str:
        vault = self.identity.vault
        object_ = vault.name(self.kind, device, epoch, digest)
        return f"{vault.id}/{self.folder}/{vault.name('device', device)}/{object_}"

    def put(
        self,
        rows: Iterable[tuple[str, str]],
        packed: Callable[[str], bytes | None],
        put: Callable[[str, bytes], str],
    ) -> Iterable[str]:
        """Put the contents with these digests and epochs. Yields digests once their content is there.

        One that is not stored any more is passed over: the next round withdraws it.
        """
        device, waiting = self.identity.device, iter(rows)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while some := list(islice(waiting, AT_ONCE)):
                found = [(digest, epoch, packed(digest)) for digest, epoch in some]
                sealed = [
                    (self.name(device, digest, epoch), self._seal(digest, epoch, data))
                    for digest, epoch, data in found
                    if data is not None
                ]
                list(pool.map(lambda one: put(*one), sealed))
                self.state.db.executemany(  # a content may come back before it is deleted
                    "DELETE FROM garbage WHERE name=?", [(name,) for name, _ in sealed]
                )
                yield from (digest for digest, *_ in found)

    def get(self, get: Callable[[str], bytes | None], device: str, digest: str, epoch: str) -> bytes | None:
        """The compressed content of another device; None if it is not in the store."""
        data = get(self.name(device, digest, epoch))
        return None if data is None else unseal(self._key(device, epoch), data, self._context(digest))

    def _seal(self, digest: str, epoch: str, data: bytes) -> bytes:
        return seal(self._key(self.identity.device, epoch), data, self._context(digest))

    def _key(self, device: str, epoch: str) -> bytes:
        secret = self.state.epochs().get(epoch)
        if secret is None:
            raise NotAuthentic("its key is not shared with this machine")
        return derive(bytes.fromhex(secret["secret"]), f"{self.kind}s of {device}")

    def _context(self, digest: str) -> str:
        return f"{self.kind} {self.identity.vault.id} {digest}"
