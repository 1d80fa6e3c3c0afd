"""Records are taken in once, in the order of happening, whatever becomes of their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fazm_memory.agents.base import Chunk, Cursor, Places, RecordFile
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.events.event import Draft
from fazm_memory.ingest import importer as engine
from fazm_memory.ingest.importer import Importer, ImportStatistics, TimeRange
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.store.store import Store
from tests.ingest.plain_agent import NAME, PlainAgent, act, line, opening, written


class ImporterEnv:
    """A store and a folder of records; `intake` is made anew each time, as after a restart."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder / "user")
        self.records = folder / "user" / "records"
        self.store = Store(folder / "home", key="file")
        self.recorder = Recorder(self.store, default_redactor(), lambda: 1_000_000)
        self.agent = PlainAgent()
        self.pauses: list[TimeRange] = []

    def intake(self) -> Importer:
        return Importer(self.recorder, [self.agent], self.places, pauses=lambda: self.pauses)

    def take_all(self) -> ImportStatistics:
        intake, statistics = self.intake(), ImportStatistics()
        for one in intake.backlog(intake.unread(intake.find())):
            statistics.add(one)
        return statistics

    def recorded(self, session: str) -> list[tuple[str, str | None]]:
        row = self.store.sessions.by_key(session, NAME)
        assert row is not None, session
        keys = "SELECT kind, key FROM event WHERE id >= ? AND id < ? ORDER BY id"
        return list(self.store.db.execute(keys, (row.n << 32, (row.n + 1) << 32)).fetchall())

    def keys(self, session: str) -> list[str | None]:
        return [key for _, key in self.recorded(session)]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[ImporterEnv]:
    made = ImporterEnv(tmp_path)
    yield made
    made.store.close()


