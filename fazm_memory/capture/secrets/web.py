"""Secrets in addresses, headers, cookies and the files that keep log-ins for them."""

from __future__ import annotations

import binascii
import re
from typing import Any

from fazm_memory.capture.secrets.keys import GAP
from fazm_memory.capture.secrets.naming import is_disordered, is_odd, is_placeholder
from fazm_memory.capture.secrets.rule import Rule, Span, alnum, has_digit, whole_or_group

_SCHEMES = r"basic|bearer|token|digest|negotiate|apikey|api-key|key|hmac|ntlm|ssws|aws4-hmac-sha256|oauth|jwt"

_ATTRIBUTE = r"(?:\"([^\"<>]+)\"|'([^'<>]+)')"
# `Digest username="me", response="…"`: the values stand in quotes.
_PARAMETER = r"[\w-]+=(?:\"[^\"\n]*\"|[^\s\"'`,]+)"


def _given(data: bytes, found: Any) -> Span | None:
    span = whole_or_group(data, found)
    return None if is_placeholder(data[slice(*span)].decode("latin-1")) else span


def _opaque(data: bytes, found: Any) -> Span | None:
    """A value no person wrote: a word in a sentence about tokens has no digit and no odd capital."""
    span = _given(data, found)
    if span is None:
        return None
    value = data[slice(*span)]
    disordered = len(value) >= 20 and value != value.lower() and value[1:] != value[1:].lower()
    return span if disordered or has_digit(value) else None


def _mixed(data: bytes, found: Any) -> Span | None:
    """Base64 has small letters; the names of other ways to log in have none."""
    value = data[slice(*found.span(1))]
    return found.span(1) if value != value.upper() and (value[-1:] == b"=" or has_digit(value)) else None


def _parameter(data: bytes, found: Any) -> Span | None:
    """The same names stand before the words of a title: `?session=introduction-to-postgres-2024`."""
    span = _given(data, found)
    return span if span and is_disordered(data[slice(*span)].decode("latin-1")) else None


_PEERS = (b"\n", b"\t", b'"', b"'", b">", b"C: ", b"S: ", b"< ", b"> ")
_FILE = re.compile(r".*/.*|.*\.[a-z]{1,4}")


def _logged_in(data: bytes, found: Any) -> Span | None:
    """In a trace each line is what one of the two said. The name of a test that passed is no password."""
    before = data[max(0, found.start() - 3) : found.start()]
    span = _given(data, found)
    if span is None or (before and not before.endswith(_PEERS)):
        return None
    value = data[slice(*span)].decode("latin-1")
    return None if _FILE.fullmatch(value) or not is_odd(value) else span


def _database(data: bytes, found: Any) -> Span | None:
    """A password with a slash in it, unless what seemed to be one is a port and a path."""
    return None if data[slice(*found.span(1))].split(b"/")[0].isdigit() else _given(data, found)


def _header(data: bytes, found: Any) -> Span | None:
    """Digits or length tell a credential from the words of a program or a sentence."""
    start, end = found.span(1)
    while end > start and data[end - 1] in b",;)]}\\":
        end -= 1
    value = data[start:end].decode("latin-1")
    if is_placeholder(value) or value.startswith(("{", "$", "<", "(", "[", "%")) or "(" in value:
        return None
    return (start, end) if has_digit(data[start:end]) or len(value) >= 20 or value.endswith("=") else None


def _basic(data: bytes, found: Any) -> Span | None:
    """Basic credentials are `user:password` in base64; most words that follow "basic" are not."""
    start, end = found.span(1)
    value = data[start:end].rstrip(b"=")
    decoded = binascii.a2b_base64(value[: len(value) - (len(value) % 4 == 1)] + b"==")
    likely = value != data[start:end] or (has_digit(value) and value != value.lower())
    return (start, end) if likely or (b":" in decoded and decoded.isascii()) else None


# What a Set-Cookie line says about its cookie: it gives nothing away and stays readable.
_ATTRIBUTES = (
    b"path",
    b"domain",
    b"expires",
    b"max-age",
    b"samesite",
    b"secure",
    b"httponly",
    b"priority",
    b"partitioned",
)


def _cookie(data: bytes, found: Any) -> Span | None:
    start, end = found.span(1)
    pieces = data[start:end].split(b";")
    while len(pieces) > 1 and pieces[-1].split(b"=")[0].strip().lower() in _ATTRIBUTES:
        pieces.pop()
    values = [piece.split(b"=", 1)[-1].decode("latin-1") for piece in pieces]
    return None if all(is_placeholder(value) for value in values) else (start, start + len(b";".join(pieces)))


