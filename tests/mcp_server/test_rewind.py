"""Going back over MCP: an agent sees the plan, brings its files back, branches into a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.rewind import EXCLUDED
from fazm_memory.ingest.record_protocol import line_to_draft
from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.mcp_server.tool import TOKENS, character_budget, size
from fazm_memory.store.file_versions import digest_of
from fazm_memory.watch.versions import SECRET_NAME
from tests.files_world import World

from .conftest import Asking, talk


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "world")
    made.write("a.txt", "one")()
    made.begin()
    yield made
    made.close()


def test_an_agent_rewinds_its_files_by_a_plan_and_never_a_persons(world: World) -> None:
    server = MemoryServer(world.memory, tools="full")
    position = world.agent(world.write("a.txt", "two"))

    async def work(ask: Asking) -> dict[str, Any]:
        shown = await ask("session_rewind", session=world.session, to=position, files=True, dry_run=True)
        assert [one["action"] for one in shown["plan"]["files"]] == ["restore"]
        assert world.files() == {"a.txt": b"two"}
        branch = str(world.base / "branch")
        made = await ask("session_fork", session=world.session, at=position, into=branch)
        assert (made["folder"], Path(branch, "a.txt").read_text()) == (branch, "one")
        world.person(world.write("a.txt", "mine"))
        refused = await ask.refused("session_rewind", session=world.session, to=position, files=True)
        assert "a person changed it since" in refused["error"]
        assert world.files() == {"a.txt": b"mine"}
        later = world.agent(world.write("b.txt", "made"))
        return await ask("session_rewind", session=world.session, to=later, files=True)

    done = talk(server, work)
    assert [(one["action"], one["done"]) for one in done["files"]] == [("delete", True)]
    assert done["undo"] is not None
    assert world.files() == {"a.txt": b"mine"}


def test_a_rewind_of_many_files_keeps_to_its_budget_and_counts_the_rest(world: World) -> None:
    server = MemoryServer(world.memory, tools="full")
    many = [world.write(f"a file with a long name number {number}.txt", "new") for number in range(150)]
    position = world.agent(lambda: [one() for one in many])

    async def work(ask: Asking) -> tuple[dict[str, Any], dict[str, Any]]:
        given = {"session": world.session, "to": position, "files": True}
        plan = await ask("session_rewind", **given, dry_run=True)
        return plan, await ask("session_rewind", **given, plan=plan["plan"]["digest"])

    plan, done = talk(server, work)
    assert (
        len(plan["plan"]["files"]) + plan["left_out"]["files"] == sum(plan["plan"]["counts"].values()) == 150
    )
    assert len(done["files"]) + done["left_out"]["files"] == 150
    assert all(size(one) <= character_budget(TOKENS + 200) for one in (plan, done))
    assert list(world.files()) == ["a.txt"]


def test_an_agent_has_files_written_only_beside_a_folder_that_others_reported_of(world: World) -> None:
    server = MemoryServer(world.memory, tools="full")
    claimed, home = world.base / "keys" / "in", world.base / "user"
    (home / "proj").mkdir(parents=True)
    claimed.mkdir(parents=True)
    (claimed / "id.txt").write_text("k")
    world.memory.sessions.open("fazm", key="p", workspace=str(home / "proj"), source="hook")
    world.memory.sessions.open("fazm", key="k", workspace=str(claimed), source="in words of its own")
    for source in ("hook", "cli"):
        line = {"type": "session.open", "session": source, "workspace": str(claimed), "source": source}
        (result,) = world.memory.sessions.record([line_to_draft(json.dumps(line).encode())])
        assert result.error is None

    async def work(ask: Asking) -> None:
        own = (await ask("session_open", workspace=str(claimed), context=False))["session"]
        refused = await ask.refused("session_fork", session=own, into=str(world.base / "keys" / "out"))
        assert "Only an agent says" in refused["error"]
        proj = (await ask("session_open", workspace=str(home / "proj"), context=False))["session"]
        for place in (home / ".config" / "autostart", home / "Library" / "LaunchAgents", world.base / "out"):
            refused = await ask.refused("session_fork", session=proj, into=str(place))
            assert "may not have files written" in refused["error"]
            assert not place.exists()
        assert (await ask("session_fork", session=proj, into=str(home / "other")))["folder"]

    talk(server, work)


def test_a_fork_leaves_out_secrets_for_an_agent_and_excluded_folders_for_everybody(world: World) -> None:
    world.write(".env", "TOKEN=1")()
    world.write("private/x.txt", "not yours")()
    os.utime(world.folder / "private" / "x.txt", ns=(10**18, 10**18))
    world.memory.recording.exclude_folder(str(world.folder / "private"))
    theirs, ours = world.base / "theirs", world.base / "ours"
    results = world.memory.rewind.fork(world.session, into=str(theirs), source="mcp")["manifest"]
    assert {Path(one["path"]).name: one["why"] for one in results["left_out"]} == {
        ".env": SECRET_NAME,
        "x.txt": EXCLUDED,
    }
    assert sorted(one.name for one in theirs.rglob("*")) == ["a.txt"]
    world.memory.rewind.fork(world.session, into=str(ours))
    assert not (ours / "private").exists()
    assert world.versions.read(digest_of(b"not yours")) is None
