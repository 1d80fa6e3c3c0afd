"""What calls tried, how it went, and which data sources they used.

A shell command is split into its parts: one program with its words each, without variable settings and
wrappers such as `timeout 60`. This is cheap enough for every call. The parser of `engines.shell_effects` is
not used here.

Data sources are databases, APIs, web pages, mailboxes and spreadsheets. They come from tool calls (addresses,
database clients, names of tools and of files) and from applications in the foreground. What is not clear from
the names is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from fazm_memory.events import target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from fazm_memory.events import Action, AppSpan, Event
    from fazm_memory.session.state import StateBuilder


SHELLS = frozenset(
    {
        "bash", "sh", "zsh", "shell", "shell_command", "local_shell", "terminal", "exec", "exec_command",
        "execute_command", "run_command", "run_shell_command", "run_terminal_cmd", "run_in_terminal",
        "container.exec", "run_bash", "execute_bash",
    }
)  # fmt: skip
COMMAND = 6000  # characters of a command that are read
MAX_LINE = 160
MAX_WORDS = 60
OUTPUT = 6000  # characters at the end of an output that are searched for failures
HEREDOC = lazy_regex(r"<<-?\s*['\"]?(\w+)['\"]?.*?^\s*\1\b", re.S | re.M)
REDIRECTION = lazy_regex(r"\d?>+&\d|&>+\s*\S+|\d?>+\s*/dev/null")
PART = lazy_regex(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^;&|\n'"\\])+""", re.S)
WORD = lazy_regex(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.S)
SETTING = lazy_regex(r"\w+=.*", re.S)
WRAPPERS = frozenset({"sudo", "time", "nice", "env", "command", "exec", "npx", "bunx", "then", "do", "else"})
WITH_RUN = frozenset({"uv", "poetry", "pipenv", "hatch", "pdm", "rye"})


def command_of(tool: str, value: Any) -> str:
    """The command line of a shell call, or an empty text. `bash -lc X` is X."""
    if not isinstance(value, Mapping) or tool.lower() not in SHELLS:
        return ""
    command = value.get("command") or value.get("cmd") or value.get("script")
    if isinstance(command, (list, tuple)):
        words = [str(word) for word in command]
        command = words[2] if len(words) > 2 and words[1] in ("-c", "-lc") else " ".join(words)
    return command if isinstance(command, str) else ""


def output_text(output: Any) -> str:
    """The printed text of a call."""
    if isinstance(output, Mapping):
        output = "\n".join(
            str(output[name]) for name in ("stdout", "stderr", "output", "text") if output.get(name)
        )
    return output if isinstance(output, str) else ""


def parts_of(command: str) -> list[list[str]]:
    """The programs of a command, each with its words."""
    command = command[:COMMAND]
    if "<<" in command:
        command = HEREDOC.sub(" ", command)
    if ">" in command:
        command = REDIRECTION.sub(" ", command)
    found = (_words(part) for part in PART.findall(command))
    return [words for words in found if words]


def _words(part: str) -> list[str]:
    words = [word.strip("\"'") if word[0] in "\"'" else word for word in WORD.findall(part.strip(" \t({})"))]
    while words:
        first = words[0]
        if SETTING.fullmatch(first) or first in WRAPPERS:
            words = words[1:]
        elif first == "timeout" or (first in WITH_RUN and words[1:2] == ["run"]):
            words = words[2:]
        else:
            break
    if words and "/" in words[0]:
        words = [words[0].rsplit("/", 1)[-1], *words[1:]]
    return words


