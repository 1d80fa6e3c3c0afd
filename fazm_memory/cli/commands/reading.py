"""Reading: sessions, show, events, state, search."""

from __future__ import annotations

import argparse
import re
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import (
    DIGITS,
    emit_json,
    integer,
    moment_argument,
    one_line,
    paint,
    plural,
    say,
    table,
    talk,
    when,
    whole,
)
from fazm_memory.cli.telling import doubted_words, event_line, failed_words, file_words, tell_state, words
from fazm_memory.errors import InvalidRequest
from fazm_memory.model.lifecycle import LIFECYCLES


def sessions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=whole, default=20, metavar="N", help="how many (default 20)")
    parser.add_argument("--agent", help="only of this agent")
    parser.add_argument("--workspace", metavar="DIR", help="only in this folder")
    parser.add_argument("--lifecycle", choices=LIFECYCLES, help="only sessions in this state")
    parser.add_argument("--all", action="store_true", help="background sessions too")


def sessions_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    rows = memory.sessions(
        limit=chosen.limit,
        agent=chosen.agent,
        workspace=chosen.workspace,
        lifecycle=chosen.lifecycle,
        background=chosen.all,
    )
    held = memory.held_back()
    if chosen.json:
        emit_json([{**row, "quarantined": held.get(row["id"])} for row in rows])
        return 0
    if not rows:
        filtered = chosen.agent or chosen.workspace or chosen.lifecycle or chosen.limit == 0
        say("no such sessions" if filtered else "no sessions yet")
        return 0
    table(
        [
            (row["id"][:8], _standing(row, held), row["agent"], when(row["last_at"], memory.now()),
             f"{row['actions']:,}", f"{row['failures']:,}", row["title"] or "", row["workspace"] or "")
            for row in rows
        ],
        ("id", "state", "agent", "last", "actions", "failed", "title", "workspace"),
    )  # fmt: skip
    return 0


def _standing(session: dict[str, Any], held: dict[str, str]) -> str:
    """Where a session is in its life, and whether it is held back."""
    quarantined = {"whole": ", quarantined", "part": ", partly quarantined"}
    return str(session["lifecycle"]) + quarantined.get(held.get(session["id"], ""), "")


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")


def show_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)


def show_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    session, state = memory.session(chosen.id), memory.state(chosen.id)
    if chosen.json:
        emit_json({"session": session, "state": state})
        return 0
    now = memory.now()
    say(paint(session["title"] or "(no title)", "bold"))
    standing = _standing(session, memory.held_back())
    say(f"{session['id']}  {standing}  {session['agent']}  {session['workspace'] or ''}")
    say(f"opened {when(session['opened_at'], now)}, last {when(session['last_at'], now)};"
        f" {plural(session['turns'], 'turn')}, {plural(session['actions'], 'action')},"
        f" {session['failures']} failed")  # fmt: skip
    if session["parent"]:
        say(f"forked from {session['parent'][:8]} at {session['parent_seq']}")
    _section("asked", [one["text"] or "" for one in state["requests"]])
    _section("decisions", [f"{one['what']}" + (f" — {one['why']}" if one["why"] else "")
                           for one in state["decisions_made"]])  # fmt: skip
    _section("files", [file_words(one) for one in state["files_modified"]])
    _section("failed", [failed_words(one) for one in state["errors"]])
    questions = [
        f"question {one['id']} for the {one['to']}: {one['note']}" for one in state["open_questions"]
    ]
    _section("open", [*questions, *(f"{one['id']}: {one['what']}" for one in state["pending_actions"])])
    _section("facts", [f"{key} = {words(one['value'])}" for key, one in state["facts"].items()])
    _section("answered", [f"{one['note']} → {'waived' if one['waived'] else words(one['answer'])}"
                          f" by {one['by']}"
                          + (", in a form" if (one["by"], one["source"]) == ("person", "mcp") else "")
                          for one in state["answered_questions"]])  # fmt: skip
    _section("tried again", [_again(one) for one in memory.retries(chosen.id)])
    _section("out of the model's sight", [f"{one['key']}  @{one['seq']}" for one in state["evicted"]])
    _section("of doubtful origin", [doubted_words(one) for one in state["untrusted"]])
    held = state["quarantined"]
    if held["whole"] or held["seqs"]:
        what = "all of it" if held["whole"] else plural(len(held["seqs"]), "event")
        say(paint(f"\nin quarantine: {what}", "yellow"))
    return 0


