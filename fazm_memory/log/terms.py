"""The terms of a query: what was typed as FTS5 strings in which nothing is an operator.

Small words are left out unless there is nothing else, and a few words stand for others that records use:
"chose" also finds "decided".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TERM = re.compile(r'"([^"]*)"|(\w+)', re.UNICODE)
MOST_TERMS = 32
SNIPPET = 160
_SMALL = """
    a about all am an and any are as at be been but by can could did didn do does doesn done for from had has
    have he her him his how i if in into is it its just let like me my no not of on or our s she should so
    some t than that the their them then there these they this those to up us was we were what when where
    which who whom will with would you your
"""
SMALL = frozenset(_SMALL.split())
ALSO: dict[str, str] = {}
for _word, _others in {
    "decided": "chose chosen choose choice picked pick opted settled prefer preferred",
    "why": "reason reasons rationale",
    "pending": "left remaining unfinished outstanding remains todos next still need needs needed must",
    "failed": "broke broken crashed crash wrong problem problems trouble fail fails failing error errors"
    " dead impossible",
    "renamed": "moved filed",
    "modified": "edited changed touched updated",
    "deleted": "removed",
    "created": "added wrote written made",
    "evicted": "lost forgotten overflow overflowed dropped fell context compaction",
    "question": "questions waiting unanswered",
}.items():
    ALSO.update(dict.fromkeys(_others.split(), _word))


# Small words mean nothing alone, but what could not be done has failed.
COULD_NOT = re.compile(r"\b(?:could ?n[o'’]t|can(?:no|['’])t|did(?: not|n['’]t) work)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Term:
    """One word or phrase that was typed, and what the index is asked for instead."""

    word: str
    match: str


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def text_of(query: str) -> str:
    """What was typed, without what the database could not take: half a character, or its own end mark."""
    return query.encode("utf-8", "replace").decode().replace("\0", " ")


def terms_of(query: str) -> list[Term]:
    """Every word and phrase once, in order."""
    found: dict[str, Term] = {}
    small: dict[str, Term] = {}
    if COULD_NOT.search(re.sub(r'"[^"]*"', " ", query)):
        found["failed"] = Term("failed", quoted("failed"))
    for phrase, word in TERM.findall(text_of(query)):
        text = phrase or word
        if not re.search(r"\w", text):
            continue
        key = text.lower()
        also = ALSO.get(key) if not phrase else None
        match = f"({quoted(text)} OR {quoted(also)})" if also else quoted(text)
        (small if not phrase and key in SMALL else found)[key] = Term(text, match)
    return list((found or small).values())[:MOST_TERMS]


def snippet(text: str, terms: list[Term]) -> str:
    """The part of the text around the first word that was looked for, on one line."""
    line = " ".join(text.split())
    lower = line.lower()
    places = [at for term in terms if (at := lower.find(term.word.lower())) >= 0]
    start = max(0, min(places, default=0) - SNIPPET // 4)
    cut = line[start : start + SNIPPET]
    return ("…" if start else "") + cut + ("…" if start + SNIPPET < len(line) else "")
