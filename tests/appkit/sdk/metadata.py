"""pyobjc's own `_metadata.py`, run with a stand-in for `objc` that only takes notes.

From there come the names a module has, the values of constants, and what is out or a callback in a function;
the scan does not know them.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass
class Noted:
    externs: dict[str, str] = field(default_factory=dict)  # name → framework
    numbers: dict[str, tuple[str, int | float]] = field(default_factory=dict)
    functions: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    selectors: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    others: dict[str, tuple[str, Any]] = field(default_factory=dict)  # structs, types, aliases


def note(sources: dict[str, str], modules: list[str]) -> Noted:
    noted = Noted()
    before = sys.modules.get("objc")
    sys.modules["objc"] = _objc(noted)
    try:
        for module in modules:
            names: dict[str, Any] = {"__name__": f"{module}._metadata"}
            exec(compile(sources[module], f"{module}/_metadata.py", "exec"), names)
            _take(noted, module.partition(".")[0], names)
    finally:
        if before is None:
            del sys.modules["objc"]
        else:
            sys.modules["objc"] = before
    return noted


def _objc(noted: Noted) -> ModuleType:
    objc = ModuleType("objc")

    def register(owner: bytes, selector: bytes, metadata: dict[str, Any]) -> None:
        noted.selectors[owner.decode(), selector.decode()] = metadata

    vars(objc).update(
        arch="arm64",
        NULL=None,
        registerMetaDataForSelector=register,
        createStructType=lambda name, *_, **__: name,
        __getattr__=lambda name: lambda *_, **__: name,
    )
    return objc


def _take(noted: Noted, framework: str, names: dict[str, Any]) -> None:
    for entry in re.findall(r"\$([^$]+)", names.get("constants", "")):
        noted.externs[entry.partition("@")[0]] = framework
    for entry in re.findall(r"\$([^$]+)", names.get("enums", "")):
        name, _, value = entry.partition("@")
        noted.numbers[name] = framework, (float(value) if "." in value else int(value))
    for name, entry in names.get("functions", {}).items():
        noted.functions[name] = framework, (entry[2] if len(entry) > 2 else {})
    for name, value in (*names.get("misc", {}).items(), *names.get("aliases", {}).items()):
        noted.others[name] = framework, value
    for name in (*names.get("expressions", {}), *(entry[0] for entry in names.get("cftypes", []))):
        noted.others.setdefault(name, (framework, None))
