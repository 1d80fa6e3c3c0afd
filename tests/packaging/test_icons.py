"""What is committed is what the script draws."""

from __future__ import annotations

import struct

import pytest

from .conftest import ROOT, Load


def test_the_images_of_the_menu_bar_are_those_that_the_script_draws(load: Load) -> None:
    for name, data in load("resources/draw.py").drawings(largest=0).items():
        assert (ROOT / "resources" / name).read_bytes() == data, name


def test_an_app_icon_has_every_size_that_the_system_asks_for() -> None:
    data = (ROOT / "resources" / "FazmMemory.icns").read_bytes()
    assert data[:4] == b"icns"
    assert struct.unpack(">I", data[4:8])[0] == len(data)
    sizes, at = set(), 8
    while at < len(data):
        length = struct.unpack(">I", data[at + 4 : at + 8])[0]
        assert data[at + 8 : at + 16] == b"\x89PNG\r\n\x1a\n"
        sizes.add(struct.unpack(">I", data[at + 24 : at + 28])[0])
        at += length
    assert sizes == {32, 64, 128, 256, 512, 1024}


@pytest.mark.parametrize("state", ["recording", "paused", "attention"])
def test_a_template_is_black_and_nothing_else(load: Load, state: str) -> None:
    draw = load("resources/draw.py")
    shapes = draw.STATES[state]
    covered = [draw.coverage(shapes, x + 0.5, y + 0.5, 1) for x in range(18) for y in range(18)]
    assert 30 < sum(covered) < 120
    edge = [draw.coverage(shapes, x + 0.5, y + 0.5, 1) for x in range(18) for y in (0, 17)]
    assert max(edge) == 0


def test_three_states_look_different(load: Load) -> None:
    draw = load("resources/draw.py")
    assert len({draw.template(shapes, 18) for shapes in draw.STATES.values()}) == 3
