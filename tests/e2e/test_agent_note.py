"""Real Claude Code that stops with open steps: asked for a note once, never in a loop, only if that is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Run
from tests.e2e.remembered import Remembered
from tests.e2e.scenarios.script import Call, Scenario, do, say

pytestmark = pytest.mark.e2e

ASKED = "leave a note for the next session now"
NOTE = "Half of the scans are renamed; the receipts are open, they have no dates."
ALLOWED = {"permissions": {"allow": ["mcp__fazm-memory", "TaskCreate", "TaskUpdate"]}}


def begin(claude: Claude) -> Run:
    step = Call("TaskCreate", {"subject": "Rename the receipts", "description": "all of them"})
    scenario = Scenario("begin", (do(step), say("The receipts are next.")))
    return claude.run("Rename the scans.", scenario=scenario, settings=ALLOWED, timeout=120)


def go_on(claude: Claude, session: str, prompt: str) -> Run:
    """The agent stops with an open step."""
    scenario = Scenario("go on", (say("Not yet finished."),))
    return claude.run(prompt, scenario=scenario, resume=session, settings=ALLOWED, timeout=120)


def will_leave_a_note(claude: Claude, memory: Remembered, session: str) -> None:
    """Teach the model what to do when our hook asks for a note."""
    (request,) = (memory.home / "context").glob("note-*.md")
    note = {"session": session, "kind": "handoff", "to": "agent", "text": NOTE}
    ready = do(Call("WaitForMcpServers", {}))
    leaves = (ready, ready, do(Call("mcp__fazm-memory__session_note", note)), say("The note is left."))
    claude.model.learn(f"Stop hook feedback:\n{request.read_text()}", Scenario("note", leaves))


@pytest.mark.parametrize("wanted", [True, False])
def test_an_agent_that_stops_with_open_steps_leaves_a_note_once_if_that_is_wanted(
    claude: Claude, tmp_path: Path, wanted: bool
) -> None:
    memory = Remembered(claude, tmp_path / "memory")
    if wanted:
        memory.env["FAZM_MEMORY_ASK_FOR_NOTE"] = "true"
    memory.connect()
    session = begin(claude).session_id
    memory.take_in()
    if wanted:
        will_leave_a_note(claude, memory, session)

    runs = [go_on(claude, session, "Go on."), go_on(claude, session, "And further.")]
    memory.take_in()

    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    asked = [[ASKED in request.text for request in run.turns] for run in runs]
    assert asked[0] == ([False, True, True, True, True] if wanted else [False])
    assert len(asked[1]) == 1
    notes = [(event["trust"], event["payload"]["note"]) for event in memory.events(session, "handoff")]
    assert notes == ([("agent", NOTE)] if wanted else [])
    # What we asked for is not the user's word, and the note is one line among others in the next context.
    assert [event["payload"]["text"] for event in memory.events(session, "prompt")] == [
        "Rename the scans.", "Go on.", "And further.",
    ]  # fmt: skip
    context = memory.run("context", "--workspace", str(claude.workspace))
    assert (f'note for the next agent: "{NOTE}"' in context) == wanted
    memory.close()
