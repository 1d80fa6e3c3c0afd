"""Every place beside the log that may have a copy of what the user forgets.

`MaintenanceService.forget` asks each place in `PLACES`. Afterwards no place has a copy, or the answer names
what still has one and how to remove it.

To add a place (a database, a folder, another machine): write a subclass of `CopyPlace` and add it to
`BEFORE_LOG`. `find` counts, `forget` deletes, `remaining` names what it cannot delete. A place handles all
three selections of a `ForgetRequest`: whole sessions, times and a text. tests/app/test_forget_copies.py puts
one text into every place and fails if any file of the data folder still has it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from fazm_memory.app.memory import Memory
from fazm_memory.bundle import BundleSession, BundleVersion, exporter
from fazm_memory.errors import FazmMemoryError
from fazm_memory.paths import CONTEXT_FOLDER, SPOOL_FOLDER, open_regular
from fazm_memory.records import asdict, dataclass
from fazm_memory.store import (
    SEQ_BITS,
    STORE_FOLDER,
    FileVersion,
    FileVersions,
    TranscriptCopies,
    TranscriptCopy,
    files_named,
    foreign_name,
    framework_store_exists,
    pack,
    unpack,
)
from fazm_memory.store.recovery import QUARANTINE
from fazm_memory.text import TextMatch, plural, texts_of

EXPORTS = "exports"  # bundles made by the page
SCRIPTS = "resume"  # scripts that start an agent with a briefing
LARGEST = 64 << 20
NAMED = 3  # files named one by one
RECORD_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RECORD_ID_LENGTH = 36


@dataclass(frozen=True)
class ForgetRequest:
    """What is forgotten: events by session number, and how they were selected."""

    chosen: dict[int, list[int]]
    session: str | None = None
    since: int | None = None
    until: int | None = None
    match: TextMatch | None = None
    positions: bool = False  # only some positions of the session

    @property
    def by_time(self) -> bool:
        """Whether everything of a period is forgotten, not only a session."""
        return self.session is None and self.match is None and not self.positions

    @property
    def whole_session(self) -> bool:
        return self.session is not None and not self.positions and not self.narrowed

    @property
    def narrowed(self) -> bool:
        return self.match is not None or self.since is not None or self.until is not None

    def at(self, moment: int) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)


@dataclass(frozen=True)
class RemainingCopy:
    """Something that still has, or may have, what was forgotten."""

    what: str
    why: str
    remove: str  # what to do about it


class CopyPlace:
    """A place that may have copies. `name` is a plural noun that people read."""

    name: ClassVar[str]

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.home = memory.config.home

    def find(self, request: ForgetRequest) -> int:
        """How many copies there are."""
        raise NotImplementedError

    def forget(self, request: ForgetRequest) -> int:
        """Delete the copies, also from free pages. Return how many there were."""
        raise NotImplementedError

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        """What keeps a copy after `forget`."""
        return []

    def agent_ids(self, request: ForgetRequest) -> list[str]:
        """The agents' own ids of the sessions that lose events."""
        query = "SELECT agent_session_id FROM session WHERE n=? AND agent_session_id IS NOT NULL"
        rows = [self.memory.store.db.execute(query, (number,)).fetchone() for number in request.chosen]
        return [row[0] for row in rows if row is not None]


class SpooledEvents(CopyPlace):
    """Hook events that are not recorded yet.

    Also files of hooks that could not be read.
    """

    name = "hook events not recorded yet"

    def _found(self, request: ForgetRequest) -> Iterator[Path]:
        sessions = set(self.agent_ids(request)) if request.session is not None else set()
        folder = self.home / SPOOL_FOLDER
        for path in [*folder.glob("*"), *folder.glob("bad/*")]:
            data, at = _read(path)
            if data is None or not request.at(at):
                continue
            if request.session is not None and not sessions & set(_json_texts(data)):
                continue
            if request.match is None or _has_text(data, request.match):
                yield path

    def find(self, request: ForgetRequest) -> int:
        return 0 if request.positions else sum(1 for _ in self._found(request))

    def forget(self, request: ForgetRequest) -> int:
        return 0 if request.positions else _unlink(self._found(request))


