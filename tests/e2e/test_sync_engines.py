"""Sync over real object stores: SeaweedFS, and rclone's server, which ignores conditional writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.object_store import CREDENTIALS, rclone, seaweedfs, serve
from fazm_memory.errors import SyncUnavailable
from tests.sync.machines import Machine
from tests.sync.test_files import begin, edit, folder_of
from tests.sync.test_replication import work

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[seaweedfs, rclone], ids=["seaweedfs", "rclone"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with serve(request.param, tmp_path / "server") as found:
        yield found


def test_two_machines_share_a_memory_and_forget_together(
    url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    mini, laptop = Machine(tmp_path, "mini"), Machine(tmp_path, "laptop")
    made = mini.sync.init(url=url, name="mini")
    assert made["conditional_puts"] is ("seaweedfs" in request.node.name)
    session = work(mini, "a rhinoceros in the garden")
    mini.sync.round()
    laptop.sync.join(recovery=made["recovery_key"], url=url, name="laptop")
    assert laptop.states() == mini.states()
    fork = laptop.rewind.fork(session)["id"]
    laptop.say(fork, "prompt", text="on the laptop")
    laptop.maintenance.forget(match="rhinoceros")
    for machine in (laptop, mini, laptop, mini):
        assert machine.sync.round()["problems"] == []
    assert laptop.states() == mini.states()
    assert "rhinoceros" not in mini.texts()
    for machine in (mini, laptop):
        assert machine.maintenance.verify().clean
        machine.close()


def test_an_idle_round_is_one_request(url: str, tmp_path: Path) -> None:
    mini, laptop = Machine(tmp_path, "mini"), Machine(tmp_path, "laptop")
    recovery = mini.sync.init(url=url, name="mini")["recovery_key"]
    laptop.sync.join(recovery=recovery, url=url, name="laptop")
    session = work(mini)
    for number in range(20):
        mini.say(session, "decision", what=f"decision {number}")
        mini.sync.round()
    for machine in (laptop, mini, laptop, mini):
        machine.sync.round()
    requests = laptop.sync.round()["requests"]
    assert {name: count for name, count in requests.items() if count} == {"lists": 1}
    for machine in (mini, laptop):
        machine.close()


def test_file_versions_travel(url: str, tmp_path: Path) -> None:
    mini, laptop = Machine(tmp_path, "mini"), Machine(tmp_path, "laptop")
    recovery = mini.sync.init(url=url, name="mini", files=True)["recovery_key"]
    session = begin(mini)
    seqs = [edit(mini, session, f"{nth}.txt", "1", f"{nth} and more") for nth in range(20)]
    mini.sync.round()
    report = laptop.sync.join(recovery=recovery, url=url, name="laptop", files=True)
    assert (report["files"], report["problems"]) == (40, [])
    folder_of(laptop)
    laptop.rewind.apply(session, seqs[0], files=True)
    assert {path.read_text() for path in folder_of(laptop).iterdir()} == {"1"}
    for machine in (mini, laptop):
        machine.close()


def test_wrong_credentials_are_named(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(SyncUnavailable, match="refuses the credentials"):
        Machine(tmp_path, "mini").sync.init(url=url, name="mini")
