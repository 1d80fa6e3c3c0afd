"""The page in WebKit, which the Mac's window is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.serving import Served
from tests.page.webkit import look

HEADING = "document.querySelector('h1')?.textContent.includes({!r})"
SAYS = "document.body.innerText.includes({!r})"
ROWS = "document.querySelectorAll('[role=option]').length > 5"
BUTTON = (
    "[...document.querySelectorAll('button')].find((one) =>"
    " (one.getAttribute('aria-label') || one.textContent).trim() === {!r})"
)
CALM = "!document.querySelector('[aria-busy=true]')"


@pytest.mark.parametrize(
    ("address", "waits"),
    [
        ("#/s/{site}", [HEADING.format("Contact form"), ROWS]),
        ("#/s/{site}@11", [SAYS.format("send is not a function")]),
        ("#/context", [HEADING.format("Context"), SAYS.format("the date comes first")]),
        ("#/settings", [HEADING.format("Settings"), SAYS.format("Claude Code")]),
        ("#/compare?a={site}@3&b={site}@18", [HEADING.format("Compare"), SAYS.format("Why")]),
    ],
)  # fmt: skip
def test_a_screen_shows_its_content_without_an_error(
    shown: Served, tmp_path: Path, address: str, waits: list[str]
) -> None:
    picture = tmp_path / "picture.png"
    steps = [
        {"wait": "document.querySelector('fm-app')"},
        {"do": f"location.hash = {address.format(**shown.world.ids)!r}"},
        *({"wait": one} for one in waits),
        {"wait": CALM},
        {"picture": str(picture)},
    ]
    told = look(shown.door(), steps)
    assert told["failed"] is None
    assert told["errors"] == []
    assert picture.stat().st_size > 20_000, "a blank window compresses to less"


def test_a_verb_is_asked_and_done(own: Served) -> None:
    session = own.world.ids["today"]
    told = look(
        own.door(),
        [
            {"wait": "document.querySelector('fm-app')"},
            {"do": f"location.hash = '#/s/{session}'"},
            {"wait": BUTTON.format("Hand off…")},
            {"do": BUTTON.format("Hand off…") + ".click()"},
            {"wait": "document.querySelector('dialog[open] textarea')"},
            {"do": "const note = document.querySelector('dialog[open] textarea'); note.value = 'from WebKit';"
                   "note.dispatchEvent(new Event('input', {bubbles: true}))"},
            {"do": "document.querySelector('dialog[open] button[type=submit]').click()"},
            {"wait": SAYS.format("Handed off.")},
        ],
    )  # fmt: skip
    assert (told["failed"], told["errors"]) == (None, [])
    (question,) = own.world.memory.state(session)["open_questions"]
    assert question["note"] == "from WebKit"
