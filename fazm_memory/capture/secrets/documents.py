"""Secrets known by the document they stand in, which may put a name and its value some lines apart."""

from __future__ import annotations

import re
from typing import Any

from fazm_memory.capture.secrets.keys import GAP
from fazm_memory.capture.secrets.naming import (
    Kind,
    is_bare_secret,
    is_field_secret,
    is_literal_secret,
    is_odd,
    is_placeholder,
    is_word,
    kind_of,
)
from fazm_memory.capture.secrets.rule import REACH, Rule, Span, alnum, has_digit


def _named_before(data: bytes, found: Any) -> Span | None:
    """The name is the first group, the value the second."""
    kind = kind_of(data[slice(*found.span(1))].decode("latin-1"))
    value = data[slice(*found.span(2))].decode("latin-1")
    if kind is Kind.NONE or is_word(value) or not is_field_secret(value, kind):
        return None
    return found.span(2) if is_literal_secret(value, kind) else None


def _with_a_digit(data: bytes, found: Any) -> Span | None:
    return found.span(1) if has_digit(data[slice(*found.span(1))]) else None


def _anchored(data: bytes, found: Any) -> Span | None:
    """`password: &db hunter2`: in YAML a value may have a name of its own. In Rust `&mut` is no such name."""
    line = data[max(0, found.start() - 80) : found.start()].rsplit(b"\n", 1)[-1]
    name = re.split(r"[^\w.-]+", line.strip(b" \t\"'").decode("latin-1"))[-1]
    start, end = found.span(2)
    value = data[start:end].strip(b"\"'").decode("latin-1")
    if data[slice(*found.span(1))] in (b"mut", b"dyn", b"str"):
        return None
    return (start, end) if is_bare_secret(value, kind_of(name), own_line=True) else None


# A line of a manifest, behind the number that a viewer may put before it: a key, and its value.
_LINE = rb"^(?:[ \t]*\d{1,6}(?:\xff|\t|:) ?)?([ \t]*)[\"']?"
_ENTRY = re.compile(
    _LINE + rb"[\w.-]+[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'{}\[\]|>#&*][^\s\"',]*)[\"']?,?[ \t\r]*$", re.MULTILINE
)
_DATA = re.compile(_LINE + rb"(?:data|stringData)[\"']?[ \t]*:[ \t]*\{?[ \t\r]*$", re.MULTILINE)
_END = re.compile(_LINE + rb"(?:[\w.-]+[\"']?[ \t]*:|\}|$)", re.MULTILINE)


_LONGEST = 16 * REACH  # of a manifest on either side of its kind; no place of it is looked at more than twice


def _manifest(data: bytes, found: Any) -> tuple[list[Span], int]:
    """Everything under `data:` of a Secret, whatever its keys are called; it may stand before its kind."""
    first = max(0, found.start() - _LONGEST)
    first = max(first, data.rfind(b"\n---", first, found.start()))
    end = data.find(b"\n---", found.end(), found.end() + _LONGEST)
    if end < 0:  # whole lines: half a secret is one, too
        end = data.find(b"\n", found.end() + _LONGEST)
    end = len(data) if end < 0 else end
    spans: list[Span] = []
    for head in _DATA.finditer(data, first, end):
        depth = len(head[1])
        position = head.end() + 1
        while position < end:
            line_end = data.find(b"\n", position, end)
            line_end = end if line_end < 0 else line_end
            entry = _ENTRY.match(data, position, line_end)
            if entry is not None and len(entry[1]) > depth:
                if not is_placeholder(entry[2].decode("latin-1")) and len(entry[2]) >= 3:
                    spans.append(entry.span(2))
            elif (ends := _END.match(data, position, line_end)) and len(ends[1]) <= depth:
                break
            position = line_end + 1
    return spans, end


_FROM_LITERAL = re.compile(rb"--from-literal[= \t][\"']?[\w.-]+=[\"']?([^\s\"']+)")


def _literals(data: bytes, found: Any) -> tuple[list[Span], int]:
    end = data.find(b"\n", found.end())
    end = len(data) if end < 0 else end
    given = (literal.span(1) for literal in _FROM_LITERAL.finditer(data, found.end(), end))
    return [span for span in given if not is_placeholder(data[slice(*span)].decode("latin-1"))], end


