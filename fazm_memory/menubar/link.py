"""Links into the app: `fazm-memory://resume/<id>` and `fazm-memory://open/<id>`, and no others.

Anybody can make the system open a link, a web page too. So a link can only show something or offer to take
up a session, with an id and nothing else in it; whether to go on is asked of the person who is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

SCHEME = "fazm-memory"
LONGEST = 200
_LINK = re.compile(
    r"fazm-memory://(resume|open)/([0-9A-Za-z][0-9A-Za-z_-]{3,127})/?(?:@(\d{1,9}))?", re.ASCII
)


@dataclass(frozen=True)
class Link:
    verb: Literal["resume", "open"]
    session: str
    seq: int | None = None


def parse_link(text: str) -> Link | None:
    """What a link asks for, or None when it is not one of ours to the letter."""
    found = _LINK.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    verb: Literal["resume", "open"] = "resume" if found[1] == "resume" else "open"
    return Link(verb, found[2], None if found[3] is None else int(found[3]))
