"""Words of the full-text index: texts of events, terms of queries."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from fazm_memory.events import FAILED, Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

# A capital inside a word. Five times as fast as trying IDENTIFIER on every word.
INSIDE = lazy_regex(r"[A-Z](?<=[A-Za-z0-9][a-z0-9][A-Z])")
REST = lazy_regex(r"[A-Za-z0-9]*")
LETTERS = frozenset(string.ascii_letters + string.digits)
HUMPS = lazy_regex(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
IDENTIFIER = lazy_regex(r"[A-Za-z][A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*")
MOST = 4000  # characters of an event
OUTPUT = 2000
SEEN = 200  # names of a listing
HINTS = {
    "prompt": "asked request",
    "message": "said",
    "decision": "decision decided why because reason",
    "plan": "plan",
    "todos": "todo steps open",
    "branch": "branch git",
    "fact": "fact",
    "pending": "pending open todo",
    "handoff": "question open asked",
    "handoff.answer": "answer",
    "file": "changed",
    "seen": "listed folder",
    "evicted": "evicted compacted",
}


def plain_text(event: Event) -> str:
    """The text of an event that can be found, or an empty string."""
    texts_of = INDEXED_TEXT.get(event.kind)
    if event.payload is None or texts_of is None:
        return ""
    return " ".join(part for part in texts_of(event.payload) if part)[:MOST]


def event_text(event: Event) -> str:
    """The text an event is indexed by, or an empty string."""
    text = plain_text(event)
    parts = humps(text)
    return f"{text} {' '.join(parts)}" if parts else text


def index_text(event: Event) -> str:
    """The text of an event with words for its kind.

    So "why" finds decisions, and "failed" finds failures.
    """
    text = event_text(event)
    if not text:
        return ""
    hints = HINTS.get(event.kind, "")
    if event.kind == "action":
        hints = " ".join(_outcome_words(event.payload))
    return f"{text} {hints} {kind_word(event.kind)}"


def kind_word(kind: str) -> str:
    """A word that only events of a kind have."""
    return "kind" + "".join(filter(str.isalnum, kind))


def _outcome_words(action: Any) -> list[str]:
    words = ["failed", "failure"] if action.outcome in FAILED else []
    if action.retry_of is not None and not words:
        words.append("mended")
    return [*words, *sorted({touch.change for touch in action.files if touch.change != "read"})]


def humps(text: str) -> list[str]:
    """The words inside the camelCase identifiers of a text."""
    found: list[str] = []
    done = 0
    for capital in INSIDE.finditer(text):
        start = capital.start()
        if start < done:
            continue
        while start > done and text[start - 1] in LETTERS:
            start -= 1
        rest = REST.match(text, capital.end())
        done = capital.end() if rest is None else rest.end()
        found += _split(text[start:done])
    return found


@lru_cache(maxsize=4096)
def _split(word: str) -> tuple[str, ...]:
    """The parts of one identifier. Cached, because the same ones recur."""
    whole = IDENTIFIER.search(word)
    return () if whole is None else tuple(HUMPS.findall(whole[0]))


def flat(value: Any, room: int = MOST) -> Iterator[str]:
    """Every text inside a JSON value, up to a length. Not recursive."""
    stack = [value]
    while stack and room > 0:
        item = stack.pop()
        if isinstance(item, str):
            yield item[:room]
            room -= len(item)
        elif isinstance(item, Mapping):
            for key, inner in reversed(list(item.items())[:200]):
                stack.append(inner)
                if not isinstance(inner, str):
                    stack.append(str(key))
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(item[:200]))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield str(item)
            room -= 8


def _action(p: Any) -> Iterator[str | None]:
    yield p.tool
    yield from flat(p.input)
    yield p.error
    yield p.output_summary
    for touch in p.files[:50]:
        yield touch.path
        yield touch.origin
    yield from flat(p.output, OUTPUT)


def _decision(p: Any) -> Iterator[str | None]:
    yield p.what
    yield p.why
    yield from p.alternatives
    yield p.question
    yield p.about


def _fact(p: Any) -> Iterator[str | None]:
    yield p.key
    yield from flat(p.value)


INDEXED_TEXT: dict[str, Any] = {
    "session.open": lambda p: (p.title, p.workspace, p.agent),
    "session.title": lambda p: (p.title,),
    "prompt": lambda p: (p.text,),
    "message": lambda p: (p.text,),
    "action": _action,
    "decision": _decision,
    "plan": lambda p: (p.title, p.status, p.text),
    "todos": lambda p: (item.text for item in p.items[:SEEN]),
    "branch": lambda p: (p.name,),
    "fact": _fact,
    "pending": lambda p: (p.what,),
    "file": lambda p: (p.change, p.path, p.origin, f"by {p.by}"),
    "seen": lambda p: (p.folder, *p.files[:SEEN]),
    "evicted": lambda p: (p.summary, *p.keys[:50]),
    "handoff": lambda p: (p.note,),
    "handoff.answer": lambda p: flat(p.answer),
    "app": lambda p: (p.app, p.title, p.document),
    "gap": lambda p: (p.what, p.note),
}


TERM = lazy_regex(r'"([^"]*)"|(\w+)', re.UNICODE)
MOST_TERMS = 32
SNIPPET = 240
WORD = 24  # characters within which a snippet is cut between two words
PLACES = 8  # of a word in a text, to choose its snippet
_SMALL = """
    a about all am an and any are as at be been but by can could did didn do does doesn done for from had has
    have he her him his how i if in into is it its just let like me my no not of on or our s she should so
    some t than that the their them then there these they this those to up us was we were what when where
    which who whom will with would you your
