"""What is unanswered is known in both directions, and what can never be answered is not waited for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fazm_memory.mcp_server.stdio import InFlightRequests


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def test_all_is_settled_when_every_request_has_its_answer() -> None:
    requests = InFlightRequests()
    requests.received(line(id=1, method="tools/call"))
    requests.received(line(id="1", method="ping"))
    requests.received(line(method="notifications/initialized"))
    requests.sent(line(id=1, result={}).decode())
    assert not requests.wait_for_answers(0)
    requests.sent(line(id="1", error={}).decode())
    assert requests.wait_for_answers(0)


def test_nobody_waits_for_a_call_that_was_taken_back() -> None:
    requests = InFlightRequests()
    requests.received(line(id=1, method="tools/call"))
    requests.received(line(method="notifications/cancelled", params={"requestId": 1}))
    assert requests.wait_for_answers(0)


def test_nobody_waits_for_a_stream_to_end() -> None:
    requests = InFlightRequests()
    requests.received(line(id="listen-1", method="subscriptions/listen"))
    assert requests.wait_for_answers(0)


def test_nobody_waits_for_a_call_that_waits_for_the_client() -> None:
    requests = InFlightRequests()
    requests.received(line(id=1, method="tools/call"))
    requests.sent(line(id=1, method="elicitation/create").decode())
    assert requests.wait_for_answers(0)
    requests.received(line(id=1, result={}))  # it has answered after all, so the call goes on
    assert not requests.wait_for_answers(0)


@pytest.mark.parametrize(
    "odd",
    [b"\n", b"[]\n", b"[" * 20_000 + b"\n", b"\xff\n", b'{"id": true, "method": "x"}\n', b'{"method": 1}\n'],
)
def test_lines_that_are_no_requests_pass_as_they_are(odd: bytes) -> None:
    requests = InFlightRequests()
    assert requests.received(odd) == odd
    assert requests.wait_for_answers(0)


def test_text_that_looks_like_half_a_pair_and_is_none_is_not_changed() -> None:
    message = {"id": 1, "method": "x", "params": {"a": "\\\\ud83d", "b": "\U0001f600", "c": 0.1}}
    assert json.loads(InFlightRequests().received(line(**message))) == {"jsonrpc": "2.0", **message}
