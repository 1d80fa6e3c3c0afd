"""The command line of the benchmarks: chosen suites, sizes, JSON and the table."""

from __future__ import annotations

import json

import pytest

from benchmarks import peers
from benchmarks.__main__ import SUITES, main
from benchmarks.figures import Figure, Goal
from fazm_memory.errors import NotFound


def test_a_peer_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "PEERS", (("no_such_module.at_all", "Some Store", peers.langgraph),))
    monkeypatch.setattr("benchmarks.start.run", lambda options, tell: iter(()))

    assert main(["start", "--peers", "--json"]) == 0
    assert "not installed, so not measured: Some Store" in capsys.readouterr().err


def test_an_unknown_suite_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) != 0
    assert "log" in capsys.readouterr().err


@pytest.mark.parametrize("sizes", ["ten", "10", "", "10000,few"])
def test_sizes_that_make_no_sense_are_refused(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--events", sizes]) != 0
    assert "--events" in capsys.readouterr().err


def test_json_holds_the_figures_of_each_suite(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = Figure("a", "ms", ours=4.0, baseline=2.0, events=10, goal=Goal(at_most=4))
    monkeypatch.setattr("benchmarks.start.run", lambda options, tell: iter([figure]))
    assert main(["start", "--json"]) == 0
    suites = json.loads(capsys.readouterr().out)["suites"]
    assert suites["start"] == [figure.to_json()]
    assert suites["start"][0]["ratio"] == 2.0


def test_the_table_has_a_row_for_each_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Figure("quick", "ms", ours=4.0, baseline=2.0, goal=Goal(at_most=4)),
            Figure("slow", "ms", ours=9.0, baseline=2.0, goal=Goal(at_most=4))]  # fmt: skip
    monkeypatch.setattr("benchmarks.start.run", lambda options, tell: iter(rows))
    assert main(["start"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert "ok" in lines[1]
    assert "missed" in lines[2]
    assert "1 of 2" in err


def test_without_a_name_every_suite_runs_and_one_that_cannot_is_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def suite(name: str) -> object:
        def run(options: object, report: object) -> list[Figure]:
            if name == "page":
                raise NotFound("There is no browser.")
            return [Figure(name, "ms", ours=1.0)]

        return run

    monkeypatch.setattr("benchmarks.__main__.suite", suite)
    assert main(["--json"]) == 0
    out, err = capsys.readouterr()
    assert list(json.loads(out)["suites"]) == [name for name in SUITES if name != "page"]
    assert "page: skipped" in err
    assert "no browser" in err
