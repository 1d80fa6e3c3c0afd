"""Points that an agent listed, of which the user took up some and left the others.

After a review with three issues and "fix issue 1", two issues are open, unless somebody came back to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.chooser import terms_of_text
from fazm_memory.recall.dialogue import ANSWERS, USER_ROLES, Utterance, plain_markdown, shortened
from fazm_memory.recall.quoting import neutral
from fazm_memory.records import dataclass

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