def _again(one: dict[str, Any]) -> str:
    before = one["before"]["outcome"] if one["before"] else "forgotten"
    call = f"{one['tool']} {one['target']}"
    return f"@{one['retry_of']} → @{one['seq']} {call[:100]}: {before}, then {one['after']['outcome']}"


def _section(title: str, lines: list[str], most: int = 15) -> None:
    if not lines:
        return
    say(f"\n{paint(title, 'dim')}")
    for line in lines[-most:]:
        say(f"  {one_line(line)[:200]}")
    if len(lines) > most:
        say(paint(f"  and {len(lines) - most} more: --json has them", "dim"))


def events_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--from", dest="start", type=whole, default=0, metavar="N", help="from this position")
    parser.add_argument(
        "--to", dest="stop", type=whole, metavar="M", help="up to, not including, this position"
    )
    parser.add_argument("--kind", metavar="K", help="only this kind, such as action or decision")
    parser.add_argument(
        "--tool", metavar="NAME", help="only calls of this tool, and what they were seen to change"
    )
    parser.add_argument("--file", metavar="PATH", help="only what touched this file or folder")
    parser.add_argument("--outcome", metavar="O", help="ok, error, denied, timeout or interrupted")
    parser.add_argument("--trust", metavar="T", help="only of this trust, such as web or user")
    parser.add_argument("--turns", metavar="A[-B]", help="only these turns")
    parser.add_argument("--since", metavar="TIME", help="from this time on")
    parser.add_argument("--until", metavar="TIME", help="before this time")
    parser.add_argument("--limit", type=whole, metavar="N", help="the first N of them")


def events_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    events = memory.events(
        chosen.id,
        start=chosen.start,
        stop=chosen.stop,
        kind=chosen.kind,
        tool=chosen.tool,
        file=chosen.file,
        outcome=chosen.outcome,
        trust=chosen.trust,
        turns=None if chosen.turns is None else _turns(chosen.turns),
        since=None if chosen.since is None else moment_argument(chosen.since, memory.now()),
        until=None if chosen.until is None else moment_argument(chosen.until, memory.now()),
        limit=chosen.limit,
        slim=not chosen.json,
    )
    if chosen.json:
        emit_json(list(events))
        return 0
    found = False
    for event in events:
        found = True
        at = when(event["at"], memory.now())
        say(f"{event['seq']:>6}  {at}  turn {event['turn']:<3} {event_line(event)}")
    if not found:
        say("no event matches")
    return 0


def _turns(text: str) -> tuple[int, int]:
    named = re.fullmatch(rf"([0-9]{{1,{DIGITS}}})(?:-([0-9]{{1,{DIGITS}}}))?", text)
    first, last = (0, -1) if named is None else (int(named[1]), int(named[2] or named[1]))
    if last < first:
        raise InvalidRequest(f"{text[:40]!r} names no turns", hint="give one as 3, or several as 3-7")
    return first, last


def state_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--at", type=integer, metavar="N", help="after the first N events, instead of now")


def state_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    state = memory.state(chosen.id, at=chosen.at)
    if chosen.json:
        emit_json(state)
    else:
        tell_state(state, memory.now())
    return 0


def search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        nargs="+",
        metavar="QUERY",
        help='words, an "exact phrase", agent:codex, in:DIR, yesterday, …',
    )
    parser.add_argument("--limit", type=whole, default=10, metavar="N", help="how many (default 10)")
    parser.add_argument("--quarantined", action="store_true", help="also what is held back from exports")


def search_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    query = " ".join(chosen.query)
    hits = memory.search(query, limit=chosen.limit, quarantined=chosen.quarantined)
    for doubt in memory.query_doubts(query):
        talk(f"note: {doubt}")
    if chosen.json:
        emit_json(hits)
        return 0
    for session in dict.fromkeys(hit["session"] for hit in hits):  # the session of the best hit first
        some = [hit for hit in hits if hit["session"] == session]
        where = "".join(f"  {one}" for one in (some[0]["agent"], some[0]["workspace"]) if one)
        say(f"{paint(session[:8], 'bold')}  {some[0]['title'] or '(no title)'}{where}")
        for hit in some:
            say(f"    @{hit['seq']}  {when(hit['at'], memory.now())}  {hit['kind']}  {hit['snippet']}")
    if not hits:
        say("nothing found")
    return 0
