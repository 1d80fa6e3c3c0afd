"""A folder of its own for a parallel session.

Copies the workspace, and plans the way back. The copy costs almost nothing where the file system can clone
(APFS, Btrfs, XFS). Elsewhere a git repository gets a worktree, and any other folder is copied file by file.
The plan to merge back compares three states of each file: when the copy was made, in the copy now, and in
the workspace now.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fazm_memory.errors import InvalidRequest, StoreFull
from fazm_memory.paths import inside, open_regular, unsafe_path_reason
from fazm_memory.records import dataclass, replace
from fazm_memory.rewind.plan import (
    ABSENT,
    NO_SNAPSHOT,
    FileContent,
    PointInTime,
    RewindPlan,
    RewindStep,
    StepAction,
    WorkspacePaths,
    version_content,
    version_histories,
)
from fazm_memory.rewind.restore import store_version
from fazm_memory.rewind.safe_directory import SPARE, SafeDirectory, WriteRefused
from fazm_memory.store import FileVersion, FileVersions
from fazm_memory.text import format_size
from fazm_memory.watch import IgnoreRules, scan

# Copy a workspace, as it was at a position, into a new folder
#
# Files come from the stored versions, or from the workspace if nobody has changed them since, whatever
# their size. Git's own folder, ignored files and links are left out: two branches would share them.

LINK = "it is a link, which the two folders would share"
CLAIMED = "the agent says that it created it since"
BATCH = 64  # files that are stored in one transaction
LeftOut = Callable[[str], str | None]  # a path below the workspace → why it is left out, if so


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A file of a manifest: its content and where to get it, or why it is missing."""

    path: str
    content: FileContent
    kept: bool = False  # in the stored versions
    here: bool = False  # in the workspace, unchanged
    missing: str | None = None


def manifest(
    directory: SafeDirectory,
    versions: FileVersions,
    paths: WorkspacePaths,
    point: PointInTime,
    never: str,
    left_out: LeftOut,
    changed: Mapping[str, bool | None],
    recorded: Collection[str] = (),
) -> Iterator[ManifestEntry]:
    """Every known file of the workspace at a point in time.

    Each entry says where its content comes from. Files that are left out are named but not read. `changed`
    has the files that the log says changed since, and whether they were created then (None: only the agent
    says so). Modification times cannot tell that, because a rename keeps them. `recorded` has those that
    the session had left there.
    """
    present = dict(scan(directory.root, IgnoreRules(directory.root, [never])).files())
    known: dict[str, None] = {}
    for root in paths.roots:
        for row in versions.history(root):
            path = paths.ours(root, row.path)
            if path is not None and unsafe_path_reason(path) is None:
                known[path] = None
    named = sorted({*known, *present, *changed, *recorded})
    for path, rows in version_histories(versions, paths, named).items():
        then = [row for row in rows if point.has(row)]
        if (why := left_out(path)) is not None:
            if path in present or (then and not then[-1].absent):
                yield ManifestEntry(path, FileContent(reason=why), missing=why)
        elif then:
            if not then[-1].absent:
                yield _entry(directory, versions, path, then[-1])
        elif path in present and not rows:
            created = changed.get(path, False)
            if created is None:
                yield ManifestEntry(path, _look(directory, path), missing=CLAIMED)
            elif not created:
                yield _unread(directory, path, point)
        elif rows or not (path in recorded or changed.get(path, True) is False):
            continue
        elif _look(directory, path).absent:  # deleted since, or never on this machine
            yield ManifestEntry(path, FileContent(reason=NO_SNAPSHOT), missing=NO_SNAPSHOT)


def manifest_counts(entries: Sequence[ManifestEntry]) -> dict[str, int]:
    return {
        "files": len(entries),
        "from_versions": sum(entry.kept for entry in entries),
        "from_workspace": sum(entry.here for entry in entries),
        "missing": sum(entry.missing is not None for entry in entries),
    }


def manifest_digest(entries: Sequence[ManifestEntry]) -> str:
    """The digest of a manifest.

    Two folders with one digest began with the same files.
    """
    digest = hashlib.sha256()
    for entry in sorted(entries, key=lambda entry: entry.path):
        line = f"{entry.path}\0{entry.content.digest or entry.content.size}\0"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def entry_json(entry: ManifestEntry) -> dict[str, Any]:
    row: dict[str, Any] = {"path": entry.path, "digest": entry.content.digest, "bytes": entry.content.size}
    if entry.missing is not None:
        return row | {"where": None, "why": entry.missing}
    return row | {"where": "versions" if entry.kept else "workspace"}


