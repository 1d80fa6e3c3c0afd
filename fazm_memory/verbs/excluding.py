"""The verbs of leaving alone: which apps are never looked at, and what the desktop watcher says of itself."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fazm_memory.capture import desk_state, excluded
from fazm_memory.capture.exclusions import Exclusions
from fazm_memory.capture.instance import running
from fazm_memory.private import private_folder
from fazm_memory.verbs.opened import Opened


class Excluding(Opened):
    """What `Memory` leaves alone. Mixed into it; not for use alone."""

    def exclusions(self) -> Exclusions:
        """What is never looked at, now: seeded, in the settings, and asked for since."""
        return excluded.exclusions(self.config.exclude_apps, self.config.home)

    def excluded_apps(self) -> dict[str, Any]:
        """The user's own: of the settings, and of the list that can be added to."""
        return {"settings": list(self.config.exclude_apps), "apps": list(excluded.read(self.config.home))}

    def excluded_folders(self) -> list[str]:
        """Folders that are neither watched nor kept versions of."""
        return list(excluded.read(self.config.home, excluded.FOLDERS))

    def exclude_folder(self, folder: str) -> list[str]:
        """Do not watch a folder from now on, wherever agents work."""
        path = os.path.join(str(self.config.user_home), folder[2:]) if folder.startswith("~/") else folder
        return list(excluded.add_folder(private_folder(self.config.home), path))

    def include_folder(self, folder: str) -> list[str]:
        return list(excluded.remove_folder(self.config.home, folder))

    def desktop(self) -> dict[str, Any] | None:
        """Whether the desktop is watched and its windows may be read; None where nobody watches it."""
        state = desk_state.read(self.config.home)
        return None if state is None or running(self.config.home) is None else asdict(state)

    def exclude_app(self, name: str, bundle: str | None = None) -> dict[str, Any]:
        """Do not look at an app from now on: by its bundle identifier, which a new name does not change."""
        home: Path = private_folder(self.config.home)
        excluded.add(home, [excluded.literally(bundle or name)])
        return self.excluded_apps()

    def include_app(self, app: str) -> dict[str, Any]:
        """Take an app off the list again, as it stands there."""
        excluded.remove(self.config.home, app)
        return self.excluded_apps()
