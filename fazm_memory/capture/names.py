"""Names that agents give themselves, their sessions and their sources, as they may be kept and shown.

They come with every draft and are the same ones over and over, so each is scrubbed once.
"""

from __future__ import annotations

import hmac
from dataclasses import replace

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.model.trust import SOURCES

NAME = 120  # characters of an agent's or a tool's name
MOST_NAMES = 10_000


class Names:
    """`secret` tells two sessions apart whose names are not fit to be kept, without telling the names."""

    def __init__(self, scrubber: Scrubber, secret: bytes) -> None:
        self.scrubber = scrubber
        self._secret = secret
        self._known: dict[str, str] = {}

    def fit(self, draft: Draft) -> Draft:
        """The draft under names that are fit to be kept and shown: scrubbed, on one line."""
        agent = None if draft.agent is None else self._name(draft.agent)
        session = self._key(draft.session)
        source = draft.source if draft.source in SOURCES else self._claim(draft.source)
        if (agent, session, source) == (draft.agent, draft.session, draft.source):
            return draft
        return replace(draft, agent=agent, session=session, source=source)

    def _name(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= MOST_NAMES:
                self._known.clear()
            known = self._known[text] = " ".join(self.scrubber.text(text).text.split())[:NAME] or "unknown"
        return known

    def _claim(self, text: str) -> str:
        """A source in words of its own. One that is a door's name only once it is scrubbed opens none."""
        name = self._name(text)
        return f"record:{name}" if name in SOURCES else name

    def _key(self, text: str) -> str:
        """A session's name as it is or, when that is not fit to be kept, another of its own."""
        fit = self._name(text)
        if fit == text or (len(text) > NAME and self.scrubber.text(text).text == text):
            return text
        own = hmac.digest(self._secret, text.encode("utf-8", "replace"), "sha256").hex()[:12]
        return f"{fit}#{own}"
