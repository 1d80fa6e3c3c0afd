"""Skip rules: every file of a folder is counted once, as renamed or by a rule."""

from __future__ import annotations

import pytest

from fazm_memory.engines.naming import ListedFile, Rename, SkippedFiles, learn

DONE = [Rename(f"/d/IMG_{n}.jpg", f"/d/trip-{n}.jpg", n) for n in range(101, 107)]


def skipped(*names: str, sizes: dict[str, int] | None = None) -> list[tuple[str, tuple[str, ...], int]]:
    known = sizes or {}
    worked = [ListedFile(rename.before, known.get(rename.before.rpartition("/")[2])) for rename in DONE]
    learned = learn(DONE, [*worked, *(ListedFile(f"/d/{name}", known.get(name)) for name in names)])
    assert all(one.folder == "/d" for one in learned.skipped)
    return [(one.rule, one.files, one.count) for one in learned.skipped]


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        ((".DS_Store", ".localized"), "hidden"),
        (("Thumbs.db",), "hidden"),
        (("trip-099.jpg", "trip-100.jpg"), "already named so"),
        (("a.txt", "b.txt"), "extension .txt"),
        (("Makefile", "LICENSE"), "no extension"),
        (("IMG_120 draft.jpg", "IMG_121 draft.jpg"), '"draft" in the name'),
        (("selfie 1.jpg", "selfie 2.jpg"), 'name begins with "selfie"'),
        (("IMG_101 (1).jpg", "IMG_102 (2).jpg"), "copy of another file"),
    ],
)
def test_what_the_skipped_files_share_and_no_other_has_is_the_rule(names: tuple[str, ...], rule: str) -> None:
    assert skipped(*names) == [(rule, tuple(sorted(names)), len(names))]


@pytest.mark.parametrize(
    ("size", "rule"),
    [(0, "empty"), (90_000_000, "larger than 2 MB"), (10, "smaller than 1 MB")],
)
def test_size_is_the_rule_where_nothing_in_the_name_is(size: int, rule: str) -> None:
    worked = {f"IMG_{n}.jpg": 1_000_000 + 200_000 * (n - 101) for n in range(101, 107)}
    names = {"IMG_201.jpg": size, "IMG_202.jpg": size}
    assert skipped(*names, sizes=worked | names) == [(rule, ("IMG_201.jpg", "IMG_202.jpg"), 2)]


def test_what_no_rule_explains_is_listed_as_such() -> None:
    assert skipped("IMG_150.jpg") == [("no rule found", ("IMG_150.jpg",), 1)]


def test_one_file_is_no_pattern_unless_its_name_says_so() -> None:
    assert skipped("IMG_150 Peter.jpg") == [("no rule found", ("IMG_150 Peter.jpg",), 1)]
    assert skipped("IMG_150 private.jpg") == [('"private" in the name', ("IMG_150 private.jpg",), 1)]


def test_twenty_files_are_named_and_all_are_counted() -> None:
    names = [f"n{n:02}.txt" for n in range(35)]
    assert skipped(*names) == [("extension .txt", tuple(names[:20]), 35)]


def test_processed_and_skipped_files_add_up_to_the_folder() -> None:
    names = [".DS_Store", "a.txt", "trip-001.jpg", "IMG_150.jpg", "IMG_7 draft.jpg", "IMG_8 draft.jpg"]
    learned = learn(DONE, [ListedFile(f"/d/{name}") for name in names])
    (folder,) = learned.folders
    assert folder.processed + sum(one.count for one in learned.skipped) == folder.total == 12


def test_a_folder_in_which_nothing_was_renamed_was_not_processed() -> None:
    learned = learn(DONE, [ListedFile("/elsewhere/a.txt")])
    assert (learned.skipped, [folder.path for folder in learned.folders]) == ((), ["/d"])


def test_a_file_renamed_and_back_was_seen_but_is_not_skipped_by_rule() -> None:
    back = [Rename("/d/x.jpg", "/d/y.jpg", 200), Rename("/d/y.jpg", "/d/x.jpg", 201)]
    assert learn([*DONE, *back], [ListedFile("/d/y.jpg")]).skipped == ()


def test_a_skip_is_reported_with_its_folder() -> None:
    assert learn(DONE, [ListedFile("/d/a.txt")]).skipped == (
        SkippedFiles("/d", "extension .txt", ("a.txt",), 1),
    )
