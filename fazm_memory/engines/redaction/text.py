"""Canonical text, which is stored, and views of it, which are searched.

Canonical text has no invisible characters: they can hide instructions and split secrets. A view is a simpler
form of the text that can map its positions back to it.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from fazm_memory.engines.redaction.rules import HasWork, compiled

# Terminal escapes. Strings with a terminator (OSC, DCS, SOS, PM, APC) come first. Without a terminator only
# the introducer is removed: removing the rest would be a way to hide text. Each class excludes ESC, so a scan
# ends at the next escape.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"
)

_INTRODUCERS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
_ASCII = bytes(range(128))
_ASCII_CONTROLS = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])

_ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE, _KEYCAP = "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3"

_STYLES = re.compile(f"[{_ZWNJ}{_ZWJ}{_TEXT_STYLE}{_EMOJI_STYLE}]+")

# Invisible characters outside category Cf: fillers, joiners and variation selectors.
_INVISIBLE = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    ]
)
# Visible characters in category Cf.
_VISIBLE_FORMATS = frozenset([*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2])
_LINE_ENDS = frozenset([0x0D, 0x85, 0x2028, 0x2029])
_TABLE_LIMIT = 16_384


class _Table(dict[int, str]):
    """A translation table that is filled on demand, up to a limit."""

    def __init__(self, decide: Callable[[str], str]) -> None:
        self._decide = decide

    def __missing__(self, code: int) -> str:
        answer = self._decide(chr(code))
        if len(self) < _TABLE_LIMIT:
            self[code] = answer
        return answer


def _visible(character: str) -> str:
    """The character in canonical text: itself, a line end, or nothing."""
    code = ord(character)
    if code in _LINE_ENDS:
        return "\n"
    if code in _VISIBLE_FORMATS or character in ("\n", "\t", _ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE):
        return character
    if code in _INVISIBLE or code & 0xFFFE == 0xFFFE:
        return ""
    # Cc controls, Cf bidi marks, zero-width and tag characters, Co private use.
    return "" if unicodedata.category(character) in ("Cc", "Cf", "Co") else character


def _flat(character: str) -> str:
    """The character in a view: its ASCII form, or ÿ if it has none."""
    if character.isascii():
        return character
    if character in (_ZWNJ, _ZWJ) or unicodedata.category(character) == "Mn":
        return ""
    return "".join(part for part in unicodedata.normalize("NFKD", character) if part.isascii()) or "ÿ"


_VISIBLE = _Table(_visible)
_STAYS = _Table(lambda character: _stays(character))
_FLAT = _Table(_flat)


def canonical(text: str) -> str:
    """The text without terminal escapes, control characters and invisible characters."""
    if is_canonical(text):
        return text
    if not text.isascii():
        # Join surrogate pairs. A lone surrogate cannot be encoded and becomes U+FFFD.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if any(introducer in text for introducer in _INTRODUCERS):
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _overstruck(text)
    text = text.replace("\r\n", "\n")
    # Test each distinct character once: usually none is removed.
    if any(_VISIBLE[ord(character)] != character for character in set(text)):
        text = text.translate(_VISIBLE)
    return _joined(text)


def is_canonical(text: str) -> bool:
    """Whether every character of the text is one that always stays.

    In most texts it is.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    if len(data.translate(None, _ASCII_CONTROLS)) != len(data):
        return False
    return text.isascii() or all(_STAYS[ord(character)] for character in _not_ascii(data))


def _not_ascii(data: bytes) -> set[str]:
    """The different characters of a text in UTF-8 that are not ASCII."""
    return set(data.translate(None, _ASCII).decode())


def _stays(character: str) -> str:
    """The character, if it is part of canonical text whatever stands beside it.

    Else nothing.
    """
    return character if _VISIBLE[ord(character)] == character and not _STYLES.match(character) else ""


def _overstruck(text: str) -> str:
    """Apply backspaces, so that they cannot split a word."""
    out: list[str] = []
    for character in text:
        if character != "\x08":
            out.append(character)
        elif out and out[-1] != "\n":
            out.pop()
    return "".join(out)


