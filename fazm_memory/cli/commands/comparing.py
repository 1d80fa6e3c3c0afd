"""Comparing: what changed and why, which files, what was tried again; within a session or across two."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, integer, one_line, paint, plural, say
from fazm_memory.cli.telling import followed_words
from fazm_memory.recall.difference import SIGNS, headline, page, sections

COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "error": "red", "decision": "bold"}


def diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("first", type=integer, metavar="A", help="a position, or a turn with --turns")
    parser.add_argument("second", type=integer, metavar="B")
    parser.add_argument("--turns", action="store_true", help="A and B are turns")
    parser.add_argument("--html", action="store_true", help="as a page on stdout")


def diff_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    made = memory.diff(chosen.id, chosen.first, chosen.second, turns=chosen.turns)
    return _show(chosen, made, memory.session(chosen.id)["title"] or "Session")


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="ID[@N]", help="a session, now or after its first N events")
    parser.add_argument("second", metavar="ID[@M]", help="another, or a branch of it")
    parser.add_argument("--html", action="store_true", help="as a page on stdout")


def compare_command(chosen: argparse.Namespace) -> int:
    made = memory_of(chosen).compare(*_place(chosen.first), *_place(chosen.second))
    titles = [made[side]["title"] or made[side]["session"][:8] for side in ("first", "second")]
    return _show(chosen, made, " / ".join(dict.fromkeys(titles)))


def _place(text: str) -> tuple[str, int | None]:
    name, mark, position = text.rpartition("@")
    return (name, int(position)) if mark and position.isdecimal() else (text, None)


def _show(chosen: argparse.Namespace, made: dict[str, Any], title: str) -> int:
    if chosen.json:
        emit_json(made)
        return 0
    if chosen.html:
        sys.stdout.write(page(made, title))
        return 0
    say(headline(made))
    found = sections(made)
    for section in found:
        say(f"\n{paint(section.title, 'dim')}")
        for line in section.lines:
            sign = SIGNS.get(line.mark, line.mark)
            text = f"{sign} {line.text}"
            why = f" — {line.why}" if line.why else ""
            say(
                f"  {paint(text, COLOURS[line.mark]) if line.mark in COLOURS else text}{why}"
                f"  {paint(line.at, 'dim')}".rstrip()
            )
        if section.more:
            say(paint(f"  and {section.more:,} more: --json has them", "dim"))
    if not found:
        say("nothing changed")
    return 0


def files_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("--turns", type=integer, metavar="N", help="only in its last N turns")
    parser.add_argument("--by", choices=("agent", "person", "unknown"), help="only by this hand")


def files_command(chosen: argparse.Namespace) -> int:
    made = memory_of(chosen).files_modified(chosen.id, turns=chosen.turns)
    made["files"] = [one for one in made["files"] if chosen.by in (None, one["by"])]
    if chosen.json:
        emit_json(made)
        return 0
    for one in made["files"]:
        came = f" (from {one['from']})" if one["from"] else ""
        by = one["by"] + followed_words(one)
        say(f"{one['change']:<8}  {one['path']}{came}  by {by}  {paint('@' + str(one['seq']), 'dim')}")
    first, last = made["turns"]
    more = f", and {made['omitted']:,} older ones" if made["omitted"] else ""
    say(paint(f"{plural(len(made['files']), 'file')} in turns {first} to {last}{more}", "dim"))
    return 0


def retries_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")


def retries_command(chosen: argparse.Namespace) -> int:
    found = memory_of(chosen).retries(chosen.id)
    if chosen.json:
        emit_json(found)
        return 0
    for one in found:
        before = one["before"] or {"outcome": "forgotten", "error": None}
        change = f"{before['outcome']} → {one['after']['outcome']}"
        say(f"@{one['retry_of']} → @{one['seq']}  {one['tool']} {one_line(one['target'])[:100]}: {change}")
        if not one["same_input"]:
            say(paint("    with another input", "dim"))
        for line in one["diff"].splitlines()[:12]:
            say(f"    {line[:160]}")
    if not found:
        say("nothing was tried again")
    return 0
