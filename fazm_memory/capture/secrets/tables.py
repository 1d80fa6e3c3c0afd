"""Secrets known by the column or the row they stand in: Markdown, what databases print, CSV and TSV.

A heading names what stands below it, and a cell what stands beside it. Between bars the same words may
document a parameter, so there a cell is a secret only if it cannot be a word, a type, a version or a number.
The columns of a data file hold data: what stands in them is believed sooner.
"""

from __future__ import annotations

import re
from typing import Any

from fazm_memory.capture.secrets.assignments import KEYWORDS
from fazm_memory.capture.secrets.naming import (
    Kind,
    is_address,
    is_disordered,
    is_field_secret,
    is_odd,
    is_placeholder,
    is_word,
    kind_of,
)
from fazm_memory.capture.secrets.rule import Rule, Span, alnum

# A heading is a short line; the rows below it may be as long as they are.
_WIDEST = 1024
_BAR, _TAB = ord("|"), ord("\t")
_SEPARATORS = frozenset(b"|,;\t")
# What viewers and diffs put before a line, and what Markdown and CSV put around a cell.
_MARKED = re.compile(rb"(?:[ \t]*\d{1,6}(?:\xff|\t|:) ?|[>+] ?)?")
_AROUND = b" \t\r*_`\"'"
_RULER = re.compile(rb"[ \t\r|+:=-]+")
_NAME = re.compile(r"[A-Za-z][\w.-]*(?: [\w.-]+){0,3}")
_HEADING = re.compile(rb"[\w .\-/#()%\"'*:\r]{1,48}")
_CSV_CELL = re.compile(rb"[ ]*\"(?:[^\"\n]|\"\")*\"[ \r]*|[^,;]*")

# Between bars: what is no secret although there is a digit or a sign in it.
_NUMBER = re.compile(
    r"[\d.,:/%+<>=~xX^*-]+(?:[A-Za-z]{0,3}|days?|hours?|weeks?|months?|years?|minutes?)|v?\d+(?:\.\w+)+|[A-Z]{2,8}-\d{1,6}"
)
_TYPE = re.compile(
    r"(?i)(?:u?int|float|double|decimal|n?(?:var)?char|string|str|bytes?|text|blob|utf|ascii|base|sha|md|hs|rs|es|ps"
    r"|aes|des|uuid|ulid|ipv|argon|oauth|oidc|openid|pbkdf|bcrypt|scrypt|rfc|iso|http|tls|ssl|x|v|level|field|param"
    r"|arg|col|column|value|user|test|step|item|case|option|phase|type|row|line|page|version|example|sample|input"
    r"|output|node|host|server|client|python|py|rsa|ed|ecdsa|curve|win|linux|web|api|beta|alpha|rev|build)"
    r"[-_]?v?\d+[\w.+:-]*"
)
_OTHER = re.compile(
    r"[0-9a-f]{7,12}|[0-9a-f]{40}|[\w.+-]+@[\w-]+\.[\w.-]+|[#.@$&*\\/-].*|.*[()\[\]{}<>=,;/\\].*"
)
_SENSITIVE = re.compile(r"(?i)pass|pwd|secret|token|key|auth|cred")
_SIGN_INSIDE = re.compile(r"\w+[!@#$%^&*+~?][^\s]*\w[!?]*")
_DIGIT_INSIDE = re.compile(r".*[A-Za-z]\d+[A-Za-z].*")
_LONG = re.compile(r"[\w+/=.~-]{16,}")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def _column(data: bytes, found: Any) -> tuple[list[Span], int]:
    """What stands below the name that was found, if it is a heading, or else beside it."""
    start = data.rfind(b"\n", max(0, found.start() - _WIDEST), found.start()) + 1
    end = _line_end(data, found.start())
    if end - start > _WIDEST:
        return [], end
    separator = _separator(data, start, found)
    if not separator:
        return [], found.end()
    start += _MARKED.match(data, start, end).end() - start  # type: ignore[union-attr]  # it may match nothing
    cells = _cells(data, start, end, separator)
    kinds = {place: kind for place, cell in enumerate(cells) if (kind := _kind(data, cell))}
    if separator != _BAR:
        return _file(data, (start, end), separator, kinds) if _heads(data, start, cells) else ([], end)
    ruler = _next_line(data, end)
    below = _line_end(data, ruler)
    if _is_ruler(data, ruler, below):
        return _below(data, below, kinds)
    beside = ((cells[place + 1], kind) for place, kind in kinds.items() if place + 1 < len(cells))
    return [span for cell, kind in beside if (span := _shown(data, cell, kind))], end


