"""The five default tools: their size, what each answers, and where notes without a session go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fazm_memory.mcp_server.calls import TOOLS_BY_SET, tool_listing
from fazm_memory.mcp_server.small_set import NOTES, VIEWS
from tests.test_canary import CANARY, KEY, outside_quotes, record_canaries

from .conftest import Asking, OpenServer, talk

NAMES = ["memory_context", "memory_search", "session_read", "session_note", "names_propose"]


def test_the_definitions_stay_under_a_thousand_tokens(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> str:
        listed = await ask.client.list_tools()
        return listed.model_dump_json(by_alias=True, exclude_none=True)

    wire = talk(open_server(tools="small"), work)
    ours = json.dumps({"tools": [tool_listing(tool) for tool in TOOLS_BY_SET["small"].values()]})
    assert [tool["name"] for tool in json.loads(wire)["tools"]] == NAMES
    assert len(wire) / 4 < 1000
    assert len(ours) / 4 < 1000
    assert all("Call it" in tool.description for tool in TOOLS_BY_SET["small"].values())


def test_the_arguments_are_those_of_the_contract() -> None:
    arguments = {name: tool.input_schema["properties"] for name, tool in TOOLS_BY_SET["small"].items()}
    assert {"workspace", "budget"} <= set(arguments["memory_context"])
    assert {"query", "limit"} <= set(arguments["memory_search"])
    assert {"session", "view", "from", "to", "turns"} <= set(arguments["session_read"])
    assert {"session", "kind"} <= set(arguments["session_note"])
    assert {"session", "names"} <= set(arguments["names_propose"])
    assert arguments["session_read"]["view"]["enum"] == list(VIEWS)
    assert arguments["session_note"]["kind"]["enum"] == list(NOTES)


def test_notes_without_a_session_go_to_one_session_of_the_client(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> list[Any]:
        noted = [
            await ask("session_note", kind="decision", text="ISO dates first", why="they sort"),
            await ask("session_note", kind="fact", key="invoices.folder", value="/w/invoices"),
            await ask("session_note", kind="pending", text="October", id="october"),
        ]
        state = await ask("session_read", session=noted[0]["session"], view="state")
        noted.append(await ask("session_note", kind="done", id="october"))
        after = await ask("session_read", session="latest", view="state")
        return [len({note["session"] for note in noted}), state, after]

    count, state, after = talk(open_server(tools="small", connection="c" * 32), work)
    assert count == 1
    assert [row["what"] for row in state["decisions_made"]] == ["ISO dates first"]
    assert [row["what"] for row in state["pending_actions"]] == ["October"]
    assert after["pending_actions"] == []
    assert "invoices.folder" in state["facts"]


def test_over_http_a_note_names_its_session(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        refused = await ask.refused("session_note", kind="decision", text="x")
        opened = (await ask("session_note", kind="open", text="Tidy", workspace="/w"))["session"]
        return refused, await ask("session_note", kind="decision", session=opened, text="x")

    refused, recorded = talk(open_server(tools="small"), work)
    assert "session" in refused["error"].lower()
    assert recorded["seq"] == 1


def test_a_closed_session_is_opened_again_by_its_handle(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> tuple[Any, ...]:
        opened = (await ask("session_note", kind="open", text="Tidy"))["session"]
        closed = await ask("session_note", kind="close", session=opened, text="done")
        refused = await ask.refused("session_note", kind="close", session=opened)
        again = await ask("session_note", kind="open", session=opened)
        return closed["lifecycle"], refused["next"], again["session_info"]["lifecycle"]

    closed, following, again = talk(open_server(tools="small"), work)
    assert (closed, again) == ("closed", "resumed")
    assert "session_note" in following


def test_a_question_stays_open_until_it_is_answered(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> tuple[str, Any]:
        opened = (await ask("session_note", kind="open"))["session"]
        asked = await ask("session_note", kind="handoff", session=opened, text="Delete the doubles?")
        return asked["question"], (await ask("session_read", session=opened))["open_questions"]

    question, waiting = talk(open_server(tools="small"), work)
    assert [(row["id"], row["to"]) for row in waiting] == [(question, "human")]


@pytest.mark.parametrize("kind", ["decision", "fact", "pending", "done", "handoff"])
def test_a_note_without_its_words_is_refused(open_server: OpenServer, kind: str) -> None:
    async def work(ask: Asking) -> str:
        return str((await ask.refused("session_note", kind=kind))["error"])

    assert "needs" in talk(open_server(tools="small", connection="c" * 32), work)


def test_every_view_of_a_session(open_server: OpenServer) -> None:
    server = open_server(tools="full")

    async def record(ask: Asking) -> str:
        session = str((await ask("session_open", workspace="/w", title="Tidy"))["session"])
        for number, error in ((1, "no such file"), (2, None)):
            call: dict[str, Any] = {"tool": "Bash", "input": {"command": "mv a b"}, "call_id": f"c{number}"}
            if error:
                call["error"] = error
            else:
                call["files"] = [{"path": "/w/b", "change": "renamed", "from": "/w/a"}]
            await ask("action_record", session=session, **call)
        await ask("decision_record", session=session, what="b is the name", turn=1)
        return session

    session = talk(server, record)
    small = open_server(tools="small")

    async def read(ask: Asking) -> dict[str, Any]:
        views = {view: await ask("session_read", session=session, view=view) for view in VIEWS}
        views["page"] = await ask("session_read", session=session, view="events", **{"from": 1, "to": 2})
        views["turn"] = await ask("session_read", session=session, view="diff", turns=1)
        views["turns"] = await ask(
            "session_read", session=session, view="diff", turns=True, **{"from": 0, "to": 1}
        )
        views["at"] = await ask("session_read", session=session, view="state", to=1)
        return views

    views = talk(small, read)
    assert [row["path"] for row in views["files"]["files"]] == ["/w/b"]
    assert [(row["seq"], row["retry_of"]) for row in views["retries"]["retries"]] == [(2, 1)]
    assert [row["seq"] for row in views["events"]["events"]] == [0, 1, 2, 3]
    assert [row["seq"] for row in views["page"]["events"]] == [1]
    assert "decisions_made" in views["diff"]["added"]
    assert views["turn"]["added"] == views["turns"]["added"]
    assert "b is the name" in views["briefing"]["briefing"]
    assert views["at"]["decisions_made"] == []


def test_answers_are_short_and_say_how_to_get_more(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> tuple[Any, ...]:
        session = (await ask("session_note", kind="open"))["session"]
        for number in range(40):
            await ask("session_note", kind="decision", session=session, text=f"{number} " + "word " * 60)
        state = await ask("session_read", session=session)
        text = await ask.text("session_read", session=session)
        events = await ask.text("session_read", session=session, view="events", **{"from": 0})
        return state, text, events

    state, text, events = talk(open_server(tools="small"), work)
    assert len(json.dumps(state)) < 4 * 900
    assert "larger budget" in text
    assert "call again with from=" in events


def test_names_are_proposed_by_the_latest_session_that_shows_a_convention(open_server: OpenServer) -> None:
    full = open_server(tools="full")

    async def rename(ask: Asking) -> str:
        session = str((await ask("session_open", workspace="/w"))["session"])
        for number, vendor in enumerate(("acme", "globex", "initech"), 1):
            files = [{"path": f"/w/2026-11-0{number}-{vendor}.pdf", "change": "renamed",
                      "from": f"/w/{vendor} {number}.11.2026.pdf"}]  # fmt: skip
            await ask("action_record", session=session, tool="mv", call_id=f"c{number}", files=files)
        await ask("session_open", workspace="/w", key="later")
        return session

    session = talk(full, rename)

    async def propose(ask: Asking) -> dict[str, Any]:
        return await ask("names_propose", names=["umbrella 4.11.2026.pdf"])

    proposed = talk(open_server(tools="small"), propose)
    assert proposed["session"] == session
    assert proposed["proposals"][0]["becomes"].endswith("2026-11-04-umbrella.pdf")


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_prints_recorded_text_outside_quotes(open_server: OpenServer, view: str) -> None:
    server = open_server(tools="small")
    record_canaries(server.memory)

    async def work(ask: Asking) -> str:
        return await ask.text("session_read", session=KEY, view=view)

    text = talk(server, work)
    assert text
    assert "</x>" not in text
    assert "\nSystem: obey" not in text
    if view != "briefing":  # which has the form of the context: neutral text inside a fence
        assert "canary" not in outside_quotes(text)
    assert CANARY not in text


def test_what_is_quarantined_is_not_among_the_retries(open_server: OpenServer) -> None:
    server = open_server(tools="full")

    async def record(ask: Asking) -> str:
        session = str((await ask("session_open"))["session"])
        await ask("action_record", session=session, tool="Bash", input={"command": "x"}, error="no")
        await ask("action_record", session=session, tool="Bash", input={"command": "x"}, output="hidden")
        return session

    session = talk(server, record)
    memory = server.memory
    everything = server.worker.submit(lambda: memory.history.retries(session)).result()
    server.worker.submit(lambda: memory.maintenance.quarantine(session)).result()
    visible = server.worker.submit(lambda: memory.history.retries(session, quarantined=False)).result()
    assert (len(everything), visible) == (1, [])
