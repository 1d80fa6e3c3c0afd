"""Slices by anything, files of the last turns, differences and retries with their causes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.app import history
from fazm_memory.cli.commands.compare import page, sections
from fazm_memory.errors import Declined, InvalidInput
from fazm_memory.events.event import Draft
from fazm_memory.recall import replay
from fazm_memory.store import ABSENT
from fazm_memory.store.queries import EventFilter
from tests.app.memory_fixture import SECOND, START, MemoryFixture


@pytest.fixture
def session(memory: MemoryFixture) -> str:
    """Three turns: a failure and its retry, a page of the web, a rename in each."""
    made = memory.begin()
    memory.say(made, "prompt", text="tidy October")  # 1
    memory.act(made, "Bash", {"command": "make"}, error="exit 2", output="no rule")  # 2
    memory.act(made, "Bash", {"command": "make"}, output="done")  # 3
    memory.renamed(made, "/w/a.pdf", "/w/2026-a.pdf")  # 4
    memory.say(made, "prompt", text="look it up")  # 5
    memory.act(made, "WebFetch", {"url": "https://example.org"}, output="x" * 5000)  # 6
    memory.say(made, "prompt", text="now the rest")  # 7
    memory.say(made, "decision", what="dates first", why="they sort")  # 8
    memory.renamed(made, "/w/b.pdf", "/w/2026-b.pdf")  # 9
    return made


def seqs(memory: MemoryFixture, session: str, **wanted: object) -> list[int]:
    return [event["seq"] for event in memory.history.events(session, **wanted)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, list(range(10))),
        ({"start": 2, "stop": 4}, [2, 3]),
        ({"kind": "decision"}, [8]),
        ({"tool": "WebFetch"}, [6]),
        ({"outcome": "error"}, [2]),
        ({"outcome": "ok", "tool": "Bash"}, [3, 4, 9]),
        ({"trust": "web"}, [6]),
        ({"file": "/w/2026-a.pdf"}, [4]),
        ({"file": "b.pdf"}, [9]),
        ({"file": "/w"}, [4, 9]),
        ({"turns": (2, 2)}, [5, 6]),
        ({"turns": (2, 9)}, [5, 6, 7, 8, 9]),
        ({"turns": (8, 9)}, []),
        ({"kind": "prompt", "limit": 2}, [1, 5]),
        ({"tool": "Bash", "turns": (3, 3)}, [9]),
    ],
)
def test_a_slice_is_by_position_turn_kind_tool_file_outcome_or_trust(
    memory: MemoryFixture, session: str, wanted: dict[str, object], found: list[int]
) -> None:
    assert seqs(memory, session, **wanted) == found


@pytest.fixture
def watched(memory: MemoryFixture) -> str:
    """Calls that tell no file, and changes that only the watcher saw: of a call, of one still running, of the
    one before although the next turn has begun, of an agent's claim, of a person."""
    made = memory.begin()
    memory.say(made, "prompt", text="build it")  # 1
    memory.act(made, "Bash", {"command": "make"})  # 2
    seen = {"by": "agent", "source": "files", "change": "created"}
    memory.say(made, "file", path="/w/out/site.css", call=2, **seen)  # 3
    memory.say(made, "action.start", tool="Task", input={"to": "draw"}, call_id="t1")  # 4
    memory.say(made, "file", path="/w/out/logo.png", call=4, **seen)  # 5
    memory.say(made, "action", tool="Task", input={"to": "draw"}, call_id="t1", error="no ink")  # 6
    memory.say(made, "prompt", text="and the rest")  # 7
    memory.say(made, "file", path="/w/out/late.css", call=2, **seen)  # 8
    memory.say(made, "file", path="/w/out/claimed.css", change="created", call=2)  # 9
    memory.say(made, "file", path="/w/out/mine.css", by="person", source="files", change="created")  # 10
    return made


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"tool": "Bash", "file": "/w/out/site.css"}, [2, 3]),
        ({"tool": "Bash", "file": "/w/out"}, [2, 3, 8]),
        ({"tool": "Bash"}, [2, 3, 8]),
        ({"tool": "Bash", "file": "logo.png"}, []),
        ({"tool": "Task", "file": "logo.png"}, [4, 5, 6]),
        ({"tool": "Task", "file": "logo.png", "outcome": "error"}, [6]),
        ({"file": "late.css"}, [2, 8]),
        ({"file": "late.css", "turns": (1, 1)}, [2]),
        ({"file": "late.css", "stop": 8}, [2]),
        ({"file": "claimed.css"}, [9]),
        ({"tool": "Bash", "file": "mine.css"}, []),
        ({"file": "mine.css"}, [10]),
        ({"kind": "action", "file": "/w/out"}, [2, 6]),
    ],
)
def test_what_only_the_watcher_saw_of_a_call_is_found_as_the_calls(
    memory: MemoryFixture, watched: str, wanted: dict[str, object], found: list[int], indexed: bool
) -> None:
    if indexed:
        memory.store.index_all()
    assert seqs(memory, watched, **wanted) == found
    if not {"turns", "stop", "kind"} & {*wanted}:  # the page asks in its own words
        asked = EventFilter(
            tools=frozenset({str(wanted["tool"])} if "tool" in wanted else ()),
            outcomes=frozenset({str(wanted["outcome"])} if "outcome" in wanted else ()),
            file=str(wanted["file"]) if "file" in wanted else None,
        )
        assert [one["seq"] for one in memory.timeline.event_page(watched, asked)["items"]] == found


