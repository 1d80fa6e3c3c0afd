"""The verbs: the one façade that every surface calls.

Opening it costs nothing; the store is opened when a verb first needs it. It returns values of the model or
plain JSON-ready mappings as `docs/contract` promises them, and raises only `FazmMemoryError`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.recording import Switch
from fazm_memory.config import Config
from fazm_memory.errors import ConfigError, InvalidInput, NotFound
from fazm_memory.log import recover as recovery
from fazm_memory.log import verify as verification
from fazm_memory.log.forget import choose_events, files_named, forget_events
from fazm_memory.log.overview import overview
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.versions import Versions, versions_exist
from fazm_memory.model import diff
from fazm_memory.model.clock import iso, moment
from fazm_memory.model.commit_log import event_json
from fazm_memory.model.conventions import propose_all
from fazm_memory.model.organized import organized, organized_json, taken_names
from fazm_memory.model.state import SessionState
from fazm_memory.model.state import to_json as state_json
from fazm_memory.recall import choices, exports
from fazm_memory.recall.briefing import Briefing, briefing
from fazm_memory.recall.context_file import Context, render
from fazm_memory.recall.digest import digest, looked_at
from fazm_memory.recall.file_time import file_time
from fazm_memory.recall.habits import Habits, habits
from fazm_memory.recall.news import render_news
from fazm_memory.recall.searching import search
from fazm_memory.verbs.over_time import OverTime

if TYPE_CHECKING:
    from fazm_memory.capture.recorder import Recorded, Recorder
OWN_FACTS = "facts"


class Memory(OverTime):
    """What Fazm Memory can do, for one user on one machine."""

    def __init__(self, config: Config, now: Callable[[], int]) -> None:
        self.config = config
        self.now = now

    # -- the store ---------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        return Store(self.config.home, key=self.config.key)

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

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
            del self.__dict__["store"]
            self.__dict__.pop("recorder", None)

    # -- writing -----------------------------------------------------------------------------------------

    def record(self, drafts: Sequence[Draft]) -> list[Recorded]:
        """Record what a source tells. While recording is paused nothing is, and the caller is told."""
        self._switch.check()
        return self.recorder.record(drafts)

    def tell(self, session: str, kind: str, *, source: str = "cli", **payload: Any) -> dict[str, Any]:
        """Record one thing about an existing session, or raise why not."""
        row = self.store.sessions.resolve(session)
        given = {name: value for name, value in payload.items() if value is not None}
        result = self.record([Draft(session=row.id, kind=kind, payload=given, source=source)])[0]
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

    def events(
        self, session: str, *, start: int = 0, stop: int | None = None, kind: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """A slice of the commit log, half-open, as the contract's events."""
        row = self.store.sessions.resolve(session)
        for event in self.store.log.slice(row.n, row.id, start, stop):
            if kind is None or event.kind == kind:
                yield event_json(event)

    def state(self, session: str, *, at: int | None = None) -> dict[str, Any]:
        """The typed state after the first `at` events, or now, with what its file operations show."""
        state = self._state(self.store.sessions.resolve(session), at)
        return state_json(state) | organized_json(organized(state, file_time))

    def conventions(self, session: str, *, names: Sequence[str] = ()) -> dict[str, Any]:
        """How a session named files and which it skipped; what `names` would become, or why nobody knows."""
        state = self._state(self.store.sessions.resolve(session), None)
        learned = organized(state, file_time)
        times = {name: time for name in names if (time := file_time(name)) is not None}
        proposals = propose_all(learned.conventions, names, mtimes=times, taken=taken_names(state))
        return {
            "session": state.session,
            **organized_json(learned),
            "proposals": [{**one.__dict__, "alternatives": list(one.alternatives)} for one in proposals],
        }

    def diff(self, session: str, first: int, second: int, *, turns: bool = False) -> dict[str, Any]:
        """What changed between two positions, or between the ends of two turns, and why."""
        row = self.store.sessions.resolve(session)
        if turns:
            position = self.store.sessions.turn_position
            first, second = position(row.n, first, row.head), position(row.n, second, row.head)
        between = self.store.log.slice(row.n, row.id, min(first, second), max(first, second))
        return diff.compare(self._state(row, first), self._state(row, second), between)

    def _state(self, row: SessionRow, at: int | None) -> SessionState:
        position = self.position(row, at)
        with self.store.db.reading():
            return self.store.snapshots.state_at(row.n, row.id, position)

    def search(self, query: str, *, limit: int = 10) -> list[dict[str, Any]]:
        """What was done, said or decided, by any words and filters; best first."""
        self.store.index_all()
        found = []
        home = str(self.config.user_home)
        with self.store.db.reading():
            for hit in search(self.store, query, limit=limit, now=self.now(), home=home):
                row = self.store.sessions.resolve(hit.session)
                found.append(
                    {"session": hit.session, "title": row.title, "agent": row.agent,
                     "workspace": row.workspace, "seq": hit.seq,
                     "at": iso(hit.at), "kind": hit.kind, "snippet": hit.snippet, "score": hit.score}
                )  # fmt: skip
        return found

    def facts(self, *, history: bool = False, key: str | None = None) -> list[dict[str, Any]]:
        """What holds now, with who said so; with `history` every word on it."""
        rows = self.store.facts.history(key) if history else self.store.facts.current()
        return [row.to_json() for row in rows if key is None or row.key == key]

    def habits(self) -> Habits:
        """What recurs across sessions."""
        self.store.index_all()
        with self.store.db.reading():
            return habits(self.store)

    def state_fact(self, key: str, value: Any, *, source: str = "cli") -> None:
        """The user's own word on something; agents see it as a preference."""
        self._own_word("fact", {"key": key, "value": value}, source)

    def retract_fact(self, key: str, *, source: str = "cli") -> None:
        if not self.facts(key=key):
            raise NotFound(f"there is no fact {key!r} to take back", hint="`fazm-memory facts` lists them")
        self._own_word("fact.retract", {"key": key}, source)

    def _own_word(self, kind: str, payload: dict[str, Any], source: str) -> None:
        opening = {"agent": "person", "title": "The user's own facts", "background": True}
        told = self.record(
            [
                Draft(OWN_FACTS, "session.open", opening, agent="person", source=source),
                Draft(OWN_FACTS, kind, payload, agent="person", source=source),
            ]
        )
        for result in told:
            if result.error is not None:
                raise result.error

    def context(
        self, workspace: str | None = None, *, budget: int | None = None, besides: str | None = None
    ) -> Context:
        """Exactly what a new session in a folder would be given; without a folder, across all of them."""
        self.store.index_all()  # the minutes of a day follow the log with the index
        self.store.keep_heads(looked_at(self.store, workspace))
        with self.store.db.reading():
            told = digest(self.store, now=self.now(), workspace=workspace, besides=besides)
        return render(
            told,
            budget=budget or self.config.context_tokens,
            secret=self.store.keys.chain,
            choices=choices.read(self.store),
        )

    def briefing(self, session: str) -> Briefing:
        """What whoever takes up a session again should know first."""
        row = self.store.sessions.resolve(session)
        with self.store.db.reading():
            return briefing(self.store, row, now=self.now())

    def choose(self, item: str, choice: str | None) -> dict[str, str]:
        """Pin or exclude an item of the context for good, or (None) leave it to its rank again."""
        return choices.choose(self.store, item, choice)

    def export_contexts(self, workspaces: Sequence[str] = ()) -> list[Path]:
        """Write what hooks hand out: the context of the machine, of these and the latest folders, and the
        news of the latest sessions. Nothing else stays; the paths of the contexts."""
        if not self.recording()["recording"]:
            return []
        rows = self.store.sessions.listing(limit=4 * exports.SESSIONS)
        latest = list(dict.fromkeys(row.workspace for row in rows if row.workspace))[: exports.FOLDERS]
        wanted: list[str | None] = list(dict.fromkeys([None, *workspaces, *latest]))
        home = self.config.home
        made = [exports.write(home, folder, self.context(folder)) for folder in wanted]
        news = [exports.write_news(home, *told) for told in self._news(rows[: exports.SESSIONS])]
        exports.keep_only(home, [*made, *news])
        return made

    def _news(self, rows: Sequence[SessionRow]) -> Iterator[tuple[str, str]]:
        """What each session would be told on being taken up again, by its agent's own name for it."""
        with self.store.db.reading():
            for row in rows:
                text = render_news(self.store, row, now=self.now())
                if row.agent_session_id and text:
                    yield row.agent_session_id, text

    # -- recording or not --------------------------------------------------------------------------------

    @cached_property
    def _switch(self) -> Switch:
        return Switch(self.config.home, self.now, lambda drafts: self.recorder.record(drafts))

    def recording(self) -> dict[str, Any]:
        """Whether we record and, if not, since and until when."""
        return self._switch.status()

    def pause_recording(self, duration: int | None = None) -> dict[str, Any]:
        """Stop capturing for a time or until somebody resumes."""
        _ = self.store  # the folder must be safe before anything is written in it
        return self._switch.pause(duration)

    def resume_recording(self) -> dict[str, Any]:
        return self._switch.resume()

    # -- integrity ---------------------------------------------------------------------------------------

    def verify(
        self,
        *,
        full: bool = True,
        session: str | None = None,
        progress: Callable[[int], None] = lambda n: None,
    ) -> verification.Report:
        only = None if session is None else self.store.sessions.resolve(session).n
        return verification.verify(self.store.log, full=full, only=only, progress=progress)

    def recover(self, *, progress: Callable[[int], None] = lambda n: None) -> dict[str, Any]:
        """Set a damaged store aside and save all that verifies into a new one."""
        self.close()
        stamp = f"{moment(self.now()):%Y-%m-%dT%H%M%S}"
        told = recovery.recover(
            self.config.home, key=self.config.key, now=self.now(), stamp=stamp, progress=progress
        )
        return told.to_json()

    def forget(
        self,
        session: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        match: str | None = None,
        dry_run: bool = False,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Forget a session, a time, or whatever matches; with `dry_run` only say what that would be."""
        if session is None and since is None and until is None and match is None:
            raise InvalidInput(
                "nothing was named to forget", hint="give a session, --since/--until, or --match"
            )
        chosen = choose_events(self.store, session, since=since, until=until, match=match)
        count = sum(len(seqs) for seqs in chosen.values())
        told = {"sessions": len(chosen), "events": count, "dry_run": dry_run}
        if dry_run or not count:
            return told
        reason = "asked for by the user"
        self._forget_versions(files_named(self.store, chosen))
        told["events"] = forget_events(self.store, chosen, reason=reason, at=self.now(), source=source)
        if (self.config.home / exports.FOLDER).exists() and not self.export_contexts():
            exports.keep_only(self.config.home, ())  # while paused nothing is exported, nor left standing
        return told

    def _forget_versions(self, paths: set[str]) -> None:
        """Kept versions of forgotten files, if any were ever kept here."""
        if paths and versions_exist(self.config.home):
            versions = Versions(self.config.home, self.store.keys.database)
            try:
                versions.forget_files(paths)
            finally:
                versions.close()

    # -- status ------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Recording or not and why, the last event per source, sessions, size, where the key is."""
        return {**self.recording(), **overview(self.store), "home": str(self.config.home)}
