"""Planning a rewind of files: what the plan is made from, whether the moment is right, how it is shown."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.attribution import Happening, attribute
from fazm_memory.capture.calls import recent_calls, workplaces
from fazm_memory.capture.emptied import STOOD, Emptied, Stays, stays, told_folders
from fazm_memory.capture.enclosure import Enclosure, Refused
from fazm_memory.capture.files_then import (
    Judge,
    Names,
    Spot,
    candidates,
    changed_at,
    held,
    histories,
    look,
    pasts,
    spot,
)
from fazm_memory.errors import Conflict, Declined, InvalidRequest, InvalidTransition, NotFound
from fazm_memory.log.restores import Restore, Restores
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.versions import Versions
from fazm_memory.model import lifecycle, rewinding
from fazm_memory.model.counting import they
from fazm_memory.model.rewinding import Hand, Held, Past, Plan, Step, step_from
from fazm_memory.model.trust import PERSONS_DOORS
from fazm_memory.verbs.telling import Telling

SESSIONS = 50
MINUTE = 60_000_000
AT_WORK = 10 * MINUTE  # a call that began this lately may still be running


@dataclass(frozen=True)
class Desk:
    """What a rewind of files works with."""

    row: SessionRow
    versions: Versions
    names: Names
    place: Enclosure

    @property
    def journal(self) -> Restores:
        return Restores(self.versions)


class FilesPlanned(Telling):
    """How `Memory` plans a rewind of files. Mixed into it; not for use alone."""

    @contextmanager
    def _desk(self, row: SessionRow) -> Iterator[Desk]:
        if row.workspace is None:
            raise InvalidRequest(
                f"session {row.id[:8]} has no workspace, so there are no files to bring back",
                hint="rewind it without --files",
            )
        versions = self.versions
        try:
            with Enclosure(os.path.realpath(row.workspace)) as place:
                yield Desk(row, versions, Names(versions, row.workspace), place)
        except Refused as error:
            raise NotFound(
                f"the workspace of session {row.id[:8]} is not there: {error}", hint="rewind without --files"
            ) from None

    def _spot(self, row: SessionRow, to: int) -> Spot:
        return spot(self.store, row, to, self.now())

    def _plan(self, desk: Desk, to: int) -> tuple[Plan, list[str]]:
        where = self._spot(desk.row, to)
        found, elsewhere = candidates(self.store, desk.versions, desk.names, desk.row, where)
        own = os.path.realpath(self.config.home) + "/"
        chosen = sorted(path for path in found if not f"{desk.place.root}/{path}".startswith(own))
        known = histories(desk.versions, desk.names, chosen)
        judge = self._judge(desk, where.moment)
        return rewinding.plan(
            pasts(desk.place, known, found, where, judge, self.now()), desk.row.id
        ), elsewhere

    def _stays(self, desk: Desk, to: int) -> Stays:
        """Why a folder stays that a rewind to a position empties."""
        where, row = self._spot(desk.row, to), desk.row

        @functools.cache
        def told() -> set[str]:
            return told_folders(self.store.log.slice(row.n, row.id, where.to, row.head))

        return stays(desk.versions, desk.names, where, told)

    def _judge(self, desk: Desk, since: int) -> Judge:
        """Who changed what nobody has told yet: the watcher's own rule, asked now."""
        rows = self.store.sessions.listing(limit=SESSIONS)
        calls = recent_calls(self.store, rows, since - MINUTE, user_home=str(self.config.user_home))
        places = workplaces(self.store, rows)

        def judge(path: str, at: int) -> Hand:
            full = f"{desk.names.workspace}/{path}"
            verdict = attribute(Happening(full, "modified", at, at), calls, places)
            return Hand(verdict.by, verdict.session)

        return judge

    def _undo_plan(self, desk: Desk, last: Restore) -> Plan:
        judge = self._judge(desk, last.began)
        files = []
        for step in steps_of(last):
            for path, before, left in effects(step):
                found, barred = look(desk.place, path)
                hands = [Hand(rewinding.REWIND, desk.row.id)]
                if not found.alike(left):
                    hands.append(self._since(desk, path, found, judge))
                files.append(Past(path, before, found, tuple(hands), barred))
        return rewinding.plan(files, desk.row.id)

    def _since(self, desk: Desk, path: str, found: Held, judge: Judge) -> Hand:
        """Whose hand a file is of that is not what the rewind left. The agent's own work since counts too."""
        rows = histories(desk.versions, desk.names, [path])[path]
        known = held(rows[-1] if rows else None)
        if known is not None and known.alike(found) and rows[-1].hand is not None:
            hand = Hand(rows[-1].hand, rows[-1].session)
        else:
            hand = judge(path, changed_at(known, found, self.now()))
        return Hand(hand.by) if hand.session == desk.row.id else hand

    def _plan_json(
        self,
        row: SessionRow,
        to: int,
        made: Plan,
        elsewhere: Sequence[str],
        folders: Sequence[Emptied] = (),
    ) -> dict[str, Any]:
        workspace = (row.workspace or "").rstrip("/")
        outside = [
            {"path": path, "action": "cannot", "by": "agent",
             "why": "it is outside the session's workspace, where nothing is ever written"}
            for path in elsewhere
        ]  # fmt: skip
        files = [step_shown(workspace, step) for step in made.steps] + outside
        counts = made.counts()
        if outside:
            counts["cannot"] = counts.get("cannot", 0) + len(outside)
        unseen = self._unseen(row, to)
        return {
            "session": row.id,
            "to": to,
            "head": row.head,
            "workspace": row.workspace,
            "files": files,
            "folders": [
                {
                    "path": f"{workspace}/{one.path}",
                    "action": "delete" if one.goes else "keep",
                    "why": one.why,
                }
                for one in folders
            ],
            "counts": counts,
            "needs_force": bool(made.refused or unseen),
            "unseen": len(unseen),
            "unseen_what": unseen,
            "digest": f"{row.head}-{to}-{made.digest()}",
        }

    def _unseen(self, row: SessionRow, to: int) -> list[str]:
        """What would be passed over that nobody has seen: open questions, calls still running."""
        with self.store.db.reading():
            state = self.store.snapshots.state_at(row.n, row.id, row.head)
        asked = [
            f"question {one['id']} to a person is not answered"
            for one in state.questions.values()
            if one["to"] == "human" and one["seq"] >= to and "session" not in one
        ]
        at_work = row.lifecycle in ("open", "active", "resumed")
        running = [
            f"{one['tool']} (#{one['seq']}) is still running"
            for one in state.running.values()
            if at_work and one["seq"] >= to and self.now() - one["at"] < AT_WORK
        ]
        return asked + running

    def _check_moment(
        self, row: SessionRow, to: int, *, force: bool, expected: int | None, source: str
    ) -> None:
        """Whether the log would take a rewind now: asked before any file is touched."""
        if lifecycle.after(row.lifecycle, "activity") is None:  # type: ignore[arg-type]
            raise InvalidTransition(
                f"session {row.id[:8]} cannot be rewound: {lifecycle.refusal(row.lifecycle, 'activity')}",  # type: ignore[arg-type]
                hint=f"`fazm-memory resume {row.id[:8]}`, then rewind; `fork` leaves it as it is",
                details={"session": row.id, "lifecycle": row.lifecycle, "head": row.head},
            )
        if expected is not None and expected != row.head and not force:
            more = row.head - expected
            unseen = f": {they(more, 'event', 'have')} not been seen" if more > 0 else ", which is not so far"
            raise Conflict(
                f"position {expected} was expected, but session {row.id[:8]} is at {row.head}{unseen}",
                hint="read what was added since, then rewind; --force goes past it unseen",
                details={"head": row.head, "session": row.id},
            )
        passed = self._unseen(row, to)
        if passed and (
            not force or (source not in PERSONS_DOORS and any(one.startswith("question") for one in passed))
        ):
            raise Declined(
                f"the rewind would pass over what nobody has seen: {passed[0]}",
                hint="answer or wait for it first; --force, by a person, goes past it",
                details={"unseen": passed, "session": row.id},
            )

    def _check_insisting(self, made: Plan, *, force: bool, source: str) -> None:
        """To go over what others changed is a person's to ask for, at a door that only persons use."""
        if made.refused and force and source not in PERSONS_DOORS:
            first = made.refused[0]
            raise Declined(
                f"{first.path}: {first.why.split(';')[0]}; only a person may insist; nothing was done",
                hint="a person rewinds it in the timeline, or with `fazm-memory rewind ID --to N --files`",
                details={"refused": [step.path for step in made.refused[:100]]},
            )


