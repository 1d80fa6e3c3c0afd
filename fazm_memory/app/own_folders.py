"""Sessions with a folder of their own: open, list, merge back, remove."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fazm_memory.app.memory import Service
from fazm_memory.app.rewind import results_json, step_json
from fazm_memory.clock import iso
from fazm_memory.errors import Conflict, Declined, FazmMemoryError, InvalidRequest, NotFound
from fazm_memory.events import PERSON_SOURCES
from fazm_memory.paths import inside
from fazm_memory.rewind import (
    NewCommits,
    RewindPlan,
    SafeDirectory,
    WriteRefused,
    copy_workspace,
    exclusive_rewind,
    fetch_commits,
    files_of,
    merge_plan,
    new_commits,
    remove_copy,
    store_version,
)
from fazm_memory.store import FileVersion, SessionRow
from fazm_memory.text import plural, plural_with_verb

BATCH = 64  # files that are stored in one transaction


class OwnFolderService(Service):
    """Folders that belong to one session each, beside the workspace.

    Use it as `memory.own_folders`.
    """

    def open(
        self,
        agent: str,
        workspace: str,
        *,
        folder: str | None = None,
        source: str = "cli",
        **session: Any,
    ) -> dict[str, Any]:
        """Copy the workspace and open a session that works in the copy.

        `folder` must not exist yet. By default it is beside the workspace. `session` has the other arguments
        of `memory.sessions.open`.
        """
        self._memory.recording.check()
        origin = os.path.realpath(workspace)
        target = self._checked(origin, folder, source)
        excluded = {os.path.realpath(path) for path in self._memory.recording.excluded_folders()}
        if any(inside(origin, path) for path in excluded):
            raise InvalidRequest(f"{origin} is excluded from recording.", hint="Nothing was copied.")
        key = session.get("key")
        if key is not None and self.store.sessions.by_key(key, agent) is not None:
            raise Conflict(
                f'A session with the key "{key}" exists already. Nothing was copied.',
                hint="Use another key, or none.",
            )
        method = copy_workspace(origin, target, excluded)
        try:
            self._store_base(target)
            opened = self._memory.sessions.open(agent, workspace=target, source=source, **session)
        except BaseException:
            remove_copy(target)
            raise
        self.store.sessions.set_own_folder(self.store.sessions.resolve(opened["id"]), origin)
        return opened | {"folder": target, "copy_of": origin, "method": method}

    def listing(self) -> list[dict[str, Any]]:
        """The folders that exist, latest first.

        Each has its session and what is not merged yet.
        """
        return [
            self._to_json(row, origin) for row, origin in self._rows() if os.path.isdir(row.workspace or "")
        ]

    def plan(self, session: str) -> dict[str, Any]:
        """What merging the session's folder back would do to each file of the workspace."""
        row, origin = self._find(session)
        with _both_folders(str(row.workspace), origin) as (own, target):
            return self._plan_json(row, origin, merge_plan(own, target, self._base(row)))

    def merge(self, session: str, *, force: bool = False, source: str = "cli") -> dict[str, Any]:
        """Bring the changes and the commits of the session's folder to the workspace.

        The session goes on there as a fork, whose latest rewind can be undone. A file that changed in both
        folders is refused without `force`. Commits become remote branches; no branch of the workspace moves.
        """
        self._memory.recording.check()
        row, origin = self._find(session)
        rewind = self._memory.rewind
        rewind.finish_interrupted()
        with exclusive_rewind(self.config.home):
            with _both_folders(str(row.workspace), origin) as (own, target):
                plan = merge_plan(own, target, self._base(row))
                self._check_merge(row, origin, plan, force=force, source=source)
                steps = plan.writes() if force else plan.allowed()
                self._store_contents(own, [step.path for step in steps])
            commits = _commits_json(row, fetch_commits(str(row.workspace), origin, _remote(row)))
            if not steps:
                return self._memory.sessions.get(row.id) | {"files": [], "commits": commits, "undo": None}
            fork = self.store.sessions.resolve(rewind.fork(row.id, folder=origin, source=source)["id"])
            payload = {"to": fork.head, "reason": f"merged from the folder of {row.id[:8]}"}

            def keep_folder(folder: str) -> str | None:
                there = os.path.isdir(os.path.join(row.workspace or "", folder))
                return "it is in the session's own folder" if there else None

            with rewind.open_files(fork) as here:
                results, run = rewind.carry_out(here, steps, payload, source, keep_folder, force=force)
        return self._memory.sessions.get(fork.id) | {
            "files": results_json(origin, results),
            "commits": commits,
            "undo": str(run.id),
        }

    def remove(self, session: str, *, force: bool = False, source: str = "cli") -> dict[str, Any]:
        """Remove the session's folder.

        What was recorded stays, and so do commits that were made in it.

        Unmerged changes need `force`.
        """
        row, origin = self._find(session)
        if source not in PERSON_SOURCES:
            raise Declined("Only a person may remove a folder.", hint="`fazm-memory folders remove ID`")
        files = [] if force else self.plan(row.id)["files"]
        if waiting := [file for file in files if file["action"] != "keep"]:
            raise Declined(
                f"{plural_with_verb(len(waiting), 'file', 'are')} not merged from {row.workspace}, such as"
                f" {waiting[0]['path']}. Nothing was removed.",
                hint="`fazm-memory folders merge ID` merges them; --force removes them.",
            )
        commits = _commits_json(row, fetch_commits(str(row.workspace), origin, _remote(row)))
        remove_copy(str(row.workspace))
        gone = {"session": row.id, "folder": row.workspace, "copy_of": origin, "removed": True}
        return gone | {"commits": commits}

    # -- helpers -----------------------------------------------------------------------------------------

    def _checked(self, origin: str, folder: str | None, source: str) -> str:
        if not os.path.isdir(origin):
            raise NotFound(f"{origin} is not a folder.", hint="Name a folder that exists.")
        if folder is not None and source not in PERSON_SOURCES:
            raise Declined("An agent may not choose where the folder is.", hint="Leave the folder out.")
        beside = f"{origin.rstrip('/')}-session-{secrets.token_hex(4)}"
        target = os.path.abspath(os.path.expanduser(folder or beside))
        target = os.path.join(os.path.realpath(os.path.dirname(target)), os.path.basename(target))
        home = os.path.realpath(self.config.home)
        user_home = os.path.realpath(self.config.user_home)
        if origin in ("/", user_home) or inside(user_home, origin):
            raise InvalidRequest(
                f"{origin} is too large to be copied for one session.", hint="Name a folder within it."
            )
        if os.path.lexists(target):
            raise InvalidRequest(f"{target} exists already.", hint="Name a new folder.")
        if not os.path.isdir(os.path.dirname(target)):
            raise NotFound(f"{os.path.dirname(target)} does not exist.", hint="Create it first.")
        for other, what in ((origin, "the workspace"), (home, "the data folder")):
            if inside(target, other) or inside(other, target):
                raise InvalidRequest(f"{target} and {what} would overlap.", hint="Name a folder beside it.")
        return target

    def _store_base(self, folder: str) -> None:
        """Store the files of a new copy, so that a merge can tell what changed."""
        with SafeDirectory(folder) as directory:
            self._store_contents(directory, files_of(folder))

    def _store_contents(self, directory: SafeDirectory, paths: list[str]) -> None:
        versions = self._memory.file_versions
        for first in range(0, len(paths), BATCH):
            with versions.db.transaction():
                for path in paths[first : first + BATCH]:
                    store_version(versions, directory.root, path, directory.look(path), self.now())

    def _base(self, row: SessionRow) -> dict[str, FileVersion]:
        """The files of the session's folder when it was made."""
        return self._memory.file_versions.manifest(str(row.workspace), row.opened_at)

    def _rows(self) -> list[tuple[SessionRow, str]]:
        origins = self.store.sessions.own_folders()
        rows = self.store.sessions.numbered(sorted(origins))
        found = [(row, origins[row.n]) for row in rows if not row.forgotten]
        return sorted(found, key=lambda pair: -pair[0].last_at)

    def _find(self, session: str) -> tuple[SessionRow, str]:
        row = self.store.sessions.resolve(session)
        # Only this table counts: an agent cannot name a folder to be merged or removed.
        origin = self.store.sessions.own_folders().get(row.n)
        if origin is None:
            raise NotFound(
                f"Session {row.id[:8]} has no folder of its own.",
                hint="`fazm-memory folders` lists those that have one.",
            )
        return row, origin

    def _check_merge(
        self, row: SessionRow, origin: str, plan: RewindPlan, *, force: bool, source: str
    ) -> None:
        if not plan.refused or (force and source in PERSON_SOURCES):
            return
        first = plan.refused[0]
        raise Declined(
            f"{plural(len(plan.refused), 'file')} changed in both folders, such as {first.path}."
            " Nothing was merged.",
            hint="--force merges them and stores a copy of each; --dry-run shows the plan.",
            details={"plan": self._plan_json(row, origin, plan)},
        )

    def _plan_json(self, row: SessionRow, origin: str, plan: RewindPlan) -> dict[str, Any]:
        return {
            "session": row.id,
            "folder": row.workspace,
            "copy_of": origin,
            "files": [step_json(origin, step) for step in plan.steps],
            "commits": _commits_json(row, new_commits(str(row.workspace), origin)),
            "counts": plan.counts(),
            "needs_force": bool(plan.refused),
        }

    def _to_json(self, row: SessionRow, origin: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "session": row.id,
            "title": row.title,
            "lifecycle": row.lifecycle,
            "folder": row.workspace,
            "copy_of": origin,
            "last_at": iso(row.last_at),
        }
        try:
            plan = self.plan(row.id)
        except FazmMemoryError as error:  # such as a workspace that is gone: it hides no other
            return found | {"unmerged": None, "commits": None, "conflicts": None, "problem": error.message}
        return found | {
            "unmerged": len(plan["files"]),
            "commits": sum(one["number"] for one in plan["commits"]),
            "conflicts": plan["counts"].get("refuse", 0),
        }


def _remote(row: SessionRow) -> str:
    """The name of the session's folder as a remote of the workspace."""
    return f"session-{row.id[:8]}"


def _commits_json(row: SessionRow, found: list[NewCommits]) -> list[dict[str, Any]]:
    return [one._asdict() | {"as": f"{_remote(row)}/{one.branch}"} for one in found]


@contextmanager
def _both_folders(own: str, origin: str) -> Iterator[tuple[SafeDirectory, SafeDirectory]]:
    """Open the session's folder and its workspace for safe access."""
    try:
        with SafeDirectory(own) as first, SafeDirectory(origin) as second:
            yield first, second
    except WriteRefused as error:
        raise NotFound(f"The folders cannot be compared: {error}.") from None
