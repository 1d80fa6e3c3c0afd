"""The package as others use it: its README is true and its value types are cheap to import."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

from fazm_memory.engines import naming

PACKAGE = Path(naming.__file__).parent


def test_the_example_in_the_readme_prints_what_it_says() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_importing_the_value_types_does_not_load_the_learner() -> None:
    code = (
        "import sys; from fazm_memory.engines.naming import Convention, NamingReport, Rename;"
        "print(*(name for name in sys.modules if name.startswith('fazm_memory.engines.naming.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_public_name_exists() -> None:
    assert all(getattr(naming, name) is not None for name in naming.__all__)
