"""The verbs: the one façade that every surface calls.

Opening it costs nothing; the store is opened when a verb first needs it. It returns values of the model or
plain JSON-ready mappings as `docs/contract` promises them, and raises only `FazmMemoryError`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.instance import running
from fazm_memory.capture.recording import Switch
from fazm_memory.capture.watched import noted
from fazm_memory.config import Config
from fazm_memory.errors import ConfigError, InvalidInput
from fazm_memory.log.drawer import Drawer
from fazm_memory.log.overview import overview
from fazm_memory.log.store import Store
from fazm_memory.model.clock import iso
from fazm_memory.model.organized import organized, organized_json, taken_names
from fazm_memory.recall.file_time import file_time
from fazm_memory.recall.searching import search
from fazm_memory.verbs.branching import Branching
from fazm_memory.verbs.browsing import Browsing
from fazm_memory.verbs.doubting import Doubting
from fazm_memory.verbs.excluding import Excluding
from fazm_memory.verbs.files_back import FilesBack
from fazm_memory.verbs.inspecting import Inspecting
from fazm_memory.verbs.keeping import Keeping
from fazm_memory.verbs.moving import Moving
from fazm_memory.verbs.over_time import OverTime
from fazm_memory.verbs.reading import Reading
from fazm_memory.verbs.recalling import Recalling
from fazm_memory.verbs.replaying import Replaying

if TYPE_CHECKING:
    from fazm_memory.capture.recorder import Recorded, Recorder


class Memory(
    Recalling,
    Keeping,
    Moving,
    OverTime,
    Excluding,
    Reading,
    FilesBack,
    Branching,
    Browsing,
    Inspecting,
    Replaying,
    Doubting,
):
    """What Fazm Memory can do, for one user on one machine."""

    def __init__(
        self, config: Config, now: Callable[[], int], *, news: Callable[[str], None] | None = None
    ) -> None:
        """`news` is given words before opening the store takes more than a moment."""
        self.config = config
        self.now = now
        self._tell_of_opening = news

    # -- the store ---------------------------------------------------------------------------------------

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

    def close(self) -> None:
        self.close_versions()
        if "drawer" in self.__dict__:
            self.__dict__.pop("drawer").close()
        if "store" in self.__dict__:
            self.store.close()
            del self.__dict__["store"]
            self.__dict__.pop("recorder", None)

    # -- writing -----------------------------------------------------------------------------------------

    def record(self, drafts: Sequence[Draft]) -> list[Recorded]:
        """Record what a source tells. While recording is paused nothing is, and the caller is told."""
        self._switch.check()
        return self.recorder.record(drafts)

    def tell(
        self, session: str, kind: str, *, source: str = "cli", door: str | None = None, **payload: Any
    ) -> dict[str, Any]:
        """Record one thing about an existing session, or raise why not."""
        row = self.store.sessions.resolve(session)
        given = {name: value for name, value in payload.items() if value is not None}
        result = self.record([Draft(session=row.id, kind=kind, payload=given, source=source, door=door)])[0]
        if result.error is not None:
            raise result.error
        return self.session(row.id)

    def open_session(
        self,
        agent: str,
        *,
        key: str | None = None,
        workspace: str | None = None,
        title: str | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Open a session; with a key that is known already, the same one again."""
        name = key or secrets.token_hex(16)
        payload = {"agent": agent, "workspace": workspace, "title": title, "agent_session_id": name}
        given = {field: value for field, value in payload.items() if value is not None}
        result = self.record([Draft(name, "session.open", given, agent=agent, source=source)])[0]
        if result.appended is None:
            raise result.error or InvalidInput("the session could not be opened")
        return self.session(result.appended.session)

    def move(
        self, session: str, move: str, *, reason: str | None = None, source: str = "cli"
    ) -> dict[str, Any]:
        """pause, resume, close, archive or restore a session."""
        if move == "resume":
            self.check_answered(self.store.sessions.resolve(session))
        return self.tell(session, f"session.{move}", source=source, reason=reason)

    # -- reading -----------------------------------------------------------------------------------------

    def sessions(self, **filters: Any) -> list[dict[str, Any]]:
        return [row.to_json() for row in self.store.sessions.listing(**filters)]

    def session(self, session: str) -> dict[str, Any]:
        return self.store.sessions.resolve(session).to_json()

    def conventions(self, session: str, *, names: Sequence[str] = ()) -> dict[str, Any]:
        """How a session named files and which it skipped; what `names` would become, or why nobody knows."""
        state = self._state(self.store.sessions.resolve(session), None, False)
        learned = organized(state, file_time)
        from fazm_memory.model.conventions import propose_all  # late, as the learner itself

        times = {name: time for name in names if (time := file_time(name)) is not None}
        proposals = propose_all(learned.conventions, names, mtimes=times, taken=taken_names(state))
        return {
            "session": state.session,
            **organized_json(learned),
            "proposals": [{**one.__dict__, "alternatives": list(one.alternatives)} for one in proposals],
        }

    def search(self, query: str, *, limit: int = 10, quarantined: bool = False) -> list[dict[str, Any]]:
        """What was done, said or decided, by any words and filters; best first. What is quarantined only
        when it is asked for."""
        self.store.index_all()
        found = []
        home = str(self.config.user_home)
        with self.store.db.reading():
            found_hits = search(
                self.store, query, limit=limit, now=self.now(), home=home, quarantined=quarantined
            )
            for hit in found_hits:
                row = self.store.sessions.resolve(hit.session)
                found.append(
                    {"session": hit.session, "title": row.title, "agent": row.agent,
                     "workspace": row.workspace, "seq": hit.seq,
                     "at": iso(hit.at), "kind": hit.kind, "snippet": hit.snippet, "score": hit.score}
                )  # fmt: skip
        return found

    # -- recording or not --------------------------------------------------------------------------------

    @cached_property
    def _switch(self) -> Switch:
        return Switch(self.config.home, self.now, lambda drafts: self.recorder.record(drafts))

    def check_recording(self) -> None:
        """Nothing, or RecordingPaused: every verb that writes asks."""
        self._switch.check()

    def recording(self) -> dict[str, Any]:
        """Whether we record and, if not, since and until when."""
        return self._switch.status()

    def pause_recording(self, duration: int | None = None) -> dict[str, Any]:
        """Stop capturing for a time or until somebody resumes."""
        _ = self.store  # the folder must be safe before anything is written in it
        return self._switch.pause(duration)

    def resume_recording(self) -> dict[str, Any]:
        return self._switch.resume()

    # -- status ------------------------------------------------------------------------------------------

    def watching(self) -> list[dict[str, Any]]:
        """The folders that the companion watches now: how, since when; and those it leaves alone, and why."""
        if running(self.config.home) is None:
            return []
        return [
            {
                "folder": one.folder,
                "how": one.how,
                "since": None if one.since is None else iso(one.since),
                "refused": one.refused,
            }
            for one in noted(self.store.db)
        ]

    def status(self) -> dict[str, Any]:
        """Recording or not and why, the last event per source, sessions, size, where the key is."""
        return {
            **self.recording(),
            **overview(self.store),
            "companion": running(self.config.home),
            "watching": self.watching(),
            "desktop": self.desktop(),
            "home": str(self.config.home),
        }