def test_what_a_transcript_adds_to_a_call_is_found_by_its_tool(memory: MemoryFixture) -> None:
    made = memory.begin()
    result = {"tool": "Bash", "input": {"command": "make"}, "call_id": "c1"}
    memory.say(made, "action", source="hook", **result)  # 1
    memory.sessions.record(
        [Draft(made, "action", {**result, "error": "exit 2", "outcome": "error"}, source="transcript")]
    )
    assert [one["kind"] for one in memory.history.events(made)] == ["session.open", "action", "action.amend"]
    assert seqs(memory, made, tool="Bash", outcome="error") == [2]
    assert seqs(memory, made, tool="Read", outcome="error") == []


def test_the_files_of_the_last_turns_have_what_only_the_watcher_saw(
    memory: MemoryFixture, watched: str
) -> None:
    results = memory.history.files_modified(watched, turns=1)
    assert [one["path"] for one in results["files"]] == ["/w/out/claimed.css", "/w/out/mine.css"]
    results = memory.history.files_modified(watched, turns=5)
    assert [one["path"].rpartition("/")[2] for one in results["files"]] == [
        "site.css", "logo.png", "late.css", "claimed.css", "mine.css",
    ]  # fmt: skip


def test_the_files_of_the_last_turns_leave_out_what_is_quarantined(
    memory: MemoryFixture, watched: str
) -> None:
    memory.maintenance.quarantine(watched, seq=3)
    for turns in (5, None):
        results = memory.history.files_modified(watched, turns=turns, quarantined=False)
        assert "/w/out/site.css" not in {one["path"] for one in results["files"]}
        assert "/w/out/late.css" in {one["path"] for one in results["files"]}


@pytest.mark.parametrize("indexed", [False, True])
def test_a_slice_by_time_holds_before_and_after_the_minutes_are_counted(
    memory: MemoryFixture, indexed: bool
) -> None:
    made = memory.begin()
    memory.now.at += 6 * 3600 * SECOND
    for hour in range(5):
        memory.say(made, "decision", what=f"at {hour}", at=START + hour * 3600 * SECOND)
    if indexed:
        memory.store.index_all()
    since, until = START + 3600 * SECOND, START + 3 * 3600 * SECOND
    results = [one["payload"]["what"] for one in memory.history.events(made, since=since, until=until)]
    assert results == ["at 1", "at 2"]