def test_all_that_is_found_is_recorded_and_doing_it_again_adds_nothing(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"), act(3, "a2"))
    written(env.records / "b.jsonl", opening("b", 1), act(2, "b1"))

    first, second = env.take_all(), env.take_all()

    assert (first.files, first.events, first.known) == (2, 5, 0)
    assert first.bytes == sum(path.stat().st_size for path in env.records.iterdir())
    assert (second.files, second.events, second.bytes) == (0, 0, 0)
    assert env.keys("a") == ["a:open", "a1", "a2"]


def test_the_newest_session_comes_first(env: ImporterEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WAVE_BYTES", 1)
    for number, name in enumerate(("old", "new", "middle")):
        written(env.records / f"{name}.jsonl", opening(name, 1), mtime=[10.0, 30.0, 20.0][number])

    env.take_all()

    assert [name for name, offset in env.agent.reads if offset == 0] == [
        "new.jsonl",
        "middle.jsonl",
        "old.jsonl",
    ]


def test_the_last_day_of_every_folder_comes_before_older_sessions(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "WAVE_BYTES", 1)
    day = 86_400.0
    for name, age in {"shop/a": 3.0, "shop/b": 0.1, "garden/c": 40.0, "garden/d": 30.0}.items():
        written(env.records / f"{name}.jsonl", opening(name[-1], 1), mtime=(100 - age) * day)

    env.take_all()

    assert [name for name, offset in env.agent.reads if offset == 0] == [
        "b.jsonl",
        "d.jsonl",
        "a.jsonl",
        "c.jsonl",
    ]


def test_only_what_was_appended_is_read_again(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    env.take_all()
    size = path.stat().st_size
    env.agent.reads.clear()
    written(path, act(3, "a2"))

    statistics = env.take_all()

    assert env.agent.reads == [("a.jsonl", size)]
    assert (statistics.events, statistics.known) == (1, 0)


def test_a_half_written_last_line_waits(env: ImporterEnv) -> None:
    whole, half = act(2, "a1"), act(3, "a2")
    path = written(env.records / "a.jsonl", opening("a", 1), whole, half[:20])
    assert env.take_all().events == 2

    written(path, half[20:])

    assert env.take_all().events == 1
    assert env.keys("a") == ["a:open", "a1", "a2"]


def test_what_a_reader_carries_goes_on_where_it_stopped(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1))
    env.take_all()
    written(path, act(2, "a1"))
    env.take_all()

    [unread] = [one for one in [env.intake().cursors.unread(_bigger(env, path))] if one]
    assert unread.cursor == Cursor(path.stat().st_size, {"lines": 2})


def _bigger(env: ImporterEnv, path: Path) -> RecordFile:
    return RecordFile(NAME, path, "a", path.stat().st_size + 1, path.stat().st_mtime)


def test_a_file_cut_short_is_read_anew_and_tells_nothing_twice(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"), act(3, "a2"))
    env.take_all()
    path.write_text(opening("a", 1) + act(2, "a1"))

    statistics = env.take_all()
    written(path, act(4, "a3"))
    env.take_all()

    assert (statistics.events, statistics.known) == (0, 2)
    assert env.keys("a") == ["a:open", "a1", "a2", "a3"]


def test_a_file_written_anew_with_other_content_is_read_from_its_beginning(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    env.take_all()
    path.write_text(opening("a", 1) + act(2, "other") + act(3, "more"))

    env.take_all()

    assert env.keys("a") == ["a:open", "a1", "other", "more"]


def test_a_file_that_moves_is_read_on_from_where_it_was(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    env.take_all()
    size = path.stat().st_size
    env.agent.reads.clear()
    moved = env.records / "archive" / "a.jsonl"
    moved.parent.mkdir()
    written(path.rename(moved), act(3, "a2"))

    statistics = env.take_all()

    assert env.agent.reads == [("a.jsonl", size)]
    assert (statistics.events, statistics.known) == (1, 0)
    rows = env.store.db.execute("SELECT path FROM cursor").fetchall()
    assert rows == [(str(moved),)]


def test_a_copy_of_a_file_tells_nothing_new(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    env.take_all()
    (env.records / "backup").mkdir()
    (env.records / "backup" / "a.jsonl").write_bytes(path.read_bytes())

    assert env.take_all().events == 0


def test_the_files_of_one_session_are_merged_in_the_order_of_happening(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), act(2, "main1"), act(6, "main2"), mtime=60)
    written(env.records / "a.helper.jsonl", act(3, "sub1"), act(4, "sub2"), act(7, "sub3"), mtime=70)

    env.take_all()

    assert env.keys("a") == ["a:open", "main1", "sub1", "sub2", "main2", "sub3"]


def test_long_files_are_merged_in_order_with_only_a_chunk_of_each_in_memory(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LEAST", 300)
    monkeypatch.setattr(engine, "CHUNK", 300)
    monkeypatch.setattr(engine, "WAVE_BYTES", 1200)
    monkeypatch.setattr(engine, "BATCH", 7)
    main = [act(at, f"{at:03}") for at in range(2, 200) if at % 3]
    helper = [act(at, f"{at:03}") for at in range(3, 200) if not at % 3]
    written(env.records / "a.jsonl", opening("a", 1), *main)
    written(env.records / "a.helper.jsonl", *helper)

    statistics = env.take_all()

    assert env.keys("a") == ["a:open", *(f"{at:03}" for at in range(2, 200))]
    assert statistics.events == 199
    assert statistics.bytes == sum(path.stat().st_size for path in env.records.iterdir())


def test_a_sources_own_order_holds_even_when_its_clock_goes_back(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 5), act(9, "late"), act(3, "early"))

    env.take_all()

    assert env.keys("a") == ["a:open", "late", "early"]


def test_a_parent_is_read_before_its_fork_though_the_fork_is_newer(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "WAVE_BYTES", 1)
    monkeypatch.setattr(engine, "LEAST", 50)
    written(env.records / "old.jsonl", opening("old", 1), act(2, "o1"), act(9, "o2"), mtime=10)
    written(env.records / "fork.jsonl", opening("fork", 5, parent="old"), act(6, "f1"), mtime=90)

    env.take_all()

    parent, fork = env.store.sessions.by_key("old", NAME), env.store.sessions.by_key("fork", NAME)
    assert parent is not None
    assert fork is not None
    assert (fork.parent, fork.parent_seq) == (parent.id, 2)


def test_nothing_is_reported_twice_or_lost_when_it_is_killed_between_two_transactions(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BATCH", 2)
    written(env.records / "a.jsonl", opening("a", 1), *(act(at, str(at)) for at in range(2, 12)))
    record, calls = env.recorder.record, []

    def dies(*given: object, **more: object) -> object:
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return record(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(env.recorder, "record", dies)
    with pytest.raises(KeyboardInterrupt):
        env.take_all()
    monkeypatch.setattr(env.recorder, "record", record)
    statistics = env.take_all()

    assert (statistics.events, statistics.known) == (5, 6)
    assert env.keys("a") == ["a:open", *(str(at) for at in range(2, 12))]


def test_what_hooks_reported_takes_its_place_among_what_the_files_tell(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), act(3, "call"), line("message", 5, "m", text="Done."))
    call = {"tool": "Bash", "call_id": "call"}
    hooks = [
        Draft("a", "action.start", call, NAME, 2, source="hook", key="call:start"),
        Draft("a", "action", call, NAME, 3, source="hook", key="call"),
        Draft("a", "session.close", {}, NAME, 6, source="hook", key="end"),
    ]  # fmt: skip
    intake = env.intake()

    intake.take(intake.unread(intake.find()), hooks)

    assert env.keys("a") == ["a:open", "call:start", "call", "m", "end"]


def test_a_file_that_cannot_be_read_is_reported_and_keeps_no_other_out(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", "this is no record\n")
    written(env.records / "b.jsonl", opening("b", 1))

    statistics = env.take_all()

    assert list(statistics.troubles) == [str(env.records / "a.jsonl")]
    assert "JSONDecodeError" in statistics.troubles[str(env.records / "a.jsonl")]
    assert env.keys("b") == ["b:open"]


def test_a_draft_that_is_refused_is_counted_with_its_reason(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), line("prompt", 2, "p"), act(3, "a1"))

    statistics = env.take_all()

    assert dict(statistics.refused) == {"prompt: text is missing": 1}
    assert env.keys("a") == ["a:open", "a1"]


def test_a_reader_that_does_not_get_on_is_reported_and_does_not_hang(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1))
    stuck = Chunk((), Cursor(), more=True)
    monkeypatch.setattr(PlainAgent, "read", lambda *given, **more: stuck)

    assert env.take_all().troubles == {str(path): "Its reader makes no progress."}


def test_a_file_that_is_cleared_away_while_it_is_read_is_no_trouble(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1))
    read = PlainAgent.read

    def read_and_clear(*given: object, **more: object) -> Chunk:
        result = read(*given, **more)  # type: ignore[arg-type]
        path.unlink()
        return result

    monkeypatch.setattr(PlainAgent, "read", read_and_clear)

    assert (env.take_all().events, env.take_all().events) == (1, 0)


def test_what_happened_while_recording_was_paused_is_left_out(env: ImporterEnv) -> None:
    env.pauses = [(20, 30)]
    written(
        env.records / "a.jsonl",
        opening("a", 10),
        act(15, "before"),
        act(20, "secret"),
        act(29, "secret2"),
        act(30, "after"),
    )

    env.take_all()

    assert env.keys("a") == ["a:open", "before", "after"]


def test_a_session_opened_in_a_pause_is_known_only_once_it_goes_on_after_it(env: ImporterEnv) -> None:
    env.pauses = [(20, 30)]
    path = written(
        env.records / "a.jsonl", opening("a", 21, workspace="/w", title="Secret"), act(22, "secret")
    )
    env.take_all()
    assert env.store.sessions.listing() == []

    written(path, act(40, "after"))
    env.take_all()

    row = env.store.sessions.by_key("a", NAME)
    assert row is not None
    assert (row.workspace, row.title) == ("/w", None)
    assert env.keys("a") == ["a:open", "after"]


def test_a_hundred_small_files_share_transactions(env: ImporterEnv) -> None:
    for number in range(100):
        written(env.records / f"s{number}.jsonl", opening(f"s{number}", number + 1))
    intake = env.intake()

    waves = list(intake.backlog(intake.unread(intake.find())))

    assert len(waves) == 1
    assert waves[0].files == 100


def test_a_file_nobody_may_read_is_reported(env: ImporterEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1))

    def closed(*given: object, **more: object) -> Chunk:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(PlainAgent, "read", closed)

    assert "Permission denied" in env.take_all().troubles[str(path)]
    assert os.path.exists(path)


def test_a_session_reported_by_hooks_before_fazm_listed_it_becomes_fazms(env: ImporterEnv) -> None:
    early = Draft("a", "prompt", {"text": "Tidy up."}, "claude-code", 1, source="hook", key="p")
    env.recorder.record([early])
    env.agent.name = "fazm"
    written(env.records / "a.jsonl", opening("a", 2), act(3, "a1"))

    env.take_all()

    [row] = env.store.sessions.listing()
    assert (row.agent, row.agent_session_id, row.actions, row.turn) == ("fazm", "a", 1, 1)


def test_a_known_path_is_looked_at_again_and_an_unknown_one_looked_for_once(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1))
    intake, stray = env.intake(), env.records / "stray.txt"
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


def test_a_folder_closed_to_us_hides_only_what_is_in_it_and_is_reported(
    env: ImporterEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(env.records / "a.jsonl", opening("a", 1))
    written(env.records / "b.jsonl", opening("b", 1))
    find = PlainAgent.find

    def half(agent: PlainAgent, places: Places) -> Iterator[RecordFile]:
        yield next(find(agent, places))
        raise PermissionError(13, "Permission denied", "/closed")

    monkeypatch.setattr(PlainAgent, "find", half)

    statistics = env.take_all()

    assert (statistics.events, statistics.troubles) == (1, {"/closed": "Permission denied"})


def test_a_last_line_without_its_end_is_read_when_the_file_is_quiet(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"), act(3, "a2").rstrip("\n"))
    os.utime(path, (1000, 1000))
    for now, events in ((1001, 2), (1100, 0), (2000, 1), (3000, 0)):
        env.recorder.now = lambda now=now: now * 1_000_000
        assert env.take_all().events == events, now
    assert env.keys("a") == ["a:open", "a1", "a2"]
    assert env.agent.reads == [("a.jsonl", 0), ("a.jsonl", len(opening("a", 1) + act(2, "a1")))]


def test_half_a_line_is_not_read_however_quiet_the_file_is(env: ImporterEnv) -> None:
    path = written(env.records / "a.jsonl", opening("a", 1), act(2, "a1")[:-4])
    os.utime(path, (1000, 1000))
    env.recorder.now = lambda: 9_000_000_000
    assert (env.take_all().events, env.take_all().events) == (1, 0)
    written(path, act(2, "a1")[-4:])
    assert env.take_all().events == 1


def test_a_newer_reader_reads_again_once_and_doubles_nothing(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    env.take_all()
    env.agent.version = 2
    again, once_more = env.take_all(), env.take_all()
    assert (again.files, again.events, again.known) == (1, 0, 2)
    assert (once_more.files, once_more.known) == (0, 0)
    written(env.records / "a.jsonl", act(3, "a2"))
    assert env.take_all().events == 1


def test_a_newer_reader_brings_nothing_back_that_was_forgotten(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"))
    env.take_all()
    env.recorder.record([Draft("a", "forgotten", {"count": 1, "reason": "asked"}, agent=NAME)])
    env.agent.version = 2
    assert (env.take_all().known, env.agent.reads[-1][1]) == (0, (env.records / "a.jsonl").stat().st_size)


def test_a_session_that_another_one_speaks_of_is_read_before_it(env: ImporterEnv) -> None:
    written(env.records / "a.jsonl", opening("a", 1), act(2, "a1"), mtime=10)
    speaks = opening("b", 4) + line("session.close", 5, "a:end", session="a")
    written(env.records / "b.jsonl", speaks, mtime=20)

    def read(record: RecordFile, cursor: Cursor, *, limit: int = 0) -> Chunk:
        chunk = PlainAgent.read(env.agent, record, cursor, limit=limit or 1 << 20)
        return replace(chunk, drafts=tuple(map(addressed, chunk.drafts)))

    env.agent.read = read  # type: ignore[method-assign]
    env.take_all()
    assert env.keys("a") == ["a:open", "a1", "a:end"]


def addressed(draft: Draft) -> Draft:
    """The draft in the session that its payload names."""
    payload = dict(draft.payload)
    return replace(draft, session=payload.pop("session", draft.session), payload=payload)
