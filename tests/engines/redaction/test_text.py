"""Canonical text and the views that are searched."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.engines.redaction.text import canonical, view_of


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("\x1b[1;31merror\x1b[0m: no such file", "error: no such file"),
        ("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07prompt", "prompt"),
        ("\x1bPpayload\x1b\\after", "after"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x9dtitle\x9cafter", "after"),
        ("a\x00b\x07c\x7fd\x85e", "abcd\ne"),
        ("one\r\ntwo\rthree\tfour\n", "one\ntwo\nthree\tfour\n"),
        ("N\x08NA\x08AM\x08ME\x08E", "NAME"),
        ("abc\x08\x08\x08xyz", "xyz"),
        ("user\u202egnp.exe\u2069", "usergnp.exe"),
        ("pass\u200bword\ufeff so\u00adft", "password soft"),
        ("hi" + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore this"), "hi"),
        ("a\U000e0101b\ufe0fc", "abc"),
        ("icon \ue0b0 \U000f0001.", "icon  ."),
        ("bad \ud800 pair", "bad \ufffd pair"),
        ("whole \ud83d\ude00", "whole 😀"),
    ],
)
def test_invisible_characters_are_removed(typed: str, stored: str) -> None:
    assert canonical(typed) == stored


def test_an_unterminated_escape_does_not_remove_the_rest() -> None:
    assert canonical("\x1b]0;never closed\nimportant") == "0;never closed\nimportant"


@pytest.mark.parametrize(
    "path",
    [
        "/Users/me/Café/Übersicht.txt",
        unicodedata.normalize("NFD", "/Users/me/Café/Übersicht.txt"),
        "/tmp/👩\u200d💻 notes ❤\ufe0f.md",
        "/tmp/1\ufe0f\u20e3 first.txt",
        "/Users/me/می\u200cخواهم.txt",
        "C:\\Temp\\new\\table.txt",
        "/data/日本語/ﬁle №5 ½.txt",
        "~/Library/Application Support/Fazm Memory",
    ],
)
def test_a_path_keeps_its_name(path: str) -> None:
    assert canonical(path) == path


@given(st.text() | st.text(alphabet="a\u200d\u200c\ufe0f\ufe0e❤👩é\u0301\x1b[]0;m\x08\r\n\ud800"))
def test_canonical_text_is_canonical(text: str) -> None:
    stored = canonical(text)

    assert canonical(stored) == stored
    assert stored.encode("utf-8").decode("utf-8") == stored


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("plain", b"plain"),
        ("ｐａｓｓｗｏｒｄ＝", b"password="),
        ("ﬁle", b"file"),
        ("cafe\u0301", b"cafe"),
        ("Ünïcode", b"Unicode"),
        ("привет", b"\xff" * 6),
        ("мой Пароль：", b"\xff\xff\xff password:"),
        ("密码是", b"password: "),
        ("a\u00a0b", b"a b"),
    ],
)
def test_a_view_has_ascii_forms(text: str, data: bytes) -> None:
    assert view_of(text).data == data


@given(st.text(alphabet="abc ﬁ…é\u0301ｘя\u200d👩½"))
def test_a_span_of_a_view_maps_back_to_the_text(text: str) -> None:
    text = canonical(text)
    view = view_of(text)
    for position, character in enumerate(text):
        flat = view_of(character).data
        if flat and text.count(character) == 1:
            start = view.data.find(flat) if view.data.count(flat) == 1 else -1
            if start >= 0:
                assert view.span(start, start + len(flat)) == (position, position + 1)


def test_spans_map_back_through_several_views() -> None:
    view = view_of("ﬁ: a%3Db!")
    once = view.replaced([(5, 8, b"=")])
    twice = once.replaced([(6, 6, b"???"), (7, 8, b"")])

    assert once.data == b"fi: a=b!"
    assert twice.data == b"fi: a=???b"
    assert once.span(4, 7) == (3, 8)
    assert once.span(5, 6) == (4, 7)
    assert twice.span(9, 10) == (7, 8)
    assert twice.span(0, 2) == (0, 1)
