"""The tokens of an answer, once: each of the records it comes in repeats them.

While an answer is being written its numbers are not final, and only the last record of it has the reason why
it stopped. An answer that was cut off has no such record; it is counted when the next one begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents.fields import ident, mapping, sequence, text, tokens

RECENT = 32


class Spending:
    """Which answers were counted, and the one that is not final yet."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.counted: list[str] = list(sequence(carry.get("counted")))
        self.held: dict[str, Any] = dict(mapping(carry.get("held")))

    def carry(self) -> dict[str, Any]:
        told = {"counted": self.counted, "held": self.held}
        return {name: value for name, value in told.items() if value}

    def take(self, message: Mapping[str, Any], at: int | None) -> list[dict[str, Any]]:
        """What is now known for good: `id`, `at` and the `usage` payload of none, one or two answers."""
        answer, usage = ident(message.get("id")), _usage(message)
        if not answer or not usage:
            return []
        final = []
        if self.held and self.held["id"] != answer:
            final.append(self.held)
            self.held = {}
        if answer not in self.counted:
            told = {"id": answer, "at": at, "usage": usage}
            if message.get("stop_reason") is None:
                self.held = told
            else:
                self.held = {}
                final.append(told)
        self.counted = [*self.counted, *(told["id"] for told in final)][-RECENT:]
        return final


def _usage(message: Mapping[str, Any]) -> dict[str, Any]:
    usage = mapping(message.get("usage"))
    written = tokens(usage.get("cache_creation_input_tokens"))
    told: dict[str, Any] = {
        "input_tokens": tokens(usage.get("input_tokens")) + written,
        "output_tokens": tokens(usage.get("output_tokens")),
        "cached_tokens": tokens(usage.get("cache_read_input_tokens")),
    }
    if not any(told.values()):
        return {}
    model = text(message.get("model"))[:100]
    return told | ({"model": model} if model else {})
