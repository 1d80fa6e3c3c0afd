"""What is unanswered is known in both directions, and what can never be answered is not waited for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fazm_memory.mcp_server.traffic import Traffic


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def test_all_is_settled_when_every_request_has_its_answer() -> None:
    traffic = Traffic()
    traffic.taken(line(id=1, method="tools/call"))
    traffic.taken(line(id="1", method="ping"))
    traffic.taken(line(method="notifications/initialized"))
    traffic.said(line(id=1, result={}).decode())
    assert not traffic.settle(0)
    traffic.said(line(id="1", error={}).decode())
    assert traffic.settle(0)


def test_nobody_waits_for_a_call_that_was_taken_back() -> None:
    traffic = Traffic()
    traffic.taken(line(id=1, method="tools/call"))
    traffic.taken(line(method="notifications/cancelled", params={"requestId": 1}))
    assert traffic.settle(0)


def test_nobody_waits_for_a_stream_to_end() -> None:
    traffic = Traffic()
    traffic.taken(line(id="listen-1", method="subscriptions/listen"))
    assert traffic.settle(0)


def test_nobody_waits_for_a_call_that_waits_for_the_client() -> None:
    traffic = Traffic()
    traffic.taken(line(id=1, method="tools/call"))
    traffic.said(line(id=1, method="elicitation/create").decode())
    assert traffic.settle(0)
    traffic.taken(line(id=1, result={}))  # it has answered after all, so the call goes on
    assert not traffic.settle(0)


@pytest.mark.parametrize(
    "odd",
    [b"\n", b"[]\n", b"[" * 20_000 + b"\n", b"\xff\n", b'{"id": true, "method": "x"}\n', b'{"method": 1}\n'],
)
def test_lines_that_are_no_requests_pass_as_they_are(odd: bytes) -> None:
    traffic = Traffic()
    assert traffic.taken(odd) == odd
    assert traffic.settle(0)


def test_text_that_looks_like_half_a_pair_and_is_none_is_not_changed() -> None:
    message = {"id": 1, "method": "x", "params": {"a": "\\\\ud83d", "b": "\U0001f600", "c": 0.1}}
    assert json.loads(Traffic().taken(line(**message))) == {"jsonrpc": "2.0", **message}
