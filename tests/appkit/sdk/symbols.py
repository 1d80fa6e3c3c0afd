"""Generate the list of macOS symbols that the app uses: `python -m tests.appkit.sdk.symbols`.

It is read from the stubs, which hold what the source uses and nothing else. The doctor looks up each name in
the running system.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parents[3]
STUBS = ROOT / "stubs"
FILE = ROOT / "fazm_memory" / "macos" / "symbols.json"
LEFT_OUT = {"objc"}  # not of the system


def symbols() -> tuple[dict[str, list[str]], dict[str, dict[str, list[str]]]]:
    """By module: names that are there, and classes with the selectors they answer to."""
    names: dict[str, list[str]] = {}
    classes: dict[str, dict[str, list[str]]] = {}
    for path in sorted(STUBS.glob("*.pyi")):
        if path.stem in LEFT_OUT:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found = [
                    one.name for one in node.body if isinstance(one, ast.FunctionDef) and not _newer(one)
                ]
                classes.setdefault(path.stem, {})[node.name] = sorted(set(found))
            elif isinstance(node, ast.FunctionDef):
                names.setdefault(path.stem, []).append(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.setdefault(path.stem, []).append(node.target.id)
    return {module: sorted(set(some)) for module, some in names.items()}, classes


def _newer(function: ast.FunctionDef) -> bool:
    """Whether a method came after the oldest system we support. The source asks before it uses one."""
    return any("only from macOS" in ast.unparse(decorator) for decorator in function.decorator_list)


def text() -> str:
    names, classes = symbols()
    return json.dumps({"names": names, "classes": classes}, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
