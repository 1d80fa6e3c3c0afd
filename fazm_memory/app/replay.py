"""Workflows of past sessions: as plans, and executed again."""

from __future__ import annotations

import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from posixpath import basename, commonpath, dirname, join, normpath, relpath
from typing import Any

from fazm_memory.app.memory import Service
from fazm_memory.clock import modification_time
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.events import Draft, Event
from fazm_memory.recall import (
    ReplayPlan,
    ReplaySource,
    ReplayStep,
    extract_workflow,
    plan_replay,
    workflow_folder,
)
from fazm_memory.records import dataclass
from fazm_memory.rewind import FileContent, SafeDirectory, WriteRefused
from fazm_memory.session import learn_from_session
from fazm_memory.store import MAX_FORK_DEPTH, SessionRow, effective_ranges

TRASH = ".fazm-memory-trash"  # folder for deleted files
AGENT = "fazm-memory"
MAX_FILES = 2000
COMMAND_TIMEOUT = 600  # seconds
NOT_EXECUTED = {"decision": "noted", "keep": "left", "by hand": "by hand"}
Confirm = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class StepResult:
    outcome: str
    why: str | None = None
    files: tuple[dict[str, Any], ...] = ()
    output: str | None = None


def _step_json(number: int, step: ReplayStep, folder: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"n": number, "kind": step.kind, "what": step.what, "seq": step.seq}
    shown["outcome"] = NOT_EXECUTED.get(step.kind, "planned")
    if step.doubted:
        shown |= {"outcome": "refused", "divergence": "it comes from an untrusted source"}
    elif step.divergence:
        shown["divergence"] = step.divergence
    if step.command is not None:
        shown["command"] = step.command
    if step.source is not None:
        shown |= {"from": step.source, "to": step.target}
    if step.target is not None and not normpath(step.target).startswith(f"{folder}/"):
        shown["outside"] = True
        shown.setdefault("divergence", f"it is outside {folder}")
    return shown


