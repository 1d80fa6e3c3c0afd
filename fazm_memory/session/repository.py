"""Repository facts of a session: branches, commits, pull requests, references, checks.

They come from calls of git, gh and similar tools with their output, and from the user's words. A command that
worked in another folder, such as a throw-away repository in /tmp, says nothing about the workspace.
`working_tree` has what these calls say about uncommitted files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.session.commands import CheckRun, ShellCall, elsewhere, git_verb, output_text
from fazm_memory.session.consequences import failed_checks
from fazm_memory.session.working_tree import (
    ALL,
    note_head,
    read_diff,
    read_log,
    read_stash,
    read_status,
    settle,
    staged_names,
    take_committed,
)

if TYPE_CHECKING:
    from fazm_memory.events import Action
    from fazm_memory.session.state import StateBuilder

NAME = 200  # characters of a name or subject
COMMITTED = lazy_regex(r"^\[([^\]\n]{1,200}?) ([0-9a-f]{7,40})\] (.*)$", re.M)
SWITCHED = lazy_regex(r"^Switched to (?:a new )?branch '([^'\n]+)'|^Already on '([^'\n]+)'", re.M)
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
            LISTINGS[verb](b, event, call, rest, output_text(p.output))
    if call.check_outcome is not None and not outside:
        for check in _reported_checks(call, output_text(p.output) or p.error or ""):
            b.put("checks", check.command, {
                "command": check.command, "kind": check.kind, "outcome": call.check_outcome,
                "seq": event.seq, "at": event.at,
            })  # fmt: skip


def _reported_checks(call: ShellCall, printed: str) -> tuple[CheckRun, ...]:
    """The runs whose outcome is known: all if they succeeded, else the first that may have failed."""
    return call.checks if call.check_outcome == "ok" else failed_checks(call.checks, printed)[:1]


# -- git -------------------------------------------------------------------------------------------------


LISTINGS = {"status": read_status, "diff": read_diff}
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
    elif len(rest) > 1 and rest[0] in ("-b", "-B", "-c", "-C", "--create"):
        set_branch(b, event, rest[1])
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
    """Take tickets, numbers of issues and pull requests, and addresses from the user's words."""
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
