"""Lays out the app bundle that py2app would build, on Linux, from setup_app's own options.

`python -m tests.packaging.bundle_layout FOLDER`, in its own process: modulegraph warns when it is imported.

It has what the module graph has, and nothing else: an interpreter that finds no standard library of its own,
the library in a zip file, the packages, the compiled modules, py2app's boot scripts and environment. py2app's
own recipes run over the graph. Modules of the development tools are left out, because the app is built from
requirements.lock alone.
"""

from __future__ import annotations

import compileall
import io
import marshal
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution, packages_distributions
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from py_compile import PycInvalidationMode
from types import ModuleType, SimpleNamespace
from typing import Any

from modulegraph import modulegraph
from modulegraph.find_modules import find_modules, parse_mf_results

from tests.packaging.bundle import PY2APP, ROOT, Bundle

EMPTY = Path(__file__).with_name("__init__.py")
BOOTSTRAPS = [
    *(PY2APP / "bootstrap" / f"{name}.py" for name in ("reset_sys_path", "disable_linecache", "boot_app")),
    PY2APP / "apptemplate" / "lib" / "site.py",
]
LIBRARY = f"python{sys.version_info[0]}.{sys.version_info[1]}"
ARCHIVE = f"{LIBRARY.replace('.', '')}.zip"

# What the app's stub does before it starts Python. Only while Python starts, its locale has an encoding
# (`Bundle.write_boot` does the rest).
STUB = """#!/bin/sh
contents=$(cd "$(dirname "$0")/.." && pwd -P)
export PYTHONHOME="$contents/Resources" RESOURCEPATH="$contents/Resources" ARGVZERO="$0"
export EXECUTABLEPATH="$contents/MacOS/${0##*/}" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
export LC_CTYPE="${LC_CTYPE-C.UTF-8}"
unset PYTHONPATH
exec "$contents/MacOS/python" "$contents/Resources/__boot__.py" "$@"
"""


