"""The verbs of recall: facts, habits, context, briefing, and the files that hold what a session is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.watched import AT_WORK
from fazm_memory.errors import NotFound
from fazm_memory.log.sessions import SessionRow
from fazm_memory.model.counting import plural
from fazm_memory.recall import choices, exports
from fazm_memory.recall.briefing import Briefing, briefing
from fazm_memory.recall.context_file import Context, render
from fazm_memory.recall.digest import Digest, digest, looked_at
from fazm_memory.recall.habits import Habits, habits
from fazm_memory.recall.news import render_news
from fazm_memory.recall.searching import notes
from fazm_memory.verbs.telling import Telling

OWN_FACTS = "facts"


class Recalling(Telling):
    """What `Memory` can give back. Mixed into it; not for use alone."""

    def facts(self, *, history: bool = False, key: str | None = None) -> list[dict[str, Any]]:
        """What holds now, with who said so; with `history` every word on it."""
        rows = self.store.facts.history(key) if history else self.store.facts.current()
        return [row.to_json() for row in rows if key is None or row.key == key]

    def habits(self) -> Habits:
        """What recurs across sessions."""
        self.store.index_all()
        with self.store.db.reading():
            return habits(self.store)

    def state_fact(self, key: str, value: Any, *, source: str = "cli", agent: str | None = None) -> None:
        """The user's own word on something; agents see it as a preference. With `agent` it is the agent's."""
        self._own_word("fact", {"key": key, "value": value}, source, agent)

    def retract_fact(self, key: str, *, source: str = "cli", agent: str | None = None) -> None:
        if not self.facts(key=key):
            raise NotFound(f"there is no fact {key!r} to take back", hint="`fazm-memory facts` lists them")
        self._own_word("fact.retract", {"key": key}, source, agent)

    def _own_word(self, kind: str, payload: dict[str, Any], source: str, agent: str | None) -> None:
        name, title = OWN_FACTS, "The user's own facts"
        if agent is not None:
            name, title, source = f"{OWN_FACTS} of {agent}", f"Facts that {agent} told", "record"
        opening = {"agent": agent or "person", "title": title, "background": True}
        told = self.record(
            [
                Draft(name, "session.open", opening, agent=agent or "person", source=source),
                Draft(name, kind, payload, agent=agent or "person", source=source),
            ]
        )
        for result in told:
            if result.error is not None:
                raise result.error

    def query_doubts(self, query: str) -> tuple[str, ...]:
        """What whoever searched should know of the answer: which parts of the query are no filters after all,
        match no session, or were let go of because nothing else was found; and what was not searched."""
        left_out = self.store.take_in()
        with self.store.db.reading():
            found = notes(self.store, query, now=self.now(), home=str(self.config.user_home))
        if left_out:
            return (*found, f"the disk is full: the newest {plural(left_out, 'event')} could not be searched")
        return found

    def context(
        self, workspace: str | None = None, *, budget: int | None = None, besides: str | None = None
    ) -> Context:
        """Exactly what a new session in a folder would be given; without a folder, across all of them."""
        return render(
            self.digest(workspace, besides=besides),
            budget=budget or self.config.context_tokens,
            secret=self.store.keys.chain,
            choices=choices.read(self.store),
        )

    def digest(self, workspace: str | None = None, *, besides: str | None = None) -> Digest:
        """What was done and left open, today and on the last day before, as values."""
        self.store.index_all()  # the minutes of a day follow the log with the index
        pinned = {item for item, choice in choices.read(self.store).items() if choice == "pin"}
        self.store.keep_heads(looked_at(self.store, workspace, pinned))
        with self.store.db.reading():
            return digest(self.store, now=self.now(), workspace=workspace, besides=besides, pinned=pinned)

    def briefing(self, session: str) -> Briefing:
        """What whoever takes up a session again should know first."""
        row = self.store.sessions.resolve(session)
        found = []
        if row.workspace is not None and row.lifecycle not in AT_WORK and self.recording()["recording"]:
            from fazm_memory.capture.meanwhile import meanwhile  # brings Git's rules along

            found = meanwhile(self.store.db, row.workspace, self.now())
        with self.store.db.reading():
            return briefing(self.store, row, now=self.now(), meanwhile=found)

    def choose(self, item: str, choice: str | None) -> dict[str, str]:
        """Pin or exclude an item of the context for good, or (None) leave it to its rank again."""
        made = choices.choose(self.store, item, choice)
        self._export_anew(item)
        return made

    def _export_anew(self, item: str) -> None:
        """Hooks hand out files: those that a choice about an item changes are written at once."""
        home = self.config.home
        folders = dict.fromkeys(exports.naming(home, item))
        begins = {item.partition(":")[0]}
        for row in self.store.sessions.in_workspace(None, limit=1, begins=begins):  # it may be in none yet
            folders |= dict.fromkeys([None, row.workspace])
        for folder in folders:
            if not (home / exports.FOLDER / f"{exports.file_name(folder)}.md").exists():
                continue
            if not self.recording()["recording"]:  # while paused nothing is exported, nor left standing
                exports.keep_only(home, ())
                return
            exports.write(home, folder, self.context(folder))

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
