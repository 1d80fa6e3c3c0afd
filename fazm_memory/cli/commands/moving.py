"""`export` and `import-bundle`: a session as one file, and that file as a session on another machine."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import Progress, emit_json, plural, say, size, they
from fazm_memory.errors import InvalidRequest


def _passphrase_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passphrase", action="store_true", help="ask for a passphrase at the terminal")
    parser.add_argument("--passphrase-file", metavar="FILE", help="read it from the first line of a file")


def export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("file", metavar="FILE", help="where to write the bundle")
    _passphrase_arguments(parser)
    parser.add_argument("--no-files", action="store_true", help="leave out the kept versions of files")
    parser.add_argument("--with-secrets", action="store_true", help="keep contents that look like secrets")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    parser.add_argument("--quarantined", action="store_true", help="also what is held back from exports")


def export_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    with Progress("packing") as progress:
        told = memory.export_bundle(
            chosen.id,
            Path(chosen.file),
            passphrase=_passphrase(chosen, twice=True),
            files=not chosen.no_files,
            secrets=chosen.with_secrets,
            force=chosen.force,
            quarantined=chosen.quarantined,
            progress=progress.at,
        )
    if chosen.json:
        emit_json(told)
        return 0
    say(f"{told['file']}: {plural(told['events'], 'event')} of {plural(told['sessions'], 'session')},"
        f" {plural(told['versions'], 'version')} of files, {size(told['bytes'])}")  # fmt: skip
    if told["left_out"]:
        say(f"{plural(told['left_out'], 'version')} left out: it looks as if there were a secret in it")
    if not told["sealed"]:
        say("it is not sealed: anybody who has the file can read it (--passphrase seals it)")
    say("on the other machine: fazm-memory import-bundle FILE")
    return 0


def import_bundle_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a bundle that `export` made")
    _passphrase_arguments(parser)
    parser.add_argument("--workspace", metavar="DIR", help="where the session's folder is on this machine")
    parser.add_argument("--mine", action="store_true", help="believe what it says of who said what")


def import_bundle_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    with Progress("unpacking") as progress:
        told = memory.import_bundle(
            Path(chosen.file),
            passphrase=_passphrase(chosen),
            workspace=chosen.workspace,
            mine=chosen.mine,
            progress=progress.at,
        )
    if chosen.json:
        emit_json(told)
        return 0
    new = f"{plural(told['added'], 'event')} and {plural(told['versions'], 'version')} of files"
    say(f"brought in {new}; {they(told['known'], 'event', 'were')} here already")
    for note in told["notes"]:
        say(f"  {note}")
    if told["session"]:
        at_work = memory.session(told["session"])["lifecycle"] not in ("paused", "closed")
        say(f"go on with it: fazm-memory resume {told['session'][:12]}{' --offer' if at_work else ''}")
        say(f"its files, as they were: fazm-memory fork {told['session'][:12]} --into DIR")
    return 0


def _passphrase(chosen: argparse.Namespace, *, twice: bool = False) -> str | None:
    if chosen.passphrase_file is not None:
        try:
            lines = Path(chosen.passphrase_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"{chosen.passphrase_file} cannot be read: {error}") from error
        given = lines[0] if lines else ""
    elif chosen.passphrase:
        if not sys.stdin.isatty():
            raise InvalidRequest("nobody is there to ask", hint="use --passphrase-file")
        given = getpass.getpass("passphrase: ")
        if twice and getpass.getpass("again: ") != given:
            raise InvalidRequest("the two are not the same")
    else:
        return None
    if not given:
        raise InvalidRequest("the passphrase is empty")
    return given