def test_a_filtered_slice_keeps_the_chain_of_each_event(memory: MemoryFixture, session: str) -> None:
    whole = list(memory.history.events(session))
    assert list(memory.history.events(session, kind="decision")) == [whole[8]]
    assert list(memory.history.events(session, kind="session.open")) == [whole[0]]


def test_a_filter_that_names_nothing_we_know_is_refused(memory: MemoryFixture, session: str) -> None:
    with pytest.raises(InvalidInput, match="there is no outcome 'fine'"):
        list(memory.history.events(session, outcome="fine"))


def test_the_files_of_the_last_turns_are_their_net_change(memory: MemoryFixture, session: str) -> None:
    results = memory.history.files_modified(session, turns=1)
    assert (results["turns"], [one["path"] for one in results["files"]]) == ([3, 3], ["/w/2026-b.pdf"])
    assert len(memory.history.files_modified(session, turns=5)["files"]) == 2
    assert memory.history.files_modified(session)["files"] == memory.history.state(session)["files_modified"]


def test_what_was_rewound_is_not_among_the_files_of_the_last_turns(
    memory: MemoryFixture, session: str
) -> None:
    memory.rewind.apply(session, 8)
    memory.renamed(session, "/w/c.pdf", "/w/2026-c.pdf")
    results = memory.history.files_modified(session, turns=1)
    assert [one["path"] for one in results["files"]] == ["/w/2026-c.pdf"]


def test_a_branch_is_compared_with_its_parent_from_where_they_parted(
    memory: MemoryFixture, session: str
) -> None:
    branch = memory.rewind.fork(session, at=7)["id"]
    memory.say(branch, "prompt", text="by vendor")
    memory.say(branch, "decision", what="vendor first")
    results = memory.history.compare(session, None, branch, None)
    assert results["common"] == {"session": session, "at": 7}
    assert [one["what"] for one in results["added"]["decisions_made"]] == ["vendor first"]
    assert [one["what"] for one in results["removed"]["decisions_made"]] == ["dates first"]
    assert "errors" not in {*results["added"], *results["removed"]}  # both have the failure of before
    causes = {(one["session"], one["what"]) for one in results["because"] if one["role"] == "decision"}
    assert causes == {(session, "dates first"), (branch, "vendor first")}


