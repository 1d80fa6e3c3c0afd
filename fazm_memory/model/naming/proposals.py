"""What a new file would become under the conventions of a session, or why nobody can know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fazm_memory.model.counting import plural
from fazm_memory.model.naming.convention import Convention
from fazm_memory.model.naming.outcome import ALREADY, Outcome, Surroundings, apply, fold_case
from fazm_memory.model.naming.parts import LONGEST, Subject, subject


@dataclass(frozen=True)
class Proposal:
    """What a file would become; `becomes` is None when that is not known, and `because` says why."""

    name: str
    becomes: str | None
    because: str
    alternatives: tuple[str, ...] = ()


def _concerned(conventions: Sequence[Convention], folder: str) -> list[Convention]:
    """Those of the file's own folder, else of one above it, else all: yesterday's ways in a new folder."""
    own = [c for c in conventions if c.folder == folder]
    above = [c for c in conventions if folder.startswith(c.folder.rstrip("/") + "/")]
    return own or above or list(conventions)


def _placed(path: str, folder: str, convention: Convention) -> str:
    """A path of an outcome in the terms the file was asked about."""
    if convention.program.base == "path" or not folder:
        return path
    return f"{folder.rstrip('/')}/{path}"


def propose(
    conventions: Sequence[Convention], name: str, *, mtime: str | None = None, taken: Collection[str] = ()
) -> Proposal:
    """What a new file would become, or why that is not known.

    A bare name is answered relative to the convention's folder, a path with a path. A name in `taken` (bare
    names or paths) is never proposed: counters pass over it, anything else is declined and says so.
    """
    asked = subject(name, mtime)
    if not conventions:
        return Proposal(name, None, "no naming convention was learned")
    if not asked.basename or len(asked.basename) > LONGEST:
        return Proposal(name, None, "this is not the name of a file")
    used = {fold_case(path) for path in taken} - {fold_case(name)}
    here = fold_case(asked.folder).rstrip("/") + "/"
    near = used | {path.removeprefix(here) for path in used}
    found: list[tuple[Convention, str]] = []
    unsure: list[tuple[str, tuple[str, ...]]] = []
    silent: list[tuple[Convention, Outcome]] = []
    for convention in _concerned(conventions, asked.folder):
        file = asked if asked.folder or convention.across else replace(asked, folder=convention.folder)
        around = Surroundings(dict(convention.counted), near)
        outcome = apply(convention.program, convention.guard, file, around)
        if outcome.path is not None:
            found.append((convention, _placed(outcome.path, asked.folder, convention)))
        elif outcome.alternatives:
            others = tuple(_placed(path, asked.folder, convention) for path in outcome.alternatives)
            unsure.append((outcome.because, others))
        else:
            silent.append((convention, outcome))
    paths = dict.fromkeys(path for _, path in found)
    if len(paths) > 1 or (paths and unsure):
        paths |= dict.fromkeys(path for _, others in unsure for path in others)
        return Proposal(name, None, "more than one convention fits this name", tuple(paths))
    if unsure:
        return Proposal(name, None, *unsure[0])
    if not found:
        return Proposal(name, None, _reason(silent, asked))
    convention, path = found[0]
    if not near.isdisjoint((fold_case(path), fold_case(path).removeprefix(here))):
        return Proposal(name, None, f"it would become {path}, but that name is taken", (path,))
    return Proposal(name, path, _grounds(convention))


def _grounds(convention: Convention) -> str:
    into = f"{convention.destination}/" if convention.destination else ""
    folder = convention.folder or "this folder"
    return f"{into}{convention.pattern}, as {plural(convention.support, 'file')} in {folder}"


def _reason(silent: Sequence[tuple[Convention, Outcome]], asked: Subject) -> str:
    """The reason of the convention that came nearest: the same extension, then the most examples."""
    if any(outcome.because == ALREADY for _, outcome in silent):
        return ALREADY
    extension = asked.extension.lower()
    nearest = max(silent, key=lambda pair: (extension in pair[0].guard.exts, pair[0].support))
    return nearest[1].because


def propose_all(
    conventions: Sequence[Convention],
    names: Sequence[str],
    *,
    mtimes: Mapping[str, str] | None = None,
    taken: Collection[str] = (),
) -> list[Proposal]:
    """Proposals for several files in order: what one takes, the next no longer gets, and counters go on."""
    used = set(taken)
    proposals = []
    for name in names:
        proposal = propose(conventions, name, mtime=(mtimes or {}).get(name), taken=used)
        proposals.append(proposal)
        used |= {proposal.becomes} if proposal.becomes else set()
    return proposals
