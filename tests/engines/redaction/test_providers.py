"""Every entry of providers.json: its own example is found, its counterexample is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.engines import redaction
from fazm_memory.engines.redaction import Rule, all_rules, default_redactor
from fazm_memory.engines.redaction.rules import expand

SECTIONS: dict[str, list[dict[str, Any]]] = json.loads(
    Path(redaction.__file__).with_name("providers.json").read_text(encoding="utf-8")
)
ENTRIES = [entry for entries in SECTIONS.values() for entry in entries]
RULES = {rule.name: rule for rule in all_rules()}
# These formats also match the format of a provider that comes first.
FOUND_AS = {"paystack-key": "stripe-key", "shippo-token": "gocardless-token", "lob-key": "mollie-key"}

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=[entry["name"] for entry in ENTRIES])


@every_entry
def test_an_entry_has_what_it_needs(entry: dict[str, Any]) -> None:
    assert {"name", "provider", "pattern", "must_match", "must_not_match"} <= set(entry)
    assert sum(key in entry for key in ("prefixes", "near", "keywords")) == 1
    assert all(prefix == prefix.strip("\n") and prefix for prefix in entry.get("prefixes", ["-"]))


@every_entry
def test_its_example_is_redacted_under_its_own_name(entry: dict[str, Any]) -> None:
    name = FOUND_AS.get(entry["name"], entry["name"])
    redacted = default_redactor().text(expand(entry["must_match"]))

    assert redacted.findings == (name,)
    assert f"[REDACTED:{name}]" in redacted.text
    assert own_spans(entry, "must_match") != []


@every_entry
def test_its_counterexample_is_left_alone(entry: dict[str, Any]) -> None:
    text = expand(entry["must_not_match"])

    assert own_spans(entry, "must_not_match") == []
    assert default_redactor().text(text).text == text or entry["name"] in FOUND_AS


def own_spans(entry: dict[str, Any], key: str) -> list[tuple[int, int]]:
    rule: Rule = RULES[entry["name"]]
    return rule.find_all(expand(entry[key]).encode("latin-1"))


def test_examples_in_the_file_are_no_complete_secrets() -> None:
    """Otherwise secret scanners would report the file."""
    complete = [
        entry["name"]
        for entry in ENTRIES
        if RULES[entry["name"]].find_all(entry["must_match"].encode("latin-1"))
    ]
    assert complete == []


def test_an_example_is_filled_in() -> None:
    assert expand("a{}b {digits:12} {unknown:3} ${x}") == "ab 731590284673 {unknown:3} ${x}"
    assert len(expand("{uuid}")) == 36
