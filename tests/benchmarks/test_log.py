"""The benchmark measures both sides and computes its ratios from both; how fast they are is not tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import figures, log, peers, stores
from benchmarks.events import COMMON, LONG, RARE, UNCOMMON, Workload
from benchmarks.figures import Figure, Goal, Options, in_turns
from benchmarks.stores import StorePair
from fazm_memory.events import codec
from fazm_memory.store.verify import verify_store

EVENTS = 1000
EVERY = (
    "append, 100 at a time",
    "append, one at a time",
    "on disk",
    "slice of 100",
    "last 20",
    "state at N",
    "list of 30 sessions",
    "search, a word in 40 %",
    "verify everything",
)


def ignore_progress(what: str, done: int, total: int) -> None:
    """Progress is not shown."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = StorePair(tmp_path_factory.mktemp("pair"), EVENTS)
    made.write(ignore_progress)
    yield made
    made.close()


def test_the_same_events_are_generated_every_time() -> None:
    first = [entry for batch in Workload(500).batches() for entry in batch.entries]
    second = [entry for batch in Workload(500).batches() for entry in batch.entries]
    assert first == second
    assert len(first) == 500


def test_events_are_of_about_a_kilobyte_and_their_words_as_frequent_as_documented() -> None:
    payloads = [
        codec.to_bytes(entry.payload).decode()
        for batch in Workload(4000).batches()
        for entry in batch.entries
    ]
    assert 900 < sum(map(len, payloads)) / len(payloads) < 1150
    found = {word: sum(word in text for text in payloads) for word in (COMMON, UNCOMMON, RARE)}
    assert 0.35 < found[COMMON] / len(payloads) < 0.45
    assert 0.005 < found[UNCOMMON] / len(payloads) < 0.02
    assert 0 < found[RARE] < 30


def test_store_and_floor_hold_the_same_events(pair: StorePair) -> None:
    ours = pair.store.db.execute("SELECT at, kind, key, payload FROM event ORDER BY at, key").fetchall()
    bare = pair.bare.connection.execute(
        "SELECT at, kind, key, payload FROM event ORDER BY at, key"
    ).fetchall()
    assert len(ours) == EVENTS
    assert ours == bare
    vocabulary = "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'row')"
    words = "SELECT term, doc, cnt FROM temp.vocabulary ORDER BY term"
    for connection in (pair.store.db, pair.bare.connection):
        connection.execute(vocabulary)
    assert pair.store.db.execute(words).fetchall() == pair.bare.connection.execute(words).fetchall()


def test_what_the_benchmark_writes_is_a_log_that_verifies(pair: StorePair) -> None:
    report = verify_store(pair.store.log)
    assert report.clean
    assert report.events == EVENTS


def test_every_reading_finds_as_much_as_its_bare_statement(pair: StorePair) -> None:
    for one in log.READINGS[:2]:
        ours, bare = one.jobs(pair, 3)
        for _ in range(3):
            assert len(ours()) == len(bare()) > 0  # type: ignore[arg-type]


def test_ratios_come_from_both_measurements() -> None:
    share = Figure("a", "ms", ours=4.0, baseline=2.0, sense="share", goal=Goal(at_least=0.5))
    times = Figure("b", "ms", ours=4.0, baseline=2.0, goal=Goal(at_most=1.5))
    assert (share.ratio, share.ok) == (0.5, True)
    assert (times.ratio, times.ok) == (2.0, False)


def test_a_limit_on_the_value_holds_whatever_the_ratio() -> None:
    assert Figure("a", "ms", ours=60.0, baseline=50.0, goal=Goal(limit=50, at_most=10)).ok is False
    assert Figure("a", "ms", ours=40.0, goal=Goal(limit=50)).ok is True
    assert Figure("a", "ms", ours=40.0).ok is None


def test_jobs_take_turns_and_each_begins_as_often() -> None:
    order: list[str] = []
    taken = in_turns(4, [lambda: order.append("a"), lambda: order.append("b")])
    assert order == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert [len(times) for times in taken] == [4, 4]
    assert figures.percentile_95([1.0] * 19 + [9.0]) == 9.0


def test_the_log_suite_has_every_figure_at_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "ROUND", 8)
    monkeypatch.setattr(log, "TURN", 4)
    monkeypatch.setattr(log, "READ_ROUNDS", (2, 2))
    monkeypatch.setattr(stores, "LOG_PAGES", 100)  # write-ahead logs that are full soon
    options = Options(sizes=(1200, 1000), quick=True, folder=tmp_path)
    found = list(log.run(options, ignore_progress))
    assert {figure.events for figure in found} == {1000, 1200}
    for what in EVERY:
        assert {one.events for one in found if one.what == what} == {1000, 1200}, what
    for figure in found:
        assert figure.ours > 0
        assert figure.baseline is None or figure.baseline > 0
        assert figure.goal is None or figure.ok is not None
    flat = next(one for one in found if one.what == "slice of 100, flat")
    small = next(one for one in found if one.what == "slice of 100" and one.events == 1000)
    assert flat.baseline == small.ours
    assert list(tmp_path.iterdir()) == []


def test_single_appends_report_the_round_with_the_median_share() -> None:
    rounds = [(4.0, 1.0), (1.0, 0.9), (200.0, 100.0)]  # shares of 0.25, 0.9 and 0.5
    seconds = [(ours * log.ROUND, baseline * log.ROUND) for ours, baseline in rounds]
    assert log._median_round(seconds) == (200e6, 100e6)


def test_every_peer_is_there_to_be_measured_beside(pair: StorePair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TURN", 2)
    found = list(peers.peer_figures(pair, 4, ignore_progress))
    assert [(figure.against, figure.what) for figure in found] == [
        (against, what)
        for against in (
            "openai-agents SQLiteSession",
            "LangGraph SqliteSaver, the last message",
            "LangGraph SqliteSaver, up to 100 messages",
        )
        for what in ("append, one at a time", "read the last 20")
    ]
    assert all(figure.ours > 0 and figure.baseline for figure in found)


def test_every_fifth_batch_is_of_the_long_session() -> None:
    batches = list(Workload(2000, batch_size=50).batches())
    assert sum(batch.session == LONG for batch in batches) == len(batches) / 5
