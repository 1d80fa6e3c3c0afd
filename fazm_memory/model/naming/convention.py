"""A naming convention as it is told and kept: what people read of it, and the program behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fazm_memory.model.naming import program as naming_program
from fazm_memory.model.naming.guard import Guard
from fazm_memory.model.naming.program import Program


@dataclass(frozen=True)
class Convention:
    """How files of one kind in a folder were named.

    `pattern` is written as `naming/pattern.py` describes; `destination` is the pattern of the folder, "" when
    files stay where they are. `support` counts the renames explained, `exceptions` are files that look the
    same and were named otherwise, `ambiguous` are other patterns that explain the examples as well.
    """

    folder: str
    pattern: str
    examples: tuple[tuple[str, str], ...]
    support: int
    exceptions: tuple[str, ...]
    ambiguous: tuple[str, ...]
    destination: str
    program: Program
    guard: Guard
    counted: tuple[tuple[str, int], ...] = ()
    across: bool = False  # learned from several folders below this one

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": self.folder,
            "pattern": self.pattern,
            "examples": [list(pair) for pair in self.examples],
            "support": self.support,
            "exceptions": list(self.exceptions),
            "ambiguous": list(self.ambiguous),
            "destination": self.destination,
            "program": naming_program.to_json(self.program),
            "guard": self.guard.to_json(),
            "counted": [list(row) for row in self.counted],
            "across": self.across,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Convention:
        return Convention(
            folder=data["folder"],
            pattern=data["pattern"],
            examples=tuple((before, after) for before, after in data["examples"]),
            support=data["support"],
            exceptions=tuple(data["exceptions"]),
            ambiguous=tuple(data["ambiguous"]),
            destination=data["destination"],
            program=naming_program.from_json(data["program"]),
            guard=Guard.from_json(data["guard"]),
            counted=tuple((key, number) for key, number in data["counted"]),
            across=data["across"],
        )
