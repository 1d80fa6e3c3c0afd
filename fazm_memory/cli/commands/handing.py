"""Handing over and holding back: handoff, answer, questions, quarantine."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fazm_memory.capture.answer_schema import check_schema
from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, integer, one_line, paint, plural, say
from fazm_memory.cli.speaker import speaker
from fazm_memory.errors import InvalidInput, InvalidRequest

SCHEMA_HINT = """such as '{"type": "boolean"}'"""


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")


def handoff_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--to", choices=("human", "agent"), required=True)
    parser.add_argument("--note", required=True, metavar="TEXT", help="the question")
    parser.add_argument("--schema", metavar="JSON", help="a JSON Schema that the answer must fit")


def handoff_command(chosen: argparse.Namespace) -> int:
    if not chosen.note.strip():
        raise InvalidRequest("a question needs words", hint="say what you ask with --note")
    schema = None if chosen.schema is None else _schema(chosen.schema)
    made = memory_of(chosen).handoff(chosen.id, to=chosen.to, note=chosen.note, answer_schema=schema)
    return _told(chosen, made, f"question {made['question']} is open in {made['id'][:8]}")


def _schema(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"--schema is not JSON: {str(error)[:120]}", hint=SCHEMA_HINT) from None
    if not isinstance(read, dict):
        raise InvalidRequest("--schema is JSON, but not an object", hint=SCHEMA_HINT)
    try:
        check_schema(read)
    except InvalidInput as error:  # refused for what was typed here, not for what was to be recorded
        raise InvalidRequest(f"--schema cannot be used: {error.message}", hint=error.hint) from None
    return read


def answer_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("question", metavar="QUESTION", help="the question's id")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the answer; JSON where that is asked for")
    parser.add_argument("--waive", action="store_true", help="go on without an answer")


def answer_command(chosen: argparse.Namespace) -> int:
    if chosen.waive and chosen.text is not None:
        raise InvalidRequest("a question is answered or waived, not both", hint="leave one of them out")
    source = "cli" if speaker() is None else "record"  # which answers nothing that a person was asked
    made = memory_of(chosen).answer(
        chosen.id, chosen.question, chosen.text, waived=chosen.waive, source=source
    )
    done = "waived" if chosen.waive else "answered"
    left = f"{plural(made['open_questions'], 'question')} left open"
    return _told(chosen, made, f"{chosen.question} is {done}; {left} in {made['id'][:8]}")


def questions_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def questions_command(chosen: argparse.Namespace) -> int:
    asked = memory_of(chosen).open_questions()
    if chosen.json:
        emit_json(asked)
        return 0
    for one in asked:
        about = f"  {paint(one_line(one['title']), 'dim')}" if one["title"] else ""
        say(f"{paint(one['session'][:8], 'bold')}  {one['id']}: {one_line(one['note'] or '')}{about}")
        if one["answer_schema"]:
            say(paint(f"    it should be {json.dumps(one['answer_schema'], ensure_ascii=False)}", "dim"))
        say(paint(f"    fazm-memory answer {one['session'][:8]} {one['id']} TEXT", "dim"))
    if not asked:
        say("nothing waits for you")
    return 0


def quarantine_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument(
        "--seq", type=integer, metavar="N", help="only this event and what the agent made of it in that turn"
    )
    parser.add_argument(
        "--words-only", action="store_true", help="with --seq: not the calls that followed it and their files"
    )
    parser.add_argument("--lift", action="store_true", help="let it into exports again")
    parser.add_argument("--reason", help="why, for whoever reads the log")


def quarantine_command(chosen: argparse.Namespace) -> int:
    made = memory_of(chosen).quarantine(
        chosen.id, seq=chosen.seq, lift=chosen.lift, words_only=chosen.words_only, reason=chosen.reason
    )
    if made["whole"]:
        text = "is in quarantine as a whole: no export tells of it"
    elif made["seqs"]:
        named = ", ".join(map(str, made["seqs"][:20]))
        text = f"has {plural(len(made['seqs']), 'event')} in quarantine: {named}"
    else:
        text = "has nothing in quarantine"
    if chosen.seq is not None:
        text += f"\n{_came_of(chosen.seq, made)}"
    return _told(chosen, made, f"{made['session'][:8]} {text}")


def _came_of(seq: int, made: dict[str, Any]) -> str:
    """What went with an event, in plain words."""
    parts = [
        *([plural(made["words"], "thing") + " that the agent said"] if made["words"] else []),
        *([plural(made["calls"], "call")] if made["calls"] else []),
        *([plural(made["files"], "note") + " of files they changed or listed"] if made["files"] else []),
    ]
    also = f", and what followed it in that turn: {', '.join(parts)}" if parts else ""
    return f"{'let go again' if made['lifted'] else 'held back'}: event {seq}{also}"


def _told(chosen: argparse.Namespace, told: dict[str, Any], text: str) -> int:
    if chosen.json:
        emit_json(told)
    else:
        say(text)
    return 0
