"""Forgetting reaches everything, and the chain still verifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.store.file_versions import FileVersions
from fazm_memory.store.store import Store

from .conftest import Run


def test_a_forgotten_session_is_gone_from_everywhere_and_verifies(run: Run, session: str, home: Path) -> None:
    result = run("forget", session, "--yes", "--json").json
    counts = {name: result[name] for name in ("sessions", "events", "kept", "dry_run", "remaining")}
    assert counts == {"sessions": 1, "events": 4, "kept": 0, "dry_run": False, "remaining": []}
    assert run("sessions", "--json").json == []
    assert run("search", "invoices", "--json").json == []
    events = run("events", session, "--json").json
    assert [event["payload"] for event in events[:4]] == [None] * 4
    assert run("verify", "--json").json["clean"] is True


def test_a_dry_run_only_says(run: Run, session: str) -> None:
    assert run("forget", "--match", "invoices", "--dry-run", "--json").json["events"] == 1
    assert run("search", "invoices", "--json").json != []


def test_what_matches_is_forgotten_and_the_rest_stays(run: Run, session: str) -> None:
    assert run("forget", "--match", "DATES FIRST", "--yes", "--json").json["events"] == 1
    assert run("state", session, "--json").json["decisions_made"] == []
    assert run("search", "invoices", "--json").json != []
    assert run("verify", "--json").json["clean"] is True


def test_a_time_is_forgotten(run: Run, session: str) -> None:
    run(
        "record",
        stdin=[{"type": "prompt", "session": session, "text": "later"}],
        now="2026-11-15T10:00:00+00:00",
    )
    since, until = "2026-11-15T09:30:00+00:00", "2026-11-15T10:30:00+00:00"
    result = run("forget", "--since", since, "--until", until, "--yes", "--json")
    assert result.json["events"] == 1
    events = run("events", session, "--json", now="2026-11-15T11:00:00+00:00").json
    assert [event["payload"] is None for event in events][:5] == [False, False, False, False, True]


def test_forgetting_nothing_in_particular_is_refused(run: Run, session: str) -> None:
    results = run("forget")
    assert results.code == 2
    assert "nothing to forget" in results.err


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_text_matches_nothing_rather_than_everything(run: Run, session: str, text: str) -> None:
    results = run("forget", "--match", text, "--yes")
    assert (results.code, "an empty text matches everything" in results.err) == (2, True)
    assert run("search", "invoices", "--json").json != []


def test_where_nobody_can_be_asked_nothing_is_forgotten_without_a_word(run: Run, session: str) -> None:
    results = run("forget", session, stdin=b"y\n")
    assert results.code == 18
    assert "4 events in 1 session" in results.err
    assert run("search", "invoices", "--json").json != []


def test_a_day_is_named_as_a_person_says_it(run: Run, session: str) -> None:
    later = "2026-11-16T09:00:00+00:00"
    assert run("forget", "--since", "today", "--dry-run", "--json", now=later).json["events"] == 0
    assert run("forget", "--since", "yesterday", "--dry-run", "--json", now=later).json["events"] == 4


def test_kept_versions_of_forgotten_files_go_too(run: Run, session: str, home: Path) -> None:
    key = Store(home, key="file")
    versions = FileVersions(home, key.keys.database)
    key.close()
    versions.keep("/w", "b", 1, b"what the file held")
    versions.keep("/w", "other", 1, b"another file")
    run("forget", session, "--yes")
    assert versions.last("/w", "b") is None
    assert versions.last("/w", "other") is not None
    versions.close()
