"""`Memory`: the one object that every surface works with.

It is composed of services, each loaded when first used. Opening it costs nothing: the store is opened when a
service first needs it. A database connection belongs to its thread: one thread uses a `Memory` and closes it.
Services return values of the model or plain JSON-ready mappings and raise only `FazmMemoryError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fazm_memory.app.process import companion_pid
from fazm_memory.config import Config
from fazm_memory.errors import ConfigError
from fazm_memory.paths import SYNC_DATABASE

# Services and the recorder are imported when first used: reading needs no redaction rules, and printing a
# context needs neither recovery nor bundles.
if TYPE_CHECKING:
    from fazm_memory.app.bundles import BundleService
    from fazm_memory.app.costs import CostService
    from fazm_memory.app.history import HistoryService
    from fazm_memory.app.maintenance import MaintenanceService
    from fazm_memory.app.own_folders import OwnFolderService
    from fazm_memory.app.recall import RecallService
    from fazm_memory.app.recording import RecordingService
    from fazm_memory.app.replay import ReplayService
    from fazm_memory.app.rewind import RewindService
    from fazm_memory.app.sessions import SessionService
    from fazm_memory.app.setup import SetupService
    from fazm_memory.app.sync import SyncService
    from fazm_memory.app.timeline import TimelineService
    from fazm_memory.app.transcripts import ContinuationService, TranscriptService
    from fazm_memory.app.updates import UpdateService
    from fazm_memory.engines.redaction import Redactor
    from fazm_memory.ingest import QuotaLimits, Recorder
    from fazm_memory.store import FileVersions, FrameworkStore, Store, TranscriptCopies


class Service:
    """A part of `Memory`.

    Services share its settings, clock and store, and call each other through it.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.now = memory.now

    @property
    def config(self) -> Config:
        return self._memory.config

    @property
    def store(self) -> Store:
        return self._memory.store