def _entry(directory: SafeDirectory, versions: FileVersions, path: str, row: FileVersion) -> ManifestEntry:
    was = version_content(row) or ABSENT
    if row.digest is None and (row.reason or "").startswith("a link to "):
        return ManifestEntry(path, was, missing=LINK)
    if row.digest is not None and versions.has(row.digest):
        return ManifestEntry(path, was, kept=True)
    if _look(directory, path).same(was):
        return ManifestEntry(path, was, here=True)
    return ManifestEntry(path, was, missing=row.reason or "the stored copy was removed to make room")


def _unread(directory: SafeDirectory, path: str, point: PointInTime) -> ManifestEntry:
    """A file without versions. It is unchanged if it is older than the point in time."""
    now = _look(directory, path)
    if now.reason == "it is a link":
        return ManifestEntry(path, now, missing=LINK)
    if now.mtime_ns is not None and now.mtime_ns // 1000 < point.moment:
        return ManifestEntry(path, now, here=True)
    return ManifestEntry(path, now, missing=NO_SNAPSHOT)


def _look(directory: SafeDirectory, path: str) -> FileContent:
    try:
        return directory.look(path).held
    except (WriteRefused, OSError) as error:
        return FileContent(reason=str(error))


def write_manifest(
    entries: list[ManifestEntry],
    source: SafeDirectory,
    target: SafeDirectory,
    versions: FileVersions,
    root: str | None,
    at: int,
) -> list[ManifestEntry]:
    """Write a manifest into an empty folder.

    With `root`, also store the files as its first versions. Returns the manifest as it was written: a file
    that could not be copied says why.
    """
    written = []
    for number, entry in enumerate(entries):
        result = entry
        if entry.missing is None:
            try:
                _copy(entry, source, target, versions, f"{SPARE}-{os.getpid()}-{number}")
            except (WriteRefused, OSError) as error:
                result = ManifestEntry(entry.path, entry.content, missing=str(error))
        written.append(result)
    if root is None:
        return written
    paths = [entry.path for entry in written if entry.missing is None]
    for first in range(0, len(paths), BATCH):
        with versions.db.transaction():
            for path in paths[first : first + BATCH]:
                store_version(versions, root, path, target.look(path), at)
    return written


def _copy(
    entry: ManifestEntry, source: SafeDirectory, target: SafeDirectory, versions: FileVersions, spare: str
) -> None:
    content = entry.content
    data = versions.read(content.digest) if entry.kept and content.digest is not None else None
    if data is None:
        source.copy_out(entry.path, target, spare, content.bits)
        return
    if content.bits is None:  # the present permissions are the best guess
        content = replace(content, mode=_look(source, entry.path).mode)
    target.put(entry.path, data, content, ABSENT, spare)


# A folder of its own

CLONE = ["cp", "-cRp"] if sys.platform == "darwin" else ["cp", "-a", "--reflink=auto"]
ONLY_CLONE = ["cp", "-c"] if sys.platform == "darwin" else ["cp", "--reflink=always"]
# Neither the hooks nor the monitor of a repository run for our own git calls.
GIT = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
SPARE_ROOM = 256 << 20  # bytes of the disk that a copy leaves free; a tenth of a small disk
TIMEOUT = 600  # seconds for one call of cp or git
DETACHED = "HEAD"  # the name of commits that are on no branch; no branch has it


def copy_workspace(source: str, target: str, excluded: Collection[str] = ()) -> str:
    """Copy a folder to a path that does not exist yet.

    Returns how it was copied: "clone", "worktree" or "copy". Excluded folders are left out. If the copy
    fails, nothing of it stays.
    """
    left_out = [folder for folder in excluded if inside(folder, source)]
    git = os.path.join(source, ".git")
    # The `.git` file of a worktree names its repository. A copy with it would share the original's index.
    linked = os.path.isfile(git)
    try:
        if not left_out and not linked and _can_clone(source, os.path.dirname(target)):
            _run([*CLONE, source, target])
            return "clone"
        if not left_out and _is_repository(source) and _has_commit(source):
            _run([*GIT, "-C", source, "worktree", "add", "--quiet", "--detach", target])
            _copy_uncommitted(source, target)
            return "worktree"
        _check_room(source, os.path.dirname(target))
        left_out += [git] if linked else []
        shutil.copytree(source, target, symlinks=True, ignore=_leaving_out(left_out))
        return "copy"
    except BaseException:
        remove_copy(target)
        raise


