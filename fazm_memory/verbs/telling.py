"""The verbs of telling: a session is opened, things are recorded in it, and recording is paused.

And what verbs over sessions ask first: which session is meant, which position of it, and whether we record.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.recording import Switch
from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.log.own_events import own_events
from fazm_memory.log.sessions import SessionRow
from fazm_memory.verbs.opened import Opened

if TYPE_CHECKING:
    from fazm_memory.capture.recorder import Recorded


class Telling(Opened):
    """What `Memory` is told. Mixed into it; not for use alone."""

    def record(self, drafts: Sequence[Draft]) -> list[Recorded]:
        """Record what a source tells. While recording is paused nothing is, and the caller is told."""
        self._switch.check()
        return self.recorder.record(drafts)

    def tell(
        self, session: str, kind: str, *, source: str = "cli", door: str | None = None, **payload: Any
    ) -> dict[str, Any]:
        """Record one thing about an existing session, or raise why not."""
        row = self.store.sessions.resolve(session)
        given = {name: value for name, value in payload.items() if value is not None}
        result = self.record([Draft(session=row.id, kind=kind, payload=given, source=source, door=door)])[0]
        if result.error is not None:
            raise result.error
        return self.session(row.id)

    def nothing_pending(self, session: str, seq: int) -> str | None:
        """What to say of the `pending.done` at a position when nothing was open under that name; None when it
        was. The log keeps it all the same: what it ends may be told later, or in a record not taken in."""
        row = self.store.sessions.resolve(session)
        event = next(self.store.log.slice(row.n, row.id, seq, seq + 1))
        name = event.payload.id
        own = own_events(self.store, row, "pending", name)
        told = [one for one in own if one.session != row.id or one.seq < seq]
        if told and told[-1].kind == "pending":
            return None
        if any(one.kind == "pending" for one in told):
            return f"{name!r} was done already"
        return f"nothing was pending under the name {name!r}"

    def open_session(
        self,
        agent: str,
        *,
        key: str | None = None,
        workspace: str | None = None,
        title: str | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Open a session; with a key that is known already, the same one again."""
        name = key or secrets.token_hex(16)
        payload = {"agent": agent, "workspace": workspace, "title": title, "agent_session_id": name}
        given = {field: value for field, value in payload.items() if value is not None}
        result = self.record([Draft(name, "session.open", given, agent=agent, source=source)])[0]
        if result.appended is None:
            raise result.error or InvalidInput("the session could not be opened")
        return self.session(result.appended.session)

    def session(self, session: str) -> dict[str, Any]:
        return self.store.sessions.resolve(session).to_json()

    def position(self, row: SessionRow, at: int | None) -> int:
        """A position of this session, the head when none is given; NotFound names the range."""
        if at is None:
            return row.head
        if not 0 <= at <= row.head:
            raise NotFound(
                f"session {row.id[:8]} has no position {at}",
                hint=f"its positions go from 0 to {row.head}",
                details={"head": row.head},
            )
        return at

    # -- recording or not --------------------------------------------------------------------------------

    @cached_property
    def _switch(self) -> Switch:
        return Switch(self.config.home, self.now, lambda drafts: self.recorder.record(drafts))

    def check_recording(self) -> None:
        """Nothing, or RecordingPaused: every verb that writes asks."""
        self._switch.check()

    def recording(self) -> dict[str, Any]:
        """Whether we record and, if not, since and until when."""
        return self._switch.status()

    def pause_recording(self, duration: int | None = None) -> dict[str, Any]:
        """Stop capturing for a time or until somebody resumes."""
        _ = self.store  # the folder must be safe before anything is written in it
        return self._switch.pause(duration)

    def resume_recording(self) -> dict[str, Any]:
        return self._switch.resume()
