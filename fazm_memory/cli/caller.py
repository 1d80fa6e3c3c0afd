"""Who runs a command: a person, or an agent in its shell.

Agents set environment variables in the shells they start. An agent that removes them passes for a person:
this prevents accidents, not abuse.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping

from fazm_memory.errors import Declined

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
    from fazm_memory.cli.output import echo_err  # late: `mcp` must start fast

    agent = agent_from_environment(os.environ)
    if agent is not None:
        echo_err(f"note: This runs in the shell of {agent}, so it is recorded as said by the agent.")
    return agent


def callers_source() -> str:
    """The source of events that a command records: an agent's word is never the user's."""
    return "cli" if agent_from_environment(os.environ) is None else "record"


def _sync(args: argparse.Namespace) -> str | None:
    changes = args.verb in ("init", "join", "pair", "leave") or args.values or args.remove or args.name
    return "Changing what is synced" if changes else None


def _rewind(args: argparse.Namespace) -> str | None:
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
    """Raise Declined if a person must run this command and this is the shell of an agent."""
    agent = agent_from_environment(os.environ)
    needs = NEEDS_PERSON.get(args.command)
    what = needs(args) if agent is not None and needs is not None else None
    if what is not None:
        raise Declined(
            f"{what} needs a person. This is the shell of {agent}. Nothing was changed.",
            hint="Run the command in a terminal of your own.",
        )
