"""Export and import sessions as bundle files."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Service
from fazm_memory.bundle import BundleSession, BundleVersion, exporter, importer
from fazm_memory.errors import AgentUnavailable, Declined, InvalidRequest, NotFound
from fazm_memory.events import Event
from fazm_memory.formats import (
    Conversation,
    from_atif,
    is_atif,
    read_conversation,
    to_agent_trace,
    to_atif,
    to_markdown,
    to_otlp,
)
from fazm_memory.paths import inside, open_regular, to_local, unsafe_path_reason, write_private
from fazm_memory.records import dataclass, replace
from fazm_memory.rewind import FileContent, SafeDirectory, WriteRefused
from fazm_memory.store import FILE_CAP, FileVersion, SessionRow, files_named, queries
from fazm_memory.text import plural
from fazm_memory.watch import has_secret_name

MISSING_SHOWN = 100
SECRET = "left out: it looks as if it held a secret"
LARGEST_TRAJECTORY = 256 << 20
SEND_SECONDS = 20.0
SPANS_PATH = "/v1/traces"  # of every OTLP/HTTP receiver, below its base address
FORMATS = ("bundle", "atif", "markdown", "otel", "agent-trace")


PRIVATE_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud"})


def is_sensitive_path(path: str) -> bool:
    """Whether a file's name or folder says that it holds keys or passwords."""
    *folders, name = path.split("/")
    return not PRIVATE_FOLDERS.isdisjoint(folders) or bool(has_secret_name(name))


@dataclass(frozen=True)
class LastTouch:
    """The last time a session read or changed a file."""

    at: int
    changed: bool  # at any time, not only the last one
    live: bool  # recorded on this machine when it happened


def send_spans(endpoint: str, document: bytes) -> None:
    """Send a `TracesData` message to an OTLP/HTTP receiver."""
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    address = f"{endpoint.rstrip('/').removesuffix(SPANS_PATH)}{SPANS_PATH}"
    request = Request(address, document, {"Content-Type": "application/json"}, method="POST")
    try:
        with urlopen(request, timeout=SEND_SECONDS) as answer:
            reply = answer.read(1 << 20)
    except (URLError, OSError, ValueError) as error:
        why = getattr(error, "reason", None) or error
        raise AgentUnavailable(f"{address} did not take the spans: {why}. The file was written.") from None
    with contextlib.suppress(ValueError, AttributeError):
        refused = json.loads(reply or b"{}").get("partialSuccess", {})
        if int(refused.get("rejectedSpans") or 0):
            raise AgentUnavailable(
                f"{address} refused {refused['rejectedSpans']} spans. The file was written."
            )


def _touched(event: Event) -> Iterator[tuple[str, str, str | None]]:
    """The files of an event: path, change and earlier name."""
    if event.payload is None:
        return
    if event.kind in ("action", "action.amend"):
        for touch in event.payload.files:
            yield touch.path, touch.change, touch.origin
    elif event.kind == "file":
        yield event.payload.path, event.payload.change, event.payload.origin


def _unchanged(directory: SafeDirectory, path: str, since: int) -> tuple[FileContent, bytes] | None:
    """The content of a file that did not change after a moment.

    None if it did, or if it may not leave this machine.
    """
    if unsafe_path_reason(path) is not None or is_sensitive_path(path):
        return None
    try:
        found = directory.look(path)
        if found.data is None or (found.held.ctime_ns or 0) // 1000 > since:
            return None
        return (found.held, found.data) if directory.look(path).held == found.held else None
    except (WriteRefused, OSError):
        return None


