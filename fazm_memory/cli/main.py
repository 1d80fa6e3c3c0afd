"""The command line's front door: finds the command, loads only that, and turns errors into words.

Commands are a table of names; a command's module is imported when it is called, so that `--help` and
`--version` load neither the database nor any server.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from fazm_memory import __version__
from fazm_memory.errors import FazmMemoryError, StoreFull

# name: (module under cli.commands, one line of help). The module has `<name>_arguments` and `<name>`.
COMMANDS: dict[str, tuple[str, str]] = {
    "status": ("status", "recording or not and why, last event per source, sessions, size"),
    "run": ("run", "the companion: takes in what agents leave and keeps the context current"),
    "record": ("record", "take JSON lines on stdin from any agent; answers a line per line"),
    "import": ("importing", "backfill from the agents' own records; repeating it adds nothing"),
    "sessions": ("reading", "the sessions, latest first"),
    "show": ("reading", "one session: what was asked, done, decided, and what is open"),
    "events": ("reading", "a slice of a session's events"),
    "state": ("reading", "the typed state of a session, now or at a position"),
    "diff": ("comparing", "what changed between two positions or turns, and why"),
    "compare": ("comparing", "two sessions or branches beside each other, and why they differ"),
    "files": ("comparing", "which files a session changed, in all or in its last turns"),
    "retries": ("comparing", "what failed and was tried again: first this, then that"),
    "search": ("reading", "find what was done, said or decided"),
    "conventions": (
        "conventions",
        "how a session named files, which it skipped, what a new one would become",
    ),
    "context": ("context", "exactly what a new session in a folder would be given"),
    "facts": ("facts", "durable facts with who said so; add or retract your own"),
    "habits": ("habits", "what recurs across sessions: tasks, folders, tools, commands that fail first"),
    "agents": ("agents", "which agents are found here and which are joined"),
    "connect": ("agents", "join an agent: our hooks and MCP server in its own configuration"),
    "disconnect": ("agents", "take exactly that out again"),
    "open": ("lifecycle", "open a session"),
    "pause": ("lifecycle", "put a session aside"),
    "resume": ("lifecycle", "take a session up again"),
    "close": ("lifecycle", "close a session"),
    "archive": ("lifecycle", "archive a closed session; --undo brings it back"),
    "fork": ("rewinding", "a new session that stands where this one stood; --into a folder of its own"),
    "branches": ("rewinding", "the family of a session: what was forked from what, and where it stands"),
    "rewind": ("rewinding", "go back to a position, with --files as they were then; --undo takes it back"),
    "handoff": ("handing", "leave a question to a person or to the agent"),
    "questions": ("handing", "every question that waits for you"),
    "answer": ("handing", "answer or waive an open question"),
    "quarantine": ("handing", "hold a session, or an event and what came of it, back from every export"),
    "replay": ("replaying", "the effective steps of a session, as a plan or a script, or done again"),
    "mcp": ("serving", "the MCP server on stdin and stdout, for an agent's configuration"),
    "timeline": ("serving", "the timeline page in your browser; --no-open prints its address"),
    "serve": ("serving", "MCP over HTTP and the timeline page, for this machine only and with a token"),
    "recording": ("recording", "pause, resume or show recording"),
    "exclude": ("excluding", "apps and folders that are never watched; add one, or take it off"),
    "forget": ("forgetting", "forget a session, a time, or what matches"),
    "retain": ("retaining", "let go of old details as the retention policy says; --dry-run shows it"),
    "verify": ("integrity", "check the log against its chain"),
    "export": ("moving", "a session, with its parents and files, as one file for another machine"),
    "import-bundle": ("moving", "bring in such a file; repeating it adds nothing"),
    "recover": ("integrity", "set a damaged store aside and save all that verifies"),
    "doctor": ("doctor", "prove that it works here"),
    "demo": ("demo", "two days of filing, played on real files in a temporary folder"),
    "bench": ("bench", "measure it against floors taken in the same run"),
    "completion": ("completion", "print the completion script of your shell"),
}
DEFAULT = "status"
UNFORESEEN = 70
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
OPENED: list[Any] = []  # façades this run has made, closed when the command ends


def parser_for(name: str, parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Give the parser a command's arguments; the function that runs it."""
    module = import_module(f"fazm_memory.cli.commands.{COMMANDS[name][0]}")
    spelled = name.replace("-", "_")
    getattr(module, f"{spelled}_arguments")(parser)
    run: Callable[[argparse.Namespace], int] = getattr(module, f"{spelled}_command")
    return run


