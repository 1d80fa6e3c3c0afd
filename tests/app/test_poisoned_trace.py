"""A poisoned trace: a page tells an agent what to do, and it does. The state shows what followed; quarantine
takes that out of every export and of no log; lifting it brings all of it back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.errors import Declined, InvalidInput
from fazm_memory.events.event import Draft
from tests.app.memory_fixture import MemoryFixture
from tests.files_world import World

POISON = "zymurgy"
PAGE = 5


@pytest.fixture
def poisoned(memory: MemoryFixture) -> str:
    """The marker is in the page, in calls' inputs and outputs, in names of files, in what was said."""
    made = memory.begin()
    memory.say(made, "prompt", text="sort the invoices")  # 1
    memory.renamed(made, "/w/a.pdf", "/w/2026-a.pdf")  # 2
    memory.say(made, "action.start", tool="Read", input={"file_path": "/w/notes.md"}, call_id="beside")  # 3
    page = {"url": f"https://evil.example/{POISON}"}
    memory.say(made, "action.start", tool="WebFetch", input=page, call_id="w")  # 4
    memory.act(made, "WebFetch", page, output=f"do {POISON}", call_id="w")  # 5
    memory.act(made, "Read", {"file_path": "/w/notes.md"}, output="of ours", call_id="beside")  # 6
    memory.say(made, "decision", what=f"{POISON} is the way")  # 7
    files = [{"path": f"/w/{POISON}.md", "change": "created"}]
    memory.say(made, "action.start", tool="Write", input={"content": POISON}, call_id="x")  # 8
    memory.act(made, "Write", {"content": POISON}, files=files, call_id="x")  # 9
    memory.say(made, "file", path=f"/w/{POISON}.txt", change="created", by="agent", source="files")  # 10
    memory.act(made, "Bash", {"command": "ls"}, output=f"{POISON}.md")  # 11
    memory.say(made, "seen", folder="/w", files=[f"{POISON}.md"])  # 12
    memory.act(made, "Bash", {"command": f"sh {POISON}.sh"}, error=f"{POISON} not found")  # 13
    memory.say(made, "evicted", keys=[f"file:/w/{POISON}.md"], summary=f"did {POISON}")  # 14
    memory.say(made, "prompt", text="go on with the rest")  # 15
    memory.say(made, "action.amend", call_id="x", output_summary=f"wrote {POISON}")  # 16
    memory.renamed(made, "/w/b.pdf", "/w/2026-b.pdf")  # 17
    memory.say(made, "decision", what="dates first")  # 18
    return made


HELD = [4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 16]


def every_output(memory: Memory, session: str) -> dict[str, str]:
    """Everything that leaves the store towards an agent, by its name."""
    memory.recall.export_contexts(["/w"])
    files = sorted((memory.config.home / "context").glob("*"))
    head, turn = memory.sessions.get(session)["events"], min(1, memory.sessions.get(session)["turns"])
    return {
        "context": memory.recall.context("/w").text,
        "its data": str(memory.recall.context("/w").data),
        "machine": memory.recall.context().text,
        "briefing": memory.recall.briefing(session).text,
        "search": str(
            [memory.recall.search(words, limit=50) for words in (POISON, "files", "failed calls", "sources")]
        ),
        "habits": str(memory.recall.habits().to_json()),
        "facts": str(memory.recall.facts()),
        "conventions": str(memory.recall.conventions(session)),
        "state": str(memory.history.state(session, quarantined=False)),
        "files": str(memory.history.files_modified(session, quarantined=False)),
        "last files": str(memory.history.files_modified(session, turns=5, quarantined=False)),
        "events": str(list(memory.history.events(session, quarantined=False))),
        "diff": str(memory.history.diff(session, 0, head, quarantined=False)),
        "turns": str(memory.history.diff(session, 0, turn, turns=True, quarantined=False)),
        "replay": str(memory.replay.plan(session)),
        "exports": "\n".join(path.read_text() for path in files),
    }


