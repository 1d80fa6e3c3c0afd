"""Commands that start, stop and continue sessions, and those about questions."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.commands.rewind import report_rewind, show_file_plan
from fazm_memory.cli.event_text import session_state_text
from fazm_memory.cli.main import callers_source, calling_agent, open_memory
from fazm_memory.cli.output import (
    echo,
    echo_err,
    fit,
    format_size,
    format_time,
    integer,
    latest_session,
    paint,
    parse_moment,
    plural,
    print_json,
    single_line,
)
from fazm_memory.clock import parse_time
from fazm_memory.errors import InvalidInput, InvalidRequest
from fazm_memory.ingest import check_schema

if TYPE_CHECKING:
    from fazm_memory.app import Memory

RECENT = 40  # sessions whose unanswered questions are listed, as on the page

AT_WORK = ("open", "active", "resumed")


def open_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", default="unknown", help="the agent that works in it")
    parser.add_argument("--key", help="the agent's own name for the session")
    parser.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: here)")
    parser.add_argument("--title", help="a title")
    parser.add_argument(
        "--own-folder",
        nargs="?",
        const="",
        metavar="DIR",
        help="work in a copy of the folder, beside it or at DIR (see `folders`)",
    )


def open_command(args: argparse.Namespace) -> int:
    if args.key is not None and not args.key.strip():
        raise InvalidRequest("The key is empty", hint="Leave --key out, or give a name.")
    workspace = os.path.abspath(args.workspace or os.getcwd())
    memory = open_memory(args)
    fields = {"key": args.key, "title": args.title, "source": callers_source()}
    if args.title is None and args.key is None and sys.stdout.isatty():
        echo_err("A new session begins. What is open from before: `fazm-memory context`")
    if args.own_folder is None:
        return _report(args, memory.sessions.open(args.agent, workspace=workspace, **fields))
    session = memory.own_folders.open(args.agent, workspace, folder=args.own_folder or None, **fields)
    _report(args, session)
    if not args.json:
        echo(f"It works in {session['folder']}, a copy of {session['copy_of']} ({session['method']}).")
    return 0


def _move_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("--reason", help="a reason for the log")


pause_arguments = close_arguments = _move_arguments


def resume_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="session id or a unique prefix (default: how to continue the latest)",
    )
    parser.add_argument("--reason", help="a reason for the log")
    parser.add_argument("--offer", action="store_true", help="only show the briefing and how to continue")
    parser.add_argument(
        "--files", action="store_true", help="also bring its files back to the moment of the pause"
    )
    parser.add_argument("--dry-run", action="store_true", help="with --files: only show what would change")
    parser.add_argument(
        "--force",
        action="store_true",
        help="with --files: also files that others changed (copies are stored)",
    )


def archive_arguments(parser: argparse.ArgumentParser) -> None:
    _move_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="restore an archived session as closed")


def pause_command(args: argparse.Namespace) -> int:
    return _move(args, "pause")


def resume_command(args: argparse.Namespace) -> int:
    """Resume a paused or closed session. Print its briefing and the agent's command."""
    memory = open_memory(args)
    if args.id is None:
        args.id, args.offer = latest_session(memory), True
    if args.dry_run and not args.files:
        raise InvalidRequest("--dry-run shows the plan for files", hint="Use --files --dry-run.")
    if args.files and args.dry_run:
        return show_file_plan(args, memory.rewind.resume_plan(args.id))
    session = memory.sessions.get(args.id)
    if not args.files and session["lifecycle"] in AT_WORK:
        args.offer = True  # nobody paused it, so there is nothing to resume but the agent
    briefing = memory.recall.briefing(args.id)
    if args.files:
        session = memory.rewind.resume(args.id, force=args.force, reason=args.reason)
        briefing = memory.recall.briefing(args.id)  # without the changes that were taken back
    elif not args.offer:
        session = memory.sessions.move(args.id, "resume", reason=args.reason, source=callers_source())
    offer = memory.recall.resume_offer(args.id, briefing.text)
    if args.json:
        print_json(session | {"briefing": briefing.data | {"text": briefing.text}, "offer": offer})
        return 0
    if args.files:
        report_rewind(args, session, f"{session['id']} is resumed, with its files as at the pause.")
    else:
        state = session_state_text(session) if args.offer else session["lifecycle"]
        echo(f"{session['id']} is {state}.{' Nothing was changed.' if args.offer else ''}")
    echo(f"How to continue: {offer['why']}.")
    if offer["took"] != "exact":
        command = f"fazm-memory resume {session['id'][:8]} --offer > briefing.txt"
        echo(paint(f"The briefing follows. `{command}` writes it to a file.", "dim"))
    echo(f"\n{briefing.text}")
    if offer["waits_for"]:
        waiting = plural(len(offer["waits_for"]), "answer")
        echo(f"It waits for {waiting}. `fazm-memory questions` lists them.")
    echo(f"{TOOK[offer['took']]} ({offer['why']})")
    if offer["took"] == "exact":
        echo(f"  {offer['command']}")
    elif offer["took"] == "briefing":
        echo(f"  fazm-memory resume {session['id'][:8]} --offer --json  contains that command under `offer`")
    return 0


