"""Secrets assigned to a name.

The forms of shells, settings, JSON, programs, flags, sentences and calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fazm_memory.engines.redaction.classify import (
    KEY_QUALIFIERS,
    MARKER,
    Kind,
    disorder,
    is_address,
    is_bare_secret,
    is_disordered,
    is_listed_secret,
    is_literal_secret,
    is_odd,
    is_passphrase,
    is_placeholder,
    is_sham,
    is_stand_in,
    kind_of,
    not_placeholder_or_word,
    words,
)
from fazm_memory.engines.redaction.rules import NAME, Rule, Span, has_digit, text_at

KEYWORDS = (
    *sorted(
        words(
            """passw passphrase passcode pwd kennwort contrasena psk mnemonic storepass keypass requirepass
            motdepasse _de_passe senha wachtwoord losenord salasana adgangskode passord jelszo bindpw rootpw
            presharedkey _pass -pass .pass pass: pass= "pass" 'pass'
            _pw -pw pw: pw= secret token _jwt credential apikey secretkey privatekey accesskey authkey
            accountkey signingkey encryptionkey validationkey"""
        )
    ),
    *(
        "seed phrase",
        "recovery phrase",
        "mot de passe",
        "pass =",
        "pw is ",
        "pw for ",
        "pass, value",
        'pass", "',
    ),
    *(f"{qualifier}{joint}key" for qualifier in sorted(KEY_QUALIFIERS) for joint in "_- ."),
)

_REST = r"[\"']?(?:[A-Za-z0-9_]|\.(?!=)|-(?!>)){0,40}+(?: (?:key|phrase|de passe))?"
_CLOSED = r"""["'`]?(?:\[\])?[\])}]{0,2}\*{0,2}(?: \([a-z ]{1,20}\)(?=:))?"""
# How a name and its value are joined.
_ANNOTATION = r"(?:: ?(?:&(?:'static )?)?[A-Za-z_][\w.\[\]| ]{0,40}(?:<[\w&'. ,]{0,30}>)? ?= ?)"
# The type may stand between: `var dbPassword string =`, `Dim key As String =`.
_SIGN = (
    r"(?:[ \t]{1,4}(?:\*?string|\[\]byte|(?i:as string))(?=[ \t]{0,8}=))?"
    r"([ \t]{0,40}(?:=>|!={1,2}|[:.?|+]{0,3}={1,3}|:\*\*|:: |:(?!//)|->|<-|\{(?=\"))[ \t]{0,40})"
)
_COMMA = r"([ \t]*,[ \t]*)"
_TAG = r"(>\s{0,80})"
_PAIR = (
    r"((?:[ \t]*,\s{0,80}|\s{1,80})[\"']?(?i:value|default|content)[\"']?[ \t]*[:=][ \t]*"
    r"|,ParameterValue=)"
)
_SENTENCE = (
    r"( (?:[\w@.'-]{1,24} ){0,5}(?:is|was|lautet|ist|(?:changed|set|reset|updated|rotated) to)[: ]{1,2}"
    r"| (?:to|as) "
    r"| - )"
)
_SPACE = r"([ \t]++)"
# What may stand before the value: a block, a constructor, the name of a variable whose default it is.
_BLOCK = (
    r"(?:[|>][+-]?[ \t]*\n[ \t]+|<<[-~]?[\"']?[A-Z]{2,16}[\"']?[^\n]{0,24}\n[ \t]*"
    r"|!![a-z]{1,12} (?=[^\n]{3})|\s{1,40}string\(\d+\) "
    r"|(?:new )?(?:Some|Just|[sS]tring|std::string|String::from|Secret(?:Str|String)?(?:::new|::from|\.of)?"
    r"|Buffer\.from|bytes|str|SecureString|NSString|Password|fromString)\((?=[bru]?[\"'`])"
    r"|[\w.$:]{1,40}+\([\"'][\w.-]{1,60}[\"'], ?(?=[\"'`])"
    r"|[\w.$]{1,60}+(?:\[[\"'][\w.-]{1,60}[\"']\])? ?(?:\|\||\?\?|\?:|or) ?(?=[\"'`])"
    r"|\$\{[\w.]{1,60}+:[-=]?)?"
)
# The value is in quotes or ends at the next space.
_QUOTED = (
    r"""[bfrnuBFRNUL@]{0,2}(?:"(?:"")?((?:[^"\\\n]++|\\.)*+)"|'(?:'')?((?:[^'\\\n]++|\\.)*+)'"""
    r"""|`([^`\n]*+)`|%?[qQ]{1,2}[{(|\\[]([^\n\s{}()|\]\\[]{3,128})[})|\]])"""
)
_BARE = r"""["'`]?([^\s"'`]++)"""
_JOINT = f"(?:{_ANNOTATION}|{_SIGN}|{_PAIR}|{_COMMA}|{_TAG}|{_SENTENCE}|{_SPACE})"
_REGEX = f"{_REST}{_CLOSED}{_JOINT}{_BLOCK}(?:{_QUOTED}|{_BARE})"
# The groups of the pattern, in order.
SIGN, PAIR, COMMA, TAG, SENTENCE, SPACE, DOUBLE, SINGLE, TICK, PERL, BARE = range(1, 12)

_LONGEST_NAME = 64
_NAME_BYTES = frozenset(NAME)
_NAME_END = re.compile(rb"(?:[\w.-]| (?=(?i:key|phr|de passe|passe))){0,64}")
_LONGEST_PHRASE = 256
_NEAR = 256
_BEFORE_A_FLAG = (b"", b" ", b"\t", b"\n", b'"', b"'", b"(", b"[")
_QUOTES = (b"", b'"', b"'")
_ODD_WORD = re.compile(rb"[^\s\d\xff]*+\d[^\s\xff]*")
_PROPERTY = re.compile("^-[DP](?=[a-z])")  # java -DapiKey=…, gradle -PapiKey=…
_RESOURCE = re.compile(rb"arn:[\w:/-]*:\Z")
# Google shows the passwords of apps as four groups.
_APP_PASSWORD = re.compile(rb"[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4}(?![ \t]*[\w-])")
_LISTED_NAMES = ("bindpw", "rootpw")
_CONSTANT = re.compile("[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")  # the next name of a list
_FORM = re.compile(rb"<[A-Za-z][\w .'/-]{0,60}>")  # `API_KEY=<your key>`
_SETTERS = ("env", "setenv", "setx", " -x", " -gx", " -ux")


@dataclass(frozen=True)
class _Assignment:
    """A name that means a secret, the sign after it, and the span of the value."""

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
        """The text before the name on its line, limited because lines can be very long."""
        return self.data[max(0, self.name_start - _NEAR) : self.name_start].rsplit(b"\n", 1)[-1]

    def is_flag(self) -> bool:
        before = self.data[max(0, self.name_start - 1) : self.name_start]
        return self.name.startswith("-") and before in _BEFORE_A_FLAG and self.joint in (0, SIGN, SPACE)

    def is_exported(self) -> bool:
        """Whether this sets a variable.

        The forms are `NAME=value`, `ENV NAME value` and `set -x NAME value`.
        """
        if not self.name.isupper() or self.joint not in (SIGN, SPACE):
            return False
        if self.joint == SIGN:
            return self.sign == b"="
        return self.line_before().decode("latin-1").lower().rstrip().endswith(_SETTERS)


def _check(data: bytes, found: Any) -> Span | None:
    name_start, name_end = _name(data, found.start())
    name = data[name_start:name_end].decode("latin-1")
    kind = _kind(name)
    if kind is Kind.NONE or data.endswith(MARKER.encode(), 0, name_start):
        return None
    if data[max(0, name_start - 1) : name_start] == b":" and _RESOURCE.search(
        data, max(0, name_start - 80), name_start
    ):
        return None  # `arn:aws:secretsmanager:eu-west-1:1:secret:name`
    joint = next((group for group in range(SIGN, DOUBLE) if found.span(group)[0] >= 0), 0)
    sign = data[slice(*found.span(SIGN))] if joint == SIGN else b""
    for group in (DOUBLE, SINGLE, TICK, PERL, BARE):
        start, end = found.span(group)
        if start >= 0:
            if sign == b"{" and not data[:name_start].endswith(b"string ", max(0, name_start - 12)):
                return None  # in C++: `std::string key{"…"}`
            if data[start : start + 1] == b"?" and data[max(0, name_start - 2) : name_start] == b"${":
                return None  # a message: `${PASSWORD:?missing}`
            if sign[:1] == b" " and name.lower() == "pass" and not _is_long(data, start, end, group):
                return None  # `pass = ok`: the result of a check
            if found.start() < name_start and not _ODD_WORD.fullmatch(data, start, end):
                return None  # `"pass": "all is well"`
            if joint == 0 and group == BARE and (begin := _padded(data, name_end, start, end)):
                joint, sign, start = SIGN, b":", begin
            assignment = _Assignment(data, name, name_start, kind, joint, sign, start, end)
            return _bare(assignment) if group == BARE else _quoted(assignment, found)
    return None


def _is_long(data: bytes, start: int, end: int, group: int) -> bool:
    value = text_at(data, (start, end))
    random = is_disordered(value) or (len(value) >= 8 and disorder(value) >= 0.8)
    return has_digit(data[start:end]) and (group != BARE or random)


def _padded(data: bytes, name_end: int, start: int, end: int) -> int:
    """The start of a value that looked like a type, or 0 if it is a type.

    In `password: aHVudGVyMg==` the signs at the end are padding.
    """
    typed = data[name_end:start]
    begin = name_end + typed.index(b":") + 1
    begin += data[begin:start].startswith(b" ")
    value = data[begin : start - 1].decode("latin-1")
    padding = not data[start:end].strip(b"=")
    return begin if typed[-1:] == b"=" and value[-1:].isalnum() and (padding or is_disordered(value)) else 0


def _name(data: bytes, position: int) -> Span:
    """The span of the whole name around a keyword."""
    position += data[position] in b"\"'"  # the keyword may include the quote before the name
    start = position
    first = max(0, position - _LONGEST_NAME)
    while start > first and data[start - 1] in _NAME_BYTES:
        start -= 1
    found = _NAME_END.match(data, position)
    return start, found.end() if found else position


# What may follow a name and a word, a comma or the end of the line. Prose and arguments have others there.
_AFTER_A_SPACE = re.compile(
    rb"(?i: (?:(?:[\w@.'-]{1,24} ){0,5}(?:is|was|lautet|ist|(?:changed|set|reset|updated|rotated) to)[: ]"
    rb"|(?:to|as) [^\s]{5}"
    rb"|\*?(?:as )?string[ \t]{0,8}=|(?:value|default|content)[\"']?[ \t]*[:=]"
    rb"|key|phrase|de passe|[bfrnul@]{1,2}[\"'`]))"
)
_AFTER_A_COMMA = re.compile(
    rb"(?:,|[\"']?\)?\n)(?:\s{0,80}[\"']?(?i:value|default|content)[\"']?[ \t]*[:=]|ParameterValue=)"
)
_LINE_ENDS = (b"\n", b'"\n', b"'\n", b")\n", b'")', b"')")


def may_assign(data: bytes, position: int) -> bool:
    """Whether this name means a secret, and what follows may be its value.

    A cheap test. Most names do not, `tokenize`, and most that do are in prose or code: `the token of`,
    `f(user, token)`.
    """
    start, end = _name(data, position)
    after = data[end : end + 2]
    first = after[:1]
    if first in (b"", b"(", b";"):
        return False
    name = data[start:end].decode("latin-1")
    if _kind(name) is Kind.NONE or _is_result(data, name, end):
        return False
    if first in (b",", b"\n") or (after in _LINE_ENDS and data[end : end + 3][-1:] in b"\n"):
        return _AFTER_A_COMMA.match(data, end) is not None
    if first == b" " and after[1:].isalpha() and not name.startswith("-") and not name.isupper():
        return _may_be_listed(name) or _AFTER_A_SPACE.match(data, end, end + _NEAR) is not None
    return True


_RESULT = re.compile(rb": ?[\"'`]?([^\s\"'`]{1,96})")


def _is_result(data: bytes, name: str, end: int) -> bool:
    """Whether this is the result of a test, `--- PASS: TestReader/empty_file`.

    Logs are full of them.
    """
    value = _RESULT.match(data, end) if name.strip(".-") == "PASS" else None
    return value is not None and disorder(value[1].decode("latin-1")) < 0.8


def _may_be_listed(name: str) -> bool:
    """Whether one space may stand between this name and its value.

    It may in a file of properties.
    """
    return "." in name.strip(".") or name.lower() in _LISTED_NAMES


@lru_cache(maxsize=4096)
def _kind(name: str) -> Kind:
    """The kind of a name, of a flag (`-Password`) or of a property (`-DapiKey`)."""
    return kind_of(name.strip(".-")) or kind_of(_PROPERTY.sub("", name))


def _quoted(found: _Assignment, match: Any) -> Span | None:
    value = found.value()
    if found.is_flag():
        return None if is_placeholder(value) else (found.start, found.end)
    name = found.name.lower()
    if (
        value.lower() in name
        or value.lower() == name.rsplit(".", 1)[-1].replace("_", "")
        or found.joint == TAG
    ):
        return None  # a constant with its own name as the value
    if found.joint == COMMA:
        # A list of words may contain "password". Only a name in quotes and a value with a digit are a pair.
        quoted_name = found.data[match.span(COMMA)[0] - 1] in b"\"'`"
        if not quoted_name or not (found.name.isupper() or is_odd(value) or disorder(value) >= 1):
            return None
        if (
            len(value) < 6
            or _CONSTANT.fullmatch(value)
            or value.rstrip("0123456789") == found.name.rstrip("0123456789")
        ):
            return None  # `["pass", "arg1"]`, `["secret1", "secret2"]`
    if found.joint in (SPACE, SENTENCE) and found.kind is not Kind.PASSWORD:
        return None
    if found.is_exported() and found.kind is Kind.PASSWORD and is_odd(value) and _is_phrase(value):
        return found.start, found.end
    if b"!" in found.sign and not is_odd(value) and disorder(value) < 0.8:
        return None  # compared with a word
    kind = Kind.KEY if found.name.isupper() and found.kind is Kind.TOKEN else found.kind
    return (found.start, found.end) if is_literal_secret(value, kind) else None


def _is_phrase(value: str) -> bool:
    """Up to three words, `PGPASSWORD='hunter2 hunter3'`.

    A message has more words, or ends with a stop.
    """
    return len(value.split()) <= 3 and not is_placeholder(value) and value[-1] not in ".:"


def _bare(found: _Assignment) -> Span | None:
    first = found.data[found.start : found.start + 1]
    if found.is_flag():
        return _flag_value(found)
    if found.is_exported():
        return _exported(found)
    if found.joint == SPACE and _is_listed(found):
        return found.start, found.end
    if first == b"{" and found.sign == b"=" and (braced := _braced(found)):
        return braced
    if found.joint in (COMMA, SPACE) or first in (b"(", b"[", b"{"):
        return None
    if found.name == "PWD" and found.sign[:1] == b":":
        return None  # the folder of a process
    end = _cut(
        found.data, found.start, found.end, _LONG_STOPS if found.sign.strip() == b"=" else _SHORT_STOPS
    )
    if found.joint == TAG and not _is_element(found, end):
        return None
    if found.kind is not Kind.PASSWORD and (stop := _CODE_STOP.match(found.data, found.start, end)):
        end = stop.end(1)
    while end > found.start and found.data[end - 1] in b",;:)]}>&":
        end -= 1
    if found.joint == SENTENCE:
        return _in_sentence(found, end)
    if phrase := _app_password(found) or _passphrase(found):
        return phrase
    value = found.value(end)
    secret = is_bare_secret(value, found.kind, own_line=_has_own_line(found, end))
    if not secret and _is_argument(found, end):
        secret = is_odd(value) and is_literal_secret(value, found.kind)
    if not secret and found.joint == TAG:
        secret = is_odd(value) and is_literal_secret(value, found.kind)
    return (found.start, end) if secret else None


def _is_argument(found: _Assignment, end: int) -> bool:
    """Whether name and value are one argument in quotes, `-d 'passwd=hunter2'`."""
    quote = found.data[max(0, found.name_start - 1) : found.name_start]
    return found.sign == b"=" and quote in (b"'", b'"') and found.data[end : end + 1] == quote


def _exported(found: _Assignment) -> Span | None:
    """The value of a variable of a shell."""
    if password := _app_password(found):
        return password
    end = found.end
    while end > found.start and found.data[end - 1] in b";&|":
        end -= 1  # the end of a shell command
    value = found.value(end)
    is_other = is_placeholder(value) or is_address(value) or value.startswith("$(")
    is_other = is_other or _FORM.match(found.data, found.start) is not None
    is_other = is_other or is_stand_in(value) or (found.kind is not Kind.PASSWORD and is_sham(value))
    return (found.start, end) if len(value) >= 3 and not is_other else None


def _app_password(found: _Assignment) -> Span | None:
    """A password of groups of letters, as a provider of mail gives it to a program."""
    groups = _APP_PASSWORD.match(found.data, found.start) if found.kind is Kind.PASSWORD else None
    return None if groups is None else groups.span()


def _passphrase(found: _Assignment) -> Span | None:
    """The rest of a line that has only the name of a password and words."""
    if found.joint != SIGN or found.kind is not Kind.PASSWORD or found.line_before().strip(b" \t-"):
        return None
    line = found.data[found.start : found.start + _LONGEST_PHRASE].split(b"\n", 1)[0]
    is_whole = len(line) < _LONGEST_PHRASE and is_passphrase(line.decode("latin-1"))
    return (found.start, found.start + len(line)) if is_whole else None


_BRACED = re.compile(rb"\{([^{}\s]{3,128})\}")


def _braced(found: _Assignment) -> Span | None:
    """A value in the braces of a connection string: `;user=sa;password={hunter2};`."""
    inside = _BRACED.match(found.data, found.start)
    if inside is None or found.data[max(0, found.name_start - 1) : found.name_start] != b";":
        return None
    value = inside[1].decode("latin-1")
    return inside.span(1) if is_odd(value) and is_literal_secret(value, found.kind) else None


def _is_listed(found: _Assignment) -> bool:
    """Whether the line has only a name, a gap and a value.

    Vaults and directories list them so.
    """
    gap = found.data[max(found.name_start, found.start - 2) : found.start]
    if gap != b"  " and gap[-1:] != b"\t" and not _may_be_listed(found.name):
        return False
    after = found.data[found.end : found.end + 80].split(b"\n", 1)[0]
    before = found.line_before().rstrip(b" \t")
    alone = before[-1:] in _QUOTES and after.strip()[:1] in _QUOTES
    return alone and is_listed_secret(found.value(), found.kind)


# Words that follow a flag in a sentence about it.
_ABOUT_FLAGS = words(
    """flag flags option options argument arguments parameter parameters switch instead and or is was are
    for with when if on in from as to by will via the an not but before after without can may must should
    does has have which that this then also only into include omit same-origin"""
)


def _flag_value(found: _Assignment) -> Span | None:
    """The word after a flag, `--password hunter2`, except in a manual."""
    value = found.value().rstrip(",;)]}")
    if (
        len(value) < 3
        or is_placeholder(value)
        or is_stand_in(value)
        or value.startswith(("-", "$", "(", "`"))
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


def _in_sentence(found: _Assignment, end: int) -> Span | None:
    """A value in a sentence, `the password is hunter2`. Words do not count."""
    value = found.value(end).rstrip(".!?:")
    shortest = 5 if found.kind is Kind.PASSWORD else 12
    if len(value) < shortest or value.isdigit() or is_placeholder(value) or "(" in value:
        return None
    if not is_odd(value) and disorder(value) < 1:
        return None
    joint = found.data[max(found.name_start, found.start - 4) : found.start]
    if joint in (b" to ", b" as ") and not _CHANGING.search(
        found.line_before() + found.data[found.name_start : found.start]
    ):
        return None  # `copy the password to server2`
    return found.start, found.start + len(value)


_CHANGING = re.compile(rb"(?i)\b(?:set|chang|reset|updat|rotat|us(?:e|ing)\b|choos|chose|pick)")


def _has_own_line(found: _Assignment, end: int) -> bool:
    """Whether name and value are written as in a settings file, not inside code."""
    data = found.data
    if (
        found.sign == b"="
        and found.kind is Kind.PASSWORD
        and data[end : end + 1] in (b"", b" ", b"\t", b"\n", b"&", b";", b'"', b"'")
    ):
        return True  # a connection string or a query; in code a comma or a bracket would follow
    before = found.line_before()
    alone = (
        not before.removeprefix(b"export ").strip(b" \t-+\"'")
        and not data[end : end + 80].split(b"\n", 1)[0].strip()
    )
    spaced = found.sign != b"=" and found.sign.strip() == b"="
    return (alone and not (spaced and before)) or found.joint in (TAG, PAIR)


def _is_element(found: _Assignment, end: int) -> bool:
    """Whether this is an XML element with a secret.

    For example `<password>…</password>` or `<property name="password">…`.
    """
    before = found.data[max(0, found.name_start - 1) : found.name_start]
    return before in (b"<", b'"', b"'") and found.data[end : end + 80].lstrip()[:2] == b"</"


# Where a value ends: at the next parameter of a query, the next command of a line, the next tag.
_LONG_STOPS = re.compile(rb"[<;]|&(?=&|[\w.%\[\]-]{1,40}=)")
_SHORT_STOPS = re.compile(rb"<")
_CODE_STOP = re.compile(rb"([^(),;]++)[),;]")  # `{token:null,line:4})`, `(token) => !token.redirect).map(`


def _cut(data: bytes, start: int, end: int, stops: re.Pattern[bytes]) -> int:
    found = stops.search(data, start, end)
    return found.start() if found else end


# Arguments of common calls, and parts of data source names.
_ARGUMENT = r"\s*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s,()\"']+)\s*,"
_LITERAL = r"\s*(?:\"([^\"\n]+)\"|'([^'\n]+)')"


def _set(data: bytes, found: Any) -> Span | None:
    """The argument of `setPassword("hunter2")`, unless it is a label or a message."""
    span = not_placeholder_or_word(data, found)
    if span is None:
        return None
    value = text_at(data, span)
    return span if (is_odd(value) or disorder(value) >= 1) and " " not in value else None


RULES: tuple[Rule, ...] = (
    Rule(
        "signing-argument",
        "generic",
        (
            *("createhmac(", "hmac.new(", "jwt.sign(", "jwt.encode(", "jwt.verify(", "jwt.decode("),
            *("createcipheriv(", "createdecipheriv(", "aes.new(", "fernet("),
        ),
        # The key comes second, except in Python's `hmac`.
        rf"(?i:\w+\.new\(|fernet\()\s*b(?:\"([^\"\n]+)\"|'([^'\n]+)')"
        rf"|(?i:[\w.]*(?:hmac|cipheriv|sign|encode|verify|decode)\((?:\s*\{{[^{{}}\n]{{0,120}}\}}\s*,|{_ARGUMENT}))\s*b?{_LITERAL}",
        must_match="crypto.createHmac('sha256', '{alnum:32}')",
        must_not_match="crypto.createHmac('sha256', 'your-secret')",
        check=_set,
    ),
    Rule(
        "login-pair-argument",
        "generic",
        ("auth = (", "auth: ("),
        rf"(?i:\w+ ?[=:] \(){_ARGUMENT}{_LITERAL}",
        must_match='auth = ("bob", "{alnum:10}")',
        must_not_match='auth = ("basic", "digest")',
        check=_set,
    ),
    Rule(
        "login-argument",
        "generic",
        (
            *("networkcredential(", "passwordauthentication(", "usernamepasswordcredentials("),
            *("httpbasicauth(", "httpdigestauth(", "basicauth(", "auth=("),
            *(".basic(", "access_token(", "accesstoken("),
        ),
        rf"(?i:\.?\w+(?: ?= ?)?\(){_ARGUMENT}{_LITERAL}",
        must_match='new NetworkCredential("me", "{alnum:10}")',
        must_not_match='new NetworkCredential("me", password)',
        check=not_placeholder_or_word,
    ),
    Rule(
        "login-call",
        "generic",
        (".login(", "setbasicauth(", "basic_auth(", "basic_auth ", "ftp_login("),
        rf"(?i:\.?\w+)[( ](?:\s*\$\w+,)?{_ARGUMENT}{_LITERAL}",
        must_match='smtp.login("me@example.com", "{alnum:10}")',
        must_not_match='smtp.login("me@example.com", "password")',
        word_start=False,
        check=_set,
    ),
    Rule(
        "connect-argument",
        "generic",
        (
            *("new pdo(", "sequelize(", "mysqli(", "mysqli_connect(", "mysql_connect(", "getconnection("),
            *("pymssql.connect(", "pymysql.connect(", "mysqldb.connect(", "pg_connect("),
        ),
        rf"(?i:[\w. ]+\(){_ARGUMENT}{_ARGUMENT}{_LITERAL}",
        must_match="new PDO('mysql:host=db;dbname=main', 'app', '{alnum:10}')",
        must_not_match="new PDO('mysql:host=db;dbname=main', 'app', $password)",
        check=not_placeholder_or_word,
    ),
    Rule(
        "password-setter",
        "generic",
        (
            *("setpassword(", "set_password(", "withpassword(", "setpassphrase(", "setsecret(", ".password("),
            *(
                "secretstr(",
                "secretbytes(",
                "_password(",
                "_passphrase(",
                "_secret(",
                "passphrase(",
                "passwd(",
            ),
        ),
        rf"(?i:\.?\w+\(){_LITERAL}\s*[.)]",
        must_match='source.setPassword("{alnum:10}");',
        must_not_match='form.setPassword("Password");',
        word_start=False,
        check=_set,
    ),
    Rule(
        "go-data-source",
        "generic",
        ("@tcp(", "@unix("),
        r"[\w.$-]{1,64}:([^\s:@\"'`/]{1,128})@(?:tcp|unix)\(",
        must_match="app:{alnum:10}@tcp(db:3306)/main",
        must_not_match="%s:%s@tcp(%s:3306)/main",
        before=200,
        check=not_placeholder_or_word,
    ),
    Rule(
        "oracle-login",
        "Oracle",
        ("jdbc:oracle:", "sqlplus ", "expdp ", "impdp ", "sqlldr ", "rman target "),
        r"(?:jdbc:oracle:\w+:|(?:sqlplus|expdp|impdp|sqlldr|rman target)[ \t]+(?:-\w+[ \t]+){0,4}[\"']?)"
        r"[A-Za-z][\w$#.]*/([^\s@/\"']+)(?:[@\"'\s]|\z)",
        must_match="sqlplus system/{alnum:10}@//db:1521/XE",
        must_not_match="sqlplus / as sysdba",
        check=not_placeholder_or_word,
    ),
    Rule(
        "named-secret",
        "generic",
        KEYWORDS,
        _REGEX,
        must_match="DB_PASSWORD={alnum:14}",
        must_not_match="password = get_password(user)",
        word_start=False,
        is_backtracking=True,
        is_local=True,
        admits=may_assign,
        check=_check,
    ),
)
