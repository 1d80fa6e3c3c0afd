"""Taking a session up again."""

from __future__ import annotations

from fazm_memory.recall.fence import BLOCK

from .conftest import Desk


def test_a_briefing_says_where_it_stood_what_is_open_and_what_changed_since(desk: Desk) -> None:
    desk.say("s", "prompt", agent="claude-code", workspace="/w it's", text="tidy up")
    desk.say("s", "action", agent="claude-code", tool="Bash", input={"command": "mv a b"},
             files=[{"path": "/w/b", "change": "renamed", "from": "/w/a"}])  # fmt: skip
    desk.say(
        "s", "action", agent="claude-code", tool="Bash", input={"command": "rm c"}, error="denied by user"
    )
    desk.say("s", "pending", agent="claude-code", id="p", what="the rest")
    desk.say("s", "evicted", agent="claude-code", keys=["file:/w/a"])
    desk.move("s", "pause")
    desk.say("s", "file", agent="claude-code", path="/w/d", change="modified", by="person", source="files")
    told = desk.briefing("s")
    assert told.data["last_good_step"] == {"seq": 2, "tool": "Bash"}
    assert told.data["changed_since"] == [
        {"path": "/w/d", "change": "modified", "by": "person", "evidence": "seen on disk"}
    ]
    assert told.data["resume"] == "cd '/w it'\"'\"'s' && claude --resume s"
    assert told.data["evicted_keys"] == ["file:/w/a"]
    for said in ('asked: "tidy up" [user]', 'last good step @2: Bash "mv a b"', 'still to do: "the rest"',
                 'modified "/w/d" by person', "OPEN", "CHANGED SINCE"):  # fmt: skip
        assert said in told.text


def test_a_session_that_was_never_put_aside_has_no_pause(desk: Desk) -> None:
    desk.say("s", "prompt", text="x")
    assert desk.briefing("s").data["paused_at"] is None
    assert desk.briefing("s").data["resume"] is None


def test_whoever_goes_on_is_told_what_was_decided(desk: Desk) -> None:
    desk.say("s", "prompt", text="release it")
    asked = [desk.handoff("s", to="human", note=note)["question"] for note in ("push?", "tag?", "why?")]
    desk.answer("s", asked[0], "yes, to main")
    desk.answer("s", asked[1], waived=True)
    desk.move("s", "pause")
    for text in (desk.briefing("s").text, desk.context("/w").text):
        assert 'question "push?": answered "yes, to main" by a person (cli)' in text
        assert 'question "tag?": waived by a person (cli)' in text
        assert 'question for the user: "why?"' in text


def test_many_changes_since_do_not_hide_the_last_good_step(desk: Desk) -> None:
    desk.say("s", "action", tool="Bash", input={"command": "mv a b"})
    for n in range(250):
        desk.say("s", "file", path=f"/w/{n}", change="modified", by="person", source="files")
    told = desk.briefing("s").data
    assert told["last_good_step"] == {"seq": 1, "tool": "Bash"}
    assert len(told["changed_since"]) == 250


def test_a_briefing_says_what_an_unfinished_call_was_about_and_the_last_words(desk: Desk) -> None:
    desk.say("s", "message", text="Two of three are done.")
    desk.say("s", "action.start", tool="WebFetch", input={"url": "https://lg.example"}, call_id="c")
    told = desk.briefing("s").text
    assert 'WebFetch call "https://lg.example" began and never finished' in told
    assert 'the agent\'s last words: "Two of three are done." [agent]' in told


def test_a_long_briefing_is_whole_lines_in_a_whole_fence(desk: Desk) -> None:
    for n in range(12):
        desk.say("s", "pending", id=f"p{n}", what=f"{n} " + "写" * 230)
        desk.say("s", "decision", what=f"{n} " + "写" * 150, why="写" * 150)
    told = desk.briefing("s").text
    block = BLOCK.search(told)
    assert block is not None
    assert "lines more, left out for space" in block[2].splitlines()[-1]
    assert len(told) < 20_000