def _trajectory(path: Path) -> dict[str, Any] | None:
    """The trajectory in a file, or None if it is something else, such as a bundle."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_TRAJECTORY or file.read(1) != b"{":
                return None
            document = json.loads(b"{" + file.read())
    except (OSError, ValueError, RecursionError):
        return None  # reading it as a bundle says what is wrong
    return document if is_atif(document) else None


class BundleService(Service):
    """Export and import sessions as bundle files. Use it as `memory.bundles`."""

    def export(
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
        """Write a session, its ancestors and the versions of its files to one file."""
        row = self._to_export(session, path, force=force, quarantined=quarantined)
        left_out = {SECRET: 0}
        sensitive: set[str] = set()
        end: dict[str, Any] = {}
        touches = self._last_touches(row)
        carried: set[str] = set()
        from_folder = 0

        def versions() -> Iterator[tuple[FileVersion, bytes | str]]:
            nonlocal from_folder
            if not files:
                return
            if (stored := self._memory.existing_file_versions) is not None:
                for version, content in exporter.versions_of(stored, self._files_touched(row.id)):
                    if self.store.as_of is not None and version.at > self.store.as_of:
                        continue
                    if isinstance(content, bytes):
                        if is_sensitive_path(version.path):
                            sensitive.add(version.path)
                        if not secrets and self._holds_secret(content):
                            left_out[SECRET] += 1
                            content = SECRET
                        else:
                            carried.add(f"{version.root}/{version.path}")
                    yield version, content
            rest = {path: touch for path, touch in touches.items() if path not in carried}
            for version, data in self._unchanged_files(row, rest):
                if secrets or not self._holds_secret(data):
                    from_folder += 1
                    carried.add(f"{version.root}/{version.path}")
                    yield version, data

        def lines() -> Iterator[dict[str, Any]]:
            for line in exporter.session_lines(
                self.store, row, str(self.config.user_home), versions(), progress
            ):
                end.update(line.get("end", {}))
                yield line

        with self.store.db.reading():  # one view of the log while others append
            size = exporter.write_bundle(path, lines(), passphrase)
        return {
            "session": row.id, "file": str(path), "bytes": size, "sealed": passphrase is not None, **end,
            "left_out": left_out[SECRET], "sensitive": sorted(sensitive), "from_folder": from_folder,
            **self._missing_json(row, touches, carried),
        }  # fmt: skip

    def export_as(
        self,
        session: str,
        path: Path,
        format_name: str,
        *,
        force: bool = False,
        quarantined: bool = False,
        send: bool = False,
    ) -> dict[str, Any]:
        """Write a session and its ancestors in a format of other tools.

        Contents of files are left out.

        With `send`, spans also go to the configured receiver.
        """
        if send and (format_name != "otel" or not self.config.otlp_endpoint):
            raise InvalidRequest(
                "Only spans can be sent, and only to the address that the settings name.",
                hint="use --format otel, and set otlp_endpoint in config.toml",
            )
        if format_name not in FORMATS[1:]:
            raise InvalidRequest(
                f'"{format_name[:40]}" is not a format.', hint=f"formats: {', '.join(FORMATS)}"
            )
        row = self._to_export(session, path, force=force, quarantined=quarantined)
        state = self._memory.history.state_at(row, None)
        with self.store.db.reading():  # one view of the log while others append
            talk = read_conversation(self.store, row, state, str(self.config.user_home))
        document: dict[str, Any] = {}
        if format_name == "markdown":
            text = to_markdown(talk)
        else:
            changed = [entry.path for entry in state.files_modified.values() if entry.change != "deleted"]
            document = self._document(talk, row, format_name, changed)
            # A receiver of OTLP reads a file line by line.
            indent = None if format_name == "otel" else 1
            text = json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"
        about = document["metadata"]["fazm_memory"] if format_name == "agent-trace" else {}
        data = text.encode("utf-8", "replace")  # half a surrogate pair is no text for other tools
        write_private(path, data)
        if send:
            send_spans(self.config.otlp_endpoint, data)
        return {
            "session": row.id, "file": str(path), "format": format_name, "bytes": len(data),
            "sealed": False, "sent_to": self.config.otlp_endpoint if send else None, **talk.counts(),
            **({"files": len(document["files"]), "files_left_out": about["files_left_out"]} if about else {}),
        }  # fmt: skip

    def _document(
        self, talk: Conversation, row: SessionRow, format_name: str, changed: list[str]
    ) -> dict[str, Any]:
        if format_name == "atif":
            return to_atif(talk)
        if format_name == "otel":
            return to_otlp(talk)
        stored = self._memory.existing_file_versions
        local = replace(talk, workspace=row.workspace)
        if stored is None:
            return to_agent_trace(local, (), lambda digest: None, changed)
        versions = stored.histories(sorted(self._files_touched(row.id)))
        return to_agent_trace(local, versions, stored.read, changed)

    def _to_export(self, session: str, path: Path, *, force: bool, quarantined: bool) -> SessionRow:
        """The session, if it may be written to this file."""
        row = self.store.sessions.resolve(session)
        if not path.parent.is_dir():
            raise NotFound(f"there is no folder {path.parent}", hint="make it first, or name another")
        if path.exists() and not force:
            raise Declined(f"{path} is there already", hint="name another file, or use --force")
        if not quarantined:
            self._check_quarantine(row)
        return row

    def _last_touches(self, row: SessionRow) -> dict[str, LastTouch]:
        """The last touch of each file that a session and its ancestors left in place."""
        found: dict[str, LastTouch] = {}
        for ancestor, count in exporter.lineage(self.store, row):
            arrivals = queries.ClaimedTimes(self.store.db, ancestor.n)
            for event in self.store.log.slice(ancestor.n, ancestor.id, 0, count):
                live = ancestor.device is None and not arrivals.times(event)
                for path, change, origin in _touched(event):
                    before = found.pop(path, None)
                    moved = found.pop(origin, None) if change == "renamed" and origin is not None else None
                    if change != "deleted":
                        changed = change != "read" or any(one and one.changed for one in (before, moved))
                        found[path] = LastTouch(event.at, changed, live)
        return found

    def _unchanged_files(
        self, row: SessionRow, touches: Mapping[str, LastTouch]
    ) -> Iterator[tuple[FileVersion, bytes]]:
        """The files of the workspace that are unchanged since the session's last touch.

        The kernel's time of the last change decides, which programs cannot set back.
        """
        excluded = self._memory.recording.excluded_folders()
        for root in self._workspaces(row):
            try:
                directory = SafeDirectory(os.path.realpath(root))
            except WriteRefused:
                continue
            with directory:
                for path, touch in sorted(touches.items()):
                    below = path.removeprefix(f"{root}/")
                    if below == path or not touch.live or any(inside(path, folder) for folder in excluded):
                        continue
                    found = _unchanged(directory, below, touch.at)
                    if found is not None:
                        held, data = found
                        since = (held.ctime_ns or 0) // 1000
                        yield FileVersion(root, below, since, held.digest, mode=held.bits), data

    def _workspaces(self, row: SessionRow) -> list[str]:
        folders = [ancestor.workspace for ancestor, count in exporter.lineage(self.store, row) if count]
        return list(dict.fromkeys(folder.rstrip("/") for folder in folders if folder))

    def _missing_json(
        self, row: SessionRow, touches: Mapping[str, LastTouch], carried: Collection[str]
    ) -> dict[str, Any]:
        """The files of a session whose content is not carried.

        Changed ones come first. Of the files that it only read, those of its workspace count.
        """
        folders = self._workspaces(row)
        rest = [path for path in touches if path not in carried]
        changed = [path for path in rest if touches[path].changed]
        read = [
            path
            for path in rest
            if not touches[path].changed and any(inside(path, folder) for folder in folders)
        ]
        return {
            "missing": len(changed) + len(read), "missing_read": len(read),
            "missing_files": [*changed, *read][:MISSING_SHOWN],
        }  # fmt: skip

    def _missing_here(self, row: SessionRow) -> dict[str, Any]:
        """The files of an imported session that are neither stored nor on disk here."""
        touches = self._last_touches(row)
        here = {path for path in touches if os.path.lexists(path)}
        if (versions := self._memory.existing_file_versions) is not None:
            here |= {
                f"{version.root}/{version.path}"
                for version in versions.histories(touches)
                if version.digest is not None and versions.has(version.digest)
            }
        return self._missing_json(row, touches, here)

    def _check_quarantine(self, row: SessionRow) -> None:
        """Decline if a part is in quarantine.

        A bundle is a whole log, so no event can be left out.
        """
        for ancestor, count in exporter.lineage(self.store, row):
            in_quarantine = self.store.quarantine_view.marks_of(ancestor.n)
            events = sum(seq < count for seq in in_quarantine.seqs)
            if count and (in_quarantine.whole or events):
                part = f"event {min(in_quarantine.seqs)}" if events == 1 else f"{events} events"
                what = "all its events" if in_quarantine.whole else part
                raise Declined(
                    f"Session {ancestor.id[:8]} has {what} in quarantine, so nothing was exported",
                    hint=f"`fazm-memory quarantine {ancestor.id[:8]} --lift`, or export with --quarantined",
                )

    def import_(
        self,
        path: Path,
        *,
        passphrase: str | None = None,
        workspace: str | None = None,
        mine: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> dict[str, Any]:
        """Import a bundle, whole or not at all.

        With `mine`, its trust values are accepted.

        A trajectory in the ATIF format is imported too.
        """
        self._memory.recording.check()
        if (document := _trajectory(path)) is not None:
            return self._import_trajectory(document, workspace, mine)
        with contextlib.closing(exporter.BundleFile(path, passphrase)) as file:
            home = str(self.config.user_home)
            # Check all lines before anything is written.
            last = importer.check_lines(exporter.parse_lines(file.lines()))
            moved = self._moved(last, workspace, home)
            here = importer.LocalRules(home, self._clean, mine or file.sealed, moved)
            imported = importer.import_sessions(
                self.store, exporter.parse_lines(file.lines()), here, arrived=self.now(), progress=progress
            )
            if here.believed or workspace is not None:
                imported.versions, imported.versions_known = self._import_versions(file, here)
            else:  # the bundle must not choose the folder that a rewind writes to
                imported.notes.append("its files were left out: say with --workspace where they belong")
        if not here.believed:
            imported.notes.append(
                "it is not sealed, so nothing in it is taken for your own word (--mine, if you made it)"
            )
        missing: dict[str, Any] = {"missing": 0, "missing_read": 0, "missing_files": []}
        if imported.sessions:
            missing = self._missing_here(self.store.sessions.resolve(imported.sessions[-1]))
        if missing["missing"]:
            some = ", ".join(missing["missing_files"][:3])
            used = "changed or read" if missing["missing_read"] else "changed"
            imported.notes.append(
                f"{plural(missing['missing'], 'file')} it {used} did not come with it: {some}"
            )
        return {
            **missing,
            "session": imported.sessions[-1] if imported.sessions else None, "sessions": imported.sessions,
            "added": imported.added, "known": imported.known, "versions": imported.versions,
            "versions_known": imported.versions_known, "notes": imported.notes,
        }  # fmt: skip

    def _import_trajectory(
        self, document: dict[str, Any], workspace: str | None, mine: bool
    ) -> dict[str, Any]:
        folder = None if workspace is None else str(Path(workspace).expanduser().absolute())
        found = from_atif(document, home=str(self.config.user_home), workspace=folder, mine=mine)
        results = self._memory.recorder.record(found.drafts)
        refused = [result.error for result in results if result.error is not None]
        if refused and refused[0] is not None:
            raise refused[0]
        placed = [result.appended for result in results if result.appended is not None]
        known = sum(one.duplicate for one in placed)
        notes = found.notes()
        if not mine:
            notes.append("nothing in it is taken for your own word (--mine, if you made it)")
        session = placed[0].session
        return {
            "missing": 0, "missing_read": 0, "missing_files": [], "session": session, "sessions": [session],
            "added": len(placed) - known, "known": known, "versions": 0, "versions_known": 0, "notes": notes,
        }  # fmt: skip

    def _moved(self, opened: BundleSession, workspace: str | None, home: str) -> dict[str, str]:
        if workspace is None or opened.workspace is None:
            return {}
        return {str(to_local(opened.workspace, home)): str(Path(workspace).expanduser().absolute())}

    def _clean(self, payload: Any) -> Any:
        return self._memory.recorder.redactor.value(payload)[0]

    def _import_versions(self, file: exporter.BundleFile, here: importer.LocalRules) -> tuple[int, int]:
        versions = self._memory.file_versions
        with versions.db.transaction():
            known: dict[tuple[str, str], bool] = {}

            def store(version: BundleVersion) -> bool:
                # A file that has versions here keeps its own history.
                place = (version.root, version.path)
                if place not in known:
                    known[place] = versions.last(*place) is not None
                if not known[place]:
                    versions.keep_within(*place, version.at, version.content, mode=version.mode)
                return not known[place]

            return importer.import_versions(exporter.parse_lines(file.lines()), here, store)

    def _files_touched(self, session: str) -> set[str]:
        """The files that a session and its ancestors touched."""
        found: set[str] = set()
        for row, count in exporter.lineage(self.store, self.store.sessions.resolve(session)):
            if count:
                found |= files_named(self.store, {row.n: list(range(count))})
        return found

    def _holds_secret(self, content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        return bool(self._memory.recorder.redactor.text(text, FILE_CAP).findings)
