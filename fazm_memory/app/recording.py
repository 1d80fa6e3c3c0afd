"""Pause and resume recording, and what is excluded from it."""

from __future__ import annotations

import os
import time
from typing import Any

from fazm_memory import ingest, watch
from fazm_memory.app.memory import Service
from fazm_memory.app.process import companion_pid
from fazm_memory.clock import iso
from fazm_memory.config import CONFIG_FILE, reload, save_settings
from fazm_memory.errors import ConfigError, InvalidRequest, RecordingPaused
from fazm_memory.paths import inside, private_folder
from fazm_memory.records import asdict
from fazm_memory.text import plural


class RecordingService(Service):
    """Pause and resume recording, and what is excluded from it.

    Use it as `memory.recording`.
    """

    _added: tuple[int, tuple[str, ...]] | None = None

    def check(self) -> None:
        """Raise RecordingPaused while recording is paused."""
        pause = self._pause()
        if pause is not None:
            values = pause.to_json()
            until = f"until {values['until']}" if values["until"] else "until you resume it"
            raise RecordingPaused(
                f"Recording is paused since {values['since']}, {until}. Nothing was recorded.",
                hint="`fazm-memory recording resume` continues recording",
            )

    def status(self) -> dict[str, Any]:
        """Whether recording is on and, if not, since and until when."""
        pause = self._pause()
        values = {} if pause is None else pause.to_json()
        return {
            "recording": pause is None,
            "paused_since": values.get("since"),
            "paused_until": values.get("until"),
        }

    def pause(self, duration: int | None = None) -> dict[str, Any]:
        """Stop recording for a time, or until it is resumed.

        A second pause moves only the end.
        """
        _ = self.store  # the folder must be safe before anything is written in it
        now, known = self.now(), self._pause()
        since = now if known is None else known.since
        until = None if duration is None else now + duration
        ingest.write_pause(self.config.home, ingest.Pause(since, until))
        return self.status()

    def resume(self) -> dict[str, Any]:
        try:
            pause = ingest.read_pause(self.config.home)
        except ConfigError:
            pause = ingest.Pause(since=self.now())
        if pause is not None:
            self._end(pause, self.now())
        return self.status()

    def _pause(self) -> ingest.Pause | None:
        """The pause that lasts, or None. One that is over is ended."""
        pause = ingest.read_pause(self.config.home)
        if pause is None or not pause.over(self.now()):
            return pause
        self._end(pause, pause.until or self.now())
        return None

    def _end(self, pause: ingest.Pause, until: int) -> None:
        """Record the gap, then end the pause.

        After a crash in between recording stays paused.
        """
        self._memory.recorder.record(ingest.pause_gap(pause, until))
        ingest.clear_pause(self.config.home)

    def exclusions(self) -> watch.Exclusions:
        """The current exclusions: built in, from the settings, and added by the user."""
        return watch.scope.current_exclusions(self.config.exclude_apps, self.config.home)

    def excluded_apps(self) -> dict[str, Any]:
        """The apps that the user excluded, in the settings and in the list."""
        return {
            "settings": list(self.config.exclude_apps),
            "apps": list(watch.scope.read_list(self.config.home)),
        }

    def excluded_folders(self) -> list[str]:
        """Folders that are not watched and of which no versions are stored."""
        return list(watch.scope.read_list(self.config.home, watch.scope.FOLDERS))

    def exclude_folder(self, folder: str) -> list[str]:
        """Stop watching a folder, also when an agent works in it."""
        path = os.path.join(str(self.config.user_home), folder[2:]) if folder.startswith("~/") else folder
        return list(watch.scope.add_folder(private_folder(self.config.home), path))

    def wait_for_companion(self, seconds: float = 15.0) -> bool | None:
        """Wait until the companion obeys the exclusions. None if it is not running."""
        until = time.monotonic() + seconds
        while companion_pid(self.config.home) is not None:
            if watch.scope.are_obeyed(self.store.db, self.config.home):
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.05)
        return None

    def stored_of_folder(self, folder: str) -> dict[str, int]:
        """What was stored of a folder: file versions and sessions in it."""
        versions = self._memory.existing_file_versions
        workspaces = self.store.db.execute("SELECT workspace FROM session WHERE workspace IS NOT NULL")
        return {
            "versions": 0 if versions is None else versions.count_inside(folder),
            "sessions": sum(inside(path, folder) for (path,) in workspaces.fetchall()),
        }

    def include_folder(self, folder: str) -> list[str]:
        return list(watch.scope.remove_folder(self.config.home, folder))

    def added_folders(self) -> tuple[str, ...]:
        """Folders in config.toml that are watched besides the workspaces.

        The file is read again each time.
        """
        path = self.config.home / CONFIG_FILE
        changed = path.stat().st_mtime_ns if path.exists() else 0
        if self._added is None or self._added[0] != changed:
            self._added = changed, reload(self.config).watch
        return self._added[1]

    def add_folder(self, folder: str) -> tuple[str, ...]:
        """Watch a folder, also one that macOS protects.

        The system asks for consent when it is first read.
        """
        path = checked_folder(folder, str(self.config.user_home))
        listed = tuple(dict.fromkeys((*self.added_folders(), path)))
        save_settings(self.config, {"watch": list(listed)})
        watch.forget_place(self.store.db, path)
        return self.added_folders()

    def remove_folder(self, folder: str) -> tuple[str, ...]:
        """No longer watch a folder that was added."""
        path = checked_folder(folder, str(self.config.user_home))
        listed = [name for name in self.added_folders() if name not in (folder, path)]
        save_settings(self.config, {"watch": listed})
        return self.added_folders()

    def desktop(self) -> dict[str, Any] | None:
        """Whether the desktop is watched and its windows may be read.

        None if nothing watches it.
        """
        state = watch.foreground_app.read_state(self.config.home)
        return None if state is None or companion_pid(self.config.home) is None else asdict(state)

    def exclude_app(self, name: str, bundle: str | None = None) -> dict[str, Any]:
        """Stop recording an app, by its bundle identifier if known."""
        watch.scope.add_apps(private_folder(self.config.home), [watch.scope.literal_pattern(bundle or name)])
        return self.excluded_apps()

    def exclude_pattern(self, pattern: str) -> dict[str, Any]:
        """Stop recording the apps that a pattern on another machine's list names."""
        watch.scope.add_apps(private_folder(self.config.home), [pattern])
        return self.excluded_apps()

    def include_app(self, app: str) -> dict[str, Any]:
        """Remove an app from the list, by its entry."""
        watch.scope.remove_app(self.config.home, app)
        return self.excluded_apps()

    def quota(self) -> dict[str, Any]:
        """How much of the limits is used today and by sessions near theirs.

        Includes a warning, or None.
        """
        used = ingest.read_usage(self.store.db, self._memory.quota_limits(), self.now())
        return {**used, "warning": quota_warning(used)}

    def stopped_watcher(self) -> str | None:
        """Why the companion's file watcher stopped in the last minute, or None."""
        reasons = (folder["refused"] or "" for folder in self.watched_folders())
        return next((reason for reason in reasons if reason.startswith(watch.WATCHER_STOPPED)), None)

    def watched_folders(self) -> list[dict[str, Any]]:
        """The folders that the companion watches or refused to watch."""
        if companion_pid(self.config.home) is None:
            return []
        return [
            {
                "folder": watched.folder,
                "how": watched.how,
                "since": None if watched.since is None else iso(watched.since),
                "refused": watched.refused,
            }
            for watched in watch.load_watched_folders(self.store.db)
        ]


def quota_warning(used: dict[str, Any]) -> str | None:
    """What is near or above its limit, in words."""
    parts = [(f"Session {entry['session'][:8]}", entry) for entry in used["sessions"]]
    day = used["day"]
    if day["limit"] and day["bytes"] >= 0.8 * day["limit"]:
        parts.insert(0, ("Today", day))
    if not parts:
        return None
    said = [
        f"{name} has recorded {entry['bytes'] >> 20:,} of {entry['limit'] >> 20:,} MB"
        + (f" ({plural(entry['cut'], 'detail')} cut)" if entry["cut"] else "")
        for name, entry in parts
    ]
    return f"{'; '.join(said)}. Above the limit, details of calls are recorded without long texts."


def checked_folder(folder: str, user_home: str) -> str:
    """The absolute path of a folder that exists. `~` is the user's home."""
    path = os.path.normpath(os.path.join(user_home, folder[2:]) if folder.startswith("~/") else folder)
    if not os.path.isabs(path) or not os.path.isdir(path):
        raise InvalidRequest(f"{folder[:200]!r} is not a folder", hint="give its absolute path")
    return path
