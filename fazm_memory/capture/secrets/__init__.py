"""What secrets look like: one rule each, from what providers publish about their keys."""

from __future__ import annotations

from fazm_memory.capture.secrets import (
    ai,
    arguments,
    assignments,
    cloud,
    code,
    commands,
    commerce,
    documents,
    keys,
    manifests,
    messages,
    operations,
    statements,
    tables,
    web,
    work,
)
from fazm_memory.capture.secrets.rule import Rule

RULES: tuple[Rule, ...] = (
    # From the particular to the general: where two rules find the same secret, the first one names it.
    *ai.RULES,
    *cloud.RULES,
    *code.RULES,
    *operations.RULES,
    *messages.RULES,
    *commerce.RULES,
    *work.RULES,
    *keys.RULES,
    *web.RULES,
    *commands.RULES,
    *statements.RULES,
    *manifests.RULES,
    *documents.RULES,
    *arguments.RULES,
    *assignments.RULES,
    *tables.RULES,
)

__all__ = ["RULES", "Rule"]
