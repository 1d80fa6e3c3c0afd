"""User records of Claude Code: what a person typed in them.

Commands, notices and the summaries of compactions are user records too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.agents.fields import mapping, sequence, strip_injected_text, text
from fazm_memory.lazy import lazy_regex

# Fields of records that no person typed.
NOT_TYPED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain", "isApiErrorMessage")
# Messages that are only notices. Commands that the client handles begin with `<command-name>`, commands that
# become a prompt with `<command-message>`.
NOTICES = (
    "<local-command-", "<command-name>", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
    "<task-notification", "<user-memory-input>", "<user-prompt-submit-hook>", "<teammate-message", "<tick>",
    "<ide_", "<agent-notification", "Caveat: The messages below were generated", "Stop hook feedback:",
    "Operation stopped by hook:",
    "This session is being continued from a previous conversation",
)  # fmt: skip
INTERRUPTED = "[Request interrupted by user"
INTERRUPTION = lazy_regex(r"\[Request interrupted by user[^\]\n]{0,60}\]\s*")  # the next prompt may follow
# Inserted by the client into a prompt: reminders, the editor's state.
PUT_IN = lazy_regex(r"<(system-reminder|ide_[a-z_]{1,40})\b[^<>]{0,300}>")
MOST_UNCLOSED = 20
# Commands that end a session, with the reason of the end.
ENDING_COMMANDS = {"/exit": "exit", "/quit": "exit", "/logout": "logout"}
CLEAR = "/clear"
# A session that begins with a plan which the user accepted in another one, and what the client adds to it.
ACCEPTED_PLAN = lazy_regex(r"\s*Implement the following plan:\s*")
PLAN_TAIL = lazy_regex(r"\n\s*If you need specific details from before exiting plan mode[^\n]*\Z")
PLAN_TRANSCRIPT = lazy_regex(r"/([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl[^\n]{0,20}\Z")
# The client's instructions around a summary are not recorded.
SUMMARY_HEAD = lazy_regex(r"This session is being continued from a previous conversation[^\n]*\n")
SUMMARY_TAIL = lazy_regex(
    r"\n(?:If you need specific details from before compaction"
    r"|(?:Please )?continue the conversation from where)",
    re.IGNORECASE,
)


def texts(content: Any) -> Iterator[str]:
    """The texts of a message, which is a text or a list of blocks."""
    if isinstance(content, str):
        yield content
    for block in sequence(content):
        if mapping(block).get("type") == "text":
            yield text(block.get("text"))


def typed_text(record: Mapping[str, Any], content: Any) -> str:
    """The text that a person typed in a user message, or ""."""
    if any(record.get(mark) is True for mark in NOT_TYPED) or not is_from_person(record):
        return ""
    return user_words(texts(content))


def is_from_person(record: Mapping[str, Any]) -> bool:
    """Whether a person wrote a message. Older versions do not say; then it is assumed."""
    origin = mapping(record.get("origin")).get("kind")
    return not isinstance(origin, str) or origin == "human"


def user_words(parts: Iterator[str]) -> str:
    result = []
    for part in parts:
        words = INTERRUPTION.sub("", _without_insertions(strip_injected_text(part)).strip(), count=1)
        if words.startswith("<command-message>"):
            words = f"{between(words, 'command-name')} {between(words, 'command-args')}".strip()
        if words and not words.startswith(NOTICES):
            result.append(words)
    return "\n".join(result)


def ending_reason(content: Any) -> str:
    """The reason of the end if a person ended the session with a command, or ""."""
    return ENDING_COMMANDS.get(command_name(content), "")


def command_name(content: Any) -> str:
    """The command of the client that a person typed, such as `/exit`, or ""."""
    words = next(texts(content), "").lstrip()
    if not words.startswith(("<command-name>", "<command-message>")):
        return ""
    return between(words, "command-name")


def is_summary(record: Mapping[str, Any], content: Any) -> bool:
    """Whether a user record is the summary of a compaction.

    Older versions do not mark it.
    """
    if record.get("isCompactSummary") is True:
        return True
    return SUMMARY_HEAD.match(next(texts(content), "").lstrip()) is not None


def is_interruption(content: Any) -> bool:
    return any(part.lstrip().startswith(INTERRUPTED) for part in texts(content))


def typed_shell(content: Any) -> str:
    """The command a person ran with `!`, or ""."""
    words = next(texts(content), "").strip()
    return between(words, "bash-input") if words.startswith("<bash-input>") else ""


def shell_answer(content: Any) -> tuple[str, str] | None:
    """The stdout and stderr of such a command, or None."""
    words = next(texts(content), "").lstrip()
    if not words.startswith(("<bash-stdout>", "<bash-stderr>")):
        return None
    return between(words, "bash-stdout"), between(words, "bash-stderr")


def accepted_plan(words: str) -> tuple[str, str] | None:
    """The plan that a first prompt hands over.

    With it comes the session that presented it, or "" if it is not named.
    """
    if ACCEPTED_PLAN.match(words) is None:
        return None
    plan = ACCEPTED_PLAN.sub("", words, count=1)
    found = PLAN_TRANSCRIPT.search(plan)
    return without_plan_tail(plan).strip(), found[1].lower() if found else ""


def without_plan_tail(words: str) -> str:
    """A prompt without the client's note where the session that planned it is stored."""
    return PLAN_TAIL.sub("", words)


def compact_summary(content: Any) -> str:
    """The summary of a compaction, without the client's instructions."""
    words = SUMMARY_HEAD.sub("", strip_injected_text("\n".join(texts(content))), count=1)
    found = SUMMARY_TAIL.search(words)
    return words[: found.start()].strip() if found else words.strip()


def between(words: str, tag: str) -> str:
    """The content of the first such tag.

    A tag that is not closed extends to the end of the text.
    """
    _, _, after = words.partition(f"<{tag}>")
    return after.partition(f"</{tag}>")[0].strip()


def _without_insertions(words: str) -> str:
    """A loop, because a regular expression is quadratic when closing tags are missing."""
    parts, start, unclosed = [], 0, 0
    for found in PUT_IN.finditer(words):
        if found.start() < start:
            continue
        end = words.find(f"</{found.group(1)}", found.end())
        closed = words.find(">", end) if end >= 0 else -1
        if closed >= 0:
            parts.append(words[start : found.start()])
            start = closed + 1
        elif (unclosed := unclosed + 1) > MOST_UNCLOSED:
            break
    return "".join([*parts, words[start:]])
