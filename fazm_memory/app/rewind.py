"""Rewind sessions, with or without their files, and fork them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from fazm_memory.app.memory import Service
from fazm_memory.clock import iso
from fazm_memory.errors import (
    Conflict,
    Declined,
    InvalidInput,
    InvalidRequest,
    InvalidTransition,
    NotFound,
    StoreBusy,
)
from fazm_memory.events import (
    PERSON_SOURCES,
    SOURCES,
    Draft,
    SessionOpen,
    default_actor,
    kinds,
    trust_ceiling,
)
from fazm_memory.paths import inside
from fazm_memory.rewind import (
    DONE,
    DROPPED,
    PLANNED,
    RUNNING,
    UNDONE,
    EmptiedFolder,
    KeepRule,
    ManifestEntry,
    RestoredStep,
    RestoreJournal,
    RestoreRun,
    RewindContext,
    RewindPlan,
    RewindStep,
    SafeDirectory,
    WriteRefused,
    changed_files,
    emptied_folders,
    entry_json,
    exclusive_rewind,
    manifest,
    manifest_counts,
    manifest_digest,
    open_workspace,
    undo_keep_rule,
    write_manifest,
)
from fazm_memory.store import (
    AT_WORK,
    SEQ_MASK,
    FileVersions,
    NewEvent,
    SessionRow,
    effective_ranges,
    event_id,
)
from fazm_memory.text import plural, plural_with_verb
from fazm_memory.watch import SECRET_NAME, has_secret_name

MAYBE_RUNNING = 600_000_000  # microseconds: a call that began this recently may still be running
CHANGES = {"restore": "modified", "delete": "deleted", "recreate": "created", "rename_back": "renamed"}
MOST_TOUCHED = 2000  # files that the event names; the journal has all
MISSING_SHOWN = 100
MOST_SESSIONS = 200  # of a folder, whose origin is looked up
EXCLUDED = "left out: you excluded its folder"
# Kinds of events in which the user speaks, if the actor is a person. An agent takes back none of them.
USERS_WORDS = (
    "prompt", "decision", "plan", "handoff.answer", "fact", "fact.retract", "artifact", "pending",
    "pending.done",
)  # fmt: skip
# Sources that are not an agent's own account.
OTHERS = tuple(source for source in SOURCES if source not in ("mcp", "record", "import"))


class RewindService(Service):
    """Rewind sessions, with or without their files, and fork them.

    Use it as `memory.rewind`.
    """

    def plan(
        self, session: str, to: int | str, *, everyone: bool = False, force: bool = False
    ) -> dict[str, Any]:
        """What a rewind with files would do, refuse, or leave.

        With `everyone` also for the files that only others changed. With `force` the folders are those that
        a forced rewind would remove.
        """
        self.finish_interrupted()
        row = self.store.sessions.resolve(session)
        to = self._memory.sessions.position(row, to)
        with self.open_files(row) as context:
            plan, outside = context.plan(to, everyone=everyone)
            steps = plan.writes() if force else plan.allowed()
            folders = emptied_folders(context.directory, steps, context.keep_rule(to))
        return self._plan_json(row, to, plan, outside, folders)

    def apply(
        self,
        session: str,
        to: int | str,
        *,
        files: bool = False,
        force: bool = False,
        reason: str | None = None,
        source: str = "cli",
        expected_seq: int | None = None,
        plan: str | None = None,
        everyone: bool = False,
    ) -> dict[str, Any]:
        """Move the head back to a position and go on from there.

        What came after stays in the log.

        With `files`, files that the agent changed since are restored too, with `everyone` all known files.
        `plan` is the digest of the plan that was shown: if the files or the log have changed since, nothing
        is done.
        """
        self._memory.recording.check()
        finished = self.finish_interrupted()
        row = self.store.sessions.resolve(session)
        to = self._memory.sessions.position(row, to)
        if row.device is not None:
            return self._take_over(row, to, files=files, force=force, reason=reason, source=source, plan=plan)
        self._check_state(row, to, force=force, expected=expected_seq, source=source)
        if not files:
            self._append(row, {"to": to, "reason": reason}, source, None, None if force else row.head)
            return self._memory.sessions.get(row.id) | {"files": [], "undo": None}
        with exclusive_rewind(self.config.home), self.open_files(row) as context:
            steps, keep_folder, shown = self._checked_plan(
                context, to, force=force, source=source, plan=plan, everyone=everyone
            )
            payload = {"to": to, "reason": reason}
            results, run = self.carry_out(context, steps, payload, source, keep_folder, force=force)
        return self._memory.sessions.get(row.id) | {
            "files": results_json(context.paths.workspace, results),
            "folders": shown["folders"],
            "undo": str(run.id) if results else None,
            "finished": finished,
        }

    def _checked_plan(
        self,
        context: RewindContext,
        to: int,
        *,
        force: bool,
        source: str,
        plan: str | None,
        everyone: bool = False,
    ) -> tuple[Sequence[RewindStep], KeepRule, dict[str, Any]]:
        """The steps to carry out.

        Refused if the plan is not `plan`, or if others changed the files.
        """
        planned, outside = context.plan(to, everyone=everyone)
        keep_folder = context.keep_rule(to)
        steps = planned.writes() if force else planned.allowed()
        folders = emptied_folders(context.directory, steps, keep_folder)
        shown = self._plan_json(context.row, to, planned, outside, folders)
        if plan is not None and plan != shown["digest"]:
            raise Conflict(
                "The files or the session changed after this plan was shown. Nothing was done.",
                hint="Look at the new plan: `fazm-memory rewind ID --to N --files --dry-run`",
                details={"plan": shown},
            )
        self._check_force(planned, force=force, source=source)
        if planned.refused and not force:
            first = planned.refused[0]
            raise Declined(
                f"Others changed {plural(len(planned.refused), 'file')} since, such as {first.path}:"
                f" {first.why}. Nothing was done.",
                hint="--force restores them too and stores a copy of each; --dry-run shows the plan",
                details={"plan": shown},
            )
        return steps, keep_folder, shown

    def _take_over(
        self, row: SessionRow, to: int, *, files: bool, force: bool, reason: str | None, source: str,
        plan: str | None,
    ) -> dict[str, Any]:  # fmt: skip
        """Continue another machine's session here, in a fork from that position.

        With `files`, its files in the folder of this machine are restored too.
        """
        nothing: dict[str, Any] = {"files": [], "folders": [], "undo": None, "finished": []}
        if not files:
            return self.fork(row.id, at=to, source=source) | nothing | {"taken_over": row.id}
        with exclusive_rewind(self.config.home), self.open_files(row) as context:
            steps, keep_folder, shown = self._checked_plan(context, to, force=force, source=source, plan=plan)
            fork = self.store.sessions.resolve(self.fork(row.id, at=to, source=source)["id"])
            with self.open_files(fork) as here:
                payload = {"to": fork.head, "reason": reason or f"files of {row.id[:8]} at {to}"}
                results, run = self.carry_out(here, steps, payload, source, keep_folder, force=force)
        return self._memory.sessions.get(fork.id) | nothing | {
            "files": results_json(here.paths.workspace, results),
            "folders": shown["folders"],
            "undo": str(run.id) if results else None,
            "taken_over": row.id,
        }  # fmt: skip

    def resume_plan(self, session: str) -> dict[str, Any]:
        """What restoring the files as they were at the pause would do.

        If no agent worked in the folder since, a change that nobody watched is probably a person's.
        """
        to = self._pause_position(session)
        plan = self.plan(session, to, everyone=True)
        if not self._agents_worked_since(session, to):
            for file in plan["files"]:
                if file["action"] == "refuse" and file["by"] == "unknown":
                    file["by"] = "person"
                    file["why"] = (
                        "changed during the pause, while no agent worked here: probably by you;"
                        " a copy of it is kept if you insist"
                    )
        return plan

    def _agents_worked_since(self, session: str, to: int) -> bool:
        """Whether the session recorded anything in the folder since a position.

        The event before the position counts as the beginning.
        """
        row = self.store.sessions.resolve(session)
        paused = self.store.log.slice(row.n, row.id, max(0, to - 1), to)
        since = next((event.at for event in paused), 0)
        others = self.store.sessions.in_workspace(row.workspace, limit=None)
        return any(other.last_at > since and other.n != row.n for other in others)

    def resume(
        self, session: str, *, force: bool = False, reason: str | None = None, source: str = "cli"
    ) -> dict[str, Any]:
        """Resume a session and bring its files back to the moment of the pause.

        What a person changed since is named and refused without `force`. `undo` takes it back.
        """
        to = self._pause_position(session)
        plan = self.resume_plan(session)
        refused = [file for file in plan["files"] if file["action"] == "refuse"]
        if refused and (not force or source not in PERSON_SOURCES):
            raise Declined(
                f"Others changed {plural(len(refused), 'file')} during the pause, such as"
                f" {refused[0]['path']}: {refused[0]['why']}. Nothing was done.",
                hint="--force restores them too and stores a copy of each; --dry-run shows the plan",
                details={"plan": plan},
            )
        self._memory.sessions.move(session, "resume", reason=reason, source=source)
        result = self.apply(
            session, to, files=True, force=force, everyone=True, reason="files as at the pause", source=source
        )
        shown = {file["path"]: {"why": file["why"].split(";")[0], "by": file["by"]} for file in refused}
        files = [file | shown.get(file["path"], {}) if file["done"] else file for file in result["files"]]
        return result | {"files": files}

    def _pause_position(self, session: str) -> int:
        """The position right after the session was paused or closed."""
        row = self.store.sessions.resolve(session)
        if row.lifecycle not in ("paused", "closed"):
            raise InvalidTransition(
                f"Session {row.id[:8]} is {row.lifecycle}, not paused or closed.",
                hint="`fazm-memory rewind ID --to MOMENT --files` brings files back to any moment.",
                details={"session": row.id, "lifecycle": row.lifecycle},
            )
        last = self.store.db.execute(
            "SELECT max(id) FROM event WHERE id >= ? AND id < ?"
            " AND kind IN ('session.pause', 'session.close')",
            (event_id(row.n, 0), event_id(row.n, row.head)),
        ).fetchone()[0]
        return row.head if last is None else int(last & SEQ_MASK) + 1

    def undo(self, session: str, *, force: bool = False, source: str = "cli") -> dict[str, Any]:
        """Undo the latest rewind of this session.

        The head goes back, and the files if the rewind restored some.
        """
        self._memory.recording.check()
        finished = self.finish_interrupted()
        row = self.store.sessions.resolve(session)
        seq = self._latest_rewind(row)
        if not self._had_files(row, seq):
            self._check_state(row, seq, force=force, expected=None, source=source)
            payload: dict[str, Any] = {"to": seq, "reason": "taken back", "undoes": seq}
            self._append(row, payload, source, None, None if force else row.head)
            return self._memory.sessions.get(row.id) | {"files": [], "undo": None, "finished": finished}
        with exclusive_rewind(self.config.home), self.open_files(row) as context:
            last = context.last_run(seq)
            self._check_state(row, int(last.told["head"]), force=force, expected=None, source=source)
            plan = context.undo_plan(last)
            self._check_force(plan, force=force, source=source)
            if plan.refused and not force:
                first = plan.refused[0]
                raise Declined(
                    f"{first.path} has changed since that rewind: {first.why}. Nothing was done.",
                    hint="--force undoes it all the same and stores a copy.",
                )
            payload = {"to": last.told["head"], "reason": "taken back", "undoes": last.told["seq"]}
            steps = plan.writes() if force else plan.allowed()
            results, run = self.carry_out(context, steps, payload, source, undo_keep_rule(last), force=force)
            context.journal.move(last, UNDONE)
        return self._memory.sessions.get(row.id) | {
            "files": results_json(context.paths.workspace, results),
            "undo": str(run.id),
            "finished": finished,
        }

    def undo_plan(self, session: str, *, force: bool = False) -> dict[str, Any]:
        """What undoing the latest rewind would do.

        With `force` also to folders of files that changed since.
        """
        self.finish_interrupted()
        row = self.store.sessions.resolve(session)
        seq = self._latest_rewind(row)
        if not self._had_files(row, seq):
            return self._plan_json(row, seq, RewindPlan(()), ())
        with self.open_files(row) as context:
            last = context.last_run(seq)
            plan = context.undo_plan(last)
            steps = plan.writes() if force else plan.allowed()
            folders = emptied_folders(context.directory, steps, undo_keep_rule(last))
            return self._plan_json(row, int(last.told["head"]), plan, (), folders)

    def finish_interrupted(self) -> list[str]:
        """Finish the rewinds that a crash interrupted. Returns a message for each."""
        versions = self._memory.existing_file_versions
        try:
            if versions is None or not RestoreJournal(versions).unfinished():
                return []
            with exclusive_rewind(self.config.home):
                return [self._finish(versions, run) for run in RestoreJournal(versions).unfinished()]
        except StoreBusy:  # another process is restoring them
            return []

    # -- checks ------------------------------------------------------------------------------------------

    def _check_state(
        self, row: SessionRow, to: int, *, force: bool, expected: int | None, source: str
    ) -> None:
        """Check, before any file is touched, that the session can be rewound now."""
        if kinds.after_move(row.lifecycle, "activity") is None:  # type: ignore[arg-type]
            raise InvalidTransition(
                f"Session {row.id[:8]} cannot be rewound: {kinds.refusal_reason(row.lifecycle, 'activity')}",  # type: ignore[arg-type]
                hint=f"`fazm-memory resume {row.id[:8]}`, then rewind; `fork` leaves it as it is",
                details={"session": row.id, "lifecycle": row.lifecycle, "head": row.head},
            )
        if expected is not None and expected != row.head and not force:
            more = row.head - expected
            unseen = f" {plural_with_verb(more, 'event', 'have')} not been seen." if more > 0 else ""
            raise Conflict(
                f"Position {expected} was expected, but session {row.id[:8]} is at {row.head}.{unseen}",
                hint="Read the events that were added, then rewind. --force skips this check.",
                details={"head": row.head, "session": row.id},
            )
        by_agent = source not in PERSON_SOURCES
        if by_agent and (said := self._users_words(row, to)) is not None:
            raise Declined(
                f"The rewind would take back what the user said at {said}. Only a person may do that."
                " Nothing was done.",
                hint=f"Fork the session at {to} instead. The fork goes on there; this one stays as it is.",
                details={"session": row.id, "seq": said},
            )
        unseen_items = self._unseen(row, to)
        if unseen_items and (
            not force or (by_agent and any(item.startswith("question") for item in unseen_items))
        ):
            raise Declined(
                f"The rewind would skip something that nobody has seen: {unseen_items[0]}.",
                hint="Answer it or wait for it first. A person can skip it with --force.",
                details={"unseen": unseen_items, "session": row.id},
            )

    def _check_force(self, plan: RewindPlan, *, force: bool, source: str) -> None:
        """Only a person may overwrite what others changed."""
        if plan.refused and force and source not in PERSON_SOURCES:
            first = plan.refused[0]
            raise Declined(
                f"{first.path}: {first.why.split(';')[0]}. Only a person may force this. Nothing was done.",
                hint="A person can rewind it in the timeline or with `fazm-memory rewind ID --to N --files`.",
                details={"refused": [step.path for step in plan.refused[:100]]},
            )

    def _users_words(self, row: SessionRow, to: int) -> int | None:
        """The first event since a position in which the user speaks.

        Events that are taken back already do not count.
        """
        kinds_ = ",".join("?" * len(USERS_WORDS))
        for start, stop in effective_ranges(self.store.db, row.n, row.head, to):
            found = self.store.db.execute(
                f"SELECT min(id) FROM event WHERE id >= ? AND id < ? AND kind IN ({kinds_})"
                " AND actor='person' AND trust='user'",
                (event_id(row.n, start), event_id(row.n, stop), *USERS_WORDS),
            ).fetchone()[0]
            if found is not None:
                return int(found & SEQ_MASK)
        return None

    def _unseen(self, row: SessionRow, to: int) -> list[str]:
        """Open questions to a person and running calls that the rewind would skip."""
        questions = [
            f"question {question['id']} to a person is not answered"
            for question in self._memory.sessions.questions(row).values()
            if question["to"] == "human" and question["seq"] >= to and "session" not in question
        ]
        return questions + self._running(row, to)

    def _running(self, row: SessionRow, to: int) -> list[str]:
        """Calls that began after a position and may still be running.

        Without any the state is not read.
        """
        since = self.now() - MAYBE_RUNNING
        begun = (
            row.lifecycle in AT_WORK
            and self.store.db.execute(
                "SELECT 1 FROM event WHERE id >= ? AND id < ? AND kind='action.start' AND at > ?",
                (event_id(row.n, to), event_id(row.n, row.head), since),
            ).fetchone()
        )
        if not begun:
            return []
        with self.store.db.reading():
            running = self.store.snapshots.state_at(row.n, row.id, row.head).running
        return [
            f"{call['tool']} (#{call['seq']}) is still running"
            for call in running.values()
            if call["seq"] >= to and call["at"] > since
        ]

    def _latest_rewind(self, row: SessionRow) -> int:
        found = self.store.db.execute("SELECT max(seq) FROM rewind WHERE session=?", (row.n,)).fetchone()
        if found is None or found[0] is None:
            raise NotFound(
                f"Session {row.id[:8]} has no rewind to undo.",
                hint="`fazm-memory events ID --kind rewind` lists its rewinds.",
            )
        return int(found[0])

    def _had_files(self, row: SessionRow, seq: int) -> bool:
        event = next(self.store.log.slice(row.n, row.id, seq, seq + 1))
        return bool(event.payload is not None and event.payload.files)

    # -- carrying out ------------------------------------------------------------------------------------

    def open_files(self, row: SessionRow, folder: str | None = None) -> AbstractContextManager[RewindContext]:
        """Open the files of a session, as a context manager."""
        return open_workspace(
            self.store, self._memory.file_versions, row, folder=folder or self._folder_here(row),
            now=self.now, home=self.config.home, user_home=self.config.user_home,
        )  # fmt: skip

    def _folder_here(self, row: SessionRow) -> str | None:
        """The workspace of a session. One of another machine may have another name here."""
        if row.device is None or row.workspace is None:
            return row.workspace
        if not os.path.isdir(row.workspace) and self._memory.sync.active:
            self._memory.sync.bind_folders()
        return self.store.sessions.folder_names().get(row.workspace) or row.workspace

    def carry_out(
        self,
        context: RewindContext,
        steps: Sequence[RewindStep],
        payload: dict[str, Any],
        source: str,
        keep_folder: KeepRule,
        *,
        force: bool,
    ) -> tuple[list[RestoredStep], RestoreRun]:
        """Journal the steps, record the event, then write the files."""
        row, workspace = context.row, context.paths.workspace
        run = context.begin(steps, to=payload["to"], source=source, keep_folder=keep_folder)
        touched = [
            {"path": f"{workspace}/{step.path}", "change": CHANGES[step.does],
             **({} if step.origin is None else {"from": f"{workspace}/{step.origin}"})}
            for step in steps[:MOST_TOUCHED]
        ]  # fmt: skip
        try:
            seq = self._append(
                row,
                payload | {"files": True, "touched": touched},
                source,
                run.key,
                None if force else row.head,
            )
        except BaseException:
            context.journal.move(run, DROPPED, ended=self.now())
            raise
        run = context.journal.move(run, RUNNING, seq=seq)
        return self._run(context, run), run

    def _run(self, context: RewindContext, run: RestoreRun) -> list[RestoredStep]:
        results = context.run(run)
        left = [result for result in results if result.left is not None]
        if left:
            note = f"left alone: {plural(len(left), 'file')}, such as {left[0].step.path}: {left[0].left}"
            gap = {"what": "rewind", "since": iso(run.began), "until": iso(self.now()), "note": note}
            self._memory.sessions.record([Draft(run.session, "gap", gap, source=str(run.told["source"]))])
        return results

    def _finish(self, versions: FileVersions, run: RestoreRun) -> str:
        """Drop an interrupted run if the log does not have it.

        Otherwise carry it out to its end.
        """
        journal = RestoreJournal(versions)
        subject = f"The rewind of session {run.session[:8]} that was interrupted at {iso(run.began)}"
        if run.stage == PLANNED:
            found = self.store.db.execute("SELECT id FROM event WHERE key=?", (run.key,)).fetchone()
            if found is None:
                journal.move(run, DROPPED, ended=self.now())
                return f"{subject} had not written anything and was dropped."
            run = journal.move(run, RUNNING, seq=int(found[0]) & SEQ_MASK)
        row = self.store.sessions.resolve(run.session)
        device, inode = run.told["identity"]
        try:
            with SafeDirectory(run.root, (device, inode)) as directory:
                context = RewindContext(
                    self.store, versions, row, str(run.told["workspace"]), directory,
                    now=self.now, home=self.config.home, user_home=self.config.user_home,
                )  # fmt: skip
                results = self._run(context, run)
        except WriteRefused as error:
            journal.move(run, DONE, ended=self.now(), left={"": str(error)})
            return f"{subject} could not be finished: {error}."
        left = sum(result.left is not None for result in results)
        message = f"{subject} was finished. {plural_with_verb(len(results) - left, 'file', 'were')} restored."
        return message + (f" {plural_with_verb(left, 'file', 'were')} left alone." if left else "")

    def _append(
        self, row: SessionRow, payload: dict[str, Any], source: str, key: str | None, expected: int | None
    ) -> int:
        known = {name: value for name, value in payload.items() if value is not None}
        draft = Draft(row.id, "rewind", known, source=source, key=key, expected_seq=expected)
        result = self._memory.sessions.record([draft])[0]
        if result.appended is None:
            raise result.error or InvalidInput("The rewind could not be recorded.")
        return result.appended.seq

    def _plan_json(
        self,
        row: SessionRow,
        to: int,
        plan: RewindPlan,
        outside: Sequence[str],
        folders: Sequence[EmptiedFolder] = (),
    ) -> dict[str, Any]:
        workspace = (row.workspace or "").rstrip("/")
        outside_files = [
            {"path": path, "action": "cannot", "by": "agent",
             "why": "it is outside the session's workspace, where nothing is ever written"}
            for path in outside
        ]  # fmt: skip
        counts = plan.counts()
        if outside_files:
            counts["cannot"] = counts.get("cannot", 0) + len(outside_files)
        unseen = self._unseen(row, to)
        return {
            "session": row.id,
            "to": to,
            "head": row.head,
            "workspace": row.workspace,
            "files": [step_json(workspace, step) for step in plan.steps] + outside_files,
            "folders": [
                {
                    "path": f"{workspace}/{folder.path}",
                    "action": "delete" if folder.goes else "keep",
                    "why": folder.why,
                }
                for folder in folders
            ],
            "counts": counts,
            "needs_force": bool(plan.refused or unseen),
            "unseen": len(unseen),
            "unseen_what": unseen,
            "digest": f"{row.head}-{to}-{plan.digest()}",
        }

    # -- forks -------------------------------------------------------------------------------------------

    def fork(
        self,
        session: str,
        *,
        at: int | str | None = None,
        title: str | None = None,
        into: str | None = None,
        folder: str | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Open a session that continues this one from after its first `at` events.

        With `into`, its files are written into that folder, which must be new or empty, and it works there.
        With `folder` it works there, and no file is written.
        """
        self._memory.recording.check()
        row = self.store.sessions.resolve(session)
        position = self._memory.sessions.position(row, at)
        name = row.title if title is None else self._memory.recorder.redactor.text(title, 500).text
        copied: dict[str, Any] = {"folder": folder or self._folder_here(row), "manifest": None}
        if into is not None:
            copied = self._into(row, position, into, source)
        opening = SessionOpen(
            agent=row.agent, workspace=copied["folder"], title=name, parent=row.id, parent_seq=position
        )
        with self.store.db.reading():
            turn = self.store.snapshots.state_at(row.n, row.id, position).turn
        with self.store.writing() as writer:
            head = writer.create(row.agent, self.now())
            actor, trust = default_actor("session.open", source), trust_ceiling("session.open", source)
            writer.append(head, NewEvent("session.open", opening, self.now(), actor, source, trust, turn))
        return self._memory.sessions.get(head.id) | copied

    def fork_manifest(self, session: str, *, at: int | None = None) -> dict[str, Any]:
        """The workspace's files at a position, and where their content is."""
        row = self.store.sessions.resolve(session)
        position = self._memory.sessions.position(row, at)
        with self.open_files(row) as context:
            entries = self._manifest(context, position, "cli")
        return {
            "session": row.id,
            "at": position,
            "workspace": row.workspace,
            "files": [entry_json(entry) for entry in entries],
            "counts": manifest_counts(entries),
        }

    def branches(self, session: str) -> list[dict[str, Any]]:
        """All sessions of a fork tree, each below its parent."""
        row = self.store.sessions.resolve(session)
        seen = {row.id}
        while row.parent is not None and row.parent not in seen:
            seen.add(row.parent)
            above = self.store.sessions.by_key(row.parent, None)
            if above is None:  # the parent is not in this store
                break
            row = above
        return [_branch_json(branch, depth) for branch, depth in self._below(row, 0, set())]

    def _below(self, row: SessionRow, depth: int, seen: set[str]) -> Iterator[tuple[SessionRow, int]]:
        if row.id in seen:
            return
        seen.add(row.id)
        yield row, depth
        for child in self.store.sessions.children(row.id):
            if not child.forgotten:
                yield from self._below(child, depth + 1, seen)

    def _manifest(self, context: RewindContext, position: int, source: str) -> list[ManifestEntry]:
        point = context.at(position)
        roots = {context.directory.root, context.paths.workspace}
        excluded = self._excluded()
        by_agent = source not in PERSON_SOURCES

        def left_out(path: str) -> str | None:
            if any(inside(f"{root}/{path}", folder) for root in roots for folder in excluded):
                return EXCLUDED
            return SECRET_NAME if by_agent and has_secret_name(path.rpartition("/")[2]) else None

        changed, _ = changed_files(self.store, context.versions, context.paths, context.row, point)
        never = os.path.realpath(self.config.home)
        left = self.store.snapshots.state_at(context.row.n, context.row.id, position).files_modified
        below = f"{context.paths.workspace}/"
        recorded = {
            entry.path.removeprefix(below)
            for entry in left.values()
            if entry.change != "deleted" and entry.path.startswith(below)
        }
        return list(
            manifest(
                context.directory, context.versions, context.paths, point, never, left_out, changed, recorded
            )
        )

    def _excluded(self) -> set[str]:
        """The folders that the user excluded, as named and as real paths."""
        return {
            path
            for folder in self._memory.recording.excluded_folders()
            for path in (folder, os.path.realpath(folder))
        }

    def _into(self, row: SessionRow, position: int, into: str, source: str) -> dict[str, Any]:
        self.finish_interrupted()
        folder = os.path.abspath(os.path.expanduser(into))
        with ExitStack() as stack:
            source_folder = None
            if row.device is not None and not os.path.isdir(self._folder_here(row) or ""):
                source_folder = stack.enter_context(tempfile.TemporaryDirectory())  # all from versions
            context = stack.enter_context(self.open_files(row, source_folder))
            self._check_folder(folder, context.directory.root)
            if source not in PERSON_SOURCES:
                self._check_reach(row, folder, context.directory.root)
            entries = self._manifest(context, position, source)
            os.makedirs(folder, exist_ok=True)
            folder = os.path.realpath(folder)
            with SafeDirectory(folder) as target:
                root = None if any(inside(folder, outer) for outer in self._excluded()) else folder
                written = write_manifest(
                    entries, context.directory, target, context.versions, root, self.now()
                )
        missing = [
            {"path": entry.path, "why": entry.missing} for entry in written if entry.missing is not None
        ]
        return {
            "folder": folder,
            "manifest": manifest_counts(written)
            | {"digest": manifest_digest(written), "left_out": missing[:MISSING_SHOWN]},
        }

    def _check_folder(self, folder: str, workspace: str) -> None:
        real, home = os.path.realpath(folder), os.path.realpath(self.config.home)
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise InvalidRequest(f"{folder} is not a folder.", hint="Name a new or empty folder.")
        if os.path.isdir(folder) and os.listdir(folder):
            raise InvalidRequest(f"{folder} is not empty.", hint="Name a new or empty folder.")
        for other, what in ((workspace, "the session's own workspace"), (home, "the data folder")):
            if inside(real, other) or inside(other, real):
                raise InvalidRequest(f"{folder} and {what} would overlap.", hint="Name a folder beside it.")

    def _check_reach(self, row: SessionRow, folder: str, workspace: str) -> None:
        """Limit where an agent may have files written.

        An agent names its workspace itself, so that is no evidence.

        The folder must lie beside a workspace that another source reported, and not where programs are
        started or configured from.
        """
        real, above = os.path.realpath(folder), os.path.dirname(workspace)
        home = os.path.realpath(self.config.user_home)
        inner = [os.path.relpath(real, outer) for outer in (above, home) if inside(real, outer)]
        hidden = any(part.startswith(".") for path in inner for part in path.split("/"))
        system = inside(real, os.path.join(home, "Library"))
        if above == "/" or not inside(real, above) or hidden or system:
            raise Declined(
                f"An agent may not have files written to {folder}.",
                hint=f"Name a new folder in {above}, or let a person run `fazm-memory fork ID --into DIR`.",
            )
        if not self._reported_by_others(row):
            raise Declined(
                f"Only an agent says that session {row.id[:8]} works in {workspace}. Nothing was copied.",
                hint="A person may run `fazm-memory fork ID --into DIR`.",
            )

    def _reported_by_others(self, row: SessionRow) -> bool:
        """Whether somebody besides the agent reported a session in this folder.

        Unknown sources count as an agent's own, and unverified bundles do not count.
        """
        marks = ",".join("?" * len(OTHERS))
        for other in (row, *self.store.sessions.listing(workspace=row.workspace, limit=MOST_SESSIONS)):
            found = self.store.db.execute(
                f"SELECT id FROM event WHERE id>=? AND id<? AND kind='session.open' AND source IN ({marks})"
                " AND trust != 'unverified'",
                (other.n << 32, (other.n + 1) << 32, *OTHERS),
            )
            for (number,) in found.fetchall():
                seq = int(number) & SEQ_MASK
                opening = next(self.store.log.slice(other.n, other.id, seq, seq + 1)).payload
                if isinstance(opening, SessionOpen) and opening.workspace == row.workspace:
                    return True
        return False


