"""Commands that keep the store safe and in order, such as forget and verify."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fazm_memory.app import SELF_TEST, CheckFunction, run_checks, run_demo
from fazm_memory.cli.main import COMMANDS, clock, common_arguments, open_memory, parser_for
from fazm_memory.cli.output import (
    Progress,
    echo,
    format_size,
    paint,
    plural,
    plural_with_verb,
    print_json,
    single_line,
)
from fazm_memory.errors import IntegrityBroken, InvalidRequest

if TYPE_CHECKING:
    from fazm_memory.app import Memory
import os

from fazm_memory.cli.output import (
    echo_err,
    format_time,
    parse_moment,
)
from fazm_memory.clock import TimeError, parse_duration
from fazm_memory.errors import Declined


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="only this session")
    parser.add_argument(
        "--quick", action="store_true", help="only check what is new since the last clean check"
    )


def verify_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    total = memory.store.sessions.totals()["events"] if not args.quick else None
    with Progress("Verifying", total, "events") as progress:
        report = memory.maintenance.verify(full=not args.quick, session=args.id, progress=progress.at)
    if args.json:
        print_json(report.to_json())
        return 0 if report.clean else IntegrityBroken.exit_code
    for finding in report.findings:
        place = "" if finding.seq is None else f"@{finding.seq}"
        echo(paint(f"{finding.session[:12]}{place}: {finding.what}", "red"))
    for note in report.notes:
        echo(note)
    checked = f"{plural(report.events, 'event')} in {plural(report.sessions, 'session')}"
    if report.clean:
        gone = f", {report.forgotten} deleted on request" if report.forgotten else ""
        echo(f"{paint('Clean', 'green')}: {checked}{gone}.")
        return 0
    raise IntegrityBroken(
        f"{plural(len(report.findings), 'problem')} in {checked}",
        hint="Copy the folder, then run `fazm-memory recover` to save what verifies.",
    )


def recover_arguments(parser: argparse.ArgumentParser) -> None:
    """No options. Damaged files are moved, never deleted."""


def recover_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    with Progress("Saving", unit="events") as progress:
        result = memory.maintenance.recover(progress=progress.at)
    if args.json:
        print_json(result)
        return 0
    if not result["needed"]:
        echo("The log opens and verifies." if result["beside"] else result["notes"][0])
    else:
        saved = f"{plural(result['kept'], 'event')} of {plural(result['sessions'], 'session')}"
        echo(f"Saved {saved}, {result['lost']:,} lost.")
        for note in result["notes"]:
            echo(f"  {note}")
    for note in result["beside"]:
        echo(note)
    if result["quarantine"] is not None:
        echo(f"The damaged files are in {result['quarantine']}")
    return 0


def _passphrase_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passphrase", action="store_true", help="ask for a passphrase at the terminal")
    parser.add_argument(
        "--passphrase-file", metavar="FILE", help="read the passphrase from the first line of a file"
    )


def export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("file", metavar="FILE", help="where to write it")
    parser.add_argument(
        "--format", choices=("bundle", "atif", "markdown", "otel", "agent-trace"), default="bundle",
        help="bundle for another machine (default), ATIF v1.7, Markdown, OpenTelemetry spans, or who wrote"
        " which lines (Agent Trace)",
    )  # fmt: skip
    _passphrase_arguments(parser)
    parser.add_argument("--no-files", action="store_true", help="without the stored file versions")
    parser.add_argument("--with-secrets", action="store_true", help="include contents that look like secrets")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--quarantined", action="store_true", help="include quarantined events")
    parser.add_argument(
        "--send", action="store_true", help="also send spans to otlp_endpoint of the settings"
    )


def export_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.send and args.format == "bundle":
        raise InvalidRequest("--send needs --format otel.")
    if args.format != "bundle":
        return _export_as(memory, args)
    with Progress("packing") as progress:
        result = memory.bundles.export(
            args.id,
            Path(args.file),
            passphrase=_passphrase(args, twice=True),
            files=not args.no_files,
            secrets=args.with_secrets,
            force=args.force,
            quarantined=args.quarantined,
            progress=progress.at,
        )
    if args.json:
        print_json(result)
        return 0
    echo(f"{result['file']}: {plural(result['events'], 'event')} of {plural(result['sessions'], 'session')},"
        f" {plural(result['versions'], 'version')} of files, {format_size(result['bytes'])}")  # fmt: skip
    if result["sensitive"]:
        names = ", ".join(result["sensitive"][:5]) + (", …" if len(result["sensitive"]) > 5 else "")
        echo(f"It has versions of files that usually hold keys or passwords: {names}")
    if result["left_out"]:
        echo(f"{plural(result['left_out'], 'version')} left out because of a possible secret")
    if result["from_folder"]:
        echo(f"{plural(result['from_folder'], 'file')} taken from the folder, unchanged since the session")
    if result["missing"]:
        some = ", ".join(result["missing_files"][:3])
        why = "because of --no-files" if args.no_files else "because no version is stored"
        changed = result["missing"] - result["missing_read"]
        counts = [plural(changed, "changed file")] if changed else []
        counts += [plural(result["missing_read"], "read file")] if result["missing_read"] else []
        echo(f"{' and '.join(counts)} not in it, {why}: {some}")
    if not result["sealed"]:
        echo("The file is not encrypted: anyone who has it can read it. --passphrase encrypts it.")
    echo("On the other machine: fazm-memory import-bundle FILE")
    return 0


def _export_as(memory: Memory, args: argparse.Namespace) -> int:
    if args.passphrase or args.passphrase_file or args.no_files or args.with_secrets:
        raise InvalidRequest(
            f"--format {args.format} has no encryption and no contents of files.",
            hint="leave out --passphrase, --passphrase-file, --no-files and --with-secrets",
        )
    result = memory.bundles.export_as(
        args.id,
        Path(args.file),
        args.format,
        force=args.force,
        quarantined=args.quarantined,
        send=args.send,
    )
    if args.json:
        print_json(result)
        return 0
    counts = f"{plural(result['turns'], 'turn')}, {plural(result['calls'], 'tool call')}"
    if "files" in result:
        counts = f"lines of {plural(result['files'], 'file')}"
    echo(f"{result['file']}: {counts}, {format_size(result['bytes'])}")
    if result.get("files_left_out"):
        missing = plural(result["files_left_out"], "file")
        echo_err(f"Left out: {missing} without a stored version, outside the session's folder, or no text.")
    echo("The file is not encrypted: anyone who has it can read it.")
    if result["sent_to"]:
        echo(f"The spans were sent to {result['sent_to']}.")
    return 0


def import_bundle_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file from `export`, or an ATIF trajectory")
    _passphrase_arguments(parser)
    parser.add_argument("--workspace", metavar="DIR", help="the session's folder on this machine")
    parser.add_argument("--mine", action="store_true", help="trust its statements about who said what")


def import_bundle_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    with Progress("unpacking") as progress:
        result = memory.bundles.import_(
            Path(args.file),
            passphrase=_passphrase(args),
            workspace=args.workspace,
            mine=args.mine,
            progress=progress.at,
        )
    if args.json:
        print_json(result)
        return 0
    new = f"{plural(result['added'], 'event')} and {plural(result['versions'], 'version')} of files"
    echo(f"Imported {new}. {plural_with_verb(result['known'], 'event', 'were')} already here.")
    for note in result["notes"]:
        echo(f"  {note}")
    if result["session"]:
        at_work = memory.sessions.get(result["session"])["lifecycle"] not in ("paused", "closed")
        echo(f"Continue it: fazm-memory resume {result['session'][:12]}{' --offer' if at_work else ''}")
        echo(f"Get its files: fazm-memory fork {result['session'][:12]} --into DIR")
    return 0


def _passphrase(args: argparse.Namespace, *, twice: bool = False) -> str | None:
    if args.passphrase_file is not None:
        try:
            lines = Path(args.passphrase_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"Cannot read {args.passphrase_file}: {error}") from error
        passphrase = lines[0] if lines else ""
    elif args.passphrase:
        if not sys.stdin.isatty():
            raise InvalidRequest("--passphrase needs a terminal", hint="Use --passphrase-file.")
        passphrase = getpass.getpass("passphrase: ")
        if twice and getpass.getpass("again: ") != passphrase:
            raise InvalidRequest("The passphrases differ.")
    else:
        return None
    if not passphrase:
        raise InvalidRequest("The passphrase is empty.")
    return passphrase


# -- doctor and demo -------------------------------------------------------------------------------------

REPORT = "Please report this with the whole output."
MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "broken": ("✗", "red"), "not here": ("–", "dim")}


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--self-test", action="store_true", help="also start and stop a companion in a temporary folder"
    )


def doctor_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    more: list[tuple[str, CheckFunction]] = []
    if sys.platform == "darwin":
        from fazm_memory.macos import MAC_CHECKS  # only there

        more += MAC_CHECKS
    if args.self_test:
        more.append(SELF_TEST)
    checks = []
    for check in run_checks(memory, more):
        checks.append(check)
        if not args.json:
            mark, colour = MARKS[check.verdict]
            echo(f"{paint(mark, colour)} {check.name}: {single_line(check.detail)}")
            if check.hint:
                echo(f"    hint: {single_line(check.hint)}")
    broken = sum(check.verdict == "broken" for check in checks)
    if args.json:
        print_json({"ok": not broken, "checks": [check.to_json() for check in checks]})
    else:
        warnings = sum(check.verdict == "warning" for check in checks)
        errors = plural(broken, "error") if broken else "No errors"
        echo(f"\n{errors}, {plural(warnings, 'warning') if warnings else 'no warnings'}.")
        for check in checks:
            if check.verdict == "broken":
                echo(f"  {check.name} failed. {check.hint or REPORT}")
    return 1 if broken else 0


def demo_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def demo_command(args: argparse.Namespace) -> int:
    steps = run_demo(clock(args.now))
    if args.json:
        print_json([{"title": step.title, "text": step.text} for step in steps])
        return 0
    for number, step in enumerate(steps):
        echo(f"{'' if number == 0 else chr(10)}{paint(step.title, 'bold')}")
        echo(step.text.rstrip("\n"))
    return 0


# -- completion ------------------------------------------------------------------------------------------

SESSIONS = 60  # latest sessions that are offered
TITLE = 60  # characters of a session's title beside its id

# --json and --now TIME may stand before the command. Bash takes a time apart at its colons.
BASH = """_fazm_memory() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" at=1
    while [ "$at" -lt "$COMP_CWORD" ]; do
        case "${{COMP_WORDS[at]}}" in
            --json) at=$((at + 1));;
            --now) at=$((at + 2)); while [ "${{COMP_WORDS[at]}}" = ":" ]; do at=$((at + 2)); done;;
            *) break;;
        esac
    done
    [ "$at" -gt "$COMP_CWORD" ] && return
    if [ "$COMP_CWORD" -eq "$at" ]; then
        COMPREPLY=($(compgen -W "{commands} --help --version --json --now" -- "$word")); return
    fi
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
        --agent|--with) COMPREPLY=($(compgen -W "{agents}" -- "$word")); return;;
    esac
    case "${{COMP_WORDS[at]}}" in
{cases}
    esac
}}
_fazm_memory_ids() {{ fazm-memory completion ids 2>/dev/null | cut -f1; }}
complete -o default -F _fazm_memory fazm-memory
"""
# Works sourced and as a file in $fpath. In the second case it is loaded by the first Tab and must answer it.
ZSH = """#compdef fazm-memory
_fazm_memory() {{
    local -i at=2
    while (( at < CURRENT )); do
        case "$words[at]" in
            --json) at+=1;;
            --now) at+=2;;
            *) break;;
        esac
    done
    (( at > CURRENT )) && return
    if (( CURRENT == at )); then
        [[ "$PREFIX" == -* ]] && {{ compadd -- --help --version --json --now; return; }}
        local -a commands=(
{described}
        )
        _describe command commands; return
    fi
    case "$words[CURRENT-1]" in
        --agent|--with) compadd -- {agents}; return;;
    esac
    case "$words[at]" in
{cases}
    esac
}}
_fazm_memory_ids() {{
    local -a sessions=("${{(@f)$(fazm-memory completion ids 2>/dev/null | sed 's/:/ /g; s/\t/:/')}}")
    _describe -V session sessions
}}
if [[ "$zsh_eval_context[-1]" == loadautofunc ]]; then
    _fazm_memory "$@"
