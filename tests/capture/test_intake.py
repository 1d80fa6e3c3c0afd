"""Records are taken in once, in the order of happening, whatever becomes of their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.capture import intake as engine
from fazm_memory.capture.agents.reader import Chunk, Cursor, Places, RecordFile
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.intake import Intake
from fazm_memory.capture.pauses import Span
from fazm_memory.capture.recorder import Recorder
from fazm_memory.capture.scrub import default_scrubber
from fazm_memory.capture.tally import Tally
from fazm_memory.log.store import Store
from tests.capture.plain_agent import NAME, PlainAgent, act, line, opening, written


class Desk:
    """A store and a folder of records; `intake` is made anew each time, as after a restart."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder / "user")
        self.records = folder / "user" / "records"
        self.store = Store(folder / "home", key="file")
        self.recorder = Recorder(self.store, default_scrubber(), lambda: 1_000_000)
        self.agent = PlainAgent()
        self.pauses: list[Span] = []

    def intake(self) -> Intake:
        return Intake(self.recorder, [self.agent], self.places, pauses=lambda: self.pauses)

    def take_all(self) -> Tally:
        intake, tally = self.intake(), Tally()
        for one in intake.backlog(intake.unread(intake.find())):
            tally.add(one)
        return tally

    def told(self, session: str) -> list[tuple[str, str | None]]:
        row = self.store.sessions.by_key(session, NAME)
        assert row is not None, session
        keys = "SELECT kind, key FROM event WHERE id >= ? AND id < ? ORDER BY id"
        return list(self.store.db.execute(keys, (row.n << 32, (row.n + 1) << 32)).fetchall())

    def keys(self, session: str) -> list[str | None]:
        return [key for _, key in self.told(session)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.store.close()


def test_all_that_is_found_is_recorded_and_doing_it_again_adds_nothing(desk: Desk) -> None:
    written(desk.records / "a.jsonl", opening("a", 1), act(2, "a1"), act(3, "a2"))
    written(desk.records / "b.jsonl", opening("b", 1), act(2, "b1"))

    first, second = desk.take_all(), desk.take_all()

    assert (first.files, first.events, first.known) == (2, 5, 0)
    assert first.bytes == sum(path.stat().st_size for path in desk.records.iterdir())
    assert (second.files, second.events, second.bytes) == (0, 0, 0)
    assert desk.keys("a") == ["a:open", "a1", "a2"]


def test_the_newest_session_comes_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WAVE", 1)
    for number, name in enumerate(("old", "new", "middle")):
        written(desk.records / f"{name}.jsonl", opening(name, 1), mtime=[10.0, 30.0, 20.0][number])

    desk.take_all()

    assert [name for name, offset in desk.agent.reads if offset == 0] == [
        "new.jsonl",
        "middle.jsonl",
        "old.jsonl",
    ]


def test_only_what_was_appended_is_read_again(desk: Desk) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    desk.take_all()
    size = path.stat().st_size
    desk.agent.reads.clear()
    written(path, act(3, "a2"))

    tally = desk.take_all()

    assert desk.agent.reads == [("a.jsonl", size)]
    assert (tally.events, tally.known) == (1, 0)


def test_a_half_written_last_line_waits(desk: Desk) -> None:
    whole, half = act(2, "a1"), act(3, "a2")
    path = written(desk.records / "a.jsonl", opening("a", 1), whole, half[:20])
    assert desk.take_all().events == 2

    written(path, half[20:])

    assert desk.take_all().events == 1
    assert desk.keys("a") == ["a:open", "a1", "a2"]


def test_what_a_reader_carries_goes_on_where_it_stopped(desk: Desk) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1))
    desk.take_all()
    written(path, act(2, "a1"))
    desk.take_all()

    [unread] = [one for one in [desk.intake().cursors.unread(_bigger(desk, path))] if one]
    assert unread.cursor == Cursor(path.stat().st_size, {"lines": 2})


def _bigger(desk: Desk, path: Path) -> RecordFile:
    return RecordFile(NAME, path, "a", path.stat().st_size + 1, path.stat().st_mtime)


def test_a_file_cut_short_is_read_anew_and_tells_nothing_twice(desk: Desk) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1), act(2, "a1"), act(3, "a2"))
    desk.take_all()
    path.write_text(opening("a", 1) + act(2, "a1"))

    tally = desk.take_all()
    written(path, act(4, "a3"))
    desk.take_all()

    assert (tally.events, tally.known) == (0, 2)
    assert desk.keys("a") == ["a:open", "a1", "a2", "a3"]


def test_a_file_written_anew_with_other_content_is_read_from_its_beginning(desk: Desk) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    desk.take_all()
    path.write_text(opening("a", 1) + act(2, "other") + act(3, "more"))

    desk.take_all()

    assert desk.keys("a") == ["a:open", "a1", "other", "more"]