def _joined(text: str) -> str:
    """Remove joiners and style selectors outside emoji and joining scripts.

    Inside they are part of file names, which must stay the same.
    """
    return _STYLES.sub(_kept_styles, text)


def _kept_styles(run: re.Match[str]) -> str:
    text, kept = run.string, ""
    before = text[run.start() - 1] if run.start() else ""
    for index in range(run.start(), run.end()):
        character = text[index]
        after = text[index + 1] if index + 1 < len(text) else ""
        if character in (_ZWNJ, _ZWJ):
            keep = (_joins(before) or before == _EMOJI_STYLE) and _joins(after)
        else:
            keep = _is_symbol(before) or (before != "" and before in "#*0123456789" and after == _KEYCAP)
        if keep:
            kept += character
            before = character
    return kept


def _is_symbol(character: str) -> bool:
    return character > "\x7f" and unicodedata.category(character) in ("So", "Sm", "Po")


def _joins(character: str) -> bool:
    if character in ("", _TEXT_STYLE, _EMOJI_STYLE):
        return False
    return unicodedata.category(character) in ("So", "Sk", "Lo", "Mn", "Mc")


@dataclass(frozen=True)
class Edit:
    """A span of a view that differs from the span of its source."""

    start: int
    end: int
    source_start: int
    source_end: int


class View:
    """A form of the text with one byte per character.

    Its spans map back to the text.

    The differences from the source are computed only when something was found, which is rare.
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

    @cached_property
    def _edit_starts(self) -> list[int]:
        return [edit.start for edit in self._edits]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span in the canonical text of a span in this view."""
        start, end = self._start(start), self._end(end)
        return self._source.span(start, end) if self._source else (start, end)

    def _start(self, position: int) -> int:
        index = bisect_right(self._edit_starts, position) - 1
        if index < 0:
            return position
        edit = self._edits[index]
        return edit.source_start if position < edit.end else edit.source_end + position - edit.end

    def _end(self, position: int) -> int:
        index = bisect_left(self._edit_starts, position) - 1
        if index < 0:
            return position
        edit = self._edits[index]
        return edit.source_end if position <= edit.end else edit.source_end + position - edit.end

    def replaced(self, replacements: list[tuple[int, int, bytes]]) -> View:
        """A further view, in which each (start, end) is replaced by the bytes with it."""
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


# Words for a secret that have no ASCII form. In a view they are English. Some languages join the verb.
_ENGLISH = {
    "password": """пароль 密码 密碼 口令 パスワード 비밀번호 암호 hasło şifre mật_khẩu รหัสผ่าน पासवर्ड
    סיסמה סיסמא كلمة_المرور كلمة_السر κωδικός_πρόσβασης""",
    "password: ": "密码是 密码为 密碼是 密碼為 パスワードは",
    "token": "токен 令牌 トークン 토큰",
    "secret_key": "密钥 密鑰",
}
_MEANING = {
    form: english
    for english, line in _ENGLISH.items()
    for word in (name.replace("_", " ") for name in line.split())
    for form in (word, word.capitalize(), word.upper())
}
FOREIGN = re.compile("|".join(sorted(_MEANING, key=len, reverse=True)))
_FOREIGN_LETTERS = frozenset(letter for word in _MEANING for letter in word if not letter.isascii())
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_FOREIGN_OR_NOT_ASCII = re.compile(rf"{FOREIGN.pattern}|{_NOT_ASCII.pattern}")
_FEW = 128


def _english(found: re.Match[str]) -> str:
    return _MEANING[found[0]]


def view_of(text: str) -> View:
    """The first view of a canonical text, in which variants of a letter are the same."""
    if text.isascii():
        return View(text.encode("ascii"))
    different = _not_ascii(text.encode())
    pattern = _NOT_ASCII if different.isdisjoint(_FOREIGN_LETTERS) else _FOREIGN_OR_NOT_ASCII
    flat = text if pattern is _NOT_ASCII else FOREIGN.sub(_english, text)
    if len(different) <= _FEW:
        for character in sorted(
            different, key=lambda character: character != "ÿ"
        ):  # ÿ first: others become ÿ
            flat = flat.replace(character, _FLAT[ord(character)])
    else:
        flat = flat.translate(_FLAT)
    return View(flat.encode("latin-1"), None, lambda: _edits(_widened(text, pattern)))


