"""Claude Code: its transcripts, one file per session and one per subagent.

`$CLAUDE_CONFIG_DIR or ~/.claude`, `projects/<folder>/<session>.jsonl`; subagents in
`<session>/subagents/agent-*.jsonl`, in older versions beside the session. Verified against what Claude Code
2.1.197 wrote when it was run, with resumes, forks, compactions, subagents, refused and failing calls.

Keys. A call is `claude-code:<tool_use_id>`, a prompt `claude-code:<prompt id>:prompt`: hooks know both. An
answer's usage is `claude-code:<message id>:usage`, anything else is known by the uuid of its record. A fork
copies records with their ids, so what it copied is not told twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from fazm_memory.capture.agents.claude_forks import SESSION_NAME, Forks
from fazm_memory.capture.agents.claude_keys import NAME
from fazm_memory.capture.agents.claude_kinds import is_noise
from fazm_memory.capture.agents.claude_transcript import Transcript
from fazm_memory.capture.agents.fields import record_of
from fazm_memory.capture.agents.reader import CHUNK, Chunk, Cursor, Places, RecordFile, complete_lines
from fazm_memory.capture.draft import Draft

SUBAGENT = "agent-"


@dataclass
class ClaudeCode:
    """Reads transcripts; `home` is where `~` points in the commands they hold."""

    home: str | None = None
    name: str = field(default=NAME, init=False)
    forks: Forks = field(default_factory=Forks, compare=False, repr=False)

    def find(self, places: Places) -> Iterator[RecordFile]:
        """Oldest first, a session before its subagents: a parent is then mostly met before its fork."""
        root = Path(places.env.get("CLAUDE_CONFIG_DIR") or places.home / ".claude") / "projects"
        sessions, subagents = [], []
        for path in root.glob("*/*.jsonl"):
            if SESSION_NAME.fullmatch(path.stem):
                sessions.append(path)
            elif path.name.startswith(SUBAGENT):
                subagents.append(path)
        found = [
            *self._records((path, path.stem) for path in sessions),
            *self._records(_of_sessions(root)),
            *self._records((path, self._session_of(path)) for path in subagents),
        ]
        yield from sorted(found, key=lambda one: (one.path.stem.startswith(SUBAGENT), one.mtime, one.path))

    def _records(self, found: Iterator[tuple[Path, str]]) -> Iterator[RecordFile]:
        for path, session in found:
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue  # the vendor deletes old transcripts
            if session:
                yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session_of(self, path: Path) -> str:
        """The session of a subagent that is filed beside it: only its records tell."""
        try:
            head = self.forks.head(path)
        except FileNotFoundError:
            return ""
        return head.session if head is not None else ""

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        agent_id = _agent_id(record.path)
        if agent_id is None and not cursor.carry.get("opened"):
            cursor = self._past_the_copies(record, cursor)
        lines = complete_lines(record.path, cursor.offset, limit)
        transcript = Transcript(record.session, agent_id, cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            transcript.lines += 1
            if is_noise(line):
                continue
            if (taken := record_of(line)) is not None:
                transcript.take(taken)
            elif line.strip(b"\0 \t\r\n"):
                bad += 1
        if not lines.more:
            transcript.finish()
        drafts = _dated(transcript.drafts, transcript.at or round(record.mtime * 1_000_000))
        return Chunk(drafts, Cursor(lines.offset, transcript.carry()), lines.more, transcript.unknown, bad)

    def _past_the_copies(self, record: RecordFile, cursor: Cursor) -> Cursor:
        """Asked until the session has told something of its own: a fork may still be copying."""
        lineage = self.forks.lineage(record.path)
        if lineage is None:
            return cursor
        return Cursor(max(cursor.offset, lineage.begins), {**cursor.carry, "parent": lineage.parent})


def _dated(drafts: list[Draft], last: int) -> tuple[Draft, ...]:
    """Some records have no moment; at the beginning of a file none before them has one either."""
    first = next((draft.at for draft in drafts if draft.at is not None), last)
    return tuple(draft if draft.at is not None else replace(draft, at=first) for draft in drafts)


def _of_sessions(root: Path) -> Iterator[tuple[Path, str]]:
    for path in root.glob(f"*/*/subagents/**/{SUBAGENT}*.jsonl"):
        session = path.relative_to(root).parts[1]
        if SESSION_NAME.fullmatch(session):
            yield path, session


def _agent_id(path: Path) -> str | None:
    return path.stem.removeprefix(SUBAGENT)[:100] if path.stem.startswith(SUBAGENT) else None
