"""Rewinding with files: a plan first, then exactly that plan, with a copy of the present kept before.

The journal is durable before the log says that the session was rewound, and the log before the first file is
written: whatever is cut short in between is finished by whoever comes next, and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.emptied import Stays, around, emptied
from fazm_memory.capture.enclosure import Enclosure, Refused
from fazm_memory.capture.files_then import Names
from fazm_memory.capture.restoring import Done, Restoring, keep
from fazm_memory.errors import Conflict, Declined, InvalidInput, NotFound, StoreBusy
from fazm_memory.log.restores import DONE, DROPPED, PLANNED, RUNNING, UNDONE, Restore, Restores, only_one
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.tables import SEQ_MASK
from fazm_memory.log.versions import Versions
from fazm_memory.model import rewinding
from fazm_memory.model.clock import iso
from fazm_memory.model.counting import plural, they
from fazm_memory.model.rewinding import Plan, Step, step_json
from fazm_memory.verbs.files_plan import Desk, FilesPlanned, standing, step_shown, steps_of, undo_stays

CHANGES = {"restore": "modified", "delete": "deleted", "recreate": "created", "rename_back": "renamed"}
MOST_TOLD = 2000  # files that the log's event names; the journal has all


class FilesBack(FilesPlanned):
    """What `Memory` can do with positions and files together. Mixed into it; not for use alone."""

    # -- the verbs ---------------------------------------------------------------------------------------

    def rewind_plan(self, session: str, to: int) -> dict[str, Any]:
        """What a rewind with files would do to each file, what it would refuse, and what it cannot do."""
        self.finish_rewinds()
        row = self.store.sessions.resolve(session)
        to = self.position(row, to)
        with self._desk(row) as desk:
            made, elsewhere = self._plan(desk, to)
            folders = emptied(desk.place, freely(made), self._stays(desk, to))
        return self._plan_json(row, to, made, elsewhere, folders)

    def rewind(
        self,
        session: str,
        to: int,
        *,
        files: bool = False,
        force: bool = False,
        reason: str | None = None,
        source: str = "cli",
        expected_seq: int | None = None,
        plan: str | None = None,
    ) -> dict[str, Any]:
        """Move the head back to a position and go on from there; what came after stays in the log.

        With `files` those the agent changed since go back too. `plan` is the digest of the plan that was
        shown: if the files or the log have moved on since, nothing is done.
        """
        self.check_recording()
        finished = self.finish_rewinds()
        row = self.store.sessions.resolve(session)
        to = self.position(row, to)
        self._check_moment(row, to, force=force, expected=expected_seq, source=source)
        if not files:
            self._append(row, {"to": to, "reason": reason}, source, None, None if force else row.head)
            return self.session(row.id) | {"files": [], "undo": None}
        with only_one(self.config.home), self._desk(row) as desk:
            made, elsewhere = self._plan(desk, to)
            stay = self._stays(desk, to)
            steps = made.writes() if force else freely(made)
            shown = self._plan_json(row, to, made, elsewhere, emptied(desk.place, steps, stay))
            if plan is not None and plan != shown["digest"]:
                raise Conflict(
                    "the files or the session have changed since that plan was shown; nothing was done",
                    hint="look at the new plan: `fazm-memory rewind ID --to N --files --dry-run`",
                    details={"plan": shown},
                )
            self._check_insisting(made, force=force, source=source)
            if made.refused and not force:
                first = made.refused[0]
                raise Declined(
                    f"changed by others since: {plural(len(made.refused), 'file')}, such as"
                    f" {first.path}: {first.why}; nothing was done",
                    hint="--force brings them back too, and keeps a copy of each; --dry-run shows the plan",
                    details={"plan": shown},
                )
            told = {"to": to, "reason": reason}
            done, one = self._carry_out(desk, made, told, source=source, force=force, stay=stay)
        return self.session(row.id) | {
            "files": _done_json(desk.names.workspace, done),
            "folders": shown["folders"],
            "undo": str(one.id) if done else None,
            "finished": finished,
        }

    def undo_rewind(self, session: str, *, force: bool = False, source: str = "cli") -> dict[str, Any]:
        """Take back the latest rewind of this session: the head, and the files if it brought some back."""
        self.check_recording()
        finished = self.finish_rewinds()
        row = self.store.sessions.resolve(session)
        seq = self._latest_rewind(row)
        if not self._had_files(row, seq):
            self._check_moment(row, seq, force=force, expected=None, source=source)
            told: dict[str, Any] = {"to": seq, "reason": "taken back", "undoes": seq}
            self._append(row, told, source, None, None if force else row.head)
            return self.session(row.id) | {"files": [], "undo": None, "finished": finished}
        with only_one(self.config.home), self._desk(row) as desk:
            last = self._last_files(desk, seq)
            self._check_moment(row, int(last.told["head"]), force=force, expected=None, source=source)
            made = self._undo_plan(desk, last)
            self._check_insisting(made, force=force, source=source)
            if made.refused and not force:
                first = made.refused[0]
                raise Declined(
                    f"{first.path} has changed since that rewind: {first.why}; nothing was done",
                    hint="--force takes it back all the same, and keeps a copy",
                )
            told = {"to": last.told["head"], "reason": "taken back", "undoes": last.told["seq"]}
            done, one = self._carry_out(desk, made, told, source=source, force=force, stay=undo_stays(last))
            desk.journal.move(last, UNDONE)
        return self.session(row.id) | {
            "files": _done_json(desk.names.workspace, done),
            "undo": str(one.id),
            "finished": finished,
        }

    def undo_plan(self, session: str) -> dict[str, Any]:
        """What taking the latest rewind back would do; nothing is done."""
        self.finish_rewinds()
        row = self.store.sessions.resolve(session)
        seq = self._latest_rewind(row)
        if not self._had_files(row, seq):
            return self._plan_json(row, seq, Plan(()), ())
        with self._desk(row) as desk:
            last = self._last_files(desk, seq)
            made = self._undo_plan(desk, last)
            folders = emptied(desk.place, freely(made), undo_stays(last))
            return self._plan_json(row, int(last.told["head"]), made, (), folders)

    def _latest_rewind(self, row: SessionRow) -> int:
        found = self.store.db.execute("SELECT max(seq) FROM rewind WHERE session=?", (row.n,)).fetchone()
        if found is None or found[0] is None:
            raise NotFound(
                f"session {row.id[:8]} has no rewind to take back",
                hint="`fazm-memory events ID --kind rewind` lists its rewinds",
            )
        return int(found[0])

    def _had_files(self, row: SessionRow, seq: int) -> bool:
        event = next(self.store.log.slice(row.n, row.id, seq, seq + 1))
        return bool(event.payload is not None and event.payload.files)

    def _last_files(self, desk: Desk, seq: int) -> Restore:
        last = desk.journal.last(desk.row.id)
        if last is None or last.told.get("seq") != seq:
            raise NotFound(
                f"the copies kept for the rewind at {seq} of session {desk.row.id[:8]} are not here",
                hint=f"`fazm-memory rewind ID --to {seq}` moves the session alone, without files",
            )
        return last

    def finish_rewinds(self) -> list[str]:
        """Finish what a crash cut short, and say what that was."""
        versions = self.versions_kept
        try:
            if versions is None or not Restores(versions).unfinished():
                return []
            with only_one(self.config.home):
                return [self._finish(versions, one) for one in Restores(versions).unfinished()]
        except StoreBusy:  # whoever is at it finishes it
            return []

    # -- doing -------------------------------------------------------------------------------------------

    def _carry_out(
        self,
        desk: Desk,
        made: Plan,
        told: dict[str, Any],
        *,
        source: str,
        force: bool,
        stay: Stays,
    ) -> tuple[list[Done], Restore]:
        steps = made.writes() if force else freely(made)
        row = desk.row
        with desk.versions.db.transaction():
            for step in steps:
                self._keep_first(desk, step)
            one = desk.journal.begin(row.id, desk.place.root, self.now(), {
                "head": row.head, "to": told["to"], "source": source, "identity": list(desk.place.identity),
                "workspace": desk.names.workspace, "steps": [step_json(step) for step in steps],
                "goes": [folder for folder in around(steps) if stay(folder) is None],
                "stood": standing(desk.place, steps),
            })  # fmt: skip
        touched = [
            {"path": f"{desk.names.workspace}/{step.path}", "change": CHANGES[step.does],
             **({} if step.origin is None else {"from": f"{desk.names.workspace}/{step.origin}"})}
            for step in steps[:MOST_TOLD]
        ]  # fmt: skip
        try:
            seq = self._append(
                row, told | {"files": True, "touched": touched}, source, one.key, None if force else row.head
            )
        except BaseException:
            desk.journal.move(one, DROPPED, ended=self.now())
            raise
        one = desk.journal.move(one, RUNNING, told={"seq": seq})
        done = self._run(desk, one)
        return done, desk.journal.get(one.id)

    def _keep_first(self, desk: Desk, step: Step) -> None:
        """A copy of what a step will replace or remove. In a transaction."""
        path = step.origin or step.path
        found = desk.place.look(path)
        if not found.held.alike(step.now or rewinding.ABSENT):
            raise Conflict(
                f"{path} has changed since the plan was made; nothing was done", hint="make the plan again"
            )
        for root, below in desk.names.of(path):
            keep(desk.versions, root, below, found, self.now())
            last = desk.versions.last(root, below)
            if step.by in ("person", "unknown") and last is not None and last.hand is None:
                desk.versions.mark_told(root, below, None, hand=step.by)

    def _run(self, desk: Desk, one: Restore) -> list[Done]:
        run = Restoring(
            desk.place, desk.versions, mark=str(one.id), session=one.session, seq=one.told["seq"],
            now=self.now, names=desk.names.of, goes=frozenset(one.told.get("goes", ())),
        )  # fmt: skip
        done = run.run(steps_of(one))
        left = [each for each in done if each.left is not None]
        desk.journal.move(
            one, DONE, ended=self.now(), told={"left": {each.step.path: each.left for each in left}}
        )
        if left:
            note = f"left alone: {plural(len(left), 'file')}, such as {left[0].step.path}: {left[0].left}"
            gap = {"what": "rewind", "since": iso(one.began), "until": iso(self.now()), "note": note}
            self.record([Draft(one.session, "gap", gap, source=str(one.told["source"]))])
        return done

    def _finish(self, versions: Versions, one: Restore) -> str:
        """A run that was cut short: dropped if the log never took it, else done to its end."""
        journal = Restores(versions)
        who = f"a rewind of session {one.session[:8]} that was cut short at {iso(one.began)}"
        if one.stage == PLANNED:
            found = self.store.db.execute("SELECT id FROM event WHERE key=?", (one.key,)).fetchone()
            if found is None:
                journal.move(one, DROPPED, ended=self.now())
                return f"{who} had not begun to write, and was dropped"
            one = journal.move(one, RUNNING, told={"seq": int(found[0]) & SEQ_MASK})
        row = self.store.sessions.resolve(one.session)
        device, inode = one.told["identity"]
        try:
            with Enclosure(one.root, (device, inode)) as place:
                desk = Desk(row, versions, Names(versions, str(one.told["workspace"])), place)
                done = self._run(desk, one)
        except Refused as error:
            journal.move(one, DONE, ended=self.now(), told={"left": {"": str(error)}})
            return f"{who} could not be finished: {error}"
        left = sum(each.left is not None for each in done)
        back = they(len(done) - left, "file", "are")
        return f"{who} has been finished: {back} as before" + (
            f", {they(left, 'file', 'were')} left alone" if left else ""
        )

    def _append(
        self, row: SessionRow, payload: dict[str, Any], source: str, key: str | None, expected: int | None
    ) -> int:
        given = {name: value for name, value in payload.items() if value is not None}
        draft = Draft(row.id, "rewind", given, source=source, key=key, expected_seq=expected)
        result = self.record([draft])[0]
        if result.appended is None:
            raise result.error or InvalidInput("the rewind could not be recorded")
        return result.appended.seq


def freely(made: Plan) -> tuple[Step, ...]:
    """What is written when nobody insists."""
    return tuple(step for step in made.writes() if step.action != "refuse")


def _done_json(workspace: str, done: Sequence[Done]) -> list[dict[str, Any]]:
    return [
        step_shown(workspace, one.step)
        | {"action": one.step.does if one.left is None else "refuse", "done": one.left is None}
        | ({} if one.left is None else {"why": one.left})
        for one in done
    ]
