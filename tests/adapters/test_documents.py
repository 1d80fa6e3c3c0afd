"""The examples of docs/adapters.md run unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "adapters.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
OUTPUTS = (
    "1 entry\n['5f0c1c5e-0d55-4a35-9d35-000000000001']\n",
    "input\n",
    "[{'role': 'user', 'content': 'File the scans.'}]\n",
)


@pytest.mark.parametrize(("example", "output"), [*zip(EXAMPLES, OUTPUTS, strict=True)])
def test_an_example_runs_unchanged(example: str, output: str, tmp_path: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "FAZM_MEMORY_HOME": str(tmp_path / "memory"),
        "FAZM_MEMORY_KEY": "file",
    }
    done = subprocess.run(
        [sys.executable, "-c", example], env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == (output, 0), done.stderr