else
    compdef _fazm_memory fazm-memory
fi
"""
# Only the first word is the command: `search record` searches.
FISH = """function __fazm_memory_command
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --json
                set -e words[1]
            case --now
                set -e words[1]
                set -q words[1]; and set -e words[1]
            case '*'
                echo $words[1]
                return
        end
    end
end
function __fazm_memory_runs
    set -l command (__fazm_memory_command)
    test "$command" = "$argv[1]"
end
function __fazm_memory_is_first
    set -l command (__fazm_memory_command)
    test -z "$command"
end
complete -c fazm-memory -f -n __fazm_memory_is_first -l help -d 'show help'
complete -c fazm-memory -f -n __fazm_memory_is_first -l version -d 'show the version'
complete -c fazm-memory -f -n __fazm_memory_is_first -l json -d 'print JSON'
complete -c fazm-memory -x -n __fazm_memory_is_first -l now -d 'use this time instead of the clock'
{lines}
"""


IDS = "ids"  # for the scripts themselves, so it is not offered


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", IDS))
    parser.epilog = "`ids` lists what the scripts offer for ID: the latest sessions with their titles."


def completion_command(args: argparse.Namespace) -> int:
    if args.shell == IDS:
        return _print_ids(args)
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]()
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def _print_ids(args: argparse.Namespace) -> int:
    sessions = open_memory(args).sessions.listing(limit=SESSIONS)
    if args.json:
        print_json([{"id": session["id"], "title": session["title"]} for session in sessions])
        return 0
    for session in sessions:
        print(f"{session['id'][:8]}\t{single_line(session['title'] or session['agent'])[:TITLE]}")
    return 0


def _arguments(name: str) -> list[Any]:
    parser = argparse.ArgumentParser(prog=name)
    parser_for(name, parser)
    common_arguments(parser)
    return parser._actions


def takes_session(name: str) -> bool:
    """Whether an argument of a command is a session."""
    return any(action.metavar and str(action.metavar).startswith("ID") for action in _arguments(name)
               if not action.option_strings)  # fmt: skip


def agent_names() -> list[str]:
    from fazm_memory.agents import AGENTS

    return list(AGENTS)


def options(name: str) -> list[str]:
    """What the shell can complete after a command: options, choices and agents."""
    words: list[str] = []
    for action in _arguments(name):
        if not action.option_strings and str(action.metavar).startswith("AGENT"):
            words += agent_names()
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices:
            words += [str(word) for word in action.choices if word != IDS]
    return words


def _bash() -> str:
    cases = []
    for name in COMMANDS:
        ids = " $(_fazm_memory_ids)" if takes_session(name) else ""
        cases.append(f'    {name}) COMPREPLY=($(compgen -W "{" ".join(options(name))}{ids}" -- "$word"));;')
    return BASH.format(commands=" ".join(COMMANDS), cases="\n".join(cases), agents=" ".join(agent_names()))


def _zsh() -> str:
    described = "\n".join(f"            {_quoted(f'{name}:{text}')}" for name, (_, text) in COMMANDS.items())
    cases = []
    for name in COMMANDS:
        ids = '[[ "$PREFIX" != -* ]] && _fazm_memory_ids; ' if takes_session(name) else ""
        cases.append(f"    {name}) {ids}compadd -- {' '.join(options(name))} || _files;;")
    return ZSH.format(described=described, cases="\n".join(cases), agents=" ".join(agent_names()))


def _fish() -> str:
    lines = [
        f"complete -c fazm-memory -f -n __fazm_memory_is_first -a {name} -d {_quoted(text)}"
        for name, (_, text) in COMMANDS.items()
    ]
    for name in COMMANDS:
        runs = f"complete -c fazm-memory -n '__fazm_memory_runs {name}'"
        for word in options(name):
            if word in ("--agent", "--with"):
                lines.append(f"{runs} -l {word[2:]} -x -a '{' '.join(agent_names())}'")
                continue
            lines.append(f"{runs} {f'-l {word[2:]}' if word.startswith('--') else f'-f -a {word}'}")
        if takes_session(name):
            lines.append(f"{runs} -f -a '(fazm-memory completion ids 2>/dev/null)'")
    return FISH.format(lines="\n".join(lines))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


def recording_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("pause", "resume", "status"), nargs="?", default="status")
    parser.add_argument(
        "duration", nargs="?", metavar="DURATION", help="such as 15m or 1h30m (default: until resumed)"
    )


def recording_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.duration is not None and args.verb != "pause":
        raise InvalidRequest("Only `recording pause` takes a duration.")
    if args.verb == "pause":
        status = memory.recording.pause(None if args.duration is None else _parse_pause(args.duration))
    elif args.verb == "resume":
        status = memory.recording.resume()
    else:
        status = memory.recording.status()
    if args.json:
        print_json(status)
    elif status["recording"]:
        echo("Recording.")
    else:
        since = format_time(status["paused_since"], memory.now())
        until = status["paused_until"] and format_time(status["paused_until"], memory.now())
        echo(f"Paused since {since}, until {until or 'you resume it'}.")
    return 0


def _parse_pause(text: str) -> int:
    try:
        return parse_duration(text)
    except TimeError as error:
        raise InvalidRequest(str(error)) from None


def exclude_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--app", metavar="NAME", help="an app name or bundle identifier")
    what.add_argument("--folder", metavar="DIR", help="a folder and everything in it")
    parser.add_argument("--remove", action="store_true", help="remove it from the list")


def exclude_command(args: argparse.Namespace) -> int:
    if args.remove and args.app is None and args.folder is None:
        raise InvalidRequest("--remove needs --app or --folder")
    if args.folder is not None and not args.folder.strip():  # would mean the current folder
        raise InvalidRequest("The folder is empty", hint="Use `.` for the current folder.")
    memory = open_memory(args)
    if args.app is not None:
        (memory.recording.include_app if args.remove else memory.recording.exclude_app)(args.app)
    if args.folder is not None:
        folder = os.path.abspath(os.path.expanduser(args.folder))
        (memory.recording.include_folder if args.remove else memory.recording.exclude_folder)(folder)
    excluded = {**memory.recording.excluded_apps(), "folders": memory.recording.excluded_folders()}
    if args.app is not None or args.folder is not None:
        excluded["obeyed"] = memory.recording.wait_for_companion()
    if args.folder is not None and not args.remove:
        excluded["stored"] = memory.recording.stored_of_folder(folder)
    if args.json:
        print_json(excluded)
        return 0
    for name in (*excluded["settings"], *excluded["apps"]):
        echo(f"app     {name}")
    for name in excluded["folders"]:
        echo(f"folder  {name}")
    echo("Always excluded: password managers, private windows and password fields.")
    if "obeyed" in excluded:
        echo(OBEYED[excluded["obeyed"]])
    if args.app is not None and not args.remove:
        echo("What was recorded before stays. `fazm-memory forget --match NAME` deletes it.")
    if any((stored := excluded.get("stored", {})).values()):
        counts = f"{plural(stored['versions'], 'file version')}, {plural(stored['sessions'], 'session')}"
        echo(f"Stored before and still there: {counts}. `fazm-memory forget --match {folder}` deletes it.")
    return 0


OBEYED = {
    True: "The companion obeys it now.",
    False: "The companion has not answered yet. `fazm-memory doctor` checks it.",
    None: "The companion is not running. It obeys when it starts.",
}


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("--since", metavar="TIME", help="events at or after this time")
    parser.add_argument("--until", metavar="TIME", help="events before this time")
    parser.add_argument("--match", metavar="TEXT", help="events and files that contain this text")
    parser.add_argument(
        "--set-aside", action="store_true", help="only the damaged stores that `recover` set aside"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask; required without a terminal")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")


def forget_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    selection = {
        "since": None if args.since is None else parse_moment(args.since, memory.now()),
        "until": None if args.until is None else parse_moment(args.until, memory.now()),
        "match": args.match,
    }
    if args.set_aside and (args.id is not None or any(value is not None for value in selection.values())):
        raise InvalidRequest("--set-aside cannot be combined with other options.")

    def forget(*, dry_run: bool) -> dict[str, Any]:
        if args.set_aside:
            return memory.maintenance.forget_set_aside(dry_run=dry_run)
        return memory.maintenance.forget(args.id, dry_run=dry_run, **selection)

    if not args.dry_run and not args.yes:
        _confirm(_selected(forget(dry_run=True)))
    result = forget(dry_run=args.dry_run)
    if args.json:
        print_json(result)
        return 0
    echo(f"{'Would delete' if args.dry_run else 'Deleted'} {_selected(result)}.")
    if result.get("kept"):
        marks = plural(result["kept"], "mark")
        echo(f"Kept without text: {marks} of forks, rewinds and quarantines.")
    for copy in result.get("remaining", ()):
        echo(f"Not deleted: {copy['what']}")
        echo(f"  {copy['why']} {copy['remove']}")
    return 0


def _selected(result: dict[str, Any]) -> str:
    """What is deleted, in words."""
    if "set_aside" in result:
        return plural(len(result["set_aside"]), "damaged store")
    words = f"{plural(result['events'], 'event')} in {plural(result['sessions'], 'session')}"
    copies = [f"{name}: {count:,}" for name, count in result["copies"].items()]
    return f"{words}, and copies ({', '.join(copies)})" if copies else words


def _confirm(what: str) -> None:
    """Ask for confirmation, because deletion is final. Without a terminal, refuse."""
    if not sys.stdin.isatty():
        raise Declined(
            f"This would delete {what} for good. Nothing was deleted.",
            hint="--yes deletes without asking. --dry-run shows what would be deleted.",
        )
    echo_err(f"This deletes {what} for good.")
    sys.stderr.write("Continue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined("Nothing was deleted.", hint="--yes deletes without asking.")


NAMES = {
    "actions": "details of actions",
    "messages": "messages of agents",
    "files": "file changes",
    "apps": "apps used",
    "prompts": "your requests",
    "archived": "archived, except your requests",
    "versions": "file versions",
}


def retain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")


def retain_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    with Progress("looking for old events") as progress:
        result = memory.maintenance.retain(dry_run=args.dry_run, progress=progress.at)
    if args.json:
        print_json(result)
        return 0
    for name, words in NAMES.items():
        days = result["policy"][name]
        echo(f"{words:<34} kept {plural(days, 'day') if days else 'forever'}")
    limit = result["policy"]["megabytes"]
    echo(f"{'size of the log':<34} {format_size(limit << 20) if limit else 'no limit'}")
    verb = "Would delete" if args.dry_run else "Deleted"
    what = f"{plural(result['events'], 'event')} of {plural(result['sessions'], 'session')}"
    echo(
        f"\n{verb} details of {what}, {format_size(result['bytes'])} of {format_size(result['store_bytes'])}"
    )
    for group, count in result["by_kind"].items():
        echo(f"  {NAMES[group]}: {plural(count['events'], 'event')}, {format_size(count['bytes'])}")
    if result.get("versions"):
        echo(f"  {NAMES['versions']}: {plural(result['versions'], 'version')}")
    for session in result.get("left_alone", ()):
        echo(f"Skipped session {session[:12]}: it does not verify. See `fazm-memory verify`.")
    if not args.dry_run and result["events"]:
        size = format_size(result["store_bytes_after"])
        echo(f"The log now takes {size}. The state of every session is unchanged.")
    return 0
