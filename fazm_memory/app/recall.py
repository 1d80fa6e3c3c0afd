"""Facts, habits, search, context and briefings."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fazm_memory import __version__
from fazm_memory import recall as recalling
from fazm_memory import session as sessions
from fazm_memory.app.memory import Service
from fazm_memory.clock import iso, modification_time, parse_time, to_datetime
from fazm_memory.errors import NotFound
from fazm_memory.events import Draft
from fazm_memory.paths import CONTEXT_FOLDER, SYNC_DATABASE, inside
from fazm_memory.store import AT_WORK, STORE_FOLDER, SessionRow
from fazm_memory.text import plural
from fazm_memory.watch import WORKING

OWN_FACTS = "facts"
HOUR = 3_600_000_000
# Rows of `meta` that change contexts: choices about items, quarantine, names of folders and machines.
MARKS = (
    "key IN ('context.choices', 'quarantine') OR key GLOB 'folder:*' OR key GLOB 'own-folder:*'"
    " OR key GLOB 'device:*'"
)
MOST_FILES = 20  # first hits whose file is looked up
MOST_REMINDING = 60  # latest sessions that reminders come from
STATES = 64  # states that are kept while contexts are written


def _exists_check(workspace: str | None) -> Callable[[str], bool]:
    """Whether a file of a session is here.

    Without its folder nothing is known, so nothing is missing.
    """
    if workspace is None or not os.path.isdir(workspace):
        return lambda path: True
    return lambda path: not inside(path, workspace) or os.path.lexists(path)


class RecallService(Service):
    """Facts, habits, search, context and briefings. Use it as `memory.recall`."""

    _left_out: tuple[int, str] | None = None  # of the last search: events that it could not see, and why

    def facts(self, *, history: bool = False, key: str | None = None) -> list[dict[str, Any]]:
        """The current facts and their sources. With `history`, every recorded value."""
        rows = self.store.facts.history(key) if history else self.store.facts.current()
        return [row.to_json() for row in rows if key is None or row.key == key]

    def habits(self) -> recalling.Habits:
        """Work that recurs across sessions."""
        if not self.store.db.read_only:
            self.store.index_all()
        with self.store.db.reading():
            return recalling.find_habits(self.store)

    def add_fact(self, key: str, value: Any, *, source: str = "cli", agent: str | None = None) -> None:
        """Record a fact of the user, which agents see as a preference, or of `agent`."""
        self._record_fact("fact", {"key": key, "value": value}, source, agent)

    def retract_fact(self, key: str, *, source: str = "cli", agent: str | None = None) -> None:
        if not self.facts(key=key):
            raise NotFound(f"there is no fact {key!r} to take back", hint="`fazm-memory facts` lists them")
        self._record_fact("fact.retract", {"key": key}, source, agent)

    def _record_fact(self, kind: str, payload: dict[str, Any], source: str, agent: str | None) -> None:
        name, title = OWN_FACTS, "The user's own facts"
        if agent is not None:
            name, title, source = f"{OWN_FACTS} of {agent}", f"Facts that {agent} told", "record"
        opening = {"agent": agent or "person", "title": title, "background": True}
        results = self._memory.sessions.record(
            [
                Draft(name, "session.open", opening, agent=agent or "person", source=source),
                Draft(name, kind, payload, agent=agent or "person", source=source),
            ]
        )
        for result in results:
            if result.error is not None:
                raise result.error

    def search_notes(self, query: str) -> tuple[str, ...]:
        """Notes on a search: unused filters and what was not searched."""
        left_out, why = self._left_out if self._left_out is not None else self.store.index_if_possible()
        self._left_out = None
        with self.store.db.reading():
            notes = recalling.search_notes(self.store, query, now=self.now(), home=str(self.config.user_home))
        if left_out:
            return (*notes, f"{why}: the newest {plural(left_out, 'event')} could not be searched")
        return notes

    def context(
        self, workspace: str | None = None, *, budget: int | None = None, besides: str | None = None
    ) -> recalling.Context:
        """The context that a new session in a folder gets.

        Without a folder, that of all folders.
        """
        return recalling.render_context(
            self.digest(workspace, besides=besides),
            budget=budget or self.config.context_tokens,
            secret=self.store.keys.chain,
            choices=recalling.exports.read_choices(self.store),
        )

    def present_context(
        self, workspace: str | None = None, *, budget: int | None = None
    ) -> recalling.WrittenContext:
        """The same, from the exported file if nothing changed since."""
        vault = (self.config.home / STORE_FOLDER / SYNC_DATABASE).exists()  # it may name folders first
        if not vault and budget in (None, self.config.context_tokens) and self.store.as_of is None:
            with self.store.db.reading():
                inputs = repr((self._inputs_of_all(), self._inputs_of(workspace)))
            written = recalling.exports.read_context(self.config.home, workspace, inputs)
            if written is not None:
                return written
        context = self.context(workspace, budget=budget)
        return recalling.WrittenContext(context.text, context.data)

    def digest(self, workspace: str | None = None, *, besides: str | None = None) -> recalling.Digest:
        """What was done and left open, today and on the last active day before."""
        # Without a vault nothing of sync is imported: recording must start quickly.
        vault = (self.config.home / STORE_FOLDER / SYNC_DATABASE).exists()
        if workspace is not None and vault:
            self._memory.sync.bind_folders([workspace])  # another machine may work in the same repository
        if not self.store.db.read_only:
            self.store.index_all()  # the digest reads counts that are written with the index
        pinned = {
            item for item, choice in recalling.exports.read_choices(self.store).items() if choice == "pin"
        }
        self.store.snapshot_heads(recalling.candidate_sessions(self.store, workspace, pinned))
        with self.store.db.reading():
            return recalling.build_digest(
                self.store, now=self.now(), workspace=workspace, besides=besides, pinned=pinned
            )

    def briefing(self, session: str) -> recalling.Briefing:
        """What to know before resuming a session."""
        row = self.store.sessions.resolve(session)
        changes = []
        if (
            row.workspace is not None
            and row.lifecycle not in WORKING
            and self._memory.recording.status()["recording"]
        ):
            from fazm_memory.watch import changes_since_last_scan  # slow import

            changes = changes_since_last_scan(self.store.db, row.workspace, self.now())
        with self.store.db.reading():
            return recalling.build_briefing(
                self.store, row, now=self.now(), meanwhile=changes, exists=_exists_check(row.workspace)
            )

    def choose_item(self, item: str, choice: str | None) -> dict[str, str]:
        """Pin or exclude an item of the context, or (None) let its rank decide again."""
        chosen = recalling.exports.set_choice(self.store, item, choice)
        self._export_again(item)
        return chosen

    def _export_again(self, item: str) -> None:
        """Update the exports that a choice about an item changes.

        While recording is paused, remove all.
        """
        home = self.config.home
        folders = dict.fromkeys(recalling.exports.folders_with_item(home, item))
        begins = {item.partition(":")[0]}
        # The item may not be in any export yet.
        for row in self.store.sessions.in_workspace(None, limit=1, begins=begins):
            folders |= dict.fromkeys([None, row.workspace])
        for folder in folders:
            if not (home / CONTEXT_FOLDER / f"{recalling.exports.context_file_name(folder)}.md").exists():
                continue
            if not self._memory.recording.status()["recording"]:
                recalling.exports.remove_other_exports(home, ())
                return
            context = self.context(folder)
            written = recalling.WrittenContext(context.text, context.data)
            recalling.exports.write_context(home, folder, written)

    def export_contexts(self, workspaces: Sequence[str] = ()) -> list[Path]:
        """Write the files that hooks read.

        These are the contexts of the machine, of these and of the latest folders, and the news of the
        latest sessions. What did not change since this object last wrote it is left as it is. Other
        exports are removed. Returns the paths of the contexts.
        """
        if not self._memory.recording.status()["recording"]:
            return []
        with self.store.snapshots.keeping(STATES):  # contexts of several folders have sessions in common
            return self._export_contexts(workspaces)

    def _export_contexts(self, workspaces: Sequence[str]) -> list[Path]:
        rows = self.store.sessions.listing(limit=4 * recalling.exports.MAX_SESSIONS)
        latest = list(dict.fromkeys(row.workspace for row in rows if row.workspace))[
            : recalling.exports.MAX_FOLDERS
        ]
        wanted: list[str | None] = list(dict.fromkeys([None, *workspaces, *latest]))
        home = self.config.home
        with self.store.db.reading():
            common = self._inputs_of_all()
            inputs = {folder: (common, self._inputs_of(folder)) for folder in wanted}
        paths = [self._export_context(folder, inputs[folder]) for folder in wanted]
        news = self._export_news(rows[: recalling.exports.MAX_SESSIONS], inputs)
        asked = rows[: recalling.exports.MAX_SESSIONS] if self.config.ask_for_note else ()
        news += [recalling.exports.write_note_request(home, *entry) for entry in self._note_requests(asked)]
        found = self.reminders() if self.config.reminders else ()
        reminders = recalling.write_reminders(home / CONTEXT_FOLDER, found)
        folders = recalling.exports.write_folders(home, wanted)
        recalling.exports.remove_other_exports(home, [*paths, *news, *reminders, folders])
        return paths

    def exported_today(self) -> bool:
        """Whether contexts were written today. Those of another day name the days wrongly."""
        path = recalling.exports.context_path(self.config.home, None)
        try:
            at = parse_time(json.loads(path.with_suffix(".json").read_bytes())["at"])
        except (OSError, ValueError, KeyError):
            return False
        return path.exists() and to_datetime(at).date() == to_datetime(self.now()).date()

    def _inputs_of_all(self) -> Hashable:
        """What every context depends on: hour, settings, choices, marks, facts."""
        db = self.store.db
        facts = db.execute("SELECT count(*), max(at), sum(retracted) FROM fact").fetchone()
        marks = db.execute(f"SELECT key, value FROM meta WHERE {MARKS} ORDER BY key").fetchall()
        clock = self.now() // HOUR, time.strftime("%Z%z", time.localtime(self.now() // 1_000_000))
        return __version__, clock, self.config.context_tokens, tuple(facts), tuple(map(tuple, marks))

    def _inputs_of(self, folder: str | None) -> Hashable:
        """What the context of a folder also depends on: its sessions' positions."""
        choices = recalling.exports.read_choices(self.store)
        pinned = {item for item, choice in choices.items() if choice == "pin"}
        return tuple(recalling.candidate_sessions(self.store, folder, pinned))

    def _export_context(self, folder: str | None, inputs: Hashable) -> Path:
        path = recalling.exports.context_path(self.config.home, folder)
        if self._exported.get(folder) != inputs or not path.exists():
            context = self.context(folder)
            written = recalling.WrittenContext(context.text, context.data)
            recalling.exports.write_context(self.config.home, folder, written, repr(inputs))
            self._exported[folder] = inputs
        return path

    def _export_news(self, rows: Sequence[SessionRow], inputs: Mapping[str | None, Hashable]) -> list[Path]:
        """Write the news that each session gets when it is resumed.

        Returns the paths of all that exist.
        """
        written, home = [], self.config.home
        with self.store.db.reading():
            for row in rows:
                if not row.agent_session_id:
                    continue
                path = recalling.exports.news_path(home, row.agent_session_id)
                # The news depend on the session and on others in its folder.
                present = (row, inputs.get(row.workspace))
                before, any_news = self._news_of.get(row.n, (None, False))
                if row.workspace not in inputs or before != present or (any_news and not path.exists()):
                    text = recalling.render_news(self.store, row, now=self.now())
                    any_news = bool(text)
                    self._news_of[row.n] = (present, any_news)
                    if text:
                        recalling.exports.write_news(home, row.agent_session_id, text)
                if any_news:
                    written.append(path)
        return written

    @cached_property
    def _exported(self) -> dict[str | None, Hashable]:
        """What each context was made of when it was last written."""
        return {}

    @cached_property
    def _news_of(self) -> dict[int, tuple[Hashable, bool]]:
        """For each session, the inputs of its latest news and whether it had any.

        The inputs are kept to compare.
        """
        return {}

    def reminders(self) -> list[recalling.Reminder]:
        """What agents are reminded of before a call, from the latest sessions."""
        rows = self.store.quarantine_view.rows(self.store.sessions.listing(limit=MOST_REMINDING))
        view = self.store.quarantine_view
        with self.store.db.reading():
            states = ((row, view.state_at(row.n, row.id, row.head)) for row in rows)
            return recalling.collect_reminders(self.store, states, self.now())

    def _note_requests(self, rows: Sequence[SessionRow]) -> Iterator[tuple[str, str]]:
        """The note requests of Claude Code sessions with open steps, by agent id."""
        with self.store.db.reading():
            for row in rows:
                if row.agent == "claude-code" and row.agent_session_id:
                    state = self.store.quarantine_view.state_at(row.n, row.id, row.head)
                    if steps := len(state.pending_actions):
                        yield (
                            row.agent_session_id,
                            recalling.exports.note_request(row.agent_session_id, steps),
                        )

    def conventions(self, session: str, *, names: Sequence[str] = ()) -> dict[str, Any]:
        """How a session named files, which it skipped, and what `names` would become."""
        from fazm_memory.engines import naming

        state = self._memory.history.state_at(self.store.sessions.resolve(session), None, False)
        learned = sessions.learn_from_session(state, modification_time)
        times = {name: time for name in names if (time := modification_time(name)) is not None}
        proposals = naming.propose_all(
            learned.conventions, names, mtimes=times, taken=sessions.paths_in_use(state)
        )
        return {
            "session": state.session,
            **sessions.naming_report_json(learned),
            "proposals": [
                {**proposal.__dict__, "alternatives": list(proposal.alternatives)} for proposal in proposals
            ],
        }

    def search(self, query: str, *, limit: int = 10, quarantined: bool = False) -> list[dict[str, Any]]:
        """Events that match words and filters, best first.

        Quarantined ones only if `quarantined`.
        """
        self._left_out = self.store.index_if_possible()  # `search_notes` reports it
        found = []
        home = str(self.config.user_home)
        with self.store.db.reading():
            hits = recalling.search_memory(
                self.store, query, limit=limit, now=self.now(), home=home, quarantined=quarantined
            )
            for nth, hit in enumerate(hits):
                if self.store.as_of is not None and hit.at > self.store.as_of:
                    continue
                row = self.store.sessions.resolve(hit.session)
                changed = recalling.changed_since(self.store, hit, row.n) if nth < MOST_FILES else None
                found.append(
                    {"session": hit.session, "title": row.title, "agent": row.agent,
                     "workspace": row.workspace, "device": row.device_name or row.device, "seq": hit.seq,
                     "at": iso(hit.at), "kind": hit.kind, "snippet": hit.snippet, "score": hit.score,
                     "file": hit.file,
                     "changed_since": iso(changed.at) if changed is not None else None,
                     "changed_by": changed.by if changed is not None else None}
                )  # fmt: skip
        return found

    def resume(
        self,
        session: str,
        *,
        reason: str | None = None,
        source: str = "cli",
        at_work: bool = False,
        expected_seq: int | None = None,
    ) -> tuple[dict[str, Any], recalling.Briefing]:
        """Resume a session: the session then, and its briefing.

        The briefing is made before the session goes on: it tells what changed during the pause. With
        `at_work` a session that nobody paused is left as it is. Refused while a question to a person is open.
        """
        self._memory.sessions.check_answered(session)
        row = self.store.sessions.resolve(session)
        briefing = self.briefing(row.id)
        if at_work and row.lifecycle in AT_WORK:
            return self._memory.sessions.get(row.id), briefing
        resumed = self._memory.sessions.move(
            row.id, "resume", reason=reason, source=source, expected_seq=expected_seq
        )
        return resumed, briefing

    def resume_offer(self, session: str, briefing: str | None = None) -> dict[str, Any]:
        """How a session can be resumed in a terminal, with its briefing.

        The briefing is made if it is not given.

        `waits_for` lists open questions to a person.
        """
        row = self.store.sessions.resolve(session)
        questions = self._memory.sessions.questions(row).values()
        waiting = [question["id"] for question in questions if question["to"] == "human"]
        text = self.briefing(row.id).text if briefing is None else briefing
        return {**recalling.resume_offer(self.store, row, text), "waits_for": waiting}

    def resume_command(self, session: str) -> str | None:
        """The agent's own command for a session, if it can resume it. Makes no briefing."""
        offer = recalling.resume_offer(self.store, self.store.sessions.resolve(session), briefing="")
        return offer["command"] if offer["took"] == "exact" else None

    def resume_options(self, session: str, briefing: str) -> list[recalling.ResumeOption]:
        """The ways to resume, best first."""
        return recalling.resume_options(self.store, self.store.sessions.resolve(session), briefing)
