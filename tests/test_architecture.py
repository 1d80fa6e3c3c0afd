"""Who may import whom, and what a module looks like: the house rules, read from the source itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGE = "fazm_memory"
ROOT = Path(__file__).parents[1] / PACKAGE
LONGEST = 300  # lines of code

# A room may import from itself and from rooms on lower floors. Rooms of one floor do not know each other.
FLOORS = (
    {"errors"},
    {"private", "config", "model"},
    {"log", "loopback"},
    {"capture", "recall"},
    {"verbs"},
    {"memory"},
    {"backfill", "joined", "companion", "doctor", "demo", "proof", "trial", "bench", "menubar"},
    {"adapters", "cli", "mcp_server", "web", "macos"},
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
SURFACES = FLOORS[-1]
# What works over the façade without being a surface (the companion, doctor, …) may use each other.
PROGRAMS = FLOORS[-2]

PYOBJC = {
    "AppKit", "ApplicationServices", "Cocoa", "CoreFoundation", "CoreServices", "FSEvents", "Foundation",
    "HIServices", "LaunchServices", "PyObjCTools", "Quartz", "ServiceManagement", "UserNotifications",
    "WebKit", "objc", "rumps",
}  # fmt: skip

LONGER: dict[str, str] = {}  # path → why it may be longer than the rest
# The benchmark starts processes of its own, which answer it on their standard output.
PRINTING = {"cli", "bench"}


@dataclass(frozen=True)
class Import:
    """One import: who, what, where, and whether it waits until a function is called."""

    module: str
    name: str
    line: int
    late: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def imports_of(source: ast.Module, module: str) -> Iterator[Import]:
    late = {
        id(inner)
        for function in ast.walk(source)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(function)
    }
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: imports are absolute"
            whole = node.module == PACKAGE
            names = [f"{PACKAGE}.{one.name}" for one in node.names] if whole else [str(node.module)]
        else:
            continue
        for name in names:
            yield Import(module, name, node.lineno, id(node) in late)


def module_of(path: Path) -> str:
    return ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts))


@cache
def every_import() -> list[Import]:
    return [one for path in modules() for one in imports_of(tree(path), module_of(path))]


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def wrong(one: Import) -> bool:
    """Whether an import goes where it may not."""
    here, there = room_of(one.module), room_of(one.name)
    if not one.name.startswith(f"{PACKAGE}.") or there in (here, "__version__") or here in ("", "__init__"):
        return False
    if here == "cli" and there in SURFACES:
        return not one.late  # a command may start another surface, but only when it is asked to
    if there == "config" and FLOOR.get(here, 9) <= FLOOR["recall"]:
        return True  # read at the edge and handed down
    return FLOOR[there] >= FLOOR[here] and not {here, there} <= PROGRAMS


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(module_of(path)) for path in modules()} - {"__init__", "__main__"}
    assert rooms <= set(FLOOR), "a new room needs a place in the house: see FLOORS"


def test_imports_go_down_the_stairs_only() -> None:
    assert [str(one) for one in every_import() if wrong(one)] == []


@pytest.mark.parametrize(
    ("module", "code", "refused"),
    [
        ("model.fold", "from fazm_memory.log.store import Store", True),
        ("log.store", "import fazm_memory.capture.scrub", True),
        ("capture.recorder", "from fazm_memory.recall import digest", True),
        ("log.store", "from fazm_memory import config", True),
        ("web.pages", "from fazm_memory.cli.output import table", True),
        ("cli.main", "from fazm_memory.mcp_server import stdio", True),
        ("cli.main", "def run():\n    from fazm_memory.mcp_server import stdio", False),
        ("cli.main", "from fazm_memory.memory import Memory", False),
        ("log.store", "from fazm_memory.model.state import SessionState", False),
        ("memory", "from fazm_memory.config import Config", False),
    ],
)
def test_these_rules_can_tell_right_from_wrong(module: str, code: str, refused: bool) -> None:
    found = imports_of(ast.parse(code), f"{PACKAGE}.{module}")
    assert [wrong(one) for one in found] == [refused]


def test_the_model_is_made_of_the_standard_library_alone() -> None:
    allowed = sys.stdlib_module_names | {PACKAGE}
    foreign = [
        one
        for one in every_import()
        if room_of(one.module) == "model" and one.name.split(".")[0] not in allowed
    ]
    assert [str(one) for one in foreign] == []


def test_the_model_asks_neither_the_clock_nor_the_disk_nor_chance() -> None:
    worldly = {
        "os",
        "time",
        "random",
        "secrets",
        "socket",
        "subprocess",
        "pathlib",
        "tempfile",
        "shutil",
        "sqlite3",
    }
    asked = [one for one in every_import() if room_of(one.module) == "model" and one.name in worldly]
    assert [str(one) for one in asked] == []


def test_the_hook_is_made_of_the_standard_library_alone() -> None:
    """It runs at every tool call: what it imports, every user waits for."""
    path = ROOT / "capture" / "hook.py"
    found = [one.name for one in imports_of(tree(path), "hook")] if path.exists() else []
    assert [name for name in found if name.split(".")[0] not in sys.stdlib_module_names] == []


def test_only_the_macos_room_knows_pyobjc() -> None:
    known = [
        one for one in every_import() if one.name.split(".")[0] in PYOBJC and room_of(one.module) != "macos"
    ]
    assert [str(one) for one in known] == []


def test_only_the_mcp_server_knows_mcp() -> None:
    known = [
        one
        for one in every_import()
        if one.name.split(".")[0] == "mcp" and room_of(one.module) != "mcp_server"
    ]
    assert [str(one) for one in known] == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_opens_with_its_idea_and_stays_short(path: Path) -> None:
    assert ast.get_docstring(tree(path)), "a module opens with a docstring that states its idea"
    name = str(path.relative_to(ROOT))
    assert path.stem not in ("utils", "helpers", "common", "misc"), "a function lives in the room of its noun"
    assert lines_of_code(path) <= LONGEST or name in LONGER, "split it, or say in LONGER why not"


def lines_of_code(path: Path) -> int:
    """Lines that say something to the machine: no blanks, comments or docstrings."""
    told: set[int] = set()
    for node in ast.walk(tree(path)):
        if isinstance(
            node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        ) and ast.get_docstring(node):
            first = node.body[0]
            told |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in told
        for number, line in enumerate(lines, 1)
    )


def test_no_exception_outlives_its_reason() -> None:
    assert [name for name in LONGER if lines_of_code(ROOT / name) <= LONGEST] == []


def test_only_what_has_a_terminal_prints() -> None:
    printing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for part in tree(path).body
        if not (isinstance(part, ast.If) and "__name__" in ast.unparse(part.test))  # a program of its own
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if room_of(module_of(path)) not in PRINTING
    ]
    assert printing == []


def test_nothing_is_swallowed_whole() -> None:
    """`except: pass` and its like hide what a person should hear of."""
    swallowed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        )
        and all(isinstance(step, ast.Pass) for step in node.body)
    ]
    assert swallowed == []
