"""The page's source: its types hold, its pure modules do what they say, and it lets no text in as markup."""

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
# Ways from text to markup or to code; none is used anywhere in the page.
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
    r"|setHTML|\beval\(|new Function|javascript:|setTimeout\(\s*[\"'`]"
)


def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.fail("no node on this machine: apt-get install nodejs", pytrace=False)
    return found


def run(*arguments: str) -> None:
    done = subprocess.run([node(), *arguments], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_types_in_the_comments_hold() -> None:
    if not TSC.exists():
        pytest.fail("the type checker is not installed: tests/page/install", pytrace=False)
    run(str(TSC), "-p", ".")


def test_the_pure_modules_do_what_their_tests_say() -> None:
    tests = sorted(str(path) for path in (HERE / "node").glob("*.test.mjs"))
    assert tests
    run("--test", *tests)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(STATIC)))
def test_a_script_opens_with_its_idea_makes_no_markup_of_text_and_stays_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.startswith("/**"), "a module opens with a comment that states its idea"
    assert MARKUP.findall(source) == []
    assert len(source.splitlines()) <= 300


def test_the_page_loads_nothing_from_elsewhere_and_has_nothing_inline() -> None:
    source = (STATIC / "index.html").read_text(encoding="utf-8")
    named = re.findall(r"(?:src|href)=\"([^\"]*)\"", source)
    assert [name for name in named if not (STATIC / name).is_file()] == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", source) == []
    for path in [*SCRIPTS, *STATIC.rglob("*.css")]:
        remote = re.findall(r"https?://(?!www\.w3\.org/2000/svg)[\w.]+", path.read_text(encoding="utf-8"))
        assert remote == [], path.name


def test_the_lock_names_no_registry() -> None:
    assert "resolved" not in (HERE / "package-lock.json").read_text(encoding="utf-8")
