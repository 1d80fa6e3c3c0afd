"""Secrets in tables and SQL.

Markdown, output of databases, CSV, TSV, passwords of accounts, INSERT and COPY.

A heading names the cells below it, and a cell may name the cell beside it. A table with bars may also
document a parameter, so there a cell is a secret only if it cannot be a word, a type, a version or a number.
Cells of data files need less proof.
"""

from __future__ import annotations

import re
from typing import Any

from fazm_memory.engines.redaction.assignments import KEYWORDS
from fazm_memory.engines.redaction.classify import (
    Kind,
    is_address,
    is_disordered,
    is_field_secret,
    is_literal_secret,
    is_odd,
    is_placeholder,
    is_word,
    kind_of,
    not_placeholder_or_word,
)
from fazm_memory.engines.redaction.rules import Rule, Span, text_at

# The longest heading. The rows below it have no limit.
_WIDEST = 1024
_BAR, _TAB = ord("|"), ord("\t")
_SEPARATORS = frozenset(b"|,;\t")
# Prefixes that viewers and diffs add to lines, and characters around cells in Markdown and CSV.
_LINE_PREFIX = re.compile(rb"(?:[ \t]*\d{1,6}(?:\xff|\t|:) ?|[>+] ?)?")
_AROUND = b" \t\r*_`\"'"
_RULER = re.compile(rb"[ \t\r|+:=-]+")
_NAME = re.compile(r"[A-Za-z][\w.-]*(?: [\w.-]+){0,3}")
_CELL_NAME = re.compile(rb"[\"']?[\w.-]{0,64}(?: (?i:key|phrase|id)\b)?[*`\"']{0,3} {0,40}")
_HEADING = re.compile(rb"[\w .\-/#()%\"'*:\r]{1,48}")
_CSV_CELL = re.compile(rb"[ ]*\"(?:[^\"\n]|\"\")*\"[ \r]*|[^,;]*")

