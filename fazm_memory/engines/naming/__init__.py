"""Learn how files were named from examples, and apply it to new files.

`learn` turns renames into conventions and explains which files were skipped. `propose` says what a new file
would be called, or why that is not known. See README.md in this folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fazm_memory.engines.naming.applicability import Applicability
    from fazm_memory.engines.naming.learner import learn
    from fazm_memory.engines.naming.program import Program
    from fazm_memory.engines.naming.proposals import propose, propose_all

__all__ = [
    "ALREADY_NAMED",
    "NO_RULE",
    "Convention",
    "FolderProgress",
    "ListedFile",
    "NamingReport",
    "Proposal",
    "Rename",
    "SkippedFiles",
    "learn",
    "propose",
    "propose_all",
]

# Skip rules that callers may want to recognise.
ALREADY_NAMED = "already named so"
NO_RULE = "no rule found"


@dataclass(frozen=True)
class Rename:
    """A file that got another name or folder.

    `seq` is its place in the order of renames, `mtime` the file's modification time as ISO 8601.
    """

    before: str
    after: str
    seq: int = 0
    mtime: str | None = None


@dataclass(frozen=True)
class ListedFile:
    """A file known to exist in a folder, renamed or not."""

    path: str
    size: int | None = None
    mtime: str | None = None


@dataclass(frozen=True)
class Convention:
    """How files of one kind in a folder were named.

    `pattern` is readable text; `program.py` describes its notation. `destination` is the pattern of the
    folder, "" when files stay where they are. `support` counts the renames explained, `exceptions` are files
    that look the same and were named differently, `ambiguous` are other patterns that also fit the examples.
    """

    folder: str
    pattern: str
    examples: tuple[tuple[str, str], ...]
    support: int
    exceptions: tuple[str, ...]
    ambiguous: tuple[str, ...]
    destination: str
    program: Program
    applicability: Applicability
    counter_values: tuple[tuple[str, int], ...] = ()  # highest number used, by counter scope
    from_subfolders: bool = False  # learned from several folders below `folder`

    def to_json(self) -> dict[str, Any]:
        from fazm_memory.engines.naming.program import program_to_json  # late: keeps this module cheap

        return {
            "folder": self.folder,
            "pattern": self.pattern,
            "examples": [list(pair) for pair in self.examples],
            "support": self.support,
            "exceptions": list(self.exceptions),
            "ambiguous": list(self.ambiguous),
            "destination": self.destination,
            "program": program_to_json(self.program),
            "guard": self.applicability.to_json(),
            "counted": [list(row) for row in self.counter_values],
            "across": self.from_subfolders,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Convention:
        from fazm_memory.engines.naming.applicability import Applicability  # late: keeps this module cheap
        from fazm_memory.engines.naming.program import program_from_json

        return Convention(
            folder=data["folder"],
            pattern=data["pattern"],
            examples=tuple((before, after) for before, after in data["examples"]),
            support=data["support"],
            exceptions=tuple(data["exceptions"]),
            ambiguous=tuple(data["ambiguous"]),
            destination=data["destination"],
            program=program_from_json(data["program"]),
            applicability=Applicability.from_json(data["guard"]),
            counter_values=tuple((key, number) for key, number in data["counted"]),
            from_subfolders=data["across"],
        )


@dataclass(frozen=True)
class SkippedFiles:
    """Files of a folder that were not renamed, and the rule that sets them apart.

    `files` holds at most twenty names; `count` counts all of them.
    """

    folder: str
    rule: str
    files: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class FolderProgress:
    """How many files of a folder were renamed.

    When the folder was not `listed`, its size is unknown and `total` counts the known files only.
    """

    path: str
    processed: int
    total: int
    listed: bool = True


@dataclass(frozen=True)
class NamingReport:
    """Conventions, skipped files and folders.

    Each file of a folder is either processed or skipped.
    """

    conventions: tuple[Convention, ...] = ()
    skipped: tuple[SkippedFiles, ...] = ()
    folders: tuple[FolderProgress, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """The proposed name of a file.

    `becomes` is None when it is not known; `because` says why.
    """

    name: str
    becomes: str | None
    because: str
    alternatives: tuple[str, ...] = ()


# Imported on first use: compiling the date patterns takes tens of milliseconds, and most programs that import
# this package never learn anything.
_LAZY = {"learn": "learner", "propose": "proposals", "propose_all": "proposals"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value
