"""What the person said to Claude Code, out of all that it writes as the user's messages.

Tool results, notices, the output of local commands, reminders, summaries and context that hooks put in (ours
among it) come under the same role. Only what a person typed is a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text
from fazm_memory.capture.agents.injected import without_injected

# Records that say of themselves that no person typed them.
NOT_TYPED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain", "isApiErrorMessage")
# Messages that are notices as a whole. Commands handled by the client itself begin with their name, commands
# that became a prompt begin with their message.
NOTICES = (
    "<local-command-", "<command-name>", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
    "<task-notification", "<user-memory-input>", "<user-prompt-submit-hook>", "<teammate-message", "<tick>",
    "<ide_", "Caveat: The messages below were generated", "Stop hook feedback:",
    "This session is being continued from a previous conversation",
)  # fmt: skip
INTERRUPTED = "[Request interrupted by user"
INTERRUPTION = re.compile(
    r"\[Request interrupted by user[^\]\n]{0,60}\]\s*"
)  # the person's next words may follow
# What is put into or beside a person's words: reminders, the editor's state.
PUT_IN = re.compile(r"<(system-reminder|ide_[a-z_]{1,40})\b[^<>]{0,300}>")
MOST_UNCLOSED = 20
# The client's own words around a summary tell the model how to go on: they are no part of what happened.
SUMMARY_HEAD = re.compile(r"This session is being continued from a previous conversation[^\n]*\n")
SUMMARY_TAIL = re.compile(
    r"\n(?:If you need specific details from before compaction"
    r"|(?:Please )?continue the conversation from where)",
    re.IGNORECASE,
)


def texts(content: Any) -> Iterator[str]:
    """The texts of a message: it is one text, or a list of blocks some of which are texts."""
    if isinstance(content, str):
        yield content
    for block in sequence(content):
        if mapping(block).get("type") == "text":
            yield text(block.get("text"))


def typed(record: Mapping[str, Any], content: Any) -> str:
    """What the person typed in a user's message, or nothing when nobody typed it."""
    if any(record.get(mark) is True for mark in NOT_TYPED) or not by_a_person(record):
        return ""
    return own_words(texts(content))


def by_a_person(record: Mapping[str, Any]) -> bool:
    """Newer versions say where a message comes from; notices of tasks and of other agents are no prompts."""
    origin = mapping(record.get("origin")).get("kind")
    return not isinstance(origin, str) or origin == "human"


def own_words(parts: Iterator[str]) -> str:
    said = []
    for part in parts:
        words = INTERRUPTION.sub("", _without_put_in(without_injected(part)).strip(), count=1)
        if words.startswith("<command-message>"):
            words = f"{between(words, 'command-name')} {between(words, 'command-args')}".strip()
        if words and not words.startswith(NOTICES):
            said.append(words)
    return "\n".join(said)


def is_interruption(content: Any) -> bool:
    return any(part.lstrip().startswith(INTERRUPTED) for part in texts(content))


def typed_shell(content: Any) -> str:
    """The command a person ran with `!`, or nothing."""
    told = next(texts(content), "").strip()
    return between(told, "bash-input") if told.startswith("<bash-input>") else ""


def shell_answer(content: Any) -> tuple[str, str] | None:
    """What such a command printed, on its two outputs; None when the message is something else."""
    told = next(texts(content), "").lstrip()
    if not told.startswith(("<bash-stdout>", "<bash-stderr>")):
        return None
    return between(told, "bash-stdout"), between(told, "bash-stderr")


def compact_summary(content: Any) -> str:
    """The summary a compaction left, without the client's instructions around it."""
    told = SUMMARY_HEAD.sub("", without_injected("\n".join(texts(content))), count=1)
    found = SUMMARY_TAIL.search(told)
    return told[: found.start()].strip() if found else told.strip()


def between(words: str, tag: str) -> str:
    """What stands in the first such tag; without an end it goes on to the end."""
    _, _, after = words.partition(f"<{tag}>")
    return after.partition(f"</{tag}>")[0].strip()


def _without_put_in(words: str) -> str:
    """Scanned by hand: a regular expression over both ends is quadratic where the ends are missing."""
    kept, start, unclosed = [], 0, 0
    for found in PUT_IN.finditer(words):
        if found.start() < start:
            continue
        end = words.find(f"</{found.group(1)}", found.end())
        closed = words.find(">", end) if end >= 0 else -1
        if closed >= 0:
            kept.append(words[start : found.start()])
            start = closed + 1
        elif (unclosed := unclosed + 1) > MOST_UNCLOSED:
            break
    return "".join([*kept, words[start:]])
