"""A runaway agent cannot fill the disk, and what the user said is never the price.

Looked for: one session, many sessions of one day, one transaction and many, many small processes, every kind
that is not a detail, imported history, the log's size limit with only recent sessions, endless new files.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.errors import InvalidInput
from fazm_memory.events.event import DAY, Draft, RetentionPolicy
from fazm_memory.ingest.limits import CUT
from fazm_memory.ingest.recorder import RecordResult
from fazm_memory.store import retention
from fazm_memory.store.file_versions import CROWDED, FileVersions
from tests.app.memory_fixture import START, MemoryFixture

MB = 1 << 20


def noise(nth: int, size: int = 60_000) -> str:
    """Text that does not compress well and is no secret."""
    words = (f"{(nth * 7919 + step * 104729) % 999_983} " for step in range(size // 7))
    return "".join(words)[:size]


def act(session: str, nth: int, at: int = START) -> Draft:
    payload = {"tool": "Bash", "input": {"command": "make"}, "output": noise(nth)}
    return Draft(session, "action", payload, agent="fazm", source="hook", at=at, key=f"{session}:{nth}")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    config = Config(tmp_path / "m", tmp_path, key="file", quota_session_megabytes=1, quota_day_megabytes=2)
    return Memory(config, lambda: START + 60_000_000)


def fill(
    memory: Memory, session: str, megabytes: float, *, at: int = START, start: int = 0
) -> list[RecordResult]:
    results = []
    nth = start
    while _used(memory, session) < megabytes * MB and nth < start + 400:
        results += memory.sessions.record([act(session, nth, at)])
        nth += 1
    return results


def _used(memory: Memory, session: str) -> int:
    query = (
        "SELECT coalesce(sum(length(payload)), 0) FROM event e JOIN session s ON e.id >> 32 = s.n"
        " WHERE s.agent_session_id=?"
    )
    return int(memory.store.db.execute(query, (session,)).fetchone()[0])


def test_above_its_limit_a_session_records_calls_without_long_texts(memory: Memory) -> None:
    fill(memory, "s", 1.0)
    (over,) = memory.sessions.record([act("s", 1000)])
    assert over.appended is not None
    event = list(memory.history.events(over.appended.session))[-1]
    assert event["payload"]["tool"] == "Bash"
    assert event["payload"]["output"].endswith(CUT)
    assert len(event["payload"]["output"]) < 300
    other = memory.sessions.record([act("other", 0)])[0].appended
    assert other is not None
    assert len(list(memory.history.events(other.session))[-1]["payload"]["output"]) > 10_000


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("prompt", {"text": noise(1, 5000)}),
        ("decision", {"what": "so", "why": noise(2, 5000)}),
        ("fact", {"key": "k", "value": noise(3, 5000)}),
        ("pending", {"id": "p", "what": noise(4, 5000)}),
        ("plan", {"title": "a plan", "text": noise(5, 5000)}),
    ],
)
def test_what_an_agent_says_is_recorded_whole_up_to_twice_the_limit(
    memory: Memory, kind: str, payload: dict[str, str]
) -> None:
    fill(memory, "s", 1.5)
    (result,) = memory.sessions.record([Draft("s", kind, payload, agent="fazm", source="hook", at=START)])
    assert result.appended is not None, result.error
    assert list(memory.history.events(result.appended.session))[-1]["payload"].items() >= payload.items()


def test_what_the_user_says_is_recorded_whole_however_much_there_is(memory: Memory) -> None:
    fill(memory, "s", 1.0)
    with memory.store.db.transaction():
        memory.store.db.execute("UPDATE usage SET bytes = bytes * 50")
    words = {"text": noise(1, 5000)}
    (result,) = memory.sessions.record([Draft("s", "prompt", words, agent="fazm", source="hook", at=START)])
    assert result.appended is not None, result.error
    assert list(memory.history.events(result.appended.session))[-1]["payload"].items() >= words.items()


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("decision", {"what": "so", "why": noise(2, 5000)}),
        ("fact", {"key": "k", "value": noise(3, 5000)}),
        ("pending", {"id": "p", "what": noise(4, 5000)}),
        ("todos", {"items": [{"text": noise(5, 5000), "status": "pending"}]}),
        ("prompt", {"text": noise(6, 5000)}),
    ],
)
def test_statements_of_an_agent_are_cut_above_twice_the_limit_and_refused_above_four_times(
    memory: Memory, kind: str, payload: dict[str, object]
) -> None:
    fill(memory, "s", 1.0)
    draft = Draft("s", kind, payload, agent="fazm", source="record", actor="agent", at=START)
    for factor in (3, 2):
        with memory.store.db.transaction():
            memory.store.db.execute("UPDATE usage SET bytes = bytes * ?", (factor,))
        (result,) = memory.sessions.record([draft])
        if factor == 3:
            assert result.appended is not None
            event = list(memory.history.events(result.appended.session))[-1]
            assert CUT in str(event["payload"])
            assert len(str(event["payload"])) < 1000
    assert isinstance(result.error, InvalidInput)


def test_at_twice_the_limit_details_are_refused_and_nothing_else(memory: Memory) -> None:
    fill(memory, "s", 1.0)
    with memory.store.db.transaction():
        memory.store.db.execute("UPDATE usage SET bytes = bytes * 3")
    prompt = Draft("s", "prompt", {"text": "go on"}, agent="fazm", source="hook", at=START)
    refused, taken = memory.sessions.record([act("s", 2000), prompt])
    assert isinstance(refused.error, InvalidInput)
    assert taken.appended is not None


def test_many_sessions_of_one_day_share_a_limit_and_the_past_does_not(memory: Memory) -> None:
    for name in ("a", "b", "c"):
        fill(memory, name, 0.8, start=len(name) * 500)
    late = memory.sessions.record([act("d", 9000)])[0].appended
    assert late is not None
    assert list(memory.history.events(late.session))[-1]["payload"]["output"].endswith(CUT)
    past = memory.sessions.record([act("e", 9001, START - 40 * DAY)])[0].appended
    assert past is not None
    assert len(list(memory.history.events(past.session))[-1]["payload"]["output"]) > 10_000


def test_one_large_transaction_is_limited_too(memory: Memory) -> None:
    memory.sessions.record([act("s", nth) for nth in range(150)])
    assert _used(memory, "s") < 1.5 * MB


def test_the_status_warns_before_the_limit_and_says_what_was_cut(memory: Memory) -> None:
    assert memory.status()["quota"]["warning"] is None
    fill(memory, "s", 0.9)
    assert "has recorded 0 of 1 MB" in memory.status()["quota"]["warning"]
    fill(memory, "s", 1.0, start=500)
    memory.sessions.record([act("s", nth) for nth in range(900, 903)])
    fill(memory, "t", 0.5, start=3000)
    used = memory.status()["quota"]
    assert used["day"]["cut"] >= 3
    assert "cut)" in used["warning"]


def test_the_size_limit_holds_when_every_session_is_recent(tmp_path: Path) -> None:
    memory = MemoryFixture(tmp_path / "m")
    session = memory.begin()
    memory.say(session, "prompt", text="the user's words", source="hook")
    memory.say(session, "decision", what="a decision")
    for nth in range(160):
        memory.act(session, "Bash", {"command": "make"}, output=noise(nth))
    assert retention.store_size(memory.store) > 1 * MB
    result = memory.maintenance.retain(policy=RetentionPolicy(megabytes=1))
    assert result["events"] > 0
    assert result["by_kind"].keys() == {"actions"}
    kept = [event["kind"] for event in memory.history.events(session) if event["payload"] is not None]
    assert {"prompt", "decision"} <= set(kept)
    memory.close()


def test_endless_new_files_do_not_exceed_the_cap_of_versions(tmp_path: Path) -> None:
    versions = FileVersions(tmp_path, "ab" * 32, cap=10_000)
    for nth in range(30):
        versions.keep_all("/w", [(f"{nth}.txt", nth, noise(nth, 20_000).encode(), "", None)])
    assert versions.size() <= 40_000
    first, last = versions.last("/w", "0.txt"), versions.last("/w", "29.txt")
    assert first is not None
    assert first.reason == CROWDED
    assert last is not None
    assert last.digest is not None
    versions.close()