RULES: tuple[Rule, ...] = (
    Rule(
        "url-credentials",
        "generic",
        ("://",),
        r"://[^\s/?#:@\"'<>`\\]*:([^\s/?#@\"'<>`]+(?:@[^\s/?#@\"'<>`]+)*)@[A-Za-z0-9.\[_%$<{\xff-]",
        match="postgres://app:" + alnum(12) + "@db.example.com/main",
        miss="https://example.com:8080/path?mail=a@b.example",
        needs=b"@",
        alone=False,
        judge=_given,
    ),
    Rule(
        "url-token",
        "generic",
        ("://",),
        r"://([A-Za-z0-9_\-]{16,})@[A-Za-z0-9]",
        match="https://" + alnum(32) + "@git.example.com/a/b.git",
        miss="https://someone@git.example.com/a/b.git",
        needs=b"@",
        alone=False,
        judge=_opaque,
    ),
    Rule(
        "database-url",
        "generic",
        ("postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "mssql", "clickhouse", "cockroachdb"),
        r"[a-z0-9+]{3,20}://[^\s:@/\"'<>]*:([^\s\"'<>@]*[/?#][^\s\"'<>@]*)@[A-Za-z0-9.\[_-]+(?:[:/]|\s|\z)",
        match="postgres://app:" + "ab/cd#" + alnum(6) + "@db.example.com/main",
        miss="postgres://db.example.com:5432/main",
        needs=b"://",
        judge=_database,
    ),
    Rule(
        "authorization-header",
        "generic",
        ("authorization",),
        rf"(?i:authorization)[\"']?\]?\s{{0,3}}[:=,]\s{{0,3}}[\"'`]?(?:(?i:{_SCHEMES})[ :]+)?"
        rf"({_PARAMETER}(?:,[ \t]*{_PARAMETER})+|[^\s\"'`]{{4,}}(?:[ ,]+[\w-]+=[^\s\"'`]+)*)",
        match="Authorization: Basic " + alnum(20) + "==",
        miss='headers = {"Authorization": f"Bearer {token}"}',
        alone=False,
        judge=_header,
    ),
    Rule(
        "bearer-token",
        "generic",
        ("bearer",),
        r"(?i:bearer)[ :=+]+[\"']?([A-Za-z0-9._~+/\-]{12,}={0,2})",
        match="curl -H 'X-Auth: Bearer " + alnum(32) + "'",
        miss="the bearer authentication scheme",
        judge=_opaque,
    ),
    Rule(
        "basic-auth",
        "generic",
        ("basic ",),
        r"(?i:basic) +([A-Za-z0-9+/]{12,}={0,2})",
        match="Basic " + alnum(19) + "=",
        miss="basic understanding",
        judge=_basic,
    ),
    Rule(
        "cookie",
        "generic",
        ("cookie:", 'cookie":', "cookie':", "cookie=", "cookie ="),
        r"(?i:cookie)[\"']? ?[:=] ?[\"'`\[]?"
        r"([\w!#$%&*+.^|~-]+=[^\s;\"'`]+(?:; ?[^\s=;\"'`]+(?:=[^;\n\"'`]*)?)*)",
        match="Cookie: sid=" + alnum(24) + "; theme=dark",
        miss="cookie: none",
        alone=False,
        judge=_cookie,
    ),
    Rule(
        "password-field",
        "generic",
        ("<input",),
        rf"(?i)<input\s(?:[^<>]{{0,400}}?type=[\"']?password[\"']?\s[^<>]{{0,400}}?value={_ATTRIBUTE}"
        rf"|[^<>]{{0,400}}?value={_ATTRIBUTE}[^<>]{{0,400}}?type=[\"']?password\b)",
        match='<input name="pw" type="password" value="' + alnum(10) + '">',
        miss='<input type="password" name="pw" value="">',
        needs=b"assword",
        alone=False,
        judge=_given,
    ),
    Rule(
        "cookie-jar",
        "generic",
        ("\ttrue\t", "\tfalse\t"),
        r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\t\n]+)",
        match=".example.com\tTRUE\t/\tTRUE\t1893456000\tsid\t" + alnum(24),
        miss="name\tTRUE\tFALSE\t1",
        alone=False,
    ),
    Rule(
        "netrc",
        "generic",
        ("machine ", "machine\t", "machine\n", "default login"),
        rf"(?:machine\s+\S+|default){GAP}+(?:login|user)\s+\S+{GAP}+(?:account\s+\S+{GAP}+)?"
        r"password\s+(\"[^\"\n]*\"|\S+)",
        match="machine api.example.com\n  login me\n  password " + alnum(12),
        miss="machine learning login form",
        judge=_given,
    ),
    Rule(
        "mail-login",
        "generic",
        ("auth plain ", "auth login ", "auth xoauth2 "),
        r"AUTH (?:PLAIN|LOGIN|XOAUTH2) ([A-Za-z0-9+/]{8,}={0,2})",
        match="AUTH PLAIN " + alnum(23) + "=",
        miss="250-AUTH PLAIN LOGIN OAUTHBEARER",
        judge=_mixed,
    ),
    Rule(
        "mailbox-login",
        "generic",
        (" login ",),
        r"[A-Za-z]{1,4}\d{1,5} LOGIN [\"']?[^\s\"']+[\"']? [\"']?([^\s\"'=<]+)(?:[\"'<\r\n]|\z)",
        match="C: a1 LOGIN me " + alnum(10),
        miss="a1 LOGIN me <password>",
        back=9,
        judge=_logged_in,
    ),
    Rule(
        "session-login",
        "generic",
        ("331 ", "331-", "+ok"),
        r"(?:331[ -][^\n]{0,160}?(?i:passw|user|login)|\+OK)[^\n]{0,160}\n"
        r"[^\nA-Za-z]{0,12}(?:C: )?PASS[ \t]+([^\s\"'<]+)",
        match="S: 331 Please specify the password.\nC: PASS " + alnum(10),
        miss="+OK\nPASS <password>",
        needs=b"PASS",
        judge=_logged_in,
    ),
    Rule(
        "address-parameter",
        "generic",
        tuple(f"{sign}{name}=" for sign in "?&" for name in ("code", "auth", "sid", "session", "ticket")),
        r"[?&](?i:code|auth|sid|session|ticket)=([\w.~/%+-]{20,})",
        match="https://app.example.com/callback?code=" + alnum(40) + "&state=x",
        miss="https://app.example.com/errors?code=missing_required_parameter_1",
        judge=_parameter,
    ),
    Rule(
        "pgpass",
        "generic",
        (":5432:", ":5433:", ":6432:", ":*:*:"),
        r":(?:\d{4}|\*):[^:\s]+:[^:\s]+:([^\s:]+)",
        match="db.example.com:5432:main:app:" + alnum(12),
        miss="db.example.com:5432:main",
        alone=False,
        judge=_given,
    ),
)