def _depths(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """The subfolders with files of the session, relative to the workflow."""
    root = workflow_folder(steps)
    found = {
        relpath(dirname(file["from"] or file["path"]), root)
        for step in steps
        for file in step.get("files", ())
        if root is not None and file["change"] not in ("created", "read")
    }
    return found or {"."}


def _files(folder: str, below: set[str]) -> list[str]:
    """The regular files in these subfolders, without hidden files and links."""
    found: list[str] = []
    for part in sorted(below):
        place = normpath(join(folder, part))
        if os.path.realpath(place) != place or not os.path.isdir(place):
            continue
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        found += [join(place, name) for name in sorted(names) if not name.startswith(".")]
    return found[:MAX_FILES]


def _paths(step: ReplayStep, folder: str) -> tuple[str, str, str]:
    """The root folder of a move, and the source and target below it."""
    source, target = step.source or "", step.target or join(folder, TRASH, basename(step.source or ""))
    root = folder if target.startswith(f"{folder}/") else commonpath([folder, dirname(target)])
    if root == "/":
        raise WriteRefused(f"{target} shares no folder with {folder}")
    return root, source[len(root) + 1 :], target[len(root) + 1 :]


def _current_content(step: ReplayStep, folder: str) -> FileContent | None:
    try:
        root, old, _ = _paths(step, folder)
        with SafeDirectory(root) as inside:
            return inside.look(old).held
    except WriteRefused:
        return None  # the step itself reports it


def _do(step: ReplayStep, folder: str, expected: FileContent | None) -> StepResult:
    if step.kind == "command":
        return _run(step.command or "", folder)
    try:
        root, old, new = _paths(step, folder)
        with SafeDirectory(root) as inside:
            if expected is None or expected.absent:
                raise WriteRefused("it did not exist when the plan was made")
            inside.move(old, new, expected)
    except WriteRefused as why:
        return StepResult("refused", str(why))
    except OSError as error:
        return StepResult("failed", error.strerror or str(error))
    target = join(root, new)
    return StepResult("done", None, ({"path": target, "change": "renamed", "from": step.source},))


def _run(command: str, folder: str) -> StepResult:
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, capture_output=True, timeout=COMMAND_TIMEOUT, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return StepResult("failed", str(error))
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode == 0:
        return StepResult("done", output=output)
    return StepResult(
        "failed", f"exit code {done.returncode}; it was successful when recorded", output=output
    )


class ReplayService(Service):
    """Workflows of past sessions. Use it as `memory.replay`."""

    def plan(
        self,
        session: str,
        *,
        doubted: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> dict[str, Any]:
        """The steps of a session that had an effect, with their parameters.

        Steps that follow untrusted input are marked. The script has them only with `doubted`.
        """
        row = self.store.sessions.resolve(session)
        past, whole = self._past(row)
        superseded = self._superseded(row)
        count = 0

        def read(ancestor: SessionRow, start: int, stop: int) -> list[Event]:
            def counted() -> Iterator[Event]:
                nonlocal count
                for event in self.store.log.slice(ancestor.n, ancestor.id, start, stop):
                    count += 1
                    progress(count)
                    yield event

            return self.store.quarantine_view.events(ancestor.n, counted())

        parts = [
            ReplaySource(
                partial(read, ancestor),
                at,
                effective_ranges(self.store.db, ancestor.n, at),
                superseded[ancestor.id],
            )
            for ancestor, at in past
        ]
        with self.store.db.reading():
            workflow = extract_workflow(parts, workspace=row.workspace, doubted=doubted)
        if not whole:
            workflow["left_out"]["steps of a session that is not here"] = past[0][0].parent_seq
        return {"session": row.id, "title": row.title, **workflow}

    def _superseded(self, row: SessionRow) -> dict[str, set[int]]:
        """The positions of decisions that no longer hold, by session."""
        found: dict[str, set[int]] = defaultdict(set)
        try:
            state = self._memory.history.state_at(row, None, quarantined=False)
        except NotFound:  # its parent is not here
            return found
        for decision in state.decisions_made.values():
            if decision["superseded_by"] is not None:
                found[decision.get("session", row.id)].add(decision["seq"])
        return found

    def _past(self, row: SessionRow) -> tuple[list[tuple[SessionRow, int]], bool]:
        """The session and its ancestors, oldest first, each with its end.

        And whether all are here.
        """
        found = [(row, row.head)]
        while row.parent is not None and row.parent_seq is not None and len(found) < MAX_FORK_DEPTH:
            above = self.store.sessions.by_key(row.parent, None)
            if above is None:
                return found[::-1], False
            found.append((above, row.parent_seq))
            row = above
        return found[::-1], True

    def run(
        self, session: str, *, onto: Mapping[str, str], execute: bool, confirm: Confirm
    ) -> dict[str, Any]:
        """Plan the workflow for other files and, with `execute`, run its steps.

        A step runs if `confirm` accepts it.

        `onto` has new values for parameters. Its `folder` is the folder to work in.
        """
        if execute:
            self._memory.recording.check()
        workflow = self.plan(session)
        folder = self._folder(workflow, onto)
        replay = self._plan_replay(workflow, folder, onto)
        contents = {
            step: _current_content(step, folder) for step in replay.steps if step.kind in ("move", "trash")
        }
        steps: list[dict[str, Any]] = []
        recorded: str | None = None
        for number, step in enumerate(replay.steps, 1):
            shown = _step_json(number, step, folder)
            if execute and shown["outcome"] == "planned":
                done = StepResult("declined")
                if confirm(shown):
                    done = _do(step, folder, contents.get(step))
                    recorded = self._record(recorded, workflow, folder, step, done)
                shown |= {"outcome": done.outcome} | ({"divergence": done.why} if done.why else {})
            steps.append(shown)
        return {
            "session": workflow["session"],
            "folder": folder,
            "swapped": dict(replay.swapped),
            "executed": execute,
            "recorded": recorded,
            "steps": steps,
            "divergence": list(replay.divergence),
            "counts": dict(Counter(shown["outcome"] for shown in steps)),
        }

    def _folder(self, workflow: Mapping[str, Any], onto: Mapping[str, str]) -> str:
        folder = normpath(onto.get("folder") or workflow_folder(workflow["steps"]) or "")
        if not folder.startswith("/") or not os.path.isdir(folder):
            hint = "name the folder: --onto DIR"
            raise InvalidRequest(f"There is no folder {folder!r} to work in.", hint=hint)
        return os.path.realpath(folder)  # below it no link is followed

    def _plan_replay(self, workflow: Mapping[str, Any], folder: str, onto: Mapping[str, str]) -> ReplayPlan:
        row = self.store.sessions.resolve(workflow["session"])
        with self.store.db.reading():
            state = self.store.quarantine_view.state_at(row.n, row.id, row.head)
        here = _files(folder, _depths(workflow["steps"]))
        times = {path: time for path in here if (time := modification_time(path)) is not None}
        learned = learn_from_session(state, modification_time)
        return plan_replay(workflow, learned, here, {**onto, "folder": folder}, times=times)

    def _record(
        self,
        session: str | None,
        workflow: Mapping[str, Any],
        folder: str,
        step: ReplayStep,
        done: StepResult,
    ) -> str | None:
        """Record a step in a session of its own, opened with the first step."""
        if done.outcome == "refused":
            return session
        if session is None:
            title = f"Replay of {workflow['title'] or workflow['session'][:8]}"
            session = str(self._memory.sessions.open(AGENT, workspace=folder, title=title)["id"])
        payload: dict[str, Any] = {"tool": "Replay", "input": {"step": step.what}, "files": list(done.files)}
        if done.output is not None:
            payload["output"] = done.output
        if done.outcome != "done":
            payload |= {"outcome": "error", "error": done.why or "failed"}
        result = self._memory.sessions.record(
            [Draft(session, "action", payload, source="cli", actor="system")]
        )[0]
        if result.error is not None:
            raise result.error
        return session