def remove_copy(target: str) -> None:
    """Remove a copy. Commits that were made in a worktree stay in its repository."""
    repository = _worktree_repository(target)
    if os.path.lexists(target):
        shutil.rmtree(target)
    if repository is not None:
        _run([*GIT, "--git-dir", repository, "worktree", "prune"])


class NewCommits(NamedTuple):
    """A branch of a copy with commits that no branch of its workspace has."""

    branch: str
    head: str
    number: int


def new_commits(own: str, origin: str) -> list[NewCommits]:
    """The commits of a copied repository that its workspace lacks."""
    if not (_is_repository(own) and _is_repository(origin)):
        return []
    heads = _git(own, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads")
    tips = [(branch, head) for head, _, branch in (line.partition(" ") for line in heads)]
    if not _git(own, "branch", "--show-current"):
        tips.append((DETACHED, _git(own, "rev-parse", "HEAD")[0]))
    # Without the other worktrees: the HEAD of a removed one is not kept.
    known = _git(origin, "rev-list", "--no-walk", "--single-worktree", "--all")
    counts = [(branch, head, _count(own, head, known)) for branch, head in tips]
    return [NewCommits(*one) for one in counts if one[2]]


def _count(own: str, head: str, known: Iterable[str]) -> int:
    """The number of commits that lead to one and not to others.

    Those that are not here are ignored.
    """
    wanted = "".join([f"{head}\n", *(f"^{one}\n" for one in known)])
    return int(_git(own, "rev-list", "--count", "--ignore-missing", "--stdin", text=wanted)[0])


def fetch_commits(own: str, origin: str, name: str) -> list[NewCommits]:
    """Bring new commits of a copy to the repository of its workspace.

    They arrive as remote branches `name/BRANCH`. No branch, tag or file of the workspace changes.
    """
    found = new_commits(own, origin)
    if found:
        names = [f"+{one.head}:refs/remotes/{name}/{one.branch}" for one in found]
        only = ["--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"]
        # Version 2 of git's protocol can be asked for any commit, also for one on no branch.
        _git(origin, "-c", "protocol.version=2", "fetch", "--quiet", *only, own, *names)
    return found


def _git(folder: str, *words: str, text: str | None = None) -> list[str]:
    """Run git in a folder, and return the lines of its output."""
    return _run([*GIT, "-C", folder, *words], f"Git could not read {folder}", text).splitlines()


def _worktree_repository(target: str) -> str | None:
    """The repository of a worktree.

    The worktree's `.git` is a file that names `…/.git/worktrees/NAME`.
    """
    try:
        with open_regular(os.path.join(target, ".git")) as file:
            line = file.read(4096).decode().strip()
    except (OSError, UnicodeDecodeError):
        return None
    folder, name = os.path.split(os.path.dirname(line.removeprefix("gitdir: ")))
    return folder if line.startswith("gitdir: ") and name == "worktrees" else None


def files_of(folder: str) -> list[str]:
    """The files of a folder, without ignored ones and git's own."""
    return sorted(path for path, _ in scan(folder, IgnoreRules(folder)).files())


def merge_plan(own: SafeDirectory, origin: SafeDirectory, base: Mapping[str, FileVersion]) -> RewindPlan:
    """The steps that bring the changes of a copy to the workspace it was made of.

    `base` has the files of the copy as they were when it was made. A file that changed in both is refused.
    """
    steps = []
    for path in sorted({*base, *files_of(own.root)}):
        if unsafe_path_reason(path) is not None:
            continue  # a watcher may have stored the `.git` file of a worktree
        was = version_content(base.get(path)) or ABSENT
        mine = own.look(path).held
        if mine.alike(was):
            continue
        theirs, barred = origin.current_content(path)
        if not theirs.alike(mine):
            steps.append(_step(path, was, mine, theirs, barred))
    return RewindPlan(tuple(steps))


def _step(
    path: str, was: FileContent, mine: FileContent, theirs: FileContent, barred: str | None
) -> RewindStep:
    unreadable = next((content.reason for content in (mine, theirs) if _is_unknown(content)), None)
    if barred is not None or unreadable is not None:
        return RewindStep(path, "cannot", barred or unreadable or "", "agent", None, mine, theirs)
    action: StepAction = "delete" if mine.absent else "recreate" if theirs.absent else "restore"
    done = {"delete": "deleted", "recreate": "created", "restore": "changed"}[action]
    step = RewindStep(path, action, f"{done} in the session's own folder", "agent", None, mine, theirs)
    if theirs.same(was):
        return step
    why = "it changed in both folders; a copy of it is stored if you insist"
    return replace(step, action="refuse", would=action, why=why, by="unknown")


def _is_unknown(content: FileContent) -> bool:
    return not content.absent and content.digest is None


def _can_clone(source: str, parent: str) -> bool:
    """Whether the file system can clone between two folders.

    Tried with an empty file.
    """
    if os.stat(source).st_dev != os.stat(parent).st_dev:
        return False
    with tempfile.TemporaryDirectory(dir=parent, prefix=".fazm-memory-") as folder:
        probe = os.path.join(folder, "probe")
        with open(probe, "wb") as file:
            file.write(b"clone me")
        tried = subprocess.run(
            [*ONLY_CLONE, probe, f"{probe}-2"], capture_output=True, timeout=TIMEOUT, check=False
        )
        return tried.returncode == 0


def _is_repository(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, ".git")) and git_runs()


