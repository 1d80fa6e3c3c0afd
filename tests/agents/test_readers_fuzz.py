"""Records that nobody wrote: cut, shuffled and bent, and what holds for every reader of lines all the same.

A reader never raises on content, never loses a good line because of another that is bad, and tells only what
the log can hold. To have a reader under these tests, add a line to CASES.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.antigravity import Antigravity
from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Reader, RecordFile
from fazm_memory.agents.claude_code.reader import ClaudeCode
from fazm_memory.agents.codex.rollout import Codex
from fazm_memory.agents.copilot import Copilot
from fazm_memory.agents.gemini import Gemini
from fazm_memory.agents.openclaw import OpenClaw
from fazm_memory.agents.qwen import Qwen
from fazm_memory.events import codec
from fazm_memory.events.event import Draft, read_payload

FIXTURES = Path(__file__).parent / "fixtures"
CLAUDE = "claude-code-2.1.197/projects/-Users-dana-proj"
ROUNDS = 12


@dataclass(frozen=True)
class Case:
    """A reader, a record file of its agent, and how many of its first lines say what all others belong to."""

    reader: Callable[[], Reader]
    path: str
    session: str
    heading: int = 0

    def __str__(self) -> str:
        return f"{Path(self.path).parts[0]}/{Path(self.path).stem}"


PARENT, REFUSED = "11111111-2222-4333-8444-555555555555", "1d779516-aeee-4849-b335-58eba7c1b4c3"
COPILOT, QWEN = "5d0c7f0e-3a52-4b5e-9a55-0a4f5f8f3c11", "7a1f6c52-91d4-4d0e-8f7b-2f5f0c1d9e33"
SKY = "6f0b8a9e-1d6c-4f6a-a0b3-51c0d7e2f8a9"
CASES = [
    Case(ClaudeCode, f"{CLAUDE}/{PARENT}.jsonl", PARENT),
    Case(ClaudeCode, f"{CLAUDE}/{REFUSED}.jsonl", REFUSED),
    Case(ClaudeCode, f"{CLAUDE}/{PARENT}/subagents/agent-a518a2adc9434c555.jsonl", PARENT),
    Case(Codex, "codex-0.166.0/chain.jsonl", "01a1e1b2-860a-7b01-81c8-77c969be7d6d", heading=1),
    Case(Codex, "codex-0.166.0/subagent.jsonl", "01a1e286-1b2e-7f12-8d9e-161f6f8fad83", heading=2),
    Case(Gemini, "gemini-0.61.0/chain.jsonl", "4ea6b608-4449-4484-94b8-1b01cf71c04c", heading=1),
    Case(Copilot, f"copilot-1.0.102/session-state/{COPILOT}/events.jsonl", COPILOT, heading=1),
    Case(Qwen, f"qwen-0.24.4/projects/-Users-dana-blog/chats/{QWEN}.jsonl", QWEN),
    Case(OpenClaw, "openclaw-2026.9.6/events.jsonl", "0d3f6a58-7b1e-4a55-8a51-9f6b3f1c2d44", heading=1),
    Case(Antigravity, f"antigravity/brain/{SKY}/.system_generated/logs/transcript_full.jsonl", SKY, 1),
]

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_seed = pytest.mark.parametrize("seed", range(ROUNDS))


class Bench:
    """Lines of one case, written to a file and read by its reader."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.lines = (FIXTURES / case.path).read_bytes().splitlines(keepends=True)
        self.path = folder / Path(case.path).name

    def chunks(self, lines: list[bytes], limit: int = CHUNK) -> Iterator[Chunk]:
        self.path.write_bytes(b"".join(lines))
        reader, cursor, more = self.case.reader(), Cursor(), True
        size = self.path.stat().st_size
        record = RecordFile(reader.name, self.path, self.case.session, size, 0.0)
        while more:
            chunk = reader.read(record, cursor, limit=limit)
            assert chunk.cursor.offset <= size
            assert chunk.cursor.offset > cursor.offset or not chunk.more
            yield chunk
            cursor = Cursor(chunk.cursor.offset, json.loads(json.dumps(chunk.cursor.carry, allow_nan=False)))
            more = chunk.more

    def read(self, lines: list[bytes], limit: int = CHUNK) -> list[Draft]:
        drafts = [draft for chunk in self.chunks(lines, limit) for draft in chunk.drafts]
        for draft in drafts:
            assert codec.to_bytes(read_payload(draft.kind, 1, draft.payload))
            assert draft.key is not None
            assert draft.key.encode()
            assert draft.session.encode()
            assert draft.at is None or isinstance(draft.at, int)
        return drafts

    def read_counts(self, lines: list[bytes], limit: int = CHUNK) -> Counter[tuple[str, str | None]]:
        """What is told, by kind and key. A compaction is told by two records and named by the first good one;
        a call whose result was hit is told as begun instead of as ended."""
        return Counter(
            (draft.kind, None if draft.kind == "evicted" else draft.key)
            for draft in self.read(lines, limit)
            if draft.kind != "action.start"
        )


@pytest.fixture
def bench(case: Case, tmp_path: Path) -> Bench:
    return Bench(case, tmp_path)


STRANGE: list[Any] = [
    None, True, -1, 10**30, 1e300, float("nan"), float("inf"), "", "x" * 5000, "\ud800", "\0\x1b[2J",
    "2026-13-45", [], {}, [[]], [None, 1, "a", {}], {"type": "text"}, {"": {"": []}}, ["tool_use"],
    {"type": ["text"], "id": {}}, {"content": [{"type": {}}]},
]  # fmt: skip


