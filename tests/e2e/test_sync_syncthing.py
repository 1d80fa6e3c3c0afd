"""Sync over a folder that Syncthing shares between two machines: late, and in any order."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.object_store import free_port
from tests.sync.machines import Machine
from tests.sync.test_replication import work

pytestmark = pytest.mark.e2e
PROGRAM = shutil.which("syncthing")
FOLDER = "vault"
PATIENCE = 120.0  # seconds
CONFIG = """<configuration version="35">
  <folder id="{folder}" path="{path}" type="sendreceive" rescanIntervalS="3600" fsWatcherEnabled="false">
    {members}
  </folder>
  {devices}
  <gui enabled="true"><address>127.0.0.1:{gui}</address><apikey>key</apikey></gui>
  <options>
    <listenAddress>tcp://127.0.0.1:{port}</listenAddress>
    <globalAnnounceEnabled>false</globalAnnounceEnabled>
    <localAnnounceEnabled>false</localAnnounceEnabled>
    <relaysEnabled>false</relaysEnabled>
    <natEnabled>false</natEnabled>
    <startBrowser>false</startBrowser>
    <urAccepted>-1</urAccepted>
    <crashReportingEnabled>false</crashReportingEnabled>
    <autoUpgradeIntervalH>0</autoUpgradeIntervalH>
    <reconnectionIntervalS>1</reconnectionIntervalS>
  </options>
</configuration>
"""


class Peer:
    """One Syncthing on loopback, without discovery and relays, and the folder that it shares."""

    def __init__(self, home: Path) -> None:
        self.home, self.shared = home, home / "shared"
        (self.shared / ".stfolder").mkdir(parents=True)
        self.port, self.gui = free_port(), free_port()
        self.environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "STNOUPGRADE": "1"}
        self._run("generate", f"--home={home}", "--no-default-folder", "--skip-port-probing")
        self.id = self._run(f"--home={home}", "--device-id").strip()
        self.process: subprocess.Popen[bytes] | None = None

    def _run(self, *words: str) -> str:
        assert PROGRAM is not None
        done = subprocess.run(
            [PROGRAM, *words], env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def start(self, peers: list[Peer]) -> None:
        assert PROGRAM is not None
        config = CONFIG.format(
            folder=FOLDER, path=self.shared, port=self.port, gui=self.gui,
            members="".join(f'<device id="{peer.id}"></device>' for peer in peers),
            devices="".join(
                f'<device id="{peer.id}" name="{peer.home.name}"><address>tcp://127.0.0.1:{peer.port}</address>'
                "</device>"
                for peer in peers
            ),
        )  # fmt: skip
        (self.home / "config.xml").write_text(config)
        with (self.home / "syncthing.log").open("wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", f"--home={self.home}", "--no-browser", "--no-restart", "--no-upgrade"],
                # Without STMONITORED a second process does the work, and outlives the first.
                env={**self.environment, "STMONITORED": "yes"}, stdout=log, stderr=log,
            )  # fmt: skip

    def ask(self, path: str, method: str = "GET") -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.gui}/rest/{path}", method=method)
        request.add_header("X-API-Key", "key")
        with urllib.request.urlopen(request, timeout=30) as answer:
            data = answer.read()
        return json.loads(data) if data.strip() else None

    def connected(self, other: Peer) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.home / "syncthing.log").read_text()[-2000:]
        try:
            return bool(self.ask("system/connections")["connections"][other.id]["connected"])
        except (OSError, KeyError, TypeError):  # it is starting
            return False

    def deliver(self, other: Peer) -> None:
        """Scan the folder and wait until the other one has all of it."""
        self.ask(f"db/scan?folder={FOLDER}", "POST")
        until(lambda: self._files() == other._files(), "the folders are the same")

    def _files(self) -> dict[str, bytes]:
        found = (path for path in self.shared.rglob("*") if path.is_file() and not path.name.startswith("."))
        try:
            return {str(path.relative_to(self.shared)): path.read_bytes() for path in found}
        except FileNotFoundError:  # deleted while it was read
            return {"": b""}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def until(holds: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.2)


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[list[Peer]]:
    if PROGRAM is None:
        pytest.skip("syncthing is not installed (Debian: apt-get install syncthing)")
    made = [Peer(tmp_path / name) for name in ("here", "there")]
    try:
        for peer in made:
            peer.start(made)
        until(lambda: made[0].connected(made[1]) and made[1].connected(made[0]), "the peers are connected")
        yield made
    finally:
        for peer in made:
            peer.close()


def test_two_machines_share_a_memory_and_forget_together(peers: list[Peer], tmp_path: Path) -> None:
    here, there = peers
    mini, laptop = Machine(tmp_path, "mini"), Machine(tmp_path, "laptop")
    recovery = mini.sync.init(folder=str(here.shared), name="mini")["recovery_key"]
    session = work(mini, "a rhinoceros in the garden")
    mini.sync.round()
    here.deliver(there)
    laptop.sync.join(recovery=recovery, folder=str(there.shared), name="laptop")
    assert laptop.states() == mini.states()
    fork = laptop.rewind.fork(session)["id"]
    laptop.say(fork, "prompt", text="on the laptop")
    laptop.maintenance.forget(match="rhinoceros")
    laptop.sync.round()
    for _ in range(2):
        there.deliver(here)
        assert mini.sync.round()["problems"] == []
        here.deliver(there)
        assert laptop.sync.round()["problems"] == []
    assert laptop.states() == mini.states()
    assert "rhinoceros" not in mini.texts()
    for machine in (mini, laptop):
        assert machine.maintenance.verify().clean
        machine.close()
