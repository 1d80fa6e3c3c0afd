"""`fazm-memory record`: JSON lines in, an answer per line out.

The lines that have come are committed together, and answered only when they are durable.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.lines import LineReader, line_to_draft
from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_line, talk
from fazm_memory.errors import FazmMemoryError, InvalidInput

EXAMPLE = """\
Each line is one JSON object, for example
  {"type":"session.open","session":"tidy-1","agent":"fazm","workspace":"/Users/dana/Downloads"}
  {"type":"prompt","session":"tidy-1","text":"Rename the invoices"}
  {"type":"action","session":"tidy-1","tool":"Bash","input":{"command":"mv a.pdf b.pdf"},
   "files":[{"path":"b.pdf","change":"renamed","from":"a.pdf"}]}          (on one line)
  {"type":"decision","session":"tidy-1","what":"ISO dates first","why":"they sort"}
  {"type":"session.close","session":"tidy-1"}
docs/record.md has every type and field."""


def record_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLE


def record_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    number = refused = stopped = 0
    for lines in LineReader(sys.stdin.fileno(), memory.config.line_cap).batches():
        answers, code = _take(memory, lines, number)
        number += len(lines)
        stopped = stopped or code
        for answer in answers:
            refused += not answer["ok"]
            emit_line(answer)
        sys.stdout.flush()
    return stopped or (InvalidInput.exit_code if refused else 0)


def _take(memory: Any, lines: list[bytes | None], before: int) -> tuple[list[dict[str, Any]], int]:
    """Answers to a batch, in order. What cannot be read is refused; what can is recorded together. With them
    the exit code of what kept all of it from being recorded, whatever the lines said; or 0."""
    stopped = 0
    drafts: list[tuple[int, Draft]] = []
    answers: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines, before + 1):
        if line is not None and not line.strip():
            continue
        try:
            if line is None:
                cap = memory.config.line_cap
                raise InvalidInput(
                    f"the line is longer than {cap:,} bytes", hint="split it, or raise line_cap"
                )
            drafts.append((number, line_to_draft(line)))
        except FazmMemoryError as error:
            answers[number] = refusal(error, number)
    if drafts:
        try:
            results = memory.record([draft for _, draft in drafts])
        except FazmMemoryError as error:
            stopped = error.exit_code
            answers |= {number: refusal(error, number) for number, _ in drafts}
        else:
            for (number, draft), result in zip(drafts, results, strict=True):
                if result.unannounced and result.appended is not None:
                    _tell_of_new(number, draft.session, result.appended.session)
                if result.appended is None:
                    answers[number] = refusal(result.error, number)
                    continue
                told = {
                    "ok": True,
                    "line": number,
                    "session": result.appended.session,
                    "seq": result.appended.seq,
                }
                if result.appended.duplicate:
                    told["duplicate"] = True
                if draft.kind == "pending.done":
                    told |= _note(memory, result.appended.session, result.appended.seq)
                answers[number] = told
    return [answers[number] for number in sorted(answers)], stopped


def _note(memory: Any, session: str, seq: int) -> dict[str, str]:
    """A name that is mistyped would otherwise leave what it meant open, unseen."""
    note = memory.nothing_pending(session, seq)
    return {} if note is None else {"note": note}


def _tell_of_new(number: int, name: str, session: str) -> None:
    """A name that is mistyped would otherwise gather its events unseen, in a session of its own."""
    talk(f"note: line {number}: there was no session {name[:60]!r}, so a new one was opened: {session}")


def refusal(error: FazmMemoryError, number: int) -> dict[str, Any]:
    return {"ok": False, **error.to_json(), "line": number}
