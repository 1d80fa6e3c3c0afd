"""Secrets in documents that put a name and its value apart.

For example Kubernetes manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.engines.redaction.classify import (
    Kind,
    is_bare_secret,
    is_field_secret,
    is_literal_secret,
    is_odd,
    is_placeholder,
    is_word,
    kind_of,
    not_placeholder,
    with_digit,
)
from fazm_memory.engines.redaction.formats import GAP
from fazm_memory.engines.redaction.rules import NAME, REACH, Rule, Span, text_at


def _named_before(data: bytes, found: Any) -> Span | None:
    """The name is the first group, the value the second."""
    kind = kind_of(text_at(data, found.span(1)))
    value = text_at(data, found.span(2))
    if kind is Kind.NONE or is_word(value) or not is_field_secret(value, kind):
        return None
    return found.span(2) if is_literal_secret(value, kind) else None


def _named_after(data: bytes, found: Any) -> Span | None:
    """The value is the first group or the second, the name the third."""
    span = found.span(1) if found.span(1)[0] >= 0 else found.span(2)
    kind = kind_of(text_at(data, found.span(3)))
    value = text_at(data, span)
    # In HTML it may be the label of a button: `<input value="Show" name="password">`.
    secret = kind is not Kind.NONE and is_odd(value) and is_field_secret(value, kind)
    return span if secret and is_literal_secret(value, kind) else None


def _changed(data: bytes, found: Any) -> Span | None:
    """The new value in `password = "old" -> "new"`. The old value contains no quote."""
    old = data.rfind(b'"', max(0, found.start() - 512), found.start())
    if old < 0 or b"\n" in data[old : found.start()]:
        return None
    before = data[max(0, old - 114) : old].rstrip(b" \t")
    if before[-1:] not in (b"=", b":"):
        return None
    named = before[:-1].rstrip(b" \t").removesuffix(b'"')
    kind = kind_of(named[len(named.rstrip(NAME)) :][-64:].decode("latin-1"))
    value = text_at(data, found.span(1))
    secret = kind is not Kind.NONE and not is_word(value) and is_field_secret(value, kind)
    return found.span(1) if secret and is_literal_secret(value, kind) else None


def _anchored(data: bytes, found: Any) -> Span | None:
    """The value after a YAML anchor, `password: &db hunter2`.

    In Rust `&mut` is no anchor.
    """
    line = data[max(0, found.start() - 80) : found.start()].rsplit(b"\n", 1)[-1]
    name = re.split(r"[^\w.-]+", line.strip(b" \t\"'").decode("latin-1"))[-1]
    start, end = found.span(2)
    value = data[start:end].strip(b"\"'").decode("latin-1")
    if data[slice(*found.span(1))] in (b"mut", b"dyn", b"str"):
        return None
    return (start, end) if is_bare_secret(value, kind_of(name), own_line=True) else None


def _fallback(data: bytes, found: Any) -> Span | None:
    """The default of a variable: `process.env.JWT_SECRET || 'dev-secret'`."""
    kind = kind_of(text_at(data, found.span(1)))
    start, end = found.span(2) if found.span(2)[0] >= 0 else found.span(3)
    value = data[start:end].decode("latin-1")
    secret = kind is not Kind.NONE and not is_word(value) and is_literal_secret(value, kind)
    return (start, end) if secret and (is_odd(value) or len(value) >= 16) else None


# A line of a Kubernetes manifest: an optional line number from a viewer, a key, and its value. The line is
# matched without trailing space.
_MARGIN = rb"(?:[ \t]*+\d{1,6}(?:\xff|\t|:) ?)?([ \t]*+(?:- )?)"
_KEY = re.compile(_MARGIN + rb"([\"']?)([\w.-]++)[\"']?[ \t]*+:(?![^ \t{\"'])[ \t]*+")
_QUOTED = re.compile(rb"\"((?:[^\"\\\n]|\\.)+)\",?\Z|'([^'\n]+)',?\Z")
_BLOCK = re.compile(rb"[|>][0-9+-]{0,2}\Z")
_TEXT = re.compile(_MARGIN + rb"(?=\S)")
_SECRET = re.compile(rb"([\"']?)Secret\1(?![\w-])")
# The same in braces, on one or more lines: a brace, a string, or a name without quotes. A string with a brace
# may itself be an object.
_TOKEN = re.compile(
    rb"\\.|[{}]|\"([^\"\\\n{}]*+(?:\\.[^\"\\\n{}]*+)*+)\"|(?<!\w)'([^'\\\n{}]*+(?:\\.[^'\\\n{}]*+)*+)'"
    rb"|(?<![\w.-])(kind|apiVersion|metadata|data|stringData)(?=\s{0,8}:)"
)
_COLON = re.compile(rb"\s{0,8}:\s{0,8}")
_BRACED = re.compile(rb"(?<![\w:.-])[\"']?(?:data|stringData)[\"']?\s*:\s*\{")
_MEMBER = re.compile(
    rb"\s*+(?:\"[^\"\n]{0,253}\"|'[^'\n]{0,253}'|[\w./-]{1,253})\s*+:\s*+(?:\"((?:[^\"\\]++|\\.)*+)\""
    rb"|'((?:[^'\\]++|\\.)*+)'|([^\s\"',{}\[\]]++))\s*+,?"
)
_AFTER = (b"", b",", b"#", b'"', b"'")
_SHAPE = frozenset((b"apiVersion", b"metadata"))
_DATA = frozenset((b"data", b"stringData"))
_KEYS = _SHAPE | _DATA | {b"kind"}

# How far a manifest is read on either side of its kind. No part is read more than twice.
_LONGEST_MANIFEST = 16 * REACH


@dataclass
class _Mapping:
    """The keys of one mapping, and the values under `data`.

    An object in a program may look the same. Then the mapping needs more of a manifest than its kind.
    """

    column: int = 0
    keys: set[bytes] = field(default_factory=set)
    is_secret: bool = False
    is_maybe_code: bool = False
    spans: list[Span] = field(default_factory=list)

    def secrets(self) -> list[Span]:
        is_manifest = self.is_secret and (not self.is_maybe_code or self.keys & _SHAPE)
        return self.spans if is_manifest else []


def _manifest(data: bytes, found: Any) -> tuple[list[Span], int]:
    """All values under `data:` of a Secret, whatever their keys.

    They may come before its kind.
    """
    first = max(0, found.start() - _LONGEST_MANIFEST)
    first = max(first, data.rfind(b"\n---", first, found.start()))
    end = data.find(b"\n---", found.start(), found.end() + _LONGEST_MANIFEST)
    if end < 0:  # only whole lines: half a secret is a secret too
        end = data.find(b"\n", found.end() + _LONGEST_MANIFEST)
    end = len(data) if end < 0 else end
    mappings = [*_lines(data, first, end), *_objects(data, first, end)]
    spans = [span for mapping in mappings for span in mapping.secrets()]
    return [span for span in spans if _is_manifest_value(text_at(data, span))], end


def _is_manifest_value(value: str) -> bool:
    return len(value) >= 3 and not is_placeholder(value)


def _line(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The end of the line at this position, without and with trailing space."""
    line_end = data.find(b"\n", position, end)
    line_end = end if line_end < 0 else line_end
    return position + len(data[position:line_end].rstrip()), line_end


