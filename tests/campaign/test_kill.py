"""Processes killed in mid-append, and many at once: nothing acknowledged is lost, and the log verifies."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from fazm_memory.store.store import Store
from tests.campaign.conftest import Tell
from tests.campaign.ledger import settle
from tests.campaign.writer import new_session, write

ENDLESS = sys.maxsize


@dataclass
class Hand:
    """A writer in a process of its own, and what it has acknowledged so far."""

    pid: int
    pipe: int
    life: int  # acknowledgements after which it is killed
    output: bytearray = field(default_factory=bytearray)

    def listen(self) -> bool:
        """Hear what it says; False when it has ended."""
        heard = os.read(self.pipe, 1 << 16)
        self.output += heard
        return bool(heard)

    def acks(self) -> list[str]:
        """Only whole lines: half a line was not an acknowledgement."""
        return self.output.decode().split("\n")[:-1]

    def bury(self) -> int:
        while self.listen():
            pass
        os.close(self.pipe)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def hire(home: Path, shared: int, name: str, *, events: int, life: int = ENDLESS) -> Hand:
    listening, speaking = os.pipe()
    pid = os.fork()
    if pid:
        os.close(speaking)
        return Hand(pid, listening, life)

    def acknowledge(result: str) -> None:
        os.write(speaking, f"{result}\n".encode())

    try:
        store = Store(home, key="file")
        write(store, shared, name, acknowledge, events)
        store.close()
        os._exit(0)
    except BaseException as error:
        os.write(2, f"{name}: {type(error).__name__}: {error}\n".encode())
        os._exit(1)


def shared_session(home: Path) -> int:
    store = Store(home, key="file")
    number, _ = new_session(store, "shared")
    store.close()
    return number


@pytest.mark.parametrize("kills", [20, pytest.param(240, marks=pytest.mark.campaign)])
def test_no_kill_loses_what_was_acknowledged(home: Path, tell: Tell, kills: int) -> None:
    random = Random(kills)
    shared = shared_session(home)
    acks: list[str] = []
    crew: list[Hand] = []
    killed = hired = 0
    try:
        while killed < kills:
            while len(crew) < 4:
                crew.append(
                    hire(home, shared, f"h{hired}", events=ENDLESS, life=random.choice([0, 1, 5, 20, 60]))
                )
                hired += 1
            # A moment that nobody can foresee: in the middle of opening, appending, syncing or indexing.
            ready = select.select([hand.pipe for hand in crew], [], [], random.uniform(0, 0.02))[0]
            for hand in [one for one in crew if one.pipe in ready]:
                assert hand.listen(), "a writer ended by itself"
            for hand in [one for one in crew if len(one.acks()) >= one.life]:
                os.kill(hand.pid, signal.SIGKILL)
                assert hand.bury() == -signal.SIGKILL
                acks += hand.acks()
                crew.remove(hand)
                killed += 1
    finally:
        for hand in crew:
            os.kill(hand.pid, signal.SIGKILL)
            hand.bury()
            acks += hand.acks()
    account = settle(home, acks)
    tell(f"kill -9: {killed} kills, {account.acknowledged} acknowledged, {len(account.lost)} lost")
    assert account.settled, account
    assert account.acknowledged > kills


@pytest.mark.parametrize("events", [8, pytest.param(150, marks=pytest.mark.campaign)])
def test_sixteen_writers_at_once_lose_nothing(home: Path, tell: Tell, events: int) -> None:
    shared = shared_session(home)
    crew = [hire(home, shared, f"w{n}", events=events) for n in range(16)]
    codes = [hand.bury() for hand in crew]
    acks = [line for hand in crew for line in hand.acks()]
    account = settle(home, acks)
    tell(f"16 writers at once: {account.acknowledged} acknowledged, {len(account.lost)} lost")
    assert codes == [0] * 16
    assert account.settled, account
    assert account.acknowledged >= 16 * (events + 1)


def test_sixteen_writers_that_find_no_store_make_one_and_lose_nothing(home: Path) -> None:
    listening, speaking = os.pipe()
    pids = []
    for n in range(16):
        pid = os.fork()
        if pid == 0:
            code = 1
            with contextlib.suppress(BaseException):
                store = Store(home, key="file")
                os.write(speaking, f"{new_session(store, str(n))[1]}\n".encode())
                store.close()
                code = 0
            os._exit(code)
        pids.append(pid)
    os.close(speaking)
    with os.fdopen(listening) as pipe:
        acks = pipe.read().splitlines()
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 16
    assert len(acks) == 16
    assert settle(home, acks).settled
