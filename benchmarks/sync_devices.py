"""Devices suite: what one device asks of the store of a large vault.

It also measures how long a round takes.

The other devices are heads in memory, each certified by the first one and with one upload that was read
already. The store is a dictionary, so the times are ours alone. Listings are counted in pages of 1,000 names,
as object stores charge them.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.events import START
from benchmarks.figures import Figure, Goal, Options, Report, timed
from fazm_memory.app import Memory, sync
from fazm_memory.config import Config
from fazm_memory.sync.crypto import KeyPairs
from fazm_memory.sync.heads import Head, LogState, certify, newest, pack_head, share_secret
from fazm_memory.sync.state import Identity

SIZES = (100, 1_000, 10_000)
QUICK = (100,)
REQUESTS = ("lists", "gets", "puts", "deletes")


class MemoryTransport:
    """An object store in memory. A stamp counts the writes of a name."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[int, bytes]] = {}

    def put(self, name: str, data: bytes) -> str:
        number = self.objects.get(name, (0, b""))[0] + 1
        self.objects[name] = number, data
        return str(number)

    def get(self, name: str) -> bytes | None:
        found = self.objects.get(name)
        return None if found is None else found[1]

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def list(self, prefix: str) -> dict[str, str]:
        begin = f"{prefix}/"
        return {
            name.removeprefix(begin): str(number)
            for name, (number, _) in self.objects.items()
            if name.startswith(begin)
        }

    def vaults(self) -> set[str]:
        return set()

    def probe(self) -> bool:
        return True


def run(options: Options, report: Report) -> Iterator[Figure]:
    for devices in QUICK if options.quick else SIZES:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            transport = MemoryTransport()
            with mock.patch.object(sync, "open_transport", lambda place, found=transport: found):
                yield from _vault(Path(folder), transport, devices, report)


def _vault(folder: Path, transport: MemoryTransport, devices: int, report: Report) -> Iterator[Figure]:
    memory = Memory(Config(home=folder / "memory", user_home=folder, key="file"), lambda: START)
    memory.sync.init(folder=str(folder), name="first")
    others = [secrets.token_hex(16) for _ in range(devices - 1)]
    keys = {device: KeyPairs.generate() for device in others}
    for nth, device in enumerate(others):
        report(f"making {devices:,} devices", nth, devices)
        _put(memory, transport, device, keys[device], number=1)
    report("first round", 0, 1)
    yield from _round(memory, f"first round among {devices:,} devices", devices)
    report("idle round", 0, 1)
    yield from _round(memory, f"idle round among {devices:,} devices", devices, goal=1 + devices // 1000)
    memory.sessions.open("fazm", key="k", workspace="/w", source="record")
    yield from _round(memory, f"round with an event among {devices:,} devices", devices)
    for device in others[:10]:
        _put(memory, transport, device, keys[device], number=2)
    yield from _round(memory, f"round after 10 of {devices:,} devices changed", devices)
    head = transport.get(_head_name(memory, _identity(memory).device))
    assert head is not None
    yield Figure(f"own head among {devices:,} devices", "KB", len(head) / 1000)
    memory.close()


def _identity(memory: Memory) -> Identity:
    identity = memory.sync.state.identity()
    assert identity is not None
    return identity


def _head_name(memory: Memory, device: str) -> str:
    vault = _identity(memory).vault
    return f"{vault.id}/h/{vault.name('device', device)}"


def _put(memory: Memory, transport: MemoryTransport, device: str, keys: KeyPairs, *, number: int) -> None:
    """The head of another device, with the epoch secret shared as a real one would."""
    identity = _identity(memory)
    epochs = memory.sync.state.epochs()
    epoch = newest(epochs)
    secret = bytes.fromhex(epochs[epoch]["secret"])
    certificate = certify(identity.vault, device, keys, identity.device, identity.keys)
    log = LogState(name=device[:8], seen={})
    shared = {epoch: {"rank": 1, "sealed": share_secret(epoch, secret, {device: keys.box_public})}}
    head = Head(device, number, certificate, epoch, epochs=shared, log=log)
    transport.put(_head_name(memory, device), pack_head(identity.vault, head, secret, keys))


def _round(memory: Memory, what: str, devices: int, *, goal: int | None = None) -> Iterator[Figure]:
    found: list[dict[str, Any]] = []
    seconds = timed(lambda: found.append(memory.sync.round(acknowledge=False)))
    counts = found[0]["requests"]
    for name, count in ((name, counts[name]) for name in REQUESTS if counts[name]):
        limit = Goal(limit=goal) if goal is not None and name == "lists" else None
        yield Figure(f"{what}: {name}", "requests", count, events=devices, goal=limit)
    yield Figure(f"{what}: time", "s", seconds, events=devices)
