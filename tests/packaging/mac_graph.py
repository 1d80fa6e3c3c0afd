"""The module graph of the app with the packages of a Mac, made on Linux.

`python -m tests.packaging.mac_graph SITE`, where SITE has the unpacked wheels for a Mac. Prints as JSON which
modules the graph lacks. modulegraph only reads files; compiled modules need a name that this Python knows.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from modulegraph.find_modules import find_needed_modules
from modulegraph.modulegraph import MissingModule, ModuleGraph

from tests.packaging.bundle import ROOT
from tests.packaging.bundle_layout import process_recipes, setup

# What the app needs and only a Mac has, beside the frameworks: found by name, or behind a condition.
NEEDED = (
    "_watchdog_fsevents", "watchdog.observers.fsevents", "keyring.backends.macOS",
    "keyring.backends.macOS.api", "rumps.rumps", "truststore._macos",
    "PyObjCTools.AppHelper", "_cffi_backend", "re2._re2",
)  # fmt: skip

UNUSED = {"objc.simd"}  # vectors, which no framework of ours has


def missing_modules(site: Path) -> list[str]:
    options, command = setup().options(), setup().build_command()
    before = list(sys.path)
    sys.path[:] = [str(ROOT), str(site), *(entry for entry in before if "site-packages" not in entry)]
    os.chdir(ROOT)
    graph = ModuleGraph(excludes=[*options["excludes"], "readline", "site"])
    for script in ("packaging/app.py", *options["extra_scripts"]):
        graph.run_script(script)
    find_needed_modules(graph, includes=options["includes"], packages=options["packages"])
    sys.path += before  # py2app itself
    process_recipes(command, SimpleNamespace(prescripts=[]), graph)
    frameworks = [stub.stem for stub in sorted((ROOT / "stubs").iterdir()) if stub.stem != "PyObjCTools"]
    wanted = {*NEEDED, *(name for framework in frameworks for name in modules_of(site / framework))}
    return [
        name for name in sorted(wanted - UNUSED) if isinstance(graph.findNode(name), MissingModule | None)
    ]


def modules_of(package: Path) -> list[str]:
    """Everything in a package of pyobjc: its metadata and its compiled parts."""
    files = sorted(file for file in package.glob("*") if file.suffix in (".py", ".so"))
    names = [f"{package.name}.{file.name.partition('.')[0]}" for file in files]
    return [name.removesuffix(".__init__") for name in names]


if __name__ == "__main__":
    print(json.dumps(missing_modules(Path(sys.argv[1]))))