def _locked() -> set[str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return {_plain(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def tools() -> set[str]:
    """Top-level modules that only the development environment has."""
    ours = _locked() | {"fazm-memory"}
    return {
        module
        for module, owners in packages_distributions().items()
        if "." not in module and not ours & set(map(_plain, owners))
    }


@cache
def module_graph() -> Any:
    """The graph with the scripts, includes, packages and excludes of setup_app, finished as py2app does."""
    options = setup().options()
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        graph = find_modules(
            scripts=["packaging/app.py", *options["extra_scripts"], *map(str, BOOTSTRAPS)],
            includes=[*options["includes"], "encodings.*", "_sitebuiltins", "imp"],  # py2app adds these three
            packages=options["packages"],
            excludes=[*options["excludes"], "readline", "site", *tools()],  # and leaves these two out
        )
    finally:
        os.chdir(before)
    for item in graph.flatten():
        if isinstance(item, modulegraph.Package) and item.filename == "-":
            item.filename = str(EMPTY)  # a namespace package gets a file
    return graph


@dataclass(frozen=True)
class RecipeResult:
    """What py2app's recipes add: whole packages, and parts of the boot script."""

    packages: tuple[str, ...]
    boot: str


@cache
def run_recipes() -> RecipeResult:
    """Run the recipes of setup_app's own command over the graph, which they complete."""
    before, target = os.getcwd(), SimpleNamespace(prescripts=[])
    os.chdir(ROOT)
    try:
        command = process_recipes(setup().build_command(), target, module_graph())
        boot = [command.get_bootstrap_data(script) for script in target.prescripts]
    finally:
        os.chdir(before)
    return RecipeResult(tuple(sorted(command.packages)), "\n\n".join(boot))


def process_recipes(build: Any, target: Any, graph: Any) -> Any:
    """py2app's command after its recipes ran, in the project's folder. Every package must be found."""
    command = object.__new__(build)
    command.packages, command.targets = set(setup().options()["packages"]), [target]
    command.resources, command.frameworks, command.expected_missing_imports = [], [], set()
    command.optimize, command.use_old_sdk = 0, False
    with redirect_stdout(io.StringIO()):
        command.process_recipes(graph, [], {}, [])
    for name in command.packages:
        command.get_bootstrap(name)  # as py2app finds it to copy it; raises ImportError
    return command


def setup() -> ModuleType:
    sys.path.insert(0, str(ROOT))
    try:
        import setup_app

        return setup_app
    finally:
        sys.path.remove(str(ROOT))


def named_only_by_us() -> list[str]:
    """Modules that nothing in the graph imports, so that only our list brings them in."""
    graph = module_graph()
    return [
        name
        for name in setup().options()["includes"]
        if all(referer is None for referer in graph.getReferers(graph.findNode(name)))
    ]


def build(folder: Path) -> Bundle:
    bundle = Bundle(folder / "Fazm Memory.app")
    library = bundle.resources / "lib" / LIBRARY
    (library / "lib-dynload").mkdir(parents=True)
    bundle.programs.mkdir()
    options, recipes = setup().options(), run_recipes()
    for name in recipes.packages:
        _copy_package(name, library)
    sources, extensions = parse_mf_results(module_graph())
    packaged = tuple(f"{name}." for name in recipes.packages)
    outside = [item for item in sources if not f"{item.identifier}.".startswith(packaged)]
    _write_archive(bundle.resources / "lib" / ARCHIVE, outside, {item.identifier for item in extensions})
    for item in extensions:
        if not f"{item.identifier}.".startswith(packaged):
            place = library if "." in item.identifier else library / "lib-dynload"
            _copy_extension(item, place)
    _write_loose(library, outside, extensions)
    shutil.copy(PY2APP / "apptemplate" / "lib" / "site.py", library)
    for name in ("packaging/app.py", *options["extra_scripts"], *options["resources"]):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, bundle.resources / Path(name).name)
        else:
            shutil.copy(ROOT / name, bundle.resources)
    bundle.write_boot(recipes.boot, no_chdir=bool(options.get("no_chdir")))
    compileall.compile_dir(library, quiet=2, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    _copy_interpreter(bundle.programs)
    stub = bundle.programs / "fazm-memory"
    stub.write_text(STUB)
    stub.chmod(0o755)
    return bundle


def _copy_package(name: str, library: Path) -> None:
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed"
    ignored = shutil.ignore_patterns("__pycache__")
    if spec.submodule_search_locations:
        shutil.copytree(next(iter(spec.submodule_search_locations)), library / name, ignore=ignored)
    else:
        shutil.copy(str(spec.origin), library)


def _write_archive(path: Path, sources: Iterable[Any], extensions: set[str]) -> None:
    """The pure modules and the metadata of the installed distributions, uncompressed."""
    loose = {name.partition(".")[0] for name in extensions if "." in name}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for item in sources:
            if isinstance(item, modulegraph.Script) or item.identifier.partition(".")[0] in loose:
                continue
            _write_source(item, lambda name, data: archive.writestr(f"{name}c", _compiled(name, data)))
        for name in _locked():
            try:
                files = distribution(name).files or []
            except ModuleNotFoundError:
                continue  # only for macOS or Windows
            for file in files:
                if ".dist-info" in str(file) and file.locate().is_file():
                    archive.write(str(file.locate()), str(file))


def _compiled(name: str, source: bytes) -> bytes:
    code = marshal.dumps(compile(source, name, "exec", dont_inherit=True))
    return MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + code  # by hash, unchecked


def _write_loose(library: Path, sources: Iterable[Any], extensions: Iterable[Any]) -> None:
    """Packages with compiled parts, which cannot be imported from a zip file."""
    loose = {item.identifier.partition(".")[0] for item in extensions if "." in item.identifier}

    def put(name: str, data: bytes) -> None:
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_bytes(data)

    for item in sources:
        if item.identifier.partition(".")[0] in loose:
            _write_source(item, put)


def _write_source(item: Any, put: Any) -> None:
    path = item.identifier.replace(".", "/")
    name = f"{path}/__init__.py" if isinstance(item, modulegraph.Package) else f"{path}.py"
    if item.filename and item.filename.endswith(".py"):
        put(name, Path(item.filename).read_bytes())


def _copy_extension(item: Any, place: Path) -> None:
    target = place / Path(*item.identifier.split("."))
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(item.filename, f"{target}{''.join(Path(item.filename).suffixes[-1:])}")


def _copy_interpreter(folder: Path) -> None:
    """A Python that does not find the standard library it was installed with, as on another machine."""
    prefix = os.fsencode(sys.base_prefix)
    gone = prefix[:1] + b"_" + prefix[2:]  # only the start: the compiler shares the ends of texts
    program = Path(sys.base_prefix) / "bin" / LIBRARY
    shared = [
        Path(line.split()[2])
        for line in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines()
        if "libpython" in line
    ]
    for file in (program, *shared):
        data = file.read_bytes()
        data = data.replace(prefix + b"/lib\0", b"$ORIGIN".ljust(len(prefix) + 4, b"\0") + b"\0")
        # A short prefix such as /usr is also part of paths of the system.
        data = data.replace(prefix + b"\0", gone + b"\0")
        if len(prefix) > len(b"/usr/local"):
            data = data.replace(prefix, gone)
        copy = folder / ("python" if file is program else file.name)
        copy.write_bytes(data)
        copy.chmod(0o755)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    build(folder)
    (folder / "recipes.py").write_text(run_recipes().boot)
    (folder / "named-only-by-us").write_text("\n".join(named_only_by_us()))
