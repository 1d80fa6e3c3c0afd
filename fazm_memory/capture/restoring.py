"""Carrying a plan out: each file in turn, from the kept versions, in a way that can be done again.

A step looks before it acts: what is there already is done, what is not as it was planned for is left alone,
and said. So a run that was cut short is finished by running it once more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from fazm_memory.capture.enclosure import SPARE, Enclosure, Refused
from fazm_memory.capture.glance import Look
from fazm_memory.log.folders import FolderSeen, FoldersSeen
from fazm_memory.log.versions import ABSENT, Versions, digest_of
from fazm_memory.model import rewinding
from fazm_memory.model.rewinding import Held, Step

GONE = "the kept copy is no longer there: it had to make room"


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one step: done, or left as it is and why."""

    step: Step
    left: str | None = None


class Restoring:
    """One run over one workspace. `mark` names the run, for the names it needs on the way."""

    def __init__(
        self,
        place: Enclosure,
        versions: Versions,
        *,
        mark: str,
        session: str,
        seq: int | None,
        now: Callable[[], int],
        names: Callable[[str], Sequence[tuple[str, str]]],
        goes: Collection[str] = (),
    ) -> None:
        self.place, self.versions = place, versions
        self.mark, self.session, self.seq, self.now = mark, session, seq, now
        self.names = names  # by which roots and paths the versions know a path of ours
        self.goes = goes  # the folders that may go once they are empty

    def run(self, steps: Sequence[Step]) -> list[Done]:
        made = [self._one(number, step) for number, step in enumerate(steps)]
        gone = self._tidy(made)
        with self.versions.db.transaction():
            self._note_folders(self.place.made, came=True)
            self._note_folders(gone, came=False)
        return made

    def _one(self, number: int, step: Step) -> Done:
        try:
            self._do(step, f"{SPARE}-{self.mark}-{number}")
        except (Refused, FileNotFoundError, NotADirectoryError) as error:
            return Done(step, str(error))
        except OSError as error:
            return Done(step, f"it cannot be written: {error.strerror}")
        self._note(step)
        return Done(step)

    def _do(self, step: Step, spare: str) -> None:
        was, now = step.was or rewinding.ABSENT, step.now or rewinding.ABSENT
        if step.does == "rename_back":
            self._rename(step, was, now)
            return
        if step.only_mode:
            self._set_bits(step.path, was, now)
            return
        data = None if was.digest is None else self.versions.read(was.digest)
        self.place.settle(step.path, spare, lambda found: _ours(found, data, now))
        found = self.place.look(step.path).held
        if found.alike(was):
            return  # done before, by a run that was cut short
        if not found.alike(now):
            raise Refused("it changed since the plan was made")
        if was.absent:
            self.place.take_away(step.path, now, spare)
        elif data is None:
            raise Refused(GONE)
        else:
            self.place.put(step.path, data, was, now, spare)

    def _rename(self, step: Step, was: Held, now: Held) -> None:
        there, here = self.place.look(step.path).held, self.place.look(step.origin or "").held
        if not (there.same(was) and here.absent):
            if not there.absent or not here.alike(now):
                raise Refused("it changed since the plan was made")
            self.place.move(step.origin or "", step.path, now)
        self._set_bits(step.path, was, now)

    def _set_bits(self, path: str, was: Held, now: Held) -> None:
        """Who may use it, as it was then; its content stays."""
        if was.bits is not None and not self.place.look(path).held.alike(was):
            self.place.set_bits(path, was.bits, now)

    def _note(self, step: Step) -> None:
        """The versions say at once that this was the rewind's hand, before the watcher asks."""
        for path in filter(None, (step.path, step.origin)):
            found = self.place.look(path)
            with self.versions.db.transaction():
                for root, below in self.names(path):
                    keep(self.versions, root, below, found, self.now())
                    self.versions.mark_told(root, below, self.session, seq=self.seq, hand=rewinding.REWIND)

    def _note_folders(self, folders: Iterable[str], *, came: bool) -> None:
        """The same for folders."""
        seen = FolderSeen(self.now(), came, rewinding.REWIND, self.session, self.seq)
        for folder in folders:
            for root, below in self.names(folder):
                FoldersSeen(self.versions).note(root, below, seen)

    def _tidy(self, made: Sequence[Done]) -> list[str]:
        """Folders that only this run emptied, and that may go, go with the files."""
        left = [one.step.origin or one.step.path for one in made if one.left is None]
        folders = {os.path.dirname(path) for path in left}
        gone = []
        while folders:
            above = set()
            for folder in folders:
                if folder in self.goes and self.place.remove_empty(folder):
                    gone.append(folder)
                    above.add(os.path.dirname(folder))
            folders = above
        return gone


def keep(versions: Versions, root: str, path: str, found: Look, at: int) -> None:
    """Keep what a look found. In a transaction."""
    versions.keep_within(root, path, at, content_of(found), mark_of(found.held), found.held.bits)


def content_of(found: Look) -> bytes | str:
    """What versions keep of a look: its bytes, or the reason for none."""
    if found.held.absent:
        return ABSENT
    return found.data if found.data is not None else found.held.reason or "not readable"


def mark_of(held: Held) -> str:
    """The mark that the watcher would give it, so that it is not read again."""
    return "" if held.identity is None else f"{held.identity}:{held.mode}"


def _ours(found: bytes, data: bytes | None, now: Held) -> bool:
    """Whether what an interrupted run left is a content that we had written or have kept."""
    return digest_of(found) == now.digest or (data is not None and data.startswith(found))
