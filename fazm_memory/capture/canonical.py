"""Text as it is stored, and text as it is searched for secrets.

What is stored is the user's text without the characters nobody can see: they hide instructions and break
up secrets. What is searched is a flatter view of the same text, which knows where each of its characters
came from.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

# Strings ended by a terminator (OSC, DCS, SOS, PM, APC) come first. An unterminated one loses only its
# introducer: swallowing the rest of the text would be a way to hide it. Each class excludes ESC, so a scan
# ends at the next one.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"
)

_INTRODUCERS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
_ASCII_CONTROLS = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])

_ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE, _KEYCAP = "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3"

# Characters with no shape of their own that are not in category Cf: fillers, joiners and the selectors.
_INVISIBLE = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    ]
)
# Marks that Unicode counts among the format characters although they are drawn.
_DRAWN = frozenset([*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2])
_LINE_ENDS = frozenset([0x0D, 0x85, 0x2028, 0x2029])
_TABLE_LIMIT = 16_384


class _Table(dict[int, str]):
    """A translation table that asks about each character the first time it is met, up to a limit."""

    def __init__(self, decide: Callable[[str], str]) -> None:
        self._decide = decide

    def __missing__(self, code: int) -> str:
        answer = self._decide(chr(code))
        if len(self) < _TABLE_LIMIT:
            self[code] = answer
        return answer


def _visible(character: str) -> str:
    """The character as it is stored: itself, an end of line, or nothing."""
    code = ord(character)
    if code in _LINE_ENDS:
        return "\n"
    if code in _DRAWN or character in ("\n", "\t", _ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE):
        return character
    if code in _INVISIBLE or code & 0xFFFE == 0xFFFE:
        return ""
    # Cc controls, Cf bidi marks, zero-width and tag characters, Co private use.
    return "" if unicodedata.category(character) in ("Cc", "Cf", "Co") else character


def _flat(character: str) -> str:
    """The character as the rules see it: its ASCII form, or ÿ for a letter they know nothing of."""
    if character.isascii():
        return character
    if character in (_ZWNJ, _ZWJ) or unicodedata.category(character) == "Mn":
        return ""
    return "".join(part for part in unicodedata.normalize("NFKD", character) if part.isascii()) or "ÿ"


_VISIBLE = _Table(_visible)
_FLAT = _Table(_flat)


def canonical(text: str) -> str:
    """The text as it is stored: without escapes, controls and invisible characters, otherwise as typed."""
    if is_plain(text):
        return text
    if not text.isascii():
        # A pair of surrogates is one character; a lone one cannot be encoded and is shown as unreadable.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if any(introducer in text for introducer in _INTRODUCERS):
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _overstruck(text)
    text = text.replace("\r\n", "\n")
    # A text has far fewer different characters than characters, and mostly none of them has to go.
    if any(_VISIBLE[ord(character)] != character for character in set(text)):
        text = text.translate(_VISIBLE)
    return _joined(text)


def is_plain(text: str) -> bool:
    """Whether this is ASCII without controls, as most text is: then it is stored as it stands."""
    if not text.isascii():
        return False
    data = text.encode("ascii")
    return len(data.translate(None, _ASCII_CONTROLS)) == len(data)


def _overstruck(text: str) -> str:
    """A terminal's backspace wipes what it goes back over, and so may not be used to break up a word."""
    out: list[str] = []
    for character in text:
        if character != "\x08":
            out.append(character)
        elif out and out[-1] != "\n":
            out.pop()
    return "".join(out)


def _joined(text: str) -> str:
    """Joiners and style selectors stay only where they do their work: inside an emoji or a joining script.

    File names contain them, and a path must keep its name; anywhere else they are invisible and go.
    """
    if not any(mark in text for mark in (_ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE)):
        return text
    out: list[str] = []
    for index, character in enumerate(text):
        before = out[-1] if out else ""
        after = text[index + 1] if index + 1 < len(text) else ""
        if character in (_ZWNJ, _ZWJ):
            kept = (_joins(before) or before == _EMOJI_STYLE) and _joins(after)
        elif character in (_TEXT_STYLE, _EMOJI_STYLE):
            kept = _is_symbol(before) or (before != "" and before in "#*0123456789" and after == _KEYCAP)
        else:
            kept = True
        if kept:
            out.append(character)
    return "".join(out)


def _is_symbol(character: str) -> bool:
    return character > "\x7f" and unicodedata.category(character) in ("So", "Sm", "Po")


def _joins(character: str) -> bool:
    if character in ("", _TEXT_STYLE, _EMOJI_STYLE):
        return False
    return unicodedata.category(character) in ("So", "Sk", "Lo", "Mn", "Mc")


@dataclass(frozen=True)
class Edit:
    """A stretch of a view that was written differently in the text it came from."""

    start: int
    end: int
    source_start: int
    source_end: int


class View:
    """One byte per character, searched in place of the text; a span in it maps back to the text it came from.

    What differs from its source is worked out only when something was found: nearly always nothing is.
    """

    def __init__(
        self, data: bytes, source: View | None = None, edits: Callable[[], Iterable[Edit]] = tuple
    ) -> None:
        self.data = data
        self._source = source
        self._find_edits = edits

    @cached_property
    def _edits(self) -> list[Edit]:
        return list(self._find_edits())

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters of this view from start to end stand in the stored text."""
        start, end = self._start(start), self._end(end)
        return self._source.span(start, end) if self._source else (start, end)

    def _start(self, position: int) -> int:
        index = bisect_right(self._edits, position, key=lambda edit: edit.start) - 1
        if index < 0:
            return position
        edit = self._edits[index]
        return edit.source_start if position < edit.end else edit.source_end + position - edit.end

    def _end(self, position: int) -> int:
        index = bisect_left(self._edits, position, key=lambda edit: edit.start) - 1
        if index < 0:
            return position
        edit = self._edits[index]
        return edit.source_end if position <= edit.end else edit.source_end + position - edit.end

    def replaced(self, replacements: list[tuple[int, int, bytes]]) -> View:
        """A further view, in which each (start, end) reads as the bytes beside it."""
        pieces: list[bytes] = []
        done = 0
        for start, end, new in replacements:
            pieces += (self.data[done:start], new)
            done = end
        pieces.append(self.data[done:])
        return View(b"".join(pieces), self, lambda: _edits(replacements))


def _edits(replacements: Iterable[tuple[int, int, bytes]]) -> Iterator[Edit]:
    drift = 0
    for start, end, new in replacements:
        yield Edit(start + drift, start + drift + len(new), start, end)
        drift += len(new) - (end - start)


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_FEW = 128


def matching(text: str) -> View:
    """The view of a canonical text in which secrets are looked for: all forms of a letter are one."""
    if text.isascii():
        return View(text.encode("ascii"))
    different = [character for character in set(text) if not character.isascii()]
    flat = text
    if len(different) <= _FEW:
        for character in sorted(different, key=lambda character: character != "ÿ"):  # not to be mistaken
            flat = flat.replace(character, _FLAT[ord(character)])
    else:
        flat = text.translate(_FLAT)
    return View(flat.encode("latin-1"), None, lambda: _edits(_widened(text)))


def _widened(text: str) -> Iterator[tuple[int, int, bytes]]:
    """The characters that are wider or narrower in the view than in the text."""
    for found in _NOT_ASCII.finditer(text):
        flat = _FLAT[ord(found[0])]
        if len(flat) != 1:
            yield found.start(), found.end(), flat.encode("latin-1")