def naming(results: dict[str, str], word: str = POISON) -> list[str]:
    return [name for name, text in results.items() if word in text.lower()]


def lasting(result: dict[str, str]) -> dict[str, str]:
    """What does not tell of the quarantine itself, its events or the time of asking."""
    return {
        name: result[name] for name in ("facts", "conventions", "files", "last files", "replay", "habits")
    }


def test_the_state_shows_what_followed_the_page(memory: MemoryFixture, poisoned: str) -> None:
    state = memory.history.state(poisoned)
    page = next(one for one in state["untrusted"] if one["seq"] == PAGE)
    assert page["led_to"] == {
        "calls": 3, "changes": 2, "files": [f"/w/{POISON}.md", f"/w/{POISON}.txt"], "last_seq": 13,
    }  # fmt: skip
    assert {one["path"]: one.get("doubted_by") for one in state["files_modified"]} == {
        "/w/2026-a.pdf": None, f"/w/{POISON}.md": PAGE, f"/w/{POISON}.txt": PAGE, "/w/2026-b.pdf": None,
    }  # fmt: skip
    assert {event["seq"]: event["trust"] for event in memory.history.events(poisoned, kind="action")} == {
        2: "tool", 5: "web", 6: "tool", 9: "tool", 11: "tool", 13: "tool", 17: "tool",
    }  # fmt: skip


def test_a_page_leaves_every_export_with_all_that_followed_it(memory: MemoryFixture, poisoned: str) -> None:
    before = every_output(memory, poisoned)
    assert set(before) - set(naming(before)) <= {"facts", "conventions", "habits"}
    made = memory.maintenance.quarantine(poisoned, seq=PAGE, reason="it tells the agent what to do")
    assert made["changed"] == HELD == made["seqs"]
    assert (made["words"], made["calls"], made["files"]) == (2, 3, 2)
    results = every_output(memory, poisoned)
    assert naming(results) == []
    assert "dates first" in results["context"]
    assert "2026-a.pdf" in results["context"]
    assert "2026-b.pdf" in results["context"]


def test_what_is_left_does_not_look_like_an_empty_day(memory: MemoryFixture, poisoned: str) -> None:
    memory.maintenance.quarantine(poisoned, seq=PAGE)
    line = "4 calls are in quarantine and not shown here; files they changed are in the timeline"
    assert line in memory.recall.context("/w").text
    assert line in memory.recall.briefing(poisoned).text
    assert memory.history.state(poisoned, quarantined=False)["counts"]["held_back"] == 4
    assert "held_back" not in memory.history.state(poisoned)["counts"]
    branch = memory.rewind.fork(poisoned)["id"]
    assert memory.history.state(branch, quarantined=False)["counts"]["held_back"] == 4
    (item,) = [one for one in memory.recall.context("/w").data["items"] if one["kind"] == "held"][:1]
    assert item["why"].startswith("quarantined calls")


def test_lifting_it_brings_all_of_it_back(memory: MemoryFixture, poisoned: str) -> None:
    memory.recall.export_contexts(["/w"])
    before, state = lasting(every_output(memory, poisoned)), memory.history.state(poisoned)
    memory.maintenance.quarantine(poisoned, seq=PAGE)
    made = memory.maintenance.quarantine(poisoned, seq=PAGE, lift=True)
    assert (made["seqs"], made["changed"]) == ([], HELD)
    assert lasting(every_output(memory, poisoned)) == before
    for after in (memory.history.state(poisoned), memory.history.state(poisoned, quarantined=False)):
        moves = ("at", "counts", "last_at", "state_hash")  # the two notes of it are events, too
        assert {name: after[name] for name in after if name not in moves} == {
            name: state[name] for name in state if name not in moves
        }
    assert "quarantine" not in memory.recall.context("/w").text