"""
STOP_WORDS = frozenset(_SMALL.split())
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


# Forms of one word that stemming does not join.
_FORMS = """
    begin began begun; break broke broken; build built; choose chose chosen; find found; give gave given;
    forget forgot forgotten; hide hid hidden; keep kept; know knew known; leave left; lose lost; make made;
    mean meant; run ran; send sent; speak spoke spoken; take took taken; tell told; think thought;
    write wrote written; grey gray; catalogue catalog; dialogue dialog; analyse analyze; repo repository;
    config configuration; dir directory; auth authentication; db database; env environment; deps dependencies;
    args arguments; params parameters
"""
FORMS: dict[str, tuple[str, ...]] = {}
for _group in _FORMS.split(";"):
    for _word in _group.split():
        FORMS[_word] = tuple(other for other in _group.split() if other != _word)
# British and American endings: each pair is tried in both directions.
ENDINGS = (("ence", "ense"), ("ise", "ize"), ("isation", "ization"), ("ising", "izing"), ("ised", "ized"),
           ("our", "or"), ("oured", "ored"), ("oural", "oral"), ("ours", "ors"), ("tre", "ter"))  # fmt: skip
LETTER = "abcdefghijklmnopqrstuvwxyz"


def forms_of(word: str) -> tuple[str, ...]:
    """Other forms and spellings of a word: wrote for written, license for licence."""
    word = word.lower()
    found = list(FORMS.get(word, ()))
    for british, american in ENDINGS if len(word) > 4 else ():
        for ending, other in ((british, american), (american, british)):
            if word.endswith(ending):
                found.append(word.removesuffix(ending) + other)
    return tuple(dict.fromkeys(found))


def misspellings(word: str) -> Iterator[str]:
    """Words that are one letter apart: swapped, missing, wrong, or one too many."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield from (a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1)
    yield from (a + b[1:] for a, b in cuts if b)
    yield from (a + letter + b for a, b in cuts for letter in LETTER)
    yield from (a + letter + b[1:] for a, b in cuts if b for letter in LETTER)


# Phrases of stop words that mean a failure.
COULD_NOT = lazy_regex(r"\b(?:could ?n[o'’]t|can(?:no|['’])t|did(?: not|n['’]t) work)\b", re.IGNORECASE)


@dataclass(frozen=True)
class SearchTerm:
    """A word or phrase that was typed, and its FTS expression."""

    word: str
    match: str


def fts_quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def clean_query(query: str) -> str:
    """The query without what SQLite refuses: lone surrogates and NUL."""
    return query.encode("utf-8", "replace").decode().replace("\0", " ")


def terms_of(query: str) -> list[SearchTerm]:
    """Every word and phrase once, in order."""
    found: dict[str, SearchTerm] = {}
    small: dict[str, SearchTerm] = {}
    if COULD_NOT.search(re.sub(r'"[^"]*"', " ", query)):
        found["failed"] = SearchTerm("failed", fts_quote("failed"))
    for phrase, word in TERM.findall(clean_query(query)):
        text = phrase or word
        if not re.search(r"\w", text):
            continue
        key = text.lower()
        (small if not phrase and key in STOP_WORDS else found)[key] = SearchTerm(text, _match(phrase, word))
    return list((found or small).values())[:MOST_TERMS]


def _match(phrase: str, word: str) -> str:
    """The FTS expression of a phrase, or of a word with its other forms."""
    if phrase:
        return fts_quote(phrase)
    key = word.lower()
    parts = humps(word)
    others = [ALSO.get(key), *forms_of(key), " ".join(parts) if parts else None]
    every = dict.fromkeys([word, *(other for other in others if other)])
    return fts_quote(word) if len(every) == 1 else f"({' OR '.join(map(fts_quote, every))})"


def snippet(text: str, terms: list[SearchTerm]) -> str:
    """The part of a text with the most of the terms, on one line."""
    line = " ".join(text.split())
    lower = line.lower()
    places = sorted((at, nth) for nth, term in enumerate(terms) for at in _places(lower, term.word.lower()))
    start, best = 0, 0
    for first, (at, _) in enumerate(places):
        inside = {nth for place, nth in places[first:] if place < at + SNIPPET * 3 // 4}
        if len(inside) > best:
            start, best = max(0, at - SNIPPET // 4), len(inside)
    if start and (space := line.find(" ", start, start + WORD)) >= 0:
        start = space + 1
    end = min(len(line), start + SNIPPET)
    if end < len(line) and (space := line.rfind(" ", end - WORD, end)) >= 0:
        end = space
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _places(text: str, word: str) -> Iterator[int]:
    """The first few places of a word in a text, in any form that begins as it does."""
    word = word[: max(4, len(word) - 3)]
    at = text.find(word)
    for _ in range(PLACES):
        if at < 0:
            return
        yield at
        at = text.find(word, at + len(word))