def common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print data as JSON")
    parser.add_argument("--now", metavar="TIME", help="go by this time instead of the clock (ISO 8601)")


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return (
        "usage: fazm-memory [COMMAND] [OPTIONS]\n\n"
        "The memory of a desktop agent: what it did, where, how and why.\n"
        "Without a command it prints the status.\n\ncommands:\n"
        + "\n".join(lines)
        + "\n\n`fazm-memory COMMAND --help` tells more. Everywhere: --json for data, --now TIME.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says what kind of trouble there was, if any."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by whoever started us
            setattr(sys, stream, open(os.devnull, mode))  # noqa: SIM115 (it lives as long as we do)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a letter is shown a question mark for it: no reason to end half way.
        sys.stdout.reconfigure(errors="replace")
    if arguments and arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if arguments and arguments[0] in ("-V", "--version"):
        print(f"fazm-memory {__version__}")
        return 0
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else DEFAULT
    if name not in COMMANDS:
        sys.stderr.write(f"fazm-memory: there is no command {name[:40]!r}\n{_close(name)}")
        return 2
    parser = argparse.ArgumentParser(prog=f"fazm-memory {name}", description=COMMANDS[name][1])
    run = parser_for(name, parser)
    common_arguments(parser)
    chosen = parser.parse_args(arguments)
    return guarded(run, chosen)


def guarded(run: Callable[[argparse.Namespace], int], chosen: argparse.Namespace) -> int:
    """The command, with what can go wrong told in one place."""
    try:
        code = run(chosen)
        sys.stdout.flush()
        return code
    except FazmMemoryError as error:
        show_error(error, as_json=chosen.json)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is left to say, and nobody to say it to.
        _stop_output()
        return 141
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; what was acknowledged is kept\n")
        return 130
    except Exception as error:
        if os.environ.get("FAZM_MEMORY_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            # The store tells of its own disk; what is left is where our output goes.
            _stop_output()
            told = f"the output could not be written: {error.strerror}; what was acknowledged is kept"
            show_error(StoreFull(told, hint="free some space, then run the command again"), as_json=False)
            return StoreFull.exit_code
        # A mistake of ours, said as one: nothing that was acknowledged is lost by it.
        sys.stderr.write(f"Something we did not foresee: {type(error).__name__}: {error!s:.300}\n")
        sys.stderr.write("hint: what was acknowledged is kept; FAZM_MEMORY_DEBUG=1 shows where\n")
        return UNFORESEEN
    finally:
        for memory in OPENED:
            memory.close()
        OPENED.clear()


def _stop_output() -> None:
    """What is still to be written to stdout goes nowhere, so that nothing fails over it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_error(error: FazmMemoryError, *, as_json: bool) -> None:
    from fazm_memory.cli.output import emit_json, talk

    if as_json:
        emit_json({"ok": False, **error.to_json()})
    talk(f"{error.title}: {error.message}")
    if error.hint:
        talk(f"hint: {error.hint}")


def _close(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    told = f"did you mean `fazm-memory {near[0]}`? " if near else ""
    return f"hint: {told}`fazm-memory --help` lists the commands\n"


def memory_of(chosen: argparse.Namespace) -> Any:
    """The façade for this run: configuration from the environment, the clock from --now or the machine."""
    from fazm_memory import config
    from fazm_memory.cli.output import clock, talk
    from fazm_memory.memory import Memory

    memory = Memory(config.load(), clock(chosen.now), news=talk)
    OPENED.append(memory)
    return memory


if __name__ == "__main__":
    sys.exit(main())
