"""Verify, recover, forget, retain and quarantine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fazm_memory import session as sessions
from fazm_memory import store as stores
from fazm_memory.app.memory import Service
from fazm_memory.clock import iso, to_datetime
from fazm_memory.config import reload_retention
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.events import DAY, UNTRUSTED, Quarantine, RetentionPolicy
from fazm_memory.paths import CONTEXT_FOLDER, exclusive_lock, private_folder
from fazm_memory.records import fields
from fazm_memory.text import TextMatch, plural

# `copies` and `recovery` are imported where they are used: `status` and `sessions` must start quickly.
if TYPE_CHECKING:
    from fazm_memory.store import SessionRow, VerifyFinding, VerifyReport
    from fazm_memory.store.recovery import SideDatabaseCheck

RETAINED = "retained"  # key of the time when the retention policy was last applied
ANNOUNCED = "retention-announced"  # key of what its first application will delete; {} once it has
NOTICE = 7 * DAY  # between the announcement and the first application
LEAP = 30 * DAY  # after a longer time without retention it is announced again, since the clock may be wrong


class MaintenanceService(Service):
    """Verify, recover, forget, retain and quarantine. Use it as `memory.maintenance`."""

    def verify(
        self,
        *,
        full: bool = True,
        session: str | None = None,
        progress: Callable[[int], None] = lambda n: None,
    ) -> VerifyReport:
        only = None if session is None else self.store.sessions.resolve(session).n
        report = stores.verify_store(self.store.log, full=full, only=only, progress=progress)
        if full and report.clean:  # states of a damaged log cannot be folded again
            report.findings += self._wrong_states(only)
        return report

    def _wrong_states(self, only: int | None) -> list[VerifyFinding]:
        """Stored states whose hash does not follow from their events."""
        what = "the stored state does not follow from its events"
        with self.store.db.reading():
            rows = self.store.sessions.listing(limit=None, background=True)
            return [
                stores.VerifyFinding(row.id, seq, what)
                for row in rows
                if only in (None, row.n)
                for seq in self.store.snapshots.wrong(row.n, row.id)
            ]

    def recover(self, *, progress: Callable[[int], None] = lambda n: None) -> dict[str, Any]:
        """Set a damaged store aside and copy all that verifies into a new one.

        Also the side databases.
        """
        from fazm_memory.store.recovery import QUARANTINE, RecoveryFolder, recover_side_databases
        from fazm_memory.store.recovery import recover as recovery

        self._memory.close()
        home = self.config.home
        if not home.exists():
            raise recovery.no_store(home)
        aside = RecoveryFolder(home / QUARANTINE / f"{to_datetime(self.now()):%Y-%m-%dT%H%M%S}")
        # Under a lock: a recovery that is still running would look like an interrupted one.
        with exclusive_lock(private_folder(home)):
            report = recovery.recover(
                home, key=self.config.key, now=self.now(), aside=aside, progress=progress
            )
            beside = recover_side_databases(home, self.store.keys.database, aside)
            self._memory.close()
        if aside.made is not None:
            report.quarantine = str(aside.made)
        return {**report.to_json(), "beside": beside}

    def check_side_databases(self, most: int) -> list[SideDatabaseCheck]:
        """Check the databases beside the log.

        Of those above `most` bytes, only whether they open.
        """
        from fazm_memory.store.recovery import check_side_databases

        key = self.store.keys.database
        self._memory.close()  # to find out whether another process has them open
        return check_side_databases(self.config.home, key, most)

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
        """Forget a session, a time range, or what matches.

        With `dry_run` only return the counts.

        `seqs` limits this to positions of the session. `kept` in the result counts fork, rewind and
        quarantine events: they stay, without their text. `copies` counts what was stored beside the log,
        `remaining` names what still has it and how to remove that (see `copies`).
        """
        from fazm_memory.app.copies import ForgetRequest, find_copies, forget_copies

        if session is None and since is None and until is None and match is None:
            raise InvalidRequest(
                "there is nothing to forget", hint="give a session, --since/--until, or --match"
            )
        if match is not None and not match.strip():
            raise InvalidRequest(
                "an empty text matches everything, so nothing was forgotten", hint="name the text to forget"
            )
        if seqs is not None and session is None:
            raise InvalidRequest("a position belongs to a session", hint="name the session too")
        chosen = stores.choose_events(self.store, session, since=since, until=until, match=match, seqs=seqs)
        request = ForgetRequest(
            chosen.seqs, session, since, until, None if match is None else TextMatch(match), seqs is not None
        )
        count = sum(len(seqs) for seqs in chosen.seqs.values())
        result = {"sessions": len(chosen.seqs), "events": count, "kept": chosen.kept, "dry_run": dry_run}
        if dry_run:
            return result | find_copies(self._memory, request).to_json()

        def forget_log() -> None:
            gone = stores.forget_events(
                self.store, chosen.seqs, reason="asked for by the user", at=self.now(), source=source
            )
            result["events"] = gone
            if not gone and match is not None:
                stores.vacuum(self.store)  # other tables may have lost it

        return result | forget_copies(self._memory, request, forget_log).to_json()

    def forget_set_aside(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Delete the damaged stores that `recover` set aside."""
        from fazm_memory.app.copies import delete_set_aside_stores, set_aside_stores

        folders = [str(folder) for folder in set_aside_stores(self.config.home)]
        if not dry_run:
            delete_set_aside_stores(self.config.home)
        return {"set_aside": folders, "dry_run": dry_run}

    def forget_traces(self, chosen: dict[int, list[int]]) -> None:
        """Delete what is stored beside the log for these events."""
        from fazm_memory.app.copies import forget_traces

        forget_traces(self._memory, chosen)

    def update_exports(self) -> None:
        """Write the exported contexts again. While recording is paused, remove them."""
        home = self.config.home
        if (home / CONTEXT_FOLDER).exists() and not self._memory.recall.export_contexts():
            from fazm_memory.recall import exports

            exports.remove_other_exports(home, ())

    def retain(
        self,
        *,
        policy: RetentionPolicy | None = None,
        dry_run: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> dict[str, Any]:
        """Delete details that are older than the policy keeps.

        With `dry_run` only count them.
        """
        policy = policy or self.retention_policy()
        planned = stores.retention.plan(self.store, policy, self.now(), progress=progress)
        result = {"policy": policy.__dict__, "dry_run": dry_run, **planned.to_json()}
        if policy.versions and (versions := self._memory.existing_file_versions) is not None:
            before = self.now() - policy.versions * DAY
            result["versions"] = versions.drop_before(before, dry_run=dry_run)
        result["transcripts"] = self._memory.transcripts.retain(dry_run=dry_run)
        if not dry_run:
            result |= stores.retention.apply_plan(self.store, planned, self.now(), progress=progress)
            self._write_meta(RETAINED, str(self.now()))
        return result

    def retain_daily(self) -> str | None:
        """Apply the policy if the last time was a day ago or more.

        Reads the policy again first.

        The first time that it would delete something, it only announces that, a week ahead. The same after
        a month without it, because the clock may be wrong. Returns what is worth a line in the log.
        """
        last = self._read_meta(RETAINED)
        since = None if last is None else self.now() - int(last)
        if since is not None and 0 <= since < DAY:
            return None
        self._memory.config = reload_retention(self.config)
        announced = self.announced_retention()
        # The clock was set: forward, perhaps wrongly, or back from a time that was wrong.
        leapt = since is not None and announced is None and not 0 <= since < LEAP
        if announced is not None and announced["due_at"] > self.now() + NOTICE:
            announced, leapt = None, True
        if leapt or (announced is None and self._read_meta(ANNOUNCED) is None):
            planned = self.retain(dry_run=True)
            if not planned["events"]:
                self._write_meta(RETAINED, str(self.now()))
                if self.announced_retention() is not None:  # of a time that was wrong
                    self._write_meta(ANNOUNCED, "{}")
                return None
            names = ("events", "sessions", "bytes")
            notice = {"due": self.now() + NOTICE, **{name: planned[name] for name in names}}
            self._write_meta(ANNOUNCED, json.dumps(notice))
            return self.retention_notice()
        if announced is not None and announced["due_at"] > self.now():
            return None
        done = self.retain()
        self._write_meta(ANNOUNCED, "{}")
        return f"Retention deleted details of {plural(done['events'], 'event')}." if done["events"] else None

    def announced_retention(self) -> dict[str, Any] | None:
        """What the first application of the policy will delete, and when.

        None if none is announced.
        """
        notice = json.loads(self._read_meta(ANNOUNCED) or "{}")
        if not notice:
            return None
        return {
            **notice,
            "due": iso(notice["due"]),
            "due_at": notice["due"],
            "days": self.config.retain_actions,
        }

    def retention_notice(self) -> str | None:
        """The announcement in words."""
        notice = self.announced_retention()
        if notice is None:
            return None
        what = f"{plural(notice['events'], 'event')} of {plural(notice['sessions'], 'session')}"
        day = f"{to_datetime(notice['due_at']):%Y-%m-%d}"
        return (
            f"On {day} details of {what} will be older than the retention policy keeps and will be deleted."
            " `fazm-memory retain --dry-run` shows them; `retain_*` in config.toml changes the policy."
        )

    def _read_meta(self, key: str) -> str | None:
        row = self.store.db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _write_meta(self, key: str, value: str) -> None:
        with self.store.db.transaction():
            self.store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, value))

    def retention_policy(self) -> RetentionPolicy:
        """The policy in the settings."""
        names = (field.name for field in fields(RetentionPolicy))
        return RetentionPolicy(**{name: getattr(self.config, f"retain_{name}") for name in names})

    def quarantine(
        self,
        session: str,
        *,
        seq: int | None = None,
        lift: bool = False,
        words_only: bool = False,
        reason: str | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Exclude a session, or an event and its consequences, from every export.

        Or lift that again.

        The consequences are the agent's words and, unless `words_only`, its calls.
        """
        row = self.store.sessions.resolve(session)
        if seq is None and words_only:
            raise InvalidRequest("consequences are those of one event", hint="name the event with --seq")
        consequences = sessions.Consequences(()) if seq is None else self._consequences(row, seq, words_only)
        in_quarantine = self.store.quarantine_view.marks_of(row.n)
        if lift:
            consequences = consequences.within(in_quarantine.seqs)
        seqs = consequences.seqs
        if lift and not (in_quarantine.whole if seq is None else seqs):
            hint = "`fazm-memory state ID` shows what is"
            if in_quarantine.seqs:
                hint = f"its events are, one by one: --seq {min(in_quarantine.seqs)} --lift"
            raise InvalidRequest("nothing of this is in quarantine", hint=hint)
        if row.device is None:
            self._memory.sessions.append(
                row.id,
                "quarantine",
                source=source,
                seqs=seqs,
                reason=reason,
                released=lift,
                whole=seq is None,
            )
        else:  # the machine that records it adds the event
            mark = Quarantine(seqs=tuple(seqs), released=lift, whole=seq is None)
            with self.store.writing():
                stores.record_quarantine(self.store.db, row.n, mark)
            self._memory.sync.ask_quarantine(row, list(seqs), released=lift, whole=seq is None)
        self.update_exports()
        in_quarantine = self.store.quarantine_view.marks_of(row.n)
        return {
            "session": row.id,
            "whole": in_quarantine.whole,
            "seqs": sorted(in_quarantine.seqs),
            "changed": seqs,
            "words": len(consequences.words),
            "calls": len(consequences.calls),
            "files": len(consequences.files),
            "lifted": lift,
        }

    def _consequences(self, row: SessionRow, seq: int, words_only: bool) -> sessions.Consequences:
        """An event and what the agent did after it in the same turn."""
        if self._memory.sessions.position(row, seq) == row.head:
            raise NotFound(f"session {row.id[:8]} has no event {seq}", hint=f"its last is {row.head - 1}")
        log, turns = self.store.log, self.store.sessions
        with self.store.db.reading():
            first = next(log.slice(row.n, row.id, seq, seq + 1))
            begin = turns.turn_position(row.n, first.turn - 1, row.head) if first.turn else 0
            end = turns.turn_position(row.n, first.turn, row.head)
            late = min(row.head, end + sessions.DEFERRED_WINDOW)
            # Only calls and untrusted content can lead to calls.
            calls = not words_only and (first.kind in sessions.CALL_KINDS or first.trust in UNTRUSTED)
            return sessions.consequences_of(log.slice(row.n, row.id, begin, late), seq, end, calls=calls)
