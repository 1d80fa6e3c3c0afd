"""What goes the other way: news of resources, questions to the person, progress, calls taken back."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, ResourceUpdatedNotification

from fazm_memory.mcp_server import server as server_module
from fazm_memory.mcp_server.server import MemoryServer, form_schema

from .conftest import Asking, OpenServer, talk

MODERN = "2026-07-28"
MODES = ("legacy", MODERN)
# The SDK warns of calls that the newest revision no longer has; clients of the older ones make them.
OLDER = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


async def opened(client: Client) -> str:
    return str((await Asking(client)("session_open", context=False))["session"])


def state_of(session: str) -> str:
    return f"fazm-memory://sessions/{session}/state"


# -- resources that are watched ----------------------------------------------------------------------------


@OLDER
def test_a_subscriber_hears_of_what_another_process_wrote(open_server: OpenServer) -> None:
    server, other = open_server(), open_server()
    server.subscriptions.pause = 0.01

    async def work() -> list[str]:
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def listener(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                heard.put_nowait(str(message.params.uri))

        async with Client(server.sdk, mode="legacy", message_handler=listener) as client:
            session, quiet = await opened(client), await opened(client)
            await client.subscribe_resource(state_of(session))
            await client.subscribe_resource(state_of(quiet))
            await client.unsubscribe_resource(state_of(quiet))
            async with Client(other.sdk, mode="legacy") as writer:
                for one in (quiet, session):
                    await Asking(writer)("decision_record", session=one, what="dates first")
                return [await asyncio.wait_for(heard.get(), 20), state_of(session)]

    heard, expected = asyncio.run(work())
    assert heard == expected


def test_a_client_without_a_handshake_listens_on_a_stream(open_server: OpenServer) -> None:
    server, other = open_server(), open_server()
    server.subscriptions.pause = 0.01

    async def work() -> tuple[str, str]:
        async with Client(server.sdk, mode=MODERN) as client, Client(other.sdk, mode=MODERN) as writer:
            session = await opened(client)
            async with client.listen(resource_subscriptions=[state_of(session)]) as stream:
                await Asking(writer)("decision_record", session=session, what="dates first")
                event: Any = await asyncio.wait_for(anext(aiter(stream)), 20)
            return str(event.uri), state_of(session)

    heard, expected = asyncio.run(work())
    assert heard == expected


@OLDER
def test_nobody_watches_what_is_not_there(server: MemoryServer) -> None:
    async def work(ask: Asking) -> str:
        with pytest.raises(MCPError, match="No session matches") as refused:
            await ask.client.subscribe_resource(state_of("f" * 32))
        return refused.value.error.message

    assert "No session matches" in talk(server, work)
    assert not server.subscriptions.watched


# -- questions put before the person -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "content", "reply"),
    [("accept", {"answer": "yes, all"}, "yes, all"), ("decline", None, None), ("cancel", None, None)],
)
def test_a_question_to_a_human_is_shown_where_the_client_has_a_form(
    server: MemoryServer, mode: Any, action: Any, content: Any, reply: str | None
) -> None:
    shown: list[Any] = []

    async def person(context: Any, params: Any) -> ElicitResult:
        shown.append(params)
        return ElicitResult(action=action, content=content)

    async def work() -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        async with Client(server.sdk, mode=mode, elicitation_callback=person) as client:
            ask, session = Asking(client), await opened(client)
            result = await ask("session_handoff", session=session, to="human", note="Delete the doubles?")
            state = await ask("session_state", session=session)
            page = await ask("session_events", session=session)
            return result, state, page["events"]

    result, state, events = asyncio.run(work())
    assert [one.message for one in shown] == ["Delete the doubles?"]
    assert (result["shown"], result["reply"], result["answered"]) == (True, reply, reply is not None)
    assert [one["kind"] for one in events].count("handoff") == 1  # however many rounds it took
    answered = [one for one in events if one["kind"] == "handoff.answer"]
    if reply is None:  # declined or dismissed: the question waits for the person
        assert [one["id"] for one in state["open_questions"]] == [result["question"]]
        assert answered == []
    else:  # the person's answer, on the client's word: never believed like the user
        assert state["open_questions"] == []
        assert [(one["actor"], one["source"], one["trust"]) for one in answered] == [
            ("person", "mcp", "agent")
        ]
        assert [(one["answer"], one["by"]) for one in state["answered_questions"]] == [(reply, "person")]


@pytest.mark.parametrize("mode", MODES)
def test_a_form_that_was_overtaken_or_does_not_fit_leaves_the_question_as_it_is(
    server: MemoryServer, open_server: OpenServer, mode: Any
) -> None:
    """While it was shown the person answered elsewhere; or the client sends what was not asked for."""
    elsewhere = open_server()
    content: dict[str, Any] = {"answer": "all"}

    async def person(context: Any, params: Any) -> ElicitResult:
        if params.message == "Which?":
            memory = elsewhere.memory
            await elsewhere._in_worker(
                lambda: [
                    memory.sessions.answer(question["session"], question["id"], "none")
                    for question in memory.sessions.open_questions()
                ]
            )
        return ElicitResult(action="accept", content=content)

    async def work() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        async with Client(server.sdk, mode=mode, elicitation_callback=person) as client:
            ask, session = Asking(client), await opened(client)
            late = await ask("session_handoff", session=session, to="human", note="Which?")
            number = {"type": "integer"}
            odd = await ask(
                "session_handoff", session=session, to="human", note="How many?", answer_schema=number
            )
            return late, odd, await ask("session_state", session=session)

    late, odd, state = asyncio.run(work())
    assert (late["answered"], odd["answered"]) == (False, False)
    assert [one["answer"] for one in state["answered_questions"]] == ["none"]
    assert [one["id"] for one in state["open_questions"]] == [odd["question"]]


@pytest.mark.parametrize("mode", MODES)
def test_without_a_form_the_question_waits(server: MemoryServer, mode: Any) -> None:
    async def work() -> dict[str, Any]:
        async with Client(server.sdk, mode=mode) as client:
            session = await opened(client)
            return await Asking(client)("session_handoff", session=session, to="human", note="Delete?")

    results = asyncio.run(work())
    assert "shown" not in results
    assert results["question"]


def test_forms_are_flat_and_follow_the_schema_of_the_answer_where_it_is() -> None:
    choice = {"type": "string", "enum": ["keep", "delete"]}
    flat = {"type": "object", "properties": {"what": choice}, "required": ["what"]}
    words = {"answer": {"type": "string", "title": "Answer"}}
    assert form_schema(flat) == flat
    assert form_schema(choice)["properties"] == {"answer": choice}
    for schema in (None, {}, {"type": "array"}, {"type": "object", "properties": {"deep": flat}}):
        assert form_schema(schema) == {"type": "object", "properties": words, "required": ["answer"]}


def test_an_agent_answers_what_was_left_to_an_agent_and_nothing_else(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        session = await opened(ask.client)
        ours = (await ask("session_handoff", session=session, to="agent", note="By what?"))["question"]
        theirs = (await ask("session_handoff", session=session, to="human", note="Delete?"))["question"]
        refused = await ask.refused("handoff_answer", session=session, question=theirs, answer="yes")
        await ask("handoff_answer", session=session, question=ours, answer="by vendor")
        again = await ask.refused("handoff_answer", session=session, question=ours, answer="by date")
        state = await ask("session_state", session=session)
        return refused, again, [one["id"] == theirs for one in state["open_questions"]]

    refused, again, left = talk(server, work)
    assert "for a person" in refused["error"]
    assert "no open question" in again["error"]
    assert left == [True]


# -- long calls --------------------------------------------------------------------------------------------


def test_a_long_call_says_that_it_is_still_at_it(
    server: MemoryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "BEAT", 0.01)
    held = threading.Event()

    async def work(ask: Asking) -> list[tuple[float, str | None]]:
        heard: list[tuple[float, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, message))
            if len(heard) == 3:
                held.set()

        server.worker.submit(held.wait)
        result = await ask.client.call_tool("session_list", {}, progress_callback=progress)
        assert not result.is_error
        return heard

    heard = talk(server, work)
    assert len(heard) >= 3
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert {message for _, message in heard} == {"Still working."}


def test_a_call_that_is_taken_back_before_it_began_records_nothing(server: MemoryServer) -> None:
    held = threading.Event()

    async def work(ask: Asking) -> list[str]:
        session = await opened(ask.client)
        server.worker.submit(held.wait)
        first = asyncio.create_task(ask("decision_record", session=session, what="taken back"))
        second = asyncio.create_task(ask("decision_record", session=session, what="meant"))
        while server.worker._work_queue.qsize() < 2:
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait({first})
        await ask.client.session.send_ping()  # whatever was said before it has been taken in
        held.set()
        await second
        page = await ask("session_events", session=session, kind="decision")
        return [one["payload"]["what"] for one in page["events"]]

    assert talk(server, work) == ["meant"]
