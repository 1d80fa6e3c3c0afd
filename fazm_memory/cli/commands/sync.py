"""`sync`: the same memory on several machines."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fazm_memory.app import Memory
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    Progress,
    echo,
    echo_err,
    format_size,
    format_time,
    non_negative_int,
    plural,
    print_json,
    sync_progress_text,
    table,
)
from fazm_memory.errors import Declined, FazmMemoryError, InvalidRequest, NotFound

VERBS = ("round", "init", "join", "status", "devices", "pair", "leave", "files", "transcripts", "folders")
WAIT = 600.0  # seconds that pairing waits for the other machine
WAITING = f"Waiting for the other machine, for at most {WAIT / 60:.0f} minutes. Ctrl-C stops."


def sync_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=VERBS, nargs="?", default="round", help="default: one round of sync")
    parser.add_argument(
        "values", nargs="*", metavar="VALUE",
        help="files, transcripts: on or off; folders: a folder of another machine, and that of this one",
    )  # fmt: skip
    parser.add_argument(
        "--files", action="store_true", help="init, join: also share versions of files that sessions changed"
    )
    parser.add_argument(
        "--transcripts", action="store_true", help="init, join: also share the agents' own transcripts"
    )
    parser.add_argument(
        "--limit", type=non_negative_int, metavar="MB", help="files, transcripts: the most to share"
    )
    parser.add_argument("--folder", metavar="DIR", help="init, join: a folder that the machines share")
    parser.add_argument(
        "--s3", metavar="URL", help="init, join: s3://BUCKET/PREFIX?endpoint=URL, gs:// or az://"
    )
    parser.add_argument("--name", help="init, join, devices: the name of this machine")
    parser.add_argument(
        "--recovery-key-file", metavar="FILE", help="join: a file with the recovery key, or -"
    )
    parser.add_argument("--code", help="join: the code that `sync pair` shows on the other machine")
    parser.add_argument(
        "--remove", metavar="DEVICE", help="devices: remove a lost device and change the keys"
    )
    parser.add_argument("--force", action="store_true", help="init: make a second vault beside another")
    parser.add_argument("--forget-keys", action="store_true", help="leave: also delete this machine's keys")
    parser.add_argument(
        "--yes", action="store_true", help="do not ask whether the fingerprints match, or whether to remove"
    )


def sync_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.values and args.verb not in ("files", "transcripts", "folders"):
        raise InvalidRequest(f'Unknown word "{args.values[0][:40]}".', hint="`fazm-memory sync --help`")
    if args.verb == "init":
        return _init(memory, args)
    answer = COMMANDS[args.verb](memory, args)
    if args.json:
        print_json(answer)
    return 0


def _round(memory: Memory, args: argparse.Namespace) -> Any:
    with Progress("Syncing events") as bar:
        report = memory.sync.round(
            progress=bar.at, busy=lambda: echo_err("Another sync is running. Waiting until it is done.")
        )
    if not args.json:
        _show_report(report)
    return report


def _show_report(report: dict[str, Any]) -> None:
    done = [
        f"{verb} {plural(report[what], 'event')}{rest}."
        for verb, what, rest in (
            ("Received", "imported", ""),
            ("Uploaded", "exported", ""),
            ("Forgot", "forgot", ", as another machine asked"),
        )
        if report[what]
    ]
    if done:
        echo(" ".join(done))
    elif report["uploads"]:
        echo("Received nothing new. Uploaded what was forgotten, quarantined or shared here.")
    elif not report["problems"]:
        echo("Up to date: nothing new here or there.")
    for name in report["joined"]:
        remove = f"fazm-memory sync devices --remove {shlex.quote(name)}"
        echo(f"“{name}” joined the vault. If it is not yours: `{remove}`.")
    for problem in report["problems"]:
        echo_err(f"problem: {problem}")


def _init(memory: Memory, args: argparse.Namespace) -> int:
    """Make a vault: show the recovery key, then upload.

    The key must be seen even if the upload fails or is interrupted.
    """
    answer = memory.sync.init(
        folder=args.folder, url=args.s3, name=args.name, force=args.force, files=args.files,
        transcripts=args.transcripts,
    )  # fmt: skip
    if args.json:
        print_json(answer)
    else:
        echo(f"Made a vault with this machine, “{answer['name']}”.")
        echo("The recovery key opens everything. It is shown only now and stored nowhere. Write it down:")
        echo(f"\n  {answer['recovery_key']}\n")
        echo("On another machine: `fazm-memory sync join`, with the key or with `sync pair` here.")
    sys.stdout.flush()
    try:
        with Progress("Uploading events") as bar:
            report = memory.sync.round(progress=bar.at)
    except FazmMemoryError as error:
        if not args.json:
            raise
        echo_err(f"The vault is made, but nothing is uploaded yet: {error.message}")
        return error.exit_code  # one JSON document was printed already
    if not args.json:
        _show_report(report)
    return 0


def _join(memory: Memory, args: argparse.Namespace) -> Any:
    if (args.code is None) == (args.recovery_key_file is None):
        raise InvalidRequest("Joining needs a key.", hint="use --code CODE or --recovery-key-file FILE")
    where: dict[str, Any] = {"folder": args.folder, "url": args.s3, "name": args.name, "files": args.files}
    where["transcripts"] = args.transcripts
    with Progress("Events") as bar:
        if args.code is not None:
            echo_err(WAITING)
            answer = memory.sync.join_by_code(
                args.code, **where, confirm=_confirmer(args), wait=WAIT, progress=bar.at
            )
        else:
            answer = memory.sync.join(recovery=_read_key(args.recovery_key_file), **where, progress=bar.at)
    if not args.json:
        echo(f"Joined the vault as “{answer['name']}”.")
        _show_report(answer)
    return answer


def _read_key(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).expanduser().read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise NotFound(f"The file {name} cannot be read: {error.strerror}.") from error


def _pair(memory: Memory, args: argparse.Namespace) -> Any:
    def show(code: str) -> None:
        place = memory.sync.state.get("place")
        where = f"--folder {shlex.quote(place['folder'])}" if "folder" in place else f'--s3 "{place["url"]}"'
        echo_err("On the other machine run this, with the folder as it is called there:")
        echo_err(f"  fazm-memory sync join {where} --code {code}")
        echo_err(WAITING)

    answer = memory.sync.pair(show=show, confirm=_confirmer(args), wait=WAIT)
    if not args.json:
        echo(f"Joined: “{answer['name']}”.")
    return answer


def _confirmer(args: argparse.Namespace) -> Callable[[str, str], bool]:
    def confirm(fingerprint: str, who: str) -> bool:
        echo_err(f"Fingerprint with {who}: {fingerprint}")
        if args.yes:
            return True
        if not sys.stdin.isatty():
            raise Declined(
                "The fingerprint was not confirmed.", hint="--yes, if it is the same on both machines"
            )
        echo_err("Is it the same on both machines? [y/N]")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return confirm


def _devices(memory: Memory, args: argparse.Namespace) -> Any:
    if args.name is not None:
        memory.sync.rename(args.name)
        memory.sync.round()
    if args.remove is not None:
        if not args.yes and not sys.stdin.isatty():
            raise Declined(f"{args.remove} was not removed.", hint="--yes removes it without asking")
        if not args.yes:
            echo_err(f"Remove {args.remove}? It keeps what it has, and gets nothing new. [y/N]")
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise Declined(f"{args.remove} was not removed.")
        memory.sync.remove(args.remove)
    rows = memory.sync.devices()
    if not args.json:
        table(
            [
                [
                    row["id"][:8],
                    row["name"],
                    _when(row, memory.now()),
                    str(row["uploads"]),
                    str(row["read"]),
                    _remark(row),
                ]
                for row in rows
            ],
            ["id", "name", "last synced", "uploads", "read here", ""],
        )
    return rows


def _when(row: dict[str, Any], now: int) -> str:
    return "" if row["synced_at"] is None else format_time(row["synced_at"], now)


def _remark(row: dict[str, Any]) -> str:
    marks = (("this", "this machine"), ("removed", "removed"), ("left", "left"))
    return ", ".join(text for name, text in marks if row[name])


def _files(memory: Memory, args: argparse.Namespace) -> Any:
    _switch(memory, args, memory.sync.share_files)
    answer = memory.sync.file_sharing()
    if not args.json:
        _show_files(answer)
    return answer


def _switch(memory: Memory, args: argparse.Namespace, switch: Callable[..., Any]) -> None:
    if args.values:
        if args.values not in (["on"], ["off"]):
            raise InvalidRequest("Say on or off.", hint=f"`fazm-memory sync {args.verb} on`")
        switch(args.values == ["on"], limit=None if args.limit is None else args.limit * 1_000_000)
        memory.sync.round()


def _transcripts(memory: Memory, args: argparse.Namespace) -> Any:
    _switch(memory, args, memory.sync.share_transcripts)
    answer = memory.sync.transcript_sharing()
    if not args.json:
        _show_transcripts(answer)
    return answer


def _show_transcripts(answer: dict[str, Any]) -> None:
    _show_shared(answer, "Agents' own transcripts", "transcripts", "transcript")


def _show_files(answer: dict[str, Any]) -> None:
    _show_shared(answer, "File versions", "versions", "file version")


def _show_shared(answer: dict[str, Any], what: str, key: str, noun: str) -> None:
    if not answer["on"]:
        verb = "files" if key == "versions" else key
        echo(f"  {what} are not shared (`fazm-memory sync {verb} on`).")
        return
    most, bytes_ = format_size(answer["limit"]), format_size(answer["bytes"])
    echo(f"  {plural(answer[key], noun)} shared from here, {bytes_} of {most}")
    if answer["to_fetch"]:
        echo(f"  {plural(answer['to_fetch'], noun)} of other machines not fetched yet")


def _folders(memory: Memory, args: argparse.Namespace) -> Any:
    if args.values:
        if len(args.values) != 2:
            raise InvalidRequest("Name both folders.", hint="`fazm-memory sync folders THEIRS HERE`")
        memory.sync.name_folder(*args.values)
    rows = memory.sync.folders()
    if sys.stdin.isatty() and not args.json and not args.values:
        for row in [row for row in rows if row["here"] is None]:
            echo_err(f"Where is {row['theirs']} of “{row['device']}” on this machine? [Enter: not here]")
            memory.sync.name_folder(row["theirs"], sys.stdin.readline().strip())
        rows = memory.sync.folders()
    if not args.json:
        table(
            [[row["theirs"], row["device"] or "", str(row["sessions"]), _place(row)] for row in rows],
            ["folder", "machine", "sessions", "here"],
        )
    return rows


def _place(row: dict[str, Any]) -> str:
    if row["here"] is None:
        return "unclear: `fazm-memory sync folders FOLDER HERE`"
    return row["here"] or "not here"


def _leave(memory: Memory, args: argparse.Namespace) -> Any:
    answer = memory.sync.leave(forget_keys=args.forget_keys)
    if not args.json:
        echo("Left the vault. What was synced stays here and on the other machines.")
        if not answer["announced"]:
            echo_err("The vault could not be reached, so the other machines do not know yet.")
    return answer


def _status(memory: Memory, args: argparse.Namespace) -> Any:
    status = memory.sync.status()
    if not args.json:
        _show_status(status, memory.now())
    return status


def _show_status(status: dict[str, Any], now: int) -> None:
    if not status["active"]:
        echo(status["error"] or "This machine syncs with no other (`fazm-memory sync init`).")
        return
    when = "never" if status["last_ok"] is None else format_time(status["last_ok"], now)
    echo(f"“{status['name']}” in vault {status['vault'][:8]}, {status['place']}")
    echo(f"  last sync: {when}")
    if status["progress"]:
        echo(f"  {sync_progress_text(status['progress'])}")
    if status["error"]:
        echo(f"  last error: {status['error']} ({format_time(status['error_at'], now)})")
    for problem in status["problems"]:
        echo(f"  problem: {problem}")
    for row in status["devices"]:
        if not row["this"]:
            when = f"last synced {_when(row, now)}" if row["synced_at"] else "never synced"
            late = row["uploads"] - row["read"]
            rest = f", {plural(late, 'upload')} not read yet" if late else ""
            remark = _remark(row)
            echo(f"  {row['name']}{f' ({remark})' if remark else ''}: {when}{rest}")
    if status["forgotten_not_yet_by"]:
        echo(
            f"  What was forgotten here is not yet forgotten on: {', '.join(status['forgotten_not_yet_by'])}."
        )
    if status["sessions_waiting"]:
        forks = plural(status["sessions_waiting"], "fork")
        echo(f"  Not here yet, because the parent session is not: {forks}.")
    _show_files(status["files"])
    _show_transcripts(status["transcripts"])
    if status["folders_unclear"]:
        count = plural(len(status["folders_unclear"]), "folder")
        echo(f"  {count} of other machines not found here (`fazm-memory sync folders`)")
    totals = status["totals"]
    if totals:
        requests = sum(totals[name] for name in ("puts", "gets", "lists", "deletes"))
        sent, received = format_size(totals["sent"]), format_size(totals["received"])
        echo(f"  {plural(requests, 'request')}, {sent} sent, {received} received since this machine joined")
    if status["conditional_puts"] is False:
        echo("  The provider ignores conditional writes. Sync does not need them.")


COMMANDS: dict[str, Callable[[Memory, argparse.Namespace], Any]] = {
    "round": _round, "join": _join, "status": _status, "devices": _devices, "pair": _pair,
    "leave": _leave, "files": _files, "transcripts": _transcripts, "folders": _folders,
}  # fmt: skip
