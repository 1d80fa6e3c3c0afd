"""Versions of files: kept once, found by moment, let go when there is no more room."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.store.file_versions import (
    ABSENT,
    FILE_CAP,
    STEPS,
    VERSIONS_DATABASE,
    FileVersions,
    digest_of,
)
from fazm_memory.store.schema import statements
from fazm_memory.store.store import STORE_FOLDER
from tests.store.schemas.make import opened, schema
from tests.store.schemas.versions.make import FOLDER, SAMPLE, SCRIPT, WORDS

KEY = "ab" * 32
Open = Callable[..., FileVersions]
SHIPPED = range(1, len(STEPS) + 1)


@pytest.fixture
def open_versions(tmp_path: Path) -> Iterator[Open]:
    opened: list[FileVersions] = []

    def opener(**more: int) -> FileVersions:
        opened.append(FileVersions(tmp_path, KEY, **more))
        return opened[-1]

    yield opener
    for one in opened:
        one.close()


@pytest.fixture
def versions(open_versions: Open) -> FileVersions:
    return open_versions()


def test_what_a_file_held_at_any_moment(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"one")
    versions.keep("/r", "a", 20, b"two")
    versions.keep("/r", "a", 30, ABSENT)
    held = {moment: versions.at("/r", "a", moment) for moment in (9, 10, 19, 20, 30)}
    assert held[9] is None
    contents = [versions.read(one.digest) for one in held.values() if one is not None and one.digest]
    assert contents == [b"one", b"one", b"two"]
    assert held[30] is not None
    assert held[30].absent


def test_the_manifest_is_the_folder_as_it_was(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"one")
    versions.keep("/r", "b", 15, "too large: 9 bytes")
    versions.keep("/r", "a", 20, ABSENT)
    versions.keep("/other", "c", 10, b"x")
    assert list(versions.manifest("/r", 10)) == ["a"]
    assert {path: one.reason for path, one in versions.manifest("/r", 20).items()} == {
        "b": "too large: 9 bytes"
    }


def test_the_same_content_is_kept_once_and_a_touch_is_no_version(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"same" * 100)
    size = versions.size()
    versions.keep("/r", "b", 10, b"same" * 100)
    versions.keep("/r", "a", 20, b"same" * 100, mark="new")
    assert versions.size() == size
    last = versions.last("/r", "a")
    assert last is not None
    assert (last.at, last.mark) == (10, "new")


def test_what_is_too_large_is_left_out_and_says_so(versions: FileVersions) -> None:
    kept = versions.keep("/r", "a", 10, bytes(FILE_CAP + 1))
    assert kept.digest is None
    assert kept.reason is not None
    assert kept.reason.startswith("too large: 4,194,305 bytes")


def test_over_the_cap_the_oldest_go_first_and_never_the_last_of_a_file(open_versions: Open) -> None:
    versions = open_versions(cap=250_000)
    noise = [os.urandom(100_000) for _ in range(4)]
    for n, data in enumerate(noise):
        versions.keep_all("/r", [("a", 10 + n, data, "", None)])
    assert versions.size() <= 250_000
    results = [versions.at("/r", "a", 10 + n) for n in range(4)]
    last = results[-1]
    assert last is not None
    assert versions.read(last.digest or "") == noise[3]
    assert results[0] is not None
    assert (results[0].digest, results[0].reason) == (None, "let go to make room")
    assert versions.read(digest_of(noise[0])) is None


def test_only_what_files_hold_now_may_exceed_the_cap(open_versions: Open) -> None:
    versions = open_versions(cap=1000)
    data = os.urandom(3000)
    versions.keep_all("/r", [("a", 1, data, "", None)])
    assert versions.read(digest_of(data)) == data


def test_forgetting_takes_the_content_with_it(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"secret")
    versions.keep("/r", "b", 10, b"kept")
    assert versions.forget("/r", ["a"]) == 1
    assert versions.read(digest_of(b"secret")) is None
    assert versions.read(digest_of(b"kept")) == b"kept"
    assert versions.forget("/r") == 1
    assert versions.size() == 0


def test_it_lies_encrypted_beside_the_log_and_is_there_again(open_versions: Open, tmp_path: Path) -> None:
    first = open_versions()
    first.keep("/r", "a", 10, b"plain words" * 50)
    first.close()
    for file in (tmp_path / "store.noindex").iterdir():
        assert b"plain words" not in file.read_bytes()
    assert open_versions().read(digest_of(b"plain words" * 50)) == b"plain words" * 50


def test_a_version_never_begins_before_the_one_it_follows(versions: FileVersions) -> None:
    versions.keep("/r", "a", 20, b"one")
    versions.keep("/r", "a", 5, b"two")
    now = versions.at("/r", "a", 20)
    assert now is not None
    assert versions.read(now.digest or "") == b"two"
    assert versions.at("/r", "a", 19) is None


def test_which_versions_the_log_tells_of(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"one")
    versions.tell("/r", "a", "s1")
    result = versions.last("/r", "a")
    assert result is not None
    assert (result.recorded, result.session) == (True, "s1")


def modes(versions: FileVersions, path: str) -> list[tuple[int, int | None]]:
    return [(one.at, one.mode) for one in versions.history("/r", path)]


def test_other_bits_are_another_version_and_never_more_than_bits(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"same", mode=0o100644)
    versions.keep("/r", "a", 20, b"same", mode=0o100644, mark="touched")
    versions.keep("/r", "a", 30, b"same", mode=0o106755)
    assert modes(versions, "a") == [(10, 0o644), (30, 0o755)]
    versions.keep("/r", "a", 40, b"same")  # nobody says: it is as it was
    assert modes(versions, "a") == [(10, 0o644), (30, 0o755)]


def test_bits_that_were_not_known_are_learned_only_if_nothing_happened_since(versions: FileVersions) -> None:
    versions.keep("/r", "a", 10, b"same")
    versions.keep("/r", "a", 10, b"same", mode=0o644)
    assert modes(versions, "a") == [(10, 0o644)]
    versions.keep("/r", "b", 10, b"same")
    versions.keep("/r", "b", 20, b"same", mode=0o755)
    assert modes(versions, "b") == [(10, None), (20, 0o755)]


def test_every_schema_of_the_versions_is_kept() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.sql")) == [f"v{version}.sql" for version in SHIPPED]


@pytest.mark.parametrize("version", SHIPPED)
def test_a_shipped_step_of_the_versions_is_never_edited(version: int) -> None:
    made, kept = sqlcipher.connect(":memory:"), sqlcipher.connect(":memory:")
    for step in STEPS[:version]:
        for statement in statements(step):
            made.execute(statement)
    kept.executescript((FOLDER / f"v{version}.sql").read_text(encoding="utf-8"))
    assert schema(made) == schema(kept)
    made.close()
    kept.close()


@pytest.mark.parametrize("version", SHIPPED)
def test_versions_of_every_schema_open_and_know_the_bits_that_were_seen(
    tmp_path: Path, open_versions: Open, version: int
) -> None:
    (tmp_path / STORE_FOLDER).mkdir()
    old = opened(tmp_path / STORE_FOLDER / VERSIONS_DATABASE, KEY)
    old.executescript((FOLDER / f"v{version}.sql").read_text(encoding="utf-8"))
    old.close()
    versions = open_versions()
    assert versions.db.migrated == len(STEPS) - version
    held = {(one.path, one.at): one for one in versions.history("/r")}
    assert [(path, at) for path, at, _, _ in SAMPLE] == list(held)
    assert versions.read(held["run.sh", 10].digest or "") == SCRIPT
    assert versions.read(held["words.txt", 10].digest or "") == WORDS
    known = {place: one.mode for place, one in held.items()}
    assert known == {("run.sh", 10): 0o755, ("words.txt", 10): None, ("words.txt", 20): None,
                     ("link", 10): None}  # fmt: skip