TOOK = {
    "exact": "To continue, run this command",
    "briefing": "To continue, start the agent with the text above as the first message",
    "clipboard": "To continue, copy the text above into a new session",
}


def close_command(args: argparse.Namespace) -> int:
    return _move(args, "close")


def archive_command(args: argparse.Namespace) -> int:
    return _move(args, "restore" if args.undo else "archive")


def _move(args: argparse.Namespace, move: str) -> int:
    sessions = open_memory(args).sessions
    return _report(args, sessions.move(args.id, move, reason=args.reason, source=callers_source()))


def _report(args: argparse.Namespace, session: dict[str, Any]) -> int:
    if args.json:
        print_json(session)
    else:
        echo(f"{session['id']} is {session['lifecycle']}")
    return 0


ACTIONS = {
    "write": "written",
    "same": "unchanged",
    "replace": "replaced, it was older",
    "conflict": "replaced",
    "left out": "not restored",
}
PLANNED = {
    "write": "would be written",
    "same": "is the same",
    "replace": "is older and would be replaced",
    "conflict": "is newer and differs, needs --force",
    "left out": "would not be restored",
}


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session")
    parser.add_argument("--home", metavar="DIR", help="another home folder to restore into")
    parser.add_argument("--workspace", metavar="DIR", help="where the session's folder is now")
    parser.add_argument("--force", action="store_true", help="replace a newer file, keeping a backup")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be written")


def restore_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    done = memory.transcripts.restore(
        args.session, home=args.home, workspace=args.workspace, force=args.force, dry_run=args.dry_run
    )
    if args.json:
        print_json(done)
        return 0
    words = PLANNED if args.dry_run else ACTIONS
    for file in done["files"]:
        echo(f"{single_line(file['path'])} ({format_size(file['bytes'])}): {words[file['action']]}")
        if "backup" in file:
            echo_err(f"backup: {file['backup']}")
    for note in done["notes"]:
        echo_err(f"note: {note}")
    if args.dry_run:
        echo_err("Nothing was changed.")
        return 0
    restored = [file for file in done["files"] if file["action"] != "left out"]
    echo(f"{plural(len(restored), 'file')} of {done['agent']} restored.")
    if done["resume"] is not None:
        echo(f"Resume it with: {done['resume']}")
    return 0


def continue_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session")
    parser.add_argument(
        "--with", dest="agent", metavar="AGENT", required=True, help="the agent to go on with"
    )
    parser.add_argument("--workspace", metavar="DIR", help="the folder to work in (default: as before)")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be carried over")


def continue_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    done = memory.continuation.continue_with(
        args.session, args.agent, workspace=args.workspace, dry_run=args.dry_run
    )
    if args.json:
        print_json(done)
        return 0
    if done["how"] == "briefing":
        echo(f"{args.agent} gets a briefing.")
    else:
        carried = done["carried"]
        calls = f"{plural(carried['calls'], 'call')} ({carried['calls_as_text']} as text)"
        verb = "would be written" if args.dry_run else "is written"
        echo(f"A session of {args.agent} {verb}: {plural(carried['messages'], 'message')}, {calls}.")
        echo(done["path"])
    for missing in done["not_carried"]:
        echo_err(f"not carried over: {missing}")
    if args.dry_run:
        echo_err("Nothing was changed.")
    elif done["command"] is not None:
        echo(f"Go on with: {done['command']}")
    else:
        echo(done["briefing"])
    return 0


SCHEMA_HINT = """Use for example '{"type": "boolean"}'."""


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")


def handoff_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--to", choices=("human", "agent"), required=True)
    parser.add_argument("--note", required=True, metavar="TEXT", help="the question")
    parser.add_argument("--schema", metavar="JSON", help="a JSON Schema for the answer")


def handoff_command(args: argparse.Namespace) -> int:
    if not args.note.strip():
        raise InvalidRequest("The question is empty", hint="Give its text with --note.")
    schema = None if args.schema is None else _schema(args.schema)
    result = open_memory(args).sessions.handoff(
        args.id, to=args.to, note=args.note, answer_schema=schema, source=callers_source()
    )
    return _report_question(args, result, f"Question {result['question']} is open in {result['id'][:8]}.")


def _schema(text: str) -> dict[str, Any]:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"--schema is not JSON: {str(error)[:120]}", hint=SCHEMA_HINT) from None
    if not isinstance(schema, dict):
        raise InvalidRequest("--schema is not a JSON object", hint=SCHEMA_HINT)
    try:
        check_schema(schema)
    except InvalidInput as error:
        raise InvalidRequest(f"--schema cannot be used: {error.message}", hint=error.hint) from None
    return schema


