"""`status`, `cost`, `sessions`, `show`, `events`, `state` and `search`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.event_text import (
    asked_text,
    budget_lines,
    commit_text,
    decision_text,
    event_line,
    failed_call_text,
    file_change_text,
    next_text,
    pending_text,
    plan_text,
    print_state,
    pull_request_text,
    session_state_text,
    source_text,
    steps_text,
    untrusted_text,
    value_text,
)
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    DIGITS,
    MOMENT,
    echo,
    echo_err,
    fit,
    format_size,
    format_time,
    latest_session,
    moment,
    non_negative_int,
    paint,
    parse_moment,
    plural,
    print_json,
    single_line,
    sync_progress_text,
    table,
    terminal_width,
)
from fazm_memory.clock import iso
from fazm_memory.errors import InvalidInput, InvalidRequest
from fazm_memory.events import LIFECYCLES
from fazm_memory.text import shorten

if TYPE_CHECKING:
    from fazm_memory.app import Memory

SILENT = "silent"
WIDE = 110  # columns of a terminal in which every column is shown


def sessions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=non_negative_int, default=20, metavar="N", help="number of sessions (default 20)"
    )
    parser.add_argument("--agent", help="only this agent")
    parser.add_argument("--workspace", metavar="DIR", help="only in this folder")
    parser.add_argument(
        "--device", metavar="NAME", help="only recorded on this machine ('here' for this one)"
    )
    parser.add_argument(
        "--lifecycle",
        choices=(*LIFECYCLES, SILENT),
        metavar="STATE",
        help=f"only sessions in this state: {', '.join(LIFECYCLES)}, or silent (nobody ended it, but nothing"
        " was recorded for hours)",
    )
    parser.add_argument("--all", action="store_true", help="include background sessions")


def sessions_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    rows, more = _listed(memory, args)
    quarantined = memory.sessions.quarantined()
    if args.json:
        print_json([{**row, "quarantined": quarantined.get(row["id"])} for row in rows])
        return 0
    if not rows:
        filtered = args.agent or args.workspace or args.lifecycle or args.device or args.limit == 0
        echo("No sessions match." if filtered else "No sessions yet.")
        return 0
    wide = terminal_width() >= WIDE
    machines = wide and any(row["device"] for row in rows)
    cells = [
        (row["id"][:8],
         *((_lifecycle_text(row, quarantined), row["agent"]) if wide else
           (_lifecycle_text(row, quarantined).partition(" (")[0][:15],)),
         *([row["device"] or "here"] if machines else []),
         format_time(row["last_at"], memory.now()),
         *((f"{row['actions']:,}", f"{row['failures']:,}") if wide else ()),
         single_line(row["title"] or ""), row["workspace"] or "")
        for row in rows
    ]  # fmt: skip
    header = ("id", "state", *(["agent"] if wide else []), *(["machine"] if machines else []), "last",
              *(["actions", "failed"] if wide else []), "title", "folder")  # fmt: skip
    if sys.stdout.isatty():
        cells = _fitted_cells(cells, header, terminal_width())
    table(cells, header)
    if more:
        echo_err(f"{len(rows)} of {len(rows) + more:,} sessions. --limit N shows more.")
    return 0


def _listed(memory: Memory, args: argparse.Namespace) -> tuple[list[dict[str, Any]], int]:
    """The sessions to list, and how many more there are."""
    silent = args.lifecycle == SILENT
    filters = {
        "agent": args.agent,
        "workspace": args.workspace,
        "lifecycle": None if silent else args.lifecycle,
        "device": args.device,
        "background": args.all,
    }
    if not silent:
        rows = memory.sessions.listing(limit=args.limit, brief=not args.json, **filters)
        if args.json or len(rows) < args.limit:
            return rows, 0
        return rows, len(memory.sessions.listing(limit=None, brief=True, **filters)) - len(rows)
    rows = memory.sessions.listing(limit=None, brief=not args.json, **filters)
    rows = [row for row in rows if session_state_text(row) == SILENT]
    return rows[: args.limit], max(0, len(rows) - args.limit)


def _fitted_cells(cells: list[tuple[str, ...]], header: Sequence[str], width: int) -> list[tuple[str, ...]]:
    """The cells of a narrow table.

    Of a folder only the name is shown. The title gets the room that the other columns leave.
    """
    named = [(*row[:-1], row[-1].rstrip("/").rsplit("/", 1)[-1][:16]) for row in cells]
    title = len(header) - 2
    others = sum(max(len(row[n]) for row in [header, *named]) + 2 for n in range(len(header)) if n != title)
    room = max(12, width - others)
    return [
        (*row[:title], row[title] if len(row[title]) <= room else row[title][: room - 1] + "…", row[-1])
        for row in named
    ]


def _lifecycle_text(session: dict[str, Any], quarantined: dict[str, str]) -> str:
    marks = {"whole": ", quarantined", "part": ", partly quarantined"}
    return session_state_text(session) + marks.get(quarantined.get(session["id"], ""), "")


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")


def show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="session id or a unique prefix (default: the latest session)"
    )
    parser.add_argument("--all", action="store_true", help="everything, not only what fits on a screen")


def show_command(args: argparse.Namespace) -> int:
    from fazm_memory.app import cost_text

    memory = open_memory(args)
    args.id = args.id or latest_session(memory)
    session, state = memory.sessions.get(args.id), memory.history.state(args.id)
    if args.json:
        print_json({"session": session, "state": state})
        return 0
    now = memory.now()
    echo(paint(single_line(session["title"] or "(no title)"), "bold"))
    lifecycle = _lifecycle_text(session, memory.sessions.quarantined())
    where = single_line(session["workspace"] or "")
    echo(f"{session['id']}  {lifecycle}  {single_line(session['agent'])}  {where}".rstrip())
    echo(f"opened {format_time(session['opened_at'], now)}, last {format_time(session['last_at'], now)};"
        f" {plural(session['turns'], 'turn')}, {plural(session['actions'], 'action')},"
        f" {session['failures']} failed")  # fmt: skip
    if session["device"]:
        echo(f"recorded on “{session['device']}”; `fazm-memory fork {session['id'][:8]}` continues it here")
    if session["parent"]:
        echo(f"forked from {session['parent'][:8]} at {session['parent_seq']}")
    if session["cost"] is not None:
        echo(f"cost: {cost_text(session['cost'])}")
    if (command := memory.recall.resume_command(session["id"])) is not None:
        echo(f"continue: {command}")
    retries = memory.history.retries(args.id, meanwhile=False)
    _print_sections(_sections(state, retries, now), session, whole=args.all)
    quarantine = state["quarantined"]
    if quarantine["whole"] or quarantine["seqs"]:
        what = "the whole session" if quarantine["whole"] else plural(len(quarantine["seqs"]), "event")
        echo(paint(f"\nin quarantine: {what}", "yellow"))
    return 0


Section = tuple[str, list[str], int]  # title, lines, how many of them on one screen


def _sections(state: dict[str, Any], retries: list[dict[str, Any]], now: int) -> list[Section]:
    """The sections of a session: open points, goal, decisions, what was done."""
    folder = (state["workspace"] or "").rstrip("/") + "/"

    def near(text: str) -> str:
        return text.replace(folder, "") if folder != "/" else text

    goal, plan, known = state["goal"], state["plan"], state["uncommitted_as_of"]
    as_of = f", as of {format_time(known, now)}" if known else ""
    asked = [f"the agent asked: {asked_text(question)}" for question in state["questions"]]
    questions = [
        f"question {question['id']} for the {question['to']}: {question['note']}"
        for question in state["open_questions"]
    ]
    coming = {step["what"] for step in state["next"]}
    pending = [pending_text(action) for action in state["pending_actions"] if action["what"] not in coming]
    return [
        ("open", [*asked, *questions, *pending], 5),
        ("next", [near(next_text(step)) for step in state["next"]], 4),
        ("goal", [goal["text"]] if goal is not None else [], 1),
        ("plan", [plan_text(plan)] if plan is not None else [], 1),
        ("steps", [steps_text(state["todos"])] if state["todos"] else [], 3),
        ("requests", [request["text"] or "" for request in state["requests"]], 3),
        ("decisions", [decision_text(decision) for decision in state["decisions_made"]], 4),
        (f"not committed{as_of}", [near(path) for path in state["uncommitted"]], 4),
        ("commits", [commit_text(commit) for commit in state["commits"]], 4),
        ("pull requests", [pull_request_text(request) for request in state["pull_requests"]], 3),
        ("failed", [failed_call_text(error) for error in state["errors"] if not error.get("minor")], 3),
        ("branch", [state["branch"]] if state["branch"] else [], 1),
        ("files", [file_change_text(file) for file in state["files_modified"]], 5),
        ("checks", [f"{check['outcome']}: {check['command']}" for check in state["checks"]], 3),
        ("answered", [_answer_text(question) for question in state["answered_questions"]], 3),
        ("retries", [_retry_text(retry) for retry in retries], 3),
        ("facts", [f"{key} = {value_text(fact['value'])}" for key, fact in state["facts"].items()], 4),
        ("artifacts", [f"{row['name']}: {row['done']} of {row['total']} done" for row in state["artifacts"]],
         4),
        ("budget", budget_lines(state["budget"]), 4),
        ("notes", [note["path"] for note in state["notes"]], 3),
        ("refers to", [reference["name"] for reference in state["references"]], 3),
        ("data sources", [source_text(source) for source in state["data_sources"]], 3),
        ("untrusted sources", [untrusted_text(entry) for entry in state["untrusted"]], 2),
        ("removed from the model's context",
         [f"{entry['key']}  @{entry['seq']}" for entry in state["evicted"]], 2),
    ]  # fmt: skip


SCREEN = 44  # lines where the height of the terminal is not known
AROUND = 8  # lines above and below the sections
NAMED = 6  # sections that do not fit and are named
WRAPPED = ("open", "goal")  # sections whose entries may take two lines


def _print_sections(sections: list[Section], session: dict[str, Any], *, whole: bool) -> None:
    """The first sections that fit on a screen, and the names of the others."""
    left = max(20, os.get_terminal_size().lines if sys.stdout.isatty() else SCREEN) - AROUND
    cut: list[str] = []
    for title, texts, most in sections:
        entries = [_fitted(single_line(text), 2 if title in WRAPPED else 1) for text in texts]
        shown = len(entries) if whole else min(len(entries), most)
        while not whole and shown and _height(entries, shown) > left:
            shown -= 1
        if cut or not shown:
            cut += [f"{title} ({len(texts)})"] if texts else []
            continue
        left -= _height(entries, shown)
        _section(title, entries, shown)
    if cut:
        names = ", ".join(cut[:NAMED]) + (" and more" if len(cut) > NAMED else "")
        echo(paint(f"\nalso: {names}. `fazm-memory show {session['id'][:8]} --all`", "dim"))


def _height(entries: list[str], shown: int) -> int:
    """How many lines a section takes, with its title and its last line."""
    return 2 + sum(entry.count("\n") + 1 for entry in entries[-shown:]) + (len(entries) > shown)


def _answer_text(question: dict[str, Any]) -> str:
    answer = "waived" if question["waived"] else value_text(question["answer"])
    form = ", in a form" if (question["by"], question["source"]) == ("person", "mcp") else ""
    return f"{question['note']} → {answer} by {question['by']}{form}"


def _retry_text(retry: dict[str, Any]) -> str:
    before = retry["before"]["outcome"] if retry["before"] else "forgotten"
    call = f"{retry['tool']} {retry['target']}"[:100]
    changed = f"; changed: {', '.join(retry['changed'])}" if retry["changed"] else ""
    return (
        f"@{retry['retry_of']} → @{retry['seq']} {call}: {before}, then {retry['after']['outcome']}{changed}"
    )


def _section(title: str, entries: list[str], shown: int) -> None:
    echo(f"\n{paint(title, 'dim')}")
    for entry in entries[-shown:]:
        echo(f"  {entry}")
    if len(entries) > shown:
        echo(paint(f"  and {len(entries) - shown} more (--all or --json)", "dim"))


def _fitted(text: str, lines: int) -> str:
    """A text on at most so many lines that a terminal does not break."""
    width = terminal_width() - 2 if sys.stdout.isatty() else 200
    if len(text) > width and lines > 1 and sys.stdout.isatty():
        import textwrap

        return textwrap.fill(text, width, subsequent_indent="    ", max_lines=lines, placeholder=" …")
    return text if len(text) <= width else text[: width - 1] + "…"


def events_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="session id or a unique prefix (default: the latest session)"
    )
    parser.add_argument(
        "--from",
        dest="start",
        type=moment,
        default="0",
        metavar="MOMENT",
        help=f"from this moment on: {MOMENT}",
    )
    parser.add_argument(
        "--to", dest="stop", type=moment, metavar="MOMENT", help="up to, not including, this moment"
    )
    parser.add_argument("--kind", metavar="K", help="only this kind, such as action or decision")
    parser.add_argument(
        "--tool", metavar="NAME", help="only calls of this tool and the file changes they made"
    )
    parser.add_argument("--file", metavar="PATH", help="only events on this file or folder")
    parser.add_argument("--outcome", metavar="O", help="ok, error, denied, timeout or interrupted")
    parser.add_argument("--trust", metavar="T", help="only this trust level, such as web or user")
    parser.add_argument("--turns", metavar="A[-B]", help="only these turns")
    parser.add_argument("--since", metavar="TIME", help="from this time on")
    parser.add_argument("--until", metavar="TIME", help="before this time")
    parser.add_argument("--limit", type=non_negative_int, metavar="N", help="only the first N events")
    parser.add_argument("--last", type=non_negative_int, metavar="N", help="only the last N events")
    parser.add_argument(
        "--state-hash", action="store_true", help="with --json, the hash of the state after each event"
    )


READ_LATER = ("transcript", "import")  # all of it arrived later than it happened


def events_command(args: argparse.Namespace) -> int:
    if args.limit is not None and args.last is not None:
        raise InvalidRequest("--limit and --last cannot be combined", hint="Use one of them.")
    memory = open_memory(args)
    events = memory.history.events(
        args.id or latest_session(memory),
        start=args.start,
        stop=args.stop,
        kind=args.kind,
        tool=args.tool,
        file=args.file,
        outcome=args.outcome,
        trust=args.trust,
        turns=None if args.turns is None else _turns(args.turns),
        since=None if args.since is None else parse_moment(args.since, memory.now()),
        until=None if args.until is None else parse_moment(args.until, memory.now()),
        limit=args.limit if args.json else None,
        rows_only=not args.json,
        state_hashes=args.state_hash,
    )
    if args.json:
        print_json(list(events) if args.last is None else list(deque(events, args.last)))
        return 0
    # `show` and the timeline have the tokens of each turn.
    shown = islice((e for e in events if e["kind"] != "usage" or args.kind == "usage"), args.limit)
    found = False
    for event in shown if args.last is None else deque(shown, args.last):
        found = True
        at = format_time(event["at"], memory.now())
        for name in ("claimed_at", "received_at") if event["source"] not in READ_LATER else ():
            at += f" ({name[:-3]} {format_time(event[name], memory.now())})" if name in event else ""
        echo(fit(f"{event['seq']:>6}  {at}  turn {event['turn']:<3} {event_line(event)}"))
    if not found:
        echo("No events match.")
    return 0


def _turns(text: str) -> tuple[int, int]:
    match = re.fullmatch(rf"([0-9]{{1,{DIGITS}}})(?:-([0-9]{{1,{DIGITS}}}))?", text)
    first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
    if last < first:
        raise InvalidRequest(f'Invalid turns "{text[:40]}"', hint="Use for example 3 or 3-7.")
    return first, last


def state_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--at", metavar="MOMENT", help=f"at this moment, instead of now: {MOMENT}")


def state_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    state = memory.history.state(args.id, at=args.at)
    if args.json:
        print_json(state)
    else:
        now = session_state_text(memory.sessions.get(args.id)) if args.at is None else None
        print_state(state, memory.now(), now)
    return 0


def search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        nargs="+",
        metavar="QUERY",
        help='words, an "exact phrase", agent:codex, in:DIR, yesterday, …',
    )
    parser.add_argument(
        "--limit", type=non_negative_int, default=10, metavar="N", help="number of hits (default 10)"
    )
    parser.add_argument("--quarantined", action="store_true", help="include quarantined events")


def _changed_since(hit: dict[str, Any], now: int) -> str:
    if hit["changed_since"] is None:
        return ""
    by = (
        ""
        if hit["changed_by"] == "unknown"
        else f" by {'an agent' if hit['changed_by'] == 'agent' else 'a person'}"
    )
    return f"  (changed since{by}, {format_time(hit['changed_since'], now)})"


def _is_name(query: str) -> bool:
    """Whether the query is one name, such as of a file, and no filter."""
    return re.fullmatch(r"[^\s:\"]*\w[._/-]\w[^\s:\"]*", query.strip()) is not None


def search_command(args: argparse.Namespace) -> int:
    query = " ".join(args.query)
    if not query.strip():
        raise InvalidInput("The search is empty.", hint='For example: fazm-memory search "date first"')
    if query.count('"') % 2:
        raise InvalidInput(f"A quote in {query[:60]!r} is not closed.", hint="Close it: '\"two words\"'")
    if not any(map(str.isalnum, query)):
        raise InvalidInput(f"{query[:60]!r} has no word to search for.", hint="Give a word or a name.")
    memory = open_memory(args)
    hits = memory.recall.search(query, limit=args.limit, quarantined=args.quarantined)
    for note in memory.recall.search_notes(query):
        echo_err(f"note: {note}")
    if args.json:
        print_json(hits)
        return 0
    if hits and _is_name(query) and not memory.recall.search(f'"{query.strip()}"', limit=1):
        echo(f"Nothing matches {query.strip()!r} exactly. Similar:")
    for session in dict.fromkeys(hit["session"] for hit in hits):  # the session of the best hit first
        group = [hit for hit in hits if hit["session"] == session]
        on = f"on “{group[0]['device']}”" if group[0].get("device") else None
        title = group[0]["title"] or "(no title)"
        head = (single_line(part) for part in (title, group[0]["agent"], on, group[0]["workspace"]) if part)
        echo(fit("  ".join([paint(session[:8], "bold"), *head])))
        for hit in group:
            place = f"    @{hit['seq']}  {format_time(hit['at'], memory.now())}  {hit['kind']}"
            echo(fit(f"{place}  {hit['snippet']}{_changed_since(hit, memory.now())}", lines=3))
    if not hits:
        echo("Nothing found.")
    return 0


def status_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def status_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    status = memory.status()
    if args.json:
        print_json(status)
        return 0
    now = memory.now()
    _show_recording(status, now)
    counts = f"{plural(status['sessions'], 'session')}, {plural(status['events'], 'event')}"
    since = f" since {format_time(status['since'], now)}" if status["since"] else ""
    echo(f"  {counts}, {format_size(status['bytes'])}{since}")
    _show_latest_day(memory, now)
    for source, last in status["sources"].items():
        echo(f"  last from {source}: {format_time(last['at'], now)}, session {last['session'][:8]}")
    if not status["sources"]:
        echo("  Nothing recorded yet. `fazm-memory run` records; `fazm-memory import` imports the past.")
    for folder in status["watching"]:
        if folder["refused"] is None:
            echo(f"  watching {folder['folder']} ({folder['how']}) since {format_time(folder['since'], now)}")
    if status["sync"] is not None and status["sync"]["active"]:
        when = "never" if status["sync"]["last_ok"] is None else format_time(status["sync"]["last_ok"], now)
        progress = status["sync"]["progress"]
        doing = "" if progress is None else f", {sync_progress_text(progress)}"
        echo(f"  synced as “{status['sync']['name']}”: {when}{doing}")
    _show_transcripts(status["transcripts"])
    echo(f"  store: {status['home']}, encrypted, {_key(status['key'])}")
    expiring = status["transcripts"]["expiring"]
    notices = [memory.transcripts.expiring_notice(expiring), memory.maintenance.retention_notice()]
    problems = [*_problems(status, memory), *filter(None, notices)]
    if problems:
        echo(paint("To do", "bold"))
    for problem in problems:
        echo(paint(f"  {problem}", "yellow"))
    return 0


def _show_latest_day(memory: Memory, now: int) -> None:
    """What was done on the latest day, and what its last session left open."""
    day = memory.timeline.day_totals()
    if day is None:
        return
    parts = [
        plural(day["sessions"], "session"),
        plural(day["actions"], "action"),
        *([f"{day['failures']} failed"] if day["failures"] else []),
    ]
    name = format_time(iso(day["from_ms"] * 1000), now).split()[0]
    echo(f"  {name}: {', '.join(parts)}; the last session: `fazm-memory show`")
    questions = memory.history.state(latest_session(memory), quarantined=False)["questions"]
    for question in questions[-1:]:
        asked = f"  open: {single_line(question['text'])} (all: `fazm-memory questions`)"
        echo(fit(asked, lines=2, indent=4))


def _show_recording(status: dict[str, Any], now: int) -> None:
    if not status["recording"]:
        until = (
            f"until {format_time(status['paused_until'], now)}"
            if status["paused_until"]
            else "until you resume it"
        )
        echo(paint(f"◌ Recording is paused {until}", "yellow") + " (`fazm-memory recording resume`)")
    elif status["companion"] is None:
        text = ". The companion is not running: only hooks and MCP record"
        echo(paint("○ Recording is on", "green") + f"{text} (`fazm-memory run`).")
    else:
        echo(paint("● Recording", "green") + f" (companion process {status['companion']})")


def _problems(status: dict[str, Any], memory: Memory) -> list[str]:
    """What needs the user, each with the command that settles it."""
    problems = []
    for question in status["open_questions"]:
        session = question["session"][:8]
        problems.append(
            f"{session} waits for your answer: {question['note']}\n"
            f"    `fazm-memory answer {session} {question['id']} TEXT`"
        )
    if status["sources"] and not {"hook", "mcp", "record"} & status["sources"].keys():
        problems.append(_unused(memory))
    if status["desktop"] is not None and not status["desktop"]["permitted"]:
        problems.append("Windows and documents are not recorded: Accessibility permission is missing."
                        " `fazm-memory setup`")  # fmt: skip
    refused = [folder for folder in status["watching"] if folder["refused"] is not None]
    problems += [f"not watching {folder['folder']}: {folder['refused']}" for folder in refused]
    if (sync := status["sync"]) is not None:
        troubles = [*([sync["error"]] if sync["error"] else []), *sync["problems"]]
        command = "sync" if sync["active"] else "sync join"
        problems += [f"sync: {trouble} `fazm-memory {command}`" for trouble in troubles]
    if status["quota"]["warning"] is not None:
        problems.append(status["quota"]["warning"])
    if (newer := status["update"]) is not None:
        where = f": {newer['page']}" if newer["page"] else "."
        problems.append(f"Version {newer['version']} is available{where}")
    return problems


def _unused(memory: Memory) -> str:
    """Why no agent has got its context yet."""
    from fazm_memory.app import connected_agents  # slow to import, and only said in the beginning

    names = connected_agents(memory)
    if not names:
        return "No agent is connected, so none is told what came before. `fazm-memory setup` connects one."
    which = " or ".join(names)
    return f"Start a new session in {which}. Those from before it was connected are told nothing."


def _show_transcripts(copies: dict[str, Any]) -> None:
    if copies["sessions"]:
        size = f"{format_size(copies['stored'])} for {format_size(copies['bytes'])}"
        echo(f"  transcripts of {plural(copies['sessions'], 'session')} copied ({copies['form']}), {size}")


def _key(key: dict[str, str]) -> str:
    if key["backend"] == "keyring":
        return f"key in {key['where']}"
    return f"key in a file that only you can read (no OS keyring): {key['where']}"


DAY = 86_400_000_000
MONTH, WEEK = 30 * DAY, 7 * DAY


def cost_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        choices=("day", "session", "thread", "model"),
        default="day",
        help="how to group (default: day)",
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help='from this time on: 7d, 1w, "this week", 2026-11-14 (default: 30d)',
    )


def cost_command(args: argparse.Namespace) -> int:
    from fazm_memory.app import cost_text

    memory = open_memory(args)
    since = memory.now() - MONTH if args.since is None else parse_moment(args.since, memory.now())
    costs = memory.costs.table(args.by, since=since)
    if args.json:
        print_json(costs)
        return 0
    if not costs["rows"]:
        echo("No usage is recorded in this time.")
        return 0
    rows = [
        (
            shorten(row[args.by] or "other", 40) or "" if args.by != "session" else row["session"][:8],
            "?" if row["usd"] is None else f"${row['usd']:,.2f}" + ("+" if row["unknown_models"] else ""),
            f"{row['input_tokens']:,}", f"{row['output_tokens']:,}", f"{row['cached_tokens']:,}",
            shorten(row.get("title") or "", 50) or "",
        )
        for row in costs["rows"]
    ]  # fmt: skip
    table(rows, (args.by, "cost", "input", "output", "cached", ""))
    period = ""
    if args.since is None:
        period = ", 30 days"
        week = memory.costs.table("day", since=memory.now() - WEEK)
        echo(f"last 7 days {cost_text(week['total'])}")
        this_week = memory.costs.table("day", since=parse_moment("this week", memory.now()))
        echo(f"this week {cost_text(this_week['total'])}")
    echo(f"total{period} {cost_text(costs['total'])}")
    own = ", with your own in prices.toml" if costs["prices"]["own"] else ""
    echo_err(
        f"Prices of {costs['prices']['date']}{own}. Subscriptions cost less. "
        "Transcripts may hold fewer output tokens than were billed."
    )
    return 0
