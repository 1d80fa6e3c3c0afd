"""`handoff`, `questions`, `answer` and `quarantine`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fazm_memory.cli.caller import callers_source, calling_agent
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import echo, integer, paint, plural, print_json, single_line
from fazm_memory.errors import InvalidInput, InvalidRequest
from fazm_memory.ingest import check_schema

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
    return _report(args, result, f"Question {result['question']} is open in {result['id'][:8]}.")


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
    return _report(args, result, f"{single_line(args.question)} is {done}. {left}.")


def questions_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def questions_command(args: argparse.Namespace) -> int:
    questions = open_memory(args).sessions.open_questions()
    if args.json:
        print_json(questions)
        return 0
    for question in questions:
        about = f"  {paint(single_line(question['title']), 'dim')}" if question["title"] else ""
        note = single_line(question["note"] or "")
        echo(f"{paint(question['session'][:8], 'bold')}  {question['id']}: {note}{about}")
        if question["answer_schema"]:
            echo(paint(f"    expected: {json.dumps(question['answer_schema'], ensure_ascii=False)}", "dim"))
        echo(paint(f"    fazm-memory answer {question['session'][:8]} {question['id']} TEXT", "dim"))
    if not questions:
        echo("No questions wait for you.")
    return 0


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
    return _report(args, result, f"{result['session'][:8]} {text}")


def _effect_text(seq: int, result: dict[str, Any]) -> str:
    """What was put in quarantine, or taken out, with an event."""
    parts = [
        *([plural(result["words"], "message") + " of the agent"] if result["words"] else []),
        *([plural(result["calls"], "call")] if result["calls"] else []),
        *([plural(result["files"], "file event")] if result["files"] else []),
    ]
    also = f" and what followed it in its turn: {', '.join(parts)}" if parts else ""
    return f"{'Lifted' if result['lifted'] else 'Quarantined'}: event {seq}{also}."


def _report(args: argparse.Namespace, result: dict[str, Any], text: str) -> int:
    if args.json:
        print_json(result)
    else:
        echo(text)
    return 0