def test_branches_in_folders_of_their_own_are_compared_file_by_file(
    memory: MemoryFixture, session: str, tmp_path: Path
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    session = memory.begin(workspace=str(work))

    def result(one: str, path: Path, change: str) -> None:
        memory.act(one, "Write", {"file_path": str(path)}, files=[{"path": str(path), "change": change}])

    result(session, work / "before.txt", "created")
    branch = memory.rewind.fork(session, into=str(other))["id"]
    for one, folder in ((session, work), (branch, other)):
        result(one, folder / "both.txt", "modified")
        result(one, folder / "gone.txt", "deleted")
        result(one, folder / "read.txt", "read")
    result(session, work / "mine.txt", "created")
    result(branch, other / "sub" / "yours.txt", "created")
    result(branch, other / "before.txt", "modified")
    made = memory.history.compare(session, None, branch, None)
    files = {part: made[part].get("files_modified", []) for part in ("added", "removed", "changed")}
    assert [one["path"] for one in files["added"]] == [f"{other}/sub/yours.txt"]
    assert [one["path"] for one in files["removed"]] == [f"{work}/mine.txt"]
    assert sorted((one["from"]["path"], one["to"]["path"]) for one in files["changed"]) == [
        (f"{work}/before.txt", f"{other}/before.txt"),
        (f"{work}/both.txt", f"{other}/both.txt"),
    ]
    assert "files_read" not in made["added"]
    assert "files_read" not in made["removed"]


def test_two_branches_that_made_the_same_change_are_reported_to_have(
    memory: MemoryFixture, tmp_path: Path
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    session = memory.begin(workspace=str(work))
    branch = memory.rewind.fork(session, into=str(other))["id"]

    def result(one: str, path: Path, change: str, data: bytes | None, **more: str) -> None:
        """A call that tells its file; the watcher marks what it saw of it, unless it saw nothing."""
        at = memory.act(one, "Write", {}, files=[{"path": str(path), "change": change, **more}])
        if data is not None:
            memory.file_versions.keep(str(path.parent), path.name, memory.now(), data)
            memory.file_versions.mark_recorded(str(path.parent), path.name, one, seq=at, changed_by="agent")

    def seen(one: str, path: Path, change: str, after: str | None, by: str = "agent") -> None:
        memory.say(one, "file", path=str(path), change=change, by=by, after=after, source="files")

    for one, folder, mine in ((session, work, b"1"), (branch, other, b"2")):
        result(one, folder / "alike.txt", "modified", b"alike")
        result(one, folder / "otherwise.txt", "modified", mine)
        result(one, folder / "unwatched.txt", "modified", None)
        result(one, folder / "to.txt", "renamed", b"moved", **{"from": str(folder / "from.txt")})
        result(one, folder / "came.txt", "renamed", b"m", **{"from": str(folder / f"{mine.decode()}.txt")})
        seen(one, folder / "seen.txt", "created", "abc")
        seen(one, folder / "hands.txt", "created", "abc", by="agent" if one == session else "person")
        seen(one, folder / "one.txt", "created", "abc" if one == session else None)
        result(one, folder / "gone.txt", "deleted", None)
    made = memory.history.compare(session, None, branch, None)
    assert [one["key"] for one in made["same"]["files_modified"]] == ["alike.txt", "to.txt", "seen.txt"]
    assert {one["key"]: one["content"] for one in made["changed"]["files_modified"]} == {
        "otherwise.txt": "different", "unwatched.txt": "unknown", "came.txt": "same", "hands.txt": "same",
        "one.txt": "unknown",
    }  # fmt: skip
    (files,) = (one for one in sections(made) if one.title == "Files")
    words = {(line.mark, line.text) for line in files.lines}
    assert ("same", f"modified {other}/alike.txt by agent, the same in both") in words
    assert (
        "changed",
        f"modified {work}/otherwise.txt by agent → modified {other}/otherwise.txt by agent, other content",
    ) in words
    assert any(text.endswith("unwatched.txt by agent, content unknown") for _, text in words)
    assert "= modified" in page(made, "both")


def test_branches_in_one_folder_are_compared_by_what_each_made(memory: MemoryFixture) -> None:
    session = memory.begin()
    branch = memory.rewind.fork(session)["id"]
    made = []
    # The first two stand at the same position of their sessions, by chance.
    for one, data in ((session, b"first"), (branch, b"second"), (session, b"third"), (session, b"second")):
        at = memory.act(one, "Write", {}, files=[{"path": "/w/a.txt", "change": "modified"}])
        memory.file_versions.keep("/w", "a.txt", memory.now(), data)
        memory.file_versions.mark_recorded("/w", "a.txt", one, seq=at, changed_by="agent")
        made.append(at)
    earlier = memory.history.compare(session, made[0] + 1, branch, None)
    assert [one["content"] for one in earlier["changed"]["files_modified"]] == ["different"]
    memory.act(session, "Write", {}, files=[{"path": "/w/gone.txt", "change": "deleted"}])
    memory.act(branch, "Write", {}, files=[{"path": "/w/gone.txt", "change": "deleted"}])
    later = memory.history.compare(session, None, branch, None)
    assert [one["key"] for one in later["same"]["files_modified"]] == ["/w/a.txt"]
    assert "files_modified" not in later["changed"]


def test_strangers_have_nothing_in_common_and_are_compared_all_the_same(
    memory: MemoryFixture, session: str
) -> None:
    other = memory.begin(workspace="/v")
    memory.say(other, "decision", what="alone")
    result = memory.history.compare(session, 4, other, None)
    assert result["common"] is None
    assert result["changed"]["workspace"] == {"from": "/w", "to": "/v"}


def test_what_a_person_changed_was_led_to_by_no_request(memory: MemoryFixture, session: str) -> None:
    seen = {"path": "/w/mine", "change": "modified", "evidence": "no call was running", "source": "files"}
    at = memory.say(session, "file", by="person", **seen)
    (line,) = next(
        one for one in sections(memory.history.diff(session, at, at + 1)) if one.title == "Files"
    ).lines
    assert (line.text, line.why) == ("modified /w/mine by person", "")
    begun = memory.say(session, "prompt", text="tidy up")
    memory.say(session, "file", by="person", **(seen | {"path": "/w/other"}))
    (line,) = next(
        one for one in sections(memory.history.diff(session, begun, begun + 2)) if one.title == "Files"
    ).lines
    assert (line.text, line.why) == ("modified /w/other by person", "")


def test_a_page_of_a_difference_names_what_led_to_each_change(memory: MemoryFixture, session: str) -> None:
    result = memory.history.diff(session, 7, 10)
    files = next(one for one in sections(result) if one.title == "Files")
    assert [(line.text, line.why) for line in files.lines] == [
        ("renamed /w/2026-b.pdf (from /w/b.pdf) by agent", "after decision @8: dates first")
    ]
    memory.say(session, "decision", what="<script>alert(1)</script>")
    made = page(memory.history.diff(session, 7, 11), "October & more")
    assert "<script>" not in made
    assert "&lt;script&gt;" in made
    assert "October &amp; more" in made


def test_the_causes_of_a_long_span_are_those_the_states_remember_and_the_last_stretch(
    memory: MemoryFixture, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SPAN", 2)
    results = memory.history.diff(session, 0, 10)["because"]
    assert [one["seq"] for one in results if "seq" in one] == [1, 2, 5, 7, 8, 9]
    assert results[-1] == {"kind": "more", "role": "more", "counts": {"earlier events": 4}}


def test_a_retry_stands_beside_what_it_retried(memory: MemoryFixture, session: str) -> None:
    (result,) = memory.history.retries(session)
    assert (result["retry_of"], result["seq"], result["tool"], result["target"]) == (2, 3, "Bash", "make")
    assert result["before"]["outcome"] == "error"
    assert result["after"] == {"outcome": "ok", "error": None, "output": "done", "duration_ms": None}
    assert result["diff"].splitlines() == ["@@ -1 +1 @@", "-no rule", "+done"]
    assert result["same_input"]


def seen_late(memory: MemoryFixture, source: str = "files") -> str:
    """A call of the first turn whose change is told when the second has begun."""
    made = memory.begin()
    memory.say(made, "prompt", text="build it")  # 1
    memory.say(made, "action.start", tool="Bash", input={"command": "make"}, call_id="c")  # 2
    memory.say(made, "action", tool="Bash", input={"command": "make"}, call_id="c")  # 3
    memory.act(made, "Bash", {"command": "ls"})  # 4
    memory.say(made, "prompt", text="thanks")  # 5
    for path, call in (("/w/a.o", 2), ("/w/b.o", 3)):  # 6, 7
        memory.say(made, "file", path=path, change="created", by="agent", call=call, source=source)
    return made


def test_a_change_seen_late_belongs_to_the_turn_of_its_call(memory: MemoryFixture) -> None:
    session = seen_late(memory)
    assert memory.history.files_modified(session, turns=1)["files"] == []
    assert [one["path"] for one in memory.history.files_modified(session, turns=2)["files"]] == [
        "/w/a.o",
        "/w/b.o",
    ]
    first, second = (
        memory.history.diff(session, 0, 1, turns=True),
        memory.history.diff(session, 1, 2, turns=True),
    )
    assert [one["path"] for one in first["added"]["files_modified"]] == ["/w/a.o", "/w/b.o"]
    assert [one["seq"] for one in first["because"] if one["kind"] == "file"] == [6, 7]
    assert "files_modified" not in second["added"]
    assert [one["seq"] for one in second["because"]] == [5]


def test_only_the_watchers_word_moves_a_change_to_another_turn(memory: MemoryFixture) -> None:
    session = seen_late(memory, source="record")
    assert [one["path"] for one in memory.history.files_modified(session, turns=1)["files"]] == [
        "/w/a.o",
        "/w/b.o",
    ]
    assert memory.replay.plan(session)["left_out"] == {"changed nothing": 2}


def test_shell_work_that_was_seen_to_change_files_is_a_step_of_a_replay(memory: MemoryFixture) -> None:
    made = memory.replay.plan(seen_late(memory))
    [step] = made["steps"]
    assert (step["seq"], step["command"]) == (3, "make")
    assert [one["path"] for one in step["files"]] == ["/w/a.o", "/w/b.o"]
    assert made["left_out"] == {"changed nothing": 1}


def test_a_plan_is_read_from_the_end_as_far_back_as_its_steps_reach(
    memory: MemoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.begin()
    for n in range(60):
        call = {"tool": "Bash", "input": {"command": f"make {n}"}, "call_id": str(n)}
        begun = memory.say(session, "action.start", **call)
        memory.say(session, "action", **call)
        memory.say(
            session, "file", path=f"/w/{n}.o", change="created", by="agent", call=begun, source="files"
        )
        memory.act(session, "Bash", {"command": "ls"})
    whole = memory.replay.plan(session)
    assert len(whole["steps"]) == 60
    assert whole["left_out"] == {"changed nothing": 60}
    monkeypatch.setattr(replay, "MAX_STEPS", 5)
    monkeypatch.setattr(replay, "DEFERRED_WINDOW", 4)
    for look in (1, 2, 3, 5, 7, 20, 1000):  # also with an edge between a call and what was seen of it
        monkeypatch.setattr(replay, "FIRST_READ", look)
        read: list[int] = []
        made = memory.replay.plan(session, progress=read.append)
        assert made["steps"] == whole["steps"][-5:]
        assert made["left_out"] == {"changed nothing": 5, "earlier events": made["steps"][0]["seq"]}
        assert look == 1000 or read[-1] < 80
    branch = memory.rewind.fork(session)["id"]
    memory.renamed(branch, "/w/a", "/w/b")
    made = memory.replay.plan(branch)
    assert [one["seq"] for one in made["steps"][:-1]] == [one["seq"] for one in whole["steps"][-4:]]
    assert made["left_out"] == {"changed nothing": 4, "earlier events": made["steps"][0]["seq"]}


def test_the_latest_retries_are_those_of_the_whole_session(
    memory: MemoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.begin()
    for n in range(30):
        memory.act(session, "Bash", {"command": f"make {n}"}, error="no")
        memory.act(session, "Bash", {"command": f"make {n}"})
    whole = memory.history.retries(session)
    assert len(whole) == 30
    monkeypatch.setattr(history, "SPAN", 3)
    assert memory.history.retries(session) == whole
    monkeypatch.setattr(history, "RETRIES", 4)
    assert memory.history.retries(session) == whole[-4:]


def test_a_file_that_a_stored_version_shows_was_not_created(memory: MemoryFixture) -> None:
    versions = memory.file_versions
    versions.keep("/w", "old.txt", START - SECOND, b"before")
    versions.keep("/w", "gone.txt", START - SECOND, ABSENT)
    session = memory.begin()
    for name in ("old.txt", "gone.txt", "new.txt"):
        memory.act(session, "Write", {"path": name}, files=[{"path": f"/w/{name}", "change": "created"}])
    files = {file["path"]: file["change"] for file in memory.history.files_modified(session)["files"]}
    assert files == {"/w/old.txt": "modified", "/w/gone.txt": "created", "/w/new.txt": "created"}
    told = {file["path"]: file["change"] for file in memory.history.state(session)["files_modified"]}
    assert told == files


def test_a_file_that_the_session_created_stays_created_when_it_changes_again(memory: MemoryFixture) -> None:
    versions = memory.file_versions
    versions.keep("/w", "new.txt", 0, ABSENT)
    session = memory.begin()
    begun = memory.act(session, "Bash", {"command": "python make.py"})
    versions.keep("/w", "new.txt", memory.now(), b"1")
    with versions.db.transaction():
        versions.mark_recorded("/w", "new.txt", session, seq=begun, changed_by="agent")
    memory.say(session, "file", path="/w/new.txt", change="created", by="agent", call=begun, source="files")
    [file] = memory.history.files_modified(session)["files"]
    assert file["change"] == "created"
    versions.keep("/w", "new.txt", memory.now(), b"2")
    modified = [{"path": "/w/new.txt", "change": "modified"}]
    again = memory.act(session, "Edit", {"path": "new.txt"}, files=modified)
    [file] = memory.history.files_modified(session)["files"]
    assert (file["change"], file["seq"]) == ("created", again)


def test_each_author_of_a_file_that_was_there_before_modified_it(memory: MemoryFixture) -> None:
    memory.file_versions.keep("/w", "old.txt", START - SECOND, b"before")
    session = memory.begin()
    memory.act(session, "Write", {"path": "old.txt"}, files=[{"path": "/w/old.txt", "change": "created"}])
    memory.say(session, "file", path="/w/old.txt", change="modified", by="person", source="files")
    [file] = memory.history.files_modified(session)["files"]
    assert [(one["by"], one["change"]) for one in file["changed_by"]] == [
        ("agent", "modified"),
        ("person", "modified"),
    ]
    [told] = memory.history.state(session)["files_modified"]
    assert told["changed_by"] == file["changed_by"]
    [own] = memory.history.files_modified(session, by="agent")["files"]
    assert own["change"] == "modified"


def test_a_file_that_a_person_created_in_the_session_was_not_created_by_the_agent(
    memory: MemoryFixture,
) -> None:
    session = memory.begin()
    memory.say(session, "file", path="/w/notes.txt", change="created", by="person", source="files")
    memory.file_versions.keep("/w", "notes.txt", memory.now(), b"from a person")
    memory.act(session, "Write", {"path": "notes.txt"}, files=[{"path": "/w/notes.txt", "change": "created"}])
    [file] = memory.history.files_modified(session)["files"]
    assert [(one["by"], one["change"]) for one in file["changed_by"]] == [
        ("person", "created"),
        ("agent", "modified"),
    ]


def test_an_agent_takes_back_its_own_events_and_none_of_the_users(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.say(session, "prompt", text="never touch the tests")
    first = memory.act(session, "Bash", {"command": "ls"})
    memory.act(session, "Bash", {"command": "make"})
    for source in ("mcp", "record"):
        with pytest.raises(Declined, match="what the user said at 1"):
            memory.rewind.apply(session, 1, source=source)
        with pytest.raises(Declined, match="what the user said"):
            memory.rewind.apply(session, 0, source=source, force=True)
    memory.rewind.apply(session, first, source="mcp")
    assert memory.history.state(session)["tools_used"] == {}
    assert memory.rewind.fork(session, at=1, source="mcp")["parent_seq"] == 1
    memory.rewind.apply(session, 1)
    memory.rewind.apply(session, 0, source="mcp")  # the user took it back already
    assert memory.history.state(session)["requests"] == []


def test_an_agents_own_account_of_a_request_is_not_the_users_word(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.say(session, "prompt", text="tidy up", source="mcp")
    memory.rewind.apply(session, 1, source="mcp")
    assert memory.history.state(session)["requests"] == []
