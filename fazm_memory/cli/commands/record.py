"""`fazm-memory record`: JSON lines in, one answer per line out.

Lines that arrive together are committed together. Answers are written after the commit.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.main import calling_agent, open_memory
from fazm_memory.cli.output import echo_err, print_json_line
from fazm_memory.errors import FazmMemoryError, InvalidInput
from fazm_memory.events import Draft, lowest_trust
from fazm_memory.ingest import LineReader, line_to_draft
from fazm_memory.records import replace

if TYPE_CHECKING:
    from fazm_memory.app import Memory

EXAMPLE = """\
Each line is one JSON object, for example
  {"type":"session.open","session":"tidy-1","agent":"fazm","workspace":"/Users/dana/Downloads"}
  {"type":"prompt","session":"tidy-1","text":"Rename the invoices"}
  {"type":"action","session":"tidy-1","tool":"Bash","input":{"command":"mv a.pdf b.pdf"},
   "files":[{"path":"b.pdf","change":"renamed","from":"a.pdf"}]}          (on one line)
  {"type":"action.start","session":"tidy-1","tool":"Bash","call_id":"7"}   before a long call, then
  {"type":"action","session":"tidy-1","tool":"Bash","call_id":"7","outcome":"ok"}
  {"type":"decision","session":"tidy-1","what":"ISO dates first","why":"they sort"}
  {"type":"session.close","session":"tidy-1"}
docs/record.md lists every type and field."""


def record_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLE


def record_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    agent = calling_agent()
    number = refused = stopped = 0
    for lines in LineReader(sys.stdin.fileno(), memory.config.line_cap).batches():
        answers, code = _record(memory, lines, number, by_agent=agent is not None)
        number += len(lines)
        stopped = stopped or code
        for answer in answers:
            refused += not answer["ok"]
            print_json_line(answer)
        sys.stdout.flush()
    return stopped or (InvalidInput.exit_code if refused else 0)


def _record(
    memory: Memory, lines: list[bytes | None], before: int, *, by_agent: bool
) -> tuple[list[dict[str, Any]], int]:
    """Record a batch of lines.

    Returns the answers in order, and the exit code if nothing could be recorded at all.
    """
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
                    f"The line is longer than {cap:,} bytes", hint="Split it, or raise line_cap."
                )
            draft = line_to_draft(line)
            drafts.append((number, _as_agent(draft) if by_agent else draft))
        except FazmMemoryError as error:
            answers[number] = refusal(error, number)
    if drafts:
        try:
            results = memory.sessions.record([draft for _, draft in drafts])
        except FazmMemoryError as error:
            stopped = error.exit_code
            answers |= {number: refusal(error, number) for number, _ in drafts}
        else:
            for (number, draft), result in zip(drafts, results, strict=True):
                if result.unannounced and result.appended is not None:
                    _note_new_session(number, draft.session, result.appended.session)
                if result.appended is None:
                    assert result.error is not None
                    answers[number] = refusal(result.error, number)
                    continue
                answer = {
                    "ok": True,
                    "line": number,
                    "session": result.appended.session,
                    "seq": result.appended.seq,
                }
                if result.appended.duplicate:
                    answer["duplicate"] = True
                if draft.kind in ("pending.done", "fact.retract"):
                    answer |= _note_without_effect(memory, result.appended.session, result.appended.seq)
                answers[number] = answer
    return [answers[number] for number in sorted(answers)], stopped


def _as_agent(draft: Draft) -> Draft:
    """The draft as a statement of the agent, also if it claims to quote the user."""
    actor = "agent" if draft.kind == "prompt" or draft.actor == "person" else draft.actor
    return replace(draft, actor=actor, trust=lowest_trust((draft.trust or "agent", "agent")))


def _note_without_effect(memory: Memory, session: str, seq: int) -> dict[str, str]:
    """A note if an event ended nothing, for example because of a typing error."""
    note = memory.sessions.why_without_effect(session, seq)
    return {} if note is None else {"note": note}


def _note_new_session(number: int, name: str, session: str) -> None:
    """A mistyped name would otherwise start a new session unnoticed."""
    echo_err(f'note: Line {number}: no session "{name[:60]}" existed, so a new one was opened: {session}')


def refusal(error: FazmMemoryError, number: int) -> dict[str, Any]:
    return {"ok": False, **error.to_json(), "line": number}