class ReaderStates(CopyPlace):
    """What readers of transcripts carry from one chunk to the next.

    Open calls, titles and openings.
    """

    name = "calls of transcripts that have not ended"
    STRUCTURE = frozenset({"cwd", "thread", "session", "agent_id", "parent", "owners", "model", "turn"})

    def _found(self, request: ForgetRequest) -> Iterator[tuple[str, bytes]]:
        """The cursors to change, each with its new state."""
        if request.positions:
            return
        sessions = self.agent_ids(request)
        match = request.match
        rows = self.memory.store.db.execute("SELECT path, carry FROM cursor WHERE carry IS NOT NULL")
        for path, stored in rows.fetchall():
            carried = json.loads(unpack(stored)) if stored else {}
            if match is not None:
                cleaned = _without(carried, match.in_text)
            elif any(session in path for session in sessions):
                cleaned = _without(carried, lambda text: " " in text, self.STRUCTURE)
            else:
                continue
            if cleaned != carried:
                yield path, pack(json.dumps(cleaned).encode())

    def find(self, request: ForgetRequest) -> int:
        return sum(1 for _ in self._found(request))

    def forget(self, request: ForgetRequest) -> int:
        changed = [(state, path) for path, state in self._found(request)]
        if changed:
            with self.memory.store.db.transaction():
                self.memory.store.db.executemany("UPDATE cursor SET carry=? WHERE path=?", changed)
        return len(changed)


class WatchedNames(CopyPlace):
    """The names of files at the last scan of each watched folder.

    The watcher scans again without them.
    """

    name = "lists of names in watched folders"

    def _found(self, request: ForgetRequest) -> list[str]:
        if request.match is None or request.session is not None:
            return []
        from fazm_memory.watch import TreeCheckpoints  # slow import

        checkpoints, found = TreeCheckpoints(self.memory.store.db), []
        for (root,) in self.memory.store.db.execute("SELECT root FROM tree").fetchall():
            tree = checkpoints.load(root)
            names = [root] if tree is None else [root, *tree.folders, *(path for path, _ in tree.files())]
            if any(map(request.match.in_text, names)):
                found.append(root)
        return found

    def find(self, request: ForgetRequest) -> int:
        return len(self._found(request))

    def forget(self, request: ForgetRequest) -> int:
        found = self._found(request)
        if found:
            with self.memory.store.db.transaction():
                self.memory.store.db.executemany("DELETE FROM tree WHERE root=?", [(root,) for root in found])
        return len(found)


class ContextChoices(CopyPlace):
    """What the user pinned or excluded, by ids of items.

    An id has the name of a fact or of an open point.
    """

    name = "choices of what contexts say"

    def _found(self, request: ForgetRequest) -> list[str]:
        from fazm_memory.recall import exports  # slow import

        choices = exports.read_choices(self.memory.store)
        if request.match is not None and request.session is None:
            return [item for item in choices if request.match.in_text(item)]
        query = "SELECT id FROM session WHERE n=?"
        sessions = {self.memory.store.db.execute(query, (n,)).fetchone()[0] for n in request.chosen}
        if request.whole_session and request.session:  # its events may be forgotten already
            sessions.add(request.session)
        return [
            item
            for item in choices
            if any(session.startswith(item.split(":")[0]) for session in sessions)
            and (request.whole_session or _has_name(item))
        ]

    def find(self, request: ForgetRequest) -> int:
        return len(self._found(request))

    def forget(self, request: ForgetRequest) -> int:
        from fazm_memory.recall import exports  # slow import

        found = self._found(request)
        for item in found:
            exports.set_choice(self.memory.store, item, None)
        return len(found)


def _has_name(item: str) -> bool:
    """Whether the id of an item ends in a name and not in a position."""
    return not item.rsplit(":", 1)[-1].replace(".", "").isdigit()