def step_json(workspace: str, step: RewindStep) -> dict[str, Any]:
    """A step as JSON. `from` is the present name of a file that is renamed back."""
    sizes = [content.size for content in (step.was, step.now) if content is not None]
    more = {
        "from": None if step.origin is None else f"{workspace}/{step.origin}",
        "bytes": next((size for size in sizes if size is not None), None),
        "would": step.would,
        "mode": None if step.mode is None else {"now": f"{step.mode[0]:03o}", "then": f"{step.mode[1]:03o}"},
    }
    return {
        "path": f"{workspace}/{step.path}",
        "action": step.action,
        "why": step.why,
        "by": step.by,
        **{name: value for name, value in more.items() if value is not None},
    }


def results_json(workspace: str, results: Sequence[RestoredStep]) -> list[dict[str, Any]]:
    return [
        step_json(workspace, result.step)
        | {"action": result.step.does if result.left is None else "refuse", "done": result.left is None}
        | {"why": _reason(result)}
        for result in results
    ]


def _reason(result: RestoredStep) -> str:
    """Why a step was done or left.

    What would happen if the user insists is cut off: it has happened.
    """
    if result.left is not None:
        return result.left
    return result.step.why if result.step.would is None else result.step.why.split(";")[0]


def _branch_json(row: SessionRow, depth: int) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title,
        "parent": row.parent,
        "parent_seq": row.parent_seq,
        "lifecycle": row.lifecycle,
        "head": row.head,
        "workspace": row.workspace,
        "device": row.device_name or row.device,
        "opened_at": iso(row.opened_at),
        "last_at": iso(row.last_at),
        "depth": depth,
    }
