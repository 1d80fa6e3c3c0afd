"""Changed files of a repository that are not committed, as far as the evidence goes.

A change is uncommitted when it is made. What happens to it later is often done elsewhere: the user commits in
another terminal, another session cleans up. So every entry has a time up to which it is known (`as_of`), and
git's own words decide: a listing of `git status` or `git diff` confirms what it names and settles the rest,
a commit that nobody here made, a branch that changed by itself or the user's "I committed it" settles all.

`uncommitted_files` leaves out what only may be uncommitted. `still_uncommitted` also uses what later sessions
in the same folder saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from fazm_memory.clock import to_micros
from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.session.commands import git_verb, parts_of

if TYPE_CHECKING:
    from fazm_memory.session.commands import ShellCall
    from fazm_memory.session.state import FileEntry, SessionState, StateBuilder

ALL = "*"  # in `staged` and `settled`: everything
UNKNOWN_HEAD = "?"  # in `heads`: a commit was made here, and its hash was not printed
FILES = 20  # files listed with a commit
LISTED = 100  # files of a listing; a longer one is not stored
WHOLE = 12_000  # characters; a longer output may have been cut
EVERYTHING = frozenset({"-A", "--all", ".", "-u", "--update", "*", ":/"})
CLEAN = "working tree clean"
LONG_STATUS = lazy_regex(
    r"^\t(?:(?:modified|new file|deleted|renamed|copied|typechange|both \w+|\w+ by (?:us|them)):\s+)?(\S.*)$",
    re.M,
)
SHORT_STATUS = lazy_regex(r"^(?:[MADRCUT][ MADRCUT]| [MADRCUT]|\?\?) (\S.*)$", re.M)
STATISTICS = lazy_regex(r"^ (\S.*?) +\| +(?:\d+|Bin)\b", re.M)
MOVED = lazy_regex(r"\{[^{}]*? => ([^{}]*)\}")
DIFFED = lazy_regex(r"^diff --git a/\S+ b/(\S+)$", re.M)
NAME_LINE = lazy_regex(r"^(?:[AMDT]\t)?([\w.@+-][^\s:]*)$", re.M)
LOGGED = lazy_regex(r"^(?:[*|\\/ ]*)(?:commit )?([0-9a-f]{7,40})\b", re.M)
LOGGED_AT = lazy_regex(r"^Date: +\w{3} (\w{3} +\d+ [\d:]{8} \d{4} [+-]\d{4})$", re.M)
USER_COMMITTED = lazy_regex(
    r"\b(?:i|we)(?:'ve| have)? (?:just |already |now |also )?"
    r"(?:commit+ed|pushed|merged|rebased|stashed|reverted)\b"
    r"|^(?:ok,? |done,? )?(?:it'?s |all )?(?:commit+ed|pushed|merged)\b"
    r"|\bi (?:made|did) (?:\w+ ){0,3}commits?\b"
    r"|^\[[^\]\n]{1,80} [0-9a-f]{7,40}\] ",
    re.I | re.M,
)


# -- changes ---------------------------------------------------------------------------------------------


def note_change(
    b: StateBuilder, event: Event, path: str, change: str, origin: str | None, before: FileEntry | None
) -> None:
    """Count a changed file of the workspace as uncommitted. `before` is what was known of it."""
    pending = b.uncommitted.pop(origin, None) if origin is not None else None
    if not b.workspace or not path.startswith(f"{b.workspace}/") or "/.git/" in path:
        return
    if change == "deleted":
        inside = [name for name in b.uncommitted if name.startswith(f"{path}/")]
        for name in inside:
            del b.uncommitted[name]
        new = before is not None and (before.was or before.change) == "created" and path in b.uncommitted
        if new or inside:  # created and deleted since the last commit, or a folder: nothing is left of it
            b.uncommitted.pop(path, None)
            return
    b.put("uncommitted", path, {
        "seq": event.seq, "at": event.at, "as_of": event.at, "turn": event.turn,
        "moved": pending is not None or origin is not None, "seen": False,
    })  # fmt: skip


def staged_names(words: list[str]) -> list[str]:
    """What `git add` was asked to add."""
    return [ALL if word in EVERYTHING else word for word in words if word in EVERYTHING or word[:1] != "-"]


def take_committed(b: StateBuilder, event: Event, rest: list[str]) -> list[str]:
    """Settle the files of a commit. Returns them, the latest first."""
    everything = any(word in ("--all", "-a") or re.fullmatch(r"-[a-z]*a[a-z]*", word) for word in rest)
    named = rest[rest.index("--") + 1 :] if "--" in rest else []
    names = named or ([] if everything or ALL in b.staged else b.staged)
    taken = [path for path in b.uncommitted if not names or any(is_named(path, name) for name in names)]
    settle(b, event, names or [ALL])
    b.staged = []
    return taken[::-1][:FILES]


def settle(b: StateBuilder, event: Event, names: Iterable[str]) -> None:
    """Note that these files have no uncommitted change now, or that this is not known."""
    for name in names:
        for path in [path for path in b.uncommitted if name in (ALL, ".") or is_named(path, name)]:
            del b.uncommitted[path]
        b.put("settled", ALL if name == "." else name, event.at)


def is_named(path: str, name: str) -> bool:
    """Whether an argument of git names this file or a folder around it."""
    name = name.removeprefix("./").rstrip("/")
    while name.startswith("../"):
        name = name[3:]
    if any(sign in name for sign in "*?["):
        return fnmatch(path, f"*/{name}")
    return path == name or path.endswith(f"/{name}") or f"/{name.lstrip('/')}/" in path


def discarded_names(command: str) -> list[str]:
    """What a command takes back to the last commit: names of files and folders, or `*`."""
    found: list[str] = []
    stashed = False
    for words in parts_of(command):
        verb, rest = git_verb(words) if words[0] == "git" else ("", [])
        named = rest[rest.index("--") + 1 :] if "--" in rest else [word for word in rest if word[:1] != "-"]
        files = "--" in rest or any("." in word or word.endswith("/") for word in named)
        unstages = "--staged" in rest and "--worktree" not in rest
        if (verb == "restore" and not unstages) or (verb == "checkout" and files):
            found += named
        elif verb == "reset" and "--hard" in rest:
            found.append(ALL)
        elif verb == "stash":
            stashed = named[:1] in ([], ["push"], ["save"])
    return ["*" if name == "." else name for name in found] + ([ALL] if stashed else [])


# -- what git says ---------------------------------------------------------------------------------------


def read_status(b: StateBuilder, event: Event, call: ShellCall, rest: list[str], output: str) -> None:
    """Take a listing of `git status`: it confirms what it names and settles the rest."""
    short = any(word.startswith(("-s", "--short", "--porcelain")) for word in rest)
    if CLEAN in output or (short and not output.strip()):
        settle(b, event, [ALL])
        b.listing = {"at": event.at, "names": []}
        return
    names = [_present_name(name) for name in (SHORT_STATUS if short else LONG_STATUS).findall(output)]
    whole = "|" not in call.command and len(output) < WHOLE
    known = short or "On branch " in output or "HEAD detached" in output
    limited = any(word[:1] != "-" for word in rest) or any(
        "untracked" in word or "-uno" in word for word in rest
    )
    _take_listing(b, event, names, complete=whole and known and not limited)


def read_diff(b: StateBuilder, event: Event, call: ShellCall, rest: list[str], output: str) -> None:
    """Take the files of a `git diff` of the working tree. It does not show new files."""
    if any(word not in ("HEAD", "--") and word[:1] != "-" for word in rest):
        return
    options = {word.partition("=")[0] for word in rest}
    if options & {"--cached", "--staged"}:
        return
    if "--stat" in options:
        names = [MOVED.sub(r"\1", name) for name in STATISTICS.findall(output)]
    elif options & {"--name-only", "--name-status"} and len(call.parts) == 1:
        names = NAME_LINE.findall(output)
    else:
        names = DIFFED.findall(output)
    _confirm(b, event, [name.removeprefix(".../") for name in names])
    printed = len(call.parts) == 1 and "|" not in call.command and len(output) < WHOLE
    if not printed or b.staged or "--quiet" in options:
        return
    gone = [
        path for path in b.uncommitted
        if (entry := b.files_modified.get(path)) is not None and entry.change == "modified"
        and not any(_is_listed(path, name.removeprefix(".../")) for name in names)
    ]  # fmt: skip
    settle(b, event, gone)


def read_log(b: StateBuilder, event: Event, rest: list[str], output: str) -> None:
    """Notice a commit that was made elsewhere: in another terminal, most often by the user."""
    if any(word[:1] != "-" and not word.isdigit() and not word.endswith("HEAD") for word in rest):
        return
    if any(word.startswith(("-S", "-G", "--all", "--author", "--grep", "-L", "--branches")) for word in rest):
        return
    hashes = [found[:7] for found in LOGGED.findall(output)]
    if not hashes:
        return
    known, newest = set(b.heads), hashes[0]
    for found in reversed(hashes[:30]):
        b.put("heads", found, event.seq)
    if newest in known:
        return
    if UNKNOWN_HEAD in known:
        b.heads.pop(UNKNOWN_HEAD, None)
    elif known:
        settle(b, event, [ALL])
    elif (at := LOGGED_AT.search(output)) is not None and (made := _date(at[1])) is not None:
        settle(b, event, [path for path, entry in b.uncommitted.items() if entry["as_of"] < made])


def note_head(b: StateBuilder, event: Event, hashed: str = "") -> None:
    """Remember a commit that was made or checked out here."""
    b.put("heads", hashed[:7] or UNKNOWN_HEAD, event.seq)


def read_stash(b: StateBuilder, event: Event, rest: list[str], ok: bool) -> None:
    """Put uncommitted changes aside, or take them back."""
    verb = next((word for word in rest if word[:1] != "-"), "push")
    if verb in ("list", "show", "drop", "clear", "create", "store"):
        return
    if not ok:  # which step of the command failed is not known
        settle(b, event, [ALL])
        b.stashed = {}
    elif verb in ("pop", "apply"):
        for path, entry in b.stashed.items():
            b.put("uncommitted", path, entry | {"as_of": event.at})
            b.settled.pop(path, None)
        b.stashed = {} if verb == "pop" else b.stashed
        b.settled.pop(ALL, None)
    elif verb in ("push", "save"):
        names = rest[rest.index("--") + 1 :] if "--" in rest else [ALL]
        before = dict(b.uncommitted)
        settle(b, event, names)
        b.stashed |= {path: entry for path, entry in before.items() if path not in b.uncommitted}
        b.trim("stashed")


def read_words(b: StateBuilder, event: Event, text: str) -> None:
    """Believe the user who says that something was committed. What exactly is not known."""
    if b.uncommitted and len(text) < 4000 and USER_COMMITTED.search(text):
        settle(b, event, [ALL])


def _present_name(name: str) -> str:
    """The present name of a file in a listing, which may show a rename."""
    return name.rpartition(" -> ")[2].strip('"')


def _is_listed(path: str, name: str) -> bool:
    """Whether a listing names this file, or a new folder around it."""
    name = name.removeprefix("./")
    while name.startswith("../"):
        name = name[3:]
    return f"/{name}" in path if name.endswith("/") else path.endswith(f"/{name}")


def _take_listing(b: StateBuilder, event: Event, names: list[str], *, complete: bool) -> None:
    _confirm(b, event, names)
    if complete and names:
        for path in [path for path in b.uncommitted if not any(_is_listed(path, name) for name in names)]:
            del b.uncommitted[path]
        b.listing = {"at": event.at, "names": names} if len(names) <= LISTED else None


def _confirm(b: StateBuilder, event: Event, names: list[str]) -> None:
    """Note that git lists these changes of the session as uncommitted."""
    for path, changed in b.files_modified.items():
        if any(_is_listed(path, name) for name in names):
            known = b.uncommitted.get(path) or {
                "seq": changed.seq, "at": event.at, "turn": changed.turn or event.turn, "moved": False,
            }  # fmt: skip
            b.uncommitted[path] = known | {"as_of": event.at, "seen": True}
            b.settled.pop(path, None)
    b.trim("uncommitted")


def _date(text: str) -> int | None:
    try:
        return to_micros(datetime.strptime(text, "%b %d %H:%M:%S %Y %z"))
    except ValueError:
        return None


# -- what may be told ------------------------------------------------------------------------------------


def uncommitted_files(state: SessionState | StateBuilder) -> dict[str, dict[str, Any]]:
    """The files that are known to be uncommitted, each with the time up to which it is known (`as_of`).

    A change counts if git listed it since, if the session's agent makes the commits itself, or if it belongs
    to the last turn with changes. Of earlier turns it is not known: the user may have committed in between.
    """
    if not state.branch and not state.commits:
        return {}  # outside a repository nothing can be committed
    changes = {
        path: entry for path, entry in state.uncommitted.items()
        if path not in state.folders and entry.get("as_of")
    }  # fmt: skip
    last_turn = max((entry["turn"] for entry in changes.values()), default=0)
    committed = max((entry["seq"] for entry in state.commits.values()), default=None)
    return {
        path: entry for path, entry in changes.items()
        if entry["seen"] or entry["turn"] == last_turn or (committed is not None and entry["seq"] > committed)
    }  # fmt: skip


def still_uncommitted(state: SessionState, others: Iterable[SessionState]) -> dict[str, dict[str, Any]]:
    """`uncommitted_files` without those that other sessions in the same folder saw settled or changed later.

    Another branch in a later session also settles them: what became of the changes is not known.
    """
    files = uncommitted_files(state)
    for other in others:
        if not files:
            break
        if other.session == state.session or other.workspace != state.workspace or not state.workspace:
            continue
        later_branches = [
            row["at"]
            for row in other.branches.values()
            if row["name"] != state.branch and "session" not in row
        ]
        files = {
            path: entry for path, entry in files.items()
            if not _settled_in(other, path, entry["as_of"])
            and not any(at > entry["as_of"] for at in later_branches)
        }  # fmt: skip
    return files


def _settled_in(other: SessionState, path: str, as_of: int) -> bool:
    if any(at > as_of and (name == ALL or is_named(path, name)) for name, at in other.settled.items()):
        return True
    listing = other.listing
    if listing is not None and listing["at"] > as_of:
        return not any(_is_listed(path, name) for name in listing["names"])
    changed = other.uncommitted.get(path)
    return changed is not None and changed["as_of"] > as_of  # the later session tells it