def _lines(data: bytes, position: int, end: int) -> list[_Mapping]:
    """The mappings with one key per line, all in one column."""
    if position and data[position - 1] != 10:
        position = data.find(b"\n", position, end) + 1 or end
    mappings: list[_Mapping] = []
    within: list[_Mapping] = []
    while position < end:
        stop, line_end = _line(data, position, end)
        text = _TEXT.match(data, position, stop)
        position = line_end + 1
        if text is None or data[text.end()] == 35:  # an empty line or a comment
            continue
        column = len(text[1])
        begun = column - 2 if text[1].endswith(b"- ") else column  # a list item starts a new mapping
        while within and within[-1].column > begun:
            within.pop()
        key = _KEY.match(data, text.start(), stop)
        if key is None:
            if data[text.end()] not in b"{}[]-":
                while within and within[-1].column >= begun:
                    within.pop()
            continue
        if not within or within[-1].column != column or (key[3] not in _DATA and key[3] in within[-1].keys):
            if within and within[-1].column == column:
                within.pop()
            within.append(_Mapping(column))
            mappings.append(within[-1])
        mapping = within[-1]
        value = data[key.end() : stop]
        if key[3] in _KEYS:
            mapping.keys.add(key[3])
        if key[3] == b"kind":
            named = _SECRET.match(value)
            mapping.is_secret = named is not None and value[named.end() :].lstrip()[:1] in _AFTER
            mapping.is_maybe_code |= not key[2] and value.endswith(b",")
        elif key[3] in _DATA and value in (b"", b"{"):
            mapping.is_maybe_code |= not key[2] and value == b"{"
            inner, position = _entries(data, position, end, column)
            mapping.spans += inner
        elif key[3] in _DATA and value[:1] == b"{":
            mapping.is_maybe_code |= not key[2]
            mapping.spans += (spans := list(_members(data, key.end() + 1, end)))
            if spans:  # continue after them, so that nothing is read twice
                position = max(position, data.find(b"\n", spans[-1][1], end) + 1 or end)
    return mappings


