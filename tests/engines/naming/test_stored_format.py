"""The JSON of a convention: what was stored before must still load, and nothing may change in it."""

from __future__ import annotations

from typing import Any

from fazm_memory.engines.naming import Convention, propose

STORED: dict[str, Any] = {
    "folder": "/d",
    "pattern": "trip-{counter:001} {before \" - \"|slug}.{ext}",
    "examples": [["A B - 7.jpg", "trip-001 a-b.jpg"]],
    "support": 3,
    "exceptions": ["odd.jpg"],
    "ambiguous": ["trip-{counter:001} {word 1}.{ext}"],
    "destination": "",
    "program": {
        "stem": [
            [["const", "trip-"]],
            [["counter", 1, 1, 3, "all", ""]],
            [["const", " "]],
            [["part", "name", "between", "start", "' - ':1<", ["", "words", "-", "lower", ""]]],
        ],
        "folder": [],
        "base": "own",
        "folders": [],
        "ext": "keep",
        "exts": [],
        "rivals": [[["const", "x"], ["part", "modified", "date", "", "%Y", ["", "", "", "", ""]]]],
    },
    "guard": {
        "exts": ["jpg"],
        "any_ext": False,
        "gaps": [["^", "start…' - ':1<", "nothing", ""], ["start…' - ':1<", "$", "class", "a number"]],
        "dropped": None,
        "apart": True,
        "widths": [],
        "runs": [],
        "solid": [],
        "late": [],
        "spaceless": False,
        "first": "",
        "needs": "",
        "skips": ["ext:txt"],
        "plain": True,
        "formed": True,
        "telling": True,
    },
    "counted": [["", 3]],
    "across": False,
}  # fmt: skip


def test_a_stored_convention_loads_and_is_written_back_unchanged() -> None:
    assert Convention.from_json(STORED).to_json() == STORED
    assert list(Convention.from_json(STORED).to_json()["guard"]) == list(STORED["guard"])


def test_a_stored_convention_names_new_files() -> None:
    convention = Convention.from_json({**STORED, "program": {**STORED["program"], "rivals": []}})
    assert propose([convention], "Old Town - 9.jpg").becomes == "trip-004 old-town.jpg"
