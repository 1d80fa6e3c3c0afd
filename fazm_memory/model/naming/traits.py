"""What can be said about a file at a glance: the words in which skips and differences are told."""

from __future__ import annotations

import re

from fazm_memory.model.naming.parts import Subject

_COPY = re.compile(r"\(\d+\)$|\bcopy(?: \d+)?$| - Kopie$", re.IGNORECASE)


def traits(subject: Subject) -> frozenset[str]:
    """The traits of a file, each as `kind:value`."""
    stem = subject.name
    words = [stem.text[a:b].lower() for a, b in stem.words]
    found = {f"word:{word}" for word in words if len(word) > 1}
    if words and stem.words[0][0] == 0:
        found.add(f"first:{words[0]}")
    if _COPY.search(stem.text):
        found.add("copy:yes")
    if stem.spans.get("bracket"):
        found.add("brackets:yes")
    found.add("date:yes" if stem.of_kind("date") else "date:no")
    found.add("numbers:yes" if stem.spans.get("number") else "numbers:no")
    return frozenset(found | {f"ext:{subject.extension.lower()}", f"shape:{stem.shape}"})


def trait_text(trait: str) -> str:
    """A trait as people say it."""
    kind, _, text = trait.partition(":")
    if kind == "ext":
        return f"extension .{text}" if text else "no extension"
    return {
        "word": f'"{text}" in the name',
        "first": f'name begins with "{text}"',
        "shape": f"name of the form {text}",
        "date": "date in the name" if text == "yes" else "no date in the name",
        "numbers": "number in the name" if text == "yes" else "no number in the name",
        "copy": "copy of another file",
        "brackets": "brackets in the name",
    }[kind]


def telling_apart(mine: list[Subject], theirs: list[Subject]) -> str:
    """A trait that all of mine have and none of theirs, the plainest first; "" when there is none."""
    shared = frozenset.intersection(*map(traits, mine)).difference(*map(traits, theirs))
    kinds = ("first", "word", "ext", "copy", "brackets", "date", "numbers", "shape")
    ranked = sorted((kinds.index(trait.partition(":")[0]), trait) for trait in shared)
    return ranked[0][1] if ranked else ""
