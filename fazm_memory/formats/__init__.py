"""A session in formats of people and other tools.

Markdown, ATIF, OpenTelemetry and Agent Trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.formats.atif import from_atif, is_atif, to_atif
    from fazm_memory.formats.conversation import Conversation, read_conversation, to_markdown
    from fazm_memory.formats.otel import to_agent_trace, to_otlp

__getattr__ = lazy_exports(
    __name__,
    {
        "atif": "from_atif is_atif to_atif",
        "conversation": "Conversation read_conversation to_markdown",
        "otel": "to_agent_trace to_otlp",
    },
)
