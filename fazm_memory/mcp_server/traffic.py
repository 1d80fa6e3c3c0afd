"""The traffic between client and SDK on stdio: what is still unanswered, and lines that the SDK cannot read.

When a client closes its end right after a call, the SDK would answer the call with an error although it is
being carried out. So the end of the input is told to the SDK only when all calls before it are answered.
"""

from __future__ import annotations

import json
import threading
from typing import Any

ENDLESS = "subscriptions/listen"  # its answer is a stream that ends with the client


class Traffic:
    """Sees every line in both directions; from two threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.open: set[str] = set()  # requests of the client without an answer
        self.asked: set[str] = set()  # ours to the client: for each of them one of its calls waits

    def taken(self, line: bytes) -> bytes:
        """A line of the client, as the SDK can read it."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return line
        if isinstance(message, dict):
            with self.changed:
                self._note(message)
        return _readable(line, message)

    def _note(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), _key(message.get("id"))
        if isinstance(method, str) and number is not None:
            if method != ENDLESS:
                self.open.add(number)
        elif method == "notifications/cancelled":
            params = message.get("params")
            told = _key(params.get("requestId")) if isinstance(params, dict) else None
            self.open -= {told}
        elif number is not None and method is None:
            self.asked.discard(number)

    def said(self, line: str) -> None:
        """A line of ours."""
        message = json.loads(line)
        number = _key(message.get("id"))
        if number is None:
            return
        with self.changed:
            if "method" in message:
                self.asked.add(number)
            else:
                self.open.discard(number)
            self.changed.notify_all()

    def settle(self, patience: float) -> bool:
        """Wait until all is answered that can be: a call that waits for the client who has gone cannot."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.open) <= len(self.asked), patience)


def _key(number: Any) -> str | None:
    return json.dumps(number) if type(number) in (int, str) else None


def _readable(line: bytes, message: Any) -> bytes:
    """Half of a surrogate pair is legal in JSON and no text: the SDK would drop the line without a word."""
    if b"\\ud" not in line.lower():
        return line
    text = json.dumps(message, ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode() + b"\n"
