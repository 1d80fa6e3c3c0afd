"""What sessions show without ever saying it: kinds of items that a search asks for, and the words that do."""

from __future__ import annotations

import re

from fazm_memory.log.words import TOLD

SHOWN: dict[tuple[str, ...], str] = {
    ("convention",): "naming name named names convention conventions pattern patterns rename renamed scheme"
    " format called style",
    ("skipped",): "skip skipped skipping ignored ignore alone untouched excluded",
    ("folder", "place"): "folder folders directory directories processed progress",
    ("looked",): "source sources page pages site sites website url link links",
    ("interrupted",): "interrupted unfinished finish finished complete completed running killed hung never"
    " stopped",
    ("files",): "file files changed modified edited",
    ("changed",): "changed edited added himself herself themselves myself person",
    ("evicted",): "evicted context compacted compaction dropped fell",
}
KINDS_OF: dict[str, frozenset[str]] = {}
for _kinds, _words in SHOWN.items():
    for _word in _words.split():
        KINDS_OF[_word] = KINDS_OF.get(_word, frozenset()) | frozenset(_kinds)
LEARNED = frozenset(kind for kinds in SHOWN for kind in kinds) - TOLD.keys()
FINDABLE = LEARNED | TOLD.keys()  # what `kind:` may name
# What was not filed, renamed, touched: left alone.
NOT_DONE = re.compile(r"\b(?:not|n't|never) (?:been )?\w+ed\b", re.IGNORECASE)


def kinds_asked_for(text: str, words: list[str]) -> set[str]:
    """The kinds of items that a query's words ask for."""
    wanted = {kind for word in words for kind in KINDS_OF.get(word.lower(), ())}
    return wanted | {"skipped"} if NOT_DONE.search(text) else wanted
