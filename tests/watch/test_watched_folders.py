"""Which folders are watched, and which never unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.store.store import Store
from fazm_memory.watch.scope import RECENT, WatchedFolder, reason_not_watched, watched_roots
from tests.scribe import Scribe


def rows(store: Store, *folders: str) -> list[object]:
    scribe = Scribe(store)
    return [scribe.row(scribe.open(workspace=folder)) for folder in folders]


@pytest.mark.parametrize("folder", ["/u", "/", "/tmp", "/home", "/Users"])
def test_a_home_or_more_is_not_watched(folder: str) -> None:
    assert reason_not_watched(folder, "/u", "linux") == "it holds a whole home or more"


def test_what_macos_protects_needs_a_word_from_the_user() -> None:
    assert "`fazm-memory setup`" in (reason_not_watched("/u/Documents/tax", "/u", "darwin") or "")
    assert reason_not_watched("/u/Documents/tax", "/u", "linux") is None
    assert reason_not_watched("/u/code", "/u", "darwin") is None


def test_sessions_at_work_or_paused_are_followed_and_closed_ones_are_not(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    scribe = Scribe(store)
    row = scribe.row(scribe.open(workspace=str(tmp_path / "a")))
    gone = scribe.row(scribe.open(workspace=str(tmp_path / "gone")))
    at = row.last_at
    assert watched_roots([row, gone], now=at, user_home="/u") == [WatchedFolder(str(tmp_path / "a"))]
    assert watched_roots([row], now=at + RECENT, user_home="/u") == []
    from dataclasses import replace

    assert watched_roots([replace(row, lifecycle="paused")], now=at, user_home="/u") != []
    assert watched_roots([replace(row, lifecycle="closed")], now=at, user_home="/u") == []


def test_what_the_user_adds_is_watched_and_opens_what_is_in_it(store: Store, tmp_path: Path) -> None:
    (tmp_path / "Documents" / "tax").mkdir(parents=True)
    scribe = Scribe(store)
    row = scribe.row(scribe.open(workspace=str(tmp_path / "Documents" / "tax")))
    home = str(tmp_path)
    shut = watched_roots([row], now=row.last_at, user_home=home, platform="darwin")
    assert [one.refused is None for one in shut] == [False]
    found = watched_roots([row], now=row.last_at, user_home=home, added=["~/Documents"], platform="darwin")
    assert found == [
        WatchedFolder(str(tmp_path / "Documents")),
        WatchedFolder(str(tmp_path / "Documents" / "tax")),
    ]
