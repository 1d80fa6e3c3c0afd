"""Secrets in SQL: the passwords of accounts, and the values that a statement puts into a column so named."""

from __future__ import annotations

import re
from typing import Any

from fazm_memory.capture.secrets.naming import (
    Kind,
    is_disordered,
    is_literal_secret,
    is_odd,
    is_placeholder,
    is_word,
    kind_of,
)
from fazm_memory.capture.secrets.rule import Rule, Span, alnum, whole_or_group

_TABLE = r"[\w.\"`\[\]$-]{1,128}"
_NAMES = r"\(([^()]+)\)"
# One value of a row: a literal, or what no secret is written as: a number, a word, the call of a function.
# A literal may be as long as it is, such as a picture before a password. It and space are taken whole and
# never given back, so that a statement that does not end is soon given up.
_LITERAL = r"[NEBnebxX]?'(?:[^'\\]++|\\.|'')*+'|\"(?:[^\"\\]++|\\.)*+\""
# What else a value may be made of, `'{}'::jsonb`, `_binary 'x'`, `now() - interval '1 day'`: it is no secret,
# but those after it may be.
# Those in it have to end within so many pieces: what comes to nothing is read again from the next statement.
_SHORT = r"[NEBnebxX]?'(?:[^'\\]++|\\.|''){0,128}+'|\"(?:[^\"\\]++|\\.){0,128}+\""
_INNER = rf"(?:{_SHORT}|[^'\"();\]]++|\((?:{_SHORT}|[^'\"();]++){{0,64}}+\)){{0,64}}+"
_OTHER = rf"(?:{_SHORT}|[^'\"(),;\s\[]++|\s++(?![,)])|\({_INNER}\)|\[{_INNER}\]){{1,64}}+"
_VALUE = re.compile(
    (
        rf"\s*+(?:({_LITERAL})(?:::[\w .\"]{{1,64}}+)?"
        rf"|[^\s'\"(),;]++\(\s*+({_LITERAL})(?:[^()]|\([^()]{{0,64}}\)){{0,256}}\)"
        rf"|[^\s'\"(),;\[][^'\"(),;\[]{{0,255}}?|{_OTHER})\s*+([,)])"
    ).encode(),
    re.DOTALL,
)
_NEXT_ROW = re.compile(rb"\s*,\s*\(")


def _given(data: bytes, found: Any) -> Span | None:
    span = whole_or_group(data, found)
    value = data[slice(*span)].decode("latin-1")
    return None if is_placeholder(value) or is_word(value) else span


def _kinds(names: bytes) -> dict[int, Kind]:
    columns = (name.strip(b" \t\r\n\"`[]'").decode("latin-1") for name in names.split(b","))
    return {place: kind for place, name in enumerate(columns) if (kind := kind_of(name))}


def _inserted(data: bytes, found: Any) -> tuple[list[Span], int]:
    """The literals in the columns whose names mean a secret, row by row."""
    kinds = _kinds(data[slice(*found.span(1))])
    spans: list[Span] = []
    position = found.end()
    if not kinds:
        return spans, position
    place = 0
    while value := _VALUE.match(data, position):
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
    start = data.index(data[end - 1], start) + 1  # after the quote, and what may stand before it
    text = data[start : end - 1].decode("latin-1")
    return (start, end - 1) if _is_value(text, kind) else None


def _is_value(text: str, kind: Kind) -> bool:
    """A literal in a statement is data: it needs no more than to be none of the words for nothing."""
    if is_placeholder(text) or is_word(text) or len(text) < 3:
        return False
    if kind is Kind.PASSWORD:
        return True
    return is_literal_secret(text, kind) and (is_odd(text) or is_disordered(text))


def _copied(data: bytes, found: Any) -> tuple[list[Span], int]:
    """The rows below `COPY … FROM stdin`: cells between tabs, up to a line with `\\.`"""
    names = data[slice(*found.span(1))]
    kinds = _kinds(names)
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


RULES: tuple[Rule, ...] = (
    Rule(
        "sql-password",
        "generic",
        (
            *("identified by", "identified with", "identified via", "password '", "password to '"),
            *("set password", "create user", "alter user"),
        ),
        r"(?i:identified (?:(?:with|via) \S+ )?(?:by|as|using)(?: password)?|password(?: to)?"
        r"|set password(?: for [^\s=]+)?\s*=\s*(?:(?:old_)?password\()?)\s*'((?:[^'\\\n]|\\.|'')+)'"
        # Oracle takes it in double quotes or none, as a sentence does: only a whole statement is believed.
        r"|(?i:(?:create|alter) user \S+ identified by )(?:\"([^\"\n]+)\"|([^\s'\";,()=]+))",
        match="CREATE USER app IDENTIFIED BY '" + alnum(12) + "'",
        miss="IDENTIFIED BY %s",
        judge=_given,
    ),
    Rule(
        "sql-insert",
        "generic",
        ("insert into", "insert or", "insert ignore", "replace into", "merge into"),
        rf"(?i:(?:insert(?:\s+(?:ignore|or\s+\w+))?|replace)\s+into\s+{_TABLE}\s*){_NAMES}"
        r"(?i:\s*(?:overriding\s+\w+\s+value\s+)?values?\s*)\(",
        match=f"INSERT INTO users (name, password) VALUES ('bob', '{alnum(10)}'), ('eve', NULL)",
        miss="INSERT INTO users (name, password) VALUES (?, ?), ('eve', '***')",
        spread=_inserted,
    ),
    Rule(
        "sql-copy",
        "generic",
        ("copy ",),
        rf"(?i:copy\s+{_TABLE}\s*){_NAMES}(?i:\s*from\s+stdin[^\n]{{0,80}})\n",
        match="COPY public.users (id, password) FROM stdin;\n1\t" + alnum(10) + "\n\\.",
        miss="COPY public.users (id, password) FROM stdin;\n1\t\\N\n\\.",
        spread=_copied,
    ),
)
