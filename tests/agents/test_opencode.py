"""opencode's database: parts are told when complete, forks without their copies, and nothing is touched."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Cursor, Places, RecordFile
from fazm_memory.agents.opencode import MOST_OPEN, Opencode
from fazm_memory.events.event import Draft
from tests.agents.reading import FIXTURES, kinds, of_kind, read_on

DUMP = (FIXTURES / "opencode-1.18.33" / "sessions.sql").read_text()
SCHEMA = DUMP[: DUMP.index("INSERT INTO")]
NOW = 1_794_800_000_000


class Book:
    """A database as opencode keeps it, to be written to in a test."""

    def __init__(self, home: Path, script: str = SCHEMA) -> None:
        self.path = home / ".local" / "share" / "opencode" / "opencode.db"
        self.path.parent.mkdir(parents=True)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(f"BEGIN; {script} COMMIT;")

    def session(self, name: str, made: int = NOW, parent: str | None = None, title: str = "Sorting") -> None:
        columns = "id, project_id, parent_id, slug, directory, title, version, time_created, time_updated"
        row = (name, "global", parent, "slug", "/Users/dana/proj", title, "1.18.33", made, made)
        self.connection.execute(f"INSERT INTO session ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def message(self, name: str, session: str, role: str, made: int = NOW + 1, **more: Any) -> None:
        data = json.dumps({"role": role, "time": {"created": made}, **more})
        self.connection.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, session, made, made, data)
        )

    def part(self, name: str, message: str, data: Any, session: str = "s1") -> None:
        result = data if isinstance(data, (str, bytes)) else json.dumps(data)
        row = (name, message, session, NOW + 2, NOW + 2, result)
        self.connection.execute(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
            row,
        )

    def record(self) -> RecordFile:
        home = self.path.parents[3]
        return next(iter(Opencode().find(Places(home))))


@pytest.fixture
def book(tmp_path: Path) -> Book:
    book = Book(tmp_path)
    book.session("s1")
    book.message("m1", "s1", "user")
    book.message("m2", "s1", "assistant", modelID="mock-1", path={"cwd": "/Users/dana/proj"})
    return book


@pytest.fixture
def full(tmp_path: Path) -> list[Draft]:
    return read_on(Opencode(), Book(tmp_path, DUMP).record())[0]


def of_session(drafts: list[Draft], prompt: str) -> list[Draft]:
    """The drafts of the session that began with a prompt."""
    name = next(draft.session for draft in drafts if draft.payload.get("text") == prompt)
    return [draft for draft in drafts if draft.session == name]


def text(reply: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": reply, **more}


def tool(status: str, name: str = "bash", given: Any = None, **more: Any) -> dict[str, Any]:
    state = {"status": status, "input": given or {"command": "make"}, **more}
    return {"type": "tool", "tool": name, "callID": "c1", "state": state}


DONE = {"start": NOW + 10, "end": NOW + 35}


def test_a_run_is_reported_in_order_without_thoughts(full: list[Draft]) -> None:
    run = of_session(full, "Sort the folder.")
    assert [kind for kind in kinds(run) if kind not in ("usage", "seen")] == [
        "session.open", "prompt", "message", *["action"] * 12, "message",
    ]  # fmt: skip


def test_the_opening_names_workspace_title_and_model(full: list[Draft]) -> None:
    run = of_session(full, "Sort the folder.")
    assert of_kind(run, "session.open")[0] == {
        "agent": "opencode",
        "agent_session_id": run[0].session,
        "title": "side answer",
        "workspace": "/Users/dana/proj",
        "model": "mock-1",
    }


def test_outcomes_errors_and_durations(full: list[Draft]) -> None:
    actions = of_kind(of_session(full, "Sort the folder."), "action")
    assert [(one["tool"], one["outcome"]) for one in actions] == [
        ("bash", "ok"),
        ("read", "ok"),
        ("glob", "ok"),
        ("write", "ok"),
        ("edit", "ok"),
        ("read", "ok"),
        ("bash", "error"),
        ("bash", "timeout"),
        ("read", "error"),
        ("nosuch", "error"),
        ("task", "ok"),
        ("bash", "ok"),
    ]
    errors = [one["error"] for one in actions if one["outcome"] != "ok"]
    assert errors[0] == "exit code 3: oops"
    assert errors[1].startswith("shell tool terminated command after exceeding timeout 500 ms")
    assert errors[2] == "File not found: /no/such"
    assert errors[3].startswith("Model tried to call unavailable tool 'nosuch'")
    assert all(one["duration_ms"] >= 0 for one in actions)


def test_file_tools_say_what_they_did_to_which_file(full: list[Draft]) -> None:
    actions = of_kind(of_session(full, "Sort the folder."), "action")
    path = "/Users/dana/proj/note.txt"
    assert [one["files"] for one in actions[3:6]] == [
        [{"path": path, "change": "created"}],
        [{"path": path, "change": "modified"}],
        [{"path": path, "change": "read"}],
    ]


def test_a_patch_adds_moves_and_deletes_files(full: list[Draft]) -> None:
    patch = of_kind(of_session(full, "Patch it."), "action")[0]
    assert patch["files"] == [
        {"path": "/Users/dana/proj/d/e.txt", "change": "renamed", "from": "/Users/dana/proj/d/c.txt"},
        {"path": "/Users/dana/proj/d/b.txt", "change": "deleted"},
        {"path": "/Users/dana/proj/d/n.txt", "change": "created"},
    ]


def test_listings_tell_what_the_folder_held(full: list[Draft]) -> None:
    seen = of_kind(of_session(full, "Sort the folder."), "seen")
    assert seen[0] == seen[1] == {"folder": "/Users/dana/proj/d", "files": ["a.txt", "b.txt"]}
    assert [sorted(one["files"]) for one in seen[2:]] == [["a.txt", "b.txt"]]


def test_a_subagent_acts_in_the_session_of_its_root(full: list[Draft]) -> None:
    run = of_session(full, "Sort the folder.")
    renamed = of_kind(run, "action")[-1]
    assert renamed["input"]["command"] == "mv d/a.txt d/c.txt"
    assert renamed["agent_id"].startswith("ses_")
    assert renamed["agent_id"] != run[0].session
    assert [(one["path"], one["change"], one.get("from")) for one in renamed["files"]] == [
        ("/Users/dana/proj/d/c.txt", "renamed", "/Users/dana/proj/d/a.txt")
    ]
    assert {"text": "Rename a.txt."} not in of_kind(full, "prompt")
    assert {"text": "sub done"} not in of_kind(full, "message")


def test_a_fork_names_its_parent_and_tells_only_its_own(full: list[Draft]) -> None:
    fork = of_session(full, "Short, please.")
    parent = of_session(full, "Sort the folder.")[0].session
    assert [kind for kind in kinds(fork) if kind != "usage"] == ["session.open", "prompt", "message"]
    assert of_kind(fork, "session.open")[0]["parent"] == parent
    assert of_kind(fork, "session.open")[0]["title"] == "side answer (fork #1)"


def test_a_compaction_is_reported_with_its_trigger_and_summary(full: list[Draft]) -> None:
    run = of_session(full, "Sort it again.")
    assert of_kind(run, "evicted") == [{"keys": [], "summary": "side answer", "trigger": "auto"}]
    assert of_kind(run, "prompt") == [{"text": "Sort it again."}]


def test_a_run_that_was_killed_leaves_its_call_begun(full: list[Draft]) -> None:
    begun = of_kind(of_session(full, "Do something slow."), "action.start")
    assert [one["input"]["command"] for one in begun] == ["sleep 30"]


def test_tokens_are_reported_with_every_step(book: Book) -> None:
    spent = {"input": 10, "output": 3, "reasoning": 2, "cache": {"read": 7, "write": 5}}
    book.part("p1", "m2", {"type": "step-finish", "tokens": spent})
    drafts, _, _ = read_on(Opencode(), book.record())
    assert of_kind(drafts, "usage") == [
        {"input_tokens": 15, "output_tokens": 5, "cached_tokens": 7, "written_tokens": 5, "model": "mock-1"}
    ]


@pytest.mark.parametrize("limit", [1, 700, 5000])
def test_chunks_of_any_size_tell_the_same(tmp_path: Path, limit: int) -> None:
    record = Book(tmp_path, DUMP).record()
    assert read_on(Opencode(), record, limit=limit)[0] == read_on(Opencode(), record)[0]


def test_no_two_drafts_have_one_key(full: list[Draft]) -> None:
    keys = [draft.key for draft in full]
    assert len(keys) == len(set(keys))
    assert None not in keys


def test_a_call_is_reported_as_begun_once_and_then_as_ended(book: Book) -> None:
    book.part("p1", "m2", tool("pending", given={}))
    nothing, cursor, _ = read_on(Opencode(), book.record())
    book.part("p1", "m2", tool("running", time={"start": NOW + 10}))
    begun, cursor, _ = read_on(Opencode(), book.record(), cursor)
    again, cursor, _ = read_on(Opencode(), book.record(), cursor)
    book.part("p1", "m2", tool("completed", output="built\n", metadata={"exit": 0}, time=DONE))
    ended, cursor, _ = read_on(Opencode(), book.record(), cursor)
    assert nothing == again == []
    assert kinds(begun) == ["session.open", "action.start"]
    assert [(draft.kind, draft.key, draft.at, draft.payload["duration_ms"]) for draft in ended] == [
        ("action", "opencode:p1", (NOW + 35) * 1000, 25)
    ]
    assert read_on(Opencode(), book.record(), cursor)[0] == []


def test_words_that_are_still_being_written_wait(book: Book) -> None:
    book.part("p1", "m2", text("Sor", time={"start": NOW}))
    early, cursor, _ = read_on(Opencode(), book.record())
    book.part("p1", "m2", text("Sorted.", time=DONE))
    late, _, _ = read_on(Opencode(), book.record(), cursor)
    assert early == []
    assert of_kind(late, "message") == [{"text": "Sorted."}]


def test_when_the_next_message_begins_a_running_call_was_cut_off(book: Book) -> None:
    book.part("p1", "m2", tool("running", time={"start": NOW + 10}))
    book.part("p2", "m2", text("Half a sen", time={"start": NOW}))
    _, cursor, _ = read_on(Opencode(), book.record())
    book.message("m3", "s1", "assistant", NOW + 50)
    book.part("p3", "m3", {"type": "step-start"})
    drafts, cursor, _ = read_on(Opencode(), book.record(), cursor)
    assert [one["outcome"] for one in of_kind(drafts, "action")] == ["interrupted"]
    assert of_kind(drafts, "message") == [{"text": "Half a sen"}]
    assert "open" not in cursor.carry


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ({"error": "Tool execution aborted", "metadata": {"interrupted": True}}, "interrupted"),
        ({"error": "The user rejected permission to use this specific tool call."}, "denied"),
        ({"error": "The user has specified a rule which prevents you from using it"}, "denied"),
        ({"error": "Request timed out"}, "timeout"),
        ({"error": "ripgrep execution failed"}, "error"),
    ],
)
def test_why_a_call_failed_is_in_its_error(book: Book, state: dict[str, Any], outcome: str) -> None:
    book.part("p1", "m2", tool("error", time=DONE, **state))
    drafts, _, _ = read_on(Opencode(), book.record())
    assert [one["outcome"] for one in of_kind(drafts, "action")] == [outcome]


def test_what_opencode_says_in_the_users_name_is_no_prompt(book: Book) -> None:
    book.part("p1", "m1", text("Sort."))
    book.part("p2", "m1", text("Called the Read tool", synthetic=True))
    book.part("p3", "m1", text("never sent", ignored=True))
    drafts, _, _ = read_on(Opencode(), book.record())
    assert of_kind(drafts, "prompt") == [{"text": "Sort."}]


def test_a_title_given_later_is_reported_when_it_is_given(book: Book) -> None:
    book.connection.execute("UPDATE session SET title = 'New session - 2026-11-16T03:34:37.192Z'")
    book.part("p1", "m1", text("Sort."))
    first, cursor, _ = read_on(Opencode(), book.record())
    book.connection.execute("UPDATE session SET title = 'Sorting the folder'")
    after, cursor, _ = read_on(Opencode(), book.record(), cursor)
    assert "title" not in of_kind(first, "session.open")[0]
    assert [(draft.kind, draft.payload) for draft in after] == [
        ("session.title", {"title": "Sorting the folder"})
    ]
    assert read_on(Opencode(), book.record(), cursor)[0] == []


def test_rows_that_take_the_place_of_removed_ones_are_not_missed(book: Book) -> None:
    book.part("p1", "m1", text("Sort."))
    _, cursor, _ = read_on(Opencode(), book.record())
    book.part("p2", "m1", text("No, do not."))
    _, cursor, _ = read_on(Opencode(), book.record(), cursor)
    book.connection.execute("DELETE FROM part WHERE id = 'p2'")
    book.part("p3", "m1", text("Do it after all."))
    drafts, _, _ = read_on(Opencode(), book.record(), cursor)
    assert of_kind(drafts, "prompt") == [{"text": "Do it after all."}]


def test_what_is_new_to_us_is_kept_and_what_is_no_record_is_counted(book: Book) -> None:
    book.part("p1", "m1", {"type": "hologram", "a": 1})
    book.part("p2", "m1", "not json")
    book.part("p3", "m1", b"\xff\x00")
    book.part("p4", "m1", text("Sort."))
    drafts, _, chunks = read_on(Opencode(), book.record())
    assert of_kind(drafts, "unknown") == [{"type": "hologram", "raw": {"type": "hologram", "a": 1}}]
    assert of_kind(drafts, "prompt") == [{"text": "Sort."}]
    assert (chunks[-1].unknown, chunks[-1].bad) == ({"hologram": 1}, 2)


STRANGE: list[Any] = [
    None, True, -1, 10**30, float("inf"), "", "x" * 5000, "\ud800", "2026-13-45", [], {}, [[]],
    [None, "a", {}], {"status": ["completed"]}, {"type": {}}, {"start": "now", "end": []},
    {"exit": "3", "files": [1]},
]  # fmt: skip


def bent(value: Any, dice: random.Random) -> Any:
    """The same value with one thing in it gone or of another type."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        name = dice.choice(list(value))
        if dice.random() < 0.2:
            return {other: value[other] for other in value if other != name}
        return value | {name: bent(value[name], dice)}
    return dice.choice(STRANGE)


