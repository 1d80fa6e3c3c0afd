"""The entry point: find the command, check who may run it, run it, report errors.

A command's module is imported when the command is called. `--help` and `--version` therefore load neither
the database nor a server, and for the same reason imports inside functions are usual in this package.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fazm_memory import __version__
from fazm_memory.clock import TimeError, parse_time
from fazm_memory.errors import Declined, FazmMemoryError, InvalidRequest, StoreFull
from fazm_memory.text import sentence

if TYPE_CHECKING:
    from fazm_memory.app import Memory

# For each purpose: command, module under cli.commands, help. The module has `<command>_arguments` and
# `<command>_command`.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "See what happened": {
        "status": ("sessions", "Show whether it is recording, the last events and the size."),
        "timeline": ("run", "Open the timeline in your browser."),
        "sessions": ("sessions", "List sessions, latest first."),
        "show": (
            "sessions",
            "Show one session, by default the latest: open points, changes.",
        ),
        "events": ("sessions", "List the events of a session."),
        "state": ("sessions", "Show the state of a session, now or at a position."),
        "files": ("compare", "List a session's changed files, or who changed a file and why."),
        "retries": ("compare", "List calls that were tried again, and what changed."),
        "diff": ("compare", "Show what changed between two positions, and why."),
        "compare": ("compare", "Compare two sessions or branches."),
        "untrusted": ("context", "List input that is not trusted, and what followed it."),
        "search": ("sessions", "Search everything that was recorded."),
        "cost": ("sessions", "Show tokens and dollars by day, session, thread or model."),
        "habits": ("context", "Show what recurs: tasks, folders, tools, failing commands."),
    },
    "Go back": {
        "rewind": ("rewind", "Return a session, and with --files its files, to a position."),
        "fork": ("rewind", "Start a new session from a position of this one."),
        "branches": ("rewind", "Show which sessions were forked from which."),
    },
    "Carry on": {
        "resume": ("lifecycle", "Continue a session, by default the latest, with a briefing."),
        "restore": ("lifecycle", "Put back an agent's own transcript, so that it can resume."),
        "continue": ("lifecycle", "Go on with a session in another agent."),
        "context": ("context", "Show what was done and is open: what a new session is told."),
        "conventions": ("context", "Show how a session named files, and apply it to new names."),
        "replay": ("rewind", "Show the steps of a session, or repeat them on other files."),
        "artifacts": ("context", "Show, write or export feature lists, logs and checklists."),
        "facts": ("context", "List, add or retract facts."),
        "handoff": ("lifecycle", "Leave a question for a person or an agent."),
        "questions": ("lifecycle", "List the questions that wait for you."),
        "answer": ("lifecycle", "Answer or waive a question."),
        "open": ("lifecycle", "Begin a new session."),
        "pause": ("lifecycle", "Pause a session."),
        "close": ("lifecycle", "Close a session."),
        "archive": ("lifecycle", "Archive a closed session, or restore it."),
        "folders": ("rewind", "List, merge or remove sessions' own folders."),
    },
    "Connect agents": {
        "setup": ("agents", "Go through the first steps: connect, folders, login, import."),
        "agents": ("agents", "List the agents on this machine."),
        "connect": ("agents", "Add our hooks and MCP server to an agent's configuration."),
        "disconnect": ("agents", "Remove them again."),
        "import": ("agents", "Import the past from the agents' own records."),
        "record": ("record", "Record events of any agent, as JSON lines on stdin."),
        "run": ("run", "Run the companion, which records in the background."),
        "mcp": ("run", "Run the MCP server on stdin and stdout."),
        "serve": ("run", "Serve MCP over HTTP and the timeline, on this machine only."),
    },
    "Keep it safe": {
        "recording": ("maintain", "Pause, resume or show recording."),
        "exclude": ("maintain", "List or change the apps and folders that are never watched."),
        "quarantine": ("lifecycle", "Keep a session or an event out of every context and export."),
        "forget": ("maintain", "Delete a session, a period or matching events for good."),
        "retain": ("maintain", "Delete old details by the retention policy."),
    },
    "Use several machines": {
        "sync": ("sync", "Sync with your other machines, end-to-end encrypted."),
    },
    "Maintain": {
        "doctor": ("maintain", "Check that everything works here."),
        "verify": ("maintain", "Check the log against its hash chain."),
        "recover": ("maintain", "Save what is readable of a damaged store."),
        "export": ("maintain", "Write a session to a file for another machine."),
        "import-bundle": ("maintain", "Import such a file."),
        "demo": ("maintain", "Play two days of work in a temporary folder."),
        "completion": ("maintain", "Print a completion script for your shell."),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
DEFAULT = "status"
# Commands that show what was recorded. With --now they show what was known then, and nothing later. Other
# commands that write act on what there is.
SHOW_THE_PAST = frozenset(
    {"status", "sessions", "show", "events", "state", "files", "retries", "diff", "compare", "search",
     "cost", "habits", "branches", "untrusted", "context", "conventions", "replay", "facts", "questions",
     "continue", "resume", "mcp", "fork", "handoff", "export"}
)  # fmt: skip
INTERNAL_ERROR = 70
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
OPENED: list[Any] = []  # every Memory of this run; closed when the command ends


def parser_for(name: str, parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Add a command's arguments to the parser and return its function."""
    module = import_module(f"fazm_memory.cli.commands.{COMMANDS[name][0]}")
    prefix = name.replace("-", "_")
    getattr(module, f"{prefix}_arguments")(parser)
    run: Callable[[argparse.Namespace], int] = getattr(module, f"{prefix}_command")
    return run


