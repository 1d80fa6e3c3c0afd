"""The readers of the agents' own records, all of them: one line adds another."""

from __future__ import annotations

from fazm_memory.capture.agents.claude_code import ClaudeCode
from fazm_memory.capture.agents.codex import Codex
from fazm_memory.capture.agents.fazm import Fazm, OwnedByFazm
from fazm_memory.capture.agents.gemini import Gemini
from fazm_memory.capture.agents.opencode import Opencode
from fazm_memory.capture.agents.reader import Places, Reader


def readers(places: Places) -> tuple[Reader, ...]:
    """A reader for each agent, for the machine these places are on."""
    home = str(places.home)
    transcripts: tuple[Reader, ...] = (
        ClaudeCode(home),
        Codex(home),
        Gemini(home),
        Opencode(home),
    )
    # Fazm runs other agents: their sessions that are its own are told as such.
    return (*(OwnedByFazm(reader, places) for reader in transcripts), Fazm(places, beside=transcripts))