def _entries(data: bytes, position: int, end: int, depth: int) -> tuple[list[Span], int]:
    """The values in the lines indented deeper than `data:`, and where these lines end.

    Each line of a block text is a value.
    """
    spans: list[Span] = []
    block = end
    while position < end:
        stop, line_end = _line(data, position, end)
        text = _TEXT.match(data, position, stop)
        if text is not None and len(text[1]) > block:
            spans.append((text.end(), stop))
        elif text is not None:
            block = end
            key = _KEY.match(data, position, stop)
            if len(text[1]) <= depth and data[text.end()] != 35:
                break
            if key is not None and _BLOCK.match(data, key.end(), stop):
                block = len(text[1])
            elif key is not None and (quoted := _QUOTED.match(data, key.end(), stop)):
                spans.append(quoted.span(quoted.lastindex or 0))
            elif key is not None and data[key.end() : key.end() + 1] not in _NO_TEXT:
                spans.append((key.end(), stop - (data[stop - 1] == 44)))
        position = line_end + 1
    return spans, position


# Characters that do not begin a plain scalar in YAML.
_NO_TEXT = (b"", *(bytes([sign]) for sign in b"\"'{}[]|>#&*"))


def _objects(data: bytes, position: int, end: int) -> list[_Mapping]:
    """The mappings in braces."""
    mappings: list[_Mapping] = []
    within: list[_Mapping] = []
    while token := _TOKEN.search(data, position, end):
        position = token.end()
        if token[0] == b"{":
            within.append(_Mapping())
            mappings.append(within[-1])
        elif token[0] == b"}":
            del within[-1:]
        elif within and (key := token[token.lastindex or 0]) in _KEYS:
            colon = _COLON.match(data, position, end)
            if colon is None:
                continue
            mapping, position = within[-1], colon.end()
            mapping.keys.add(key)
            if key == b"kind":
                mapping.is_secret = _SECRET.match(data, position, end) is not None
                mapping.is_maybe_code |= token.lastindex == 3
            elif key in _DATA and data[position : position + 1] == b"{":
                within.append(_Mapping())
                mapping.spans += (spans := list(_members(data, position + 1, end)))
                position += 1
                if spans:
                    last = spans[-1][1]
                    position = last + (data[last : last + 1] in (b'"', b"'"))  # after its quote
    return mappings


def _members(data: bytes, position: int, end: int) -> Iterator[Span]:
    while member := _MEMBER.match(data, position, end):
        yield member.span(member.lastindex or 0)
        position = member.end()


def _patched(data: bytes, found: Any) -> tuple[list[Span], int]:
    """The values of a patch.

    Only a Secret has `stringData`, so its kind is not needed.
    """
    end = data.find(b"\n", found.end())
    end = len(data) if end < 0 else end
    spans = [
        span
        for head in _BRACED.finditer(data, found.start(), end)
        for span in _members(data, head.end(), end)
    ]
    return [span for span in spans if _is_manifest_value(text_at(data, span))], end


_FROM_LITERAL = re.compile(rb"--from-literal[= \t][\"']?[\w.-]+=[\"']?([^\s\"']+)")


def _literals(data: bytes, found: Any) -> tuple[list[Span], int]:
    end = data.find(b"\n", found.end())
    end = len(data) if end < 0 else end
    spans = (literal.span(1) for literal in _FROM_LITERAL.finditer(data, found.end(), end))
    return [span for span in spans if not is_placeholder(text_at(data, span))], end