TASKS = r"(?:make|just|task|mise|mise run|mise r)"
NODE = r"(?:npm|pnpm|yarn|bun)(?: run)?"
TESTERS = (
    r"go test|pytest|py\.test|python[\d.]* -m (?:pytest|unittest)|cargo (?:nextest|test)|jest|vitest|mocha"
    rf"|rspec|tox|nox|phpunit|ctest|gotestsum|{NODE} test\S*|(?:{TASKS}|rake|mix|dotnet|swift|deno|bun|mvn"
    r"|bazel|playwright|gradlew?|xcodebuild|zig|sbt|lein|dart|flutter) (?:[\w:.-]*\btest)\b[\w:.-]*"
)
LINTERS = (
    r"golangci-lint|ruff|eslint|flake8|mypy|pyright|pylint|tsc|cargo (?:clippy|fmt)|go vet|gofmt|staticcheck"
    r"|pre-commit|shellcheck|biome|prettier|swiftlint|rubocop|black|isort"
    rf"|{NODE} (?:lint|typecheck|format|check)\S*|{TASKS} (?:lint|fmt|format|check|typecheck|vet)\b[\w:.-]*"
)
BUILDERS = (
    r"go (?:build|install|generate)|cargo (?:build|check)|xcodebuild|swift build|docker build|cmake|ninja"
    rf"|make$|{NODE} (?:build|compile)\S*|(?:mvn|gradlew?) (?:package|build|compile)"
    rf"|{TASKS} (?:build|compile)\b[\w:.-]*"
)
RUNNER = lazy_regex(rf"(?:(?P<test>{TESTERS})|(?P<lint>{LINTERS})|(?P<build>{BUILDERS}))(?=\s|$)")
MAYBE_CHECK = lazy_regex(
    r"test|lint|ruff|tsc|mypy|pyright|flake8|clippy|vet|fmt|check|build|spec|tox|nox|jest|make|black|isort"
    r"|prettier|biome|cmake|ninja|rubocop|cargo|go install"
)
SIGNS = ("FAIL", "fail", "exit status", "***", "# ", "not compile")  # one is in every match of FAILURE
FAILURE = lazy_regex(
    r"^\s*--- FAIL|^FAIL\b|^FAILED\b|test result: FAILED|\b[1-9]\d* (?:failed|failing|failures?)\b"
    r"|^exit status [1-9]|^make: \*\*\*|^# \S+(?: \[\S+\])?\n\S+:\d+:\d+: |^error: could not compile",
    re.M,
)
FILTER = lazy_regex(r"\|\s*(?:grep|rg|egrep)\b[^|;&\n]*(?:\|[^|;&\n]+)*")
HEAD = lazy_regex(r"\|\s*head\b(?:\s+-n?\s*(\d{1,6}))?")
HEAD_LINES = 10
SHOWS_OUTCOME = lazy_regex(r"fail|error|ok\b|pass|---| -v|issues?", re.I)
PROBLEM = lazy_regex(r"^\S+:\d+:\d+: |^error(?:\[\w+\])?: |\b[1-9]\d* (?:errors?|issues?|problems?)\b", re.M)
FAILING_TEST = lazy_regex(r"--- FAIL: (\w+)|(?:FAILED|ERROR) \S+?::(\w+)|^FAIL\s+(\S+)", re.M)
NAMED_TESTS = lazy_regex(r"(?<=\s)(?:-run|-k|-t|--filter|-g)[= ]+['\"]?([^'\"\s]+)")


@dataclass(frozen=True)
class CheckRun:
    """A test, lint or build run.

    `targets` and `names` are the packages and tests that it was limited to.
    """

    kind: str
    command: str
    targets: tuple[str, ...]
    names: tuple[str, ...]


def checks_of(parts: list[list[str]]) -> tuple[CheckRun, ...]:
    """The test, lint and build runs among the parts of a command."""
    found: list[CheckRun] = []
    stashed = False
    for words in parts:
        if words[:2] == ["git", "stash"]:  # until `pop`, other code is checked than the session's
            stashed = words[2:3] not in (["pop"], ["apply"], ["drop"], ["list"], ["show"])
        line = " ".join(words[:MAX_WORDS])
        match = None if stashed else RUNNER.match(line)
        if match is None:
            continue
        text = line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
        found.append(CheckRun(str(match.lastgroup), text, *_limits(line[match.end() :])))
    return tuple(found)


