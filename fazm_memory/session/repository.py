"""What a session knows of its repository.

Branches, commits, pull requests, checks and uncommitted files. It comes from calls of git, gh and similar
tools with their output, and from the user's words. A command that worked in another folder, such as a
throw-away repository in /tmp, says nothing about the workspace.

A changed file is uncommitted when it is changed. What happens to it later is often done elsewhere: the user
commits in another terminal, another session cleans up. So every entry has a time up to which it is known
(`as_of`), and the words of git decide: a listing of `git status` or `git diff` confirms the files it names
and settles the others. A commit that was not made in this session, a branch that changed by itself, or the
user's "I committed it" settles all files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatch
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fazm_memory.clock import to_micros
from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.session.calls import (
    CheckRun,
    ShellCall,
    elsewhere,
    failed_checks,
    git_verb,
    output_text,
    parts_of,
)

if TYPE_CHECKING:
    from fazm_memory.events import Action
    from fazm_memory.session.state import FileEntry, SessionState, StateBuilder

NAME = 200  # characters of a name or subject
COMMITTED = lazy_regex(r"^\[([^\]\n]{1,200}?) ([0-9a-f]{7,40})\] (.*)$", re.M)
SWITCHED = lazy_regex(r"^Switched to (?:a new )?branch '([^'\n]+)'|^Already on '([^'\n]+)'", re.M)
MAKES_BRANCH = lazy_regex(r"-[a-zA-Z]*[bBcC]|--(?:create|orphan)")  # `-qb` too: then git prints nothing
PUSHED = lazy_regex(r"^\s*(?:[+*=]?\s*(?:\[[^\]\n]+\]|[0-9a-f]+\.{2,3}[0-9a-f]+))\s+(\S+) -> \S+", re.M)
PUSHED_PORCELAIN = lazy_regex(r"^[ +*=]\trefs/heads/(\S+?):refs/heads/\S+\t", re.M)
REFUSED = lazy_regex(r"^(?:error|fatal): ", re.M)
MESSAGE = lazy_regex(
    r"""(?:-[a-z]*m|--message)[= ]?\s*(?:"\$\(cat\s+<<-?\s*['"]?\w+['"]?\s*\n\s*(?P<here>[^\n]*)"""
    r"""|"(?P<double>(?:\\.|[^"\\\n])*)|'(?P<single>[^'\n]*)|(?P<bare>[^\s"']+))""",
)
HEREDOC_FILE = lazy_regex(r"-F\s*-\s*<<-?\s*['\"]?\w+['\"]?\s*\n\s*([^\n]*)")
BACK = lazy_regex(r"HEAD(?:~(\d*)|(\^+))$")
PULL = lazy_regex(r"https?://[^\s\"'<>]+?/(?:pull|pulls|merge_requests)/(\d+)")
ISSUE = lazy_regex(r"https?://[^\s\"'<>]+?/issues/(\d+)")
TITLE = lazy_regex(r"""(?:--title|-t)[= ]\s*(?:"((?:\\.|[^"\\])*)"|'([^']*)')""")
SHOWN_TITLE = lazy_regex(r'"title":"((?:\\.|[^"\\])*)"')
SHOWN_STATE = lazy_regex(r'"state":"(OPEN|CLOSED|MERGED)"')
VIEWED_TITLE = lazy_regex(r"title:\t([^\n]+)")
VIEWED_STATE = lazy_regex(r"^state:\t(OPEN|CLOSED|MERGED)$", re.M)
PULL_STATES = {"create": "open", "merge": "merged", "close": "closed", "reopen": "open"}
PULL_VERBS = frozenset(
    {*PULL_STATES, "view", "diff", "checkout", "review", "comment", "edit", "ready", "checks"}
)


def read_call(b: StateBuilder, event: Event, p: Action, call: ShellCall) -> None:
    """Take repository facts from a shell call that was not refused."""
    outside = False
    listings: list[list[str]] = []  # read last: they show what the rest of the command left
    for words in call.parts:
        program = words[0]
        if program == "cd":
            target = words[1] if len(words) > 1 else "~"
            outside = elsewhere(target, b.workspace) or (outside and not target.startswith("/"))
        elif outside:
            continue
        elif program == "git":
            if git_verb(words)[0] in LISTINGS:
                listings.append(words)
            else:
                outside = _git(b, event, p, call.command, words)
        elif program == "gh" and len(words) > 2:
            _gh(b, event, p, call.command, words)
        elif program in OTHER_TOOLS and p.outcome == "ok" and words[1:2] and words[1] not in LOOKS:
            settle(b, event, [ALL])
    for words in listings if p.outcome == "ok" else ():
        verb, rest = git_verb(words)
        if not _in_other_folder(b, words):
            read = read_status if verb == "status" else read_diff
            read(b, event, call, rest, output_text(p.output))
    if call.check_outcome is not None and not outside:
        for check in _reported_checks(call, output_text(p.output) or p.error or ""):
            b.put("checks", check.command, {
                "command": check.command, "kind": check.kind, "outcome": call.check_outcome,
                "seq": event.seq, "at": event.at,
            })  # fmt: skip


