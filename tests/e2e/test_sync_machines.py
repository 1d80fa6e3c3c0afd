"""Claude Code on two machines: one works, the other is told of it, takes over, rewinds a file, syncs back."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fazm_memory.store.file_versions import FileVersion, FileVersions
from tests.e2e.clients.claude import Claude
from tests.e2e.clients.installed import claude_binary
from tests.e2e.clients.network import Room
from tests.e2e.remembered import PROGRAM, Remembered
from tests.e2e.scenarios.claude import bash
from tests.e2e.scenarios.script import Scenario, do, say

pytestmark = pytest.mark.e2e
REMOTES = {"mini": "git@example.com:mia/shop.git", "laptop": "https://example.com/mia/shop"}
FOLDERS = {"mini": "code/shop", "laptop": "src/shop2"}


class MachineWithClaude(Remembered):
    """A machine with its own home, Claude Code, and a clone of the same repository."""

    def __init__(self, name: str, room: Room, folder: Path) -> None:
        super().__init__(Claude(claude_binary(), room, folder / name), folder / name / "memory")
        self.clone = self.client.home / FOLDERS[name]
        self.clone.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.clone], check=True)
        subprocess.run(["git", "-C", self.clone, "remote", "add", "origin", REMOTES[name]], check=True)
        self.connect()

    @property
    def price(self) -> Path:
        return self.clone / "price.txt"


@pytest.fixture
def machines(room: Room, tmp_path: Path) -> Iterator[tuple[MachineWithClaude, MachineWithClaude]]:
    mini, laptop = (MachineWithClaude(name, room, tmp_path) for name in ("mini", "laptop"))
    yield mini, laptop
    for machine in (mini, laptop):
        machine.close()
        machine.client.close()


def test_the_laptop_is_told_of_yesterday_on_the_mini_takes_over_and_rewinds_a_file(
    machines: tuple[MachineWithClaude, MachineWithClaude], tmp_path: Path
) -> None:
    mini, laptop = machines
    shared, key = tmp_path / "shared", tmp_path / "key"
    shared.mkdir()
    made = json.loads(
        mini.run("sync", "init", "--folder", str(shared), "--name", "mini", "--files", "--json")
    )
    key.write_text(made["recovery_key"])
    session = work_on(mini)
    mini.run("sync")

    # The laptop joins a day later. Its clone has the file as the mini left it.
    laptop.price.write_text(mini.price.read_text())
    joining = ("--folder", str(shared), "--recovery-key-file", str(key), "--name", "laptop", "--files")
    laptop.run("sync", "join", *joining)
    (known,) = json.loads(laptop.run("sessions", "--device", "mini", "--agent", "claude-code", "--json"))
    assert known["id"] == session["id"]
    tomorrow = datetime.fromisoformat(known["last_at"]) + timedelta(days=1)
    laptop.run("run", "--once", "--json", "--now", tomorrow.isoformat())
    run = laptop.client.run(
        "Go on with the price.", scenario=Scenario("laptop", (say("I know."),)), cwd=laptop.clone
    )
    assert run.returncode == 0, run.stderr
    given = run.turns[0].text
    assert "Yesterday" in given
    assert 'on "mini"' in given
    assert "Raise the price." in given

    laptop.take_in()

    # It takes the session over at the call, with the file as it was before it.
    call = next(event["seq"] for event in laptop.events(known["id"], "action"))
    rewound = json.loads(laptop.run("rewind", known["id"], "--to", str(call), "--files", "--json"))
    assert laptop.price.read_text() == "10\n"
    assert [(file["path"], file["action"]) for file in rewound["files"]] == [(str(laptop.price), "restore")]
    assert rewound["workspace"] == str(laptop.clone)

    # The mini sees it.
    laptop.run("sync")
    mini.run("sync")
    taken = mini.session(rewound["id"])
    assert (taken["device"], taken["parent"], taken["parent_seq"]) == ("laptop", session["id"], call)
    assert mini.price.read_text() == "12\n"
    for machine in machines:
        machine.run("verify")


def work_on(mini: MachineWithClaude) -> dict[str, object]:
    """Claude Code raises the price on the mini, while the companion stores the file before and after."""
    mini.price.write_text("10\n")
    mini.memory.sessions.open("fazm", key="earlier", workspace=str(mini.clone))
    companion = subprocess.Popen(
        [PROGRAM, "run"], env=mini.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    versions = FileVersions(mini.home, mini.memory.store.keys.database)

    def last() -> FileVersion | None:
        return versions.last(str(mini.clone), "price.txt")

    try:
        mini.until(lambda: last() is not None, "the file as it was")
        run = mini.client.run(
            "Raise the price.",
            scenario=Scenario("mini", (do(bash("echo 12 > price.txt")), say("Raised."))),
            cwd=mini.clone,
        )
        assert run.returncode == 0, run.stderr
        mini.until(lambda: mini.session(run.session_id)["lifecycle"] == "closed", "its end")
        mini.until(lambda: (one := last()) is not None and one.changed_by == "agent", "who changed it")
    finally:
        versions.close()
        companion.send_signal(signal.SIGTERM)
        errors = companion.communicate(timeout=120)[1]
    assert errors == b""
    return mini.session(run.session_id)
