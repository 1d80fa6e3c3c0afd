"""The agents' own transcripts of sessions.

They are shared as content-addressed sealed objects.

Sharing is off until it is switched on, because transcripts are exact. A device then puts the parts of its
copies, newest transcripts first and within a size. A batch names a transcript and its parts. Another machine
keeps it beside its copy of the session, so that `restore` works there. A transcript that grows is named
again by a later batch, and parts that it no longer has are deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import unsafe_path_reason
from fazm_memory.records import dataclass
from fazm_memory.store import Store, TranscriptCopies, TranscriptCopy, decompress, foreign_name
from fazm_memory.sync.crypto import NotAuthentic
from fazm_memory.sync.files import SealedContents
from fazm_memory.sync.heads import newest
from fazm_memory.sync.state import Identity, SyncState

LIMIT = 256_000_000  # compressed bytes that a device shares, unless another limit was chosen
ROWS = 100  # transcripts that one batch names
QUIET = 60 * 1_000_000  # microseconds without a change after which a transcript is shared by itself
TRIES = 5  # rounds in which a part that is missing from the store is asked for
PART = 1 << 20  # a part is not larger
DIGEST = lazy_regex(r"[0-9a-f]{64}")
WORD = lazy_regex(r"[a-z][a-z0-9._-]{0,40}")


@dataclass
class TranscriptSharing:
    """The shared transcripts of one device: its own, and those of the others."""

    store: Store
    state: SyncState
    identity: Identity
    open_copies: Callable[[], TranscriptCopies]  # creates the database
    existing: Callable[[], TranscriptCopies | None]
    # The path of a transcript when its workspace has another name. Takes root, path, name before and after.
    move: Callable[[str, str, str | None, str | None], str]
    now: Callable[[], int]
    at_once: bool = True  # share also what changed just now

    @property
    def on(self) -> bool:
        return bool(self.state.get("transcripts", False))

    @property
    def limit(self) -> int:
        return int(self.state.get("transcripts_limit", LIMIT))

    @cached_property
    def _contents(self) -> SealedContents:
        return SealedContents(self.state, self.identity, "transcript", "t")

    # -- own transcripts ---------------------------------------------------------------------------------

    def next_rows(self, own: Callable[[str], bool]) -> list[dict[str, Any]]:
        """Transcripts of own sessions to name in the next batch, newest first."""
        copies = self.existing() if self.on else None
        if copies is None:
            return []
        stamp = f"{self.limit} {copies.stamp()}"
        if stamp == self.state.get("transcripts_done"):
            return []
        named = dict(self.state.db.execute("SELECT copy, mark FROM shared_transcript").fetchall())
        room, late = self.limit - self._shared_bytes(), False
        chosen: list[dict[str, Any]] = []
        for copy in sorted(copies.all(), key=lambda copy: -copy.source_mtime):
            if copy.foreign or copy.replaced or named.get(copy.id) == _mark(copy):
                continue
            session = self._session(copy)
            if session is None or not own(session):
                continue
            if not self.at_once and self.now() - copy.at < QUIET:
                late = True
                continue
            row = self._row(copies, copy, session)
            size = sum(size for _, _, digest, size in row["parts"] if self._epoch(digest) is None)
            if size > room:
                continue
            room -= size
            chosen.append(row)
            if len(chosen) >= ROWS:
                return chosen
        if not chosen and not late:
            self.state.set(transcripts_done=stamp)
        return chosen

    def _session(self, copy: TranscriptCopy) -> str | None:
        row = self.store.db.execute(
            "SELECT id FROM session WHERE agent_session_id=? AND device IS NULL AND forgotten=0"
            " ORDER BY agent=? DESC LIMIT 1",
            (copy.session, copy.agent),
        ).fetchone()
        return None if row is None else str(row[0])

    def _row(self, copies: TranscriptCopies, copy: TranscriptCopy, session: str) -> dict[str, Any]:
        parts = [
            [start, size, digest, len(copies.packed(digest) or b"")]
            for start, size, digest in copies.parts(copy)
        ]
        row = self.store.sessions.resolve(session)
        return {
            "id": copy.id, "of": self.state.origins().get(session, session), "agent": copy.agent,
            "root": copy.root, "path": copy.path, "form": copy.form, "mode": copy.mode,
            "mtime": copy.source_mtime, "left_out": copy.left_out, "workspace": row.workspace,
            "parts": parts, "mark": _mark(copy),
        }  # fmt: skip

    def _shared_bytes(self) -> int:
        row = self.state.db.execute("SELECT coalesce(sum(size), 0) FROM shared_chunk").fetchone()
        return int(row[0])

    def _epoch(self, digest: str) -> str | None:
        row = self.state.db.execute("SELECT epoch FROM shared_chunk WHERE digest=?", (digest,)).fetchone()
        return None if row is None else str(row[0])

    def add(self, batch: int, rows: Iterable[dict[str, Any]]) -> None:
        """Note that a batch names these transcripts.

        In the transaction that makes the batch.
        """
        epoch, changed = newest(self.state.epochs()), False
        for row in rows:
            changed = True
            self.state.db.execute(
                "INSERT INTO shared_transcript VALUES (?1,?2,?3,?4,json_array(?2)) ON CONFLICT (copy)"
                " DO UPDATE SET batch=?2, mark=?3, row=?4, batches=json_insert(batches, '$[#]', ?2)",
                (row["id"], batch, row["mark"], json.dumps(row)),
            )
            self.state.db.execute("DELETE FROM shared_part WHERE copy=?", (row["id"],))
            for start, _, digest, size in row["parts"]:
                self.state.db.execute("INSERT INTO shared_part VALUES (?,?,?)", (row["id"], start, digest))
                self.state.db.execute(
                    "INSERT OR IGNORE INTO shared_chunk VALUES (?,?,?,0)", (digest, epoch, size)
                )
        if changed:
            self._drop_unused()

    def rows(self, batch: int) -> list[dict[str, Any]]:
        """The transcripts that a batch names, with the epochs of their parts."""
        found = []
        query = "SELECT row FROM shared_transcript WHERE batch=? ORDER BY copy"
        for (text,) in self.state.db.execute(query, (batch,)).fetchall():
            row = json.loads(text)
            row["parts"] = [[*part[:3], self._epoch(part[2])] for part in row["parts"]]
            found.append(row)
        return found

    def withdraw(self) -> set[int]:
        """Take out transcripts that are deleted or not to be shared any more.

        Returns the batches that named them.

        In a transaction. Objects of parts that no batch names any more become garbage.
        """
        copies = self.existing() if self.on else None
        stamp = f"{self.limit} {'off' if copies is None else copies.stamp()}"
        if stamp == self.state.get("transcripts_stamp"):
            return set()
        rows = self.state.db.execute("SELECT copy, batches FROM shared_transcript").fetchall()
        here = set() if copies is None else {copy.id for copy in copies.all() if not copy.replaced}
        gone = [(copy, batches) for copy, batches in rows if copy not in here]
        if copies is not None and self._shared_bytes() > self.limit:
            gone = list(rows)  # the newest are shared again, within the limit
        for copy, _ in gone:
            self.state.db.execute("DELETE FROM shared_transcript WHERE copy=?", (copy,))
            self.state.db.execute("DELETE FROM shared_part WHERE copy=?", (copy,))
        self._drop_unused()
        self.state.set(transcripts_stamp=stamp)
        return {batch for _, batches in gone for batch in json.loads(batches)}

    def _drop_unused(self) -> None:
        unused = self.state.db.execute(
            "SELECT digest, epoch FROM shared_chunk c WHERE NOT EXISTS"
            " (SELECT 1 FROM shared_part p WHERE p.digest = c.digest)"
        ).fetchall()
        for digest, epoch in unused:
            name = self._contents.name(self.identity.device, digest, epoch)
            self.state.db.execute("INSERT OR IGNORE INTO garbage VALUES (?)", (name,))
            self.state.db.execute("DELETE FROM shared_chunk WHERE digest=?", (digest,))

    def put(self, put: Callable[[str, bytes], str]) -> None:
        """Put the parts that batches name and that are not in the store yet."""
        rows = self.state.db.execute("SELECT digest, epoch FROM shared_chunk WHERE put=0").fetchall()
        copies = self.existing() if rows else None
        if copies is None:
            return
        for digest in self._contents.put(rows, copies.packed, put):
            self.state.db.execute("UPDATE shared_chunk SET put=1 WHERE digest=?", (digest,))

    # -- transcripts of other devices --------------------------------------------------------------------

    def take(self, device: str, rows: list[Any], _: Callable[[str], dict[str, str]]) -> None:
        """Note the transcripts that a batch of another device names.

        Their parts are fetched later.
        """
        for row in rows:
            try:
                checked = _checked(row)
            except (KeyError, TypeError, ValueError) as error:
                raise NotAuthentic(f"a transcript is not described as it should be: {error}") from error
            self.state.db.execute(
                "INSERT OR REPLACE INTO wanted_transcript VALUES (?,?,?,0)",
                (device, checked["id"], json.dumps(checked)),
            )

    def forget(self, device: str, session: str) -> None:
        """Delete the transcripts of a session of another device.

        They are not fetched again.
        """
        self.open_copies().forget([foreign_name(device, session)], self.now())

    def fetch(self, get: Callable[[str], bytes | None], problem: Callable[[str], None]) -> int:
        """Get the transcripts that are wanted, newest first. Returns how many arrived."""
        rows = self.state.db.execute("SELECT device, number, row, tries FROM wanted_transcript").fetchall()
        if not rows or not self.on:
            return 0
        copies = self.open_copies()
        room, arrived = self.limit - copies.foreign_bytes(), 0
        forgotten = copies.forgotten()
        wanted = [(device, number, json.loads(text), tries) for device, number, text, tries in rows]
        for device, number, row, tries in sorted(wanted, key=lambda one: -one[2]["mtime"]):
            session = self.state.local_session(device, row["of"])
            if session is None:
                continue  # the session itself waits
            try:
                done = foreign_name(device, session) in forgotten
                if not done:
                    packed = self._parts(copies, get, device, row)
                    size = sum(map(len, (packed or {}).values()))
                    if size > room:
                        continue
                    done = packed is not None or tries + 1 >= TRIES
                    if packed is not None:
                        self._keep(copies, device, session, row, packed)
                        room -= size
                        arrived += 1
            except ValueError as error:
                problem(f"A transcript was refused: {error}.")
                done = True
            if done:
                self._not_wanted(device, number)
            else:  # late, or replaced by a later batch
                self.state.db.execute(
                    "UPDATE wanted_transcript SET tries=tries+1 WHERE device=? AND number=?", (device, number)
                )
        return arrived

    def _not_wanted(self, device: str, number: int) -> None:
        self.state.db.execute("DELETE FROM wanted_transcript WHERE device=? AND number=?", (device, number))

    def _parts(
        self, copies: TranscriptCopies, get: Callable[[str], bytes | None], device: str, row: dict[str, Any]
    ) -> dict[str, bytes] | None:
        """The compressed parts that are not here yet.

        None if one of them is not in the store.
        """
        found: dict[str, bytes] = {}
        for _, size, digest, epoch in row["parts"]:
            if digest in found or copies.packed(digest) is not None:
                continue
            packed = self._contents.get(get, device, digest, epoch)
            if packed is None:
                return None
            if hashlib.sha256(decompress(packed, size)).hexdigest() != digest:
                raise NotAuthentic("a part is not what its digest says")
            found[digest] = packed
        return found

    def _keep(
        self,
        copies: TranscriptCopies,
        device: str,
        session: str,
        row: dict[str, Any],
        packed: dict[str, bytes],
    ) -> None:
        workspace = self.store.sessions.resolve(session).workspace
        copies.keep_foreign(
            [(start, size, digest) for start, size, digest, _ in row["parts"]], packed,
            session=foreign_name(device, session), agent=row["agent"], root=row["root"],
            path=self.move(row["root"], row["path"], row["workspace"], workspace), origin="",
            form=row["form"], mode=row["mode"], source_mtime=row["mtime"], left_out=row["left_out"],
            mark="", at=self.now(),
        )  # fmt: skip


def _mark(copy: TranscriptCopy) -> str:
    """Changes when a copy does. A transcript is named again when this changes."""
    return f"{copy.size} {copy.source_mtime} {copy.form} {copy.left_out} {copy.path}"


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    """A description of a transcript from another machine, every field checked."""
    path, parts = str(row["path"]), []
    if (reason := unsafe_path_reason(path)) is not None:
        raise ValueError(reason)
    if not WORD.fullmatch(row["root"]) or not WORD.fullmatch(row["agent"]) or not WORD.fullmatch(row["form"]):
        raise ValueError("an unknown agent")
    end = 0
    for start, size, digest, epoch in row["parts"]:
        if start != end or not 0 < size <= PART or not DIGEST.fullmatch(digest) or not isinstance(epoch, str):
            raise ValueError("its parts do not fit together")
        end += size
        parts.append([int(start), int(size), digest, epoch])
    workspace = row["workspace"]
    return {
        "id": int(row["id"]), "of": str(row["of"]), "agent": row["agent"], "root": row["root"], "path": path,
        "form": row["form"], "mode": int(row["mode"]) & 0o777, "mtime": float(row["mtime"]),
        "left_out": int(row["left_out"]), "workspace": None if workspace is None else str(workspace),
        "parts": parts,
    }  # fmt: skip