def _reported_checks(call: ShellCall, printed: str) -> tuple[CheckRun, ...]:
    """The runs whose outcome is known.

    All if they succeeded, else the first that may have failed.
    """
    return call.checks if call.check_outcome == "ok" else failed_checks(call.checks, printed)[:1]


# -- git -------------------------------------------------------------------------------------------------


LISTINGS = frozenset({"status", "diff"})
OTHER_TOOLS = frozenset({"gt", "jj", "sl"})  # they commit too, each in its own way
LOOKS = frozenset(
    {"log", "ls", "ll", "status", "st", "diff", "show", "info", "help", "--version", "bookmark"}
)


def _in_other_folder(b: StateBuilder, words: list[str]) -> bool:
    """Whether `git -C` names a folder outside the workspace."""
    return "-C" in words[:-1] and elsewhere(words[words.index("-C") + 1], b.workspace)


def _git(b: StateBuilder, event: Event, p: Action, command: str, words: list[str]) -> bool:
    """One git command. Returns whether what follows is in another repository."""
    if _in_other_folder(b, words):
        return False
    verb, rest = git_verb(words)
    if verb in ("init", "clone"):
        return True
    if verb == "add":
        b.staged = [*b.staged, *staged_names(rest)][-50:]
    elif verb == "commit" and "--dry-run" not in rest:
        _commit(b, event, p, command, rest)
    elif verb == "stash":
        read_stash(b, event, rest, p.outcome == "ok")
    elif verb in JOINS:
        _join(b, event, rest, p.outcome == "ok", verb)
    elif p.outcome != "ok":
        return False
    elif verb == "push" and "--dry-run" not in rest and "-n" not in rest:
        _push(b, output_text(p.output))
    elif verb == "log":
        read_log(b, event, rest, output_text(p.output))
    elif verb in MOVES:
        MOVES[verb](b, event, output_text(p.output), rest)
    return False


def _commit(b: StateBuilder, event: Event, p: Action, command: str, rest: list[str]) -> None:
    output = output_text(p.output)
    found = COMMITTED.findall(output)
    if not found and (p.outcome != "ok" or "nothing to commit" in output or "no changes added" in output):
        return
    if f"@{event.seq}" in b.commits or (found and found[-1][1] in b.commits):
        return  # the output of a chain of commits was read with the first of them
    amended = _last_commit(b) if "--amend" in rest else None
    if amended is not None:
        del b.commits[amended]
    files = take_committed(b, event, rest)
    for where, hashed, subject in found or [("", "", _subject(command))]:
        note_head(b, event, hashed)
        branch = None if "detached" in where else where.split(" ", 1)[0] or None
        if branch is not None:
            set_branch(b, event, branch)
        b.put("commits", hashed or f"@{event.seq}", {
            "hash": hashed or None, "subject": subject[:NAME], "branch": branch or b.branch,
            "pushed": False, "files": files, "seq": event.seq, "at": event.at,
        })  # fmt: skip


def _last_commit(b: StateBuilder) -> str | None:
    """The key of the latest commit on the current branch."""
    return next((key for key in reversed(b.commits) if b.commits[key]["branch"] == b.branch), None)


def _subject(command: str) -> str:
    """The first line of the message in a command."""
    match = MESSAGE.search(command) or HEREDOC_FILE.search(command)
    text = next((part for part in match.groups() if part), "") if match is not None else ""
    return text.replace('\\"', '"').replace("\\n", " ").strip()


def _push(b: StateBuilder, output: str) -> None:
    if "[rejected]" in output or "[remote rejected]" in output or REFUSED.search(output):
        return
    pushed = {b.branch if name == "HEAD" else name for name in PUSHED.findall(output)}
    pushed |= set(PUSHED_PORCELAIN.findall(output))
    if not pushed and "[deleted]" not in output:  # quiet, or everything was there
        pushed = {b.branch}
    for key, entry in b.commits.items():
        if not entry["pushed"] and entry["branch"] in pushed:
            b.commits[key] = entry | {"pushed": True}


JOINS = frozenset({"merge", "rebase", "pull", "cherry-pick", "revert", "am"})
NEEDS_CLEAN_TREE = ("rebase", "am")