def git_runs(platform: str = sys.platform) -> bool:
    """Whether git is installed.

    On a Mac without Apple's developer tools, /usr/bin/git only shows a dialog that offers to install them.
    """
    found = shutil.which("git")
    if platform != "darwin" or found != "/usr/bin/git":
        return found is not None
    tried = subprocess.run(["/usr/bin/xcode-select", "-p"], capture_output=True, timeout=TIMEOUT, check=False)
    return tried.returncode == 0


def _has_commit(source: str) -> bool:
    tried = subprocess.run(
        [*GIT, "-C", source, "rev-parse", "--quiet", "--verify", "HEAD"],
        capture_output=True, timeout=TIMEOUT, check=False, env=_environment(),
    )  # fmt: skip
    return tried.returncode == 0


def _copy_uncommitted(source: str, target: str) -> None:
    """Bring a worktree to what the repository's own folder holds.

    That includes what is not committed.
    """
    there = set(files_of(source))
    for path in set(files_of(target)) - there:
        os.unlink(os.path.join(target, path))
    for path in there:
        one, other = os.path.join(source, path), os.path.join(target, path)
        if not _same_file(one, other):
            os.makedirs(os.path.dirname(other), exist_ok=True)
            if os.path.lexists(other):
                os.unlink(other)
            shutil.copy2(one, other, follow_symlinks=False)


def _same_file(one: str, other: str) -> bool:
    try:
        if os.path.islink(one) or os.path.islink(other):
            return os.readlink(one) == os.readlink(other)
        if os.stat(one).st_mode != os.stat(other).st_mode:
            return False
        with open_regular(one) as first, open_regular(other) as second:
            while (chunk := first.read(1 << 20)) == second.read(1 << 20):
                if not chunk:
                    return True
    except OSError:
        return False
    return False


def _check_room(source: str, parent: str) -> None:
    size = sum(
        os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(source) for name in names
    )
    disk = shutil.disk_usage(parent)
    spare = min(SPARE_ROOM, disk.total // 10)
    if size + spare > disk.free:
        raise StoreFull(
            f"A copy of {source} needs {format_size(size)}, and {format_size(spare)} must stay free."
            f" The disk has {format_size(disk.free)}. Nothing was copied.",
            hint="Free some space, or open the session in the folder itself.",
        )


def _leaving_out(excluded: Collection[str]) -> Callable[[str, list[str]], list[str]]:
    def ignore(folder: str, names: list[str]) -> list[str]:
        # Special files, such as a FIFO, cannot be copied.
        return [
            name
            for name in names
            if os.path.join(folder, name) in excluded or not _is_copied(os.path.join(folder, name))
        ]

    return ignore


def _is_copied(path: str) -> bool:
    return os.path.islink(path) or os.path.isfile(path) or os.path.isdir(path)


def _run(command: list[str], failure: str = "The folder could not be copied", text: str | None = None) -> str:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=_environment()
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"])[-1]
        raise InvalidRequest(f"{failure}: {last}. Nothing was changed.")
    return done.stdout


def _environment() -> dict[str, str]:
    """The environment without git's variables.

    A hook sets them, and they name the hook's repository.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
