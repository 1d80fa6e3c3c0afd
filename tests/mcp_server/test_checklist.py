"""The conformance checklist of docs/protocol.md, run against a server by its address.

Against our own and a tiny one in memory, unless SESSION_STATE_URL names another (with SESSION_STATE_TOKEN, if
it wants one). What cannot be seen from outside is tested elsewhere: that a handle outlives a restart, that
the chain verifies after forgetting, and that nothing is recorded while the user has paused it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx2
import pytest
import uvicorn
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, Implementation

from fazm_memory.loopback.guard import Guard
from fazm_memory.mcp_server.server import http_app

from .conftest import Asking, OpenServer
from .tiny_server import tiny_server

T = TypeVar("T")
Form = Callable[[Any, Any], Awaitable[ElicitResult]]
TOKEN = "t" * 43
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "protocol.schema.json").read_text())
HANDLE = "0123456789abcdef" * 2


@dataclass(frozen=True)
class Subject:
    """The server under test."""

    url: str
    token: str

    def talk(self, *work: Callable[[Asking], Awaitable[T]], form: Form | None = None) -> list[T]:
        """Each piece of work over a connection of its own, all at once; its client may show a form."""

        async def one(doing: Callable[[Asking], Awaitable[T]]) -> T:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            result = Implementation(name="checklist", version="1")
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as http,
                Client(
                    streamable_http_client(self.url, http_client=http),
                    client_info=result,
                    elicitation_callback=form,
                ) as client,
            ):
                await client.list_tools()
                return await doing(Asking(client))

        async def every() -> list[T]:
            return list(await asyncio.gather(*map(one, work)))

        return asyncio.run(every())


@pytest.fixture(params=["tiny", "ours"])
def subject(request: pytest.FixtureRequest, open_server: OpenServer) -> Iterator[Subject]:
    if url := os.environ.get("SESSION_STATE_URL"):
        if request.param == "tiny":
            pytest.skip("another server is under test")
        yield Subject(url, os.environ.get("SESSION_STATE_TOKEN", ""))
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        if request.param == "tiny":
            app: Any = Guard(tiny_server().streamable_http_app(), token=TOKEN, port=port)
        else:
            app = Guard(http_app(open_server(), port=port), token=TOKEN, port=port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()  # the socket listens already: whoever comes early waits
        yield Subject(f"http://127.0.0.1:{port}/mcp", TOKEN)
        server.should_exit = True
        thread.join()


async def opened(ask: Asking, **given: Any) -> str:
    return str((await ask("session_open", context=False, **given))["session"])


async def events(ask: Asking, session: str) -> list[dict[str, Any]]:
    """All events, page by page."""
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = await ask("session_events", session=session, limit=7, **more)
        found += page["events"]
        if page["next_cursor"] is None:
            return found
        more = {"cursor": page["next_cursor"]}


def test_1_a_handle_works_over_another_connection_and_a_prefix_never_catches_a_write(
    subject: Subject,
) -> None:
    [session] = subject.talk(opened)

    async def work(ask: Asking) -> list[str]:
        await ask("decision_record", session=session, what="from elsewhere")
        for cut in (8, 16, len(session) - 1):
            await ask.refused("decision_record", session=session[:cut], what="caught")
        return [one["payload"]["what"] for one in await events(ask, session) if one["kind"] == "decision"]

    assert subject.talk(work) == [["from elsewhere"]]


def test_2_two_writers_of_one_session_lose_nothing_and_positions_are_dense(subject: Subject) -> None:
    [session] = subject.talk(opened)

    def writer(name: str) -> Callable[[Asking], Awaitable[list[int]]]:
        async def work(ask: Asking) -> list[int]:
            results = [await ask("decision_record", session=session, what=f"{name} {n}") for n in range(10)]
            return [one["seq"] for one in results]

        return work

    ada, bob = subject.talk(writer("ada"), writer("bob"))
    [found] = subject.talk(lambda ask: events(ask, session))
    assert [one["seq"] for one in found] == list(range(21))
    assert sorted([*ada, *bob]) == list(range(1, 21))
    for name, seqs in (("ada", ada), ("bob", bob)):
        assert [found[seq]["payload"]["what"] for seq in seqs] == [f"{name} {n}" for n in range(10)]


def test_3_a_wrong_expected_seq_records_nothing_and_tells_the_head(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)

        async def refused(tool: str, **arguments: Any) -> None:
            head = len(await events(ask, session))
            answer = await ask.refused(tool, session=session, **arguments, expected_seq=head + 7)
            assert (answer["head"], len(await events(ask, session))) == (head, head)

        await refused("decision_record", what="x")
        await refused("session_handoff", to="agent", note="Which?")
        await refused("session_rewind", to="start")
        await refused("session_pause")
        await ask("session_pause", session=session)
        await refused("session_resume")
        await ask("session_resume", session=session)
        await refused("session_close")

    subject.talk(work)


def test_4_transitions_work_and_what_is_no_transition_is_refused_with_what_to_call(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)

        async def moved(move: str) -> str:
            return str((await ask(f"session_{move}", session=session))["session_info"]["lifecycle"])

        async def refused(move: str) -> None:
            results = await ask.refused(f"session_{move}", session=session)
            assert "session_" in results["next"]

        await refused("resume")
        assert await moved("pause") == "paused"
        await refused("pause")
        results = await ask.refused("decision_record", session=session, what="while paused")
        assert "session_resume" in results["next"]
        assert await moved("resume") == "resumed"
        await ask("decision_record", session=session, what="again")
        assert (await ask("session_state", session=session))["lifecycle"] == "active"
        assert await moved("close") == "closed"
        await refused("pause")
        await refused("close")
        assert await moved("resume") == "resumed"

    subject.talk(work)


def test_5_a_fork_stands_where_its_parent_stood_and_a_rewind_erases_nothing(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        for what in ("first", "second", "third"):
            await ask("decision_record", session=session, what=what)
        branch = (await ask("session_fork", session=session, at=2))["session"]
        for handle, expected in ((branch, ["first"]), (session, ["first", "second", "third"])):
            state = await ask("session_state", session=handle)
            assert [one["what"] for one in state["decisions_made"]] == expected
        before = await events(ask, session)
        await ask("session_rewind", session=session, to=2)
        state = await ask("session_state", session=session)
        assert [one["what"] for one in state["decisions_made"]] == ["first"]
        assert (await events(ask, session))[: len(before)] == before

    subject.talk(work)


def test_6_the_same_call_id_twice_is_one_action(subject: Subject) -> None:
    async def work(ask: Asking) -> tuple[list[bool], int]:
        session = await opened(ask)
        call = {"session": session, "tool": "Bash", "input": {"command": "ls"}, "call_id": f"c-{session}"}
        results = [(await ask("action_record", **call))["duplicate"] for _ in range(2)]
        return results, sum(one["kind"] == "action" for one in await events(ask, session))

    assert subject.talk(work) == [([False, True], 1)]


@pytest.mark.parametrize(
    "claim", [{"trust": "user"}, {"actor": "person"}, {"source": "cli"}, {"payload": {"trust": "user"}}]
)
def test_7_no_argument_makes_an_event_the_users(subject: Subject, claim: dict[str, Any]) -> None:
    async def work(ask: Asking) -> list[tuple[str, str, str]]:
        session = await opened(ask)
        await ask.refused("decision_record", session=session, what="claimed", **claim)
        await ask("decision_record", session=session, what="unclaimed")
        return [(one["source"], one["actor"], one["trust"]) for one in await events(ask, session)]

    [found] = subject.talk(work)
    assert set(found) == {("mcp", "agent", "agent")}


def test_8_every_event_validates_against_the_schema(subject: Subject) -> None:
    async def work(ask: Asking) -> tuple[str, list[dict[str, Any]]]:
        session = await opened(ask, title="Tidy")
        await ask("action_record", session=session, tool="Bash", input={"command": "ls"}, error="no")
        await ask("fact_record", session=session, key="k", value={"deep": [1, None]})
        await ask("pending_add", session=session, what="later", id="p")
        await ask("session_handoff", session=session, to="agent", note="?")
        return session, await events(ask, session)

    [(session, found)] = subject.talk(work)
    assert len(found) == 5
    for event in found:
        Draft202012Validator(SCHEMA).validate({"session": session, **event})
    assert len({one["prev"] for one in found}) == len(found)  # each stands behind another one


def test_9_lists_page_to_their_end_and_answers_keep_to_their_budget(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        agent = f"checklist-{os.urandom(4).hex()}"
        made = [await opened(ask, agent=agent) for _ in range(7)]
        listed: list[str] = []
        more: dict[str, Any] = {}
        while True:
            page = await ask("session_list", agent=agent, limit=3, **more)
            listed += [one["id"] for one in page["sessions"]]
            if page["next_cursor"] is None:
                break
            more = {"cursor": page["next_cursor"]}
        assert sorted(listed) == sorted(made)
        await ask.refused("session_events", session=made[0], cursor="bm8gY3Vyc29y")
        for number in range(6):
            await ask("decision_record", session=made[0], what=f"{number} " + "word " * 300)
        page = await ask("session_events", session=made[0], max_tokens=200)
        payloads = [one["payload"] for one in page["events"]]
        assert len(json.dumps(payloads)) <= 200 * 4 * 2
        assert page["next_cursor"] is not None

    subject.talk(work)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("decision_record", {"session": HANDLE, "what": "x"}),
        ("session_state", {"session": HANDLE}),
        ("session_resume", {"session": HANDLE}),
        ("session_events", {"session": HANDLE, "from": -1}),
        ("session_diff", {"session": HANDLE, "from": "0", "to": []}),
        ("session_state", {"session": HANDLE, "no_such_argument": 1}),
        ("decision_record", {"session": HANDLE, "what": {"not": "words"}}),
    ],
)
def test_10_a_refusal_names_the_handle_what_was_kept_and_what_to_call(
    subject: Subject, tool: str, given: dict[str, Any]
) -> None:
    [result] = subject.talk(lambda ask: ask.refused(tool, **given))
    assert result["session"] == HANDLE
    assert all(isinstance(result[name], str) and result[name] for name in ("error", "kept", "next"))


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": ""}, 401),
        ({"Host": "rebound.example"}, 421),
        ({"Origin": "https://page.example"}, 403),
    ],
)
def test_12_over_http_each_refusal_holds_on_every_route(
    subject: Subject, changed: dict[str, str], status: int
) -> None:
    if not subject.token:
        pytest.skip("the server under test wants no token")
    good = {"Authorization": f"Bearer {subject.token}", "Content-Type": "application/json"}
    address = httpx2.URL(subject.url)
    with httpx2.Client(headers={**good, **changed}) as client:
        answered = {
            (method, path): client.request(method, address.copy_with(path=path)).status_code
            for method in ("GET", "POST", "DELETE", "OPTIONS")
            for path in (address.path, "/", "/no/such")
        }
    assert answered == dict.fromkeys(answered, status)


@pytest.mark.parametrize("action", ["accept", "decline", "cancel", None])
def test_13_a_question_to_a_person_is_answered_by_a_person_alone(subject: Subject, action: Any) -> None:
    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action=action, content={"answer": "yes"} if action == "accept" else None)

    async def work(ask: Asking) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        session = await opened(ask)
        asked = await ask("session_handoff", session=session, to="human", note="Delete the doubles?")
        await ask.refused("handoff_answer", session=session, question=asked["question"], answer="yes")
        await ask("session_pause", session=session)
        if not asked.get("answered"):
            await ask.refused("session_resume", session=session)
        return asked, [one for one in await events(ask, session) if one["kind"] == "handoff.answer"]

    [(asked, answers)] = subject.talk(work, form=None if action is None else person)
    if asked.get("answered"):  # a server may show forms; it need not
        assert action == "accept"
        assert [(one["actor"], one["trust"]) for one in answers] == [("person", "agent")]
    else:
        assert answers == []


def test_14_the_session_of_an_answer_is_its_handle(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        opening = await ask("session_open", context=False, title="Tidy")
        session = opening["session"]
        assert opening["session_info"]["id"] == session
        for tool, given in (
            ("session_retitle", {"title": "Tidy up"}), ("session_pause", {}), ("session_resume", {}),
            ("session_close", {}), ("session_archive", {}),
        ):  # fmt: skip
            answer = await ask(tool, session=session, **given)
            assert (answer["session"], answer["session_info"]["id"]) == (session, session)

    subject.talk(work)


def test_15_an_unknown_argument_is_answered_with_the_valid_ones_and_the_nearest(subject: Subject) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        return await ask.refused("decision_record", session=await opened(ask), what="x", reasn="y", whyy="z")

    [refused] = subject.talk(work)
    assert refused["unknown"] in ("reasn", "whyy")
    assert {"session", "what", "why"} <= set(refused["valid"])


def test_16_the_same_input_with_another_result_is_a_retry(subject: Subject) -> None:
    async def work(ask: Asking) -> list[Any]:
        session = await opened(ask)
        call = {"session": session, "tool": "Search", "input": {"q": "x"}}
        for output in ("A", "A", "B"):
            await ask("action_record", **call, output=output)
        await ask("action_record", session=session, tool="Other", retry_of=1)
        found = (await ask("session_retries", session=session))["retries"]
        return [(one["seq"], one["retry_of"], one["same_input"], one["changed"]) for one in found]

    [found] = subject.talk(work)
    assert found[-1] == (3, 2, True, ["output"])
    assert found[0][:3] == (4, 1, False)


def test_17_a_user_message_begins_a_turn_and_without_any_each_message_does(subject: Subject) -> None:
    async def work(ask: Asking) -> list[list[int]]:
        alone, asked = await opened(ask), await opened(ask)
        for _ in range(2):
            await ask("message_record", session=alone, text="done")
        for speaker in ("user", "agent", "user"):
            await ask("message_record", session=asked, text="words", **{"from": speaker})
        found = [await events(ask, session) for session in (alone, asked)]
        assert {(one["actor"], one["trust"]) for one in found[1]} == {("agent", "agent")}
        return [[one["turn"] for one in rows] for rows in found]

    assert subject.talk(work) == [[[0, 1, 2], [0, 1, 1, 2]]]


def test_18_a_passed_limit_is_in_the_state_and_an_event(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask, budget={"tokens": 100})
        await ask("usage_record", session=session, input_tokens=60, output_tokens=20, cost_usd=0.5)
        room = await ask("budget_get", session=session, step={"tokens": 30})
        assert (room["fits"], room["budget"]["remaining"]["tokens"]) == (False, 20)
        for _ in range(2):
            await ask("usage_record", session=session, input_tokens=30)
        budget = (await ask("session_state", session=session, keys=["budget"]))["budget"]
        assert (budget["spent"]["tokens"], budget["exceeded"]) == (140, ["tokens"])
        assert budget["spent"]["usd"] == 0.5
        passed = [one["payload"] for one in await events(ask, session) if one["kind"] == "budget"]
        assert passed == [{"what": "tokens", "limit": 100.0, "spent": 110.0}]
        await ask("usage_record", session=session, budget={"usd": 5, "actions": 9})
        await ask("usage_record", session=session, budget={"tokens": 200})
        await ask("usage_record", session=session, input_tokens=90)
        passed = [one["payload"] for one in await events(ask, session) if one["kind"] == "budget"]
        assert [one["limit"] for one in passed] == [100.0, 200.0]

    subject.talk(work)


def test_19_a_moment_is_a_position_a_turn_or_an_event(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        for text in ("one", "two"):
            await ask("message_record", session=session, text=text, **{"from": "user"})
            await ask("decision_record", session=session, what=f"do {text}")
        for moment, count in ((3, 1), ("3", 1), ("turn 1", 1), ("event 2", 1), ("event 1", 0), ("now", 2)):
            state = await ask("session_state", session=session, at=moment)
            assert len(state["decisions_made"]) == count, moment
        page = await ask("session_events", session=session, **{"from": "turn 2", "to": "event 4"})
        assert [one["seq"] for one in page["events"]] == [3]
        await ask.refused("session_state", session=session, at="no such moment")

    subject.talk(work)


def test_20_equal_states_have_equal_hashes_and_every_event_has_one(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        await ask("fact_record", session=session, key="k", value=1)
        await ask("decision_record", session=session, what="x")
        page = await ask("session_events", session=session, state_hashes=True)
        hashes = [one["state_hash"] for one in page["events"]]
        assert len(set(hashes)) == 3
        for position, expected in enumerate(hashes, 1):
            assert (await ask("session_state", session=session, at=position))["state_hash"] == expected

    subject.talk(work)


def test_21_a_decision_that_replaces_another_is_linked_with_it(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        await ask("decision_record", session=session, what="use Postgres", alternatives=["use SQLite"])
        await ask("decision_record", session=session, what="use SQLite", why="no server")
        await ask("decision_record", session=session, what="log as text")
        await ask("decision_record", session=session, what="log in JSON", replaces=3)
        rows = (await ask("session_state", session=session))["decisions_made"]
        assert [one["superseded_by"] for one in rows] == [2, None, 4, None]
        change = await ask("session_diff", session=session, **{"from": 2, "to": 3})
        [cause] = [one for one in change["because"] if one["kind"] == "decision"]
        assert (cause["instead_of"]["what"], cause["why"]) == ("use Postgres", "no server")

    subject.talk(work)


def test_22_an_artifact_has_items_with_a_status_and_versions(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        items = [{"text": "login"}, {"text": "export"}]
        await ask("artifact_put", session=session, name="features", form="feature_list", items=items)
        change = [{"id": "2", "status": "completed"}]
        await ask("artifact_put", session=session, name="features", set=change)
        [row] = (await ask("artifact_get", session=session, name="features"))["artifacts"]
        assert (row["version"], row["done"], row["total"]) == (2, 1, 2)
        assert [one["status"] for one in row["items"]] == ["pending", "completed"]

    subject.talk(work)


def test_23_what_was_evicted_or_retracted_is_the_same_in_events_and_state(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        await ask("fact_record", session=session, key="k", value=1)
        await ask("fact_record", session=session, key="gone", value=1)
        await ask("fact_retract", session=session, key="gone")
        answer = await ask("evicted_record", session=session, keys=["fact:k"])
        state = await ask("session_state", session=session)
        assert (answer["evicted_keys"], state["evicted_keys"]) == (["fact:k"], ["fact:k"])
        assert set(state["facts"]) == {"k"}

    subject.talk(work)


def test_24_files_are_told_by_turn_and_by_author(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask, workspace="/w")
        for name in ("a", "b"):
            await ask("message_record", session=session, text=f"change {name}", **{"from": "user"})
            files = [{"path": f"/w/{name}", "change": "modified"}]
            await ask("action_record", session=session, tool="Edit", input={"file_path": name}, files=files)
        given = {"session": session, "keys": ["files_modified"]}
        of_last = (await ask("session_state", **given, turns=1, by="agent"))["files_modified"]
        assert [(one["path"], one["by"], one["seq"], one["turn"]) for one in of_last] == [
            ("/w/b", "agent", 4, 2)
        ]
        assert (await ask("session_state", **given, turns=2, by="person"))["files_modified"] == []

    subject.talk(work)


def test_25_a_callers_own_input_hash_is_kept_beside_the_servers(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask)
        await ask("action_record", session=session, tool="Search", input={"q": "x"}, input_hash="sha256:feed")
        [_, event] = await events(ask, session)
        hashes = event["payload"]["caller_input_hash"], event["payload"]["input_hash"]
        assert (hashes[0], hashes[1] != hashes[0]) == ("sha256:feed", True)

    subject.talk(work)


async def poisoned(ask: Asking) -> str:
    """A session with a page of the web, and what was done after it and in the next turn."""
    session = await opened(ask, workspace="/w")
    asked = {"session": session, "from": "user"}
    written = [{"path": "/w/run.sh", "change": "created"}]
    await ask("decision_record", session=session, what="use Postgres", alternatives=["use SQLite"])  # 1
    await ask("decision_record", session=session, what="use SQLite")  # 2
    await ask("message_record", **asked, text="look it up")  # 3
    page = {"tool": "WebFetch", "input": {"url": "https://example.com/howto"}}
    await ask("action_record", session=session, **page, output="run this")  # 4
    await ask("action_record", session=session, tool="Write", input={"file_path": "run.sh"}, files=written)
    await ask("decision_record", session=session, what="install it")  # 6
    await ask("message_record", **asked, text="go on")  # 7
    read = [{"path": "/w/a", "change": "read"}]
    await ask("action_record", session=session, tool="Read", input={"file_path": "a"}, files=read)  # 8
    changed = [{"path": "/w/a", "change": "modified"}]
    await ask("action_record", session=session, tool="Edit", input={"file_path": "a"}, files=changed)  # 9
    return session


def test_26_what_rests_on_untrusted_input_is_listed_across_sessions(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        sessions = [await poisoned(ask), await poisoned(ask)]
        entries = (await ask("untrusted_list"))["entries"]
        ours = [one for one in entries if one["session"] in sessions]  # the server may have other sessions
        calls = {one["session"]: one for one in ours if one["kind"] == "action"}
        assert calls.keys() == set(sessions)
        for session, one in calls.items():
            assert (one["seq"], one["trust"], one["led_to"]["files"]) == (4, "web", ["/w/run.sh"])
            event = (await events(ask, session))[4]
            assert (one["digest"], one["input_hash"]) == (event["digest"], event["payload"]["input_hash"])
        named = (await ask("untrusted_list", session=sessions[0]))["entries"]
        assert {one["session"] for one in named} == {sessions[0]}
        decisions = [one for one in await events(ask, sessions[0]) if one["kind"] == "decision"]
        assert [one["trust"] for one in decisions] == ["agent", "agent", "web"]

    subject.talk(work)


def test_27_data_sources_are_in_the_state(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        state = await ask("session_state", session=await poisoned(ask), keys=["data_sources"])
        [source] = state["data_sources"]
        names = ("kind", "name", "place", "read", "written")
        assert [source[name] for name in names] == ["url", "example.com/howto", "example.com", 1, 0]

    subject.talk(work)


def test_28_a_plan_marks_doubtful_steps_and_has_no_superseded_decision(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        steps = (await ask("replay_plan", session=await poisoned(ask)))["steps"]
        rows = [(one["seq"], one["kind"], one.get("doubted_by")) for one in steps]
        assert rows == [
            (2, "decision", None), (5, "action", 4), (6, "decision", 4), (8, "check", None),
            (9, "action", None),
        ]  # fmt: skip

    subject.talk(work)


def test_29_what_fails_first_is_told_with_what_solved_it_and_its_evidence(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        sessions = []
        deploy = f"make deploy-{uuid4().hex[:8]}"  # the server may know others
        for _ in range(3):
            session = await opened(ask, workspace="/w")
            sessions.append(session)
            await ask("message_record", session=session, text="deploy it", **{"from": "user"})
            for command, error in ((deploy, "lock held"), ("rm -f .lock", ""), (deploy, "")):
                told = {"error": error} if error else {"output": "ok"}
                await ask("action_record", session=session, tool="Bash", input={"command": command}, **told)
        rows = (await ask("habits_get", workspace="/w"))["failing_first"]
        [row] = [one for one in rows if one["command"] == deploy]
        assert (row["failures"], row["mended"]) == (3, 3)
        assert row["mended_by"] == [{"what": "Bash rm -f .lock", "count": 3}]
        evidence = [(one["session"], one["seq"]) for one in row["events"]]
        assert sorted(evidence) == sorted((session, 2) for session in sessions)

    subject.talk(work)


@pytest.mark.parametrize("subject", ["ours"], indirect=True)
def test_30_a_session_may_work_in_a_folder_of_its_own(subject: Subject, tmp_path: Path) -> None:
    shop = tmp_path / "user" / "shop"
    shop.mkdir(parents=True)
    (shop / "a.txt").write_text("one")

    async def work(ask: Asking) -> None:
        answer = await ask("session_open", context=False, workspace=str(shop), own_folder=True)
        assert answer["session_info"]["copy_of"] == str(shop)
        assert (Path(answer["folder"]) / "a.txt").read_text() == "one"
        assert answer["session_info"]["workspace"] == answer["folder"] != str(shop)

    subject.talk(work)


@pytest.mark.parametrize("subject", ["ours"], indirect=True)
def test_31_new_names_follow_what_was_done_and_need_no_folder(subject: Subject) -> None:
    async def work(ask: Asking) -> None:
        session = await opened(ask, workspace="/w")
        for number in (1, 2):
            command = f"mv scan{number}.pdf invoice_{number}.pdf"
            await ask("action_record", session=session, tool="Bash", input={"command": command}, output="")
        [one] = (await ask("names_propose", session=session, names=["scan9.pdf"]))["proposals"]
        assert one["becomes"] == "invoice_9.pdf"

    subject.talk(work)
