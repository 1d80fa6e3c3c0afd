"""The baseline: what files held before anybody changed them."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.store.file_versions import ABSENT, FILE_CAP, FileVersions, digest_of
from fazm_memory.watch.tree import IgnoreRules, Tree, scan
from fazm_memory.watch.versions import (
    IN_THE_CLOUD,
    SECRET_NAME,
    TORN,
    TRIES,
    Baseline,
    BaselinePass,
    digest_now,
    read_file,
)

FAR = 4_000_000_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def versions(tmp_path: Path) -> Iterator[FileVersions]:
    opened = FileVersions(tmp_path / "home", "ef" * 32)
    yield opened
    opened.close()


def old(path: Path, text: str) -> Path:
    """A file that has been lying there for a while."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def tree(root: Path) -> Tree:
    return scan(str(root), IgnoreRules(str(root)))


def test_every_file_is_there_before_the_first_tool_runs_and_git_is_not_touched(
    root: Path, versions: FileVersions
) -> None:
    old(root / "a", "one")
    old(root / "sub" / "b", "two")
    old(root / ".git" / "HEAD", "ref")
    baseline = Baseline(versions)
    baseline.begin(str(root), tree(root))
    assert baseline.go_on(FAR) == BaselinePass(2, 0)
    (root / "a").write_text("changed at once")
    kept = versions.last(str(root), "a")
    assert kept is not None
    assert versions.read(kept.digest or "") == b"one"
    assert set(versions.manifest(str(root), FAR)) == {"a", "sub/b"}


def test_only_what_is_new_is_read_again(root: Path, versions: FileVersions) -> None:
    for name in "abc":
        old(root / name, name)
    baseline = Baseline(versions)
    baseline.begin(str(root), tree(root))
    baseline.go_on(FAR)
    old(root / "b", "longer")
    baseline.begin(str(root), tree(root))
    assert baseline.go_on(FAR) == BaselinePass(1, 0)


def test_a_pass_ends_with_its_budget_and_the_next_goes_on(
    root: Path, versions: FileVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(10):
        old(root / str(n), str(n))
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    baseline = Baseline(versions, budget=4.5)
    baseline.begin(str(root), tree(root))
    assert baseline.go_on(FAR) == BaselinePass(4, 6)
    assert baseline.left() == {str(root): 6}
    assert baseline.go_on(FAR) == BaselinePass(4, 2)
    assert baseline.go_on(FAR) == BaselinePass(2, 0)
    assert baseline.left() == {}
    assert len(versions.manifest(str(root), FAR)) == 10


def test_a_file_read_late_is_known_to_have_held_this_since_it_last_changed(
    root: Path, versions: FileVersions
) -> None:
    changed = old(root / "a", "x").stat().st_ctime_ns // 1000
    Baseline(versions).keep(str(root), ["a"], FAR)
    assert versions.at(str(root), "a", changed) is not None
    assert versions.at(str(root), "a", changed - 1) is None


def test_links_pipes_large_and_secret_files_are_left_out_with_the_reason(
    root: Path, versions: FileVersions
) -> None:
    (root / "link").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    with open(root / "large", "wb") as file:
        file.truncate(FILE_CAP + 1)
    old(root / ".env", "TOKEN=1")
    names = ["link", "pipe", "large", ".env", "none"]
    kept = Baseline(versions).keep(str(root), names, FAR)
    assert [one.digest for one in kept] == [None] * 5
    reasons = [one.reason or "" for one in kept]
    assert reasons[:2] == ["a link to /etc/passwd", "not a plain file"]
    assert reasons[2].startswith("too large")
    assert reasons[3:] == [SECRET_NAME, ABSENT]


def test_a_file_that_changes_under_the_reader_is_read_again_then_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old(root / "a", "x")
    real = os.fstat
    seen: list[int] = []

    def restless(descriptor: int) -> os.stat_result:
        seen.append(descriptor)
        path.write_text("y" * len(seen))
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", restless)
    assert read_file(str(path)).content == TORN
    assert len(seen) == 2 * TRIES


@pytest.mark.parametrize("refused", ["open_without_links", "open"])
def test_a_file_that_is_only_in_the_cloud_has_no_content_and_says_why(
    root: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """macOS refuses to open or to read it, because the companion may not download it."""

    class Dataless:
        def __enter__(self) -> Dataless:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read(self, size: int) -> bytes:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided")

    def closed(*_: object) -> Dataless:
        return Dataless().read(0) if refused == "open_without_links" else Dataless()  # type: ignore[return-value]

    path = old(root / "report.pages", "x")
    monkeypatch.setattr(f"fazm_memory.watch.versions.{refused}", closed, raising=False)
    assert read_file(str(path)).content == IN_THE_CLOUD


def test_a_file_so_young_that_its_time_may_lie_is_read_again_next_time(root: Path) -> None:
    (root / "a").write_text("x")
    os.utime(root / "a", ns=(2**62, 2**62))
    assert read_file(str(root / "a")).mark == ""
    assert read_file(str(old(root / "b", "y"))).mark != ""


def test_the_digest_of_what_is_there_now(root: Path) -> None:
    assert digest_now(str(old(root / "a", "x"))) == digest_of(b"x")
    assert digest_now(str(root / "none")) is None