def _widened(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, bytes]]:
    """The words and characters that have another width in the view than in the text."""
    for found in pattern.finditer(text):
        flat = _FLAT[ord(found[0])] if len(found[0]) == 1 else _english(found)
        if len(flat) != 1:
            yield found.start(), found.end(), flat.encode("latin-1")


# Decoders. Each returns further views of a text, or nothing if there is nothing to decode. The finder
# searches every view beside the original, because decoding one secret may hide another.

# The alternatives are short and begin differently, so none can backtrack.
_BACKSLASHED = re.compile(rb"(?:\\\\){2,}|\\(?:[\"'\\/nrtbf]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n)")
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_FORM = re.compile(rb"%[0-9a-fA-F]{2}|\+")
_ENTITY = re.compile(rb"&(?:quot|apos|amp|lt|gt|#[0-9]{1,5}|#x[0-9a-fA-F]{1,4});")
_STRING_ESCAPES = ((b"\\", _BACKSLASHED), (b"%", _PERCENT), (b"&", _ENTITY))
_SIMPLE = {
    b"\\n": b"\n",
    b"\\r": b"\n",
    b"\\t": b"\t",
    b"\\b": b"",
    b"\\f": b" ",
    b"\\\n": b"",
    b"\\\r\n": b"",
    b"+": b" ",
}
_ENTITIES = {b"&quot;": b'"', b"&apos;": b"'", b"&amp;": b"&", b"&lt;": b"<", b"&gt;": b">"}


# Between parts of a view that are apart in the text. No text contains it.
CUT = b"\n\0\n"
# How much text around an escape is searched again.
_CONTEXT = 256
_LEAST_CUT = 256
_ESCAPE_WORK = 2


def unescaped(view: View, budget: HasWork) -> Iterator[View]:
    """One view per kind of escape: of strings and shells, of URLs, of HTML.

    Each decodes one level.

    A view has only the text around escapes. The rest was searched before. Each escape is two steps of work.
    """
    for sign, escape in _STRING_ESCAPES:
        if signs := view.data.count(sign):
            if signs > 2 * budget.work:
                budget.work = -1
                return
            replacements = [(*found.span(), _plain(found[0])) for found in escape.finditer(view.data)]
            budget.work -= _ESCAPE_WORK * len(replacements)
            if replacements:
                yield view.replaced(_with_cuts(view.data, replacements))
                if escape is _PERCENT and b"+" in view.data:
                    # A plus is a space in form data, but not elsewhere.
                    form = [(*found.span(), _plain(found[0])) for found in _FORM.finditer(view.data)]
                    budget.work -= _ESCAPE_WORK * len(form)
                    yield view.replaced(_with_cuts(view.data, form))


def before_encoded(data: bytes) -> int:
    """A position before the first escape, or the end of the data.

    The position leaves the text around the escape in the view.
    """
    found = (escape.search(data) for sign, escape in _STRING_ESCAPES if sign in data)
    first = min((escape.start() for escape in found if escape), default=None)
    return len(data) if first is None else max(0, first - _CONTEXT)


