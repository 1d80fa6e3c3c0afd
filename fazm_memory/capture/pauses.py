"""What an agent did while recording was paused stays out of the log, though its transcript tells it later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fazm_memory.capture.draft import Draft

Span = tuple[int, int]


def within(draft: Draft, pauses: Sequence[Span]) -> bool:
    return draft.at is not None and any(since <= draft.at < until for since, until in pauses)


@dataclass
class Unpaused:
    """Leaves out what was told of a pause. `held` is the opening of a session that began in one: it is told,
    without its title, when something of that session is; a session that was paused throughout is never known.
    """

    held: Mapping[str, Any] = field(default_factory=dict)

    def of(self, drafts: Iterable[Draft], pauses: Sequence[Span]) -> Iterator[Draft]:
        for draft in drafts:
            if not within(draft, pauses):
                if self.held:
                    yield Draft(**self.held)
                    self.held = {}
                yield draft
            elif draft.kind == "session.open":
                untitled = {name: value for name, value in draft.payload.items() if name != "title"}
                kept = replace(draft, payload=untitled)
                self.held = {name: getattr(kept, name) for name in Draft.__dataclass_fields__}
