"""The rules for key formats of providers, from `providers.json`."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import re2

from fazm_memory.engines.redaction.classify import not_sham, with_digit
from fazm_memory.engines.redaction.rules import Rule

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# Between the name of a provider and the value: a word for a secret and a sign that assigns it. Digests and
# ids follow such names too, without that word.
_NEAR = (
    r"(?i:[\w.\- ]{0,24}?(?:key|token|secret|passw|auth|cred|api|pat|dsn|licen[cs]e)[\w\-]{0,16})"
    r"[\"'\])]{0,3}\s{0,4}(?:=>|:=|[=:,>]|\s)\s{0,4}(?i:bearer\s+)?[\"'`]?"
)
_SETS = re.compile(r"\[([^\]]+)\]")


def provider_rules() -> list[Rule]:
    """One rule per entry, in the order of the file."""
    sections = json.loads(Path(__file__).with_name("providers.json").read_bytes())
    return [_rule(entry) for entries in sections.values() for entry in entries]


def _rule(entry: dict[str, Any]) -> Rule:
    entry["pattern"] = entry["pattern"].replace("{uuid}", _UUID)
    if prefixes := entry.pop("prefixes", None):
        entry["pattern"] = f"(?:{_any_of(prefixes)})(?:{entry['pattern']})"
        return Rule(keywords=_lower(prefixes), check=not_sham, is_local=True, **entry)
    if names := entry.pop("near", None):
        entry["pattern"] = rf"(?i:{_any_of(names)}){_NEAR}({entry['pattern']})(?:[^\w\-]|\z)"
        # An identifier may have the alphabet of a key, but seldom a digit.
        return Rule(keywords=_lower(names), check=with_digit, is_local=True, **entry)
    entry["keywords"] = tuple(keyword for each in entry["keywords"] for keyword in _expanded(each))
    entry["requires"] = entry.get("requires", "").encode()
    return Rule(check=not_sham, is_local=True, **entry)


def _any_of(texts: list[str]) -> str:
    return "|".join(re2.escape(text) for text in texts)


def _lower(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.lower() for text in texts))


def _expanded(keyword: str) -> list[str]:
    """`sk[ab]` stands for `ska` and `skb`."""
    if "[" not in keyword:
        return [keyword]
    pieces = _SETS.split(keyword)  # text and sets in turn
    return ["".join(chosen) for chosen in product(*([p] if i % 2 == 0 else p for i, p in enumerate(pieces)))]
