"""One tool call of Gemini CLI: how it ended, what it gave, what it touched.

Its status tells whether the tool ran, not whether the command did: an exit code is only in the text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text
from fazm_memory.capture.agents.file_tools import touched
from fazm_memory.capture.agents.folder_listing import listed_by_command, listed_names, listed_paths
from fazm_memory.capture.agents.tool_call import OUTPUT, shell_files, summary
from fazm_memory.capture.shell import Known

SHELL = "run_shell_command"
FENCE = ("<untrusted_context>\n", "</untrusted_context>")
EXIT = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
SIGNAL = re.compile(r"^Signal: (\S+)$", re.MULTILINE)
BELOW_OUTPUT = ("Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
TIMED_OUT = "Command was automatically cancelled because it exceeded the timeout"
CANCELLED = ("Command was cancelled by user", "[Operation Cancelled]", "User cancelled")
DENIED = re.compile(r"denied by policy|did not allow|denied execution|rejected|user denied", re.IGNORECASE)
LISTED_FILE = re.compile(r"(.+) \(\d+ bytes\)")


@dataclass(frozen=True)
class Ended:
    output: str
    outcome: str
    error: str | None
    files: tuple[dict[str, Any], ...] = ()
    seen: tuple[dict[str, Any], ...] = ()


def ended(
    tool: str,
    given: Mapping[str, Any],
    call: Mapping[str, Any],
    *,
    cwd: str,
    home: str | None,
    known: Known | None = None,
) -> Ended:
    """How a call ended, from its record."""
    over = _ended(tool, given, call, cwd, home, known)
    if known is not None and over.outcome == "ok":
        known.take(over.files, over.seen)
    return over


def _ended(
    tool: str,
    given: Mapping[str, Any],
    call: Mapping[str, Any],
    cwd: str,
    home: str | None,
    known: Known | None,
) -> Ended:
    told, failure = _result(call.get("result"))
    body = told or failure
    outcome = _outcome(call, body)
    if tool == SHELL:
        return _shell(given, body, outcome, cwd, home, known)
    if outcome != "ok":
        return Ended(body, outcome, summary(failure or body))
    shown = mapping(call.get("resultDisplay"))
    new = shown.get("isNewFile") is True or body.startswith(("Created new file", "Successfully created"))
    files = touched(tool, given, cwd=cwd, created=new, home=home)
    return Ended(body, outcome, None, tuple(files), tuple(_seen(tool, body, cwd)))


def _result(result: Any) -> tuple[str, str]:
    """What the tool answered and what it complained of, out of the parts the model was given."""
    answers, complaints = [], []
    for part in [result] if isinstance(result, (str, dict)) else sequence(result):
        if isinstance(part, str):
            answers.append(part)
            continue
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        answers.append(text(response.get("output")))
        complaints.append(text(response.get("error")))
    answer = "\n".join(filter(None, answers))
    if answer.startswith(FENCE[0]) and answer.endswith(FENCE[1]):
        answer = answer[len(FENCE[0]) : -len(FENCE[1])].removesuffix("\n")
    return answer, "\n".join(filter(None, complaints))


def _outcome(call: Mapping[str, Any], body: str) -> str:
    status = call.get("status")
    if DENIED.search(body[:300]) and status != "success":
        return "denied"
    if body.startswith(TIMED_OUT):
        return "timeout"
    if status == "cancelled" or (body.startswith(CANCELLED) and status != "success"):
        return "interrupted"
    return "error" if status == "error" else "ok"


def _shell(
    given: Mapping[str, Any], body: str, outcome: str, cwd: str, home: str | None, known: Known | None
) -> Ended:
    command = text(given.get("command"))
    folder = posixpath.join(cwd, text(given.get("dir_path")) or text(given.get("directory")))
    output, tail = body, ""
    if body.startswith("Output: "):
        start = _tail_start(body)
        output, tail = body[len("Output: ") : start], body[start:]
        output = "" if output == "(empty)" else output
    elif body.startswith(CANCELLED) and outcome == "ok":
        outcome = "interrupted"
    code, signal = EXIT.search(tail), SIGNAL.search(tail)
    if outcome == "ok" and (code or signal or "\nError: " in tail):
        outcome = "error"
    error = None
    if outcome != "ok":
        first = summary(output)
        ended_by = f"exit code {code.group(1)}" if code else f"signal {signal.group(1)}" if signal else None
        error = ": ".join(filter(None, (ended_by, first))) or None
    ok = outcome == "ok"
    ran = bool(command) and outcome != "denied"
    files = shell_files(command, cwd=folder, output=output, ok=ok, home=home, known=known) if ran else []
    seen = listed_by_command(command, output, folder, home) if ok and len(output) < OUTPUT else []
    return Ended(output, outcome, error, tuple(files), tuple(seen))


def _tail_start(body: str) -> int:
    """Where Gemini's own lines below the output begin: the last unbroken run of them."""
    start = len(body)
    for line in reversed(body.split("\n")):
        if not line.startswith(BELOW_OUTPUT):
            break
        start -= len(line) + 1
    return start


def _seen(tool: str, body: str, cwd: str) -> list[dict[str, Any]]:
    lines = body.split("\n")
    if tool == "list_directory" and lines[0].startswith("Directory listing for "):
        folder = lines[0].removeprefix("Directory listing for ").rstrip(":")
        files = filter(None, map(LISTED_FILE.fullmatch, lines[1:]))
        return listed_names(posixpath.join(cwd, folder), (found.group(1) for found in files))
    if tool == "glob" and lines[0].startswith("Found "):
        return listed_paths([line for line in lines[1:] if line.startswith("/")], cwd)
    return []
