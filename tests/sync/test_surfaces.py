"""Where people see other machines: the page's data, the menu's status, and the answers to agents."""

from __future__ import annotations

import shutil

import pytest

from fazm_memory.errors import SyncUnavailable
from fazm_memory.menubar.status import SystemState, gather_status
from fazm_memory.web import reading, settings
from fazm_memory.web.requests import JsonBody, QueryParameters
from tests.sync.machines import Machines
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


def test_a_search_hit_says_on_which_machine_it_was_recorded(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, "Tidy the zebra folder")
    machines.settle()
    assert [hit["device"] for hit in laptop.recall.search("zebra")][:1] == ["mini"]
