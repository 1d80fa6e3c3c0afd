"""What an agent met that was written from docs/protocol.md alone."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.mcp_server.server import MemoryServer

from .conftest import Asking, talk


async def told(ask: Asking, session: str) -> list[Any]:
    """The limits that the events of a session say were passed."""
    rows = (await ask("session_events", session=session, kind="budget", max_tokens=8000))["events"]
    return [one["payload"]["what"] for one in rows]


async def call(ask: Asking, session: str, command: str, **more: Any) -> dict[str, Any]:
    return await ask("action_record", session=session, tool="Bash", input={"command": command}, **more)


@pytest.mark.parametrize("limits", [{"tokens": 100}, {"actions": 1}])
def test_a_limit_that_a_fork_has_from_its_parent_is_told_once(
    server: MemoryServer, limits: dict[str, int]
) -> None:
    async def work(ask: Asking) -> list[Any]:
        parent = (await ask("session_open", budget=limits))["session"]
        await ask("usage_record", session=parent, input_tokens=10)
        fork = (await ask("session_fork", session=parent))["session"]
        second = (await ask("session_fork", session=fork))["session"]
        for session in (fork, second):
            for number in range(3):
                await ask("usage_record", session=session, input_tokens=200)
                await call(ask, session, f"step {number}")
        return [await told(ask, session) for session in (parent, fork, second)]

    assert talk(server, work) == [[], [*limits], [*limits]]


def test_a_success_in_a_fork_mends_the_failure_of_its_parent_and_says_where(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[Any, ...]:
        parent = (await ask("session_open"))["session"]
        await call(ask, parent, "make", error="no rule")
        fork = (await ask("session_fork", session=parent))["session"]
        await call(ask, fork, "make", output="done")
        states = [await ask("session_state", session=one, keys=["errors"]) for one in (parent, fork)]
        return parent, fork, *(state["errors"][0] for state in states)

    parent, fork, before, after = talk(server, work)
    assert before["mended_by"] is None
    assert (after["session"], after["seq"], after["mended_by"], after["mended_in"]) == (parent, 1, 1, fork)


def test_links_between_decisions_of_a_fork_and_its_parent_name_the_session(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[Any, ...]:
        parent = (await ask("session_open"))["session"]
        await ask("decision_record", session=parent, what="load by row", alternatives=["load in batches"])
        fork = (await ask("session_fork", session=parent))["session"]
        await ask("decision_record", session=fork, what="load in batches")
        grandchild = (await ask("session_fork", session=fork))["session"]
        tables = [
            (await ask("session_state", session=one, keys=["decisions_made"]))["decisions_made"]
            for one in (fork, grandchild)
        ]
        return parent, fork, tables

    parent, fork, tables = talk(server, work)
    for old, new in tables:
        assert (old["session"], old["superseded_by"], old["superseded_in"]) == (parent, 1, fork)
        assert new["instead_of"] == {"session": parent, "seq": 1, "what": "load by row"}
    assert "session" not in tables[0][1]
    assert tables[1][1]["session"] == fork


def test_an_answer_in_a_fork_names_the_session_of_the_question(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[Any, ...]:
        parent = (await ask("session_open"))["session"]
        asked = await ask("session_handoff", session=parent, to="agent", note="which folder?")
        fork = (await ask("session_fork", session=parent))["session"]
        await ask("handoff_answer", session=fork, question=asked["question"], answer="/w")
        state = await ask("session_state", session=fork, keys=["answered_questions"])
        return parent, state["answered_questions"][0]

    parent, answered = talk(server, work)
    assert (answered["asked"], answered["asked_in"], "session" in answered) == (1, parent, False)


def test_the_time_that_is_left_is_that_of_now_and_any_write_tells_that_it_is_over(
    server: MemoryServer,
) -> None:
    async def work(ask: Asking) -> tuple[Any, ...]:
        session = (await ask("session_open", budget={"seconds": 3}))["session"]
        for _ in range(4):  # each call looks at a clock that moves with every look
            room = await ask("budget_get", session=session)
        silent = await told(ask, session)
        await ask("fact_record", session=session, key="k", value="v")
        await ask("decision_record", session=session, what="go on")
        after = await told(ask, session)
        return room, silent, after

    room, silent, after = talk(server, work)
    assert (room["fits"], room["budget"]["exceeded"], silent) == (False, ["seconds"], [])
    assert after == ["seconds"]


def test_a_session_that_ends_after_its_time_ends_without_a_refusal(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[Any]:
        session = (await ask("session_open", budget={"seconds": 1}))["session"]
        for _ in range(4):
            await ask("budget_get", session=session)
        found = []
        for move in ("session_pause", "session_resume", "session_close", "session_archive"):
            found.append((await ask(move, session=session))["session_info"]["lifecycle"])
        return found

    assert talk(server, work) == ["paused", "resumed", "closed", "archived"]


def test_a_diff_keeps_its_decisions_and_requests_before_all_else(server: MemoryServer) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        session = (await ask("session_open"))["session"]
        await ask("message_record", session=session, text="begin", **{"from": "user"})
        await ask("decision_record", session=session, what="by row", alternatives=["in batches"])
        await ask("decision_record", session=session, what="in batches")
        await call(ask, session, "make", error="no rule")
        for number in range(40):
            await ask("fact_record", session=session, key=f"key {number}", value="v" * 60)
        return await ask("session_diff", session=session, **{"from": 1, "to": "now"})

    diff = talk(server, work)
    main = [cause for cause in diff["because"] if cause["role"] in ("request", "decision", "error")]
    assert [cause["seq"] for cause in main] == [1, 2, 3, 4]
    assert main[2]["instead_of"]["what"] == "by row"
    assert [one["what"] for one in diff["added"]["decisions_made"]] == ["by row", "in batches"]
    assert diff["left_out"]["because.because"] > 0
    assert [cause["seq"] for cause in diff["because"]] == sorted(cause["seq"] for cause in diff["because"])


def test_refusals_say_what_would_work(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[dict[str, Any]]:
        session = (await ask("session_open", workspace="/no/such/folder"))["session"]
        for _ in range(3):
            await ask("message_record", session=session, text="go", **{"from": "user"})
        return [
            await ask.refused("fact_record", session=session, key="k", value="v", turn=1),
            await ask.refused("session_state", session=session[:7]),
            await ask.refused("session_rewind", session=session, to=2, dry_run=True),
            await ask.refused(
                "session_diff", session=session, other=session, turns=True, **{"from": 1, "to": 2}
            ),
        ]

    turn, prefix, rewind, diff = talk(server, work)
    assert turn["next"] == "Call again without `turn`."
    assert "first 8 characters" in prefix["hint"]
    assert "riting" not in prefix["error"]
    assert rewind["hint"] == "Leave `files` and `dry_run` out to rewind the state alone."
    assert "turn 3" in diff["hint"]


def test_events_up_to_a_turn(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[list[int]]:
        session = (await ask("session_open"))["session"]
        for _ in range(3):
            await ask("message_record", session=session, text="go", **{"from": "user"})
        asked: list[dict[str, int]] = [{"to_turn": 1}, {"turn": 2}, {"turn": 2, "to_turn": 3}]
        rows = [(await ask("session_events", session=session, **one))["events"] for one in asked]
        return [[row["seq"] for row in found] for found in rows]

    assert talk(server, work) == [[0, 1], [2], [2, 3]]
