"""`fazm-memory setup`: the steps of the first launch, in a terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import Progress, echo, echo_err, paint, plural, print_json
from fazm_memory.errors import FazmMemoryError
from fazm_memory.text import sentence
from fazm_memory.translation import language_of_environment, set_language, translate_filled

if TYPE_CHECKING:
    from fazm_memory.app import AgentOverview, Memory, SetupChoice, SetupStep

STEPS = ("move", "connect", "accessibility", "folders", "login", "import")
COLOURS = {"+": "green", "-": "red", "@": "dim"}
MEGABYTE = 1_000_000


def setup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do every suggested step without asking")
    parser.add_argument(
        "--only", choices=STEPS, action="append", metavar="STEP", help="only this step (repeatable)"
    )
    parser.add_argument("--remove", action="store_true", help="disconnect all agents, do not launch at login")
    parser.epilog = f"Steps: {', '.join(STEPS)}. Without a terminal and without --yes nothing is changed."


def setup_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    chosen = memory.config.language
    set_language(language_of_environment(memory.config.environment) if chosen == "auto" else chosen)
    if sys.platform == "darwin":
        from fazm_memory.macos import MacSetup

        memory.setup.system = MacSetup(memory.config, in_app=False)
    if args.remove:
        removed = memory.setup.remove()
        print_json({"removed": removed}) if args.json else echo(
            f"Removed: {', '.join(removed) or 'nothing'}."
        )
        return 0
    steps = [step for step in memory.setup.steps() if not args.only or step.name in args.only]
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not args.yes and not args.json
    if args.json:
        done = [_result(memory, step, choice) for step, choice in _open(steps)] if args.yes else []
        print_json({"steps": [step.to_json() for step in steps], "done": done})
        return 1 if any(not result["ok"] for result in done) else 0
    if asks or args.yes:
        _go_through(memory, steps, asks=asks)
        memory.setup.finish()
    else:
        _preview(steps)
    return 0


def first_minute(
    memory: Memory, agents: list[AgentOverview], *, stopped: Callable[[], bool] = lambda: False
) -> None:
    """The first start: what was found, the last month with a bar, yesterday, and an offer to connect.

    `stopped` ends the import early. The next start goes on with it.
    """
    from fazm_memory.menubar import headline

    found = ", ".join(f"{agent.agent} ({plural(agent.files, 'file')})" for agent in agents)
    echo(f"Found {found}.")
    steps = {step.name: step for step in memory.setup.steps()}
    if "import" in steps:
        import_with_bar(memory, stopped)
    if stopped():
        return
    day, summary = headline(memory.recall.digest())
    if summary:
        echo(f"{day}: {summary}")
    if "connect" in steps and (offered := [choice for choice in steps["connect"].choices if not choice.done]):
        names = ", ".join(choice.id for choice in offered)
        if sys.stdin.isatty() and sys.stdout.isatty():
            echo(f"Not connected yet: {names}. Their edits are shown first.")
            for choice in filter(lambda choice: _asked(choice, steps["connect"]), offered):
                carry_out(memory, steps["connect"], choice)
        else:
            echo(f"Not connected yet: {names}. `fazm-memory setup` connects them.")
    memory.setup.finish()


def _open(steps: list[SetupStep]) -> list[tuple[SetupStep, SetupChoice]]:
    """What is suggested and not done yet."""
    return [
        (step, choice) for step in steps for choice in step.choices if choice.suggested and not choice.done
    ]


def _result(memory: Memory, step: SetupStep, choice: SetupChoice) -> dict[str, Any]:
    try:
        message = memory.setup.apply(step.name, choice.id)
    except FazmMemoryError as error:
        return {"step": step.name, "choice": choice.id, "ok": False, **error.to_json()}
    return {"step": step.name, "choice": choice.id, "ok": True, "message": message}


def _preview(steps: list[SetupStep]) -> None:
    """What would be done, for a script."""
    rows = _open(steps)
    for step in steps:
        if step.state == "done":
            echo(f"{step.title}: done.")
        elif step.note:
            echo(f"{step.title}: {step.note}")
    for step, choice in rows:
        echo(f"{step.title}: {choice.title}{f' ({choice.note})' if choice.note else ''}")
        for edit in choice.edits:
            echo(f"  changes {edit['path']}")
    echo_err(
        "Nothing was changed. `fazm-memory setup --yes` does these steps."
        if rows
        else "Nothing is left to do."
    )


def _go_through(memory: Memory, steps: list[SetupStep], *, asks: bool) -> None:
    for number, step in enumerate(steps, 1):
        echo(f"{paint(f'{number}/{len(steps)} {step.title}', 'bold')}{' ✓' if step.state == 'done' else ''}")
        if step.state == "done":
            continue
        echo(step.why)
        if step.note:
            echo_err(step.note)
        for choice in step.choices:
            wanted = choice.suggested or asks
            if not choice.done and wanted and (not asks or _asked(choice, step)):
                carry_out(memory, step, choice)
        echo()


def _asked(choice: SetupChoice, step: SetupStep) -> bool:
    """Show what would change, and ask. An empty answer skips."""
    for edit in choice.edits:
        for line in edit["diff"].splitlines():
            echo(paint(line, COLOURS[line[0]]) if line[:1] in COLOURS else line)
    note = f" ({choice.note})" if choice.note else ""
    return input(f"{step.action} {choice.title}{note}? [y/N] ").strip().lower() in ("y", "yes", "j", "ja")


def carry_out(memory: Memory, step: SetupStep, choice: SetupChoice) -> None:
    """Do it, with a progress bar for the import. An error is shown, and the next step follows."""
    try:
        if step.name == "import":
            import_with_bar(memory)
        else:
            message = memory.setup.apply(step.name, choice.id)
            echo(f"{paint('✓', 'green')} {choice.title}{f': {message}' if message else ''}")
    except FazmMemoryError as error:
        words = [sentence(translate_filled(part)) for part in (error.message, error.hint) if part]
        echo_err(f"{choice.title}: {' '.join(words)}")


def import_with_bar(memory: Memory, stopped: Callable[[], bool] = lambda: False) -> None:
    from fazm_memory.ingest import ImportStatistics

    tally, total = ImportStatistics(), memory.setup.month().bytes
    with Progress("Importing, MB", max(1, total // MEGABYTE)) as progress:
        for read in memory.setup.import_month(tally):
            progress.at(read // MEGABYTE)
            if stopped():
                break
    what = f"{plural(tally.events, 'event')} in {plural(len(tally.sessions), 'session')}"
    echo(f"{paint('✓', 'green')} {what} imported.")