def test_a_file_that_moves_is_read_on_from_where_it_was(desk: Desk) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    desk.take_all()
    size = path.stat().st_size
    desk.agent.reads.clear()
    moved = desk.records / "archive" / "a.jsonl"
    moved.parent.mkdir()
    written(path.rename(moved), act(3, "a2"))

    tally = desk.take_all()

    assert desk.agent.reads == [("a.jsonl", size)]
    assert (tally.events, tally.known) == (1, 0)
    rows = desk.store.db.execute("SELECT path FROM cursor").fetchall()
    assert rows == [(str(moved),)]


def test_a_copy_of_a_file_tells_nothing_new(desk: Desk) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    desk.take_all()
    (desk.records / "backup").mkdir()
    (desk.records / "backup" / "a.jsonl").write_bytes(path.read_bytes())

    assert desk.take_all().events == 0


def test_the_files_of_one_session_are_merged_in_the_order_of_happening(desk: Desk) -> None:
    written(desk.records / "a.jsonl", opening("a", 1), act(2, "main1"), act(6, "main2"), mtime=60)
    written(desk.records / "a.helper.jsonl", act(3, "sub1"), act(4, "sub2"), act(7, "sub3"), mtime=70)

    desk.take_all()

    assert desk.keys("a") == ["a:open", "main1", "sub1", "sub2", "main2", "sub3"]


def test_long_files_are_merged_in_order_with_only_a_chunk_of_each_in_memory(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LEAST", 300)
    monkeypatch.setattr(engine, "CHUNK", 300)
    monkeypatch.setattr(engine, "WAVE", 1200)
    monkeypatch.setattr(engine, "BATCH", 7)
    main = [act(at, f"{at:03}") for at in range(2, 200) if at % 3]
    helper = [act(at, f"{at:03}") for at in range(3, 200) if not at % 3]
    written(desk.records / "a.jsonl", opening("a", 1), *main)
    written(desk.records / "a.helper.jsonl", *helper)

    tally = desk.take_all()

    assert desk.keys("a") == ["a:open", *(f"{at:03}" for at in range(2, 200))]
    assert tally.events == 199
    assert tally.bytes == sum(path.stat().st_size for path in desk.records.iterdir())


def test_a_sources_own_order_holds_even_when_its_clock_goes_back(desk: Desk) -> None:
    written(desk.records / "a.jsonl", opening("a", 5), act(9, "late"), act(3, "early"))

    desk.take_all()

    assert desk.keys("a") == ["a:open", "late", "early"]


def test_a_parent_is_read_before_its_fork_though_the_fork_is_newer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "WAVE", 1)
    monkeypatch.setattr(engine, "LEAST", 50)
    written(desk.records / "old.jsonl", opening("old", 1), act(2, "o1"), act(9, "o2"), mtime=10)
    written(desk.records / "fork.jsonl", opening("fork", 5, parent="old"), act(6, "f1"), mtime=90)

    desk.take_all()

    parent, fork = desk.store.sessions.by_key("old", NAME), desk.store.sessions.by_key("fork", NAME)
    assert parent is not None
    assert fork is not None
    assert (fork.parent, fork.parent_seq) == (parent.id, 2)


def test_nothing_is_told_twice_or_lost_when_it_is_killed_between_two_transactions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BATCH", 2)
    written(desk.records / "a.jsonl", opening("a", 1), *(act(at, str(at)) for at in range(2, 12)))
    record, calls = desk.recorder.record, []

    def dies(*given: object, **more: object) -> object:
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return record(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(desk.recorder, "record", dies)
    with pytest.raises(KeyboardInterrupt):
        desk.take_all()
    monkeypatch.setattr(desk.recorder, "record", record)
    tally = desk.take_all()

    assert (tally.events, tally.known) == (5, 6)
    assert desk.keys("a") == ["a:open", *(str(at) for at in range(2, 12))]


def test_what_hooks_told_takes_its_place_among_what_the_files_tell(desk: Desk) -> None:
    written(desk.records / "a.jsonl", opening("a", 1), act(3, "call"), line("message", 5, "m", text="Done."))
    call = {"tool": "Bash", "call_id": "call"}
    hooks = [
        Draft("a", "action.start", call, NAME, 2, source="hook", key="call:start"),
        Draft("a", "action", call, NAME, 3, source="hook", key="call"),
        Draft("a", "session.close", {}, NAME, 6, source="hook", key="end"),
    ]  # fmt: skip
    intake = desk.intake()

    intake.take(intake.unread(intake.find()), hooks)

    assert desk.keys("a") == ["a:open", "call:start", "call", "m", "end"]


def test_a_file_that_cannot_be_read_is_told_and_keeps_no_other_out(desk: Desk) -> None:
    written(desk.records / "a.jsonl", "this is no record\n")
    written(desk.records / "b.jsonl", opening("b", 1))

    tally = desk.take_all()

    assert list(tally.troubles) == [str(desk.records / "a.jsonl")]
    assert "JSONDecodeError" in tally.troubles[str(desk.records / "a.jsonl")]
    assert desk.keys("b") == ["b:open"]


def test_a_draft_that_is_refused_is_counted_with_its_reason(desk: Desk) -> None:
    written(desk.records / "a.jsonl", opening("a", 1), line("prompt", 2, "p"), act(3, "a1"))

    tally = desk.take_all()

    assert dict(tally.refused) == {"prompt: text is missing": 1}
    assert desk.keys("a") == ["a:open", "a1"]


def test_a_reader_that_does_not_get_on_is_told_and_does_not_hang(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1))
    stuck = Chunk((), Cursor(), more=True)
    monkeypatch.setattr(PlainAgent, "read", lambda *given, **more: stuck)

    assert desk.take_all().troubles == {str(path): "its reader does not get on"}


