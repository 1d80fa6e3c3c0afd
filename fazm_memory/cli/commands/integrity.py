"""`verify` and `recover`: is the log as it was written, and what to do when it is not."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import Progress, emit_json, paint, plural, say
from fazm_memory.errors import IntegrityBroken


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="only this session")
    parser.add_argument("--quick", action="store_true", help="go on from the last clean check")


def verify_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    total = memory.store.sessions.totals()["events"] if not chosen.quick else None
    with Progress("verifying", total) as progress:
        report = memory.verify(full=not chosen.quick, session=chosen.id, progress=progress.at)
    if chosen.json:
        emit_json(report.to_json())
        return 0 if report.clean else IntegrityBroken.exit_code
    for finding in report.findings:
        place = "" if finding.seq is None else f"@{finding.seq}"
        say(paint(f"{finding.session[:12]}{place}: {finding.what}", "red"))
    for note in report.notes:
        say(note)
    checked = f"{plural(report.events, 'event')} in {plural(report.sessions, 'session')}"
    if report.clean:
        gone = f", {report.forgotten} forgotten on purpose" if report.forgotten else ""
        say(f"{paint('clean', 'green')}: {checked}{gone}")
        return 0
    raise IntegrityBroken(
        f"{plural(len(report.findings), 'finding')} in {checked}",
        hint="keep a copy of the folder, then `fazm-memory recover` saves all that verifies",
    )


def recover_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose: what is damaged is set aside, never deleted."""


def recover_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    with Progress("saving") as progress:
        told = memory.recover(progress=progress.at)
    if chosen.json:
        emit_json(told)
        return 0
    if not told["needed"]:
        say("the log opens and verifies" if told["beside"] else told["notes"][0])
    else:
        saved = f"{plural(told['kept'], 'event')} of {plural(told['sessions'], 'session')}"
        say(f"saved {saved}; {told['lost']:,} lost")
        for note in told["notes"]:
            say(f"  {note}")
    for note in told["beside"]:
        say(note)
    if told["quarantine"] is not None:
        say(f"what was damaged is kept in {told['quarantine']}")
    return 0
