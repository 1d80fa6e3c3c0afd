"""How a browser gets in: a code that works once opens the page, and a cookie keeps it open.

The cookie is not the token and ends with the server that gave it, or when nobody used it for half a day:
browsers send cookies to every port of a machine, so what is in it must be worth nothing elsewhere or later.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterable

CODE_SECONDS = 300.0
UNUSED_SECONDS = 12 * 3600.0
MOST_CODES = 16


class PageKeys:
    def __init__(self, port: int, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.name = f"fazm_memory_{port}"  # two servers must not overwrite each other's
        self.cookie, self._used = secrets.token_urlsafe(32), now()
        self._codes: dict[str, float] = {}

    def code(self) -> str:
        """A code for one opening of the page, within five minutes."""
        made = secrets.token_urlsafe(24)
        self._codes[made] = self.now() + CODE_SECONDS
        while len(self._codes) > MOST_CODES:
            del self._codes[next(iter(self._codes))]
        return made

    def spend(self, code: str) -> bool:
        """Whether this code opens the page; it never does again."""
        ends = self._codes.pop(code, None)
        return ends is not None and self.now() <= ends

    def known(self, headers: Iterable[bytes]) -> bool:
        """Whether one of these Cookie headers holds our cookie, and it was in use of late."""
        if self.now() - self._used > UNUSED_SECONDS:
            return False
        for header in headers:
            for part in header.split(b";"):
                name, _, value = part.strip().partition(b"=")
                if name == self.name.encode() and hmac.compare_digest(value, self.cookie.encode()):
                    self._used = self.now()
                    return True
        return False

    def set_cookie(self) -> str:
        """The cookie for who spent a code; a new one where the old was not used for too long."""
        if self.now() - self._used > UNUSED_SECONDS:
            self.cookie = secrets.token_urlsafe(32)
        self._used = self.now()
        return f"{self.name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"
