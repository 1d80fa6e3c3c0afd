"""What the macOS room uses of the system, as data that ships: `python -m tests.appkit.sdk.symbols`.

It is read from the stubs, which hold what the source uses and nothing else; the doctor looks each name up in
the running system. A bundle need not carry source, so the list is made here and kept.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]
STUBS = ROOT / "stubs"
FILE = ROOT / "fazm_memory" / "macos" / "symbols.py"
LEFT_OUT = {"objc"}  # not of the system
HEAD = '''"""What we use of macOS, for the doctor: made from the stubs by tests/appkit/sdk/symbols.py."""

from __future__ import annotations

# fmt: off
'''


def symbols() -> tuple[dict[str, list[str]], dict[str, dict[str, list[str]]]]:
    """By module: names that are there, and classes with the selectors they answer to."""
    names: dict[str, list[str]] = {}
    classes: dict[str, dict[str, list[str]]] = {}
    for path in sorted(STUBS.glob("*.pyi")):
        if path.stem in LEFT_OUT:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
                classes.setdefault(path.stem, {})[node.name] = sorted(set(found))
            elif isinstance(node, ast.FunctionDef):
                names.setdefault(path.stem, []).append(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.setdefault(path.stem, []).append(node.target.id)
    return {module: sorted(set(some)) for module, some in names.items()}, classes


def text() -> str:
    names, classes = symbols()
    lines = [HEAD, "NAMES: dict[str, tuple[str, ...]] = {"]
    for module, some in names.items():
        lines += [f'    "{module}": (', *_packed(some, 8), "    ),"]
    lines += ["}", "", "CLASSES: dict[str, dict[str, tuple[str, ...]]] = {"]
    for module, known in classes.items():
        lines.append(f'    "{module}": {{')
        for name, selectors in known.items():
            lines += [f'        "{name}": (', *_packed(selectors, 12), "        ),"]
        lines.append("    },")
    return "\n".join([*lines, "}", ""])


def _packed(names: list[str], indent: int) -> list[str]:
    words = " ".join(f'"{one}",' for one in names)
    return textwrap.wrap(words, 110, initial_indent=" " * indent, subsequent_indent=" " * indent)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