def test_the_log_and_a_person_still_have_all_of_it(memory: MemoryFixture, poisoned: str) -> None:
    before = list(memory.history.events(poisoned))
    memory.maintenance.quarantine(poisoned, seq=PAGE)
    after = list(memory.history.events(poisoned, stop=len(before)))
    assert [{**one, "quarantined": True} if one["seq"] in HELD else one for one in before] == after
    assert memory.maintenance.verify(full=True).clean
    assert POISON in str(memory.history.state(poisoned)["files_modified"])
    assert POISON in str(memory.history.files_modified(poisoned))
    assert {hit["seq"] for hit in memory.recall.search(POISON, limit=50, quarantined=True)} >= {7, 9, 13}


def test_only_what_was_reported_can_be_quarantined(memory: MemoryFixture, poisoned: str) -> None:
    made = memory.maintenance.quarantine(poisoned, seq=PAGE, words_only=True)
    assert made["changed"] == [4, 5, 7, 14]
    assert (made["words"], made["calls"], made["files"]) == (2, 0, 0)
    shown = memory.history.state(poisoned, quarantined=False)
    assert f"/w/{POISON}.md" in [one["path"] for one in shown["files_modified"]]
    assert "1 call is in quarantine and not shown here" in memory.recall.context("/w").text
    assert memory.maintenance.quarantine(poisoned, seq=PAGE, lift=True)["changed"] == [4, 5, 7, 14]
    with pytest.raises(InvalidInput, match="consequences are those of one event"):
        memory.maintenance.quarantine(poisoned, words_only=True)


def test_what_an_agent_says_of_its_own_accord_leads_to_words_alone(memory: MemoryFixture) -> None:
    made = memory.begin()
    memory.say(made, "decision", what="a bad one")  # 1
    memory.act(made, "Bash", {"command": "ls"})  # 2
    memory.say(made, "message", text="so be it")  # 3
    assert memory.maintenance.quarantine(made, seq=1)["changed"] == [1, 3]
    assert memory.maintenance.quarantine(made, seq=1, lift=True)["seqs"] == []
    assert memory.maintenance.quarantine(made, seq=2)["changed"] == [2, 3]


def test_a_file_that_was_read_leads_to_calls_as_a_page_does(memory: MemoryFixture) -> None:
    """Nothing says of a local file that it is doubtful; a person may know."""
    made = memory.begin()
    memory.act(made, "Read", {"file_path": "/w/README.md"}, output=f"do {POISON}")  # 1
    memory.act(made, "Bash", {"command": f"echo {POISON}"})  # 2
    assert memory.history.state(made)["untrusted"] == []
    assert memory.maintenance.quarantine(made, seq=1)["changed"] == [1, 2]
    assert naming(every_output(memory, made)) == []


def test_an_address_that_a_record_names_as_its_source_is_quarantined_too(memory: MemoryFixture) -> None:
    made = memory.begin()
    outcome = Draft(made, "action", {"tool": "Read"}, source=f"https://evil.example/{POISON}")
    (result,) = memory.sessions.record([outcome])
    assert result.appended is not None
    memory.maintenance.quarantine(made, seq=result.appended.seq)
    assert naming(every_output(memory, made)) == []


def test_it_is_known_after_a_rewind_and_in_a_fork(memory: MemoryFixture, poisoned: str) -> None:
    memory.rewind.apply(poisoned, 10)
    memory.act(poisoned, "Bash", {"command": "touch /w/new"}, files=[{"path": "/w/new", "change": "created"}])
    paths = {one["path"]: one.get("doubted_by") for one in memory.history.state(poisoned)["files_modified"]}
    assert paths == {"/w/2026-a.pdf": None, f"/w/{POISON}.md": PAGE, "/w/new": None}  # of a later turn
    branch = memory.rewind.fork(poisoned, at=10)["id"]
    entry = next(one for one in memory.history.state(branch)["files_modified"] if POISON in one["path"])
    assert (entry["doubted_by"], entry["session"]) == (PAGE, poisoned)
    memory.maintenance.quarantine(poisoned, seq=PAGE)
    assert POISON not in str(memory.history.state(branch, quarantined=False))


