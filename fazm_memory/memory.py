"""The verbs: the one façade that every surface calls.

Opening it costs nothing; the store is opened when a verb first needs it. It returns values of the model or
plain JSON-ready mappings as `docs/contract` promises them, and raises only `FazmMemoryError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fazm_memory.capture.instance import running
from fazm_memory.capture.watched import noted
from fazm_memory.log.overview import overview
from fazm_memory.model.clock import iso
from fazm_memory.model.organized import organized, organized_json, taken_names
from fazm_memory.recall.file_time import file_time
from fazm_memory.recall.searching import search
from fazm_memory.verbs.branching import Branching
from fazm_memory.verbs.doubting import Doubting
from fazm_memory.verbs.drawing import Drawing
from fazm_memory.verbs.inspecting import Inspecting
from fazm_memory.verbs.keeping import Keeping
from fazm_memory.verbs.moving import Moving
from fazm_memory.verbs.over_time import OverTime
from fazm_memory.verbs.reading import Reading
from fazm_memory.verbs.replaying import Replaying


class Memory(Keeping, Moving, OverTime, Reading, Branching, Drawing, Inspecting, Replaying, Doubting):
    """What Fazm Memory can do, for one user on one machine."""

    def move(
        self, session: str, move: str, *, reason: str | None = None, source: str = "cli"
    ) -> dict[str, Any]:
        """pause, resume, close, archive or restore a session."""
        if move == "resume":
            self.check_answered(self.store.sessions.resolve(session))
        return self.tell(session, f"session.{move}", source=source, reason=reason)

    # -- reading -----------------------------------------------------------------------------------------

    def sessions(self, **filters: Any) -> list[dict[str, Any]]:
        return [row.to_json() for row in self.store.sessions.listing(**filters)]

    def conventions(self, session: str, *, names: Sequence[str] = ()) -> dict[str, Any]:
        """How a session named files and which it skipped; what `names` would become, or why nobody knows."""
        state = self._state(self.store.sessions.resolve(session), None, False)
        learned = organized(state, file_time)
        from fazm_memory.model.conventions import propose_all  # late, as the learner itself

        times = {name: time for name in names if (time := file_time(name)) is not None}
        proposals = propose_all(learned.conventions, names, mtimes=times, taken=taken_names(state))
        return {
            "session": state.session,
            **organized_json(learned),
            "proposals": [{**one.__dict__, "alternatives": list(one.alternatives)} for one in proposals],
        }

    def search(self, query: str, *, limit: int = 10, quarantined: bool = False) -> list[dict[str, Any]]:
        """What was done, said or decided, by any words and filters; best first. What is quarantined only
        when it is asked for."""
        self.store.take_in()  # what it leaves out is among `query_doubts`
        found = []
        home = str(self.config.user_home)
        with self.store.db.reading():
            found_hits = search(
                self.store, query, limit=limit, now=self.now(), home=home, quarantined=quarantined
            )
            for hit in found_hits:
                row = self.store.sessions.resolve(hit.session)
                found.append(
                    {"session": hit.session, "title": row.title, "agent": row.agent,
                     "workspace": row.workspace, "seq": hit.seq,
                     "at": iso(hit.at), "kind": hit.kind, "snippet": hit.snippet, "score": hit.score}
                )  # fmt: skip
        return found

    # -- status ------------------------------------------------------------------------------------------

    def watching(self) -> list[dict[str, Any]]:
        """The folders that the companion watches now: how, since when; and those it leaves alone, and why."""
        if running(self.config.home) is None:
            return []
        return [
            {
                "folder": one.folder,
                "how": one.how,
                "since": None if one.since is None else iso(one.since),
                "refused": one.refused,
            }
            for one in noted(self.store.db)
        ]

    def status(self) -> dict[str, Any]:
        """Recording or not and why, the last event per source, sessions, size, where the key is."""
        return {
            **self.recording(),
            **overview(self.store),
            "companion": running(self.config.home),
            "watching": self.watching(),
            "desktop": self.desktop(),
            "home": str(self.config.home),
        }
