"""The verbs of moving: a session as one file, and that file as a session on another machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fazm_memory.errors import Declined, NotFound
from fazm_memory.log import bundle, bundle_file, unbundle
from fazm_memory.log.bundle import Kept, Opened
from fazm_memory.log.forget import files_named
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.versions import FILE_CAP, Version
from fazm_memory.model.portable import local
from fazm_memory.verbs.telling import Telling

SECRET = "left out: it looks as if it held a secret"


class Moving(Telling):
    """What `Memory` does with bundles. Mixed into it; not for use alone."""

    def export_bundle(
        self,
        session: str,
        path: Path,
        *,
        passphrase: str | None = None,
        files: bool = True,
        secrets: bool = False,
        force: bool = False,
        quarantined: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> dict[str, Any]:
        """A session, those it was forked from and the kept versions of its files as one file; what is in
        quarantine only when it is asked for."""
        row = self.store.sessions.resolve(session)
        if not path.parent.is_dir():
            raise NotFound(f"there is no folder {path.parent}", hint="make it first, or name another")
        if path.exists() and not force:
            raise Declined(f"{path} is there already", hint="name another file, or use --force")
        if not quarantined:
            self._check_quarantine(row)
        left_out = {SECRET: 0}
        told: dict[str, Any] = {}

        def versions() -> Iterator[tuple[Version, bytes | str]]:
            if files and (kept := self.versions_kept) is not None:
                for version, content in bundle.versions_of(kept, self._files_touched(row.id)):
                    if isinstance(content, bytes) and not secrets and self._holds_secret(content):
                        left_out[SECRET] += 1
                        content = SECRET
                    yield version, content

        def lines() -> Iterator[dict[str, Any]]:
            for line in bundle.told(self.store, row, str(self.config.user_home), versions(), progress):
                told.update(line.get("end", {}))
                yield line

        with self.store.db.reading():  # one view of the log, whatever others append meanwhile
            size = bundle_file.write(path, lines(), passphrase)
        return {
            "session": row.id, "file": str(path), "bytes": size, "sealed": passphrase is not None, **told,
            "left_out": left_out[SECRET],
        }  # fmt: skip

    def _check_quarantine(self, row: SessionRow) -> None:
        """A bundle is a whole log: nothing of it can stay behind without breaking it."""
        for one, count in bundle.lineage(self.store, row):
            held = self.store.ward.held(one.n)
            some = sum(seq < count for seq in held.seqs)
            if count and (held.whole or some):
                few = f"event {min(held.seqs)} of" if some == 1 else f"{some} events of"
                what = "all of" if held.whole else few
                raise Declined(
                    f"quarantine holds {what} session {one.id[:8]}, which would leave with the file;"
                    " nothing was written",
                    hint=f"`fazm-memory quarantine {one.id[:8]} --lift`, or export with --quarantined",
                )

    def import_bundle(
        self,
        path: Path,
        *,
        passphrase: str | None = None,
        workspace: str | None = None,
        mine: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> dict[str, Any]:
        """Bring in a bundle, whole or not at all; `mine` believes what it says of who said what."""
        self.check_recording()
        with contextlib.closing(bundle_file.BundleFile(path, passphrase)) as file:
            home = str(self.config.user_home)
            last = unbundle.judge(bundle.judged(file.lines()))  # all of it, before anything is written
            moved = self._moved(last, workspace, home)
            here = unbundle.Here(home, self._clean, mine or file.sealed, moved)
            taken = unbundle.take(self.store, bundle.judged(file.lines()), here, progress=progress)
            if here.believed or workspace is not None:
                taken.versions, taken.versions_known = self._take_versions(file, here)
            else:  # a stranger must not choose the folder into which rewinding would write
                taken.notes.append("its files were left out: say with --workspace where they belong")
        if not here.believed:
            taken.notes.append(
                "it is not sealed, so nothing in it is taken for your own word (--mine, if you made it)"
            )
        return {
            "session": taken.sessions[-1] if taken.sessions else None, "sessions": taken.sessions,
            "added": taken.added, "known": taken.known, "versions": taken.versions,
            "versions_known": taken.versions_known, "notes": taken.notes,
        }  # fmt: skip

    def _moved(self, opened: Opened, workspace: str | None, home: str) -> dict[str, str]:
        if workspace is None or opened.workspace is None:
            return {}
        return {str(local(opened.workspace, home)): str(Path(workspace).expanduser().absolute())}

    def _clean(self, payload: Any) -> Any:
        return self.recorder.scrubber.value(payload)[0]

    def _take_versions(self, file: bundle_file.BundleFile, here: unbundle.Here) -> tuple[int, int]:
        versions = self.versions
        with versions.db.transaction():
            held: dict[tuple[str, str], bool] = {}

            def keep(one: Kept) -> bool:
                # A file whose versions are known here has a history of its own: it is left as it is.
                place = (one.root, one.path)
                if place not in held:
                    held[place] = versions.last(*place) is not None
                if not held[place]:
                    versions.keep_within(one.root, one.path, one.at, one.content, mode=one.mode)
                return not held[place]

            return unbundle.take_versions(bundle.judged(file.lines()), here, keep)

    def _files_touched(self, session: str) -> set[str]:
        """Every file that a session and those it stands on have touched."""
        found: set[str] = set()
        for row, count in bundle.lineage(self.store, self.store.sessions.resolve(session)):
            if count:
                found |= files_named(self.store, {row.n: list(range(count))})
        return found

    def _holds_secret(self, content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        return bool(self.recorder.scrubber.text(text, FILE_CAP).findings)
