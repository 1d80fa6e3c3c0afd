"""The source of the page: types, pure modules, no way from text to markup, nothing from other origins."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "fazm_memory" / "web" / "static"
TSC = HERE / "node_modules" / "typescript" / "bin" / "tsc"
SCRIPTS = sorted(STATIC.rglob("*.js"))
# Ways from text to markup or to code.
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
    r"|setHTML|\beval\(|new Function|javascript:|setTimeout\(\s*[\"'`]"
)


def run_node(*arguments: str) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.fail("no node on this machine: apt-get install nodejs", pytrace=False)
    done = subprocess.run([node, *arguments], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_types_are_correct() -> None:
    if not TSC.exists():
        pytest.fail("the type checker is not installed: tests/page/install", pytrace=False)
    run_node(str(TSC), "-p", ".")


def test_the_pure_modules_pass_their_tests() -> None:
    tests = sorted(str(path) for path in (HERE / "node").glob("*.test.mjs"))
    assert tests
    run_node("--test", *tests)


def test_no_script_turns_text_into_markup_or_code() -> None:
    found = {path.name: MARKUP.findall(path.read_text(encoding="utf-8")) for path in SCRIPTS}
    assert {name: uses for name, uses in found.items() if uses} == {}


def test_every_script_begins_with_a_description() -> None:
    assert [path.name for path in SCRIPTS if not path.read_text(encoding="utf-8").startswith("/**")] == []


def test_the_page_loads_nothing_from_elsewhere_and_has_nothing_inline() -> None:
    source = (STATIC / "index.html").read_text(encoding="utf-8")
    links = re.findall(r"(?:src|href)=\"([^\"]*)\"", source)
    assert [link for link in links if not (STATIC / link).is_file()] == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", source) == []
    for path in [*SCRIPTS, *STATIC.rglob("*.css")]:
        remote = re.findall(r"https?://(?!www\.w3\.org/2000/svg)[\w.]+", path.read_text(encoding="utf-8"))
        assert remote == [], path.name


def test_the_durations_that_the_tests_extend_are_those_of_the_page() -> None:
    setup = (HERE / "page_setup.js").read_text(encoding="utf-8")
    assert "[1800, 8000]" in setup
    assert "TOAST_MS = 8000;" in (STATIC / "commands" / "toast.js").read_text(encoding="utf-8")
    assert "FLASH_MS = 1800;" in (STATIC / "app.js").read_text(encoding="utf-8")


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (HERE / "package-lock.json").read_text(encoding="utf-8")
