"""`agents`, `connect`, `disconnect`, `setup` and `import`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fazm_memory.agents import AGENTS, CONNECTABLE
from fazm_memory.app import Memory, import_acp, import_agents
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    Progress,
    echo,
    echo_err,
    fit,
    format_size,
    format_time,
    integer,
    paint,
    plural,
    print_json,
    table,
)
from fazm_memory.clock import to_datetime
from fazm_memory.errors import Declined, FazmMemoryError, InvalidRequest, NotFound
from fazm_memory.ingest import ImportStatistics
from fazm_memory.records import replace
from fazm_memory.text import plain_name, sentence, single_line
from fazm_memory.translation import (
    language_of_environment,
    set_language,
    translate,
    translate_count,
    translate_filled,
)

if TYPE_CHECKING:
    from fazm_memory.agents import ConnectPlan
    from fazm_memory.app import AgentOverview, Memory, SetupChoice, SetupStep


KEEP_DAYS, MOST_DAYS = 3650, 36_500
OFFER = (
    "Claude Code deletes its transcripts {days} days after their last change."
    " Raise that to {wanted} days (cleanupPeriodDays)? [y/N] "
)
COLOURS = {"+": "green", "-": "red", "@": "dim"}


def agents_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def agents_command(args: argparse.Namespace) -> int:
    from fazm_memory.app import agent_overviews

    memory = open_memory(args)
    found = agent_overviews(memory)
    if args.json:
        print_json([agent.to_json() for agent in found])
        return 0
    now = memory.now()
    rows = [
        (
            agent.agent,
            f"{plural(agent.files, 'file')}, {format_size(agent.bytes)}" if agent.files else "none",
            format_time(agent.last_record, now) if agent.last_record else "-",
            agent.connection_text() if agent.here else "-",
            format_time(agent.last_hook, now) if agent.last_hook else "-",
        )
        for agent in found
        if agent.files or agent.here
    ]
    if rows:
        table(rows, ("agent", "records", "last used", "connected", "last hook"))
    others = [agent.agent for agent in found if not (agent.files or agent.here)]
    if rows and others:
        echo(paint(fit(f"not found: {', '.join(others)}", lines=3, indent=2), "dim"))
    for agent in found:
        if agent.trouble and agent.here:
            echo_err(f"{agent.agent}: {agent.trouble}")
    if not any(agent.files or agent.here for agent in found):
        echo(
            fit(
                f"No agent found on this machine. Use one of them once: {', '.join(others)}.",
                lines=4,
                indent=0,
            )
        )
        echo("`fazm-memory record` records any other agent.")
    return 0


def connect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help=f"one of {', '.join(CONNECTABLE)}")
    parser.add_argument("--tools", choices=("small", "full"), help="which MCP tools it gets: five, or all")
    parser.add_argument(
        "--keep-days", type=integer, metavar="N",
        help="let Claude Code keep its transcripts for N days (cleanupPeriodDays)",
    )  # fmt: skip
    _edit_arguments(parser)


def disconnect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", metavar="AGENT", help=f"one of {', '.join(CONNECTABLE)}")
    parser.add_argument("--all", action="store_true", help="every agent")
    _edit_arguments(parser)


def _edit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show the changes")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def connect_command(args: argparse.Namespace) -> int:
    from fazm_memory.agents import plan_connect

    _check_keep_days(args)
    result = _carry_out(args, args.agent, plan_connect, connect=True)
    if args.json:
        print_json(result)
    return 0


def _check_keep_days(args: argparse.Namespace) -> None:
    """Offer, at a terminal, to let Claude Code keep its transcripts for longer."""
    from fazm_memory.agents import cleanup_days
    from fazm_memory.app import connection_setup

    if args.keep_days is not None:
        if args.agent != "claude-code":
            raise InvalidRequest("--keep-days is a setting of claude-code.")
        if not 1 <= args.keep_days <= MOST_DAYS:
            raise InvalidRequest(f"--keep-days must be from 1 to {MOST_DAYS:,}.")
        return
    if args.agent != "claude-code" or args.yes or args.json or args.dry_run or not _at_terminal():
        return
    days = cleanup_days(connection_setup(open_memory(args).config).places)
    if days < KEEP_DAYS and _answer(OFFER.format(days=days, wanted=KEEP_DAYS)) in ("y", "yes"):
        args.keep_days = KEEP_DAYS


def disconnect_command(args: argparse.Namespace) -> int:
    from fazm_memory.agents import plan_disconnect

    if args.all == (args.agent is not None):
        raise InvalidRequest("Name one agent, or use --all.", hint=f"agents: {', '.join(CONNECTABLE)}")
    results: list[dict[str, Any]] = []
    code = 0
    for agent in CONNECTABLE if args.all else (args.agent,):
        try:
            results.append(_carry_out(args, agent, plan_disconnect, connect=False))
        except FazmMemoryError as error:
            if not args.all or isinstance(error, Declined):
                raise
            # One broken file must not keep the others connected.
            echo_err(f"{agent}: {error.message}")
            results.append({"agent": agent, "ok": False, **error.to_json()})
            code = error.exit_code
    if args.json:
        print_json(results if args.all else results[0])
    return code


def _carry_out(args: argparse.Namespace, agent: str, make_plan: Any, *, connect: bool) -> dict[str, Any]:
    """Show the edits, ask, make them. Returns them for --json."""
    from fazm_memory.agents import apply_plan
    from fazm_memory.app import connection_setup

    memory = open_memory(args)
    setup = replace(connection_setup(memory.config), tools=getattr(args, "tools", None))
    setup = replace(setup, keep_days=getattr(args, "keep_days", None))
    plan = make_plan(agent, setup)
    if not args.json:
        _show(plan, connect)
    backups = []
    if not args.dry_run:
        _confirm(args, plan)
        # Also when the agent's files do not change: our own scripts may be outdated.
        stamp = f"{to_datetime(memory.now()):%Y-%m-%dT%H%M%S}"
        backups = apply_plan(plan, setup, stamp=stamp)
        if connect:
            memory.recall.export_contexts()  # for the first session
    changes = [{"path": str(edit.path), "diff": edit.diff()} for edit in plan.edits]
    result = {"agent": agent, "changes": changes, "dry_run": args.dry_run}
    result |= {"backups": [str(path) for path in backups], "notes": list(plan.notes)}
    if args.json:
        return result
    if args.dry_run:
        echo_err("Nothing was changed.")
        return result
    for path in backups:
        echo_err(f"backup: {path}")
    echo(f"{agent} is {'connected' if connect else 'disconnected'}.")
    for note in plan.notes:
        echo(note)
    return result


def _show(plan: ConnectPlan, connect: bool) -> None:
    if not plan.edits:
        echo(f"Nothing to change. {plan.agent} is {'already' if connect else 'not'} connected.")
    for edit in plan.edits:
        if edit.after is None:
            echo(f"{edit.path} contains only our settings and is removed.")
        text, reformatted = edit.readable()
        if reformatted:
            echo(f"{edit.path} has long lines. They are split here; the file keeps its layout.")
        for line in text.splitlines():
            echo(paint(line, COLOURS[line[0]]) if line[:1] in COLOURS else line)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _answer(question: str) -> str:
    """What a person answers, in lower case. Nothing if the input ends (Ctrl-D)."""
    try:
        return input(question).strip().lower()
    except EOFError:
        echo()
        return ""


def _confirm(args: argparse.Namespace, plan: ConnectPlan) -> None:
    """Ask for confirmation at a terminal. Scripts are not asked."""
    if not plan.edits or args.yes or args.json or not _at_terminal():
        return
    if _answer("Make these changes? [y/N] ") not in ("y", "yes"):
        raise Declined("Nothing was changed.")


STEPS = ("move", "connect", "accessibility", "folders", "login", "import")
MEGABYTE = 1_000_000
SHORT_DIFF = 12  # lines of an edit that are shown without being asked for


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
        return _remove(args, memory)
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


def _remove(args: argparse.Namespace, memory: Memory) -> int:
    removed, failed = memory.setup.remove()
    if args.json:
        print_json({"removed": removed, "failed": {name: error.to_json() for name, error in failed.items()}})
    else:
        echo(translate("Removed: {names}.", names=", ".join(removed) or translate("nothing")))
    for name, error in failed.items():
        echo_err(f"{name}: {translate_filled(error.message)}")
    return max((error.exit_code for error in failed.values()), default=0)


def first_minute(
    memory: Memory, agents: list[AgentOverview], page: Any, *, stopped: Callable[[], bool] = lambda: False
) -> None:
    """The first start: agents found, import of the last month, yesterday, connect.

    `page` is served already, or None. `stopped` ends the import early; the next start goes on with it.
    """
    from fazm_memory.menubar import headline

    found = ", ".join(f"{agent.agent} ({plural(agent.files, 'file')})" for agent in agents)
    echo(f"Found {found}.")
    steps = {step.name: step for step in memory.setup.steps()}
    if "import" in steps:
        if page is not None:
            echo(f"The timeline can be used while this is read (the link works once): {page.one_time_url()}")
        import_with_bar(memory, stopped)
    if stopped():
        return
    day, summary = headline(memory.recall.digest())
    if summary:
        stop = "" if summary.endswith("…") else "."
        echo(f"{day}: {summary}{stop} `fazm-memory context` shows what was done and what is open.")
    if "connect" in steps and (offered := [choice for choice in steps["connect"].choices if not choice.done]):
        names = ", ".join(choice.id for choice in offered)
        if sys.stdin.isatty() and sys.stdout.isatty():
            echo(f"Not connected yet: {names}. A connected agent reports at once and gets its context.")
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
            echo(f"{step.title}: {translate('done')}.")
        elif step.note:
            echo(f"{step.title}: {step.note}")
    for step, choice in rows:
        echo(f"{step.title}: {choice.title}{f' ({choice.note})' if choice.note else ''}")
        for edit in choice.edits:
            echo(f"  {translate('changes {path}', path=edit['path'])}")
    echo_err(
        translate("Nothing was changed. `fazm-memory setup --yes` does these steps.")
        if rows
        else translate("Nothing is left to do.")
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


QUESTIONS = {"connect": "Connect {what}?", "folders": "Watch {what}?", "import": "Import {what}?"}


def _asked(choice: SetupChoice, step: SetupStep) -> bool:
    """Say or show what would change, and ask. An empty answer skips."""
    note = f" ({choice.note})" if choice.note else ""
    question, hidden = translate(QUESTIONS.get(step.name, "{what}?"), what=f"{choice.title}{note}"), False
    for edit in choice.edits:
        lines = edit["diff"].splitlines()
        hidden = hidden or len(lines) > SHORT_DIFF
        if len(lines) > SHORT_DIFF:
            added, removed = (sum(_is_change(line, sign) for line in lines) for sign in "+-")
            echo(
                translate_count(
                    added,
                    "This adds {n} line to {path} and removes {removed}. A copy is kept.",
                    "This adds {n} lines to {path} and removes {removed}. A copy is kept.",
                    path=edit["path"],
                    removed=removed,
                )
            )
        else:
            _show_diff(lines)
    answers = translate("[y/N, s: show the changes]" if hidden else "[y/N]")
    answer = _answer(f"{question} {answers} ")
    if hidden and answer in ("s", "show"):
        for edit in choice.edits:
            _show_diff(edit["diff"].splitlines())
        answer = _answer(f"{question} {translate('[y/N]')} ")
    return answer in ("y", "yes", "j", "ja")


def _is_change(line: str, sign: str) -> bool:
    return line.startswith(sign) and not line.startswith(sign * 3)


def _show_diff(lines: list[str]) -> None:
    for line in lines:
        echo(paint(line, COLOURS[line[0]]) if line[:1] in COLOURS else line)


def carry_out(memory: Memory, step: SetupStep, choice: SetupChoice) -> None:
    """Carry out a step, with a progress bar for the import.

    An error is shown, and the next step follows.
    """
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

    statistics, total = ImportStatistics(), memory.setup.month().bytes
    with Progress(translate("Importing"), max(1, total // MEGABYTE), "MB") as progress:
        for read in memory.setup.import_month(statistics):
            progress.at(read // MEGABYTE)
            if stopped():
                break
    events, sessions = translate_count(statistics.events, "{n} event", "{n} events"), len(statistics.sessions)
    imported = translate_count(
        sessions, "{events} in {n} session imported.", "{events} in {n} sessions imported.", events=events
    )
    echo(f"{paint('✓', 'green')} {imported}")


SHOWN = 5


def import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="*", metavar="AGENT|PATH", help="an agent, files or folders (default: all)"
    )
    parser.add_argument(
        "--acp", metavar="COMMAND", help="start an agent that speaks ACP and import the sessions it lists"
    )
    parser.epilog = (
        f"Agents: {', '.join(AGENTS)}. You can stop and repeat an import: nothing is recorded twice."
    )


def import_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.acp is not None:
        return _import_acp(memory, args)
    agent, paths = _parse_sources(args.what)
    work = import_agents(memory, agent=agent, paths=paths)
    began = time.monotonic()
    statistics = ImportStatistics()
    with Progress("Importing", max(1, work.bytes // MEGABYTE), "MB") as progress:
        for wave in work.waves:
            statistics.add(wave)
            progress.at(statistics.bytes // MEGABYTE)
    memory.store.index_all()
    if statistics.events or not memory.recall.exported_today():
        memory.recall.export_contexts()  # new sessions are told about it
    if args.json:
        print_json({"agent": agent, "found": work.found, **statistics.to_json()})
    else:
        _report(statistics, work.found, time.monotonic() - began, agent)
    return 0


def _import_acp(memory: Memory, args: argparse.Namespace) -> int:
    command = shlex.split(args.acp)
    if args.what or not command:
        raise InvalidRequest("--acp takes the command of one agent, and no agent or path beside it.")
    result = import_acp(memory, command)
    memory.store.index_all()
    memory.recall.export_contexts()
    if args.json:
        print_json(result)
        return 0
    counted = f"{plural(result['events'], 'new event')} from {plural(result['sessions'], 'session')}"
    echo(f"{counted} of {result['agent']}, over ACP. {plural(result['known'], 'event')} already here.")
    if result["skipped"]:
        echo(f"{plural(result['skipped'], 'session')} left out: known from the agent's own records.")
    for session, trouble in list(result["troubles"].items())[:SHOWN]:
        echo_err(f"not read: {session}: {trouble}")
    return 0


def _parse_sources(what: list[str]) -> tuple[str | None, list[Path]]:
    """The agent, if the first word names one, and the paths."""
    agent = what[0] if what and what[0] in AGENTS else None
    names = what[1:] if agent else what
    paths = [Path(name).expanduser().absolute() for name in names]
    for name, path in zip(names, paths, strict=True):
        if not path.exists():
            raise NotFound(
                f'"{name}" is neither an agent nor a file or folder', hint=f"Agents: {', '.join(AGENTS)}"
            )
    return agent, paths


def _report(statistics: ImportStatistics, found: dict[str, int], seconds: float, agent: str | None) -> None:
    if not found:
        echo(f"No records of {agent or 'any agent'} found on this machine. Nothing to import.")
        echo_err("hint: `fazm-memory agents` lists the agents. `fazm-memory record` records any other agent.")
        return
    where = ", ".join(f"{agent} {plural(count, 'file')}" for agent, count in sorted(found.items()))
    # The rows of a database are not counted in bytes.
    size = f"{format_size(statistics.bytes)} of records" if statistics.bytes else "databases"
    echo(f"{plural(statistics.events, 'new event')} from {size} ({where}), in {seconds:.1f} s")
    _warn(statistics)


def _warn(statistics: ImportStatistics) -> None:
    """Problems that did not stop the import."""
    counted: list[tuple[str, dict[str, Any]]] = [
        (
            f"{plural(sum(statistics.unknown.values()), 'record')} of unknown kinds, stored as they are",
            statistics.unknown,
        ),
        (f"{plural(sum(statistics.refused.values()), 'record')} refused", statistics.refused),
    ]
    for what, counts in counted:
        if counts:
            names = list(counts.items())[:SHOWN]
            echo_err(f"{what}: " + ", ".join(f"{plain_name(name)} ({count})" for name, count in names))
    if statistics.bad:
        places = [f"{path} ({count})" for path, count in statistics.bad_in.most_common(SHOWN)]
        echo_err(single_line(f"{plural(statistics.bad, 'line')} not readable, in {', '.join(places)}"))
    for path, trouble in list(statistics.troubles.items())[:SHOWN]:
        echo_err(single_line(f"not read: {path}: {trouble}"))
    if len(statistics.troubles) > SHOWN:
        echo_err(f"not read: {plural(len(statistics.troubles) - SHOWN, 'more file')} (see --json)")
    if statistics.lost_workers:
        echo_err("A helper process ended early. The import read the rest without it; nothing is missing.")
    not_copied = {path: why for path, why in statistics.not_copied.items() if path not in statistics.troubles}
    for path, trouble in list(not_copied.items())[:SHOWN]:
        echo_err(single_line(f"recorded, but its transcript is not copied: {path}: {trouble}"))
    if len(not_copied) > SHOWN:
        echo_err(f"not copied: {plural(len(not_copied) - SHOWN, 'more file')} (see --json)")
