"""Redaction suite: time for ordinary text, and a search for the slowest.

Time is processor time.

The search begins with a part of every rule, repeated with every separator: its keyword, its example, half of
it, in plain form and encoded. It goes on from the slowest by changing, adding and removing parts.
"""

from __future__ import annotations

import base64
import random
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from benchmarks.figures import Figure, Goal, Options, Report
from fazm_memory.engines.redaction import Redactor, all_rules

KILOBYTE = 1024
LENGTH = 16 * KILOBYTE
ROUNDS = (4000, 300)  # texts that are tried, and when quick
KEPT = 40  # slowest texts from which the search goes on
MOST_PARTS = 6
CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
JOINTS = (
    "",
    " ",
    "\n",
    ",",
    "=",
    '"',
    ": ",
    "|",
    "\t",
    "&",
    ";",
    "\\n",
    "\\u0022",
    "%20",
    ".",
    "_",
    "-",
    "'",
)
# Escapes in escapes, which are decoded level by level.
NESTED = ('\\\\\\"' * 20, "%2522" * 20, "&amp;quot;" * 10, "\\\\u005c\\u0022" * 10)
ORDINARY = 300  # files of the standard library


@dataclass(frozen=True)
class Hostile:
    """Parts that are repeated with a joint between them.

    A number is so many random characters.
    """

    parts: tuple[str | int, ...]
    joint: str
    layers: int = 0  # of base64

    def text(self, length: int = LENGTH) -> str:
        chance = random.Random(repr(self))
        pieces: list[str] = []
        size = 0
        while size < length:
            for part in self.parts:
                pieces.append("".join(chance.choices(CHARACTERS, k=part)) if isinstance(part, int) else part)
                size += len(pieces[-1]) + len(self.joint)
        data = self.joint.join(pieces)[:length].encode()
        for _ in range(self.layers):
            data = base64.b64encode(data)
        return data[:length].decode(errors="replace")

    def changed(self, chance: random.Random, parts: list[str]) -> Hostile:
        """Another text like this one."""
        place = chance.randrange(len(self.parts))
        kind = chance.randrange(6)
        if kind == 0:
            return replace(self, joint=chance.choice(JOINTS))
        if kind == 1 and len(self.parts) > 1:
            return replace(self, parts=self.parts[:place] + self.parts[place + 1 :])
        if kind == 2 and self.layers < 3:
            return replace(self, layers=chance.choice((0, 0, 1, 2)))
        part = self.parts[place]
        if kind == 3 and isinstance(part, str) and len(part) > 2:
            cut = chance.randrange(len(part))
            new = part[:cut] + chance.choice(JOINTS) + part[cut + chance.randrange(2) :]
            return replace(self, parts=(*self.parts[:place], new, *self.parts[place + 1 :]))
        added: str | int = chance.choice(parts) if chance.random() < 0.7 else chance.choice((8, 12, 20, 40))
        return replace(self, parts=(*self.parts[:place], added, *self.parts[place:])[-MOST_PARTS:])


def parts_of_rules() -> list[str]:
    """Keywords, examples and halves of examples of every rule."""
    found: set[str] = set(NESTED)
    for rule in all_rules():
        example = rule.example
        found.update((*rule.keywords[:3], example, example[: len(example) // 2], rule.counterexample))
        found.update(f"{keyword}=" for keyword in rule.keywords[:2])
    return sorted(filter(None, found))


def first_texts(chance: random.Random) -> Iterator[Hostile]:
    """A text for every part, each with another joint."""
    parts = parts_of_rules()
    chance.shuffle(parts)
    for number, part in enumerate(parts):
        yield Hostile((part,), JOINTS[number % len(JOINTS)], (0, 0, 0, 1)[number % 4])


def run(options: Options, report: Report) -> Iterator[Figure]:
    redactor = Redactor(text_cap=1 << 30)
    floor = min(_seconds_of_floor() for _ in range(5))
    yield _ordinary(redactor, floor, report)
    slowest = _search(redactor, ROUNDS[options.quick], report)
    _, worst = max((min(_seconds(redactor, text) for _ in range(5)), repr(text)) for text in slowest[:10])
    text = next(text for text in slowest if repr(text) == worst)
    for length in (4 * KILOBYTE, LENGTH, 4 * LENGTH):
        seconds = min(_seconds(redactor, text, length) for _ in range(5))
        goal = Goal(limit=1.0)
        size = length // KILOBYTE
        yield Figure(f"the slowest text found, {size} KB: {worst[:80]}", "ms a KB, processor",
                     seconds / size * 1e3, floor * 1e3, FLOOR, goal=goal)  # fmt: skip


FLOOR = "100,000 squares"


def _seconds_of_floor() -> float:
    begin = time.process_time()
    sum(number * number for number in range(100_000))
    return time.process_time() - begin


def _seconds(redactor: Redactor, hostile: Hostile, length: int = LENGTH) -> float:
    text = hostile.text(length)
    begin = time.process_time()
    redactor.text(text)
    return time.process_time() - begin


def _ordinary(redactor: Redactor, floor: float, report: Report) -> Figure:
    report("ordinary text", 0, 1)
    files = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))[:ORDINARY]
    texts = [path.read_text("utf-8", "replace")[: 8 * KILOBYTE] for path in files]
    size = sum(map(len, texts)) / KILOBYTE
    times = []
    for _ in range(3):
        begin = time.process_time()
        for text in texts:
            redactor.text(text)
        times.append((time.process_time() - begin) / size)
    return Figure("ordinary text, mean", "µs a KB, processor", min(times) * 1e6, floor * 1e6, FLOOR,
                  goal=Goal(limit=150))  # fmt: skip


def _search(redactor: Redactor, rounds: int, report: Report) -> list[Hostile]:
    """The slowest texts that were found, slowest first."""
    chance = random.Random(rounds)
    parts = parts_of_rules()
    tried: dict[Hostile, float] = {}
    for number, text in enumerate(islice(first_texts(chance), rounds // 2)):
        report("parts of rules", number, rounds // 2)
        tried[text] = _seconds(redactor, text)
    slowest = sorted(tried, key=tried.__getitem__, reverse=True)[:KEPT]
    for number in range(rounds - len(tried)):
        report("changed texts", number, rounds // 2)
        text = chance.choice(slowest).changed(chance, parts)
        if text in tried:
            continue
        tried[text] = min(_seconds(redactor, text) for _ in range(2))
        slowest = sorted((*slowest, text), key=tried.__getitem__, reverse=True)[:KEPT]
    return slowest