RULES: tuple[Rule, ...] = (
    Rule(
        "kubernetes-secret",
        "Kubernetes",
        (
            *("kind: secret", 'kind: "secret"', "kind: 'secret'", 'kind":"secret"', 'kind": "secret"'),
            *('kind" : "secret"', "kind': 'secret'", "kind':'secret'"),
        ),
        r"kind[\"']? ?: ?[\"']?Secret(?:[^\w-]|\z)",
        must_match="apiVersion: v1\ndata:\n  signing: {alnum:24}\nkind: Secret\nmetadata:\n  name: app",
        must_not_match="kind: Secret\nmetadata:\n  name: app\ntype: Opaque\n",
        collect=_manifest,
    ),
    Rule(
        "kubernetes-patch",
        "Kubernetes",
        ("patch secret ", '"stringdata"'),
        r"(?:patch secret [^\n]{0,400}?-p|\"stringData\")",
        must_match='kubectl patch secret app -p \'{"data":{"signing":"{alnum:12}' + "\"}}'",
        must_not_match='kubectl patch secret app -p \'{"metadata":{"labels":{"a":"bcdefgh"}}}\'',
        collect=_patched,
    ),
    Rule(
        "kubernetes-literal",
        "Kubernetes",
        ("create secret ",),
        r"create secret ",
        must_match="kubectl create secret generic app --from-literal=signing={alnum:12}",
        must_not_match="kubectl create secret generic app --from-literal=signing=$SIGNING --from-file=a.txt",
        collect=_literals,
    ),
    Rule(
        "property-list",
        "generic",
        ("<key>",),
        rf"<key>([\w. -]{{1,64}})</key>{GAP}*<string>([^<>\n]+)</string>",
        must_match="<key>SMTPPassword</key>\n<string>{alnum:12}</string>",
        must_not_match="<key>CFBundleIdentifier</key>\n<string>com.example.app2</string>",
        requires=b"<string>",
        check=_named_before,
    ),
    Rule(
        "terraform-default",
        "Terraform",
        ('variable "',),
        r"variable \"([\w-]{1,64})\" \{[^{}]{0,600}?\bdefault\s*=\s*\"([^\"\n]+)\"",
        must_match='variable "db_password" {\n  type    = string\n  default = "{alnum:10}"\n}',
        must_not_match='variable "region" {\n  default = "eu-west-1"\n}',
        requires=b"default",
        check=_named_before,
    ),
    Rule(
        "terraform-generated",
        "Terraform",
        ('"type": "random_password"', '"type":"random_password"'),
        # In a plan or a state. After a declaration the next result belongs to something else.
        r"\"type\":\s{0,4}\"random_password\",[^}\x00]{0,900}?\"result\"\s{0,4}:\s{0,4}\"((?:[^\"\\\n]|\\.)+)\"",
        must_match='{"type": "random_password", "values": {"length": 10, "result": "{alnum:10}"}}',
        must_not_match='{"type": "random_password", "values": {"length": 10, "result": "${old}"}}',
        check=not_placeholder,
    ),
    Rule(
        "terraform-sensitive",
        "Terraform",
        ('"sensitive"',),
        # `terraform output` has it before the value, the state after it.
        r"\"sensitive\"\s{0,4}:\s{0,4}true,\s{0,40}\"type\"\s{0,4}:\s{0,4}\"string\",\s{0,40}\"value\"\s{0,4}:\s{0,4}"
        r"\"((?:[^\"\\\n]|\\.)+)\""
        r"|\"value\"\s{0,4}:\s{0,4}\"((?:[^\"\\\n]|\\.)+)\",\s{0,40}\"type\"\s{0,4}:\s{0,4}\"string\",\s{0,40}"
        r"\"sensitive\"\s{0,4}:\s{0,4}true",
        must_match='{"conn": {"sensitive": true, "type": "string", "value": "{alnum:10}"}}',
        must_not_match='{"region": {"sensitive": false, "type": "string", "value": "{alnum:10}"}}',
        before=1024,
        word_start=False,
        check=not_placeholder,
    ),
    Rule(
        "form-part",
        "generic",
        ('form-data; name="',),
        rf"form-data; name=\"([\w.\[\]-]{{1,64}})\"[ \t]*\n{GAP}*"
        rf"(?:(?i:content-type:)[^\n]*{GAP}+)?([^\s\"]+)",
        must_match='Content-Disposition: form-data; name="password"\n\n{alnum:10}' + "\n--end",
        must_not_match='Content-Disposition: form-data; name="title"\n\n{alnum:10}' + "\n--end",
        check=_named_before,
    ),
    Rule(
        "changed-value",
        "generic",
        ('" -> "',),
        r"\" -> \"([^\"\n]+)\"",
        must_match='~ password = "old" -> "{alnum:10}"',
        must_not_match='~ instance_type = "t3.micro" -> "{alnum:10}"',
        word_start=False,
        check=_changed,
    ),
    Rule(
        "value-before-name",
        "generic",
        ('"value":', 'value="'),
        r"(?:\"value\":\s{0,8}\"([^\"\n]+)\",\s{0,40}\"(?:name|key)\":\s{0,8}\"|value=\"([^\"\n]+)\"\s{1,40}(?:name|key)=\")"
        r"([\w.-]{1,64})\"",
        must_match='{"value":"{alnum:10}","name":"DB_PASSWORD"}',
        must_not_match='{"value":"{alnum:10}","name":"RELEASE"}',
        check=_named_after,
    ),
    Rule(
        "setting-command",
        "generic",
        ("configure set ", "config set ", "setx "),
        r"(?i:configure set|config set|setx)[ \t]+(?:--?[\w-]+[ \t]+){0,4}([\w.:/@-]{1,128})[= \t]+"
        r"[\"']?([^\s\"'$%|;&<>]+)",
        must_match="aws configure set aws_session_token {alnum:40}",
        must_not_match="aws configure set region eu-west-1",
        check=_named_before,
    ),
    Rule(
        "expected-prompt",
        "generic",
        ("expect",),
        r"expect(?:_exact)?[ \t(]+(?:-\w+[ \t]+)?[brf]?[\"'{][^\"'\n]{0,80}(?i:passw|passphrase|passcode)"
        rf"[^\"'\n]{{0,40}}[\"'}}][ \t)({{;]*{GAP}+"
        r"(?:\w+\.)?send(?:line)?[ \t(]+(?:--[ \t]+)?[brf]?[\"']([^\"'\n\\$\[][^\"'\n\\]*)",
        must_match='expect "password:"\nsend "{alnum:10}\\r"',
        must_not_match='expect "password:"\nsend "$password\\r"',
        requires=b"send",
        check=not_placeholder,
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
        must_match="define('NONCE_SALT', '" + "x|R~ }?]{alnum:40}');",
        must_not_match="define('NONCE_SALT', 'put your unique phrase here');",
        check=with_digit,
    ),
    Rule(
        "jwt-settings",
        "generic",
        ('"jwt', '"tokenoptions"', '"authsettings"'),
        r"(?i:\"(?:jwt\w{0,16}|tokenoptions|authsettings)\"\s*:\s*\{[^{}]{0,400}?\"(?:issuersigning|signing|secret)?key\"\s*:\s*)"
        r"\"([^\"\s$]{16,})\"",
        must_match='{"Jwt": {"Issuer": "app", "Key": "{alnum:32}"}}',
        must_not_match='{"Jwt": {"Issuer": "app", "Key": "${JWT_KEY}"}}',
        word_start=False,
        check=with_digit,
    ),
    Rule(
        "yaml-anchor",
        "generic",
        (": &",),
        r": &([\w-]{1,40})[ \t]+(\"[^\"\n]+\"|'[^'\n]+'|[^\s\"']+)[ \t\r]*(?:\n|\z)",
        must_match="password: &db {alnum:12}\nuser: me",
        must_not_match="    password: &mut String2\n",
        word_start=False,
        check=_anchored,
    ),
    Rule(
        "environment-default",
        "generic",
        ("process.env.", "import.meta.env.", "env[", "environ.get(", "getenv("),
        r"(?:process\.env\.|import\.meta\.env\.|(?:ENV|process\.env)\[[\"']|(?i:environ\.get|getenv)\([\"'])([A-Z][A-Z0-9_]{2,64})"
        r"[\"')\]]{0,3}\s*(?:\|\||\?\?|\bor\b|\?:)\s*(?:\"([^\"\n]+)\"|'([^'\n]+)')",
        must_match="const secret = process.env.JWT_SECRET || '{alnum:20}'",
        must_not_match="const secret = process.env.JWT_SECRET || 'missing'",
        check=_fallback,
    ),
)
