"""Open items: what waits for the user and what comes next in a session.

The session itself knows most of it (see `fazm_memory/session/upcoming.py`). One thing is only in the
dialogue: an agent listed points, of which the user took up some and left the others. After a review with
three issues and "fix issue 1", two issues are open, unless somebody came back to them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import terms_of_text
from fazm_memory.recall.dialogue import (
    ANSWERS,
    USER_ROLES,
    Utterance,
    compact_request,
    plain_markdown,
    shortened,
)
from fazm_memory.recall.items import LABELS, WEIGHTS, Item, inside, item_id
from fazm_memory.recall.quoting import neutral, quote
from fazm_memory.records import dataclass
from fazm_memory.session import SessionState, is_ready_for, next_steps, waiting_questions

LONGEST_STEP = 200
LONGEST_PROPOSAL = 110
MAX_PROPOSED = 3
MAX_EDITED = 3
LONGEST_QUESTION = 260
LONGEST_OPTION = 80
LONGEST_ABOUT = 70
TELLING_TERMS = 4  # of a question that can be understood alone


def open_items(state: SessionState, talk: Sequence[Utterance], worth: float) -> list[Item]:
    """What waits for the user and what comes next in a session.

    Open steps of its lists are items already.
    """
    items = []
    for nth, (kind, text, row) in enumerate(_upcoming(state)):
        score = WEIGHTS[kind] * worth + min(row["seq"], 10**6) / 10**9 - nth / 10**4
        id_ = item_id(state.session, kind, f"{row['seq']}.{nth}" if nth else str(row["seq"]))
        items.append(
            Item(id_, "OPEN", kind, text, score, state.session, row["seq"], row["trust"], LABELS[kind])
        )
    if (left := untaken_points(talk)) is not None:
        items.append(_left_item(state.session, left, worth))
    return items


def _upcoming(state: SessionState) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for row in waiting_questions(state):
        yield "asking", _waiting(row), row
    proposed: list[dict[str, Any]] = []
    for row in next_steps(state):
        what = shortened(plain_markdown(" ".join(row["what"].split())), LONGEST_STEP)
        if row["from"] == "request":
            if row["status"] == "broken off" and _passed_since(state, row["seq"]):
                continue  # only the closing words are missing
            status = "no answer recorded" if row["status"] == "no answer" else "broken off"
            status += _edited_since(state, row["seq"])
            yield "next", f'{status}: "{neutral(compact_request(what))}"', row
        elif row["from"] == "check":
            yield "next", f"{neutral(what)} failed last and was not run again", row
        elif row["from"] == "plan":
            begun = "plan step" if row["status"] == "pending" else "accepted and not begun: plan"
            yield "next", f"{begun} {quote(what, LONGEST_STEP)}", row
        elif row["from"] == "note":
            yield "next", f"go on from {neutral(inside(what, state.workspace))}", row
        elif row["from"] == "agent" and not is_ready_for(row["what"]):
            proposed.append(row)  # "ready to commit" is a status, and no proposal
    if proposed:
        texts = [shortened(plain_markdown(row["what"]), LONGEST_PROPOSAL).rstrip(".") for row in proposed]
        late = " earlier" if proposed[0]["status"] == "passed_over" else ""
        yield "proposed", neutral(f"the agent proposed{late}: {'; '.join(texts[:MAX_PROPOSED])}"), proposed[0]


def _edited_since(state: SessionState, seq: int) -> str:
    """The files that the agent edited after a request.

    Its work may be done but for the closing words.
    """
    changed = sorted(
        (entry for entry in state.files_modified.values() if entry.by == "agent" and entry.seq > seq),
        key=lambda entry: -entry.seq,
    )
    if not changed:
        return ""
    names = ", ".join(neutral(posixpath.basename(entry.path)) for entry in changed[:MAX_EDITED])
    more = f" and {len(changed) - MAX_EDITED} more" if len(changed) > MAX_EDITED else ""
    return f" after edits of {names}{more}"


def _passed_since(state: SessionState, seq: int) -> bool:
    """Whether the last check that ran after a position passed."""
    later = [row for row in state.checks.values() if row["seq"] > seq]
    return bool(later) and max(later, key=lambda row: int(row["seq"]))["outcome"] == "ok"


def _waiting(row: dict[str, Any]) -> str:
    """A question of the agent with its options.

    If it says too little, also the request before it.
    """
    options: dict[str, str] = row.get("options") or {}
    text = neutral(plain_markdown(" ".join(row["text"].split())[-LONGEST_QUESTION:]))
    if options:
        named = (
            f"{label}: {shortened(plain_markdown(words), LONGEST_OPTION)}" for label, words in options.items()
        )
        listed = "; ".join(named)
        text += f" ({neutral(listed)})"
    elif row["about"] and len(terms_of_text(text)) < TELLING_TERMS:
        text += f' (on "{neutral(shortened(compact_request(row["about"]), LONGEST_ABOUT))}")'
    return f"offered, not answered: {text}" if row["status"] == "passed_over" else text


def _left_item(session: str, left: Untaken, worth: float) -> Item:
    text = f"named by the agent, not taken up: {left.text}"
    return Item(
        item_id(session, "proposed", f"left.{left.seq}"), "OPEN", "proposed", text,
        WEIGHTS["proposed"] * worth,
        session, left.seq, left.trust, "todo", at=left.at,
    )  # fmt: skip


# An agent listed points, of which the user took up some and left the others. After a review with three
# issues and "fix issue 1", two issues are open, unless somebody came back to them.

POINT = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t]+|\*\*|[-*][ \t]+\*\*)(?:Issue|Problem|Bug|Finding|Concern|Gap"
    r"|Suggestion)[ \t]*#?(\d{1,2})"
    r"\*{0,2}[ \t]*[.:)—–-]+[ \t]*(\S[^\n]*)$",
    re.I | re.M,
)
HEADED = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t]+|\*\*)[^\n]{0,40}\b(?:issues|problems|bugs|concerns|gaps|what's broken"
    r"|still missing|findings)\b"
    r"[^\n]{0,30}$",
    re.I | re.M,
)
HEADING = lazy_regex(r"^[ \t]*#{1,6}[ \t]+(?!\**\d)|^-{3,}[ \t]*$", re.M)
NUMBERED = lazy_regex(r"^[ \t]{0,3}(?:#{1,6}[ \t]+)?\**(\d{1,2})[.)]\**[ \t]+(\S[^\n]*)$", re.M)
NAMES_POINT = lazy_regex(
    r"(?i)(?:\b(?:issues?|problems?|bugs?|points?|findings?|fix|numbers?|nr|no)\b\.?[ \t]*|#|^\W*)"
    r"(\d{1,2}\b(?![.:/]\d)(?:(?:[ ,&+#]|\band\b)+\d{1,2}\b(?![.:/]\d))*)"
)  # one or several: "issue 1", "1, 2 and 4"
ALL = lazy_regex(r"(?i)\b(?:all|both|each|every|everything|them)\b")
SETTLED = lazy_regex(
    r"(?i)\b(?:not an? (?:issue|problem|bug)|no (?:issue|problem|change)|correct as|fine as|acceptable"
    r"|harmless|works as|already (?:fixed|handled|done))\b|✅"
)
TAKEN = 0.5  # share of the words of a point that later words repeat
FEWEST_WORDS = 2  # of a point that later words repeat
FEWEST_POINTS = 2
LONGEST_POINT = 90
MAX_POINTS = 4


@dataclass(frozen=True)
class Untaken:
    """The points of an answer that were left, and where it stands."""

    text: str
    seq: int
    at: int
    trust: str


def untaken_points(talk: Sequence[Utterance]) -> Untaken | None:
    """The points of the last list of which the user took up some."""
    for nth in range(len(talk) - 1, -1, -1):
        said = talk[nth]
        if said.role not in ANSWERS or len(points := listed_points(said.text)) < FEWEST_POINTS:
            continue
        later = talk[nth + 1 :]
        asked = next((other for other in later if other.role in USER_ROLES), None)
        if asked is None or ALL.search(asked.text):
            return None
        taken = _named_points(asked.text) & points.keys()
        if not taken or len(taken) == len(points):
            return None
        words = [terms_of_text(other.text) for other in later]
        left = [
            f"{label} {shortened(plain_markdown(text), LONGEST_POINT)}"
            for label, text in points.items()
            if label not in taken and not _came_up(text, label, words, later)
        ]
        if not left:
            return None
        return Untaken(neutral("; ".join(left[:MAX_POINTS])), said.seq, said.at, said.trust)
    return None


def listed_points(text: str) -> Mapping[str, str]:
    """The issues that an answer lists by number."""
    points = dict(POINT.findall(text))
    if len(points) >= FEWEST_POINTS:
        return points
    headed = next(reversed(list(HEADED.finditer(text))), None)
    if headed is None:
        return {}
    part = text[headed.end() :]
    end = HEADING.search(part)
    found = NUMBERED.findall(part[: end.start()] if end is not None else part)
    return {label: words for label, words in found if not SETTLED.search(words)}


def _named_points(text: str) -> set[str]:
    return {number for found in NAMES_POINT.findall(text) for number in re.findall(r"\d+", found)}


def _came_up(text: str, label: str, words: Sequence[frozenset[str]], later: Sequence[Utterance]) -> bool:
    """Whether something that was said later is about a point."""
    terms = terms_of_text(text)
    if any(other.role in USER_ROLES and label in _named_points(other.text) for other in later):
        return True
    enough = max(FEWEST_WORDS, TAKEN * len(terms))
    return any(len(terms & found) >= enough for found in words)
