"""The examples in the documents are run, and what they promise is held against what happens."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(path: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall((ROOT / path).read_text()) if kind == language]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    program = Path(sys.executable).parent
    return {
        "PATH": f"{program}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "user"),
        "FAZM_MEMORY_HOME": str(tmp_path / "home"),
        "FAZM_MEMORY_KEY": "file",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def test_the_record_protocol_document_is_accepted_line_by_line(environment: dict[str, str]) -> None:
    lines = blocks("docs/record.md", "json")[0]
    done = subprocess.run(
        ["fazm-memory", "record"], input=lines, env=environment, capture_output=True, text=True, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in answers if not one["ok"]] == []
    assert len(answers) == len(lines.strip().splitlines())


def test_the_tour_of_the_readme_prints_what_it_says(environment: dict[str, str]) -> None:
    """Each `$ command` in the README's console blocks is run by bash; its output is as shown, ids aside."""
    shown = "".join(blocks("README.md", "console"))
    steps = re.findall(r"^\$ (.*?)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    assert len(steps) >= 5
    for command, expected in steps:
        done = subprocess.run(
            ["bash", "-c", command],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert _without_ids(done.stdout) == _without_ids(expected), (command, done.stderr)


def _without_ids(text: str) -> str:
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    text = re.sub(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8}\b", "ID", text)
    return re.sub(r"[ \t]+", " ", text).strip()


def test_links_between_documents_lead_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_make_has_the_two_commands() -> None:
    assert shutil.which("make")
    for target in ("run", "test"):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_architecture_names_files_that_exist() -> None:
    named = re.findall(r"`([a-z_]+/[\w/.]*)`", (ROOT / "docs/architecture.md").read_text())
    assert len(named) > 20
    missing = [
        name for name in named if not any((base / name).exists() for base in (ROOT, ROOT / "fazm_memory"))
    ]
    assert missing == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_the_glossary_has_one_meaning_for_each_term() -> None:
    terms = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)[2:]
    assert len(terms) > 30
    assert terms == sorted(set(terms), key=str.casefold)