def answer_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("question", metavar="QUESTION", help="the question's id")
    parser.add_argument(
        "text", nargs="?", metavar="TEXT", help="the answer; JSON if the question has a schema"
    )
    parser.add_argument("--waive", action="store_true", help="continue without an answer")


def answer_command(args: argparse.Namespace) -> int:
    if args.waive and args.text is not None:
        raise InvalidRequest("TEXT and --waive cannot be combined", hint="Use one of them.")
    source = "cli" if calling_agent() is None else "record"  # an agent cannot answer for a person
    result = open_memory(args).sessions.answer(
        args.id, args.question, args.text, waived=args.waive, source=source
    )
    done = "waived" if args.waive else "answered"
    left = f"{plural(result['open_questions'], 'open question')} left in {result['id'][:8]}"
    return _report_question(args, result, f"{single_line(args.question)} is {done}. {left}.")


def questions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", metavar="TIME", help="only those asked from this time on")


def questions_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    since = 0 if args.since is None else parse_moment(args.since, memory.now())
    times = [(question, _asked_at(memory, question)) for question in memory.sessions.open_questions()]
    times = [(question, at) for question, at in times if parse_time(at) >= since]
    questions = [question for question, _ in times]
    if args.json:
        print_json(questions)
        return 0
    for question, asked_at in times:
        about = f"  {paint(single_line(question['title']), 'dim')}" if question["title"] else ""
        note = single_line(question["note"] or "")
        at = format_time(asked_at, memory.now())
        echo(f"{paint(question['session'][:8], 'bold')}  {question['id']}: {note}  {at}{about}")
        if question["answer_schema"]:
            echo(paint(f"    expected: {json.dumps(question['answer_schema'], ensure_ascii=False)}", "dim"))
        echo(paint(f"    fazm-memory answer {question['session'][:8]} {question['id']} TEXT", "dim"))
    asked = [
        (session, question)
        for session in memory.sessions.listing(limit=RECENT, brief=True)
        for question in memory.history.state(session["id"], quarantined=False)["questions"]
        if parse_time(question["at"]) >= since
    ]
    if asked:
        echo(paint("Asked in a session and not answered there. To answer, go on with the session:", "dim"))
    for session, question in asked:
        id, at = session["id"][:8], format_time(question["at"], memory.now())
        line = fit(f"{id}  {at}  {single_line(session['title'] or '')}".rstrip())
        echo(paint(id, "bold") + line[len(id) :])
        echo(fit(f"    {single_line(question['text'])}", lines=3, indent=4))
        echo(paint(f"    fazm-memory resume {id}", "dim"))
    if not questions and not asked:
        echo("No questions wait for you.")
    return 0


def _asked_at(memory: Memory, question: dict[str, Any]) -> str:
    """When a question of a handoff was asked."""
    seq = question["seq"]
    (event,) = memory.history.events(question["session"], start=seq, stop=seq + 1, rows_only=True)
    return str(event["at"])


def quarantine_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument(
        "--seq", type=integer, metavar="N", help="only this event and what followed it in its turn"
    )
    parser.add_argument(
        "--words-only",
        action="store_true",
        help="with --seq: without the calls and file changes that followed",
    )
    parser.add_argument("--lift", action="store_true", help="lift the quarantine")
    parser.add_argument("--reason", help="a reason for the log")


def quarantine_command(args: argparse.Namespace) -> int:
    result = open_memory(args).maintenance.quarantine(
        args.id,
        seq=args.seq,
        lift=args.lift,
        words_only=args.words_only,
        reason=args.reason,
        source=callers_source(),
    )
    if result["whole"]:
        text = "is in quarantine."
    elif result["seqs"]:
        named = ", ".join(map(str, result["seqs"][:20]))
        text = f"has {plural(len(result['seqs']), 'event')} in quarantine: {named}."
    else:
        text = "has nothing in quarantine."
    if args.seq is not None:
        text += f"\n{_effect_text(args.seq, result)}"
    return _report_question(args, result, f"{result['session'][:8]} {text}")


def _effect_text(seq: int, result: dict[str, Any]) -> str:
    """What was put in quarantine, or taken out, with an event."""
    parts = [
        *([plural(result["words"], "message") + " of the agent"] if result["words"] else []),
        *([plural(result["calls"], "call")] if result["calls"] else []),
        *([plural(result["files"], "file event")] if result["files"] else []),
    ]
    also = f" and what followed it in its turn: {', '.join(parts)}" if parts else ""
    return f"{'Lifted' if result['lifted'] else 'Quarantined'}: event {seq}{also}."


def _report_question(args: argparse.Namespace, result: dict[str, Any], text: str) -> int:
    if args.json:
        print_json(result)
    else:
        echo(text)
    return 0
