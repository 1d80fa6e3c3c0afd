"""The rules of the architecture, checked on the source: layers, front doors, names."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = "fazm_memory"
ROOT = Path(__file__).parents[1] / PACKAGE

# A package imports from lower layers only, and from the neighbours listed below.
LAYERS = (
    {"errors", "clock", "paths", "text", "lazy", "records", "config", "translation", "engines"},
    {"events", "session"},
    {"store", "loopback"},
    {"agents", "ingest", "watch", "rewind", "recall", "bundle", "formats", "sync"},
    {"app"},
    {"cli", "mcp_server", "web", "menubar", "macos", "adapters"},
)
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}
# The data walks agents, watch → ingest → store → session → recall → surfaces. Imports go the same way.
NEIGHBOURS = {
    ("session", "events"),
    ("ingest", "agents"),
    ("watch", "ingest"),
    ("rewind", "watch"),
    ("recall", "agents"),
    ("macos", "menubar"),
    ("config", "errors"),
    ("config", "paths"),
    ("paths", "errors"),
}
SURFACES = LAYERS[-1]
# Packages whose parts are packages with a front door of their own.
NESTED = {"engines.redaction", "engines.shell_effects", "engines.naming", "store.recovery"}

PYOBJC = {
    "AppKit", "ApplicationServices", "Cocoa", "CoreFoundation", "CoreServices", "FSEvents", "Foundation",
    "HIServices", "LaunchServices", "PyObjCTools", "Quartz", "ServiceManagement", "UserNotifications",
    "WebKit", "objc", "rumps",
}  # fmt: skip

LONGEST_SUMMARY = 80  # characters in the first line of a docstring

# These words say too little to name a module, a class or a public function.
VAGUE = {
    "told", "said", "held", "kept", "seen", "given", "made", "one", "desk", "hand", "hands", "ward", "drawer",
    "doubt", "doubts", "telling", "beyond", "sides", "patience", "glance", "utils", "helpers", "misc",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    """One imported name: who imports what from where, and whether inside a function."""

    module: str
    source: str
    name: str
    line: int
    late: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name} from {self.source}"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def module_of(path: Path) -> str:
    parts = (PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: ast.Module, module: str) -> Iterator[Import]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    late = {id(inner) for node in ast.walk(source) if isinstance(node, functions) for inner in ast.walk(node)}
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, "", node.lineno, id(node) in late)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: imports are absolute"
            for alias in node.names:
                yield Import(module, str(node.module), alias.name, node.lineno, id(node) in late)


@cache
def every_import() -> list[Import]:
    return [found for path in modules() for found in imports_of(tree(path), module_of(path))]


def package_of(module: str) -> str:
    """The top-level package or module below ours: `store` for `fazm_memory.store.keys`."""
    return module.split(".")[1] if "." in module else ""


def door_of(module: str) -> str:
    """The package whose front door leads to a module: `store.recovery`, `engines.naming` or `store`."""
    parts = module.split(".")[1:]
    nested = ".".join(parts[:2])
    return nested if nested in NESTED else parts[0]


def breaks_layers(found: Import) -> bool:
    here, there = package_of(found.module), package_of(found.source)
    if found.source == PACKAGE:  # from fazm_memory import config
        there = found.name
    if not found.source.startswith(PACKAGE) or there in (here, "__version__") or not here:
        return False
    if here == "cli" and there in SURFACES:
        return not found.late  # a command starts another surface only when it is asked to
    if there in ("lazy", "records"):
        return False
    if there == "config":
        return LAYER[here] < LAYER["app"]  # settings are read at the edge and handed down
    return LAYER[there] >= LAYER[here] and (here, there) not in NEIGHBOURS


def goes_past_a_door(found: Import) -> bool:
    if not found.source.startswith(f"{PACKAGE}."):
        return False
    here, there = door_of(found.module), door_of(found.source)
    if here == there or here.startswith(f"{there}.") or not (ROOT / there.replace(".", "/")).is_dir():
        return False
    if there.startswith(f"{here}.") and here != "engines":
        return False  # a package knows the inside of its own parts
    return found.source != f"{PACKAGE}.{there}"


def test_every_package_has_a_layer() -> None:
    packages = {package_of(module_of(path)) for path in modules()} - {""}
    assert packages <= set(LAYER), "a new package needs a place in LAYERS"


def test_imports_go_down_the_layers_only() -> None:
    assert [str(found) for found in every_import() if breaks_layers(found)] == []


def test_packages_are_entered_by_their_front_door_only() -> None:
    assert [str(found) for found in every_import() if goes_past_a_door(found)] == []


@pytest.mark.parametrize(
    ("module", "code", "refused"),
    [
        ("session.reducer", "from fazm_memory.store import Store", True),
        ("store.store", "from fazm_memory.engines.redaction import Redactor", False),
        ("ingest.recorder", "from fazm_memory.recall import Digest", True),
        ("ingest.hook_events", "from fazm_memory.agents import Places", False),
        ("agents.connect", "from fazm_memory.ingest import Recorder", True),
        ("store.store", "from fazm_memory import config", True),
        ("web.pages", "from fazm_memory.cli.output import table", True),
        ("cli.main", "from fazm_memory.mcp_server import stdio", True),
        ("cli.main", "def run():\n    from fazm_memory.mcp_server import stdio", False),
        ("cli.main", "from fazm_memory.app import Memory", False),
        ("app.memory", "from fazm_memory.config import Config", False),
    ],
)
def test_the_layer_rule_tells_right_from_wrong(module: str, code: str, refused: bool) -> None:
    found = imports_of(ast.parse(code), f"{PACKAGE}.{module}")
    assert [breaks_layers(one) for one in found] == [refused]


@pytest.mark.parametrize(
    ("module", "code", "refused"),
    [
        ("recall.search", "from fazm_memory.store.search_index import SearchIndex", True),
        ("recall.search", "from fazm_memory.store import SearchIndex", False),
        ("store.writer", "from fazm_memory.store.database import Database", False),
        ("store.recovery.recover", "from fazm_memory.store.database import Database", False),
        ("app.maintenance", "from fazm_memory.store.recovery import recover", False),
        ("app.maintenance", "from fazm_memory.store.recovery.journal import JOURNAL", True),
        ("ingest.prepare", "from fazm_memory.engines.redaction.text import canonical", True),
        ("ingest.prepare", "from fazm_memory.clock import iso", False),
    ],
)
def test_the_front_door_rule_tells_right_from_wrong(module: str, code: str, refused: bool) -> None:
    found = imports_of(ast.parse(code), f"{PACKAGE}.{module}")
    assert [goes_past_a_door(one) for one in found] == [refused]


# These load a command, a service or a part of the store when it is first used. Elsewhere a comment says why.
LOADED_WHEN_USED = ("cli.", "app.", "store.store")


def has_reason(lines: list[str], number: int) -> bool:
    """Whether a line of source has a comment, or the imports that it belongs to have one above."""
    while "#" not in lines[number - 1]:
        above = lines[number - 2].strip()
        if not above.startswith(("#", "import ", "from ")) and above:
            return False
        number -= 1
    return True


def test_an_import_inside_a_function_saves_time_or_says_why() -> None:
    unexplained = []
    for path in modules():
        module = module_of(path)
        if module.removeprefix(f"{PACKAGE}.").startswith(LOADED_WHEN_USED):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        unexplained += [
            str(found)
            for found in imports_of(tree(path), module)
            if found.late and found.source.startswith(PACKAGE) and not has_reason(lines, found.line)
        ]
    assert unexplained == []


def lazy_tables() -> Iterator[tuple[str, dict[str, list[str]], set[tuple[str, str]]]]:
    """Each package with lazy exports: its table, and the names it declares for the type checker."""
    for path in sorted(ROOT.rglob("__init__.py")):
        calls = [
            node
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy_exports"
        ]
        for call in calls:
            module = module_of(path)
            declared = {
                (found.source.removeprefix(module).removeprefix("."), found.name)
                for found in imports_of(tree(path), module)
                if not found.late and (found.source == module or found.source.startswith(f"{module}."))
            }
            table = {source: names.split() for source, names in ast.literal_eval(call.args[1]).items()}
            yield module, table, declared


def test_a_front_door_declares_what_it_exports() -> None:
    for module, table, declared in lazy_tables():
        exported = {(source, name) for source, names in table.items() for name in names}
        public_modules = {("", source) for source, names in table.items() if not names}
        assert exported <= declared, f"{module}: {exported - declared} lacks an import for the type checker"
        missing = {entry for entry in declared - exported - public_modules if entry[1] not in table}
        assert not missing, f"{module}: {missing} is declared but not exported"


def test_a_front_door_exports_what_exists() -> None:
    for module, table, _ in lazy_tables():
        for source, names in table.items():
            path = folder_of(module) / f"{source}.py"
            for name in names:
                if module == f"{PACKAGE}.macos":  # its modules need pyobjc, so they are read only
                    assert name in defined_in(tree(path)), f"{module}.{source} has no {name}"
                else:
                    assert hasattr(import_module(f"{module}.{source}"), name), f"{path} has no {name}"
                assert not (folder_of(module) / f"{name}.py").exists(), (
                    f"{module}: {name} is a module and a name"
                )


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def defined_in(source: ast.Module) -> set[str]:
    """The functions, classes and values that a module defines at its top."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for node in source.body if isinstance(node, definitions)}
    targets = [target for node in source.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in source.body if isinstance(node, ast.AnnAssign)]
    return names | {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def offered_by_doors() -> dict[str, set[str]]:
    """What can be taken from each package with lazy exports: its exports, its own names and its modules."""
    return {
        module: {*table, *(name for names in table.values() for name in names)}
        | vars(import_module(module)).keys()
        | {path.stem for path in folder_of(module).iterdir()}
        for module, table, _ in lazy_tables()
    }


def missing_at_doors(source: ast.Module) -> list[str]:
    """The names that a module takes from such packages, which do not have them. The type checker sees none.

    Both `from package import NAME` and `package.NAME` are read.
    """
    offered = offered_by_doors()
    packages: dict[str, str] = {}  # by the name under which the module knows them
    taken: list[tuple[str, str, int]] = []
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                taken.append((str(node.module), alias.name, node.lineno))
                packages[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(source):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken.append((packages.get(node.value.id, ""), node.attr, node.lineno))
    return [
        f"{line}: {package} has no {name}"
        for package, name, line in taken
        if package in offered and name not in offered[package]
    ]


def test_every_name_taken_from_a_front_door_exists() -> None:
    folders = [ROOT, *(ROOT.parent / name for name in ("tests", "benchmarks"))]
    paths = [path for folder in folders for path in folder.rglob("*.py") if "node_modules" not in path.parts]
    assert [f"{path}:{found}" for path in paths for found in missing_at_doors(tree(path))] == []


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("from fazm_memory.recall import Digest, exports", []),
        ("from fazm_memory import recall\nrecall.Digest", []),
        ("from fazm_memory.recall import Digests", ["1: fazm_memory.recall has no Digests"]),
        ("from fazm_memory import recall as r\nr.Digests", ["2: fazm_memory.recall has no Digests"]),
        ("def f():\n    from fazm_memory.store import recovery\n    recovery.nothing()",
         ["3: fazm_memory.store.recovery has no nothing"]),
    ],
)  # fmt: skip
def test_the_rule_of_taken_names_tells_right_from_wrong(code: str, missing: list[str]) -> None:
    assert missing_at_doors(ast.parse(code)) == missing


