"""What is done on a disk of a few megabytes, in a process that has such a disk: fill it, free it, go on.

Run inside a mount namespace by test_full_disk.py; the last line it prints is the account as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fazm_memory.errors import FazmMemoryError
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.campaign.ledger import settle
from tests.campaign.writer import append, new_session

FILL = 100_000  # appends; far more than any disk here holds


def error_fields(error: FazmMemoryError) -> dict[str, str]:
    return {"error": type(error).__name__, "message": error.message, "hint": error.hint}


def fill(disk: Path, ballast: int) -> dict[str, Any]:
    """Append until the disk is full, read while it is, free some room, and go on."""
    home, weight = disk / "home", disk / "ballast"
    weight.write_bytes(bytes(ballast))
    acks: list[str] = []
    result: dict[str, Any] = {"refused": []}
    for attempt in range(3):
        try:
            store = Store(home, key="file")
        except FazmMemoryError as error:
            result["refused"].append(error_fields(error))
        else:
            try:
                number, opened = new_session(store, f"s{attempt}")
                acks.append(opened)
                for n in range(FILL):
                    acks += append(store, number, [f"{attempt}:{n} {'x' * 500}"])
                    if n % 10 == 9:
                        number, opened = new_session(store, f"s{attempt}.{n}")
                        acks.append(opened)
            except FazmMemoryError as error:
                result["refused"].append(error_fields(error))
            result["read while full"] = _readable(store, acks)
            result["verified while full"] = verify_store(store.log).clean
            store.index_if_possible()
            try:
                store.close()
            except FazmMemoryError as error:
                result["refused"].append(error_fields(error))
        if attempt == 0:
            weight.write_bytes(bytes(ballast * 4 // 5))
    weight.unlink()
    account = settle(home, acks)
    store = Store(home, key="file")
    after = list(append(store, new_session(store, "after")[0], ["goes on"]))
    result["clean after"] = verify_store(store.log).clean
    store.close()
    return result | {
        "acknowledged": account.acknowledged,
        "lost": list(account.lost),
        "findings": list(account.findings),
        "went on": len(after),
    }


def _readable(store: Store, acks: list[str]) -> bool:
    """All that was acknowledged can be read while nothing can be written."""
    held = {
        (row.id, one.seq)
        for row in store.sessions.listing(limit=None)
        for one in store.log.slice(row.n, row.id)
    }
    return all((line.split()[0], int(line.split()[1])) in held for line in acks)


def read_only(disk: Path, _ballast: int) -> dict[str, Any]:
    """A store on a disk that has become read-only."""
    store = Store(disk / "home", key="file")
    _, opened = new_session(store, "before")
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    result: dict[str, Any] = {"refused": []}
    for home in (disk / "home", disk / "another home"):
        try:
            store = Store(home, key="file")
            result["read"] = _readable(store, [opened]) and verify_store(store.log).clean
            new_session(store, "refused")
        except FazmMemoryError as error:
            result["refused"].append(error_fields(error))
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    account = settle(disk / "home", [opened])
    return result | {"lost": list(account.lost), "findings": list(account.findings)}


if __name__ == "__main__":
    scenario = {"fill": fill, "read-only": read_only}[sys.argv[1]]
    sys.stdout.write(json.dumps(scenario(Path(sys.argv[2]), int(sys.argv[3]))) + "\n")