def _with_cuts(data: bytes, replacements: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """The replacements, and cuts of what is far from all of them."""
    if len(data) < 2 * _CONTEXT + _LEAST_CUT:
        return replacements
    near: list[tuple[int, int, bytes]] = []
    done = -2 * _CONTEXT  # nothing is kept before the first escape but its context
    for replacement in [*replacements, (len(data) + 2 * _CONTEXT, 0, b"")]:
        start = replacement[0]
        if start - done > 4 * _CONTEXT + _LEAST_CUT:
            first, last = max(0, done + _CONTEXT), min(len(data), start - _CONTEXT)
            if first:  # from the end of a line to the beginning of one, if they are close
                line = data.find(b"\n", first, first + _CONTEXT)
                first = first + _CONTEXT if line < 0 else line
            if last < len(data):
                line = data.rfind(b"\n", last - _CONTEXT, last)
                last = last - _CONTEXT if line < 0 else line + 1
            near.append((first, last, CUT))
        near.append(replacement)
        done = replacement[1]
    return near[:-1]


@lru_cache(maxsize=1024)
def _plain(escape: bytes) -> bytes:
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if escape[:1] == b"%":
        return _character(int(escape[1:], 16))
    if escape[:1] == b"&":
        if escape in _ENTITIES:
            return _ENTITIES[escape]
        digits = escape[2:-1]
        return _character(int(digits[1:], 16) if digits[:1] == b"x" else int(digits))
    if escape[1:2] in (b"u", b"x"):
        return _character(int(escape[2:], 16))
    return escape[1:] if len(escape) == 2 else escape[: len(escape) // 2]


def _character(code: int) -> bytes:
    return bytes([code]) if 0 < code < 0xFF else b"\xff"


# A line with only a run of opaque characters, after the prefix of a quote, diff or viewer; and such a line
# below a run that it may continue.
_RUN = r"(?:[A-Za-z0-9+/_.~-]{4,}={0,2}|[A-Za-z0-9+/]{1,3}={1,2})"
_CLOSED = r"[\"',;\\)]{0,3}[ \t]*$"
_RUN_ALONE = compiled(
    rf"(?m)\n([ \t]*(?:\d{{1,6}}(?:\xff|\t|:|\|)[ \t]?|[>+|#*][ \t]?)?[ \t]*[\"']?)({_RUN}){_CLOSED}"
)
WRAPPED = (
    r"(?m)[A-Za-z0-9+/_=.~-]{8}[ \t\"'+\\]*\n[ \t]*(?:\d{1,6}[\xff\t:|])?[ \t>+|#*\"']*" + _RUN + _CLOSED
)
_OPAQUE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=.~-"
_BETWEEN = b" \t\"'+\\"
_SHORTEST_RUN = 8
_FULL_LINE = 40
_PADDING = ord("=")
_RUN_WORK = 4


def rejoined(view: View, budget: HasWork) -> View | None:
    """The view with wrapped keys joined.

    A wrapped key is a long run and the run that fills the next line.

    Each run costs a few steps of work.
    """
    data = view.data
    replacements: list[tuple[int, int, bytes]] = []
    last_end = -1
    filled = False
    for found in _RUN_ALONE.finditer(data):
        budget.work -= _RUN_WORK
        start, end = found.span(2)
        before = found.start()
        while before and data[before - 1] in _BETWEEN:
            before -= 1
        if before != last_end:
            filled = False
        length = _run_length(data, before, _FULL_LINE)
        full = length >= _FULL_LINE
        if full and data[before - 1] == _PADDING:
            filled = False
            continue  # padding ends base64, so the next line is another value
        filled = filled or full
        if length >= _SHORTEST_RUN and (filled or _looks_opaque(data[start:end])):
            replacements.append((before, start, b""))
            last_end = end
    return view.replaced(replacements) if replacements else None


def _run_length(data: bytes, end: int, most: int) -> int:
    run = data[max(0, end - most) : end]
    return len(run) - len(run.rstrip(_OPAQUE))


def _looks_opaque(run: bytes) -> bool:
    """Whether this may be the rest of a key and not a word.

    It then has both cases, or letters and digits.
    """
    kinds = (run != run.upper()) + (run != run.lower()) + (run.translate(None, b"0123456789") != run)
    return kinds >= 2


# Base64 of ASCII text: in each group of four, the characters must encode bytes below 128. Digests, ids, paths
# and identifiers almost never have six such groups in a row, so little is decoded in vain.
BASE64 = r"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){6,}[\w+/-]*={0,2}"
_BASE64 = compiled(BASE64)
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def base64_decoded(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The span and the text of each run of base64 that decodes to text."""
    for found in _BASE64.finditer(data):
        start, end = found.span()
        yield start, end, _decoded(data[start:end])


def _decoded(blob: bytes) -> bytes:
    blob = blob.rstrip(b"=").translate(_URL_SAFE)
    if len(blob) % 4 == 1:
        blob = blob[:-1]
    decoded = binascii.a2b_base64(blob + b"=" * (-len(blob) % 4))
    if not decoded[1::2].strip(b"\0"):
        decoded = decoded[::2]  # UTF-16, as some shells encode their commands
    return decoded
