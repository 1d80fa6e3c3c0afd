"""The rows of the event list: time order, housekeeping, folded runs."""

from __future__ import annotations

from typing import Any

from fazm_memory.events import Action, Event
from fazm_memory.events.event import Branch, FileChange, Message, Usage
from fazm_memory.session import OutlineRow, outline_rows

SECOND = 1_000_000


def event(seq: int, payload: Any, kind: str = "action", at: int | None = None, **fields: Any) -> Event:
    values = {"session": "s", "seq": seq, "at": (seq if at is None else at) * SECOND, "turn": 1, "kind": kind,
              "version": 1, "digest": "", "prev": "", "actor": "agent",
              "source": "hook", "trust": "tool", "payload": payload}  # fmt: skip
    return Event(**(values | fields))


def edit(seq: int, path: str = "/p/a.go", **fields: Any) -> Event:
    return event(seq, Action("Edit", {"file_path": path}, **fields))


def said(seq: int, at: int | None = None) -> Event:
    return event(seq, Message("Done."), "message", at)


def positions(rows: list[OutlineRow]) -> list[tuple[int, ...]]:
    return [row.seqs for row in rows]


def test_edits_of_one_file_fold_and_those_of_another_do_not() -> None:
    rows = outline_rows([said(0), *(edit(seq) for seq in range(1, 6)), edit(6, "/p/b.go"), said(7)])
    assert positions(rows) == [(0,), (1, 2, 3, 4, 5), (6,), (7,)]
    assert (rows[1].label, rows[1].detail) == ("5 edits", "in /p/a.go")


def test_a_failed_call_stays_a_row_and_ends_the_run() -> None:
    events = [edit(seq) for seq in range(4)]
    rows = outline_rows([*events, edit(4, outcome="error", error="no such text"), edit(5)])
    assert positions(rows) == [(0, 1, 2, 3), (4,), (5,)]


def test_token_counts_and_changes_on_disk_of_a_call_are_no_rows() -> None:
    by_call = FileChange("/p/a.go", "modified", by="agent", call=1)
    by_person = FileChange("/p/b.go", "modified", by="person")
    rows = outline_rows([
        said(0), edit(1), event(2, Usage(10, 5), "usage"), event(3, by_call, "file", source="files"),
        event(4, by_person, "file", source="files"),
    ])  # fmt: skip
    assert positions(rows) == [(0,), (1,), (4,)]


def test_token_counts_between_calls_do_not_end_a_run() -> None:
    events = [edit(seq) if seq % 2 == 0 else event(seq, Usage(10, 5), "usage") for seq in range(8)]
    assert positions(outline_rows(events)) == [(0, 2, 4, 6)]


def test_rows_are_in_the_order_of_time_and_late_ones_are_marked() -> None:
    rows = outline_rows([said(0, 0), said(1, 50), said(2, 20), said(3, 60)])
    assert positions(rows) == [(0,), (2,), (1,), (3,)]
    assert [row.seqs[0] for row in rows if row.late] == [2]


def test_the_same_branch_again_is_no_row() -> None:
    events = [event(seq, Branch(name), "branch") for seq, name in enumerate(["main", "main", "fix", "main"])]
    assert positions(outline_rows(events)) == [(0,), (2,), (3,)]