def common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--now", metavar="TIME", help="use this time instead of the clock (ISO 8601)")


def command_first(arguments: list[str]) -> list[str]:
    """Move --json and --now TIME behind the command."""
    at = 0
    while at < len(arguments) and (
        arguments[at] in ("--json", "--now") or arguments[at].startswith("--now=")
    ):
        at += 2 if arguments[at] == "--now" else 1
    common, rest = arguments[:at], arguments[at:]
    return [rest[0], *common, *rest[1:]] if rest and not rest[0].startswith("-") else arguments


def usage() -> str:
    width = max(map(len, COMMANDS))
    groups = [
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {text}" for name, (_, text) in group.items())])
        for title, group in GROUPS.items()
    ]
    return (
        "usage: fazm-memory [COMMAND] [OPTIONS]\n\n"
        "The memory of your desktop agents. Without a command it prints the status.\n\n"
        + "\n\n".join(groups)
        + "\n\n`fazm-memory COMMAND --help` shows the options of a command.\n"
        "Every command takes --json and --now TIME.\n"
    )


# The launcher of the Mac app sets these for its own Python. In a program of the user's that we start, such as
# git or an agent, another Python would look for its library in our app.
LAUNCHER_VARIABLES = (
    "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RESOURCEPATH", "EXECUTABLEPATH",
    "ARGVZERO", "_PY2APP_LAUNCHED_",
)  # fmt: skip
# The launcher leaves the locale of C behind, whose encoding is ASCII. The first is a name of macOS.
ENCODING_LOCALES = ("UTF-8", "C.UTF-8")


def leave_launcher() -> None:
    """Undo what the launcher of the Mac app did to this process.

    The programs we start would inherit it.
    """
    import locale

    for variable in LAUNCHER_VARIABLES:
        os.environ.pop(variable, None)
    for name in ENCODING_LOCALES:
        try:
            locale.setlocale(locale.LC_CTYPE, name)
            return
        except locale.Error:
            continue


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if getattr(sys, "frozen", None):
        leave_launcher()
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by the parent process
            setattr(sys, stream, open(os.devnull, mode))  # noqa: SIM115 (open until the process ends)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Print "?" for characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="replace")
    if arguments and arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if arguments and arguments[0] in ("-V", "--version"):
        print(f"fazm-memory {__version__}")
        return 0
    arguments = command_first(arguments)
    if arguments and arguments[0] in ("--json", "--now") and arguments[-1] in ("-h", "--help"):
        sys.stdout.write(usage())  # without a command, `--now TIME --help` too
        return 0
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else DEFAULT
    if name not in COMMANDS:
        shown = "".join(char if char.isprintable() else "�" for char in name[:40])
        sys.stderr.write(f'Unknown command "{shown}".\n{_suggestion(name)}')
        return 2
    parser = argparse.ArgumentParser(prog=f"fazm-memory {name}", description=COMMANDS[name][1])
    run = parser_for(name, parser)
    common_arguments(parser)
    args = parser.parse_args(arguments, argparse.Namespace(command=name))
    return run_guarded(run, args)


