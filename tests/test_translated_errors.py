"""Errors that the menu, the notifications and the setup can show are in the table of translations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory import errors
from fazm_memory.agents.connect import AFTER
from fazm_memory.errors import FazmMemoryError, NotFound, StoreFull
from fazm_memory.menubar import error_text
from fazm_memory.sync.transports import REASONS
from fazm_memory.translation import (
    PLACEHOLDER,
    SENTENCE_END,
    languages,
    set_language,
    translate_filled,
    translations,
)

PACKAGE = Path(errors.__file__).parent
# What starting the app, a click in its menu, a link and a step of the setup come past.
SHOWN = (
    "agents/connect.py", "app/agents.py", "app/process.py", "app/setup.py", "config.py",
    "ingest/limits.py", "ingest/recorder.py", "menubar/commands.py", "paths.py", "store/database.py",
    "store/event_log.py", "store/keys.py", "store/recovery/journal.py", "store/sessions.py",
    "store/views.py", "store/store.py", "store/writer.py", "sync/crypto.py", "sync/devices.py",
    "sync/importer.py", "sync/pairing.py", "sync/transports.py", "sync/vault.py", "watch/scope.py",
)  # fmt: skip
CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, FazmMemoryError)
}


def template(node: ast.expr | None) -> str | None:
    """The text of an expression, with `{}` for what is filled in; None if it is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def texts(module: str) -> Iterator[str]:
    """The messages and hints of the errors that a module raises, and the problems that sync reports."""
    for node in ast.walk(ast.parse((PACKAGE / module).read_text())):
        if isinstance(node, ast.Call) and called(node) in {*CLASSES, "_problem"}:
            hints = [word.value for word in node.keywords if word.arg == "hint"]
            found = (template(part) for part in [*node.args[:1], *hints])
            yield from (text for text in found if text and re.search("[a-z]{2}", text))


def called(node: ast.Call) -> str | None:
    """The last part of the name of what is called."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else None


@pytest.fixture
def german() -> Iterator[None]:
    set_language("de")
    yield
    set_language("en")


@pytest.mark.parametrize("module", SHOWN)
def test_every_error_of_a_module_is_in_the_table(module: str) -> None:
    wanted = set(texts(module))
    assert wanted
    for language in languages()[1:]:
        known = {PLACEHOLDER.sub("{}", english) for english in translations()[language]}
        assert {text for text in wanted if text not in known} == set()


def test_what_is_wrong_with_an_answer_is_in_the_table() -> None:
    """A question is answered in the menu too. The rest of that module is about lines of `record`."""
    wanted = {text for text in texts("ingest/record_protocol.py") if "The answer" in text}
    assert wanted
    for language in languages()[1:]:
        known = {PLACEHOLDER.sub("{}", english) for english in translations()[language]}
        assert wanted - known == set()


def test_what_is_wrong_with_an_object_store_is_in_the_table() -> None:
    for language in languages()[1:]:
        known = {PLACEHOLDER.sub("{}", english) for english in translations()[language]}
        assert {PLACEHOLDER.sub("{}", text) for _, *texts in REASONS for text in texts} - known == set()


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/memory does not answer.",
        "Upload 5 to 5 of “mini” is altered or replaced. It was not read.",
        "Upload 5 to 7 of “mini” is incomplete. It was not read.",
        "Upload 5 to 7 of “mini” is missing from the store: deleted or late.",
        "Upload 5 to 7 of “mini” waits: its key is not shared with this machine yet.",
        "The head of “mini” was altered or is incomplete: it was altered, cut, or made with another key.",
    ],
)
def test_a_problem_of_sync_has_no_english_words_left(text: str) -> None:
    left = re.findall(r"\b(?:Upload|is|was|the|to|of|it|not|altered|cut)\b", translate_filled(text))
    assert left == []


def test_every_title_is_in_the_table() -> None:
    for language in languages()[1:]:
        assert {kind.title for kind in CLASSES.values()} - translations()[language].keys() == set()


def test_a_translation_has_the_values_of_its_english_text() -> None:
    for table in translations().values():
        for english, translated in table.items():
            for form in [translated] if isinstance(translated, str) else translated:
                assert set(PLACEHOLDER.findall(form)) <= set(PLACEHOLDER.findall(english)), english


@pytest.mark.usefixtures("german")
def test_an_error_is_shown_in_the_users_language_with_its_values() -> None:
    error = NotFound('No session matches "x".', hint="`fazm-memory sessions` lists all sessions")
    assert error_text(error) == (
        "Nicht gefunden",
        "Keine Sitzung passt zu „x“. `fazm-memory sessions` zeigt alle Sitzungen.",
    )
    full = StoreFull("The disk is full. This was not written. What was acknowledged before is kept.")
    assert error_text(full)[1].startswith("Die Festplatte ist voll. Dies wurde nicht geschrieben.")


@pytest.mark.usefixtures("german")
def test_sentences_are_translated_one_by_one_and_the_unknown_stays() -> None:
    text = "An unknown thing happened. There is no store at /x/memory.db."
    assert translate_filled(text) == "An unknown thing happened. Bei /x/memory.db ist kein Speicher."


@pytest.mark.usefixtures("german")
def test_the_text_with_the_most_words_of_its_own_is_taken() -> None:
    assert translate_filled("/a.json cannot be read: no. Nothing was changed.").endswith("nichts geändert.")


def test_in_english_nothing_is_looked_up() -> None:
    assert translate_filled("{path} is not a folder") == "{path} is not a folder"


@pytest.mark.usefixtures("german")
def test_warnings_of_the_menu_are_translated() -> None:
    stopped = translate_filled("the file watcher stopped and was started again: OSError(24)")
    assert stopped == "Das Beobachten der Dateien brach ab und wurde neu begonnen: OSError(24)"
    quota = "Today has recorded 90 of 100 MB. Above the limit, details of calls are recorded without long"
    assert translate_filled(f"{quota} texts.").startswith(
        "Heute wurden 90 von 100 MB aufgezeichnet. Über der"
    )


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize("agent", sorted(AFTER))
def test_what_connecting_an_agent_says_is_translated(agent: str) -> None:
    known = translations()["de"]
    assert [part for part in SENTENCE_END.split(AFTER[agent]) if part not in known] == []