# Between bars: values that are no secrets although they have a digit or a sign.
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
_CODE = re.compile(r"[ (){}\[\]<>]")
_DIGITS = re.compile(r"[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


_SEPARATOR = re.compile(rb"[|,;\t]")


def _ends_cell(data: bytes, position: int) -> bool:
    """Whether the name may be a cell of a row.

    The last cell needs a separator before it on its line.
    """
    found = _CELL_NAME.match(data, position)
    if found is None:
        return False
    after = data[found.end() : found.end() + 1]
    if after and after not in b"\n\r":
        return after in b"|,;\t"
    line = data.rfind(b"\n", max(0, position - _WIDEST), position) + 1
    return _SEPARATOR.search(data, max(line, position - _WIDEST), position) is not None


def _column(data: bytes, found: Any) -> tuple[list[Span], int]:
    """The secrets below a heading, or beside a name.

    The name that was found is either the heading of a column or a cell of a row.
    """
    start = data.rfind(b"\n", max(0, found.start() - _WIDEST), found.start()) + 1
    end = _line_end(data, found.start())
    if end - start > _WIDEST:
        return [], end
    separator = _separator(data, start, found)
    if not separator:
        return [], found.end()
    start += _LINE_PREFIX.match(data, start, end).end() - start  # type: ignore[union-attr]  # it always matches
    cells = _cells(data, start, end, separator)
    kinds = {place: kind for place, cell in enumerate(cells) if (kind := _cell_kind(data, cell))}
    if separator != _BAR:
        return (
            _data_rows(data, (start, end), separator, kinds) if _is_heading(data, start, cells) else ([], end)
        )
    ruler = _next_line(data, end)
    below = _line_end(data, ruler)
    if _is_ruler(data, ruler, below):
        return _table_rows(data, below, kinds)
    beside = ((cells[place + 1], kind) for place, kind in kinds.items() if place + 1 < len(cells))
    return [span for cell, kind in beside if (span := _table_value(data, cell, kind))], end


def _separator(data: bytes, line: int, found: Any) -> int:
    """The separator of the cells in a line, or 0 if there is none.

    It is the character after the name, or before it.
    """
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
        cell_end = _CSV_CELL.match(data, position, end).end()  # type: ignore[union-attr]  # it always matches
        cells.append((position, cell_end))
        if cell_end < end and data[cell_end] != separator:
            return []  # text after a closing quote, or another separator: not CSV
        position = cell_end + 1
    return cells


def _cell_kind(data: bytes, cell: Span) -> Kind:
    text = data[slice(*cell)].strip(_AROUND).decode("latin-1")
    return kind_of(text) if _NAME.fullmatch(text) else Kind.NONE


def _is_ruler(data: bytes, start: int, end: int) -> bool:
    marked = _LINE_PREFIX.match(data, start, end)
    if marked is None or data.find(b"--", marked.end(), end) < 0:
        return False
    return _RULER.fullmatch(data, marked.end(), end) is not None


def _is_heading(data: bytes, start: int, cells: list[Span]) -> bool:
    """Whether these are the headings of a data file.

    They are short names, and the first line with so many cells.
    """
    if len(cells) < 2 or not all(_HEADING.fullmatch(data, *cell) for cell in cells[1:]):
        return False
    if data[slice(*cells[-1])].lstrip()[:1] == b"#":
        return False  # a comment at the end of a line of a program
    separator = bytes([data[cells[0][1]]])
    before = data[max(0, start - _WIDEST) : start].rstrip(b"\n").rsplit(b"\n", 1)[-1] if start else b""
    return before.count(separator) != len(cells) - 1


def _data_rows(data: bytes, heading: Span, separator: int, kinds: dict[int, Kind]) -> tuple[list[Span], int]:
    """The secrets in the rows of a data file.

    Each row has as many cells as the heading.
    """
    count = len(_cells(data, *heading, separator))
    spans: list[Span] = []
    end = heading[1]
    while end < len(data):
        start = _next_line(data, end)
        row_end = _line_end(data, start)
        cells = _cells(data, _LINE_PREFIX.match(data, start, row_end).end(), row_end, separator)  # type: ignore[union-attr]
        if len(cells) != count:
            break
        spans += (span for place, kind in kinds.items() if (span := _data_value(data, cells[place], kind)))
        end = row_end
    return spans, end


def _table_rows(data: bytes, ruler_end: int, kinds: dict[int, Kind]) -> tuple[list[Span], int]:
    spans: list[Span] = []
    end = ruler_end
    while end < len(data):
        start = _next_line(data, end)
        row_end = _line_end(data, start)
        if data.find(b"|", start, row_end) < 0 and not _is_ruler(data, start, row_end):
            break
        cells = _cells(data, _LINE_PREFIX.match(data, start, row_end).end(), row_end, _BAR)  # type: ignore[union-attr]
        spans += (
            span
            for place, kind in kinds.items()
            if place < len(cells) and (span := _table_value(data, cells[place], kind))
        )
        end = row_end
    return spans, end


def _next_line(data: bytes, end: int) -> int:
    """The start of the next line.

    An escaped `\\r\\n` gives two line ends, so skip an empty line.
    """
    return end + 1 + (data[end + 1 : end + 2] == b"\n")


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end


def _inner(data: bytes, cell: Span, around: bytes) -> Span:
    text = data[slice(*cell)]
    start = cell[0] + len(text) - len(text.lstrip(around))
    return start, start + len(text.strip(around))


def _data_value(data: bytes, cell: Span, kind: Kind) -> Span | None:
    """The value of a cell in a data file, if it is a secret."""
    span = _inner(data, cell, b" \r")
    if data[span[0] : span[0] + 1] == b'"' and span[1] - span[0] >= 2:
        span = span[0] + 1, span[1] - 1
    value = text_at(data, span)
    if len(value) < 3 or is_word(value) or _CONSTANT.fullmatch(value) or (value.isdigit() and len(value) < 6):
        return None
    if kind is Kind.PASSWORD:
        return span if is_field_secret(value, kind) else None
    if is_placeholder(value) or is_address(value) or _NUMBER.fullmatch(value) or _CODE.search(value):
        return None
    return (
        span
        if is_disordered(value)
        or _DIGITS.fullmatch(value)
        or (kind is Kind.KEY and len(value) >= 8 and is_odd(value))
        else None
    )


def _table_value(data: bytes, cell: Span, kind: Kind) -> Span | None:
    """The value of a cell between bars, if it is a secret and not documentation."""
    span = _inner(data, cell, _AROUND)
    value = text_at(data, span)
    plain = value.rstrip("!?")
    if len(value) < 6 or " " in value or "\t" in value or is_word(plain) or is_placeholder(value):
        return None
    if any(each.fullmatch(plain) for each in (_NUMBER, _TYPE, _OTHER, _CONSTANT)):
        return None
    if kind is Kind.PASSWORD:
        return span if _is_password(value) else None
    if kind is Kind.TOKEN and not _LONG.fullmatch(value):
        return None  # design tokens and the tokens of a language have names too
    odd = kind is Kind.KEY and len(value) >= 8 and value.isalnum() and _DIGIT_INSIDE.fullmatch(value)
    return span if odd or is_disordered(value) else None


def _is_password(value: str) -> bool:
    digit = any(character.isdigit() for character in value)
    letter = any(character.isalpha() for character in value)
    return letter and (digit or (_SIGN_INSIDE.fullmatch(value) is not None and not _SENSITIVE.search(value)))


TABLE_RULES: tuple[Rule, ...] = (
    Rule(
        "table-secret",
        "generic",
        KEYWORDS,
        # The end of the name, and the end of its cell.
        r"[A-Za-z0-9_.\-]{0,40}(?: (?i:key|phrase|id))?[*`\"']{0,3} {0,40}\r?"
        r"(?:\t{0,4} {0,40}\||[,;\t\n]|\z)",
        must_match="| name | password |\n| --- | --- |\n| bob | {alnum:12} |",
        must_not_match="| name | type | about |\n| --- | --- | --- |\n"
        "| password | string(64) | the user's password |",
        word_start=False,
        is_local=True,
        admits=_ends_cell,
        collect=_column,
    ),
)


# SQL

_TABLE = r"[\w.\"`\[\]$-]{1,128}"
_COLUMNS = r"\(([^()]+)\)"
# One value of a row: a literal, or something that cannot be a secret, such as a number, a word or a call. A
# literal may be long, such as a picture before a password. Literals and spaces match possessively, so that a
# statement without an end fails fast.
_LITERAL = r"[NEBnebxX]?'(?:[^'\\]++|\\.|'')*+'|\"(?:[^\"\\]++|\\.)*+\""
# Other values: `'{}'::jsonb`, `_binary 'x'`, `now() - interval '1 day'`. They are no secrets, but the values
# after them may be. The number of pieces is limited: text that fails is read again from the next statement.
_SHORT = r"[NEBnebxX]?'(?:[^'\\]++|\\.|''){0,128}+'|\"(?:[^\"\\]++|\\.){0,128}+\""
_INNER = rf"(?:{_SHORT}|[^'\"();\]]++|\((?:{_SHORT}|[^'\"();]++){{0,64}}+\)){{0,64}}+"
_OTHER_VALUE = rf"(?:{_SHORT}|[^'\"(),;\s\[]++|\s++(?![,)])|\({_INNER}\)|\[{_INNER}\]){{1,64}}+"
_ROW_VALUE = re.compile(
    (
        rf"\s*+(?:({_LITERAL})(?:::[\w .\"]{{1,64}}+)?"
        rf"|[^\s'\"(),;]++\(\s*+({_LITERAL})(?:[^()]|\([^()]{{0,64}}\)){{0,256}}\)"
        rf"|[^\s'\"(),;\[][^'\"(),;\[]{{0,255}}?|{_OTHER_VALUE})\s*+([,)])"
    ).encode(),
    re.DOTALL,
)
_NEXT_ROW = re.compile(rb"\s*,\s*\(")


def _column_kinds(names: bytes) -> dict[int, Kind]:
    columns = (name.strip(b" \t\r\n\"`[]'").decode("latin-1") for name in names.split(b","))
    return {place: kind for place, name in enumerate(columns) if (kind := kind_of(name))}


def _inserted(data: bytes, found: Any) -> tuple[list[Span], int]:
    """The literals in the columns with the name of a secret, row by row."""
    kinds = _column_kinds(data[slice(*found.span(1))])
    spans: list[Span] = []
    position = found.end()
    if not kinds:
        return spans, position
    place = 0
    while value := _ROW_VALUE.match(data, position):
        position = value.end()
        if place in kinds and (span := _literal(data, value, kinds[place])):
            spans.append(span)
        place += 1
        if value[3] == b")":
            row = _NEXT_ROW.match(data, position)
            if row is None:
                break
            position, place = row.end(), 0
    return spans, position


def _literal(data: bytes, value: re.Match[bytes], kind: Kind) -> Span | None:
    start, end = value.span(1) if value[1] else value.span(2)
    if start < 0:
        return None
    start = data.index(data[end - 1], start) + 1  # after the quote and a prefix such as N
    text = data[start : end - 1].decode("latin-1")
    return (start, end - 1) if _is_value(text, kind) else None


def _is_value(text: str, kind: Kind) -> bool:
    """Whether a literal in a statement is a secret. It is data, so most values are."""
    if is_placeholder(text) or is_word(text) or len(text) < 3:
        return False
    if kind is Kind.PASSWORD:
        return True
    return is_literal_secret(text, kind) and (is_odd(text) or is_disordered(text))


def _copied(data: bytes, found: Any) -> tuple[list[Span], int]:
    """The rows below `COPY … FROM stdin`.

    Their cells are separated by tabs. A line with `\\.` ends them.
    """
    names = data[slice(*found.span(1))]
    kinds = _column_kinds(names)
    spans: list[Span] = []
    start = found.end()
    while kinds and start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        row = data[start:end]
        if row.startswith(b"\\.") or row.count(b"\t") != names.count(b","):
            break
        for place, cell in enumerate(row.split(b"\t")):
            if place in kinds and cell != b"\\N" and _is_value(cell.decode("latin-1"), kinds[place]):
                spans.append((start, start + len(cell)))
            start += len(cell) + 1
    return spans, start


SQL_RULES: tuple[Rule, ...] = (
    Rule(
        "sql-password",
        "generic",
        (
            *("identified by", "identified with", "identified via", "password '", "password to '"),
            *("set password", "create user", "alter user", "grant "),
        ),
        r"(?i:identified (?:(?:with|via) \S+ )?(?:by|as|using)(?: password)?|password(?: to)?"
        r"|set password(?: for [^\s=]+)?\s*=\s*(?:(?:old_)?password\()?)\s*'((?:[^'\\\n]|\\.|'')+)'"
        # Oracle allows double quotes or none, which sentences have too. So the whole statement must match.
        r"|(?i:(?:(?:create|alter) user \S+|grant [^;\n]{1,200}?) identified by )"
        r"(?:\"([^\"\n]+)\"|([^\s'\";,()=]+))",
        must_match="CREATE USER app IDENTIFIED BY '{alnum:12}'",
        must_not_match="IDENTIFIED BY %s",
        check=not_placeholder_or_word,
    ),
    Rule(
        "sql-insert",
        "generic",
        ("insert into", "insert or", "insert ignore", "replace into", "merge into"),
        rf"(?i:(?:insert(?:\s+(?:ignore|or\s+\w+))?|replace)\s+into\s+{_TABLE}\s*){_COLUMNS}"
        r"(?i:\s*(?:overriding\s+\w+\s+value\s+)?values?\s*)\(",
        must_match="INSERT INTO users (name, password) VALUES ('bob', '{alnum:10}'), ('eve', NULL)",
        must_not_match="INSERT INTO users (name, password) VALUES (?, ?), ('eve', '***')",
        collect=_inserted,
    ),
    Rule(
        "sql-copy",
        "generic",
        ("copy ",),
        rf"(?i:copy\s+{_TABLE}\s*){_COLUMNS}(?i:\s*from\s+stdin[^\n]{{0,80}})\n",
        must_match="COPY public.users (id, password) FROM stdin;\n1\t{alnum:10}\n\\.",
        must_not_match="COPY public.users (id, password) FROM stdin;\n1\t\\N\n\\.",
        collect=_copied,
    ),
)