class StoredVersions(CopyPlace):
    """Versions of files.

    All versions of a file that a forgotten event touched are deleted. Of a text or a time the contents are
    deleted; a version whose path has the text is deleted whole.
    """

    name = "file versions"

    def _contents(self, versions: FileVersions, request: ForgetRequest) -> list[FileVersion]:
        if request.match is not None:
            return versions.with_text(request.match) if request.session is None else []
        return versions.between(request.since, request.until) if request.by_time else []

    def _touched(self, request: ForgetRequest) -> set[str]:
        return files_named(self.memory.store, request.chosen)

    def find(self, request: ForgetRequest) -> int:
        versions = self.memory.existing_file_versions
        if versions is None:
            return 0
        found = {version.id for version in versions.histories(self._touched(request))}
        return len(found | {version.id for version in self._contents(versions, request)})

    def forget(self, request: ForgetRequest) -> int:
        versions = self.memory.existing_file_versions
        if versions is None:
            return 0
        gone = versions.forget_files(self._touched(request))
        contents = self._contents(versions, request)
        self._on_disk = _last_on_disk(versions, contents) if request.match is not None else []
        versions.forget_contents(contents)
        if request.match is not None and request.session is None:
            versions.forget_names(request.match)
        if contents:
            versions.vacuum()
        return gone + len(contents)

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        versions, match = self.memory.existing_file_versions, request.match
        if versions is None or match is None:
            return []
        found = []
        if files := getattr(self, "_on_disk", []):
            more = f" and {plural(len(files) - NAMED, 'more file')}" if len(files) > NAMED else ""
            found.append(
                RemainingCopy(
                    ", ".join(files[:NAMED]) + more,
                    "Your files on disk may still contain it. They are recorded again when they change.",
                    "Remove it there, or exclude the folder: `fazm-memory exclude --folder DIR`.",
                )
            )
        if count := versions.unfinished_rewinds(match):
            found.append(
                RemainingCopy(
                    plural(count, "rewind"),
                    "It has not ended.",
                    "Run this again when it has. `fazm-memory doctor` finishes it.",
                )
            )
        return found


class FrameworkData(CopyPlace):
    """What agent frameworks stored. Its parts are opaque, so all of a session goes."""

    name = "items of agent frameworks"

    def _sessions(self, request: ForgetRequest) -> set[str]:
        if not framework_store_exists(self.home):
            return set()
        found = set(self.agent_ids(request))
        if request.match is not None and request.session is None:
            found |= self.memory.framework_store.sessions_with_text(request.match)
        return found

    def find(self, request: ForgetRequest) -> int:
        sessions = self._sessions(request)
        return self.memory.framework_store.count(sessions) if sessions else 0

    def forget(self, request: ForgetRequest) -> int:
        sessions = self._sessions(request)
        return self.memory.framework_store.forget(sessions) if sessions else 0


class CopiedTranscripts(CopyPlace):
    """Copies of the agents' own transcripts.

    A copy is one file of the agent, so all of a session goes.

    A fork's transcript begins with its parent's, so the copies of forks go too.
    """

    name = "copies of transcripts"

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._unrecorded: set[str] = set()  # forks that are copied but have no session in the log

    def _sessions(self, request: ForgetRequest) -> set[str]:
        copies = self.memory.existing_transcript_copies
        if copies is None:
            return set()
        self._unrecorded = self._unrecorded_forks(copies, request)
        found = {*self.agent_ids(request), *self._forks(list(request.chosen)), *self._foreign(request)}
        if request.match is not None and request.session is None:
            found |= copies.sessions_with_text(request.match)
        return found | self._unrecorded

    def _unrecorded_forks(self, copies: TranscriptCopies, request: ForgetRequest) -> set[str]:
        """Forks without an event of their own.

        The log has their records in sessions that lose events.
        """
        db = self.memory.store.db
        recorded = {name for (name,) in db.execute("SELECT DISTINCT agent_session_id FROM session")}
        others = [copy for copy in copies.all() if not copy.foreign and copy.session not in recorded]
        if not others:
            return set()
        query = "SELECT id, key FROM event WHERE id >= ? AND id < ? AND key IS NOT NULL"
        ids: set[str] = set()
        for number, seqs in request.chosen.items():
            lost, first = set(seqs), number << SEQ_BITS
            for id_, key in db.execute(query, (first, first + (1 << SEQ_BITS))):
                if id_ - first in lost:
                    ids.update(RECORD_ID.findall(key))
        return {copy.session for copy in others if _has_record(copies, copy, ids)}

    def _foreign(self, request: ForgetRequest) -> Iterator[str]:
        query = "SELECT device, id FROM session WHERE n=? AND device IS NOT NULL"
        for number in request.chosen:
            row = self.memory.store.db.execute(query, (number,)).fetchone()
            if row is not None:
                yield foreign_name(*row)

    def _forks(self, numbers: list[int]) -> Iterator[str]:
        db, seen = self.memory.store.db, set(numbers)
        while numbers:
            query = "SELECT n, agent_session_id FROM session WHERE parent=(SELECT id FROM session WHERE n=?)"
            children = [row for row in db.execute(query, (numbers.pop(),)).fetchall() if row[0] not in seen]
            seen |= {number for number, _ in children}
            numbers += [number for number, _ in children]
            yield from (name for _, name in children if name is not None)

    def find(self, request: ForgetRequest) -> int:
        copies = self.memory.existing_transcript_copies
        return 0 if copies is None else copies.count(self._sessions(request))

    def forget(self, request: ForgetRequest) -> int:
        copies = self.memory.existing_transcript_copies
        sessions = self._sessions(request)
        return copies.forget(sessions, self.memory.now()) if copies is not None and sessions else 0

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        """The agents' own transcripts that repeat the conversation of these sessions.

        They belong to sessions that continue one of these.
        """
        if not request.whole_session:
            return []
        paths = [path for (path,) in self.memory.store.db.execute("SELECT path FROM cursor").fetchall()]
        forks = [*self._forks(list(request.chosen)), *self._unrecorded]
        found = [path for path in paths if any(name in path for name in forks) and os.path.exists(path)]
        why = "The agent's own transcript of a session that continues it."
        return [RemainingCopy(path, why, _delete(path)) for path in found]


