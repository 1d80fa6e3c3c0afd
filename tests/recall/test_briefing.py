"""Taking a session up again."""

from __future__ import annotations

from fazm_memory.recall.quoting import BLOCK

from .conftest import ClockedMemory


def test_a_briefing_says_where_it_stood_what_is_open_and_what_changed_since(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", agent="claude-code", workspace="/w it's", text="tidy up")
    memory.say("s", "action", agent="claude-code", tool="Bash", input={"command": "mv a b"},
             files=[{"path": "/w/b", "change": "renamed", "from": "/w/a"}])  # fmt: skip
    memory.say(
        "s", "action", agent="claude-code", tool="Bash", input={"command": "rm c"}, error="denied by user"
    )
    memory.say("s", "pending", agent="claude-code", id="p", what="the rest")
    memory.say("s", "evicted", agent="claude-code", keys=["file:/w/a"])
    memory.sessions.move("s", "pause")
    memory.say("s", "file", agent="claude-code", path="/w/d", change="modified", by="person", source="files")
    results = memory.recall.briefing("s")
    assert results.data["last_good_step"] == {"seq": 2, "tool": "Bash"}
    assert results.data["changed_since"] == [
        {"path": "/w/d", "change": "modified", "by": "person", "evidence": "seen on disk"}
    ]
    assert results.data["resume"] == "cd '/w it'\"'\"'s' && claude --resume s"
    assert results.data["evicted_keys"] == ["file:/w/a"]
    for reply in (': "tidy up"', 'last good step @2: Bash "mv a b"', 'still to do: "the rest"',
                 'NEXT ', 'modified "/w/d" by person', "CHANGED SINCE"):  # fmt: skip
        assert reply in results.text


def test_a_session_that_was_never_put_aside_has_no_pause(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="x")
    assert memory.recall.briefing("s").data["paused_at"] is None
    assert memory.recall.briefing("s").data["resume"] is None


def test_whoever_goes_on_is_reported_what_was_decided(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="release it")
    asked = [
        memory.sessions.handoff("s", to="human", note=note)["question"] for note in ("push?", "tag?", "why?")
    ]
    memory.sessions.answer("s", asked[0], "yes, to main")
    memory.sessions.answer("s", asked[1], waived=True)
    memory.sessions.move("s", "pause")
    for text in (memory.recall.briefing("s").text, memory.recall.context("/w").text):
        assert 'question "push?": answered "yes, to main" by a person (cli)' in text
        assert 'question "tag?": waived by a person (cli)' in text
        assert 'question for the user: "why?"' in text


def test_many_changes_since_do_not_hide_the_last_good_step(memory: ClockedMemory) -> None:
    memory.say("s", "action", tool="Bash", input={"command": "mv a b"})
    for n in range(250):
        memory.say("s", "file", path=f"/w/{n}", change="modified", by="person", source="files")
    result = memory.recall.briefing("s").data
    assert result["last_good_step"] == {"seq": 1, "tool": "Bash"}
    assert len(result["changed_since"]) == 250


def test_a_briefing_says_what_an_unfinished_call_was_about_and_the_last_words(memory: ClockedMemory) -> None:
    memory.say("s", "message", text="Two of three are done.")
    memory.say("s", "action.start", tool="WebFetch", input={"url": "https://lg.example"}, call_id="c")
    results = memory.recall.briefing("s").text
    assert 'WebFetch call "https://lg.example" began and never finished' in results
    assert 'the agent\'s last words: "Two of three are done." [agent]' in results


def test_a_long_briefing_is_whole_lines_in_a_whole_fence(memory: ClockedMemory) -> None:
    for n in range(12):
        memory.say("s", "pending", id=f"p{n}", what=f"{n} " + "写" * 230)
        memory.say("s", "decision", what=f"{n} " + "写" * 150, why="写" * 150)
    results = memory.recall.briefing("s").text
    block = BLOCK.search(results)
    assert block is not None
    whole = [line for line in block[2].splitlines() if "写" in line]
    assert "left out for space" in block[2]
    assert all(line.count('"') % 2 == 0 for line in whole)
    assert len(results) < 20_000
