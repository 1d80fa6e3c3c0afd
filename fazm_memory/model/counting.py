"""Counts as people say them: one file, two files."""

from __future__ import annotations

ONE_DOES = {"are": "is", "were": "was", "have": "has"}


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def they(count: int, noun: str, verb: str) -> str:
    """With what they do: one file is, two files are."""
    return f"{plural(count, noun)} {ONE_DOES[verb] if count == 1 else verb}"
