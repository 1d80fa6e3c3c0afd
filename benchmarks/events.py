"""Generated events of about 1 KB, the same on every machine and in every run.

The words of commands, paths and outputs follow Zipf's law. Three words have a known frequency: one is in 40 %
of the events, one in 1 %, and one in about ten events at any size. Most sessions have a few thousand events;
every fifth batch belongs to one long session.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from fazm_memory.events import Action, FileTouch, Outcome, Prompt, SessionOpen, input_hash
from fazm_memory.store import NewEvent

COMMON, UNCOMMON, RARE = "invoice", "quarterly", "zymurgy"
LONG = 0  # session of every fifth batch
START = 1_760_000_000_000_000  # October 2025, in microseconds
STEP = 4_000_000  # a call every four seconds
SYLLABLES = ("ba", "co", "di", "fu", "ga", "he", "ki", "lo", "ma", "ne", "po", "ri", "sa", "te", "vu")
TOOLS = (("Bash", 5), ("Read", 3), ("Edit", 2), ("Write", 1), ("Grep", 1))
FOLDERS = tuple(f"/Users/dana/{top}/{n}" for top in ("Documents", "Downloads", "Projects") for n in range(8))


@dataclass(frozen=True)
class Batch:
    """Events of one session that are appended together."""

    session: int
    entries: list[NewEvent]


class Workload:
    """Batches of events in time order, equal for equal arguments.

    `more` continues after them.
    """

    def __init__(self, events: int, *, batch_size: int = 100, seed: int = 7) -> None:
        self.events, self.batch_size = events, batch_size
        self.random = random.Random(seed)
        self.sessions = max(60, min(300, events // 3000))
        self.pool = _zipf(self.random, vocabulary=20_000, drawn=200_000)
        self.tools = random.Random(seed).choices([t for t, _ in TOOLS], [w for _, w in TOOLS], k=997)
        self.count = 0

    def batches(self) -> Iterator[Batch]:
        """Yield all events. A session's first event opens it; every 25th is a prompt."""
        written = [0] * (self.sessions + 1)
        number = 0
        while self.count < self.events:
            session = LONG if number % 5 == 0 else self._ordinary(number)
            room = min(self.batch_size, self.events - self.count)
            entries = []
            for _ in range(room):
                entries.append(self._entry(session, written[session]))
                written[session] += 1
                self.count += 1
            yield Batch(session, entries)
            number += 1

    def _ordinary(self, number: int) -> int:
        """Ordinary sessions follow each other, three at a time."""
        share = self.count / self.events
        return 1 + min(self.sessions - 1, int(share * self.sessions) + number % 3)

    def more(self, session: int, count: int, first: int | None = None) -> list[NewEvent]:
        """More events of a session that exists.

        With `first`, its prompts continue from that position.
        """
        entries = []
        for nth in range(count):
            entries.append(self._entry(session, 1 if first is None else first + nth))
            self.count += 1
        return entries

    def words(self, count: int) -> str:
        start = int(self.random.random() * (len(self.pool) - count))
        return " ".join(self.pool[start : start + count])

    def _entry(self, session: int, nth: int) -> NewEvent:
        at = START + self.count * STEP
        if nth == 0:
            opening = SessionOpen(agent="fazm", workspace=FOLDERS[session % len(FOLDERS)])
            return NewEvent("session.open", opening, at, "agent", "import", "agent")
        if nth % 25 == 0:
            return NewEvent("prompt", Prompt(self.words(60)), at, "person", "import", "user")
        call = f"toolu_{self.random.getrandbits(96):024x}"
        key = f"{session:032x}:call:{call}"
        return NewEvent("action", self._action(session, call), at, "agent", "import", "agent", key=key)

    def _action(self, session: int, call: str) -> Action:
        chance = self.random.random
        tool = self.tools[self.count % 997]
        name = self.words(1)  # Zipf's law: a few files are changed often
        path = f"{FOLDERS[session % len(FOLDERS)]}/{name[:2]}/{name}-{name[::-1]}.txt"
        arguments = {"command": f"{self.words(6)} {path}", "description": self.words(7)}
        output = "\n".join(self.words(9) for _ in range(5 + int(chance() * 7)))
        if chance() < 0.4:
            output = f"{output} {COMMON}"
        if chance() < 0.01:
            output = f"{output} {UNCOMMON}"
        if chance() < 10 / self.events:
            output = f"{output} {RARE}"
        outcome: Outcome = "error" if chance() < 0.05 else "ok"
        return Action(
            tool=tool,
            input=arguments,
            output=output,
            output_summary=output.split("\n", 1)[0],
            outcome=outcome,
            error=self.words(8) if outcome == "error" else None,
            duration_ms=int(chance() * 4000),
            call_id=call,
            input_hash=input_hash(tool, arguments),
            files=(FileTouch(path, "modified" if tool in ("Edit", "Write") else "read"),),
        )


def _word(chance: random.Random, nth: int) -> str:
    word = "".join(chance.choices(SYLLABLES, k=2 + nth % 3))
    if nth % 11 == 5:
        return f"get{word.title()}"  # identifiers are also indexed by their parts
    return f"{word}{nth}" if nth % 7 == 0 else word


def _zipf(chance: random.Random, *, vocabulary: int, drawn: int) -> list[str]:
    """Draw words by Zipf's law once. Texts are then cheap slices of the result."""
    words = [_word(chance, n) for n in range(vocabulary)]
    weights = list(accumulate(1 / (rank + 2) for rank in range(vocabulary)))
    return chance.choices(words, cum_weights=weights, k=drawn)
