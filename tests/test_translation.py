"""One table for every text of the menu, the setup and the notifications."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from fazm_memory import translation
from fazm_memory.translation import (
    PLACEHOLDER,
    WEEKDAYS,
    first_supported,
    format_number,
    format_weekday_time,
    language_of_environment,
    set_language,
    translate,
    translate_count,
    translations,
)

PACKAGE = Path(translation.__file__).parent
# Looked up by a name, not by a literal in the call: days, the main menu of the window, and warnings that are
# put together from parts.
OTHERS = {
    *WEEKDAYS, "Yesterday", "the file watcher stopped and was started again: {why}",
    "Today has recorded {used} of {limit} MB.", "Session {id} has recorded {used} of {limit} MB.",
}  # fmt: skip
FOLDERS = ("app", "cli", "macos", "menubar", "web")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    set_language("en")


def calls(path: Path) -> Iterator[tuple[str, str | None]]:
    """The English texts of the calls in a module, with the plural."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "translate" and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), None
        elif node.func.id == "translate_count":
            singular, plural = (ast.literal_eval(argument) for argument in node.args[1:3])
            yield singular, plural


def menu_titles() -> set[str]:
    """The titles in macos/window.py, which cannot be imported without a Mac."""
    tree = ast.parse((PACKAGE / "macos" / "window.py").read_text(encoding="utf-8"))
    found = {"Edit", "Window", "Fazm Memory"}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").endswith("_MENU"):
            found |= {row[0] for row in ast.literal_eval(node.value)}
    return found


def used() -> dict[str, str | None]:
    found = {text: plural for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))
             for text, plural in calls(path)}  # fmt: skip
    return found | dict.fromkeys(OTHERS | menu_titles())


@cache
def literals() -> str:
    """Every text of the package, with `{}` for what is filled in. Errors are translated when shown."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = node.values
                found.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", sorted(translations()))
def test_every_text_is_translated_and_nothing_else_is_in_the_table(language: str) -> None:
    table = translations()[language]
    assert sorted(set(used()) - set(table)) == []
    others = {
        text
        for text in set(table) - set(used())
        if text not in literals() and PLACEHOLDER.sub("{}", text) not in literals()
    }
    assert sorted(others) == []


@pytest.mark.parametrize("language", sorted(translations()))
def test_a_translation_inserts_the_same_values_and_has_both_forms(language: str) -> None:
    for english, plural in used().items():
        found = translations()[language][english]
        assert isinstance(found, list) == (plural is not None), english
        for text in found if isinstance(found, list) else [found]:
            assert placeholders(text) == placeholders(english), english
            assert text.strip() == text or english.strip() != english, english


def test_counts_and_numbers_follow_the_language() -> None:
    assert translate_count(1, "{n} file changed", "{n} files changed") == "1 file changed"
    assert translate_count(1200, "{n} file changed", "{n} files changed") == "1,200 files changed"
    set_language("de")
    assert translate_count(1, "{n} file changed", "{n} files changed") == "1 Datei geändert"
    assert translate_count(1200, "{n} file changed", "{n} files changed") == "1.200 Dateien geändert"
    assert format_number(1_000_000) == "1.000.000"


def test_recorded_text_is_inserted_and_never_read_as_a_pattern() -> None:
    assert translate("Resume “{title}”", title="{0} {evil} Recording") == "Resume “{0} {evil} Recording”"


def test_a_weekday_is_written_as_the_language_or_the_system_does() -> None:
    moment = datetime(2026, 11, 16, 6, 0)
    assert format_weekday_time(moment) == "Monday 06:00"
    set_language("de")
    assert format_weekday_time(moment) == "Montag 06:00"
    set_language("de", format_moment=lambda moment: f"{moment:%d.%m.}")
    assert format_weekday_time(moment) == "16.11."


def test_the_language_is_the_first_of_the_user_that_there_is() -> None:
    assert first_supported(["fr-FR", "de-AT", "en-US"]) == "de"
    assert first_supported(["fr-FR"]) == "en"
    assert language_of_environment({"LANG": "de_DE.UTF-8"}) == "de"
    assert language_of_environment({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}) == "en"
    assert language_of_environment({}) == "en"
    set_language("fr")
    assert translate("Timeline…") == "Timeline…"
