"""Secrets known by the name they are given to: in shells, settings, JSON, programs, flags, sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.secrets.naming import (
    KEY_QUALIFIERS,
    MARKER,
    Kind,
    is_address,
    is_bare_secret,
    is_disordered,
    is_listed_secret,
    is_literal_secret,
    is_odd,
    is_passphrase,
    is_placeholder,
    kind_of,
    words,
)
from fazm_memory.capture.secrets.rule import Rule, Span, alnum, has_digit

KEYWORDS = (
    *sorted(
        words(
            """passw passphrase passcode pwd kennwort contrasena psk mnemonic storepass keypass requirepass
            motdepasse _de_passe bindpw rootpw presharedkey _pass -pass .pass pass: pass= "pass" 'pass'
            _pw -pw pw: pw= secret token _jwt credential apikey secretkey privatekey accesskey authkey
            accountkey signingkey encryptionkey"""
        )
    ),
    *("seed phrase", "recovery phrase", "pass =", "pw is ", "pw for "),
    *(f"{qualifier}{joint}key" for qualifier in sorted(KEY_QUALIFIERS) for joint in "_- ."),
)

_REST = r"[\"']?[A-Za-z0-9_.\-]{0,40}(?: (?:key|phrase))?"
_CLOSED = r"""["'`]?[\])]{0,2}\*{0,2}"""
# How a name and its value are joined.
_ANNOTATION = r"(?:: ?(?:&(?:'static )?)?[A-Za-z_][\w.\[\]| ]{0,40}(?:<[\w&'. ,]{0,30}>)? ?= ?)"
_SIGN = r"([ \t]{0,40}(?:=>|:=|\?=|===?|=|:\*\*|:: |:|->)[ \t]{0,40})"
_COMMA = r"([ \t]*,[ \t]*)"
_TAG = r"(>)"
_PAIR = (
    r"((?:[ \t]*,\s{0,80}|\s{1,80})[\"']?(?i:value|default|content)[\"']?[ \t]*[:=][ \t]*"
    r"|,ParameterValue=)"
)
_SAID = r"( (?:[\w@.'-]{1,24} ){0,5}(?:is|was|lautet|ist)[: ]{1,2})"
_SPACE = r"([ \t]+)"
_BLOCK = r"(?:[|>][+-]?[ \t]*\n[ \t]+|<<[-~]?[\"']?[A-Z]{2,16}[\"']?\n[ \t]*|Some\(|\s{1,40}string\(\d+\) )?"
# The value: in quotes, or up to the next space.
_QUOTED = r"""[bfrBFR]{0,2}(?:"(?:"")?((?:[^"\\\n]|\\.)*)"|'(?:'')?((?:[^'\\\n]|\\.)*)'|`([^`\n]*)`)"""
_BARE = r"""["'`]?([^\s"'`]+)"""
_JOINT = f"(?:{_ANNOTATION}|{_SIGN}|{_PAIR}|{_COMMA}|{_TAG}|{_SAID}|{_SPACE})"
_REGEX = f"{_REST}{_CLOSED}{_JOINT}{_BLOCK}(?:{_QUOTED}|{_BARE})"
# Its groups, in order.
SIGN, PAIR, COMMA, TAG, SAID, SPACE, DOUBLE, SINGLE, TICK, BARE = range(1, 11)

_NAME = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_LONGEST_NAME = 64
_LONGEST_PHRASE = 256
_NEAR = 256
_BEFORE_A_FLAG = (b"", b" ", b"\t", b"\n", b'"', b"'", b"(", b"[")
_QUOTES = (b"", b'"', b"'")
_ODD_WORD = re.compile(rb"[^\s\d\xff]*+\d[^\s\xff]*")
_PROPERTY = re.compile("^-[DP](?=[a-z])")  # java -DapiKey=…, gradle -PapiKey=…
_SETTERS = ("env", "setenv", "setx", " -x", " -gx", " -ux")


@dataclass(frozen=True)
class _Assignment:
    """A name that means a secret, how it is joined to a value, and where the value stands."""

    data: bytes
    name: str
    name_start: int
    kind: Kind
    joint: int
    sign: bytes
    start: int
    end: int

    def value(self, end: int | None = None) -> str:
        return self.data[self.start : self.end if end is None else end].decode("latin-1")

    def line_before(self) -> bytes:
        """What stands before the name on its line, but no more of it than matters: a line may be endless."""
        return self.data[max(0, self.name_start - _NEAR) : self.name_start].rsplit(b"\n", 1)[-1]

    def is_flag(self) -> bool:
        before = self.data[max(0, self.name_start - 1) : self.name_start]
        return self.name.startswith("-") and before in _BEFORE_A_FLAG and self.joint in (0, SIGN, SPACE)

    def is_exported(self) -> bool:
        """`NAME=value`, `ENV NAME value`, `set -x NAME value`: what follows is the value, come what may."""
        if not self.name.isupper() or self.joint not in (SIGN, SPACE):
            return False
        if self.joint == SIGN:
            return self.sign == b"="
        return self.line_before().decode("latin-1").lower().rstrip().endswith(_SETTERS)


def _judge(data: bytes, found: Any) -> Span | None:
    name_start, name_end = _name(data, found.start())
    name = data[name_start:name_end].decode("latin-1")
    kind = kind_of(_PROPERTY.sub("", name).strip(".-"))
    if kind is Kind.NONE or data.endswith(MARKER.encode(), 0, name_start):
        return None
    joint = next((group for group in range(SIGN, DOUBLE) if found.span(group)[0] >= 0), 0)
    sign = data[slice(*found.span(SIGN))] if joint == SIGN else b""
    for group in (DOUBLE, SINGLE, TICK, BARE):
        start, end = found.span(group)
        if start >= 0:
            if sign[:1] == b" " and name.lower() == "pass" and not _is_long(data, start, end, group):
                return None  # `pass = ok`: whether a check passed
            if found.start() < name_start and not _ODD_WORD.fullmatch(data, start, end):
                return None  # `"pass": "all is well"`
            if joint == 0 and group == BARE and (begin := _padded(data, name_end, start, end)):
                joint, sign, start = SIGN, b":", begin
            assignment = _Assignment(data, name, name_start, kind, joint, sign, start, end)
            return _bare(assignment) if group == BARE else _quoted(assignment, found)
    return None


def _is_long(data: bytes, start: int, end: int, group: int) -> bool:
    return has_digit(data[start:end]) and (group != BARE or is_disordered(data[start:end].decode("latin-1")))


def _padded(data: bytes, name_end: int, start: int, end: int) -> int:
    """Where a value begins that was taken for a type, `password: aHVudGVyMg==`, or 0 if it is one."""
    typed = data[name_end:start]
    begin = name_end + typed.index(b":") + 1
    begin += data[begin:start].startswith(b" ")
    value = data[begin : start - 1].decode("latin-1")
    padding = not data[start:end].strip(b"=")
    return begin if typed[-1:] == b"=" and value[-1:].isalnum() and (padding or is_disordered(value)) else 0


def _name(data: bytes, position: int) -> Span:
    """The whole name around a keyword: it may begin before it and go on after it."""
    position += data[position] in b"\"'"  # a keyword may begin with the quote before the name
    start = end = position
    while start and position - start < _LONGEST_NAME and data[start - 1] in _NAME:
        start -= 1
    while end < len(data) and end - position < _LONGEST_NAME:
        joined = data[end] == 32 and data[end + 1 : end + 4].lower() in (b"key", b"phr")
        if not joined and data[end] not in _NAME:
            break
        end += 1
    return start, end


def _quoted(found: _Assignment, match: Any) -> Span | None:
    value = found.value()
    if found.is_flag():
        return None if is_placeholder(value) else (found.start, found.end)
    if value.lower() in found.name.lower() or found.joint == TAG:
        return None  # a constant that is called what it says
    if found.joint == COMMA:
        # In a list of words one may be "password"; a name in quotes and an odd value are a pair.
        quoted_name = found.data[match.span(COMMA)[0] - 1] in b"\"'`"
        if not quoted_name or not (found.name.isupper() or is_odd(value)):
            return None
    if found.joint in (SPACE, SAID) and found.kind is not Kind.PASSWORD:
        return None
    if found.is_exported() and found.kind is Kind.PASSWORD and is_odd(value) and _is_phrase(value):
        return found.start, found.end
    kind = Kind.KEY if found.name.isupper() and found.kind is Kind.TOKEN else found.kind
    return (found.start, found.end) if is_literal_secret(value, kind) else None


def _is_phrase(value: str) -> bool:
    """`PGPASSWORD='hunter2 hunter3'`: a shell is told a few words; a message to people has more, or stops."""
    return len(value.split()) <= 3 and not is_placeholder(value) and value[-1] not in ".:"


def _bare(found: _Assignment) -> Span | None:
    first = found.data[found.start : found.start + 1]
    if found.is_flag():
        return _given(found)
    if found.is_exported():
        end = found.end
        while end > found.start and found.data[end - 1] in b";&|":
            end -= 1  # the command that follows in a shell
        value = found.value(end)
        hidden = len(value) >= 3 and not (
            is_placeholder(value) or is_address(value) or value.startswith("$(")
        )
        return (found.start, end) if hidden else None
    if found.joint == SPACE and _is_listed(found):
        return found.start, found.end
    if found.joint in (COMMA, SPACE) or first in (b"(", b"[", b"{"):
        return None
    end = _cut(found.data, found.start, found.end, b"&<;" if found.sign.strip() == b"=" else b"<")
    if found.joint == TAG and not _is_element(found, end):
        return None
    while end > found.start and found.data[end - 1] in b",;:)]}>":
        end -= 1
    if found.joint == SAID:
        return _said(found, end)
    if found.joint == SIGN and found.kind is Kind.PASSWORD and not found.line_before().strip(b" \t-"):
        line = found.data[found.start : found.start + _LONGEST_PHRASE].split(b"\n", 1)[0]
        if len(line) < _LONGEST_PHRASE and is_passphrase(line.decode("latin-1")):
            return found.start, found.start + len(line)
    secret = is_bare_secret(found.value(end), found.kind, own_line=_has_own_line(found, end))
    return (found.start, end) if secret else None


def _is_listed(found: _Assignment) -> bool:
    """A line with a name, a gap and a value, as vaults and directories list them."""
    gap = found.data[max(found.name_start, found.start - 2) : found.start]
    if gap != b"  " and gap[-1:] != b"\t" and found.name.lower() not in ("bindpw", "rootpw"):
        return False
    after = found.data[found.end : found.end + 80].split(b"\n", 1)[0]
    before = found.line_before().rstrip(b" \t")
    alone = before[-1:] in _QUOTES and after.strip()[:1] in _QUOTES
    return alone and is_listed_secret(found.value(), found.kind)


# What follows a flag in a sentence about it.
_ABOUT_FLAGS = words(
    """flag flags option options argument arguments parameter parameters switch instead and or is was are
    for with when if on in from as to by will via the an not but before after without can may must should
    does has have which that this then also only into"""
)


def _given(found: _Assignment) -> Span | None:
    """`--password hunter2`: the next word is the value, but not in a manual."""
    value = found.value().rstrip(",;)]}")
    if (
        len(value) < 3
        or is_placeholder(value)
        or value.startswith(("-", "$("))
        or value.lower().rstrip(".") in _ABOUT_FLAGS
    ):
        return None
    if found.joint == SPACE:
        before = found.line_before().strip()
        listed = not before or before.endswith((b",", b"[", b"|", b"("))
        end = found.start + len(value)
        after = found.data[end : end + 80].split(b"\n", 1)[0].strip()
        explained = value.isupper() or (value.isalpha() and after and not after.startswith(b"-"))
        if listed and explained:
            return None
    return found.start, found.start + len(value)


def _said(found: _Assignment, end: int) -> Span | None:
    """`the password is hunter2`: said in a sentence, so only what cannot be a word counts."""
    value = found.value(end).rstrip(".!?:")
    shortest = 5 if found.kind is Kind.PASSWORD else 12
    if len(value) < shortest or value.isdigit() or not is_odd(value) or is_placeholder(value) or "(" in value:
        return None
    return found.start, found.start + len(value)


def _has_own_line(found: _Assignment, end: int) -> bool:
    """Whether name and value stand as in a settings file, and not among the other words of a program."""
    data = found.data
    if (
        found.sign == b"="
        and found.kind is Kind.PASSWORD
        and data[end : end + 1] in (b"", b" ", b"\t", b"\n", b"&", b";", b'"', b"'")
    ):
        return True  # a connection string or a query: in a program a comma or a bracket would follow
    before = found.line_before()
    alone = (
        not before.removeprefix(b"export ").strip(b" \t-+\"'")
        and not data[end : end + 80].split(b"\n", 1)[0].strip()
    )
    spaced = found.sign != b"=" and found.sign.strip() == b"="
    return (alone and not (spaced and before)) or found.joint in (TAG, PAIR)


def _is_element(found: _Assignment, end: int) -> bool:
    """`<password>hunter2</password>`."""
    return found.data[found.name_start - 1 : found.name_start] == b"<" and found.data[end : end + 2] == b"</"


def _cut(data: bytes, start: int, end: int, stops: bytes) -> int:
    return next((position for position in range(start, end) if data[position] in stops), end)


RULES: tuple[Rule, ...] = (
    Rule(
        "named-secret",
        "generic",
        KEYWORDS,
        _REGEX,
        match="DB_PASSWORD=" + alnum(14),
        miss="password = get_password(user)",
        alone=False,
        judge=_judge,
    ),
)