def deep(levels: int) -> Any:
    made: Any = "bottom"
    for _ in range(levels):
        made = [made] if levels % 2 else {"in": made}
    return made


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*path, name)
        yield from places_in(one, (*path, name))


def bent(line: bytes, dice: random.Random) -> bytes:
    """The line with one thing in it gone, of another type, or far too deep; or no longer JSON at all."""
    way = dice.randrange(8)
    if way == 0:
        return line[: dice.randrange(len(line))].rstrip(b"\n") + b"\n"
    if way == 1:
        other = dice.choice(["utf-16", "utf-32", "cp037"])
        return line.decode().rstrip().encode(other, "replace").replace(b"\n", b"") + b"\n"
    if way == 2:
        at = dice.randrange(len(line) - 1)
        return line[:at] + bytes([dice.choice([0, 0x80, 0xFF, 0x22, 0x5C, 0x7B])]) + line[at + 1 :]
    record = json.loads(line)
    *above, last = dice.choice(list(places_in(record)))
    holder = record
    for name in above:
        holder = holder[name]
    if way == 3:
        del holder[last]
    else:
        holder[last] = deep(dice.choice([60, 300, 20_000])) if way == 4 else dice.choice(STRANGE)
    try:
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"
    except RecursionError:  # too deep to write with the library; by hand it is not
        return b'{"type":"user","message":{"content":' + b"[" * 20_000 + b"]" * 20_000 + b"}}\n"


@every_case
def test_the_untouched_records_are_read_without_a_bad_or_an_unknown_one(bench: Bench) -> None:
    chunks = list(bench.chunks(bench.lines))
    assert sum(chunk.bad for chunk in chunks) == 0
    assert [dict(chunk.unknown) for chunk in chunks] == [{}]
    assert len(bench.read_counts(bench.lines)) > 2


@every_case
@every_seed
def test_a_bent_line_takes_nothing_from_the_others(bench: Bench, seed: int) -> None:
    dice = random.Random(f"{bench.case}:{seed}")
    for _ in range(4):
        hit = dice.randrange(bench.case.heading, len(bench.lines))
        without = bench.lines[:hit] + bench.lines[hit + 1 :]
        broken = [*bench.lines[:hit], bent(bench.lines[hit], dice), *bench.lines[hit + 1 :]]
        assert bench.read_counts(without) - bench.read_counts(broken) == Counter(), hit


@every_case
@every_seed
def test_a_file_of_bent_lines_is_read_to_its_end(bench: Bench, seed: int) -> None:
    dice = random.Random(f"all:{bench.case}:{seed}")
    lines = [bent(line, dice) if dice.random() < 0.5 else line for line in bench.lines]
    bench.read(lines, limit=dice.choice([1, 500, CHUNK]))
    *_, last = bench.chunks(lines)
    assert last.cursor.offset == sum(map(len, lines))


@every_case
@every_seed
def test_lines_in_any_order_are_read(bench: Bench, seed: int) -> None:
    dice = random.Random(f"order:{bench.case}:{seed}")
    head, rest = bench.lines[: bench.case.heading], bench.lines[bench.case.heading :]
    dice.shuffle(rest)
    shuffled = Counter(draft.kind for draft in bench.read([*head, *rest]))
    ordered = Counter(draft.kind for draft in bench.read(bench.lines))
    # What one line tells by itself does not depend on where it stands.
    assert {kind: shuffled[kind] for kind in ("prompt", "message")} == {
        kind: ordered[kind] for kind in ("prompt", "message")
    }


@every_case
@every_seed
def test_rubbish_between_the_lines_is_counted_and_changes_nothing(bench: Bench, seed: int) -> None:
    dice = random.Random(f"rubbish:{bench.case}:{seed}")
    lines, rubbish = [], 0
    for line in bench.lines:
        if dice.random() < 0.3:
            lines.append(dice.choice([b"rubbish\n", b"[]\n", b"{\n", b'"text"\n', b"\xff\xfe\x00\n", b"7\n"]))
            rubbish += 1
        lines.append(line)
    assert bench.read_counts(lines) == bench.read_counts(bench.lines)
    assert sum(chunk.bad for chunk in bench.chunks(lines)) == rubbish


@every_case
@every_seed
def test_a_file_cut_off_anywhere_is_read_on_when_it_grows(bench: Bench, seed: int) -> None:
    dice = random.Random(f"cut:{bench.case}:{seed}")
    whole = b"".join(bench.lines)
    cut = dice.randrange(len(whole))
    reader = bench.case.reader()
    record = RecordFile(reader.name, bench.path, bench.case.session, len(whole), 0.0)
    bench.path.write_bytes(whole[:cut])
    first = reader.read(record, Cursor())
    bench.path.write_bytes(whole)
    second = reader.read(record, first.cursor)
    both = {draft.key for draft in (*first.drafts, *second.drafts) if draft.kind != "action.start"}
    assert both == {draft.key for draft in bench.read(bench.lines) if draft.kind != "action.start"}


@every_case
def test_how_a_file_is_cut_into_chunks_changes_nothing(bench: Bench) -> None:
    whole = bench.read_counts(bench.lines)
    for limit in (1, 700, 5000):
        assert bench.read_counts(bench.lines, limit) == whole