def _separator(data: bytes, line: int, found: Any) -> int:
    """What divides the cells of the line: what stands right after the name, or right before it."""
    after: int = data[found.end() - 1]
    if after == _BAR:
        return _BAR
    before = data[line : found.start()].rstrip(
        b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-*`\"'"
    )
    if before.rstrip(b" \t")[-1:] == b"|":
        return _BAR
    if after in _SEPARATORS:
        return after
    return before[-1] if before[-1:] and before[-1] in _SEPARATORS else 0


def _cells(data: bytes, start: int, end: int, separator: int) -> list[Span]:
    if separator in (_BAR, _TAB):
        cells = []
        for cell in data[start:end].split(bytes([separator])):
            cells.append((start, start + len(cell)))
            start += len(cell) + 1
        return cells
    cells = []
    position = start
    while position <= end:
        cell_end = _CSV_CELL.match(data, position, end).end()  # type: ignore[union-attr]  # it may match nothing
        cells.append((position, cell_end))
        if cell_end < end and data[cell_end] != separator:
            return []  # text after a closing quote, or another separator: no such file
        position = cell_end + 1
    return cells


def _kind(data: bytes, cell: Span) -> Kind:
    text = data[slice(*cell)].strip(_AROUND).decode("latin-1")
    return kind_of(text) if _NAME.fullmatch(text) else Kind.NONE


def _is_ruler(data: bytes, start: int, end: int) -> bool:
    marked = _MARKED.match(data, start, end)
    if marked is None or data.find(b"--", marked.end(), end) < 0:
        return False
    return _RULER.fullmatch(data, marked.end(), end) is not None


def _heads(data: bytes, start: int, cells: list[Span]) -> bool:
    """Whether these are the headings of a file: short names, in a line that is the first of its kind."""
    if len(cells) < 2 or not all(_HEADING.fullmatch(data, *cell) for cell in cells[1:]):
        return False
    separator = bytes([data[cells[0][1]]])
    before = data[max(0, start - _WIDEST) : start].rstrip(b"\n").rsplit(b"\n", 1)[-1] if start else b""
    return before.count(separator) != len(cells) - 1


def _file(data: bytes, heading: Span, separator: int, kinds: dict[int, Kind]) -> tuple[list[Span], int]:
    """The secrets in the rows of a file: all of them have as many cells as the heading has."""
    count = len(_cells(data, *heading, separator))
    spans: list[Span] = []
    end = heading[1]
    while end < len(data):
        start = _next_line(data, end)
        row_end = _line_end(data, start)
        cells = _cells(data, _MARKED.match(data, start, row_end).end(), row_end, separator)  # type: ignore[union-attr]
        if len(cells) != count:
            break
        spans += (span for place, kind in kinds.items() if (span := _kept(data, cells[place], kind)))
        end = row_end
    return spans, end


def _below(data: bytes, ruler_end: int, kinds: dict[int, Kind]) -> tuple[list[Span], int]:
    spans: list[Span] = []
    end = ruler_end
    while end < len(data):
        start = _next_line(data, end)
        row_end = _line_end(data, start)
        if data.find(b"|", start, row_end) < 0 and not _is_ruler(data, start, row_end):
            break
        cells = _cells(data, _MARKED.match(data, start, row_end).end(), row_end, _BAR)  # type: ignore[union-attr]
        spans += (
            span
            for place, kind in kinds.items()
            if place < len(cells) and (span := _shown(data, cells[place], kind))
        )
        end = row_end
    return spans, end


def _next_line(data: bytes, end: int) -> int:
    """Where the next line begins. An escaped `\\r\\n` is two ends of lines, so one may be empty."""
    return end + 1 + (data[end + 1 : end + 2] == b"\n")


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end


def _inner(data: bytes, cell: Span, around: bytes) -> Span:
    text = data[slice(*cell)]
    start = cell[0] + len(text) - len(text.lstrip(around))
    return start, start + len(text.strip(around))


def _kept(data: bytes, cell: Span, kind: Kind) -> Span | None:
    """The value of a data file's cell, if it is a secret."""
    span = _inner(data, cell, b" \r")
    if data[span[0] : span[0] + 1] == b'"' and span[1] - span[0] >= 2:
        span = span[0] + 1, span[1] - 1
    value = data[slice(*span)].decode("latin-1")
    if len(value) < 3 or is_word(value) or _CONSTANT.fullmatch(value) or (value.isdigit() and len(value) < 6):
        return None
    if kind is Kind.PASSWORD:
        return span if is_field_secret(value, kind) else None
    if is_placeholder(value) or is_address(value) or _NUMBER.fullmatch(value):
        return None
    return span if is_disordered(value) or (kind is Kind.KEY and len(value) >= 8 and is_odd(value)) else None


def _shown(data: bytes, cell: Span, kind: Kind) -> Span | None:
    """The value of a cell between bars, if it is a secret and nothing that a manual would say."""
    span = _inner(data, cell, _AROUND)
    value = data[slice(*span)].decode("latin-1")
    plain = value.rstrip("!?")
    if len(value) < 6 or " " in value or "\t" in value or is_word(plain) or is_placeholder(value):
        return None
    if any(each.fullmatch(plain) for each in (_NUMBER, _TYPE, _OTHER, _CONSTANT)):
        return None
    if kind is Kind.PASSWORD:
        return span if _is_password(value) else None
    if kind is Kind.TOKEN and not _LONG.fullmatch(value):
        return None  # the tokens of a design, a language or a parser have names too
    odd = kind is Kind.KEY and len(value) >= 8 and value.isalnum() and _DIGIT_INSIDE.fullmatch(value)
    return span if odd or is_disordered(value) else None


def _is_password(value: str) -> bool:
    digit = any(character.isdigit() for character in value)
    letter = any(character.isalpha() for character in value)
    return letter and (digit or (_SIGN_INSIDE.fullmatch(value) is not None and not _SENSITIVE.search(value)))


RULES: tuple[Rule, ...] = (
    Rule(
        "table-secret",
        "generic",
        KEYWORDS,
        # The end of the name, and what closes its cell.
        r"[A-Za-z0-9_.\-]{0,40}(?: (?i:key|phrase|id))?[*`\"']{0,3} {0,40}\r?"
        r"(?:\t{0,4} {0,40}\||[,;\t\n]|\z)",
        match=f"| name | password |\n| --- | --- |\n| bob | {alnum(12)} |",
        miss="| name | type | about |\n| --- | --- | --- |\n| password | string(64) | the user's password |",
        alone=False,
        spread=_column,
    ),
)
