"""What the user said to Codex, out of all that it writes as the user's messages.

Codex puts the environment, instructions and notices there. Newer versions mark what is whose in
`content_item_kinds`; for the others it is known by how it begins.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text
from fazm_memory.capture.agents.injected import without_injected

NOT_SAID = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<subagent_notification>", "<permissions instructions>", "<INSTRUCTIONS>",
    "<collaboration_mode>", "<hook_prompt", "<image_resize_notice>", "<user_action>",
)  # fmt: skip


def asked(content: Any, kinds: Any) -> str:
    """What the user said in a message, without what Codex put beside it."""
    said = []
    marks = sequence(kinds)
    for number, part in enumerate(map(mapping, sequence(content))):
        mark = text(marks[number]) if number < len(marks) else ""
        words = text(part.get("text"))
        if mark and not mark.startswith(("user.", "unknown")):
            continue
        if words.strip() and not words.lstrip().startswith(NOT_SAID):
            said.append(words)
        elif "image" in text(part.get("type")):
            said.append("[image]")
    return without_injected("\n".join(said)).strip()