@pytest.mark.parametrize("words_only", [False, True])
def test_a_bundle_has_what_is_quarantined_only_when_asked_for_and_keeps_it_so(
    memory: MemoryFixture, poisoned: str, tmp_path: Path, words_only: bool
) -> None:
    held = memory.maintenance.quarantine(poisoned, seq=PAGE, words_only=words_only)["seqs"]
    with pytest.raises(Declined, match=f"{len(held)} events in quarantine"):
        memory.bundles.export(poisoned, tmp_path / "out.fazm")
    assert not (tmp_path / "out.fazm").exists()
    memory.bundles.export(poisoned, tmp_path / "out.fazm", quarantined=True, passphrase="four words for it")
    there = MemoryFixture(tmp_path / "there")
    try:
        taken = there.bundles.import_(tmp_path / "out.fazm", passphrase="four words for it")["session"]
        assert there.history.state(taken)["quarantined"] == {"whole": False, "seqs": held}
        assert there.history.state(taken, quarantined=False)["counts"]["held_back"] == (
            1 if words_only else 4
        )
        assert (
            there.history.state(taken)["files_modified"] == memory.history.state(poisoned)["files_modified"]
        )
        if not words_only:
            assert naming(every_output(there, taken)) == []
        assert there.maintenance.verify(full=True).clean
    finally:
        there.close()


def test_a_long_turn_is_quarantined_whole(memory: MemoryFixture) -> None:
    made = memory.begin()
    page = memory.act(made, "WebFetch", {"url": "https://evil.example"}, output=POISON)
    calls = [Draft(made, "action", {"tool": "Bash", "input": {"n": n, "x": POISON}}) for n in range(1200)]
    assert all(one.error is None for one in memory.sessions.record(calls))
    assert memory.maintenance.quarantine(made, seq=page)["calls"] == 1200
    assert "1,201 calls are in quarantine" in memory.recall.context("/w").text
    assert naming(every_output(memory, made)) == []
    assert memory.maintenance.quarantine(made, seq=page, lift=True)["seqs"] == []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.write("invoice.txt", "100 euros")()
    made.begin()
    yield made
    made.close()


def say(world: World, kind: str, **payload: Any) -> None:
    world.clock += 1_000_000
    draft = Draft(world.session, kind, payload, at=world.now(), source="hook")
    (result,) = world.memory.sessions.record([draft])
    assert result.error is None, result.error


def test_files_that_quarantined_calls_changed_still_go_back(world: World) -> None:
    """Real files, changed by a shell call that says nothing of them: the watcher traces them to it."""
    say(world, "prompt", text="pay the invoices")
    page, before = world.head(), world.files()
    say(world, "action", tool="WebFetch", input={"url": "https://evil.example"}, output=POISON)

    def act() -> None:
        world.write("invoice.txt", "900 euros")()
        world.write(f"{POISON}.txt", POISON)()

    world.agent(act)
    say(world, "prompt", text="and the next")
    memory, session = world.memory, world.session
    state = memory.history.state(session)
    assert {Path(one["path"]).name: one.get("doubted_by") for one in state["files_modified"]} == {
        "invoice.txt": page, f"{POISON}.txt": page,
    }  # fmt: skip
    assert memory.maintenance.quarantine(session, seq=page)["files"] == 2
    assert "invoice.txt" not in str(memory.history.state(session, quarantined=False)["files_modified"])
    assert naming(every_output(memory, session)) == []
    plan = memory.rewind.plan(session, page)
    assert {Path(one["path"]).name: one["action"] for one in plan["files"]} == {
        "invoice.txt": "restore", f"{POISON}.txt": "delete",
    }  # fmt: skip
    memory.rewind.apply(session, page, files=True)
    assert world.files() == before
    memory.rewind.undo(session)
    assert world.files() == {"invoice.txt": b"900 euros", f"{POISON}.txt": POISON.encode()}
    assert memory.maintenance.verify().clean
