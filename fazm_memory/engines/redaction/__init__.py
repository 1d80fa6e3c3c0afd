"""Finds secrets in text and JSON values and replaces them with `[REDACTED:rule]`.

`Redactor` is the entry point. Rules cover the key formats of about 400 providers (`providers.json`), standard
formats such as PEM and JWT, and values whose name says that they are secret. The README shows how to use it.
"""

from __future__ import annotations

from fazm_memory.engines.redaction.findings import KnownSecrets, shorten
from fazm_memory.engines.redaction.redactor import RedactedText, Redactor, all_rules, default_redactor
from fazm_memory.engines.redaction.rules import PatternError, Rule, UserPattern
from fazm_memory.engines.redaction.text import canonical

__all__ = [
    "KnownSecrets",
    "PatternError",
    "RedactedText",
    "Redactor",
    "Rule",
    "UserPattern",
    "all_rules",
    "canonical",
    "default_redactor",
    "shorten",
]
