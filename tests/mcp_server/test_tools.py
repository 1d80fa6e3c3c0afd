"""Every tool, called through the SDK's own client, which checks answers by their schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fazm_memory.mcp_server import calls
from fazm_memory.mcp_server.calls import TOOLS
from fazm_memory.mcp_server.server import MemoryServer

from .conftest import Asking, OpenServer, talk

CONTRACT = [
    "message_record",
    "evicted_record",
    "usage_record",
    "budget_get",
    "fact_retract",
    "session_archive",
    "session_retitle",
    "artifact_put",
    "artifact_get",
    "session_retries",
    "untrusted_list",
    "habits_get",
    "session_open",
    "session_list",
    "session_state",
    "session_events",
    "session_diff",
    "session_pause",
    "session_resume",
    "session_close",
    "session_fork",
    "session_rewind",
    "session_handoff",
    "handoff_answer",
    "action_record",
    "decision_record",
    "fact_record",
    "pending_add",
    "pending_done",
    "memory_search",
    "memory_context",
    "conventions_get",
    "names_propose",
    "replay_plan",
]


async def tidy(ask: Asking) -> str:
    """A small session of file work; its handle."""
    opened = await ask("session_open", workspace="/w", title="Tidy invoices")
    handle = str(opened["session"])
    for number, vendor in enumerate(("acme", "globex", "initech"), 1):
        new = f"2026-11-0{number}-{vendor}.pdf"
        await ask(
            "action_record",
            session=handle,
            tool="Bash",
            input={"command": f"mv scan{number}.pdf 2026-11-0{number}-{vendor}.pdf"},
            call_id=f"c{number}",
            files=[{"path": new, "change": "renamed", "from": f"{vendor} {number}.11.2026.pdf"}],
        )
    await ask("decision_record", session=handle, what="ISO dates first", why="they sort")
    return handle


def test_the_server_has_exactly_the_tools_of_the_contract(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[str]:
        return [tool.name for tool in (await ask.client.list_tools()).tools]

    assert sorted(talk(server, work)) == sorted(CONTRACT)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_tool_tells_a_model_when_what_it_costs_and_an_example(tool: Any) -> None:
    assert "Costs" in tool.description
    assert "call" in tool.description.lower() or tool.name.endswith(("_record", "_done"))
    examples = tool.description.split("Example: ")[1].split(" or ")
    assert [calls.check_arguments(tool, json.loads(one)) for one in examples] == [None] * len(examples)
    assert tool.title
    assert tool.output_schema["type"] == "object"
    assert not (tool.reads_only and tool.destructive)
    assert all("description" in one or "enum" in one for one in tool.input_schema["properties"].values())


def test_three_calls_are_enough_for_a_memory(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[str, dict[str, Any]]:
        handle = (await ask("session_open", workspace="/w", title="Tidy"))["session"]
        await ask("decision_record", session=handle, what="dates first", why="they sort")
        await ask("session_close", session=handle)
        return handle, await ask("session_open", workspace="/w", title="Tidy more")

    handle, again = talk(server, work)
    assert again["session"] != handle
    assert "dates first" in again["context"]


def test_an_agent_reads_back_what_it_wrote(server: MemoryServer) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        handle = await tidy(ask)
        await ask("fact_record", session=handle, key="vendor", value="ACME")
        first = await ask("pending_add", session=handle, what="the scans of October")
        await ask("pending_add", session=handle, what="the scans of September", id="sep")
        done = await ask("pending_done", session=handle, id=first["id"])
        assert "note" not in done
        for name, note in (
            (first["id"], "was done already"),
            ("spe", "nothing was pending under the name 'spe'"),
        ):
            assert note in (await ask("pending_done", session=handle, id=name))["note"]
            assert note in await ask.text("pending_done", session=handle, id=name)
        return await ask("session_state", session=handle, max_tokens=8000)

    state = talk(server, work)
    assert [one["what"] for one in state["decisions_made"]] == ["ISO dates first"]
    assert [one["id"] for one in state["pending_actions"]] == ["sep"]
    assert state["facts"]["vendor"]["value"] == "ACME"
    assert state["tools_used"] == {"Bash": 3}
    assert len(state["files_modified"]) == 3
    assert state["left_out"] == {}


def test_what_an_agent_says_is_never_the_users_word(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[dict[str, Any]]:
        handle = await tidy(ask)
        refused = await ask.refused("decision_record", session=handle, what="x", trust="user")
        assert "trust" in refused["error"]
        for field in ("source", "actor"):
            refused = await ask.refused("decision_record", session=handle, what="x", **{field: "person"})
            assert field in refused["error"]
        for name in ("Person", " person", "person\u200b"):
            assert "person" in (await ask.refused("session_open", agent=name))["error"]
        await ask("fact_record", session=handle, key="k", value=1, trust="web")
        return list((await ask("session_events", session=handle, max_tokens=8000))["events"])

    events = talk(server, work)
    assert {one["source"] for one in events} == {"mcp"}
    assert {one["actor"] for one in events} == {"agent"}
    assert "user" not in {one["trust"] for one in events}
    assert events[-1]["trust"] == "web"


def test_no_agent_writes_among_the_users_own_facts(server: MemoryServer) -> None:
    server.worker.submit(server.memory.recall.add_fact, "tone", "plain").result()
    facts = server.worker.submit(server.memory.sessions.get, "facts").result()["id"]

    async def work(ask: Asking) -> list[str]:
        results = [
            await ask.refused("fact_record", session=facts, key="tone", value="loud"),
            await ask.refused("fact_record", session="facts", key="tone", value="loud"),
            await ask.refused("session_close", session=facts),
            await ask.refused("session_open", key=facts, workspace="/w"),
        ]
        return [one["error"] for one in results]

    assert all("Only the user" in error for error in talk(server, work))
    kept = server.worker.submit(server.memory.recall.facts, key="tone").result()
    assert [(one["value"], one["trust"]) for one in kept] == [("plain", "user")]


def test_the_same_call_reported_twice_is_one_action(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        handle = (await ask("session_open"))["session"]
        result = {"session": handle, "tool": "Read", "call_id": "c1"}
        return await ask("action_record", **result), await ask("action_record", **result)

    first, second = talk(server, work)
    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert (first["seq"], first["head"]) == (second["seq"], second["head"])


def test_an_agent_is_named_by_its_client_unless_it_says_otherwise(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[str]:
        results = [await ask("session_open"), await ask("session_open", agent="other")]
        return [one["session_info"]["agent"] for one in results]

    assert talk(server, work, name="codex-mcp-client") == ["codex", "other"]


def test_a_key_opens_the_same_session_again(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[str]:
        results = [await ask("session_open", key="mine"), await ask("session_open", key="mine")]
        return [one["session"] for one in results]

    first, second = talk(server, work)
    assert first == second


def test_opening_a_session_again_does_not_say_that_nothing_is_recorded(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[dict[str, Any]]:
        first = await ask("session_open", key="mine", workspace="/w")
        await ask("message_record", session=first["session"], text="File the invoices", **{"from": "user"})
        return [first, await ask("session_open", key="mine", workspace="/w")]

    first, again = talk(server, work)
    assert "nothing is recorded" in first["context"]
    assert again["session_info"]["events"] == 2
    assert again["context"] == ""


def test_a_session_put_aside_is_resumed_with_a_briefing(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        handle = await tidy(ask)
        await ask("session_pause", session=handle, reason="lunch")
        refused = await ask.refused("decision_record", session=handle, what="while away")
        resumed = await ask("session_resume", session=handle)
        await ask("session_close", session=handle)
        return refused, resumed

    refused, resumed = talk(server, work)
    assert "session_resume" in refused["next"]
    assert "all 6 events" in refused["kept"]
    assert resumed["session_info"]["lifecycle"] == "resumed"
    assert "last good step" in resumed["briefing"]


def test_a_question_to_a_person_keeps_the_session_waiting(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        handle = await tidy(ask)
        asked = await ask("session_handoff", session=handle, to="human", note="Delete the doubles?")
        await ask("session_pause", session=handle)
        return asked, await ask.refused("session_resume", session=handle)

    asked, refused = talk(server, work)
    assert refused["open_questions"] == [asked["question"]]


def test_a_branch_stands_where_its_parent_stood(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[str, dict[str, Any], dict[str, Any]]:
        handle = await tidy(ask)
        branch = (await ask("session_fork", session=handle, at=3, title="by vendor"))["session_info"]
        return handle, branch, await ask("session_state", session=branch["id"])

    handle, branch, state = talk(server, work)
    assert (branch["parent"], branch["title"]) == (handle, "by vendor")
    assert len(state["files_modified"]) == 2


def test_a_rewound_session_goes_on_from_there_and_erases_nothing(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        handle = await tidy(ask)
        await ask("session_rewind", session=handle, to=2, reason="wrong folder")
        return await ask("session_state", session=handle), await ask("session_events", session=handle)

    state, log = talk(server, work)
    assert len(state["files_modified"]) == 1
    assert [one["kind"] for one in log["events"]] == ["session.open", *["action"] * 3, "decision", "rewind"]


def test_a_diff_tells_what_changed_and_why(server: MemoryServer) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        return await ask("session_diff", **{"session": await tidy(ask), "from": 2, "to": 5})

    change = talk(server, work)
    assert len(change["added"]["files_modified"]) == 2
    assert "ISO dates first" in str(change["because"])


def test_events_are_paged_without_loss_whatever_the_budget(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[list[int], list[int], bool]:
        handle = await tidy(ask)
        await ask("action_record", session=handle, tool="Read", output="long " * 2000)
        seqs: list[int] = []
        sizes: list[int] = []
        cut = False
        cursor: dict[str, str] = {}
        while True:
            page = await ask("session_events", session=handle, limit=2, max_tokens=200, **cursor)
            seqs += [one["seq"] for one in page["events"]]
            cut = cut or any(one.get("cut") for one in page["events"])
            sizes.append(len(page["events"]))
            if page["next_cursor"] is None:
                return seqs, sizes, cut
            cursor = {"cursor": page["next_cursor"]}

    seqs, sizes, cut = talk(server, work)
    assert seqs == list(range(6))
    assert max(sizes) <= 2
    assert cut


def test_the_last_events_and_one_kind_can_be_asked_for(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[list[int], list[str]]:
        handle = await tidy(ask)
        last = await ask("session_events", session=handle, last=2)
        kind = await ask("session_events", session=handle, kind="decision")
        return [one["seq"] for one in last["events"]], [one["kind"] for one in kind["events"]]

    assert talk(server, work) == ([3, 4], ["decision"])


def test_sessions_are_paged_without_loss(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[list[str], list[str]]:
        made = [(await ask("session_open", title=f"n{n}", context=False))["session"] for n in range(7)]
        listed: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await ask("session_list", limit=3, **cursor)
            listed += [one["id"] for one in page["sessions"]]
            if page["next_cursor"] is None:
                return made, listed
            cursor = {"cursor": page["next_cursor"]}

    made, listed = talk(server, work)
    assert listed == made[::-1]


def test_search_finds_across_sessions_and_pages(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[list[int], list[int]]:
        handle = await tidy(ask)
        whole = await ask("memory_search", query="pdf", limit=10)
        first = await ask("memory_search", query="pdf", limit=2)
        rest = await ask("memory_search", query="pdf", limit=2, cursor=first["next_cursor"])
        assert {one["session"] for one in whole["hits"]} == {handle}
        return [one["seq"] for one in whole["hits"]], [one["seq"] for one in (*first["hits"], *rest["hits"])]

    whole, paged = talk(server, work)
    assert len(whole) == 3
    assert paged == whole


def test_a_search_says_what_is_no_filter(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[str]:
        await tidy(ask)
        return list((await ask("memory_search", query="pdf since:soon"))["notes"])

    (note,) = talk(server, work)
    assert note.startswith("since:soon is not a date")


def test_the_context_keeps_to_its_budget(server: MemoryServer) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        await tidy(ask)
        return await ask("memory_context", workspace="/w", max_tokens=300)

    results = talk(server, work)
    assert results["tokens"] <= 300
    assert "ISO dates first" in results["text"]


def test_conventions_of_a_session_name_new_files(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        handle = await tidy(ask)
        names = ["hooli 4.11.2026.pdf"]
        return await ask("conventions_get", session=handle), await ask(
            "names_propose", session=handle, names=names
        )

    learned, proposed = talk(server, work)
    assert learned["conventions"][0]["support"] == 3
    assert proposed["proposals"][0]["becomes"].endswith("2026-11-04-hooli.pdf")


def test_a_replay_plan_has_the_steps_that_count(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[list[str], list[int]]:
        handle = await tidy(ask)
        await ask("action_record", session=handle, tool="Bash", input={"command": "false"}, error="exit 1")
        first = await ask("replay_plan", session=handle, limit=3)
        rest = await ask("replay_plan", session=handle, limit=3, cursor=first["next_cursor"])
        steps = [*first["steps"], *rest["steps"]]
        return [one["kind"] for one in steps], [first["total"]]

    assert talk(server, work) == (["action", "action", "action", "decision"], [4])


def test_a_large_state_is_cut_to_the_budget_and_says_what_is_missing(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], str]:
        handle = await tidy(ask)
        files = [{"path": f"/w/{'deep/' * 10}{n}.txt", "change": "created"} for n in range(200)]
        await ask("action_record", session=handle, tool="Write", files=files)
        return await ask("session_state", session=handle), await ask.text("session_state", session=handle)

    state, text = talk(server, work)
    assert len(state["files_modified"]) + state["left_out"]["files_modified"] == 203
    assert state["files_modified"][-1]["path"].endswith("/199.txt")
    assert "Left out" in text
    assert len(text) < 6000


def test_secrets_do_not_get_in(server: MemoryServer) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    async def work(ask: Asking) -> str:
        handle = (await ask("session_open", title=f"token {secret}"))["session"]
        await ask("action_record", session=handle, tool="Bash", input={"command": f"curl -H {secret}"})
        fork = (await ask("session_fork", session=handle, title=f"again {secret}"))["session"]
        return str([fork, await ask("session_events", session=handle, max_tokens=8000)])

    results = talk(server, work)
    assert secret not in results
    assert "REDACTED" in results


def test_an_unknown_argument_is_answered_with_the_valid_ones_and_the_nearest(server: MemoryServer) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        handle = (await ask("session_open"))["session"]
        return await ask.refused("decision_record", session=handle, what="x", reason_why="y", wy="z")

    refused = talk(server, work)
    assert (refused["unknown"], refused["valid"][:4]) == (
        "reason_why",
        ["session", "what", "why", "alternatives"],
    )
    assert "Valid arguments: session, what, why" in refused["hint"]


def test_a_misspelt_required_argument_is_named_before_the_missing_one(server: MemoryServer) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        handle = (await ask("session_open"))["session"]
        return await ask.refused("pending_add", session=handle, wat="x")

    refused = talk(server, work)
    assert (refused["unknown"], refused["nearest"]) == ("wat", "what")


def test_the_nearest_argument_is_named(server: MemoryServer) -> None:
    refused = talk(server, lambda ask: ask.refused("session_open", worksapce="/w"))
    assert refused["nearest"] == "workspace"
    assert 'no argument "worksapce"' in refused["error"]


def test_an_unknown_word_for_an_argument_is_answered_with_those_it_takes(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        session = (await ask("session_open", workspace="/w"))["session"]
        return (
            await ask.refused("session_state", session=session, keys=["tools_used", "file_modified"]),
            await ask.refused("message_record", session=session, text="x", **{"from": "person"}),
        )

    keys, sender = talk(server, work)
    assert (keys["nearest"], "tools_used" in keys["valid"]) == ("files_modified", True)
    assert keys["error"] == 'session_state has no "file_modified" for keys.1.'
    assert sender["valid"] == ["agent", "user"]


def test_a_refused_move_names_the_call_that_must_come_first(server: MemoryServer) -> None:
    async def work(ask: Asking) -> None:
        session = (await ask("session_open", workspace="/w"))["session"]
        assert "session_close" in (await ask.refused("session_archive", session=session))["next"]
        assert "at work" in (await ask.refused("session_resume", session=session))["next"]
        await ask("session_close", session=session)
        assert "session_resume" in (await ask.refused("session_pause", session=session))["next"]
        await ask("session_archive", session=session)
        assert "session_archive with undo" in (await ask.refused("session_resume", session=session))["next"]
        restored = await ask("session_archive", session=session, undo=True)
        assert restored["session_info"]["lifecycle"] == "closed"
        assert (await ask("session_resume", session=session))["session_info"]["lifecycle"] == "resumed"

    talk(server, work)


def test_taking_back_an_unknown_fact_is_recorded_with_a_note(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        session = (await ask("session_open", workspace="/w"))["session"]
        unknown = await ask("fact_retract", session=session, key="port")
        await ask("fact_record", session=session, key="port", value=80)
        return unknown, await ask("fact_retract", session=session, key="port")

    unknown, known = talk(server, work)
    assert (unknown["note"], "note" in known) == ("there was no fact 'port'", False)


def test_items_of_an_artifact_may_be_texts_and_are_added_without_an_id(server: MemoryServer) -> None:
    async def work(ask: Asking) -> None:
        session = (await ask("session_open", workspace="/w"))["session"]
        put = {"session": session, "name": "log"}
        await ask("artifact_put", **put, form="progress_log", items=["began", {"text": "read", "id": "3"}])
        added: list[dict[str, Any]] = [{"text": "wrote"}, {"text": "checked", "status": "completed"}]
        await ask("artifact_put", **put, set=added)
        [row] = (await ask("artifact_get", session=session, name="log"))["artifacts"]
        items = [(item["id"], item["text"], item["status"]) for item in row["items"]]
        assert items == [
            ("1", "began", "pending"), ("3", "read", "pending"),
            ("2", "wrote", "pending"), ("4", "checked", "completed"),
        ]  # fmt: skip
        empty = await ask.refused("artifact_put", **put, set=[{"status": "completed"}])
        assert "needs a text" in empty["error"]
        missing = await ask.refused("artifact_get", session=session, name="logs")
        assert missing["hint"] == 'It has: "log".'

    talk(server, work)


def test_what_is_missing_in_a_known_session_is_no_matter_of_its_handle(server: MemoryServer) -> None:
    async def work(ask: Asking) -> None:
        session = (await ask("session_open", workspace="/w"))["session"]
        late = await ask.refused("session_state", session=session, at="event 9")
        assert late["error"] == f"session {session[:8]} has no event 9"
        assert late["next"] == "Correct the arguments and call again."
        unknown = await ask.refused("session_state", session="0" * 32)
        assert "session_list" in unknown["next"]

    talk(server, work)


def test_every_part_of_the_state_can_be_asked_for(server: MemoryServer) -> None:
    async def work(ask: Asking) -> None:
        session = (await ask("session_open", workspace="/w", title="Tidy"))["session"]
        whole = await ask("session_state", session=session)
        names = [name for name in whole if name not in ("session", "omitted", "left_out")]
        assert (await ask("session_state", session=session, keys=names)).keys() == whole.keys()

    talk(server, work)


@pytest.mark.parametrize(
    ("tools", "tool", "given", "nearest"),
    [
        ("small", "session_note", {"kind": "decision", "what": "x"}, "text"),
        ("small", "session_read", {"session": "latest", "what": "files"}, "view"),
        ("small", "session_read", {"session": "latest", "at": 3}, "to"),
        ("full", "decision_record", {"session": "s", "text": "x"}, "what"),
        ("full", "action_record", {"session": "s", "tool": "Bash", "command": "ls"}, "input"),
    ],
)
def test_a_name_that_another_call_has_is_answered_with_the_one_of_this(
    open_server: OpenServer, tools: str, tool: str, given: dict[str, Any], nearest: str
) -> None:
    async def work(ask: Asking) -> dict[str, Any]:
        return await ask.refused(tool, **given)

    assert talk(open_server(tools=tools), work)["nearest"] == nearest