@pytest.mark.parametrize("seed", range(30))
def test_bent_parts_take_nothing_from_the_others(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    book = Book(tmp_path, DUMP)
    whole, _, _ = read_on(Opencode(), book.record())
    hit = dice.sample(book.connection.execute("SELECT id, data FROM part").fetchall(), 12)
    for name, data in hit:
        result = (
            json.dumps(bent(json.loads(data), dice))
            if dice.random() < 0.9
            else data[: dice.randrange(len(data))]
        )
        book.connection.execute("UPDATE part SET data = ? WHERE id = ?", (result, name))
    drafts, _, _ = read_on(Opencode(), book.record(), limit=dice.choice([1, 2000, 1 << 20]))
    hurt = {f"opencode:{name}" for name, _ in hit}
    kept = {draft.key for draft in whole if not str(draft.key).startswith(tuple(hurt))}
    assert kept - {draft.key for draft in drafts} == set()


def test_what_is_carried_is_bounded(book: Book) -> None:
    for number in range(MOST_OPEN + 50):
        book.part(f"p{number}", "m2", tool("running", given={"command": "x" * 10_000}))
    drafts, cursor, _ = read_on(Opencode(), book.record())
    assert len(of_kind(drafts, "action.start")) == MOST_OPEN + 50
    assert len(cursor.carry["open"]) == MOST_OPEN
    assert len(json.dumps(cursor.carry)) < 64 << 10


def test_a_database_at_rest_is_read_without_a_trace(book: Book) -> None:
    book.connection.execute("PRAGMA journal_mode = WAL")
    book.part("p1", "m1", text("Sort."))
    book.connection.close()
    before = sorted(path.name for path in book.path.parent.iterdir())
    drafts, _, _ = read_on(Opencode(), book.record())
    assert kinds(drafts) == ["session.open", "prompt"]
    assert before == sorted(path.name for path in book.path.parent.iterdir()) == ["opencode.db"]


def test_a_database_in_use_is_read_with_what_its_log_holds(book: Book) -> None:
    book.connection.execute("PRAGMA journal_mode = WAL")
    book.part("p1", "m1", text("Sort."))
    assert book.record().size > book.path.stat().st_size
    drafts, _, _ = read_on(Opencode(), book.record())
    assert of_kind(drafts, "prompt") == [{"text": "Sort."}]


def test_a_text_that_is_no_utf_8_does_not_make_the_database_unreadable(book: Book) -> None:
    book.part("p1", "m1", text("Sort."))
    book.part("p2", "m1", text("Then stop."))
    book.connection.execute("UPDATE part SET data=CAST(replace(data, 'Sort', x'ff') AS TEXT)")
    drafts, _, chunks = read_on(Opencode(), book.record())
    assert [chunk.trouble for chunk in chunks] == [""]
    assert "Then stop." in str(of_kind(drafts, "prompt"))


def test_a_file_that_is_no_such_database_is_counted_and_harms_nothing(book: Book) -> None:
    record = book.record()
    book.connection.execute("DROP TABLE part")
    assert Opencode().read(record, Cursor()).bad == 1
    book.connection.close()
    book.path.write_bytes(b"this is not a database at all" * 100)
    chunk = Opencode().read(record, Cursor())
    assert (chunk.drafts, chunk.bad, chunk.more) == ((), 1, False)


def test_a_database_that_is_gone_is_reported_to_be(book: Book) -> None:
    record = book.record()
    book.connection.close()
    book.path.unlink()
    with pytest.raises(FileNotFoundError):
        Opencode().read(record, Cursor())
    assert list(Opencode().find(Places(book.path.parents[3]))) == []


def test_a_busy_database_is_left_for_the_next_look(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fazm_memory.agents.sqlite_file.BUSY_SECONDS", 0.01)
    book.part("p1", "m1", text("Sort."))
    cursor = Cursor(0, {"marks": []})
    book.connection.execute("BEGIN EXCLUSIVE")
    record = book.record()
    # Without a log it is read as one that cannot change; a writer at work has one.
    (book.path.parent / "opencode.db-wal").write_bytes(b"x")
    chunk = Opencode().read(record, cursor)
    assert (chunk.drafts, chunk.cursor, chunk.bad) == ((), cursor, 0)


def test_the_database_is_found_where_the_data_folder_is(tmp_path: Path) -> None:
    book = Book(tmp_path)
    data = book.path.parents[1]
    found = list(Opencode().find(Places(tmp_path / "nobody", {"XDG_DATA_HOME": str(data)})))
    assert [record.path for record in found] == [book.path]


def tool_part(tool: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "callID": f"call-{tool}", "state": {"status": status, **state}}


def test_steps_answers_and_refusals_are_reported(book: Book) -> None:
    book.message("m9", "s1", "assistant")
    todos = [{"content": "read", "status": "completed", "id": "1", "priority": "high"}]
    book.part("p7", "m9", tool_part("todowrite", input={"todos": todos}, output="[]"))
    asked = [{"question": "Which?", "header": "Q", "options": [{"label": "A"}, {"label": "B"}]}]
    book.part("p8", "m9", tool_part("question", input={"questions": asked}, metadata={"answers": [["B"]]}))
    said = "The user rejected permission to use this specific tool call with the following feedback: use mv"
    book.part("p9", "m9", tool_part("bash", "error", input={"command": "rm a"}, error=said))
    drafts = read_on(Opencode(), book.record())[0]
    assert of_kind(drafts, "todos") == [{"items": [{"text": "read", "status": "completed", "id": "1"}]}]
    decisions = [draft for draft in drafts if draft.kind == "decision"]
    assert [(draft.actor, draft.payload["form"], draft.payload["what"]) for draft in decisions] == [
        ("person", "answer", "B"),
        ("person", "refusal", "use mv"),
    ]
    assert decisions[1].payload["about"] == "bash rm a"