def run_guarded(run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run the command and turn exceptions into messages and exit codes."""
    try:
        check_person(args)
        code = run(args)
        sys.stdout.flush()
        return code
    except FazmMemoryError as error:
        show_error(error, as_json=args.json)
        return error.exit_code
    except BrokenPipeError:
        _discard_output()  # the reader, such as `head`, has closed the pipe
        return 141
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. Everything acknowledged is stored.\n")
        return 130
    except Exception as error:
        if os.environ.get("FAZM_MEMORY_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            # The store raises StoreFull for its own disk. This one is the disk of our output.
            _discard_output()
            full = StoreFull(
                f"The output could not be written: {error.strerror}. Everything acknowledged is stored.",
                hint="Free some space, then run the command again.",
            )
            show_error(full, as_json=False)
            return StoreFull.exit_code
        sys.stderr.write(f"Internal error. {type(error).__name__}: {error!s:.300}\n")
        sys.stderr.write("Everything acknowledged is stored. Please report this.\n")
        sys.stderr.write("hint: FAZM_MEMORY_DEBUG=1 shows the traceback.\n")
        return INTERNAL_ERROR
    finally:
        for memory in OPENED:
            memory.close()
        OPENED.clear()


def _discard_output() -> None:
    """Send the rest of stdout nowhere, so that flushing it at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Imported in functions: `--help` and shell completion must be fast, and need none of it.


def show_error(error: FazmMemoryError, *, as_json: bool) -> None:
    from fazm_memory.cli.output import echo_err, print_json, single_line

    if as_json:
        print_json({"ok": False, **error.to_json()})
    echo_err(single_line(sentence(error.message)))
    if error.hint:
        echo_err(single_line(f"hint: {sentence(error.hint)}"))


# Words that people try for a command.
OTHER_WORDS = {
    "undo": "rewind ID --undo", "revert": "rewind", "back": "rewind", "todo": "context",
    "yesterday": "context", "list": "sessions", "log": "events", "history": "sessions",
    "find": "search", "delete": "forget",
    "costs": "cost", "price": "cost",
}  # fmt: skip


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    near = [OTHER_WORDS[name]] if name in OTHER_WORDS else get_close_matches(name, COMMANDS, n=1)
    suggestion = f"Did you mean `fazm-memory {near[0]}`? " if near else ""
    return f"hint: {suggestion}`fazm-memory --help` lists the commands.\n"


def clock(fixed: str | None) -> Callable[[], int]:
    """The machine's clock, or the fixed time of --now."""
    if fixed is None:
        return lambda: time.time_ns() // 1000
    try:
        at = parse_time(fixed)
    except TimeError as error:
        raise InvalidRequest(str(error)) from None
    return lambda: at


def open_memory(args: argparse.Namespace) -> Memory:
    """The `Memory` of this run, with the clock of --now or of the machine."""
    from fazm_memory import config
    from fazm_memory.app import Memory
    from fazm_memory.cli.output import echo_err

    now = clock(args.now)
    as_of = now() if args.now is not None and _shows_the_past(args) else None
    memory = Memory(config.load(), now, on_slow_open=echo_err, as_of=as_of)
    OPENED.append(memory)
    return memory


def _shows_the_past(args: argparse.Namespace) -> bool:
    """Whether a command shows what was known at --now."""
    if args.command == "artifacts":
        return not (args.done or args.from_file)
    if args.command == "rewind":
        return bool(args.dry_run)
    return args.command in SHOW_THE_PAST


# -- who runs a command: a person, or an agent in its shell ----------------------------------------------
#
# Agents set environment variables in the shells they start. An agent that removes them passes for a person:
# this prevents accidents, not abuse.

# Variables that agents set for their commands, and the agent's name here. Settings that a person may have in
# their own shell (CODEX_HOME, GEMINI_API_KEY, …) do not count.
MARKS = {
    "CLAUDECODE": "claude-code",
    "CODEX_THREAD_ID": "codex",
    "CODEX_SANDBOX": "codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "codex",
    "CODEX_CI": "codex",
    "GEMINI_CLI": "gemini",
    "OPENCODE": "opencode",
    "CURSOR_AGENT": "cursor",
    "COPILOT_CLI": "copilot",
    "AI_AGENT": "agent",
}


def agent_from_environment(environment: Mapping[str, str]) -> str | None:
    """The agent whose shell this is, or None."""
    return next((agent for mark, agent in MARKS.items() if environment.get(mark, "").strip()), None)


def calling_agent() -> str | None:
    """The agent that runs this command, or None for a person. Tells the user which."""
    from fazm_memory.cli.output import echo_err

    agent = agent_from_environment(os.environ)
    if agent is not None:
        echo_err(f"note: This runs in the shell of {agent}, so it is recorded as said by the agent.")
    return agent


def callers_source() -> str:
    """The source of the events that a command records.

    A command that an agent runs is never the user's word.
    """
    return "cli" if agent_from_environment(os.environ) is None else "record"


def _sync(args: argparse.Namespace) -> str | None:
    changes = args.verb in ("init", "join", "pair", "leave") or args.values or args.remove or args.name
    return "Changing what is synced" if changes else None


def _rewind(args: argparse.Namespace) -> str | None:
    """Only files are checked here; `app/rewind` checks whose words are taken back."""
    changes = (args.files or args.undo or args.force) and not args.dry_run
    return "Changing files" if changes else None


def _export(args: argparse.Namespace) -> str | None:
    return "Exporting secrets" if args.with_secrets else "Replacing a file" if args.force else None


# What a person must do, by command: what it is called for these arguments, or None if an agent may do it. A
# command that is not here reads, or records as the agent's word.
NEEDS_PERSON: dict[str, Callable[[argparse.Namespace], str | None]] = {
    "archive": lambda args: "Archiving a session",
    "context": lambda args: "Changing contexts" if args.pin or args.exclude or args.include else None,
    "continue": lambda args: None if args.dry_run else "Writing a session of another agent",
    "disconnect": lambda args: None if args.dry_run else "Disconnecting an agent",
    "exclude": lambda args: "Changing an exclusion" if args.app or args.folder else None,
    "export": _export,
    "folders": lambda args: None if args.action == "list" or args.dry_run else "Merging or removing a folder",
    "forget": lambda args: None if args.dry_run else "Deleting",
    "import-bundle": lambda args: "Trusting a bundle" if args.mine else None,
    "quarantine": lambda args: "Lifting a quarantine" if args.lift else None,
    "recording": lambda args: None if args.verb == "status" else "Pausing or resuming recording",
    "recover": lambda args: "Recovering a store",
    "replay": lambda args: "Repeating steps" if args.run and not args.dry_run else None,
    "restore": lambda args: None if args.dry_run else "Writing an agent's transcript",
    "resume": lambda args: "Changing files" if args.files and not args.dry_run else None,
    "retain": lambda args: None if args.dry_run else "Deleting",
    "rewind": _rewind,
    "serve": lambda args: "Changing the token" if args.new_token else None,
    "setup": lambda args: "Removing the setup" if args.remove else None,
    "sync": _sync,
    "timeline": lambda args: "The address of the page" if args.no_open or args.json else None,
}


def check_person(args: argparse.Namespace) -> None:
    """Raise Declined if only a person may run this and an agent's shell does."""
    agent = agent_from_environment(os.environ)
    needs = NEEDS_PERSON.get(args.command)
    what = needs(args) if agent is not None and needs is not None else None
    if what is not None:
        raise Declined(
            f"{what} needs a person. This is the shell of {agent}. Nothing was changed.",
            hint="Run the command in a terminal of your own.",
        )


if __name__ == "__main__":
    sys.exit(main())