def _has_record(copies: TranscriptCopies, copy: TranscriptCopy, ids: set[str]) -> bool:
    """Whether a copy has one of these ids of records."""
    before = b""  # the end of the part before: an id may begin in one part and end in the next
    for data in copies.content(copy):
        if not ids.isdisjoint(RECORD_ID.findall((before + data).decode("ascii", "replace"))):
            return True
        before = data[-RECORD_ID_LENGTH:]
    return False


class ExportedBundles(CopyPlace):
    """Bundles that the page made. A bundle is one log, so the whole file goes."""

    name = "bundles exported by the page"

    def _bundles(self) -> list[Path]:
        return sorted((self.home / EXPORTS).glob("*"))

    def _found(self, request: ForgetRequest) -> Iterator[Path]:
        query = "SELECT id FROM session WHERE n=?"
        sessions = {self.memory.store.db.execute(query, (number,)).fetchone()[0] for number in request.chosen}
        for path in self._bundles():
            try:
                if _bundle_has(path, sessions, request.match):
                    yield path
            except FazmMemoryError:
                continue  # named by `remaining`

    def find(self, request: ForgetRequest) -> int:
        return sum(1 for _ in self._found(request))

    def forget(self, request: ForgetRequest) -> int:
        return _unlink(self._found(request))

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        unreadable = []
        for path in self._bundles():
            try:
                _bundle_has(path, set(), None)
            except FazmMemoryError as error:
                why = f"It cannot be read: {error.message}"
                unreadable.append(RemainingCopy(str(path), why, _delete(path)))
        return unreadable


class ContextFiles(CopyPlace):
    """Rendered contexts, and scripts that resume a session.

    Contexts are written again without what is forgotten.
    """

    name = "context files"

    def _scripts(self) -> list[Path]:
        return list((self.home / SCRIPTS).glob("*.command"))

    def find(self, request: ForgetRequest) -> int:
        if request.match is None:
            return 0
        files = [*(self.home / CONTEXT_FOLDER).glob("*"), *self._scripts()]
        return sum(data is not None and _has_text(data, request.match) for data, _ in map(_read, files))

    def forget(self, request: ForgetRequest) -> int:
        if not request.chosen and request.match is None:
            return 0
        found = self.find(request)
        self.memory.maintenance.update_exports()
        _unlink(self._scripts())
        return found


class SetAsideStores(CopyPlace):
    """Damaged stores as `recover` found them.

    They may not be readable, so they are only named.
    """

    name = "damaged stores set aside"

    def find(self, request: ForgetRequest) -> int:
        return 0

    def forget(self, request: ForgetRequest) -> int:
        return 0

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        return [
            RemainingCopy(
                str(folder),
                "A damaged store that `recover` set aside. It may still contain it.",
                "`fazm-memory forget --set-aside` deletes it.",
            )
            for folder in set_aside_stores(self.home)
        ]


