"""The verbs of keeping: verify, recover, forget, retain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any

from fazm_memory.config import with_present_retention
from fazm_memory.errors import InvalidRequest
from fazm_memory.log import recover as recovery
from fazm_memory.log import retain as retaining
from fazm_memory.log import verify as verification
from fazm_memory.log.beside import Looked, look_beside, recover_beside
from fazm_memory.log.drawer import drawer_exists
from fazm_memory.log.forget import choose_events, files_named, forget_events
from fazm_memory.log.journal import QUARANTINE, Aside
from fazm_memory.model.clock import moment
from fazm_memory.model.retention import DAY, Policy
from fazm_memory.private import alone, private_folder
from fazm_memory.recall import exports
from fazm_memory.verbs.recalling import Recalling

RETAINED = "retained"  # when the retention policy was last carried out


class Keeping(Recalling):
    """What `Memory` does for its own store. Mixed into it; not for use alone."""

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
        """Set a damaged store aside and save all that verifies into a new one; then what lies beside it."""
        self.close()
        home = self.config.home
        if not home.exists():
            raise recovery.no_store(home)
        aside = Aside(home / QUARANTINE / f"{moment(self.now()):%Y-%m-%dT%H%M%S}")
        # Alone: another's that has not ended would pass for one that was cut short.
        with alone(private_folder(home)):
            told = recovery.recover(home, key=self.config.key, now=self.now(), aside=aside, progress=progress)
            beside = recover_beside(home, self.store.keys.database, aside)
            self.close()
        if aside.made is not None:
            told.quarantine = str(aside.made)
        return {**told.to_json(), "beside": beside}

    def look_beside(self, most: int) -> list[Looked]:
        """Whether what lies beside the log is whole; of more than `most` bytes only whether it opens."""
        key = self.store.keys.database
        self.close()  # whether another process has it open can only be told when this one has not
        return look_beside(self.config.home, key, most)

    def forget(
        self,
        session: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        match: str | None = None,
        seqs: Sequence[int] | None = None,
        dry_run: bool = False,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Forget a session, a time, or whatever matches; with `dry_run` only say what that would be.

        `seqs` are positions of the session to which all this is narrowed. `kept` of the answer counts events
        that say where a session was forked, went back or is held back: they lose their words and stay.
        """
        if session is None and since is None and until is None and match is None:
            raise InvalidRequest(
                "nothing was named to forget", hint="give a session, --since/--until, or --match"
            )
        if match is not None and not match.strip():
            raise InvalidRequest(
                "an empty text is in everything, so nothing was forgotten", hint="say which text"
            )
        if seqs is not None and session is None:
            raise InvalidRequest("positions are those of a session", hint="say which session")
        chosen = choose_events(self.store, session, since=since, until=until, match=match, seqs=seqs)
        count = sum(len(seqs) for seqs in chosen.seqs.values())
        told = {"sessions": len(chosen.seqs), "events": count, "kept": chosen.kept, "dry_run": dry_run}
        if dry_run or not count:
            return told
        reason = "asked for by the user"
        self._forget_versions(files_named(self.store, chosen.seqs))
        self._empty_drawer(chosen.seqs)
        told["events"] = forget_events(self.store, chosen.seqs, reason=reason, at=self.now(), source=source)
        if (self.config.home / exports.FOLDER).exists() and not self.export_contexts():
            exports.keep_only(self.config.home, ())  # while paused nothing is exported, nor left standing
        return told

    def retain(
        self, *, dry_run: bool = False, progress: Callable[[int], None] = lambda done: None
    ) -> dict[str, Any]:
        """Let go of details that the policy no longer keeps; with `dry_run` only say what that would be."""
        policy = self.policy()
        planned = retaining.plan(self.store, policy, self.now(), progress=progress)
        told = {"policy": policy.__dict__, "dry_run": dry_run, **planned.to_json()}
        if policy.versions and (versions := self.versions_kept) is not None:
            before = self.now() - policy.versions * DAY
            told["versions"] = versions.let_go_before(before, dry_run=dry_run)
        if not dry_run:
            told |= retaining.carry_out(self.store, planned, self.now(), progress=progress)
            with self.store.db.transaction():
                self.store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (RETAINED, str(self.now())))
        return told

    def retain_daily(self) -> None:
        """The same, when the last time was a day ago or more: for whoever runs all day.

        It goes by the ages of that moment: they may have been changed since the run began.
        """
        row = self.store.db.execute("SELECT value FROM meta WHERE key=?", (RETAINED,)).fetchone()
        if row is None or self.now() - int(row[0]) >= DAY:
            self.config = with_present_retention(self.config)
            self.retain()

    def policy(self) -> Policy:
        """How long this user keeps what."""
        names = (one.name for one in fields(Policy))
        return Policy(**{name: getattr(self.config, f"retain_{name}") for name in names})

    def _empty_drawer(self, sessions: Iterable[int]) -> None:
        """All that a program left for these sessions: nobody can tell which part of it was meant."""
        if drawer_exists(self.config.home):
            asked = "SELECT agent_session_id FROM session WHERE n=? AND agent_session_id IS NOT NULL"
            found = [self.store.db.execute(asked, (one,)).fetchone() for one in sessions]
            self.drawer.forget(row[0] for row in found if row is not None)

    def _forget_versions(self, paths: set[str]) -> None:
        """Kept versions of forgotten files, if any were ever kept here."""
        if paths and (versions := self.versions_kept) is not None:
            versions.forget_files(paths)
