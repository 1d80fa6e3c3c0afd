"""Power cuts: whatever was acknowledged before the cut is there after it, and the log verifies."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.campaign.conftest import Tell
from tests.campaign.disk import Disk, Record, read_journal
from tests.campaign.ledger import Account, settle

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="power cuts are played with LD_PRELOAD, which only Linux has"
)

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("powercut") / "powercut.so"
    compiler = shutil.which("cc") or pytest.fail(
        "a C compiler is needed to play power cuts (apt install gcc)"
    )
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(HERE / "powercut.c"), "-ldl"]
    subprocess.run(command, check=True)
    return made


def record(
    shim: Path,
    folder: Path,
    *,
    writers: int = 1,
    events: int = 60,
    synchronous: str = "FULL",
    checkpoint: int,
    forgetting: bool = False,
) -> list[Record]:
    """Everything these writers did to the disk, and what they acknowledged, in order."""
    root = folder / "disk"
    root.mkdir()
    acks = folder / "acks"
    env = {
        "LD_PRELOAD": str(shim), "POWERCUT_ROOT": str(root), "POWERCUT_ACKS": str(acks),
        "POWERCUT_JOURNAL": str(folder / "journal"), "PYTHONPATH": str(HERE.parents[1]),
    }  # fmt: skip
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.writer", str(root / "home"), str(acks), f"w{n}",
             str(events), synchronous, str(checkpoint), *(["forgetting"] if forgetting else [])],
            env=env,
        )
        for n in range(writers)
    ]  # fmt: skip
    assert [child.wait() for child in children] == [0] * writers
    return read_journal(folder / "journal")


def cut(
    journal: list[Record], at: int, root: str, into: Path, random: Random, kept: float | None = None
) -> Account:
    """The account after a power cut when this many things had been done."""
    disk = Disk(root)
    for one in journal[:at]:
        disk.do(one)
    disk.cut(into, random, kept)
    account = settle(into / "home", disk.acks)
    shutil.rmtree(into)
    return account


def moments(journal: list[Record], random: Random, count: int) -> list[int]:
    """When to cut: half of the time just after an acknowledgement, else anywhere, creation included."""
    results = [n + 1 for n, one in enumerate(journal) if one.op == "A"]
    return [random.choice(results) if n % 2 else random.randrange(len(journal)) for n in range(count)]


@pytest.mark.parametrize(
    ("writers", "checkpoint", "forgetting", "cuts"),
    [
        (1, 20, True, 8),
        pytest.param(1, 20, True, 40, marks=pytest.mark.campaign),
        pytest.param(1, 1000, False, 40, marks=pytest.mark.campaign),
        pytest.param(1, 3, False, 40, marks=pytest.mark.campaign),
        pytest.param(3, 20, False, 40, marks=pytest.mark.campaign),
    ],
)
def test_no_power_cut_loses_what_was_acknowledged(
    shim: Path, tmp_path: Path, tell: Tell, writers: int, checkpoint: int, forgetting: bool, cuts: int
) -> None:
    journal = record(shim, tmp_path, writers=writers, checkpoint=checkpoint, forgetting=forgetting)
    random = Random(f"{writers} {checkpoint}")
    accounts = [
        cut(journal, at, str(tmp_path / "disk"), tmp_path / "after", random)
        for at in moments(journal, random, cuts)
    ]
    result = sum(one.acknowledged for one in accounts)
    lost = sum(len(one.lost) for one in accounts)
    how = f"{writers} writing at once, a checkpoint every {checkpoint} pages{', forgetting' * forgetting}"
    tell(f"power cuts: {cuts} ({how}), {result} acknowledged, {lost} lost")
    assert [one for one in accounts if not one.settled] == []
    assert result > cuts


def test_a_store_that_does_not_sync_each_commit_is_caught(shim: Path, tmp_path: Path, tell: Tell) -> None:
    """The control: without it, a harness that sees nothing would look like a store that loses nothing."""
    journal = record(shim, tmp_path, synchronous="NORMAL", checkpoint=1000)
    random = Random(0)
    results = [n + 1 for n, one in enumerate(journal) if one.op == "A"]
    accounts = [
        cut(journal, at, str(tmp_path / "disk"), tmp_path / "after", random, kept=0.0)
        for at in random.sample(results, 6)
    ]
    losing = sum(bool(one.lost) for one in accounts)
    tell(f"power cuts, control with synchronous=NORMAL: {losing} of {len(accounts)} lost acknowledged events")
    assert losing >= len(accounts) // 2


def test_the_journal_tells_all_that_was_done(shim: Path, tmp_path: Path) -> None:
    """Played to its end and synced, the journal gives the files that are really there."""
    journal = record(shim, tmp_path, events=30, checkpoint=10)
    disk = Disk(str(tmp_path / "disk"))
    for one in journal:
        disk.do(one)
    for file in disk.names.values():
        file.sync()
    real = {str(path): path.read_bytes() for path in (tmp_path / "disk").rglob("*") if path.is_file()}
    assert {path: file.durable for path, file in disk.names.items()} == real
    assert disk.acks == (tmp_path / "acks").read_text().splitlines()
