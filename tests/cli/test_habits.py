"""`fazm-memory habits` and `demo` on the command line."""

from __future__ import annotations

from .conftest import Run


def test_what_recurs_is_listed_with_where_it_comes_from(run: Run) -> None:
    assert "Nothing recurs yet" in run("habits").out
    lines = []
    for week, day in enumerate(("2026-10-26", "2026-11-02", "2026-11-09")):
        about = {"session": f"w{week}", "agent": "fazm", "at": f"{day}T09:00:00+00:00"}
        lines += [
            {"type": "session.open", "workspace": "/w", **about},
            {"type": "prompt", "text": "water the plants", **about},
            {
                "type": "action",
                "tool": "Bash",
                "input": {"command": "make check"},
                "error": "refused",
                **about,
            },
        ]
    assert run("record", stdin=lines).code == 0
    results = run("habits").out
    assert "water the plants" in results
    assert "3 times, weekly on Monday, around 09:00" in results
    assert "make check: failed 3, then worked 0" in results
    [task] = run("habits", "--json").json["tasks"]
    assert (task["count"], len(task["events"])) == (3, 3)


def test_the_demo_prints_what_the_second_day_is_given(run: Run) -> None:
    results = run("demo")
    assert results.code == 0
    assert "Yesterday, Saturday 14 November:" in results.out
    assert "invoice_stark_20261112.pdf → 2026-11-12 stark.pdf" in results.out
    assert len(run("demo", "--json").json) == 4


def test_search_is_grouped_by_session(run: Run, session: str) -> None:
    lines = run("search", "invoices").out.splitlines()
    assert lines[0] == f"{session[:8]}  Tidy  fazm  /w"
    assert lines[1].startswith("    @1  ")