def _fallback(data: bytes, found: Any) -> Span | None:
    """`process.env.JWT_SECRET || 'dev-secret'`: what is taken where the variable is not set."""
    kind = kind_of(data[slice(*found.span(1))].decode("latin-1"))
    start, end = found.span(2) if found.span(2)[0] >= 0 else found.span(3)
    value = data[start:end].decode("latin-1")
    secret = kind is not Kind.NONE and not is_word(value) and is_literal_secret(value, kind)
    return (start, end) if secret and (is_odd(value) or len(value) >= 16) else None


RULES: tuple[Rule, ...] = (
    Rule(
        "kubernetes-secret",
        "Kubernetes",
        ("kind: secret\n", "kind: secret\r", '"kind": "secret"'),
        r"(?i:\"?kind\"?: \"?secret\"?)",
        match="apiVersion: v1\ndata:\n  signing: " + alnum(24) + "\nkind: Secret\nmetadata:\n  name: app",
        miss="kind: Secret\nmetadata:\n  name: app\ntype: Opaque\n",
        spread=_manifest,
    ),
    Rule(
        "kubernetes-literal",
        "Kubernetes",
        ("create secret ",),
        r"create secret ",
        match="kubectl create secret generic app --from-literal=signing=" + alnum(12),
        miss="kubectl create secret generic app --from-literal=signing=$SIGNING --from-file=a.txt",
        spread=_literals,
    ),
    Rule(
        "property-list",
        "generic",
        ("<key>",),
        rf"<key>([\w. -]{{1,64}})</key>{GAP}*<string>([^<>\n]+)</string>",
        match="<key>SMTPPassword</key>\n<string>" + alnum(12) + "</string>",
        miss="<key>CFBundleIdentifier</key>\n<string>com.example.app2</string>",
        needs=b"<string>",
        judge=_named_before,
    ),
    Rule(
        "terraform-default",
        "Terraform",
        ('variable "',),
        r"variable \"([\w-]{1,64})\" \{[^{}]{0,600}?\bdefault\s*=\s*\"([^\"\n]+)\"",
        match='variable "db_password" {\n  type    = string\n  default = "' + alnum(10) + '"\n}',
        miss='variable "region" {\n  default = "eu-west-1"\n}',
        needs=b"default",
        judge=_named_before,
    ),
    Rule(
        "wordpress-salt",
        "WordPress",
        tuple(
            f"{name}_{what}"
            for name in ("'auth", "secure_auth", "logged_in", "nonce", '"auth')
            for what in ("key", "salt")
        ),
        r"[\"']?(?:AUTH|SECURE_AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)[\"']\s*,\s*(?:'([^'\n]{20,})'|\"[^\"\n]{20,}\")",
        match="define('NONCE_SALT', '" + "x|R~ }?]" + alnum(40) + "');",
        miss="define('NONCE_SALT', 'put your unique phrase here');",
        judge=_with_a_digit,
    ),
    Rule(
        "jwt-settings",
        "generic",
        ('"jwt', '"tokenoptions"', '"authsettings"'),
        r"(?i:\"(?:jwt\w{0,16}|tokenoptions|authsettings)\"\s*:\s*\{[^{}]{0,400}?\"(?:issuersigning|signing|secret)?key\"\s*:\s*)"
        r"\"([^\"\s$]{16,})\"",
        match='{"Jwt": {"Issuer": "app", "Key": "' + alnum(32) + '"}}',
        miss='{"Jwt": {"Issuer": "app", "Key": "${JWT_KEY}"}}',
        alone=False,
        judge=_with_a_digit,
    ),
    Rule(
        "yaml-anchor",
        "generic",
        (": &",),
        r": &([\w-]{1,40})[ \t]+(\"[^\"\n]+\"|'[^'\n]+'|[^\s\"']+)[ \t\r]*(?:\n|\z)",
        match="password: &db " + alnum(12) + "\nuser: me",
        miss="    password: &mut String2\n",
        alone=False,
        judge=_anchored,
    ),
    Rule(
        "environment-default",
        "generic",
        ("process.env.", "import.meta.env.", "env[", "environ.get(", "getenv("),
        r"(?:process\.env\.|import\.meta\.env\.|(?:ENV|process\.env)\[[\"']|(?i:environ\.get|getenv)\([\"'])([A-Z][A-Z0-9_]{2,64})"
        r"[\"')\]]{0,3}\s*(?:\|\||\?\?|\bor\b|\?:)\s*(?:\"([^\"\n]+)\"|'([^'\n]+)')",
        match="const secret = process.env.JWT_SECRET || '" + alnum(20) + "'",
        miss="const secret = process.env.JWT_SECRET || 'missing'",
        judge=_fallback,
    ),
)
