"""Which names below a workspace may ever be written to when files are brought back.

Judged as text, before any file system is asked: a path that climbs out, or that any file system might take
for Git's own folder (in another case, with invisible letters, by its short name), is refused.
"""

from __future__ import annotations

import unicodedata

GIT = frozenset({".git", "git~1"})
INVISIBLE = frozenset({"Cf", "Cc", "Mn"})  # what file systems drop, or fold away, when they compare names


def refusal(path: str) -> str | None:
    """Why a path below a workspace may not be written to; None when it may."""
    if not path or path.startswith("/"):
        return "it is not a path below the workspace"
    if "\0" in path:
        return "it holds a NUL"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "it leads out of the workspace"
        if is_git(part):
            return "it is inside .git, which is Git's own"
    return None


def is_git(name: str) -> bool:
    """Whether some file system takes this name for `.git`."""
    spread = unicodedata.normalize("NFKD", name)
    seen = "".join(one for one in spread if unicodedata.category(one) not in INVISIBLE)
    return seen.partition(":")[0].casefold().rstrip(" .") in GIT
