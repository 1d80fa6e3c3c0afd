"""Threads: sessions that belong to the same work.

Sessions share a thread when they are on the same branch, follow the same plan or ticket, change the same
files, or when one continues the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from fazm_memory.recall.digest import SessionDigest
from fazm_memory.records import dataclass

TRUNKS = frozenset({"", "main", "master", "trunk", "develop", "HEAD"})
SHARED_FILES = 0.5  # of the smaller set of changed files


@dataclass(frozen=True)
class Thread:
    """Sessions of the same work, in time. `older` if none of them was active on the last active days."""

    tasks: tuple[SessionDigest, ...]

    @property
    def ended(self) -> int:
        return max(task.ended for task in self.tasks)

    @property
    def began(self) -> int:
        return min(task.began for task in self.tasks if task.recent or self.older)

    @property
    def older(self) -> bool:
        return not any(task.recent for task in self.tasks)

    @property
    def branch(self) -> str:
        return next((task.branch for task in reversed(self.tasks) if task.branch), "")


def group_threads(tasks: Sequence[SessionDigest]) -> list[Thread]:
    """The threads of these sessions, the latest first, those of older days at the end."""
    parents = list(range(len(tasks)))

    def root(nth: int) -> int:
        while parents[nth] != nth:
            nth = parents[nth]
        return nth

    for nth, task in enumerate(tasks):
        for other in range(nth):
            if belong_together(task, tasks[other]):
                parents[root(nth)] = root(other)
    groups: dict[int, list[SessionDigest]] = {}
    for nth, task in enumerate(tasks):
        groups.setdefault(root(nth), []).append(task)
    threads = [
        Thread(tuple(sorted(group, key=lambda task: (task.began, task.session.opened_at, task.session.n))))
        for group in groups.values()
    ]
    # The tasks are sorted, so the later of two threads that ended in one minute comes first.
    return sorted(threads, key=lambda thread: (thread.older, -thread.ended))


def belong_together(one: SessionDigest, other: SessionDigest) -> bool:
    """Whether two sessions are the same work."""
    if one.session.id == other.session.parent or other.session.id == one.session.parent:
        return True
    if one.branch not in TRUNKS and one.branch == other.branch:
        return True
    if one.tickets & other.tickets or (one.plan_title and one.plan_title == other.plan_title):
        return True
    if one.branch != other.branch or not (one.recent and other.recent):
        return False
    smaller = min(len(one.files), len(other.files))
    return smaller >= 2 and len(one.files & other.files) >= SHARED_FILES * smaller
