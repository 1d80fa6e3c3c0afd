"""Laws of going back, with real files: the machine of all verbs, and very many rewinds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.laws.going import NAMES, Going
from tests.laws.travel import Travel


class TestTravel(Travel.TestCase):  # type: ignore[valid-type,misc]
    settings = settings(max_examples=6, stateful_step_count=15, phases=[Phase.generate])


@pytest.mark.campaign
class TestLongTravel(Travel.TestCase):  # type: ignore[valid-type,misc]
    settings = settings(max_examples=100, stateful_step_count=30, phases=[Phase.generate])


@pytest.mark.parametrize("rewinds", [50, pytest.param(1000, marks=pytest.mark.campaign)])
def test_no_byte_of_a_persons_is_lost_to_rewinds(rewinds: int, tmp_path: Path) -> None:
    world = Going(tmp_path)
    chance = random.Random(rewinds)

    def some() -> tuple[str, str, str]:
        what = chance.choice(("write", "write", "delete", "move", "chmod"))
        return what, chance.choice(NAMES), chance.choice(NAMES)

    try:
        for _ in range(rewinds):
            world.works(*some())
            if chance.random() < 0.6:
                world.interferes(*some(), looks=chance.random() < 0.5)
            to = chance.choice(sorted(world.stood)[-8:])
            world.goes_back(to, force=chance.random() < 0.7)
            if chance.random() < 0.2:
                world.takes_back()
        world.check()
        assert len(world.theirs) > rewinds // 4
    finally:
        world.close()
