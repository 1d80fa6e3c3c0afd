"""`verify`, `recover`, `export` and `import-bundle`: the store and bundle files."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import Progress, echo, format_size, paint, plural, plural_with_verb, print_json
from fazm_memory.errors import IntegrityBroken, InvalidRequest

if TYPE_CHECKING:
    from fazm_memory.app import Memory


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="only this session")
    parser.add_argument(
        "--quick", action="store_true", help="only check what is new since the last clean check"
    )


def verify_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    total = memory.store.sessions.totals()["events"] if not args.quick else None
    with Progress("verifying", total) as progress:
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
    with Progress("saving") as progress:
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
    if result["missing"]:
        some = ", ".join(result["missing_files"][:3])
        echo(f"{plural(result['missing'], 'changed file')} not in it, because no version is stored: {some}")
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
    echo(f"{result['file']}: {counts}, {format_size(result['bytes'])}")
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
