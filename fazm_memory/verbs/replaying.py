"""The verbs of replay: a past workflow as a plan of what still counts, and done again on other files.

Files are moved by our own hand inside an enclosure that no link leads out of, and only as they were when the
plan was shown. A recorded command is never run without being shown and confirmed by itself, and not at all
when it came from a source that nobody answers for. What is done is recorded as a session of its own.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from posixpath import basename, commonpath, dirname, join, normpath, relpath
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.enclosure import Enclosure, Refused
from fazm_memory.errors import InvalidRequest
from fazm_memory.log.paths import DEEPEST, effective
from fazm_memory.log.sessions import SessionRow
from fazm_memory.model.events import Event
from fazm_memory.model.organized import organized
from fazm_memory.model.rewinding import Held
from fazm_memory.recall.file_time import file_time
from fazm_memory.recall.replay import Part, plan
from fazm_memory.recall.rerun import Rerun, Step, plan_again, root_of
from fazm_memory.verbs.telling import Telling

TRASH = ".fazm-memory-trash"  # beside the files: put aside, not deleted
AGENT = "fazm-memory"
MOST_FILES = 2000
PATIENCE = 600  # seconds a command may take
WAITS = {"decision": "noted", "keep": "left", "by hand": "by hand"}  # kinds that nobody does here
Confirm = Callable[[dict[str, Any]], bool]


def _silent(done: int) -> None:
    """Whoever asks for no progress."""


@dataclass(frozen=True)
class Done:
    outcome: str
    why: str | None = None
    files: tuple[dict[str, Any], ...] = ()
    output: str | None = None


class Replaying(Telling):
    """What `Memory` can do again. Mixed into it; not for use alone."""

    def replay_plan(self, session: str, *, progress: Callable[[int], None] = _silent) -> dict[str, Any]:
        """The effective steps of a session, dead ends and retries removed, with the parameters found."""
        row = self.store.sessions.resolve(session)
        past, whole = self._past(row)
        count = 0

        def read(one: SessionRow, start: int, stop: int) -> list[Event]:
            def counted() -> Iterator[Event]:
                nonlocal count
                for event in self.store.log.slice(one.n, one.id, start, stop):
                    count += 1
                    progress(count)
                    yield event

            return self.store.ward.events(one.n, counted())

        parts = [Part(partial(read, one), at, effective(self.store.db, one.n, at)) for one, at in past]
        with self.store.db.reading():
            made = plan(parts, workspace=row.workspace)
        if not whole:
            made["left_out"]["steps of a session that is not here"] = past[0][0].parent_seq
        return {"session": row.id, "title": row.title, **made}

    def _past(self, row: SessionRow) -> tuple[list[tuple[SessionRow, int]], bool]:
        """The session and those it was forked from, with how far each counts, the first one first; and
        whether all of them are here."""
        found = [(row, row.head)]
        while row.parent is not None and row.parent_seq is not None and len(found) < DEEPEST:
            above = self.store.sessions.by_key(row.parent, None)
            if above is None:
                return found[::-1], False
            found.append((above, row.parent_seq))
            row = above
        return found[::-1], True

    def replay_run(
        self, session: str, *, onto: Mapping[str, str], execute: bool, confirm: Confirm
    ) -> dict[str, Any]:
        """Do to other files what was done then, asking `confirm` before each step; or only say what it would
        be. `onto` gives parameters other values; `folder` is the folder it is done to."""
        if execute:
            self.check_recording()
        made = self.replay_plan(session)
        folder = self._folder(made, onto)
        again = self._again(made, folder, onto)
        looks = {step: _look(step, folder) for step in again.steps if step.kind in ("move", "trash")}
        told: list[dict[str, Any]] = []
        recorded: str | None = None
        for number, step in enumerate(again.steps, 1):
            shown = _shown(number, step, folder)
            if execute and shown["outcome"] == "planned":
                done = Done("declined")
                if confirm(shown):
                    done = _do(step, folder, looks.get(step))
                    recorded = self._note(recorded, made, folder, step, done)
                shown |= {"outcome": done.outcome} | ({"divergence": done.why} if done.why else {})
            told.append(shown)
        return {
            "session": made["session"],
            "folder": folder,
            "swapped": dict(again.swapped),
            "executed": execute,
            "recorded": recorded,
            "steps": told,
            "divergence": list(again.divergence),
            "counts": dict(Counter(one["outcome"] for one in told)),
        }

    def _folder(self, made: Mapping[str, Any], onto: Mapping[str, str]) -> str:
        folder = normpath(onto.get("folder") or root_of(made["steps"]) or "")
        if not folder.startswith("/") or not os.path.isdir(folder):
            hint = "name the folder it should be done to: --onto DIR"
            raise InvalidRequest(f"there is no folder {folder!r} to do it in", hint=hint)
        return os.path.realpath(folder)  # where it really is: below it no link is followed

    def _again(self, made: Mapping[str, Any], folder: str, onto: Mapping[str, str]) -> Rerun:
        row = self.store.sessions.resolve(made["session"])
        with self.store.db.reading():
            state = self.store.ward.state_at(row.n, row.id, row.head)
        here = _files(folder, _depths(made["steps"]))
        times = {path: time for path in here if (time := file_time(path)) is not None}
        learned = organized(state, file_time)
        return plan_again(made, learned, here, {**onto, "folder": folder}, times=times)

    def _note(
        self, session: str | None, made: Mapping[str, Any], folder: str, step: Step, done: Done
    ) -> str | None:
        """Record what was done, in a session of its own that is opened with the first of it."""
        if done.outcome == "refused":
            return session
        if session is None:
            title = f"Replay of {made['title'] or made['session'][:8]}"
            session = str(self.open_session(AGENT, workspace=folder, title=title)["id"])
        payload: dict[str, Any] = {"tool": "Replay", "input": {"step": step.what}, "files": list(done.files)}
        if done.output is not None:
            payload["output"] = done.output
        if done.outcome != "done":
            payload |= {"outcome": "error", "error": done.why or "it failed"}
        result = self.record([Draft(session, "action", payload, source="cli", actor="system")])[0]
        if result.error is not None:
            raise result.error
        return session


def _shown(number: int, step: Step, folder: str) -> dict[str, Any]:
    told: dict[str, Any] = {"n": number, "kind": step.kind, "what": step.what, "seq": step.seq}
    told["outcome"] = WAITS.get(step.kind, "planned")
    if step.doubted:
        told |= {"outcome": "refused", "divergence": "it came from a source that nobody answers for"}
    elif step.divergence:
        told["divergence"] = step.divergence
    if step.command is not None:
        told["command"] = step.command
    if step.source is not None:
        told |= {"from": step.source, "to": step.target}
    if step.target is not None and not normpath(step.target).startswith(f"{folder}/"):
        told["outside"] = True
        told.setdefault("divergence", f"it leads out of {folder}")
    return told


def _depths(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """The subfolders, as seen from the folder it was about, in which the recording found files."""
    root = root_of(steps)
    found = {
        relpath(dirname(file["from"] or file["path"]), root)
        for step in steps
        for file in step.get("files", ())
        if root is not None and file["change"] != "created"
    }
    return found or {"."}


def _files(folder: str, below: set[str]) -> list[str]:
    """Plain files that are there, hidden ones and links aside."""
    found: list[str] = []
    for part in sorted(below):
        place = normpath(join(folder, part))
        if os.path.realpath(place) != place or not os.path.isdir(place):
            continue
        with os.scandir(place) as entries:
            names = [one.name for one in entries if one.is_file(follow_symlinks=False)]
        found += [join(place, name) for name in sorted(names) if not name.startswith(".")]
    return found[:MOST_FILES]


def _paths(step: Step, folder: str) -> tuple[str, str, str]:
    """An enclosure's root, and below it from where to where."""
    source, target = step.source or "", step.target or join(folder, TRASH, basename(step.source or ""))
    root = folder if target.startswith(f"{folder}/") else commonpath([folder, dirname(target)])
    if root == "/":
        raise Refused(f"{target} has nothing in common with {folder}")
    return root, source[len(root) + 1 :], target[len(root) + 1 :]


def _look(step: Step, folder: str) -> Held | None:
    try:
        root, old, _ = _paths(step, folder)
        with Enclosure(root) as inside:
            return inside.look(old).held
    except Refused:
        return None  # it is said when the step is tried


def _do(step: Step, folder: str, expected: Held | None) -> Done:
    if step.kind == "command":
        return _run(step.command or "", folder)
    try:
        root, old, new = _paths(step, folder)
        with Enclosure(root) as inside:
            if expected is None or expected.absent:
                raise Refused("it was not there when the plan was made")
            inside.move(old, new, expected)
    except Refused as why:
        return Done("refused", str(why))
    except OSError as error:
        return Done("failed", error.strerror or str(error))
    target = join(root, new)
    return Done("done", None, ({"path": target, "change": "renamed", "from": step.source},))


def _run(command: str, folder: str) -> Done:
    try:
        made = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, capture_output=True, timeout=PATIENCE, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Done("failed", str(error))
    said = (made.stdout + made.stderr).decode("utf-8", "replace")
    if made.returncode == 0:
        return Done("done", output=said)
    return Done("failed", f"it ended with {made.returncode}; it went well then", output=said)
