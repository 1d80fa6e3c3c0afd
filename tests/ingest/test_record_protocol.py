"""Lines come in batches, as they come, within a cap."""

from __future__ import annotations

import json
import os

import pytest

from fazm_memory.errors import InvalidInput
from fazm_memory.events.event import Draft
from fazm_memory.ingest.record_protocol import BATCH, LineReader, line_to_draft


def batches(data: bytes, cap: int = 100) -> list[list[bytes | None]]:
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    try:
        return list(LineReader(read, cap).batches())
    finally:
        os.close(read)


def test_lines_that_have_come_are_one_batch() -> None:
    assert batches(b"a\nb\nc\n") == [[b"a", b"b", b"c"]]


def test_a_last_line_without_its_end_is_a_line() -> None:
    assert batches(b"a\nb") == [[b"a", b"b"]]


def test_a_line_over_the_cap_is_none_and_the_next_is_whole() -> None:
    assert batches(b"x" * 101 + b"\nb\n") == [[None, b"b"]]
    assert batches(b"x" * 101) == [[None]]
    assert batches(b"x" * 100 + b"\n") == [[b"x" * 100]]


def test_no_batch_is_larger_than_the_limit() -> None:
    made = batches(b"\n".join(b"%d" % n for n in range(BATCH * 2 + 5)))
    assert [len(batch) for batch in made] == [BATCH, BATCH, 5]


def test_nothing_is_no_batch() -> None:
    assert batches(b"") == []


def test_the_reader_waits_for_a_line_but_not_for_a_second() -> None:
    read, write = os.pipe()
    lines = LineReader(read, 100).batches()
    os.write(write, b"first\n")
    assert next(lines) == [b"first"]
    os.write(write, b"second\n")
    assert next(lines) == [b"second"]
    os.close(write)
    assert list(lines) == []
    os.close(read)


def test_a_file_may_be_reported_by_its_path_alone() -> None:
    draft = line_to_draft(
        b'{"type":"action","session":"s","tool":"t","files":["a",{"path":"b","change":"read"}]}'
    )
    assert draft.payload["files"] == [{"path": "a", "change": "modified"}, {"path": "b", "change": "read"}]


def test_the_key_of_a_fact_is_its_own() -> None:
    assert line_to_draft(b'{"type":"fact","session":"s","key":"k","value":1}').payload == {
        "key": "k",
        "value": 1,
    }


def draft_of(**fields: object) -> Draft:
    return line_to_draft(json.dumps({"session": "s", **fields}).encode())


@pytest.mark.parametrize("word", ["user", "human", "person"])
def test_a_person_may_be_called_otherwise(word: str) -> None:
    assert draft_of(type="prompt", text="x", actor=word).actor == "person"


def test_untrusted_is_as_little_as_can_be_claimed() -> None:
    assert draft_of(type="action", tool="t", trust="untrusted").trust == "unverified"


@pytest.mark.parametrize("source", ["cli", "files", "hook", "transcript", "mcp", " web "])
def test_a_source_that_names_a_door_of_ours_stays_a_claim(source: str) -> None:
    draft = draft_of(type="action", tool="t", source=source)
    assert (draft.source, draft.door) == (f"record:{source.strip()}", "record")
    assert draft_of(type="action", tool="t", source="record").source == "record"


def test_a_source_may_be_any_name_and_one_on_the_web_is_believed_no_further() -> None:
    assert draft_of(type="action", tool="t", source="inbox").source == "inbox"
    page = draft_of(type="action", tool="t", source="https://example.com/page", trust="user")
    assert (page.source, page.trust) == ("https://example.com/page", "web")
    assert (
        draft_of(type="action", tool="t", source="https://example.com", trust="unverified").trust
        == "unverified"
    )


def test_an_id_may_be_a_number() -> None:
    assert draft_of(type="pending", id=7, what="x").payload["id"] == "7"
    assert draft_of(type="action", tool="t", call_id=12).payload["call_id"] == "12"


def test_a_file_that_somebody_says_to_have_changed_is_by_that_hand() -> None:
    line = {"type": "file", "path": "/w/a", "change": "modified"}
    assert draft_of(**line, actor="agent").payload["by"] == "agent"
    assert draft_of(**line, actor="user").payload["by"] == "person"
    assert "by" not in draft_of(**line).payload


def test_a_budget_may_be_called_so() -> None:
    assert draft_of(type="session.open", agent="a", budget=1000).payload["budget_tokens"] == 1000
    assert draft_of(type="session.open", agent="a", budget={"tokens": 7}).payload["budget_tokens"] == 7


def test_a_number_too_long_to_be_read_is_reported_in_plain_words() -> None:
    line = b'{"type":"fact","session":"s","key":"k","value":' + b"9" * 6000 + b"}"
    with pytest.raises(InvalidInput, match="a number has more than 4,300 digits"):
        line_to_draft(line)


def test_steps_may_be_plain_texts() -> None:
    draft = line_to_draft(
        b'{"type":"todos","session":"s","items":["read",{"text":"write","status":"completed"}]}'
    )
    assert draft.payload["items"] == [{"text": "read"}, {"text": "write", "status": "completed"}]


def test_a_plan_without_a_title_is_titled_by_its_heading() -> None:
    draft = line_to_draft(b'{"type":"plan","session":"s","text":"# Plan: Rename\\n1. read"}')
    assert draft.payload["title"] == "Rename"
