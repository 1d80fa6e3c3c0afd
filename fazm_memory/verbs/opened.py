"""What is open: the settings, the clock, and what lies on disk, opened on first use and closed together.

Every verb stands on this. A connection belongs to its thread, so one thread uses a façade and closes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from fazm_memory.config import Config
from fazm_memory.errors import ConfigError
from fazm_memory.log.drawer import Drawer
from fazm_memory.log.store import Store
from fazm_memory.log.versions import Versions, versions_exist

if TYPE_CHECKING:
    from fazm_memory.capture.recorder import Recorder


class Opened:
    """What all verbs of `Memory` share. Mixed into it; not for use alone."""

    def __init__(
        self, config: Config, now: Callable[[], int], *, news: Callable[[str], None] | None = None
    ) -> None:
        """`news` is given words before opening the store takes more than a moment."""
        self.config = config
        self.now = now
        self._tell_of_opening = news

    @cached_property
    def store(self) -> Store:
        return Store(self.config.home, key=self.config.key, tell=self._tell_of_opening)

    @cached_property
    def recorder(self) -> Recorder:
        # Late: the rules of the scrubber take a moment to compile, and reading needs none of them.
        from fazm_memory.capture.recorder import Recorder
        from fazm_memory.capture.scrub import PatternError, Scrubber, UserPattern

        try:
            patterns = [UserPattern(one.name, one.regex) for one in self.config.redact]
            scrubber = Scrubber(patterns, text_cap=self.config.text_cap)
        except PatternError as error:
            raise ConfigError(str(error), hint="mend the [[redact]] pattern in config.toml") from error
        return Recorder(self.store, scrubber, self.now)

    @cached_property
    def drawer(self) -> Drawer:
        """What programs leave here to get back exactly as it was."""
        return Drawer(self.config.home, self.store.keys.database, self.now)

    @cached_property
    def versions(self) -> Versions:
        """Kept versions of files; made when there are none yet."""
        return Versions(self.config.home, self.store.keys.database)

    @property
    def versions_kept(self) -> Versions | None:
        """The same for whoever only looks: None when none were ever kept here."""
        return self.versions if versions_exist(self.config.home) else None

    def close(self) -> None:
        """All that is open; a verb that comes after opens it anew."""
        self.__dict__.pop("recorder", None)  # it holds the store
        for name in ("versions", "drawer", "store"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
