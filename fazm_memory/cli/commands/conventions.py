"""`fazm-memory conventions`: how a session named files, which it skipped, and what a new one would become."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, paint, plural, say
from fazm_memory.model.learned import how_completely


def conventions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("--apply", nargs="+", metavar="NAME", help="what these files would become")


def conventions_command(chosen: argparse.Namespace) -> int:
    told = memory_of(chosen).conventions(chosen.id, names=chosen.apply or ())
    if chosen.json:
        emit_json(told)
        return 0
    for one in told["proposals"]:
        if one["becomes"] is None:
            others = f" ({' or '.join(one['alternatives'])})" if one["alternatives"] else ""
            say(f"{one['name']}: not known — {one['because']}{others}")
        else:
            say(f"{one['name']} → {paint(one['becomes'], 'bold')}")
    if chosen.apply:
        return 0
    for one in told["folders_processed"]:
        say(f"{one['folder']}: {how_completely(one['processed'], one['total'], one['listed'])}")
    for one in told["conventions"]:
        place = f" into {one['destination']}" if one["destination"] else ""
        say(f"{paint(one['pattern'], 'bold')}{place}  ({plural(one['support'], 'file')} in {one['folder']})")
        for before, after in one["examples"][:2]:
            say(f"    {before} → {after}")
        for other in one["ambiguous"]:
            say(f"    or it is {other}: the examples do not tell")
        for exception in one["exceptions"]:
            say(f"    but not {exception}")
    for one in told["skipped"]:
        say(f"skipped {one['count']} in {one['folder']}: {one['rule']} ({', '.join(one['files'][:3])})")
    if not told["conventions"] and not told["skipped"]:
        say("no file was renamed in this session in a way that shows a convention")
    return 0
