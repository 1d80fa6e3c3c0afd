"""The benchmark measures both sides and computes its ratios from both; how fast they are is not tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.bench import figures, log_suite, peers, reading, suites
from fazm_memory.bench.figures import Figure, Goal, in_turns
from fazm_memory.bench.pair import Pair
from fazm_memory.bench.rows import COMMON, LONG, RARE, UNCOMMON, Life
from fazm_memory.bench.suites import Options
from fazm_memory.cli.main import main
from fazm_memory.log.verify import verify
from fazm_memory.model import codec

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


def silent(what: str, done: int, total: int) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = Pair(tmp_path_factory.mktemp("pair"), EVENTS)
    made.grow(silent)
    yield made
    made.close()


def test_the_same_life_is_made_every_time() -> None:
    first = [entry for run in Life(500).runs() for entry in run.entries]
    second = [entry for run in Life(500).runs() for entry in run.entries]
    assert first == second
    assert len(first) == 500


def test_events_are_of_about_a_kilobyte_and_their_words_as_frequent_as_said() -> None:
    payloads = [codec.to_bytes(entry.payload).decode() for run in Life(4000).runs() for entry in run.entries]
    assert 900 < sum(map(len, payloads)) / len(payloads) < 1150
    found = {word: sum(word in text for text in payloads) for word in (COMMON, UNCOMMON, RARE)}
    assert 0.35 < found[COMMON] / len(payloads) < 0.45
    assert 0.005 < found[UNCOMMON] / len(payloads) < 0.02
    assert 0 < found[RARE] < 30


def test_store_and_floor_hold_the_same_events(pair: Pair) -> None:
    ours = pair.store.db.execute("SELECT at, kind, key, payload FROM event ORDER BY at, key").fetchall()
    bare = pair.floor.connection.execute(
        "SELECT at, kind, key, payload FROM event ORDER BY at, key"
    ).fetchall()
    assert len(ours) == EVENTS
    assert ours == bare
    vocabulary = "CREATE VIRTUAL TABLE temp.said USING fts5vocab('main', 'words', 'row')"
    words = "SELECT term, doc, cnt FROM temp.said ORDER BY term"
    for connection in (pair.store.db, pair.floor.connection):
        connection.execute(vocabulary)
    assert pair.store.db.execute(words).fetchall() == pair.floor.connection.execute(words).fetchall()


def test_what_the_benchmark_writes_is_a_log_that_verifies(pair: Pair) -> None:
    report = verify(pair.store.log)
    assert report.clean
    assert report.events == EVENTS


def test_every_reading_finds_as_much_as_its_bare_statement(pair: Pair) -> None:
    for one in reading.READINGS[:2]:
        ours, bare = one.jobs(pair, 3)
        for _ in range(3):
            assert len(ours()) == len(bare()) > 0  # type: ignore[arg-type]


def test_ratios_come_from_both_measurements() -> None:
    share = Figure("a", "ms", ours=4.0, floor=2.0, sense="share", goal=Goal(at_least=0.5))
    times = Figure("b", "ms", ours=4.0, floor=2.0, goal=Goal(at_most=1.5))
    assert (share.ratio, share.ok) == (0.5, True)
    assert (times.ratio, times.ok) == (2.0, False)


def test_a_limit_on_the_value_holds_whatever_the_ratio() -> None:
    assert Figure("a", "ms", ours=60.0, floor=50.0, goal=Goal(limit=50, at_most=10)).ok is False
    assert Figure("a", "ms", ours=40.0, goal=Goal(limit=50)).ok is True
    assert Figure("a", "ms", ours=40.0).ok is None


def test_jobs_take_turns_and_each_begins_as_often() -> None:
    order: list[str] = []
    taken = in_turns(4, [lambda: order.append("a"), lambda: order.append("b")])
    assert order == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert [len(times) for times in taken] == [4, 4]
    assert figures.high([1.0] * 19 + [9.0]) == 9.0


def test_the_log_suite_tells_every_figure_at_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_suite, "ROUND", 8)
    monkeypatch.setattr(log_suite, "TURN", 4)
    monkeypatch.setattr(reading, "ROUNDS", (2, 2))
    options = Options(sizes=(1200, 1000), quick=True, folder=tmp_path)
    found = list(suites.suite("log")(options, silent))
    assert {figure.events for figure in found} == {1000, 1200}
    for what in EVERY:
        assert {one.events for one in found if one.what == what} == {1000, 1200}, what
    for figure in found:
        assert figure.ours > 0
        assert figure.floor is None or figure.floor > 0
        assert figure.goal is None or figure.ok is not None
    flat = next(one for one in found if one.what == "slice of 100, flat")
    small = next(one for one in found if one.what == "slice of 100" and one.events == 1000)
    assert flat.floor == small.ours
    assert list(tmp_path.iterdir()) == []


def test_single_appends_are_told_from_the_round_with_the_middle_share() -> None:
    rounds = [(4.0, 1.0), (1.0, 0.9), (200.0, 100.0)]  # shares of 0.25, 0.9 and 0.5
    seconds = [(ours * log_suite.ROUND, floor * log_suite.ROUND) for ours, floor in rounds]
    assert log_suite._middle(seconds) == (200e6, 100e6)


def test_every_peer_is_there_to_be_measured_beside(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TURN", 2)
    found = list(peers.peer_figures(pair, 4, silent))
    assert [(figure.against, figure.what) for figure in found] == [
        (against, what)
        for against in (
            "openai-agents SQLiteSession",
            "LangGraph SqliteSaver, the last message",
            "LangGraph SqliteSaver, up to 100 messages",
        )
        for what in ("append, one at a time", "read the last 20")
    ]
    assert all(figure.ours > 0 and figure.floor for figure in found)


def test_a_peer_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "PEERS", (("no_such_module.at_all", "Some Store", peers.langgraph),))
    monkeypatch.setattr("fazm_memory.bench.start_suite.run", lambda options, tell: iter(()))

    assert main(["bench", "start", "--peers", "--json"]) == 0
    assert "not installed, so not measured: Some Store" in capsys.readouterr().err


def test_the_long_session_is_in_every_fifth_run() -> None:
    runs = list(Life(2000, batch=50).runs())
    assert sum(run.session == LONG for run in runs) == len(runs) / 5


def test_an_unknown_suite_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "nonsense"]) != 0
    assert "log" in capsys.readouterr().err


@pytest.mark.parametrize("sizes", ["ten", "10", "", "10000,few"])
def test_sizes_that_make_no_sense_are_refused(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--events", sizes]) != 0
    assert "--events" in capsys.readouterr().err


def test_json_holds_the_figures_of_each_suite(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = Figure("a", "ms", ours=4.0, floor=2.0, events=10, goal=Goal(at_most=4))
    monkeypatch.setattr("fazm_memory.bench.start_suite.run", lambda options, tell: iter([figure]))
    assert main(["bench", "start", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["suites"]["start"] == [figure.to_json()]
    assert told["suites"]["start"][0]["ratio"] == 2.0


def test_the_table_has_a_row_for_each_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Figure("quick", "ms", ours=4.0, floor=2.0, goal=Goal(at_most=4)),
            Figure("slow", "ms", ours=9.0, floor=2.0, goal=Goal(at_most=4))]  # fmt: skip
    monkeypatch.setattr("fazm_memory.bench.start_suite.run", lambda options, tell: iter(rows))
    assert main(["bench", "start"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert "ok" in lines[1]
    assert "short" in lines[2]
    assert "1 of 2" in err
