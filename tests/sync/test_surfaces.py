"""Where people see other machines: the page's data, the menu's status, and the answers to agents."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from fazm_memory.cli.main import main
from fazm_memory.errors import (
    Declined,
    InvalidInput,
    InvalidRequest,
    NotFound,
    StoreBusy,
    SyncRefused,
    SyncUnavailable,
)
from fazm_memory.mcp_server.calls import Caller
from fazm_memory.mcp_server.reading_tools import memory_search
from fazm_memory.mcp_server.session_tools import session_list
from fazm_memory.menubar.status import SystemState, gather_status
from fazm_memory.paths import exclusive_lock
from fazm_memory.sync import exporter
from fazm_memory.sync.transports import FolderTransport, ObjectStoreTransport, place_of
from fazm_memory.sync.vault import Vault
from fazm_memory.web import reading, settings
from fazm_memory.web.requests import JsonBody, QueryParameters
from tests.sync.machines import Machine, Machines
from tests.sync.test_replication import work


def test_the_timeline_names_machines_and_is_filtered_by_them(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    theirs = work(mini)
    machines.settle()
    own = work(laptop, "Water the plants")
    assert mini.timeline.session_page()["devices"] == []
    page = laptop.timeline.session_page()
    assert page["devices"] == ["here", "mini"]
    assert {row["id"]: row["device"] for row in page["items"]} == {theirs: "mini", own: None}
    for device, expected in (("mini", [theirs]), ("here", [own]), ("studio", [])):
        found = reading.sessions(laptop, QueryParameters({"device": device}))
        assert [row["id"] for row in found["items"]] == expected


def test_the_settings_show_sync_and_sync_on_request(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini)
    assert settings.settings(mini, QueryParameters({}))["sync"]["name"] == "mini"
    answer = settings.sync(mini, JsonBody({"files": True}))
    assert answer["report"]["exported"] == 5
    assert answer["sync"]["files"]["on"]
    assert settings.sync(laptop, JsonBody({}))["report"]["imported"] == 5
    devices = {row["name"]: row for row in laptop.sync.status()["devices"]}
    assert devices["mini"]["synced_at"] is not None


def test_the_menu_says_what_is_wrong(machines: Machines) -> None:
    mini = machines.add("mini")
    calm = gather_status(mini, SystemState()).sync
    assert calm is not None
    assert calm.last_ok is not None
    assert calm.trouble is None
    shutil.move(machines.folder, machines.folder.with_name("unplugged"))
    with pytest.raises(SyncUnavailable):
        mini.sync.round()
    broken = gather_status(mini, SystemState()).sync
    assert broken is not None
    assert "not there" in str(broken.trouble)
    assert mini.sync.status()["error_at"] is not None


def test_a_vault_that_cannot_be_written_is_not_made(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini = Machine(machines.root, "mini")
    machines.all.append(mini)

    def full(*_: object) -> str:
        raise SyncUnavailable("No space left on device.")

    with monkeypatch.context() as broken:
        broken.setattr(FolderTransport, "put", full)
        with pytest.raises(SyncUnavailable):
            mini.sync.init(folder=str(machines.folder))
    assert not mini.sync.active
    assert mini.sync.init(folder=str(machines.folder))["recovery_key"]


def test_an_object_store_without_credentials_is_refused_before_it_is_asked(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    mini = Machine(machines.root, "mini")
    machines.all.append(mini)
    with pytest.raises(InvalidRequest, match="no credentials"):
        mini.sync.init(url="s3://bucket/memory")


def test_credentials_in_the_url_are_not_shown_with_it() -> None:
    place = place_of(
        None, "s3://b/memory?access_key_id=key&secret_access_key=hidden&endpoint=http://127.0.0.1:9"
    )
    assert place["url"] == "s3://b/memory?endpoint=http://127.0.0.1:9"
    assert (place["options"]["access_key_id"], place["options"]["secret_access_key"]) == ("key", "hidden")


def test_an_object_store_that_does_not_answer_is_named_in_a_few_words() -> None:
    options = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
    transport = ObjectStoreTransport("s3://bucket/memory?endpoint=http://127.0.0.1:9", options)
    with pytest.raises(SyncUnavailable) as caught:
        transport.get("name")
    assert caught.value.message == "s3://bucket/memory does not answer."


def test_the_recovery_key_is_shown_before_an_upload_that_fails(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mini = Machine(machines.root, "mini")
    machines.all.append(mini)
    work(mini)
    put = FolderTransport.put

    def full(folder: FolderTransport, name: str, data: bytes) -> str:
        if "/o/" in name:
            raise SyncUnavailable("No space left on device.")
        return put(folder, name, data)

    monkeypatch.setattr(FolderTransport, "put", full)
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(mini.config.home))
    monkeypatch.setenv("FAZM_MEMORY_KEY", "file")
    assert main(["sync", "init", "--folder", str(machines.folder), "--json"]) == SyncUnavailable.exit_code
    key = json.loads(capsys.readouterr().out)["recovery_key"]
    laptop = Machine(machines.root, "laptop")
    machines.all.append(laptop)
    assert laptop.sync.join(recovery=key, folder=str(machines.folder))["problems"] == []


def test_a_second_round_on_the_page_is_refused_and_a_rename_is_not(machines: Machines) -> None:
    mini = machines.add("mini")
    with exclusive_lock(mini.config.home / "sync"):
        with pytest.raises(StoreBusy):
            step(mini)
        step(mini, do="rename", name="studio")
    step(mini)
    assert mini.sync.status()["name"] == "studio"


def test_a_machine_that_was_removed_says_so(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    mini.sync.remove("laptop")
    with pytest.raises(SyncRefused):
        laptop.sync.round()
    assert "was removed" in laptop.sync.status()["error"]
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop")
    assert laptop.sync.status()["error"] is None
    laptop.sync.leave()
    assert laptop.sync.status() == {"active": False, "error": None}


def test_a_search_hit_says_on_which_machine_it_was_recorded(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, "Tidy the zebra folder")
    machines.settle()
    assert [hit["device"] for hit in laptop.recall.search("zebra")][:1] == ["mini"]


def test_mcp_says_on_which_machine_a_session_was_recorded(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, "Tidy the zebra folder")
    machines.settle()
    for machine, named in ((laptop, True), (mini, False)):
        caller = Caller(machine)
        for answer in (session_list(caller, {}), memory_search(caller, {"query": "zebra"})):
            assert ('on "mini"' in answer.text) is named


def step(machine: Machine, **body: object) -> dict[str, Any]:
    return settings.sync(machine, JsonBody(body))


def test_a_vault_is_made_joined_and_left_on_the_page(machines: Machines) -> None:
    mini, laptop = Machine(machines.root, "mini"), Machine(machines.root, "laptop")
    machines.all += [mini, laptop]
    session = work(mini)
    key = step(mini, do="init", place=str(machines.folder), name="mini")["recovery_key"]
    assert mini.sync.status()["devices"][0]["uploads"] == 0  # left to the companion
    step(mini)
    joined = step(laptop, do="join", place=str(machines.folder), name="laptop", key=key)
    assert joined["sync"]["name"] == "laptop"
    assert step(laptop)["report"]["imported"] == 5
    assert laptop.sessions.get(session)["device"] == "mini"
    assert step(laptop, do="rename", name="kitchen")["sync"]["name"] == "kitchen"
    step(mini)
    device = next(row["id"] for row in mini.sync.devices() if row["name"] == "kitchen")
    assert step(mini, do="remove", device=device)["removed"] == "kitchen"
    assert step(mini, do="leave")["announced"]
    assert step(mini, do="init", place=str(machines.root / "mini"))["sync"]["active"]
    with pytest.raises(InvalidInput):
        step(mini, do="nothing")


def test_a_machine_is_paired_on_the_page(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), Machine(machines.root, "laptop")
    machines.all.append(laptop)
    code = step(mini, do="pair")["code"]
    assert step(mini, do="request", code=code)["request"] is None
    with pytest.raises(NotFound):
        step(laptop, do="answer")
    step(laptop, do="ask", place=str(machines.folder), name="laptop", code=code)
    request = step(mini, do="request", code=code)["request"]
    assert request["name"] == "laptop"
    assert step(laptop, do="answer")["fingerprint"] == request["fingerprint"]  # before anybody confirms
    assert not step(laptop, do="accepted")["accepted"]
    with pytest.raises(NotFound):
        step(laptop, do="finish")
    with pytest.raises(Declined):
        step(mini, do="confirm", code=code, fingerprint="another")
    step(mini, do="confirm", code=code, fingerprint=request["fingerprint"])
    assert step(laptop, do="accepted")["accepted"]
    assert step(laptop, do="finish")["sync"]["active"]
    machines.settle()
    assert {row["name"] for row in mini.sync.devices()} == {"mini", "laptop"}


def test_an_interrupted_first_sync_says_how_far_it_is_and_goes_on(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini = machines.add("mini")
    for number in range(3):
        work(mini, f"task {number}")
    monkeypatch.setattr(exporter, "BATCH_EVENTS", 5)
    monkeypatch.setattr("fazm_memory.sync.vault.AHEAD", 1)
    with monkeypatch.context() as broken:

        def fail(*_: object, **__: object) -> None:
            raise SyncUnavailable("The network is gone.")

        broken.setattr("fazm_memory.sync.vault.Vault._put", interrupted(1, Vault._put, fail))
        with pytest.raises(SyncUnavailable):
            mini.sync.round()
    progress = mini.sync.status()["progress"]
    assert (progress["doing"], progress["done"], progress["total"]) == ("uploading", 5, 15)
    newest = mini.store.sessions.listing(limit=1)[0].id
    laptop = machines.add("laptop")
    assert set(laptop.states()) == {newest}
    assert mini.sync.round()["exported"] == 10
    assert mini.sync.status()["progress"] is None
    done: list[int] = []
    laptop.sync.round(progress=done.append)
    assert done == [5, 10]
    assert laptop.states() == mini.states()


def interrupted(after: int, work: Callable[..., Any], fail: Callable[..., Any]) -> Callable[..., Any]:
    """`work` for some calls, then `fail`."""
    calls = iter([work] * after)
    return lambda *args, **kwargs: next(calls, fail)(*args, **kwargs)
