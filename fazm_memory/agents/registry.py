"""The readers of all agents, and the folders to watch. Add a new agent's reader here."""

from __future__ import annotations

from pathlib import Path

from fazm_memory.agents.antigravity import Antigravity, antigravity_folder
from fazm_memory.agents.base import Places, Reader, cline_data, copilot_home, hermes_home, openclaw_home
from fazm_memory.agents.claude_code.reader import ClaudeCode
from fazm_memory.agents.cline import Cline
from fazm_memory.agents.codex.rollout import Codex
from fazm_memory.agents.copilot import Copilot
from fazm_memory.agents.cowork import ClaudeCowork, cowork_folders
from fazm_memory.agents.cursor import CursorAgent, ide_folders
from fazm_memory.agents.fazm import Fazm, FazmAwareReader
from fazm_memory.agents.gemini import Gemini
from fazm_memory.agents.goose import Goose, goose_folder
from fazm_memory.agents.hermes import Hermes
from fazm_memory.agents.openclaw import OpenClaw
from fazm_memory.agents.opencode import Opencode
from fazm_memory.agents.qwen import Qwen, qwen_home


def readers(places: Places) -> tuple[Reader, ...]:
    """A reader for each agent, for the machine these places are on."""
    home = str(places.home)
    transcripts: tuple[Reader, ...] = (
        ClaudeCode(home),
        Codex(home),
        Gemini(home),
        Opencode(home),
        Copilot(home),
        Qwen(home),
        CursorAgent(home),
        Hermes(home),
        Cline(home),
        OpenClaw(home),
        Goose(home),
        ClaudeCowork(home),
        Antigravity(home),
    )
    # Fazm runs other agents. Those sessions are recorded as Fazm's.
    return (*(FazmAwareReader(reader, places) for reader in transcripts), Fazm(places, beside=transcripts))


def record_roots(places: Places) -> dict[Path, bool]:
    """Folders that agents write records to as they work, and whether records are also further down."""
    return {
        copilot_home(places) / "session-state": True,
        qwen_home(places) / "projects": True,
        places.home / ".cursor" / "chats": True,
        places.home / ".cursor" / "projects": True,
        **dict.fromkeys(ide_folders(places), False),
        hermes_home(places): False,
        cline_data(places) / "sessions": True,
        openclaw_home(places) / "agents": True,
        goose_folder(places): False,
        **dict.fromkeys(cowork_folders(places), True),
        antigravity_folder(places): True,
    }