class OtherMachines(CopyPlace):
    """Machines that sync.

    They follow at their next round, and the vault's objects are written again.
    """

    name = "copies on other machines"

    def find(self, request: ForgetRequest) -> int:
        return 0

    def forget(self, request: ForgetRequest) -> int:
        return 0

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        if not request.chosen or not self.memory.sync.active:
            return []
        return [
            RemainingCopy(
                "the vault and other machines",
                "They follow when they sync next.",
                "`fazm-memory sync` does it now; `fazm-memory sync status` shows who has not followed yet.",
            )
        ]


class OtherRecords(CopyPlace):
    """Names that the log needs, other files, and agents' own transcripts."""

    name = "other files"
    SKIPPED = frozenset({STORE_FOLDER, "keys", SPOOL_FOLDER, CONTEXT_FOLDER, EXPORTS, QUARANTINE, SCRIPTS})

    def find(self, request: ForgetRequest) -> int:
        return 0

    def forget(self, request: ForgetRequest) -> int:
        return 0

    def remaining(self, request: ForgetRequest) -> list[RemainingCopy]:
        found = list(self._transcripts(request))
        if request.match is not None:
            found += [*self._names(request.match), *self._files(request.match)]
        return found

    def _transcripts(self, request: ForgetRequest) -> Iterator[RemainingCopy]:
        """The agent's own record of a session that is forgotten whole."""
        if not request.whole_session:
            return
        why = "The agent's own transcript, which is not ours to change."
        for (path,) in self.memory.store.db.execute("SELECT path FROM cursor").fetchall():
            if any(session in path for session in self.agent_ids(request)) and os.path.exists(path):
                yield RemainingCopy(path, why, _delete(path))

    def _names(self, match: TextMatch) -> Iterator[RemainingCopy]:
        db = self.memory.store.db
        rows = db.execute("SELECT id, agent, agent_session_id, workspace, title FROM session").fetchall()
        for id_, *names in rows:
            if any(name is not None and match.in_text(name) for name in names):
                yield RemainingCopy(
                    f"session {id_[:12]}",
                    "Its name, its agent's id of it or its folder contains it.",
                    f"`fazm-memory forget {id_[:12]}` forgets the whole session.",
                )
        for key, value in db.execute("SELECT key, value FROM meta").fetchall():
            if match.in_text(f"{key} {value}"):
                yield RemainingCopy(
                    f"the record `{key.split(':')[0]}` of the store",
                    "It has the name of a folder, a device or an agent that contains it.",
                    "It is replaced when that changes.",
                )
        paths = [path for (path,) in db.execute("SELECT path FROM cursor").fetchall() if match.in_text(path)]
        if paths:
            yield RemainingCopy(
                plural(len(paths), "transcript path"),
                f"Reading goes on there: {paths[0]}.",
                "They stay as long as the store. Rename the agent's folder if its name must go.",
            )
        keys = (key for (key,) in db.execute("SELECT key FROM event WHERE key IS NOT NULL"))
        if any(match.in_text(key) for key in keys):
            yield RemainingCopy(
                "ids that agents gave to calls",
                "They find repeated reports of one call, and the hash chain covers them.",
                "They stay as long as the store.",
            )

    def _files(self, match: TextMatch) -> Iterator[RemainingCopy]:
        for entry in sorted(self.home.glob("*")):
            if entry.name in self.SKIPPED or entry.is_symlink():
                continue
            for path in [entry] if entry.is_file() else sorted(entry.rglob("*")):
                data, _ = _read(path)
                if data is not None and match.in_bytes(data):
                    yield RemainingCopy(str(path), "It contains the text.", _delete(path))


# The log is changed between the places before it and the context files, which are rendered from it.
BEFORE_LOG: tuple[type[CopyPlace], ...] = (
    SpooledEvents, ReaderStates, WatchedNames, ContextChoices, StoredVersions, FrameworkData,
    CopiedTranscripts, ExportedBundles,
)  # fmt: skip
AFTER_LOG: tuple[type[CopyPlace], ...] = (ContextFiles, SetAsideStores, OtherMachines, OtherRecords)
PLACES = (*BEFORE_LOG, *AFTER_LOG)


