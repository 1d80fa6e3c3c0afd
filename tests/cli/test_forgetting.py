"""Forgetting reaches everything, and the chain still verifies."""

from __future__ import annotations

from pathlib import Path

from fazm_memory.log.store import Store
from fazm_memory.log.versions import Versions

from .conftest import Run


def test_a_forgotten_session_is_gone_from_everywhere_and_verifies(run: Run, session: str, home: Path) -> None:
    told = run("forget", session, "--json").json
    assert told == {"sessions": 1, "events": 4, "dry_run": False}
    assert run("sessions", "--json").json == []
    assert run("search", "invoices", "--json").json == []
    events = run("events", session, "--json").json
    assert [event["payload"] for event in events[:4]] == [None] * 4
    assert run("verify", "--json").json["clean"] is True


def test_a_dry_run_only_says(run: Run, session: str) -> None:
    assert run("forget", "--match", "invoices", "--dry-run", "--json").json["events"] == 1
    assert run("search", "invoices", "--json").json != []


def test_what_matches_is_forgotten_and_the_rest_stays(run: Run, session: str) -> None:
    assert run("forget", "--match", "DATES FIRST", "--json").json["events"] == 1
    assert run("state", session, "--json").json["decisions_made"] == []
    assert run("search", "invoices", "--json").json != []
    assert run("verify", "--json").json["clean"] is True


def test_a_time_is_forgotten(run: Run, session: str) -> None:
    run(
        "record",
        stdin=[{"type": "prompt", "session": session, "text": "later"}],
        now="2026-11-15T10:00:00+00:00",
    )
    told = run(
        "forget", "--since", "2026-11-15T09:30:00+00:00", "--until", "2026-11-15T10:30:00+00:00", "--json"
    )
    assert told.json["events"] == 1
    assert [event["payload"] is None for event in run("events", session, "--json").json][:5] == [
        False, False, False, False, True,
    ]  # fmt: skip


def test_forgetting_nothing_in_particular_is_refused(run: Run, session: str) -> None:
    told = run("forget")
    assert told.code == 6
    assert "nothing was named" in told.err


def test_kept_versions_of_forgotten_files_go_too(run: Run, session: str, home: Path) -> None:
    key = Store(home, key="file")
    versions = Versions(home, key.keys.database)
    key.close()
    versions.keep("/w", "b", 1, b"what the file held")
    versions.keep("/w", "other", 1, b"another file")
    run("forget", session)
    assert versions.last("/w", "b") is None
    assert versions.last("/w", "other") is not None
    versions.close()