class Memory:
    """What Fazm Memory can do, for one user on one machine."""

    def __init__(
        self,
        config: Config,
        now: Callable[[], int],
        *,
        on_slow_open: Callable[[str], None] | None = None,
        as_of: int | None = None,
    ) -> None:
        """Open the memory of a home folder.

        `on_slow_open` is called with a message before opening the store takes more than a moment.

        With `as_of`, readers show nothing that was recorded as later than this time.
        """
        self.config = config
        self.now = now
        self._as_of = as_of
        self._on_slow_open = on_slow_open

    @cached_property
    def sessions(self) -> SessionService:
        from fazm_memory.app.sessions import SessionService

        return SessionService(self)

    @cached_property
    def recording(self) -> RecordingService:
        from fazm_memory.app.recording import RecordingService

        return RecordingService(self)

    @cached_property
    def history(self) -> HistoryService:
        from fazm_memory.app.history import HistoryService

        return HistoryService(self)

    @cached_property
    def timeline(self) -> TimelineService:
        from fazm_memory.app.timeline import TimelineService

        return TimelineService(self)

    @cached_property
    def recall(self) -> RecallService:
        from fazm_memory.app.recall import RecallService

        return RecallService(self)

    @cached_property
    def replay(self) -> ReplayService:
        from fazm_memory.app.replay import ReplayService

        return ReplayService(self)

    @cached_property
    def rewind(self) -> RewindService:
        from fazm_memory.app.rewind import RewindService

        return RewindService(self)

    @cached_property
    def own_folders(self) -> OwnFolderService:
        from fazm_memory.app.own_folders import OwnFolderService

        return OwnFolderService(self)

    @cached_property
    def maintenance(self) -> MaintenanceService:
        from fazm_memory.app.maintenance import MaintenanceService

        return MaintenanceService(self)

    @cached_property
    def bundles(self) -> BundleService:
        from fazm_memory.app.bundles import BundleService

        return BundleService(self)

    @cached_property
    def setup(self) -> SetupService:
        from fazm_memory.app.setup import SetupService

        return SetupService(self)

    @cached_property
    def sync(self) -> SyncService:
        from fazm_memory.app.sync import SyncService

        return SyncService(self)

    @cached_property
    def continuation(self) -> ContinuationService:
        from fazm_memory.app.transcripts import ContinuationService

        return ContinuationService(self)

    @cached_property
    def costs(self) -> CostService:
        from fazm_memory.app.costs import CostService

        return CostService(self)

    @cached_property
    def transcripts(self) -> TranscriptService:
        from fazm_memory.app.transcripts import TranscriptService

        return TranscriptService(self)

    @cached_property
    def updates(self) -> UpdateService:
        from fazm_memory.app.updates import UpdateService

        return UpdateService(self)

    def status(self) -> dict[str, Any]:
        """Recording or paused, last event per source, totals, size, and key location."""
        from fazm_memory.store import STORE_FOLDER, store_overview

        synced = (self.config.home / STORE_FOLDER / SYNC_DATABASE).exists()  # the rest of it is slow to load

        return {
            **self.recording.status(),
            **store_overview(self.store),
            "retention": self.maintenance.announced_retention(),
            "quota": self.recording.quota(),
            "companion": companion_pid(self.config.home),
            "watching": self.recording.watched_folders(),
            "desktop": self.recording.desktop(),
            "sync": self.sync.summary() if synced else None,
            "transcripts": self.transcripts.overview(),
            "update": self.updates.status()["newer"],
            "home": str(self.config.home),
        }

    @cached_property
    def store(self) -> Store:
        from fazm_memory.store import Store

        store = Store(self.config.home, key=self.config.key, tell=self._on_slow_open)
        if self._as_of is not None:
            store.show_as_of(self._as_of)
        return store

    @cached_property
    def recorder(self) -> Recorder:
        from fazm_memory.ingest import Recorder

        redactor = self.build_redactor(self.config.text_cap)
        return Recorder(self.store, redactor, self.now, self.quota_limits())

    def quota_limits(self) -> QuotaLimits:
        """How much one session and one day may record, from the settings."""
        from fazm_memory.ingest import QuotaLimits

        return QuotaLimits(self.config.quota_session_megabytes << 20, self.config.quota_day_megabytes << 20)

    def build_redactor(self, text_cap: int) -> Redactor:
        """A redactor with the user's patterns. Building one takes a moment."""
        from fazm_memory.engines.redaction import PatternError, Redactor, UserPattern

        try:
            patterns = [UserPattern(pattern.name, pattern.regex) for pattern in self.config.redact]
            return Redactor(patterns, text_cap=text_cap)
        except PatternError as error:
            raise ConfigError(str(error), hint="correct the [[redact]] pattern in config.toml") from error

    @cached_property
    def framework_store(self) -> FrameworkStore:
        """Opaque data of agent frameworks."""
        from fazm_memory.store import FrameworkStore

        return FrameworkStore(self.config.home, self.store.keys.database, self.now)

    @cached_property
    def file_versions(self) -> FileVersions:
        """Stored versions of files. Created when there are none yet."""
        from fazm_memory.store import FileVersions

        return FileVersions(self.config.home, self.store.keys.database)

    @property
    def existing_file_versions(self) -> FileVersions | None:
        """Stored versions of files for reading; None when none were ever stored here."""
        from fazm_memory.store import versions_exist

        return self.file_versions if versions_exist(self.config.home) else None

    @cached_property
    def transcript_copies(self) -> TranscriptCopies:
        """Copies of the agents' own transcripts. Created when there are none yet."""
        from fazm_memory.store import TranscriptCopies

        return TranscriptCopies(self.config.home, self.store.keys.database)

    @property
    def existing_transcript_copies(self) -> TranscriptCopies | None:
        """The copies for reading; None when none were ever made here."""
        from fazm_memory.store import transcript_copies_exist

        return self.transcript_copies if transcript_copies_exist(self.config.home) else None

    def close(self) -> None:
        """Close everything that is open. The next use opens it again."""
        self.__dict__.pop("transcripts", None)  # it holds the copies
        self.__dict__.pop("recorder", None)  # it holds the store
        if "sync" in self.__dict__:
            self.sync.close()
        for name in ("file_versions", "framework_store", "transcript_copies", "store"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