def _join(b: StateBuilder, event: Event, rest: list[str], ok: bool, verb: str) -> None:
    """A merge, rebase or the like, which makes commits of its own."""
    if "--continue" in rest or "--skip" in rest:  # commits what was added, even if it then stops again
        take_committed(b, event, [] if b.staged else ["--all"])
    elif "--abort" in rest or "--quit" in rest or not ok:
        settle(b, event, [ALL] if verb != "merge" or ok else ())
    elif "--autostash" not in rest and (verb in NEEDS_CLEAN_TREE or "--rebase" in rest):
        settle(b, event, [ALL])
    note_head(b, event)


def _checkout(b: StateBuilder, event: Event, output: str, rest: list[str]) -> None:
    match = SWITCHED.search(output)
    names = [word for word in rest if word[:1] != "-"]
    if match is not None:
        set_branch(b, event, match[1] or match[2])
        note_head(b, event)
    elif made := next((name for option, name in pairwise(rest) if MAKES_BRANCH.fullmatch(option)), ""):
        set_branch(b, event, made)
    elif "--" in rest:
        settle(b, event, rest[rest.index("--") + 1 :])
    elif "Updated " in output or rest == ["."]:
        settle(b, event, names)
    else:
        settle(b, event, [name for name in names if any(path.endswith(f"/{name}") for path in b.uncommitted)])


def _restore(b: StateBuilder, event: Event, output: str, rest: list[str]) -> None:
    if not {"--staged", "-S"} & {*rest} or {"--worktree", "-W"} & {*rest}:
        settle(b, event, [word for word in rest if word[:1] != "-"])


def _clean(b: StateBuilder, event: Event, output: str, rest: list[str]) -> None:
    if not any(word in ("-n", "--dry-run") for word in rest):
        files = b.files_modified
        settle(
            b, event, [path for path in b.uncommitted if path in files and files[path].change == "created"]
        )


def _reset(b: StateBuilder, event: Event, output: str, rest: list[str]) -> None:
    if "--hard" in rest:
        settle(b, event, [ALL])
    note_head(b, event)
    match = BACK.match(rest[-1]) if rest else None
    for _ in (
        range(int(match[1] or 1) if match[1] is not None else len(match[2]) if match[2] else 0)
        if match
        else ()
    ):
        key = _last_commit(b)
        if key is None or b.commits[key]["pushed"]:
            return
        del b.commits[key]


def _branch_command(b: StateBuilder, event: Event, output: str, rest: list[str]) -> None:
    if rest[:1] not in (["-m"], ["-M"], ["--move"]) or len(rest) < 2:
        return
    old, new = (b.branch if len(rest) == 2 else rest[1]), rest[-1]
    for key, entry in b.commits.items():
        if entry["branch"] == old:
            b.commits[key] = entry | {"branch": new}
    if old == b.branch:
        set_branch(b, event, new)


MOVES = {
    "checkout": _checkout, "switch": _checkout, "restore": _restore, "reset": _reset,
    "branch": _branch_command, "clean": _clean,
}  # fmt: skip


def set_branch(b: StateBuilder, event: Event, name: str) -> None:
    """Note the branch of the workspace, if it is another than before."""
    if name and name != b.branch and name != "HEAD":
        b.branch = name[:NAME]
        b.put("branches", event.seq, {"name": b.branch, "seq": event.seq, "at": event.at})


# -- pull requests and references ------------------------------------------------------------------------


def _gh(b: StateBuilder, event: Event, p: Action, command: str, words: list[str]) -> None:
    topic, verb = words[1], words[2]
    if p.outcome != "ok":
        return
    output = output_text(p.output)
    if (topic, verb) == ("pr", "create") and "uncommitted change" not in output:  # gh warns of them
        settle(b, event, [ALL])
    if topic == "issue" and verb == "create" and (match := ISSUE.search(output)) is not None:
        _refer(b, event, f"#{match[1]}", "issue", url=match[0], opened=True)
    if topic == "api":
        match = re.search(r"/pulls/(\d+)", command)
        if match is not None:
            _pull_request(b, event, match[1])
    if topic != "pr" or verb not in PULL_VERBS:
        return
    if any(word.startswith("$") for word in words[3:]):
        return  # a loop over many
    named = next((word for word in words[3:] if word.isdigit() or PULL.match(word)), "")
    match = PULL.search(named) or PULL.search(output)
    number = named if named.isdigit() else match[1] if match is not None else None
    if number is None:
        return
    url = match[0] if match is not None and match[1] == number else None
    title = TITLE.search(command) if verb in ("create", "edit") else None
    shown = _shown_pull_request(output) if verb == "view" else {}
    state = PULL_STATES.get(verb)
    if title is not None:
        shown["title"] = (title[1] or title[2] or "")[:NAME]
    _pull_request(b, event, number, **(shown | {"url": url} | ({"state": state} if state else {})))