def undo_stays(last: Restore) -> Stays:
    """Why a folder stays that an undo empties: it stood before the rewind that is undone."""
    stood = frozenset(last.told.get("stood", ()))
    return lambda folder: STOOD if folder in stood else None


def steps_of(one: Restore) -> list[Step]:
    left = one.told.get("left", {})
    return [step for raw in one.told["steps"] if (step := step_from(raw)).path not in left]


def effects(step: Step) -> Iterator[tuple[str, rewinding.Held, rewinding.Held]]:
    """Each path a step wrote: what it held before, and what the step left there."""
    was, now = step.was or rewinding.ABSENT, step.now or rewinding.ABSENT
    if step.origin is None:
        yield step.path, now, was
    else:
        yield step.path, rewinding.ABSENT, was
        yield step.origin, now, rewinding.ABSENT


def standing(place: Enclosure, steps: Sequence[Step]) -> list[str]:
    """The folders that these steps write in, and those around them, which are there now."""
    found: set[str] = set()
    for path in (path for step in steps for path in (step.path, step.origin) if path is not None):
        while (path := os.path.dirname(path)) and path not in found:
            found.add(path)
    return sorted(path for path in found if stat.S_ISDIR(look(place, path)[0].mode or 0))


def step_shown(workspace: str, step: Step) -> dict[str, Any]:
    """The step as the contract tells it: `from` is the name that a file to be renamed back has now."""
    size = next((one.size for one in (step.was, step.now) if one is not None and one.size is not None), None)
    more = {
        "from": None if step.origin is None else f"{workspace}/{step.origin}",
        "bytes": size,
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
