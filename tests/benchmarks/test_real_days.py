"""Recall on real days: what is imported, how a note is scored, and the simple contexts beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import real_days
from benchmarks.__main__ import main
from benchmarks.figures import Options

DAY = "2026-01-12"
SESSION = "5f2c0d4e-1f0a-4c57-9a43-0f8f3a3f2b11"
CASE = {
    "id": "shop",
    "workspace": "/Users/mia/shop",
    "day": DAY,
    "now": "2026-01-13T08:00:00Z",
    "facts": [
        {"q": "What was wanted?", "weight": 3, "all": [["export invoices", "invoice export"], ["csv"]]},
        {"q": "Who asked?", "weight": 1, "all": [["the tax office"]]},
    ],
    "noise": [{"all": [["see you tomorrow"]]}],
}


def record(time: str, speaker: str, text: str) -> dict[str, Any]:
    content = text if speaker == "user" else [{"type": "text", "text": text}]
    return {"type": speaker, "uuid": time, "timestamp": time, "sessionId": SESSION, "cwd": "/Users/mia/shop",
            "message": {"role": speaker, "content": content}}  # fmt: skip


@pytest.fixture
def options(tmp_path: Path) -> Options:
    folder = tmp_path / "projects" / "-Users-mia-shop"
    folder.mkdir(parents=True)
    rows = [
        record(f"{DAY}T09:00:00.000Z", "user", "Export invoices as CSV, please"),
        record(f"{DAY}T09:05:00.000Z", "assistant", "The `CSV` export is written. Shall I commit it?"),
        record("2026-01-13T09:00:00.000Z", "user", "It is for the tax office"),
    ]
    (folder / f"{SESSION}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    notes = tmp_path / "notes.json"
    notes.write_text(json.dumps({"cases": [CASE]}))
    return Options(notes=notes, transcripts=tmp_path / "projects", folder=tmp_path)


def test_a_day_is_scored_with_what_existed_that_morning(options: Options) -> None:
    scores = {(day.source, day.budget): day for day in real_days.score_days(options, lambda *_: None)}
    for source in (real_days.CONTEXT, real_days.LAST, real_days.ENDS):
        assert (scores[source, 2000].facts, scores[source, 2000].must) == (0.75, 1.0)
        assert scores[source, 2000].missed == ("Who asked?",)
    assert scores[real_days.LOG, None].facts == 0.75
    assert {budget for _, budget in scores} == {*real_days.BUDGETS, None}


def test_days_of_other_names_are_left_out(options: Options) -> None:
    other = Options(notes=options.notes, transcripts=options.transcripts, only="office")
    assert not list(real_days.score_days(other, lambda *_: None))


def test_stores_can_stay_for_the_next_run(options: Options, tmp_path: Path) -> None:
    again = Options(notes=options.notes, transcripts=options.transcripts, keep=tmp_path / "stores")
    first = list(real_days.score_days(again, lambda *_: None))
    assert list(real_days.score_days(again, lambda *_: None)) == first
    assert (tmp_path / "stores" / "shop" / "data").is_dir()


def test_the_suite_puts_real_days_and_their_intervals_in_one_table(
    options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--notes", str(options.notes), "--transcripts", str(options.transcripts), "--only", "shop"]
    assert main(["recall", *arguments, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["suites"]["recall"]
    context = next(row for row in figures if "2,000 tokens, context: facts" in row["what"])
    assert (context["ours"], context["interval"]) == (75.0, [75.0, 75.0])
    assert any("search" in row["what"] for row in figures)


def test_notes_need_transcripts_and_must_be_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recall", "--notes", str(tmp_path / "none.json")]) != 0
    assert "--transcripts" in capsys.readouterr().err
    assert main(["recall", "--notes", str(tmp_path / "none.json"), "--transcripts", str(tmp_path)]) != 0
    assert "none.json" in capsys.readouterr().err


def test_quotation_marks_escapes_and_case_do_not_matter() -> None:
    fact = {"all": [["the `CSV` writer"], ["a", "b\\u0060c"]]}
    assert real_days.present(fact, real_days.normal('The "csv"\\nwriter b`c'))


def test_the_last_messages_fill_the_room() -> None:
    rows = [record(f"{DAY}T09:0{n}:00.000Z", "user", f"request {n}" + "x" * 2000) for n in range(5)]
    text = real_days.last_messages([rows], 2100)
    assert "request 4" in text
    assert "request 3" in text
    assert "request 2" not in text


def test_an_interval_encloses_the_mean() -> None:
    low, high = real_days.interval([0.2, 0.4, 0.9, 0.7])
    assert 0.2 <= low < 0.55 < high <= 0.9
    assert real_days.interval([0.5]) == (0.5, 0.5)