def _shown_pull_request(output: str) -> dict[str, str | None]:
    """The title and state that `gh pr view --json` or `gh pr view` printed."""
    if output.startswith("{"):
        title, state = SHOWN_TITLE.search(output), SHOWN_STATE.search(output)
    else:
        title, state = VIEWED_TITLE.match(output), VIEWED_STATE.search(output)
    found = {} if title is None else {"title": title[1].replace('\\"', '"')[:NAME]}
    return found | ({} if state is None else {"state": state[1].lower()})


def _pull_request(b: StateBuilder, event: Event, number: str, **known: str | None) -> None:
    before = b.pull_requests.get(number, {"number": int(number), "url": None, "title": None, "state": None})
    news = {name: value for name, value in known.items() if value}
    b.put("pull_requests", number, before | news | {"seq": event.seq, "at": event.at})


TICKET = lazy_regex(r"\b([A-Z][A-Z0-9]{1,9}-\d{1,6})\b")
NOT_TICKETS = lazy_regex(
    r"(?:UTF|SHA|ISO|RFC|HTTP|GPT|MD|AES|RSA|TLS|SSL|BASE|IPV|CVE|PEP|ES|ECMA|UTC|GMT|COVID|ARM|CP|LATIN|H|X|US"
    r"|EN|ASCII|WINDOWS|ED|OPT|STEP|PHASE|PART|TASK|OPTION|SONNET|OPUS|HAIKU|CLAUDE|GEMINI|V)-\d+"
)
NUMBERED = lazy_regex(r"(?:\b(PRs?|pull requests?|pr|issues?|MR)\s*)?(?<![\w/&#])#(\d{1,6})\b", re.I)
PULL_NUMBER = lazy_regex(r"\b(?:PR|pull request)\s+(\d{1,6})\b", re.I)
URL = lazy_regex(r"https?://[^\s<>\"'`\])}]+")
SMALLEST = 10  # a bare #3 is the third item of a list more often than an issue
READ = 4000  # characters of a request that are searched


def read_references(b: StateBuilder, event: Event, text: str) -> None:
    """Read tickets, issues, pull requests and addresses in the user's words."""
    text = text[:READ]
    if "-" in text:
        for name in TICKET.findall(text):
            if NOT_TICKETS.fullmatch(name) is None:
                _refer(b, event, name, "ticket")
    if "http" in text:
        for found in URL.findall(text):
            _refer_url(b, event, found.rstrip(".,;:!?*"))
        text = URL.sub(" ", text)
    if "#" in text:
        for label, number in NUMBERED.findall(text):
            if label or int(number) >= SMALLEST:
                _refer(b, event, f"#{number}", "pull_request" if label[:1] in "pPmM" and label else "issue")
    if "PR" in text or "pr " in text or "request" in text:
        for number in PULL_NUMBER.findall(text):
            _refer(b, event, f"#{number}", "pull_request")


def _refer_url(b: StateBuilder, event: Event, url: str) -> None:
    for pattern, kind in ((PULL, "pull_request"), (ISSUE, "issue")):
        if (match := pattern.match(url)) is not None:
            _refer(b, event, f"#{match[1]}", kind, url=match[0])
            return
    _refer(b, event, url[:300], "url")


def _refer(b: StateBuilder, event: Event, name: str, kind: str, **more: Any) -> None:
    before = b.references.get(name, {})
    entry = {"name": name, "kind": kind, "seq": event.seq, "at": event.at, "trust": event.trust}
    b.put("references", name, before | entry | more)


# -- uncommitted files ----------------------------------------------------------------------------------

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


def note_change(
    b: StateBuilder, event: Event, path: str, change: str, origin: str | None, before: FileEntry | None
) -> None:
    """Count a changed file of the workspace as uncommitted.

    `before` is what was known of it.
    """
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
    """The files and folders that a command takes back.

    They return to the last commit. `*` stands for all.
    """
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


# -- uncommitted files: what git says --------------------------------------------------------------------


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
    """Notice a commit that was made elsewhere.

    Most often the user made it in another terminal.
    """
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
    """Believe the user who says that something was committed.

    What exactly is not known.
    """
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


# -- uncommitted files: what the state shows -------------------------------------------------------------


def uncommitted_files(state: SessionState | StateBuilder) -> dict[str, dict[str, Any]]:
    """The files that are known to be uncommitted.

    Each has the time up to which it is known (`as_of`). A change counts if git listed it since, if the
    session's agent makes the commits itself, or if it belongs to the last turn with changes. Of earlier
    turns it is not known: the user may have committed in between.
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
    """`uncommitted_files` without those settled by later sessions.

    Later sessions in the same folder saw them settled or changed. Another branch in a later session also
    settles them: what became of the changes is not known.
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
