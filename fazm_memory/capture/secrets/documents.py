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
from fazm_memory.capture.secrets.rule import Rule, Span, alnum, has_digit, whole_or_group


def _named_before(data: bytes, found: Any) -> Span | None:
    """The name is the first group, the value the second."""
    kind = kind_of(data[slice(*found.span(1))].decode("latin-1"))
    value = data[slice(*found.span(2))].decode("latin-1")
    if kind is Kind.NONE or is_word(value) or not is_field_secret(value, kind):
        return None
    return found.span(2) if is_literal_secret(value, kind) else None


def _named_after(data: bytes, found: Any) -> Span | None:
    """The value is the first group or the second, the name the third."""
    span = found.span(1) if found.span(1)[0] >= 0 else found.span(2)
    kind = kind_of(data[slice(*found.span(3))].decode("latin-1"))
    value = data[slice(*span)].decode("latin-1")
    # On a page it may be what a button says: `<input value="Show" name="password">`.
    secret = kind is not Kind.NONE and is_odd(value) and is_field_secret(value, kind)
    return span if secret and is_literal_secret(value, kind) else None


_CHANGED_NAME = re.compile(rb"([\w.-]{1,64})\"?[ \t]{0,40}[=:][ \t]{0,8}\Z")


def _changed(data: bytes, found: Any) -> Span | None:
    """`password = "old" -> "new"`: the name stands before the old value, which has no quote in it."""
    old = data.rfind(b'"', max(0, found.start() - 512), found.start())
    before = data[max(0, old - 114) : max(0, old)]
    name = _CHANGED_NAME.search(before) if before.rstrip(b" \t")[-1:] in (b"=", b":") else None
    if name is None or b"\n" in data[old : found.start()]:
        return None
    kind = kind_of(name[1].decode("latin-1"))
    value = data[slice(*found.span(1))].decode("latin-1")
    secret = kind is not Kind.NONE and not is_word(value) and is_field_secret(value, kind)
    return found.span(1) if secret and is_literal_secret(value, kind) else None


def _not_a_reference(data: bytes, found: Any) -> Span | None:
    span = whole_or_group(data, found)
    return None if is_placeholder(data[slice(*span)].decode("latin-1")) else span


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


def _fallback(data: bytes, found: Any) -> Span | None:
    """`process.env.JWT_SECRET || 'dev-secret'`: what is taken where the variable is not set."""
    kind = kind_of(data[slice(*found.span(1))].decode("latin-1"))
    start, end = found.span(2) if found.span(2)[0] >= 0 else found.span(3)
    value = data[start:end].decode("latin-1")
    secret = kind is not Kind.NONE and not is_word(value) and is_literal_secret(value, kind)
    return (start, end) if secret and (is_odd(value) or len(value) >= 16) else None


RULES: tuple[Rule, ...] = (
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
        "terraform-generated",
        "Terraform",
        ('"type": "random_password"', '"type":"random_password"'),
        # In a plan or a state; where it is only declared, what follows is not its own.
        r"\"type\":\s{0,4}\"random_password\",[^}\x00]{0,900}?\"result\"\s{0,4}:\s{0,4}\"((?:[^\"\\\n]|\\.)+)\"",
        match='{"type": "random_password", "values": {"length": 10, "result": "' + alnum(10) + '"}}',
        miss='{"type": "random_password", "values": {"length": 10, "result": "${old}"}}',
        judge=_not_a_reference,
    ),
    Rule(
        "terraform-sensitive",
        "Terraform",
        ('"sensitive"',),
        # `terraform output` says it before the value, the state after it.
        r"\"sensitive\"\s{0,4}:\s{0,4}true,\s{0,40}\"type\"\s{0,4}:\s{0,4}\"string\",\s{0,40}\"value\"\s{0,4}:\s{0,4}"
        r"\"((?:[^\"\\\n]|\\.)+)\""
        r"|\"value\"\s{0,4}:\s{0,4}\"((?:[^\"\\\n]|\\.)+)\",\s{0,40}\"type\"\s{0,4}:\s{0,4}\"string\",\s{0,40}"
        r"\"sensitive\"\s{0,4}:\s{0,4}true",
        match='{"conn": {"sensitive": true, "type": "string", "value": "' + alnum(10) + '"}}',
        miss='{"region": {"sensitive": false, "type": "string", "value": "' + alnum(10) + '"}}',
        back=1024,
        alone=False,
        judge=_not_a_reference,
    ),
    Rule(
        "form-part",
        "generic",
        ('form-data; name="',),
        rf"form-data; name=\"([\w.\[\]-]{{1,64}})\"[ \t]*\n{GAP}*"
        rf"(?:(?i:content-type:)[^\n]*{GAP}+)?([^\s\"]+)",
        match='Content-Disposition: form-data; name="password"\n\n' + alnum(10) + "\n--end",
        miss='Content-Disposition: form-data; name="title"\n\n' + alnum(10) + "\n--end",
        judge=_named_before,
    ),
    Rule(
        "changed-value",
        "generic",
        ('" -> "',),
        r"\" -> \"([^\"\n]+)\"",
        match='~ password = "old" -> "' + alnum(10) + '"',
        miss='~ instance_type = "t3.micro" -> "' + alnum(10) + '"',
        alone=False,
        judge=_changed,
    ),
    Rule(
        "value-before-name",
        "generic",
        ('"value":', 'value="'),
        r"(?:\"value\":\s{0,8}\"([^\"\n]+)\",\s{0,40}\"(?:name|key)\":\s{0,8}\"|value=\"([^\"\n]+)\"\s{1,40}(?:name|key)=\")"
        r"([\w.-]{1,64})\"",
        match='{"value":"' + alnum(10) + '","name":"DB_PASSWORD"}',
        miss='{"value":"' + alnum(10) + '","name":"RELEASE"}',
        judge=_named_after,
    ),
    Rule(
        "setting-command",
        "generic",
        ("configure set ", "config set ", "setx "),
        r"(?i:configure set|config set|setx)[ \t]+(?:--?[\w-]+[ \t]+){0,4}([\w.:/@-]{1,128})[= \t]+"
        r"[\"']?([^\s\"'$%|;&<>]+)",
        match="aws configure set aws_session_token " + alnum(40),
        miss="aws configure set region eu-west-1",
        judge=_named_before,
    ),
    Rule(
        "expected-prompt",
        "generic",
        ("expect",),
        r"expect(?:_exact)?[ \t(]+(?:-\w+[ \t]+)?[brf]?[\"'{][^\"'\n]{0,80}(?i:passw|passphrase|passcode)"
        rf"[^\"'\n]{{0,40}}[\"'}}][ \t)({{;]*{GAP}+"
        r"(?:\w+\.)?send(?:line)?[ \t(]+(?:--[ \t]+)?[brf]?[\"']([^\"'\n\\$\[][^\"'\n\\]*)",
        match='expect "password:"\nsend "' + alnum(10) + '\\r"',
        miss='expect "password:"\nsend "$password\\r"',
        judge=_not_a_reference,
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
