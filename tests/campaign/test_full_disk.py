"""A disk that is full or read-only: said in words, nothing acknowledged lost, and on it goes with room."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.conftest import Tell

HERE = Path(__file__).parent
MOUNT = 'mount -t tmpfs -o "size=$1,mode=755" tmpfs "$2" && shift 2 && exec "$@"'


def on_small_disk(folder: Path, kilobytes: int, scenario: str, ballast: int) -> dict[str, Any]:
    """Play a scenario on a disk of this size, mounted for one process alone."""
    folder.mkdir(exist_ok=True)
    if shutil.which("unshare") is None:
        pytest.fail("a small disk needs `unshare` and tmpfs (Linux): the full-disk tests cannot run here")
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    program = [sys.executable, "-m", "tests.campaign.full_disk", scenario, str(folder), str(ballast)]
    done = subprocess.run(
        ["unshare", "--mount", *rights, "sh", "-c", MOUNT, "sh", f"{kilobytes}k", str(folder), *program],
        cwd=HERE.parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.fail(f"the small disk could not be used:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.skipif(sys.platform != "linux", reason="mounting a small disk for one process needs Linux")
@pytest.mark.parametrize(
    "sizes", [[1000, 1400], pytest.param(list(range(560, 2560, 80)), marks=pytest.mark.campaign)], ids=len
)
def test_a_full_disk_loses_nothing_that_was_acknowledged(
    tmp_path: Path, tell: Tell, sizes: list[int]
) -> None:
    acknowledged = refusals = 0
    for kilobytes in sizes:
        results = on_small_disk(tmp_path / "disk", kilobytes, "fill", ballast=500_000)
        assert (results["lost"], results["findings"]) == ([], []), kilobytes
        assert results["went on"] == 1
        assert results["clean after"]
        assert {one["error"] for one in results["refused"]} == {"StoreFull"}, results["refused"]
        assert all(one["hint"] for one in results["refused"])
        assert results.get("read while full", True)
        assert results.get("verified while full", True)
        acknowledged += results["acknowledged"]
        refusals += len(results["refused"])
    tell(f"full disks: {len(sizes)}, refused {refusals} times, {acknowledged} acknowledged, 0 lost")
    assert acknowledged > 0


@pytest.mark.skipif(sys.platform != "linux", reason="mounting a small disk for one process needs Linux")
def test_a_read_only_disk_can_be_read_and_writing_is_refused_in_words(tmp_path: Path) -> None:
    results = on_small_disk(tmp_path / "disk", 4000, "read-only", ballast=0)
    assert {one["error"] for one in results["refused"]} == {"StoreReadOnly"}
    assert len(results["refused"]) == 2
    assert results["read"]
    assert (results["lost"], results["findings"]) == ([], [])
