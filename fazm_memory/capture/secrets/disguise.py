"""Secrets in disguise: escaped for JSON or an address, broken over lines, or wrapped in base64.

Each function undoes one disguise and gives a further view, or nothing where there is nothing to undo.
Every view is searched beside the plain one: undoing the disguise of one secret may hide another.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from fazm_memory.capture.canonical import View
from fazm_memory.capture.secrets.rule import compiled

# Every alternative is short and begins differently: nothing here can backtrack.
_BACKSLASHED = re.compile(rb"\\(?:[\"'\\/nrtbf]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n)")
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_FORM = re.compile(rb"%[0-9a-fA-F]{2}|\+")
_ENTITY = re.compile(rb"&(?:quot|apos|amp|lt|gt|#[0-9]{1,5}|#x[0-9a-fA-F]{1,4});")
_ESCAPES = ((b"\\", _BACKSLASHED), (b"%", _PERCENT), (b"&", _ENTITY))
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


def unescaped(view: View) -> Iterator[View]:
    """The view with one kind of escape undone once: a string's and a shell's, an address's, or a page's."""
    for sign, escape in _ESCAPES:
        if sign in view.data:
            replacements = [
                (found.start(), found.end(), _plain(found[0])) for found in escape.finditer(view.data)
            ]
            if replacements:
                yield view.replaced(replacements)
                if escape is _PERCENT and b"+" in view.data:
                    # In what a form sends a plus is a space; elsewhere it is a plus.
                    yield view.replaced(
                        [
                            (found.start(), found.end(), _plain(found[0]))
                            for found in _FORM.finditer(view.data)
                        ]
                    )


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
    return escape[1:]


def _character(code: int) -> bytes:
    return bytes([code]) if code < 0xFF else b"\xff"


# A line that is nothing but one run of opaque characters, after the marks that quoting, diffs and viewers put
# before it; and such a line below a run that it could belong to.
_RUN = r"(?:[A-Za-z0-9+/_.~-]{4,}={0,2}|[A-Za-z0-9+/]{1,3}={1,2})"
_CLOSED = r"[\"',;\\)]{0,3}[ \t]*$"
_RUN_ALONE = compiled(
    rf"(?m)\n([ \t]*(?:\d{{1,6}}(?:\xff|\t|:|\|)[ \t]?|[>+|#*][ \t]?)?[ \t]*[\"']?)({_RUN}){_CLOSED}"
)
WRAPPED = (
    r"(?m)[A-Za-z0-9+/_=.~-]{8}[ \t\"'+\\]*\n[ \t]*(?:\d{1,6}[\xff\t:|])?[ \t>+|#*\"']*" + _RUN + _CLOSED
)
_OPAQUE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=.~-")
_BETWEEN = b" \t\"'+\\"
_SHORTEST_RUN = 8
_FULL_LINE = 40
_PADDING = ord("=")


def rejoined(view: View) -> View | None:
    """The view with each long run joined to the one that alone fills the next line: a wrapped key."""
    data = view.data
    replacements: list[tuple[int, int, bytes]] = []
    last_end = -1
    filled = False
    for found in _RUN_ALONE.finditer(data):
        start, end = found.span(2)
        before = found.start()
        while before and data[before - 1] in _BETWEEN:
            before -= 1
        if before != last_end:
            filled = False
        full = _run_length(data, before, _FULL_LINE) >= _FULL_LINE
        if full and data[before - 1] == _PADDING:
            filled = False
            continue  # padding ends base64: the next line is the next digest of a list
        filled = filled or full
        if _run_length(data, before, _SHORTEST_RUN) >= _SHORTEST_RUN and (
            filled or _looks_opaque(data[start:end])
        ):
            replacements.append((before, start, b""))
            last_end = end
    return view.replaced(replacements) if replacements else None


def _run_length(data: bytes, end: int, most: int) -> int:
    length = 0
    while length < most and end - length > 0 and data[end - length - 1] in _OPAQUE:
        length += 1
    return length


def _looks_opaque(run: bytes) -> bool:
    """A line of one word is not the rest of a key; both cases together, or letters and digits, may be."""
    kinds = (run != run.upper()) + (run != run.lower()) + any(48 <= byte <= 57 for byte in run)
    return kinds >= 2


# Base64 of ASCII is known by its bits: in each group of four, the first character encodes a byte below 128,
# and so on. Digests, ids, paths and long names hardly ever have six such groups in a row, so next to nothing
# is decoded in vain.
BASE64 = r"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){6,}[\w+/-]*={0,2}"
_BASE64 = compiled(BASE64)
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def unwrapped(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Each stretch of base64 that decodes to text, with that text."""
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
