"""`fazm-memory habits`: what recurs across sessions, each with where it comes from."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, one_line, paint, plural, say, when
from fazm_memory.model.clock import iso

TITLES = {
    "folder": "usual folders",
    "app": "usual apps",
    "tool": "usual tools",
    "convention": "naming conventions",
    "file": "files that come back",
}
MOST = 8


def habits_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose: --json exports the whole graph."""


def habits_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    found = memory.habits()
    if chosen.json:
        emit_json(found.to_json())
        return 0
    if not (found.tasks or found.nodes or found.stumbles):
        say(f"nothing recurs yet in {plural(found.sessions, 'session')}")
        return 0
    if found.tasks:
        say(paint("recurring tasks", "dim"))
    for task in found.tasks[:MOST]:
        last = when(iso(task.moments[-1]), memory.now())
        say(f"  {one_line(task.words)[:100]}")
        often = plural(len(task.moments), "time")
        say(f"      {often}, {task.rhythm.told()}, last {last}{_traces(task.traces)}")
    for kind, title in TITLES.items():
        nodes = found.of(kind)[:MOST]
        if nodes:
            say(f"\n{paint(title, 'dim')}")
        for node in nodes:
            last = when(iso(node.last), memory.now())
            say(f"  {one_line(node.name)[:100]}  {plural(node.count, 'session')}, last {last}")
    if found.stumbles:
        say(f"\n{paint('commands that fail first', 'dim')}")
    for one in found.stumbles[:MOST]:
        say(f"  {one.command}: failed {one.failures}, then worked {one.mended}{_traces(one.traces)}")
        say(f"      {one_line(one.error)[:120]}")
        for what, count in one.by:
            say(f"      mended by {one_line(what)[:100]} ({count})")
    return 0


def _traces(traces: tuple[tuple[str, int], ...]) -> str:
    return "  " + paint(" ".join(f"{session[:8]}@{seq}" for session, seq in traces[-2:]), "dim")
