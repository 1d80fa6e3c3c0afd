"""Names that may never be written to, however they are spelled."""

from __future__ import annotations

import pytest

from fazm_memory.paths import is_git, unsafe_path_reason

ATTACKS = [
    "", "/etc/passwd", "../x", "a/../../x", "a/..", "..", ".", "./a", "a//b", "a/", "a\0b",
    ".git", ".git/config", ".git/hooks/post-checkout", "sub/.git/config", ".GIT/config", ".Git/HEAD", ".giT",
    ".g\u200cit/config", ".git\u200d/config", "\ufeff.git/x", ".gi\u0307t/x", "\uff0egit/config",
    ".ｇｉｔ/config",
    ".git ", ".git./config", ".git::$INDEX_ALLOCATION/config", "git~1/config", "GIT~1",
]  # fmt: skip


@pytest.mark.parametrize("path", ATTACKS, ids=ascii)
def test_a_path_that_leads_out_or_into_git_is_refused(path: str) -> None:
    assert unsafe_path_reason(path) is not None


@pytest.mark.parametrize(
    "path", ["a", "a/b.txt", ".gitignore", ".github/x", "git/x", "Über/naïve.txt", "...", "a..b"]
)
def test_an_ordinary_path_is_not(path: str) -> None:
    assert unsafe_path_reason(path) is None


def test_names_that_only_look_like_git_to_a_person_are_not_git() -> None:
    assert not is_git(".gitmodules")
    assert not is_git("git")