@dataclass
class CopyReport:
    """How many copies were found or deleted in each place, and what is left."""

    counts: dict[str, int]
    remaining: list[RemainingCopy]

    def to_json(self) -> dict[str, Any]:
        return {
            "copies": {name: count for name, count in self.counts.items() if count},
            "remaining": [asdict(copy) for copy in self.remaining],
        }


def find_copies(memory: Memory, request: ForgetRequest) -> CopyReport:
    """Count the copies of what a request names."""
    places = [place(memory) for place in PLACES]
    counts = {place.name: place.find(request) for place in places}
    return CopyReport(counts, [copy for place in places for copy in place.remaining(request)])


def forget_traces(memory: Memory, chosen: dict[int, list[int]]) -> None:
    """Delete the copies of events that another machine asks to forget.

    The caller changes the log.
    """
    request = ForgetRequest(chosen, positions=True)
    for place in BEFORE_LOG:
        place(memory).forget(request)


def forget_copies(memory: Memory, request: ForgetRequest, forget_log: Callable[[], None]) -> CopyReport:
    """Delete the copies of what a request names.

    `forget_log` changes the log at its turn.
    """
    before, after = ([place(memory) for place in group] for group in (BEFORE_LOG, AFTER_LOG))
    counts = {place.name: place.forget(request) for place in before}
    forget_log()
    counts |= {place.name: place.forget(request) for place in after}
    return CopyReport(counts, [copy for place in (*before, *after) for copy in place.remaining(request)])


def set_aside_stores(home: Path) -> list[Path]:
    """The folders of damaged stores that `recover` set aside."""
    return sorted(path for path in (home / QUARANTINE).glob("*") if path.is_dir() and not path.is_symlink())


def delete_set_aside_stores(home: Path) -> None:
    for folder in set_aside_stores(home):
        shutil.rmtree(folder)


def _read(path: Path) -> tuple[bytes | None, int]:
    """The content of a regular file and its time.

    None if it cannot be read or is too large.
    """
    try:
        with open_regular(path, links=False) as file:
            data = file.read(LARGEST + 1)
            return (data if len(data) <= LARGEST else None), os.fstat(file.fileno()).st_mtime_ns // 1000
    except OSError:  # a folder, or gone meanwhile
        return None, 0


def _json_texts(data: bytes) -> Iterable[str]:
    try:
        return texts_of(json.loads(data))
    except (ValueError, RecursionError):  # set aside because it is not JSON
        return re.findall(r"[\w-]+", data.decode("utf-8", "replace"))


def _has_text(data: bytes, match: TextMatch) -> bool:
    return match.in_bytes(data) or any(map(match.in_text, _json_texts(data)))


def _without(value: Any, unwanted: Callable[[str], bool], keep: frozenset[str] = frozenset()) -> Any:
    """The value with unwanted texts emptied, except under the names in `keep`."""
    if isinstance(value, str):
        return "" if unwanted(value) else value
    if isinstance(value, dict):
        return {
            "" if unwanted(name) else name: item if name in keep else _without(item, unwanted, keep)
            for name, item in value.items()
        }
    return [_without(item, unwanted, keep) for item in value] if isinstance(value, list) else value


def _bundle_has(path: Path, sessions: set[str], match: TextMatch | None) -> bool:
    """Whether a bundle has one of these sessions, or a text."""
    file = exporter.BundleFile(path, None)
    try:
        for line in exporter.parse_lines(file.lines()):
            if isinstance(line, BundleSession) and line.id in sessions:
                return True
            if match is None:
                continue
            if isinstance(line, BundleVersion):
                content = line.content
                if match.in_bytes(content if isinstance(content, bytes) else content.encode()):
                    return True
            if match.in_value(asdict(line)):
                return True
    finally:
        file.close()
    return False


def _last_on_disk(versions: FileVersions, found: Iterable[FileVersion]) -> list[str]:
    """The files whose last version is one of these and that are on disk."""
    paths = {
        f"{version.root.rstrip('/')}/{version.path}"
        for version in found
        if (last := versions.last(version.root, version.path)) is not None and last.id == version.id
    }
    return sorted(path for path in paths if os.path.lexists(path))


def _unlink(paths: Iterable[Path]) -> int:
    found = list(paths)
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def _delete(path: Path | str) -> str:
    return f"Delete the file {path}."
