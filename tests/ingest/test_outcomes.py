"""How a told call ended is read from what was said of it."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.ingest.prepare import with_outcome


@pytest.mark.parametrize(
    ("error", "outcome", "words"),
    [
        ("timed out after 30 s", "timeout", "timed out after 30 s"),
        ({"type": "timeout", "message": "after 3 s"}, "timeout", "timeout: after 3 s"),
        ({"code": 500, "message": "went wrong"}, "error", "500: went wrong"),
        ({"status": "bad"}, "error", '{"status": "bad"}'),
        ("exit 1", "error", "exit 1"),
        ("", None, None),
        (False, None, None),
        (None, None, None),
    ],
)
def test_the_outcome_is_read_from_the_error(error: Any, outcome: str | None, words: str | None) -> None:
    result = with_outcome({"tool": "t", "error": error})
    assert (result.get("outcome"), result["error"]) == (outcome, words)


def test_an_outcome_that_is_reported_stands() -> None:
    assert with_outcome({"tool": "t", "outcome": "denied", "error": ""})["outcome"] == "denied"


def test_a_summary_of_data_is_json() -> None:
    assert with_outcome({"tool": "t", "output": {"a": [1, None]}})["output_summary"] == '{"a": [1, null]}'