def test_events_and_sessions_need_only_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {PACKAGE}
    foreign = [
        found
        for found in every_import()
        if package_of(found.module) in ("events", "session") and found.source.split(".")[0] not in allowed
    ]
    assert [str(found) for found in foreign] == []


def test_events_and_sessions_use_neither_clock_nor_disk_nor_chance() -> None:
    effects = {"os", "time", "random", "secrets", "socket", "subprocess", "pathlib", "tempfile", "shutil",
               "sqlite3"}  # fmt: skip
    found = [
        found
        for found in every_import()
        if package_of(found.module) in ("events", "session") and found.source in effects
    ]
    assert [str(one) for one in found] == []


def test_an_engine_imports_nothing_else_of_ours() -> None:
    foreign = [
        found
        for found in every_import()
        if package_of(found.module) == "engines"
        and found.source.startswith(PACKAGE)
        and door_of(found.source) != door_of(found.module)
    ]
    assert [str(found) for found in foreign] == []


def test_the_hook_needs_only_the_standard_library() -> None:
    """It runs at every tool call: what it imports, every user waits for."""
    (path,) = ROOT.rglob("hook.py")
    found = [one.source for one in imports_of(tree(path), "hook")]
    assert [source for source in found if source.split(".")[0] not in sys.stdlib_module_names] == []