def test_a_file_that_is_cleared_away_while_it_is_read_is_no_trouble(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1))
    read = PlainAgent.read

    def read_and_clear(*given: object, **more: object) -> Chunk:
        told = read(*given, **more)  # type: ignore[arg-type]
        path.unlink()
        return told

    monkeypatch.setattr(PlainAgent, "read", read_and_clear)

    assert (desk.take_all().events, desk.take_all().events) == (1, 0)


def test_what_happened_while_recording_was_paused_is_left_out(desk: Desk) -> None:
    desk.pauses = [(20, 30)]
    written(
        desk.records / "a.jsonl",
        opening("a", 10),
        act(15, "before"),
        act(20, "secret"),
        act(29, "secret2"),
        act(30, "after"),
    )

    desk.take_all()

    assert desk.keys("a") == ["a:open", "before", "after"]


def test_a_session_opened_in_a_pause_is_known_only_once_it_goes_on_after_it(desk: Desk) -> None:
    desk.pauses = [(20, 30)]
    path = written(
        desk.records / "a.jsonl", opening("a", 21, workspace="/w", title="Secret"), act(22, "secret")
    )
    desk.take_all()
    assert desk.store.sessions.listing() == []

    written(path, act(40, "after"))
    desk.take_all()

    row = desk.store.sessions.by_key("a", NAME)
    assert row is not None
    assert (row.workspace, row.title) == ("/w", None)
    assert desk.keys("a") == ["a:open", "after"]


def test_a_hundred_small_files_share_transactions(desk: Desk) -> None:
    for number in range(100):
        written(desk.records / f"s{number}.jsonl", opening(f"s{number}", number + 1))
    intake = desk.intake()

    waves = list(intake.backlog(intake.unread(intake.find())))

    assert len(waves) == 1
    assert waves[0].files == 100


def test_a_file_nobody_may_read_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1))

    def closed(*given: object, **more: object) -> Chunk:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(PlainAgent, "read", closed)

    assert "Permission denied" in desk.take_all().troubles[str(path)]
    assert os.path.exists(path)


def test_a_session_told_by_hooks_before_fazm_listed_it_becomes_fazms(desk: Desk) -> None:
    early = Draft("a", "prompt", {"text": "Tidy up."}, "claude-code", 1, source="hook", key="p")
    desk.recorder.record([early])
    desk.agent.name = "fazm"
    written(desk.records / "a.jsonl", opening("a", 2), act(3, "a1"))

    desk.take_all()

    [row] = desk.store.sessions.listing()
    assert (row.agent, row.agent_session_id, row.actions, row.turn) == ("fazm", "a", 1, 1)


def test_a_known_path_is_looked_at_again_and_an_unknown_one_looked_for_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(desk.records / "a.jsonl", opening("a", 1))
    intake, stray = desk.intake(), desk.records / "stray.txt"
    searches: list[object] = []
    find = PlainAgent.find
    monkeypatch.setattr(PlainAgent, "find", lambda agent, places: searches.append(1) or find(agent, places))

    assert [record.path for record in intake.look([path, stray])] == [path]
    written(path, act(2, "a1"))
    [record] = intake.look([path, stray])

    assert record.size == path.stat().st_size
    assert len(searches) == 1
    path.unlink()
    assert intake.look([path]) == []


def test_a_folder_closed_to_us_hides_only_what_is_in_it_and_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(desk.records / "a.jsonl", opening("a", 1))
    written(desk.records / "b.jsonl", opening("b", 1))
    find = PlainAgent.find

    def half(agent: PlainAgent, places: Places) -> Iterator[RecordFile]:
        yield next(find(agent, places))
        raise PermissionError(13, "Permission denied", "/closed")

    monkeypatch.setattr(PlainAgent, "find", half)

    tally = desk.take_all()

    assert (tally.events, tally.troubles) == (1, {"/closed": "Permission denied"})
