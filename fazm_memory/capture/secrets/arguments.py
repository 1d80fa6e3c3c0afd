"""Secrets known by their place: an argument of a well-known call, a part of a data source's name."""

from __future__ import annotations

from typing import Any

from fazm_memory.capture.secrets.naming import is_odd, is_placeholder, is_word
from fazm_memory.capture.secrets.rule import Rule, Span, alnum, whole_or_group

_ARGUMENT = r"\s*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s,()\"']+)\s*,"
_LITERAL = r"\s*(?:\"([^\"\n]+)\"|'([^'\n]+)')"


def _given(data: bytes, found: Any) -> Span | None:
    span = whole_or_group(data, found)
    value = data[slice(*span)].decode("latin-1")
    return None if is_placeholder(value) or is_word(value) else span


def _set(data: bytes, found: Any) -> Span | None:
    """`setPassword("hunter2")`: a label or a message may be set too, so that it has to be no word."""
    span = _given(data, found)
    if span is None:
        return None
    value = data[slice(*span)].decode("latin-1")
    return span if is_odd(value) and " " not in value else None


RULES: tuple[Rule, ...] = (
    Rule(
        "login-argument",
        "generic",
        (
            *("networkcredential(", "passwordauthentication(", "usernamepasswordcredentials("),
            *("httpbasicauth(", "httpdigestauth(", "basicauth(", "auth=("),
        ),
        rf"(?i:\w+(?:=)?\(){_ARGUMENT}{_LITERAL}",
        match=f'new NetworkCredential("me", "{alnum(10)}")',
        miss='new NetworkCredential("me", password)',
        judge=_given,
    ),
    Rule(
        "connect-argument",
        "generic",
        ("new pdo(", "mysqli(", "mysqli_connect(", "mysql_connect(", "getconnection("),
        rf"(?i:[\w ]+\(){_ARGUMENT}{_ARGUMENT}{_LITERAL}",
        match=f"new PDO('mysql:host=db;dbname=main', 'app', '{alnum(10)}')",
        miss="new PDO('mysql:host=db;dbname=main', 'app', $password)",
        judge=_given,
    ),
    Rule(
        "password-setter",
        "generic",
        (
            *("setpassword(", "set_password(", "withpassword(", "setpassphrase(", "setsecret(", ".password("),
            *("secretstr(", "secretbytes("),
        ),
        rf"(?i:\.?\w+\(){_LITERAL}\s*\)",
        match=f'source.setPassword("{alnum(10)}");',
        miss='form.setPassword("Password");',
        alone=False,
        judge=_set,
    ),
    Rule(
        "go-data-source",
        "generic",
        ("@tcp(", "@unix("),
        r"[\w.$-]{1,64}:([^\s:@\"'`/]{1,128})@(?:tcp|unix)\(",
        match=f"app:{alnum(10)}@tcp(db:3306)/main",
        miss="%s:%s@tcp(%s:3306)/main",
        back=200,
        judge=_given,
    ),
    Rule(
        "oracle-login",
        "Oracle",
        ("jdbc:oracle:", "sqlplus ", "expdp ", "impdp ", "sqlldr ", "rman target "),
        r"(?:jdbc:oracle:\w+:|(?:sqlplus|expdp|impdp|sqlldr|rman target)[ \t]+(?:-\w+[ \t]+){0,4}[\"']?)"
        r"[A-Za-z][\w$#.]*/([^\s@/\"']+)(?:[@\"'\s]|\z)",
        match=f"sqlplus system/{alnum(10)}@//db:1521/XE",
        miss="sqlplus / as sysdba",
        judge=_given,
    ),
)