@pytest.mark.parametrize(("libraries", "package"), [(PYOBJC, "macos"), ({"mcp"}, "mcp_server")])
def test_some_libraries_are_imported_by_one_package_only(libraries: set[str], package: str) -> None:
    found = [
        one
        for one in every_import()
        if one.source.split(".")[0] in libraries and package_of(one.module) != package
    ]
    assert [str(one) for one in found] == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_and_its_parts_start_with_a_short_summary(path: Path) -> None:
    assert ast.get_docstring(tree(path)), "a module starts with a docstring"
    long = [summary for summary in summaries(path) if len(summary) > LONGEST_SUMMARY]
    assert long == [], "the first line of a docstring is short"


def summaries(path: Path) -> Iterator[str]:
    """The first lines of all docstrings of a module."""
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield (ast.get_docstring(node) or "").split("\n")[0]


def public_definitions() -> Iterator[tuple[Path, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in modules():
        for node in tree(path).body:
            is_definition = isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            if is_definition and not node.name.startswith("_"):
                yield path, node


def words_of(name: str) -> set[str]:
    """The words of a name: `HeldBack` and `held_back` give `held` and `back`."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def test_no_module_class_or_public_function_has_a_vague_name() -> None:
    vague = [str(path.relative_to(ROOT)) for path in modules() if words_of(path.stem) & VAGUE]
    vague += [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in public_definitions()
        if words_of(node.name) & VAGUE
    ]
    assert vague == []


# In `rebuild_one` or `connection_made` these words are plain English, or another library's name.
PLAIN_IN_METHODS = {"one", "made"}


def test_no_public_method_has_a_vague_name() -> None:
    methods = (
        (path, member)
        for path, node in public_definitions()
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and not member.name.startswith("_")
    )
    assert [
        f"{path.relative_to(ROOT)}:{member.lineno} {member.name}"
        for path, member in methods
        if words_of(member.name) & (VAGUE - PLAIN_IN_METHODS)
    ] == []


def test_no_module_export_or_class_of_the_page_has_a_vague_name() -> None:
    static = ROOT / "web" / "static"
    names = [(path, path.stem) for path in (*static.rglob("*.js"), *static.rglob("*.css"))]
    for path in static.rglob("*.js"):
        code = path.read_text(encoding="utf-8")
        names += [(path, name) for name in re.findall(r"export (?:async )?(?:function|class) (\w+)", code)]
    for path in static.rglob("*.css"):
        rules = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        names += [(path, name) for name in re.findall(r"\.([a-z][\w-]*)", rules)]
    assert len(names) > 100
    assert [
        f"{path.relative_to(ROOT)} {name}"
        for path, name in names
        if words_of(name) & (VAGUE - PLAIN_IN_METHODS)
    ] == []


def test_no_two_public_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path, node in public_definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for part in tree(path).body
        if not (isinstance(part, ast.If) and "__name__" in ast.unparse(part.test))  # a program of its own
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if package_of(module_of(path)) != "cli"
    ]
    assert printing == []


def test_no_exception_is_swallowed() -> None:
    """`except: pass` hides what a person should hear of."""
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
