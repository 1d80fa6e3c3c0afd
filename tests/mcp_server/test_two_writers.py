"""Two agents at once: nothing lost, nothing interleaved in a turn, and whoever came second is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .conftest import Asking, OpenServer, refusal, talk

EACH = 15


async def opened(ask: Asking, **given: Any) -> str:
    return str((await ask("session_open", context=False, **given))["session"])


async def decisions(ask: Asking, session: str) -> list[dict[str, Any]]:
    page = await ask("session_events", session=session, kind="decision", limit=200, max_tokens=8000)
    assert page["next_cursor"] is None
    return list(page["events"])


def test_two_agents_in_sessions_of_their_own_do_not_meet(open_server: OpenServer) -> None:
    def agent(name: str) -> list[dict[str, Any]]:
        async def work(ask: Asking) -> list[dict[str, Any]]:
            session = await opened(ask)
            for number in range(EACH):
                await ask("decision_record", session=session, what=f"{name} {number}", turn=number)
            return await decisions(ask, session)

        return talk(open_server(), work, name=name)

    with ThreadPoolExecutor(2) as both:
        for name, events in zip(("ada", "bob"), both.map(agent, ("ada", "bob")), strict=True):
            assert [one["payload"]["what"] for one in events] == [f"{name} {n}" for n in range(EACH)]
            assert [one["turn"] for one in events] == list(range(EACH))
            assert [one["seq"] for one in events] == list(range(1, EACH + 1))


def test_two_agents_in_one_session_lose_nothing_and_keep_their_order(open_server: OpenServer) -> None:
    session = talk(open_server(), lambda ask: opened(ask))

    def agent(name: str) -> list[int]:
        async def work(ask: Asking) -> list[int]:
            results = [await ask("decision_record", session=session, what=f"{name} {n}") for n in range(EACH)]
            return [one["seq"] for one in results]

        return talk(open_server(), work, name=name)

    with ThreadPoolExecutor(2) as both:
        ada, bob = both.map(agent, ("ada", "bob"))
    events = talk(open_server(), lambda ask: decisions(ask, session))
    assert sorted([*ada, *bob]) == list(range(1, 2 * EACH + 1))
    for name, seqs in (("ada", ada), ("bob", bob)):
        reply = {one["seq"]: one["payload"]["what"] for one in events}
        assert [reply[seq] for seq in seqs] == [f"{name} {n}" for n in range(EACH)]


def test_with_an_expected_position_nobody_writes_past_what_they_have_not_seen(
    open_server: OpenServer,
) -> None:
    session = talk(open_server(), lambda ask: opened(ask))

    def agent(name: str) -> list[tuple[int, int]]:
        """Appends at the head it knows; told of a newer one, it tries again there."""

        async def work(ask: Asking) -> list[tuple[int, int]]:
            head, written = 1, []
            while len(written) < EACH:
                given = {"session": session, "what": f"{name} {len(written)}", "expected_seq": head}
                result = await ask.client.call_tool("decision_record", given)
                answer = refusal(result) if result.is_error else result.structured_content
                assert isinstance(answer, dict)
                if result.is_error:
                    assert answer["code"] == 8
                    assert answer["head"] > head
                else:
                    written.append((head, answer["seq"]))
                head = answer["head"]
            return written

        return talk(open_server(), work, name=name)

    with ThreadPoolExecutor(2) as both:
        ada, bob = both.map(agent, ("ada", "bob"))
    assert all(expected == got for expected, got in (*ada, *bob))
    events = talk(open_server(), lambda ask: decisions(ask, session))
    messages = [one["payload"]["what"] for one in events]
    assert len(messages) == 2 * EACH
    for name in ("ada", "bob"):
        assert [one for one in messages if one.startswith(name)] == [f"{name} {n}" for n in range(EACH)]


def transcript(home: Path, session: str, count: int) -> None:
    """What Claude Code would have written of a conversation with this many prompts."""
    folder = home / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    at = "2026-11-15T09:00:00.000Z"
    lines = [
        {"type": "user", "uuid": f"u{n}", "promptId": f"p{n}", "timestamp": at, "cwd": "/w",
         "sessionId": session, "message": {"role": "user", "content": f"prompt {n}"}}
        for n in range(count)
    ]  # fmt: skip
    (folder / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_two_agents_and_the_companion_write_one_session_at_once(
    open_server: OpenServer, tmp_path: Path
) -> None:
    key = "5f0c1c5e-0d55-4a35-9d35-00000000000a"
    session = talk(open_server(), lambda ask: opened(ask, key=key, agent="claude-code"))
    transcript(tmp_path / "user", key, EACH)

    def agent(name: str) -> list[int]:
        async def work(ask: Asking) -> list[int]:
            results = [await ask("decision_record", session=session, what=f"{name} {n}") for n in range(EACH)]
            return [one["seq"] for one in results]

        return talk(open_server(), work, name=name)

    def companion() -> None:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "user"),
            "FAZM_MEMORY_HOME": str(tmp_path / "memory"),
            "FAZM_MEMORY_KEY": "file",
        }
        command = [sys.executable, "-m", "fazm_memory.cli.main", "run", "--once"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor(3) as all_three:
        taking_in = all_three.submit(companion)
        ada, bob = all_three.map(agent, ("ada", "bob"))
        taking_in.result()

    memory = open_server().memory
    events = list(memory.history.events(session))
    assert [one["seq"] for one in events] == list(range(len(events)))
    for name, seqs in (("ada", ada), ("bob", bob)):
        assert [events[seq]["payload"]["what"] for seq in seqs] == [f"{name} {n}" for n in range(EACH)]
    prompts = [one for one in events if one["kind"] == "prompt"]
    assert [one["payload"]["text"] for one in prompts] == [f"prompt {n}" for n in range(EACH)]
    assert [one["turn"] for one in events] == sorted(one["turn"] for one in events)
    assert memory.maintenance.verify().clean


def test_whoever_comes_second_is_reported_the_head_and_nothing_is_recorded(open_server: OpenServer) -> None:
    async def work(ask: Asking) -> tuple[dict[str, Any], list[str]]:
        session = await opened(ask)
        await ask("decision_record", session=session, what="first", expected_seq=1)
        refused = await ask.refused("decision_record", session=session, what="second", expected_seq=1)
        again = await ask.refused("session_close", session=session, expected_seq=1)
        assert again["head"] == 2
        await ask("decision_record", session=session, what="second", expected_seq=refused["head"])
        return refused, [one["payload"]["what"] for one in await decisions(ask, session)]

    refused, messages = talk(open_server(), work)
    assert (refused["head"], refused["title"]) == (2, "The session has changed")
    assert "session_events" in refused["next"]
    assert messages == ["first", "second"]


def test_nothing_is_recorded_while_the_user_has_paused_it(open_server: OpenServer) -> None:
    server = open_server()

    async def work(ask: Asking) -> dict[str, Any]:
        session = await opened(ask)
        server.worker.submit(server.memory.recording.pause).result()
        return await ask.refused("decision_record", session=session, what="unseen")

    refused = talk(server, work)
    assert refused["title"] == "Recording is paused"
    assert "do not retry" in refused["next"]