def _limits(rest: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The packages or files and the names of tests in the arguments of a run."""
    names = [name.strip("^$()") for found in NAMED_TESTS.findall(rest) for name in re.split(r"[|/]", found)]
    targets: list[str] = []
    for word in NAMED_TESTS.sub(" ", rest).split():
        if not word.startswith(("-", ">", "<", "$")) and ("/" in word or "." in word):
            path, *parts = word.removeprefix("./").split("::")
            targets.append(path.removesuffix("...").rstrip("/"))
            names += parts
    return tuple(filter(None, dict.fromkeys(targets))), tuple(filter(None, dict.fromkeys(names)))


def _check_outcome(checks: tuple[CheckRun, ...], command: str, outcome: str, output: str) -> str | None:
    """The outcome of a run, None if it is unknown.

    The exit code of `go test | tail` is that of tail, so the output counts too. `| grep` may leave out what
    failed.
    """
    if outcome != "ok":
        return "failed" if outcome == "error" else outcome
    if "|" not in command and ";" not in command:
        return "ok"
    tail = output[-OUTPUT:]
    if reports_failed_tests(tail):
        return "failed"
    if any(check.kind != "test" for check in checks) and PROBLEM.search(tail):
        return "failed"
    filtered = FILTER.search(command)
    hidden = filtered is not None and SHOWS_OUTCOME.search(filtered[0]) is None
    return None if hidden or _is_cut(command, output) else "ok"


def _is_cut(command: str, output: str) -> bool:
    """Whether `| head` may have cut off the end of an output.

    The end is where a run says how it went.
    """
    found = HEAD.search(command)
    return found is not None and output.count("\n") + 1 >= int(found[1] or HEAD_LINES)


def reports_failed_tests(output: str) -> bool:
    """Whether the end of an output says that a test failed."""
    tail = output[-OUTPUT:]
    return any(sign in tail for sign in SIGNS) and FAILURE.search(tail) is not None


@dataclass(frozen=True)
class ShellCall:
    """The command of a call, read once for all who need it.

    `check_outcome` is that of all its `checks`, None if it has none or if it is unknown.
    """

    command: str
    parts: list[list[str]]
    checks: tuple[CheckRun, ...] = ()
    check_outcome: str | None = None


def shell_call(tool: str, value: Any, outcome: str, output: Any) -> ShellCall | None:
    """The command of a call, or None if the call is not of a shell."""
    command = command_of(tool, value)
    if not command:
        return None
    parts = parts_of(command)
    checks = checks_of(parts) if MAYBE_CHECK.search(command) else ()
    if not checks:
        return ShellCall(command, parts)
    return ShellCall(command, parts, checks, _check_outcome(checks, command, outcome, output_text(output)))


def failing_tests(output: str) -> list[str]:
    """Names of the tests that an output reports as failed."""
    found = (name for match in FAILING_TEST.finditer(output[-OUTPUT:]) for name in match.groups() if name)
    return list(dict.fromkeys(found))[:10]


LOOKUPS = frozenset(
    {
        "[", "[[", "ag", "awk", "cat", "cd", "cmp", "column", "comm", "cut", "diff", "du", "echo", "egrep",
        "fd", "fgrep", "file", "find", "grep", "head", "jq", "less", "ls", "pwd", "rg", "sed", "sort", "stat",
        "tail", "test", "tr", "tree", "true", "type", "uniq", "wc", "which", "xxd",
    }
)  # fmt: skip
GIT_LOOKUPS = frozenset(
    {
        "blame", "branch", "cat-file", "check-ignore", "config", "describe", "diff", "for-each-ref", "grep",
        "log", "ls-files", "ls-tree", "merge-base", "reflog", "remote", "rev-parse", "show", "show-ref",
        "status",
    }
)  # fmt: skip


GIT_HISTORY = frozenset(
    {"commit", "push", "merge", "rebase", "reset", "checkout", "switch", "restore", "tag"}
)


def only_looks(parts: list[list[str]]) -> bool:
    """Whether a command only looks something up, so that a failure says little."""
    return bool(parts) and all(
        words[0] in LOOKUPS or (words[0] == "git" and git_verb(words)[0] in GIT_LOOKUPS) for words in parts
    )


def git_verb(words: list[str]) -> tuple[str, list[str]]:
    """The verb of a git command and what follows it, without options such as `-C DIR`."""
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else rest[1:]
    return (rest[0], rest[1:]) if rest else ("", [])


def refused_command(tool: str, given: Any) -> tuple[str, bool] | None:
    """The shell command of a refused call, and whether it changes git history.

    None for commands that only look something up, and for other tools.
    """
    call = shell_call(tool, given, "ok", "")
    if call is None or only_looks(call.parts):
        return None
    return call.command, any(
        words[0] == "git" and git_verb(words)[0] in GIT_HISTORY for words in call.parts if words
    )


def elsewhere(folder: str, workspace: str | None) -> bool:
    """Whether a folder of a command is outside the session's workspace."""
    folder = folder.strip("\"'")
    if folder.startswith("$") or "mktemp" in folder:
        return True
    if workspace is None or not folder.startswith("/"):
        return workspace is None and folder.startswith("/tmp")
    inside = folder.rstrip("/") + "/"
    return not (inside.startswith(f"{workspace}/") or f"{workspace}/".startswith(inside))


# -- failures and what resolved them ---------------------------------------------------------------------
#
# A failed call has keys of its intent: the file it edited, the test it ran, the program and target of its
# command. A later success with one of these keys resolves it, whatever its command line. What only looked
# something up, such as a grep without a match, is marked as minor.

LOOKUP_TOOLS = frozenset(
    {"read", "grep", "glob", "ls", "read_file", "list_directory", "list", "search_file_content", "webfetch",
     "websearch", "web_fetch", "toolsearch"}
)  # fmt: skip
EDITS = frozenset(
    {
        "edit",
        "write",
        "multiedit",
        "notebookedit",
        "replace",
        "write_file",
        "edit_file",
        "apply_patch",
        "patch",
    }
)
PATHS = ("file_path", "path", "notebook_path", "absolute_path", "filename")
# Programs whose first word says what they do; the same verb on another target is the same intent.
VERBS = frozenset(
    {"git", "gh", "npm", "pnpm", "yarn", "cargo", "docker", "kubectl", "brew", "pip", "uv", "mise", "make"}
)
WHOLE = ("commit", "push", "pull", "rebase", "merge", "stash", "add", "fetch", "cherry-pick", "am", "apply")
# A call of an agent or a skill that does not exist: only one of the same name resolves it.
NO_HELPER = lazy_regex(r"^Agent type .{1,100} not found|^Unknown skill|^Skill .{1,100} is not a", re.I)
INVALID = lazy_regex(
    r"InputValidation|invalid (?:tool )?(?:input|parameter|argument)|required parameter", re.I
)
FORMATTER = lazy_regex(r"^(?:gofmt|black|isort|prettier)\b|\b(?:fmt|format)\b")
APART = lazy_regex(r"integration|e2e|end-to-end", re.I)
WITH_ALL = lazy_regex(r"[: -](?:ci|all)\b")
NOT_COMPILED = lazy_regex(r"\[build failed\]|^# \S+|could not compile|SyntaxError|ImportError", re.M)
NOT_RUN = ("Sibling tool call errored", "No changes to make", "Cancelled: parallel tool call")
STOPPED = lazy_regex(r"interrupted by (?:the )?user", re.I)
MAX_KEYS = 24
PREFIX = 8  # characters of a name that selects tests
PREPARES = frozenset({"mkdir", "touch", "chmod", "rm", "cp", "mv"})


def intents(p: Action, call: ShellCall | None, *, ok: bool) -> list[str]:
    """The keys of what a call tried to do. A success has the keys that it resolves."""
    if call is not None:
        checks = call.checks if ok else failed_checks(call.checks, output_text(p.output) or p.error or "")
        keys = [key for check in checks for key in _check_intents(check, p, ok)]
        if {"test:*", "test apart:*"} <= set(keys):
            keys.append("test complete:*")
        programs = [words for words in call.parts if ok or not _prepares(words)] or call.parts
        keys += [key for words in programs if (key := _program_intent(words))]
        if ok:  # a file that could not be edited was written by a command
            keys += [f"edit:{touch.path}" for touch in p.files if touch.change in ("created", "modified")]
        return list(dict.fromkeys(keys))[:MAX_KEYS]
    tool, value = p.tool.lower(), p.input
    named = [value[name] for name in PATHS if value.get(name)] if isinstance(value, Mapping) else []
    if tool in EDITS:
        return [f"edit:{path}" for path in (named or [touch.path for touch in p.files])[:MAX_KEYS]]
    helper, unknown = _helper(value), NO_HELPER.search(p.error or "") is not None
    keys = [f"{tool}:{named[0] if named else target_of(value)}"]
    keys += [f"{tool}:named {helper}"] if helper else []
    if ok or INVALID.search(p.error or "") or (unknown and not helper):
        keys.append(f"{tool}:*")  # any valid call of the tool resolves an invalid one
    return keys


def _helper(value: Any) -> str:
    """The agent or skill that a call names, without its plugin."""
    found = (value.get("subagent_type") or value.get("skill")) if isinstance(value, Mapping) else None
    return found.rpartition(":")[2] if isinstance(found, str) else ""


def _prepares(words: list[str]) -> bool:
    """Whether a part of a chain only prepares the rest.

    The rest is then more likely what failed.
    """
    return words[0] in PREPARES or (words[0] == "git" and git_verb(words)[0] == "add")


def failed_checks(checks: tuple[CheckRun, ...], printed: str) -> tuple[CheckRun, ...]:
    """The runs of a failed chain that may have failed.

    The tests if their output says so; no formatter; a build only if something was not compiled.
    """
    others = tuple(check for check in checks if FORMATTER.search(check.command) is None)
    tests = tuple(check for check in others if check.kind == "test")
    if tests and reports_failed_tests(printed):
        return tests
    if NOT_COMPILED.search(printed) is None:
        others = tuple(check for check in others if check.kind != "build") or others
    return others or checks


def _check_intents(check: CheckRun, p: Action, ok: bool) -> list[str]:
    kind = "format" if FORMATTER.search(check.command) else check.kind
    apart = kind == "test" and APART.search(check.command) is not None
    complete = kind == "test" and WITH_ALL.search(check.command) is not None
    if not ok:
        printed = output_text(p.output) or p.error or ""
        failing = failing_tests(printed)
        everything = f"{kind} complete" if complete else f"{kind} apart" if apart else kind
        keys = [f"{everything}:*", *(f"{kind}:{name}" for name in (*check.names, *check.targets, *failing))]
        if not failing and NOT_COMPILED.search(printed):
            keys += [f"compile:{target}" for target in check.targets]
        return keys
    # A run of everything resolves any failed run, a run of a package those in it, a named test only itself.
    # Slow tests that run apart, such as integration tests, are part of a complete run only.
    keys = [f"compile:{target}" for target in check.targets]
    if limits := check.names or check.targets:
        keys += [f"{kind}:{name}" for name in limits]
    else:
        keys += [f"{kind}:*"] if complete or not apart else []
        keys += [f"{kind} apart:*"] if complete or apart else []
        keys += [f"{kind} complete:*"] if complete else []
    return [*keys, *(["build:*"] if kind == "test" else [])]


def _program_intent(words: list[str]) -> str:
    program = words[0]
    if RUNNER.match(" ".join(words[:4])) or program in (
        "cd",
        "echo",
        "export",
        "set",
        "sleep",
        "true",
        "tail",
        "head",
        "grep",
        "cat",
        "wc",
    ):
        return ""
    verb, rest = git_verb(words) if program == "git" else (words[1] if len(words) > 1 else "", words[2:])
    if program == "git" and verb in WHOLE:
        return f"git {verb}"
    if program in VERBS:
        target = next((word for word in rest if not word.startswith("-")), "")
        return f"{program} {verb} {target}".strip()
    target = next((word for word in words[1:] if not word.startswith("-")), "")
    return f"{program} {target}".strip()


def is_minor(tool: str, call: ShellCall | None, outcome: str, error: str) -> bool:
    """Whether a failed call matters little.

    It only looked something up, was never run, or was stopped by the user.
    """
    if outcome != "error" or error.startswith(NOT_RUN):
        return outcome == "error" or STOPPED.search(error) is not None
    if call is not None:
        return only_looks(call.parts)
    return tool.lower() in LOOKUP_TOOLS or any(rule.search(error) for rule in (INVALID, NO_HELPER))


def note_failure(b: StateBuilder, seq: int, p: Action, call: ShellCall | None) -> None:
    """Remember what a failed call tried, so that a later success can resolve it."""
    b.put("unresolved", seq, {"keys": intents(p, call, ok=False)})


def resolve_by_success(b: StateBuilder, seq: int, p: Action, call: ShellCall | None) -> None:
    """Resolve the failures whose intent this success has."""
    if call is not None and call.checks and call.check_outcome != "ok":
        return
    keys = set(intents(p, call, ok=True))
    names = [name for check in (call.checks if call is not None else ()) for name in check.names]
    selected = tuple(f"test:{name}" for name in names if len(name) >= PREFIX)  # the beginning of names
    for failed in [
        failed
        for failed, entry in b.unresolved.items()
        if not keys.isdisjoint(entry["keys"])
        or (selected and any(key.startswith(selected) for key in entry["keys"]))
    ]:
        resolve(b, failed, seq)


def resolve(b: StateBuilder, seq: int | None, by: int) -> None:
    """Mark a failure, and the failures that it retried, as resolved by a later call.

    An entry that a fork has from its parent says in which session the call is.
    """
    while seq is not None:
        b.unresolved.pop(seq, None)
        failed = b.errors.get(seq)
        if failed is None or failed["mended_by"] is not None:
            return
        b.errors[seq] = failed | b.link(failed, "mended", by)
        place = (failed.get("session"), failed["seq"])
        for command, row in b.checks.items():
            # It passed since, by another command line.
            if (row.get("session"), row["seq"]) == place and row["outcome"] != "ok":
                b.checks[command] = row | b.link(row, "resolved", by)
        earlier = failed.get("retry_of")  # a position in its session; the keys of inherited ones are shifted
        seq = None if earlier is None else seq + earlier - failed["seq"]


# -- data sources ----------------------------------------------------------------------------------------

SourceKind = Literal["database", "api", "url", "mailbox", "spreadsheet"]
ADDRESS = lazy_regex(
    r"\b(?:https?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|imaps?)://[^\s\"'<>`|;)]+", re.I
)
LOGIN = lazy_regex(r"//[^/@\s]*@")  # its password is a mark with brackets, which no host has
DATABASE_SCHEMES = ("postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis")
WRITES = lazy_regex(
    r"\b(?:insert\s+into|update\s+\w|delete\s+from|create\s+(?:table|index|view|database)|drop\s|alter\s"
    r"|truncate\s|(?:insert|update|delete|replace)(?:one|many)\(|bulkwrite\(|drop\()",
    re.I,
)
SENDING = lazy_regex(
    r"(?:^|\s)(?:-X\s*|--request[ =]|--method[ =])(?:POST|PUT|PATCH|DELETE)\b"
    r"|\s(?:-d|-F|-T|--data|--form|--json|--upload-file|--post-data|--post-file)(?=[\s=@'\"-])"
    r"|^(?:https?|xh)\s(?:\S+\s)*?(?:POST|PUT|PATCH|DELETE)\s"
)
GETTING = lazy_regex(r"\s(?:-G|--get)\s")  # data of curl that become a part of the address
NOT_REACHED = frozenset(
    {"echo", "printf", "grep", "egrep", "rg", "ag", "sed", "awk", "cat", "jq", "export", "test"}
)  # programs that take an address as text
GIT_TEXT = frozenset({"commit", "tag", "log", "grep", "config", "notes"})
ADDRESS_KEYS = frozenset({"code", "script"})  # of a tool that runs a program
WRITING_TOOL = lazy_regex(r"send|create|insert|update|append|write|delete|post|put|draft|move|archive", re.I)
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers", ".csv", ".tsv")
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
TOOL_WORDS: tuple[tuple[SourceKind, re.Pattern[str]], ...] = (
    ("mailbox", lazy_regex(r"gmail|outlook|imap|(?:^|[_.-])e?mails?(?:$|[_.-])", re.I)),
    ("spreadsheet", lazy_regex(r"spreadsheet|google_?sheets|excel|airtable", re.I)),
    (
        "database",
        lazy_regex(r"postgres|mysql|sqlite|bigquery|snowflake|mongodb|redis|(?:^|[_.-])sql(?:$|[_.-])", re.I),
    ),
)
APPS: dict[str, SourceKind] = {
    "mail": "mailbox", "outlook": "mailbox", "microsoft outlook": "mailbox", "thunderbird": "mailbox",
    "spark": "mailbox", "numbers": "spreadsheet", "microsoft excel": "spreadsheet", "excel": "spreadsheet",
    "libreoffice calc": "spreadsheet", "tableplus": "database", "postico": "database", "dbeaver": "database",
    "sequel ace": "database", "datagrip": "database", "mongodb compass": "database",
}  # fmt: skip
NAMED = (
    "database",
    "db",
    "dataset",
    "table",
    "spreadsheet_id",
    "spreadsheet",
    "sheet",
    "mailbox",
    "folder",
    "account",
)
MOST_TEXT = 4000
MOST_NAME = 200
MOST_FOUND = 8


@dataclass(frozen=True)
class Client:
    """A database client: what its options mean, and what its first other word is.

    An option that takes a value is a host, a port, the name of the database, or something else ("").
    """

    options: dict[str, str]
    first: Literal["name", "file", "address", "other"]
    writes: bool


def _client(
    host: str, port: str, name: str, values: str, first: Any = "name", writes: bool = False
) -> Client:
    listed = (("host", host), ("port", port), ("name", name), ("", values))
    return Client({option: what for what, text in listed for option in text.split()}, first, writes)


_PSQL = (
    "-c --command -f --file -F --field-separator -L --log-file -o --output -P --pset -R --record-separator"
    " -T --table-attr -U --username -v --set --variable"
)
_DUMP = "-f --file -F --format -j --jobs -n --schema -N -t --table -T -U --username -Z -S -E --encoding"
_MYSQL = "-u --user -e --execute -S --socket --default-character-set --ssl-mode --where"
_MONGO = "-u --username -p --password --eval -f --file --authenticationDatabase -c --collection -o --out"
_SQLITE = "-cmd -init -separator -newline -nullvalue -vfs -c -s -f --cmd --init --separator"
_PG = ("-h --host", "-p --port", "-d --dbname")
_MY = ("-h --host", "-P --port", "-D --database")
_MO = ("-h --host", "--port", "-d --db")
CLIENTS = {
    "psql": _client(*_PG, _PSQL),
    "pg_dump": _client(*_PG, _DUMP),
    "pg_restore": _client(*_PG, _DUMP, "other", writes=True),
    "mysql": _client(*_MY, _MYSQL),
    "mariadb": _client(*_MY, _MYSQL),
    "mysqldump": _client(*_MY, _MYSQL),
    "mongosh": _client("--host", "--port", "", _MONGO, "address"),
    "mongo": _client("--host", "--port", "", _MONGO, "address"),
    "mongodump": _client(*_MO, _MONGO, "other"),
    "mongorestore": _client(*_MO, _MONGO, "other", writes=True),
    "redis-cli": _client("-h", "-p", "-n", "-a --user --pass -u -r -i -t", "other"),
    "sqlite3": _client("", "", "", _SQLITE, "file"),
    "duckdb": _client("", "", "", _SQLITE, "file"),
}
REDIS_READS = frozenset(
    {
        "get", "mget", "hget", "hgetall", "hmget", "hkeys", "hlen", "keys", "scan", "info", "ping", "ttl",
        "exists", "type", "lrange", "llen", "smembers", "scard", "zrange", "zcard", "dbsize", "monitor",
        "memory", "object", "strlen", "client", "config", "subscribe", "select",
    }
)  # fmt: skip
INSIDE = frozenset({"docker", "docker-compose", "podman", "kubectl", "ssh", "heroku", "fly"})
PG_VARIABLE = lazy_regex(r"\b(PGHOST|PGPORT|PGDATABASE)=['\"]?([^\s'\";]+)")
PG_NAMES = {"PGHOST": "host", "PGPORT": "port", "PGDATABASE": "name", "dbname": "name"}
PAIR = lazy_regex(r"(\w+)\s*=\s*'?([^\s']+)")


class Access(NamedTuple):
    """One use of a data source. `place` is its host or its path."""

    kind: SourceKind
    name: str
    place: str | None
    written: bool


def note_sources(b: StateBuilder, event: Event, found: Iterable[Access]) -> None:
    """Count these uses in the working set."""
    for access in found:
        key = f"{access.kind}:{access.name}:{access.place or ''}"
        known = b.data_sources.get(key, {"read": 0, "written": 0, "count": 0})
        b.put("data_sources", key, {
            "kind": access.kind, "name": access.name, "place": access.place,
            "read": known["read"] + (not access.written), "written": known["written"] + access.written,
            "count": known["count"] + 1, "seq": event.seq, "at": event.at,
        })  # fmt: skip


def sources_of_app(span: AppSpan) -> Iterator[Access]:
    if span.document is not None and ADDRESS.match(span.document):
        yield from _address(span.document, span.document, sent=False)
        return
    kind = APPS.get(span.app.strip().lower())
    if kind is not None:
        name = span.document or span.title or span.app
        place = span.document if span.document is not None and "/" in span.document else None
        yield Access(kind, name.rstrip("/").rsplit("/", 1)[-1][:MOST_NAME] or span.app, place, False)


def sources_of_call(action: Action, call: ShellCall | None) -> list[Access]:
    """The data sources that a successful call used, each once.

    `call` is the command of a shell.
    """
    found = [*_shell(call)] if call is not None else [*_arguments(action), *_by_tool(action)]
    return list(dict.fromkeys((*found, *_files(action))))[:MOST_FOUND]


def writes_to_source(action: Action) -> bool:
    """Whether a call wrote to a database, an API, a mailbox or a spreadsheet."""
    call = shell_call(action.tool, action.input, action.outcome, action.output)
    return any(access.written for access in sources_of_call(action, call))


FETCHERS = frozenset({"curl", "wget"})


def looks_only(action: Action) -> bool:
    """Whether a call only looked something up or fetched it."""
    call = shell_call(action.tool, action.input, action.outcome, action.output)
    if call is None:
        return action.tool.lower() in LOOKUP_TOOLS
    rest = [words for words in call.parts if words[0] not in FETCHERS]
    return not rest or only_looks(rest)


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "", value[:MOST_TEXT]
    elif isinstance(value, Mapping):
        for key, item in list(value.items())[:50]:
            if isinstance(item, str):
                yield str(key), item[:MOST_TEXT]


def _arguments(action: Action) -> Iterator[Access]:
    """The addresses among the arguments of a tool.

    An address inside a longer text was not necessarily used.
    """
    sent = _method(action.input)
    for key, text in _texts(action.input):
        if key in ADDRESS_KEYS:
            for match in ADDRESS.findall(text)[:MOST_FOUND]:
                yield from _address(match, text, sent)
        elif match := ADDRESS.match(text.strip()):
            yield from _address(match[0], text, sent)


def _address(address: str, text: str, sent: bool) -> Iterator[Access]:
    """The data source at an address. `text` is the query or command that uses it."""
    try:
        parts = urlsplit(LOGIN.sub("//", address.rstrip(".,"), count=1))
        host, path, port = parts.hostname, parts.path, parts.port
    except ValueError:  # not an address after all
        return
    if not host:
        return
    scheme = parts.scheme.lower()
    place = f"{host}:{port}" if port is not None else host
    if scheme in DATABASE_SCHEMES:
        name = path.strip("/")
        name = "/".join(filter(None, ("redis", name))) if scheme.startswith("redis") else name or host
        yield Access("database", name[:MOST_NAME], place, WRITES.search(text) is not None)
    elif scheme.startswith("imap"):
        yield Access("mailbox", host, place, False)
    else:
        api = sent or host.startswith("api.") or "/api/" in f"{path}/"
        yield Access("api" if api else "url", f"{place}{path}"[:MOST_NAME].rstrip("/"), place, sent)


def _shell(call: ShellCall) -> Iterator[Access]:
    """The addresses and databases that the programs of a command used."""
    if not ADDRESS.search(call.command) and not any(client in call.command for client in CLIENTS):
        return
    for words in call.parts:
        program = words[0]
        if program in NOT_REACHED or (program == "git" and words[1:2] and words[1] in GIT_TEXT):
            continue
        line = " ".join(words)
        sent = SENDING.search(line) is not None and GETTING.search(line) is None
        # A query can also come from a heredoc, which is no longer among the words.
        query = call.command if "<<" in call.command else line
        for match in ADDRESS.findall(line)[:MOST_FOUND]:
            yield from _address(match, query, sent)
        yield from _client_use(words, query, call.command)


def _method(value: Any) -> bool:
    method = value.get("method") if isinstance(value, Mapping) else None
    return isinstance(method, str) and method.upper() in ("POST", "PUT", "PATCH", "DELETE")


def _client_use(words: Sequence[str], query: str, command: str) -> Iterator[Access]:
    """The database that a program of a command opened with its own client."""
    within = range(len(words)) if words[0] in INSIDE else range(1)
    place = next((nth for nth in within if words[nth].rsplit("/", 1)[-1] in CLIENTS), None)
    if place is None:
        return
    program = words[place].rsplit("/", 1)[-1]
    client = CLIENTS[program]
    found, rest = _options(client, [word.strip("\"'") for word in words[place + 1 :]])
    first = rest[0] if rest else ""
    if any("://" in word for word in (*found.values(), first)):
        return  # its address was found
    if client.first in ("name", "file") or (client.first == "address" and not first.endswith(".js")):
        found.setdefault("name", first)
    if program.startswith(("psql", "pg_")):
        found = _connection(found, command)
    name, host, port = (found.get(what, "") for what in ("name", "host", "port"))
    if client.first == "address" and "/" in name:  # mongosh HOST:PORT/NAME
        host, _, name = name.rpartition("/")
    at = f"{host}:{port}" if host and port else host
    if client.first == "file":
        at, name = name, name.rsplit("/", 1)[-1]
    written = client.writes or WRITES.search(query) is not None
    if program == "redis-cli":
        name, written = (
            "/".join(filter(None, ("redis", name))),
            bool(first) and first.lower() not in REDIS_READS,
        )
    yield Access("database", (name or host or program)[:MOST_NAME], at[:MOST_NAME] or None, written)


def _connection(found: dict[str, str], command: str) -> dict[str, str]:
    """Host, port and name for a client of PostgreSQL.

    They may also come from a connection string or from variables.
    """
    pairs: dict[str, str] = {}
    if "=" in found.get("name", ""):
        pairs = {PG_NAMES.get(key, key): value for key, value in PAIR.findall(found.pop("name"))}
    known = {PG_NAMES[key]: value for key, value in PG_VARIABLE.findall(command)}
    return {**known, **pairs, **{key: value for key, value in found.items() if value}}


def _options(client: Client, words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Host, port and name of the database, and the words that are no option."""
    found: dict[str, str] = {}
    rest: list[str] = []
    following = iter(words)
    for word in following:
        option, equals, value = word.partition("=")
        if word in client.options:
            found.setdefault(client.options[word], next(following, ""))
        elif word.startswith("--") and equals and option in client.options:
            found.setdefault(client.options[option], value.strip("\"'"))
        elif not word.startswith("--") and word[:2] in client.options and client.first != "file":
            found.setdefault(client.options[word[:2]], word[2:])
        elif not word.startswith(("-", "<", ">", "[REDACTED")):
            rest.append(word)
    return found, rest


def _by_tool(action: Action) -> Iterator[Access]:
    kind = next((kind for kind, words in TOOL_WORDS if words.search(action.tool)), None)
    if kind is None:
        return
    value = action.input if isinstance(action.input, Mapping) else {}
    name = next((value[one] for one in NAMED if isinstance(value.get(one), str) and value[one]), None)
    server = action.tool.split("__")[1] if action.tool.startswith("mcp__") else action.tool
    query = next((text for _, text in _texts(value) if WRITES.search(text)), None)
    written = query is not None or WRITING_TOOL.search(action.tool.rsplit("__", 1)[-1]) is not None
    yield Access(kind, (name or server)[:MOST_NAME], None, written)


def _files(action: Action) -> Iterator[Access]:
    for touch in action.files[:MOST_FOUND]:
        path = touch.path.lower()
        kind: SourceKind | None = (
            "spreadsheet" if path.endswith(SPREADSHEETS) else "database" if path.endswith(DATABASES) else None
        )
        if kind is not None and touch.change != "deleted":
            yield Access(kind, touch.path.rsplit("/", 1)[-1][:MOST_NAME], touch.path, touch.change != "read")
