"""How the desk stands: a small file that the companion keeps and every surface may read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from fazm_memory.private import write_private

FILE = "desktop.json"


@dataclass(frozen=True)
class DeskState:
    """Whether the desktop is watched, and whether its windows may be read."""

    watching: bool
    permitted: bool


def read(home: Path) -> DeskState | None:
    """What the companion of this home last said; None where there is nothing."""
    try:
        told = json.loads((home / FILE).read_text(encoding="utf-8"))
        return DeskState(bool(told["watching"]), bool(told["permitted"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def write(home: Path, state: DeskState) -> None:
    write_private(home / FILE, json.dumps(asdict(state)).encode(), sync=False)


def clear(home: Path) -> None:
    (home / FILE).unlink(missing_ok=True)
