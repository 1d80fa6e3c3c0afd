"""Which turn of which script comes next, told from the request's own history alone.

Nothing is remembered between requests, so a resumed, forked or retried conversation, a subagent, and a
conversation whose past was compacted away all find their place by themselves.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.e2e.scenarios.script import Scenario, Turn

_CALL_TURN = re.compile(r"_t(\d+)_[0-9a-f]{16}$")
_BOOKMARK = re.compile(r"\[the script goes on at turn (\d+) of: (.+?)\]")


@dataclass(frozen=True)
class Utterance:
    """One message of a request's history: the texts a person (or the client) sent, the calls we made."""

    by_user: bool
    texts: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    is_summary: bool = False


@dataclass(frozen=True)
class Cue:
    """A place in a script: the prompt that began it, and the number of the turn to play."""

    prompt: str
    turn: int


def call_id(prefix: str, turn: int) -> str:
    """An id that is new each time (a fork must not repeat it) and still says which turn made it."""
    return f"{prefix}_t{turn}_{uuid.uuid4().hex[:16]}"


def find_cue(history: Iterable[Utterance], prompts: Iterable[str]) -> Cue | None:
    """The place after the last scripted prompt, or after the last summary that carries a bookmark.

    A prompt counts only as a whole text: the memory under test may well quote yesterday's prompt in the
    context it injects, and a quotation must not start the script again.
    """
    known = {prompt.strip(): prompt for prompt in prompts}
    cue: Cue | None = None
    for messages in history:
        if messages.by_user:
            for text in messages.texts:
                if text.strip() in known:
                    cue = Cue(known[text.strip()], 0)
                elif messages.is_summary and (found := _BOOKMARK.search(text)) and found[2] in known:
                    cue = Cue(known[found[2]], int(found[1]))
        elif cue is not None:
            made = [int(match[1]) for one in messages.call_ids if (match := _CALL_TURN.search(one))]
            cue = Cue(cue.prompt, max([cue.turn, *(turn + 1 for turn in made)]))
    return cue


def summary_at(cue: Cue | None) -> str:
    """What the model answers when the client asks it to summarise: a bookmark survives the compaction."""
    if cue is None:
        return "Summary: nothing scripted has happened yet."
    return f"Summary: the work is under way. [the script goes on at turn {cue.turn} of: {cue.prompt.strip()}]"


def turn_at(cue: Cue, scripts: Mapping[str, tuple[Turn, ...]]) -> Turn | None:
    turns = scripts[cue.prompt]
    return turns[cue.turn] if cue.turn < len(turns) else None


def scripts_of(prompt: str, scenario: Scenario) -> dict[str, tuple[Turn, ...]]:
    """Every prompt that starts a script in this scenario: the person's own and those given to subagents."""
    return {prompt: scenario.turns, **scenario.subagents}
