"""Finds secrets in text and JSON values and replaces them with `[REDACTED:rule]`.

`Redactor` is the entry point. Rules cover the key formats of about 400 providers (`providers.json`), standard
formats such as PEM and JWT, and values whose name says that they are secret. The README shows how to use it.
"""

from __future__ import annotations

from fazm_memory.engines.redaction.copies import KnownSecrets
from fazm_memory.engines.redaction.finder import all_rules
from fazm_memory.engines.redaction.findings import shorten
from fazm_memory.engines.redaction.redactor import RedactedText, Redactor, default_redactor
from fazm_memory.engines.redaction.rules import Rule
from fazm_memory.engines.redaction.text import canonical
from fazm_memory.engines.redaction.user_patterns import PatternError, UserPattern

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
