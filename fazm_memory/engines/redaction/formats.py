"""Built-in rules for standard formats and for the keys of providers.

The formats of providers are read from `providers.json`.

Standard formats are private keys, JWT, hashes, cards, URLs, headers and cookies.
"""

from __future__ import annotations

import binascii
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import re2

from fazm_memory.engines.redaction.classify import (
    disorder,
    is_disordered,
    is_odd,
    is_placeholder,
    not_placeholder,
    not_sham,
    not_stand_in,
    with_digit,
)
from fazm_memory.engines.redaction.rules import Rule, Span, has_digit, text_at

# Between two lines of a key: line ends, quotes and signs of string literals, and the prefixes that viewers
# and diffs add to each line (`12→`, `12\t`, `> `, `+`).
GAP = r"""(?:[\s"'+,>|#*\\]|\\[nrt]|\d{1,6}(?:\xff|\t|:|\|)|\.\.\.|\xff)"""
# Prefixes that grep adds to each line: `id_rsa:…`, `id_rsa:12:…`, `id_rsa-13-…`.
_FOUND_IN = r"(?:\n[\w./~-]{1,120}[:-](?:\d{1,6}[:-])?)?"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Key-Derivation|Subject):[^\n\\]*"
_CHUNK = r"[A-Za-z0-9+/=]{16,}"
# The last line may be short. Then it ends like base64 or has the line to itself.
_LAST = rf"(?:{GAP}*[A-Za-z0-9+/]{{1,15}}(?:={{1,2}}|(?m:$)))?"
_REST = rf"(?:{GAP}*{_CHUNK})*{_LAST}"
_BODY = (
    rf"(?:{GAP}*?{_FOUND_IN}(?:{_HEADER}{GAP}+)*{_CHUNK})(?:{GAP}*?{_FOUND_IN}(?:{_HEADER}|{_CHUNK}))*{_LAST}"
)
# The first base64 characters of private keys in DER (RSA in PKCS#1 and PKCS#8, EC, Ed25519) and OpenSSH.
_DER = (
    r"(?:MII[A-Za-z0-9+/]{2,3}[AQgw]?IBA(?:D|AK)"
    r"|MHcCAQEE|MC4CAQAwBQYD|MFECAQE|MIG[TH]AgEAMBMG|b3BlbnNzaC1rZXktdj)"
)

# The first digits and the lengths of the card schemes.
_CARD_SCHEMES = (
    (("4",), (13, 16, 19)),
    (tuple(str(start) for start in (*range(51, 56), *range(2221, 2721), *range(3528, 3590))), (16,)),
    (("34", "37"), (15,)),
    (("6011", "65", *(str(start) for start in range(644, 650))), (16, 19)),
    (("36", "38", "39", *(str(start) for start in range(300, 306))), (14,)),
    (("62",), (16, 17, 18, 19)),
)


def is_card_number(number: str) -> bool:
    """Whether these digits are the number of a payment card.

    They have the start and length of a card scheme and pass the Luhn check.
    """
    if not any(len(number) in lengths and number.startswith(starts) for starts, lengths in _CARD_SCHEMES):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _card(data: bytes, found: Any) -> Span | None:
    start, end = found.span(1)
    before, after = data[max(0, start - 1) : start], data[end : end + 2]
    if (
        before.isalnum()
        or before in (b".", b"-", b"_", b"/")
        or after[:1].isalnum()
        or after[:1] in (b"_", b"-")
    ):
        return None  # part of a longer id, a number or a name
    if after[:1] == b"." and after[1:].isdigit():
        return None
    digits = data[start:end].decode("latin-1").replace(" ", "").replace("-", "")
    return (start, end) if is_card_number(digits) else None


def _jwt(data: bytes, found: Any) -> Span | None:
    start, end = found.span()
    return (start, end) if b".eyJ" in data[start:end] or end - start > 100 else None


_AUTH_SCHEMES = (
    r"basic|bearer|token|digest|negotiate|apikey|api-key|key|hmac|ntlm|ssws|aws4-hmac-sha256|oauth|jwt"
)

_ATTRIBUTE = r"(?:\"([^\"<>]+)\"|'([^'<>]+)')"
# `Digest username="me", response="…"`
_PARAMETER = r"[\w-]+=(?:\"[^\"\n]*\"|[^\s\"'`,]+)"


def _opaque(data: bytes, found: Any) -> Span | None:
    """Whether a value has a digit, or a capital after its first letter.

    Words in a sentence about tokens have neither.
    """
    span = not_placeholder(data, found)
    if span is None:
        return None
    value = data[slice(*span)]
    disordered = len(value) >= 20 and value != value.lower() and value[1:] != value[1:].lower()
    return span if disordered or has_digit(value) else None


def _mixed(data: bytes, found: Any) -> Span | None:
    """Base64 has lower-case letters. The names of login methods do not."""
    value = data[slice(*found.span(1))]
    return found.span(1) if value != value.upper() and (value[-1:] == b"=" or has_digit(value)) else None


def _parameter(data: bytes, found: Any) -> Span | None:
    """Not the words of a title: `?session=introduction-to-postgres-2024`."""
    span = not_placeholder(data, found)
    return span if span and is_disordered(text_at(data, span)) else None


_PEERS = (b"\n", b"\t", b'"', b"'", b">", b"C: ", b"S: ", b"< ", b"> ")
_FILE = re.compile(r".*/.*|.*\.[a-z]{1,4}")


def _logged_in(data: bytes, found: Any) -> Span | None:
    """A login in a protocol trace, where each line is what one side sent.

    Not a file or a test name.
    """
    before = data[max(0, found.start() - 3) : found.start()]
    span = not_placeholder(data, found)
    if span is None or (before and not before.endswith(_PEERS)):
        return None
    value = text_at(data, span)
    return None if _FILE.fullmatch(value) or not is_odd(value) else span


def _database(data: bytes, found: Any) -> Span | None:
    """A password with a slash in it, unless it is a port and a path."""
    return None if data[slice(*found.span(1))].split(b"/")[0].isdigit() else not_placeholder(data, found)


_ESCAPE = re.compile(rb"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})")


def _header(data: bytes, found: Any) -> Span | None:
    """A credential has digits or is long. Words of a program or a sentence are not."""
    start, end = found.span(1)
    while end > start and data[end - 1] in b",;)]}\\":
        end -= 1
    value = data[start:end].decode("latin-1")
    if is_placeholder(value) or value.startswith(("{", "$", "<", "(", "[", "%")) or "(" in value:
        return None
    if data[found.start() : start].rstrip(b" \t\n\"'`").endswith(b",") and disorder(value) < 0:
        return None  # the next name in a list: `{"authorization", "x-amz-security-token"}`
    return (
        (start, end)
        if has_digit(_ESCAPE.sub(b"", data[start:end])) or len(value) >= 20 or value.endswith("=")
        else None
    )


def _basic(data: bytes, found: Any) -> Span | None:
    """`user:password` in base64, not a word that follows "basic"."""
    start, end = found.span(1)
    value = data[start:end].rstrip(b"=")
    decoded = binascii.a2b_base64(value[: len(value) - (len(value) % 4 == 1)] + b"==")
    likely = value != data[start:end] or (has_digit(value) and value != value.lower())
    return (start, end) if likely or (b":" in decoded and decoded.isascii()) else None


# Attributes of Set-Cookie. They are not secret and stay readable.
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
    while pieces and pieces[-1].split(b"=")[0].strip().lower() in _ATTRIBUTES:
        pieces.pop()
    values = [piece.split(b"=", 1)[-1].decode("latin-1") for piece in pieces]
    return None if all(is_placeholder(value) for value in values) else (start, start + len(b";".join(pieces)))


_NAMED_HEADER = re.compile(rb"(?i:authorization)[\"']?\]?\s{0,3}[:=,]")
_USER = re.compile(rb"://[^\s/?#@\"'<>`\\]{0,512}+@")
_SCHEME = re.compile(rb"(?i:bearer)[ :=+]{1,40}[\"']?[A-Za-z0-9._~+/-]{12}")


def _is_header(data: bytes, position: int) -> bool:
    """Whether a value may follow the word. In programs it mostly is a part of a name."""
    return _NAMED_HEADER.match(data, position) is not None


def _has_user(data: bytes, position: int) -> bool:
    """Whether the host of this address has a user before it. Most have none."""
    return _USER.match(data, position) is not None


def _is_scheme(data: bytes, position: int) -> bool:
    return _SCHEME.match(data, position) is not None


RULES: tuple[Rule, ...] = (
    Rule(
        "pem-private-key",
        "generic",
        ("-----begin", "---- begin"),
        rf"-----? ?BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)? ?-----?"
        rf"{_BODY}(?:{GAP}*-----? ?END[A-Z0-9 ]{{0,48}}-----?)?",
        must_match="-----BEGIN RSA PRIVATE " + "KEY-----\n{alnum:64}\n{alnum:40}=\n",
        must_not_match="-----BEGIN CERTIFICATE-----\n{alnum:64}\n-----END CERTIFICATE-----",
        word_start=False,
    ),
    Rule(
        "pem-private-key-end",
        "generic",
        ("-----end", "---- end"),
        rf"({_CHUNK}(?:{GAP}*[A-Za-z0-9+/=]+)*){GAP}*-----? ?END [A-Z0-9 ]{{0,40}}PRIVATE KEY",
        must_match="{alnum:64}\n{alnum:40}=\n-----END PRIVATE " + "KEY-----",
        must_not_match="{alnum:64}\n-----END CERTIFICATE-----",
        before=16_384,
        begins_after=b"-----",
        requires=b"PRIVATE KEY",
        word_start=False,
    ),
    Rule(
        "private-key-body",
        "generic",
        ("mii", "mhccaqee", "mc4caqawbqyd", "mfecaqe", "migtageambmg", "mighageambmg", "b3blbnnzac1rzxktdj"),
        rf"{_DER}[A-Za-z0-9+/]{{16,}}{_REST}",
        must_match="MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC{alnum:64}\n{alnum:64}",
        must_not_match="MIIDXTCCAkWgAwIBAgIJAJC1HiIAZAiIMA0GCSqGSIb3DQEBCwUAMEUx",
    ),
    Rule(
        "putty-private-key",
        "generic",
        ("private-lines:",),
        rf"(?i:Private-Lines: *\d+){GAP}+({_CHUNK}{_REST})",
        must_match="Private-Lines: 2\n{alnum:64}\n{alnum:44}",
        must_not_match="Private-Lines: 2\n",
    ),
    Rule(
        "jwk-private-key",
        "generic",
        ('"d"', '"k"', '"p"', '"q"', '"dp"', '"dq"', '"qi"'),
        r"\"(?:d|k|p|q|dp|dq|qi)\"\s{0,4}:\s{0,4}\"([\w-]{40,})\"",
        must_match='{"kty": "EC", "d": "{alnum:43}"}',
        must_not_match='{"d": "2024-01-01"}',
        word_start=False,
    ),
    Rule(
        "saml-response",
        "generic",
        ("samlresponse",),
        r"(?i:SAMLResponse)[\"']?\s{0,3}(?:[=:]|value=)\s{0,3}[\"']?([A-Za-z0-9+/%=_-]{80,})",
        must_match="SAMLResponse=PHNhbWxw{alnum:120}",
        must_not_match="SAMLResponse={response}",
    ),
    Rule(
        "jwt",
        "generic",
        ("eyj",),
        r"eyJ[\w-]{10,}(?:\.[\w-]{4,}){1,4}",
        must_match="eyJ{alnum:33}.eyJ{alnum:60}.{alnum:43}",
        must_not_match="eyJust.a.word",
        check=_jwt,
    ),
    Rule(
        "password-hash",
        "generic",
        (
            *("$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$7$"),
            *("$argon2", "$scrypt$", "$apr1$", "pbkdf2_sha", "pbkdf2-sha", "pbkdf2:sha", "scrypt:32768:"),
            *("$p$", "$h$", "{ssha", "{sha", "{smd5}", "{crypt}", "$krb5"),
        ),
        r"(?:\$(?:2[aby]|1|5|6|y|7|P|H|apr1|scrypt|argon2(?:id?|d))\$|pbkdf2[_-]sha\d+\$"
        r"|pbkdf2:sha\d+:\d+\$|scrypt:32768:\d+:\d+\$|\$krb5[a-z]+\$\d+\$[^\s\"']{0,160}?[*:$]"
        r"|\{(?:SSHA|SHA|SMD5|CRYPT)\d{0,3}\})[\w./$=,+-]{20,}",
        must_match="$2b$12${alnum:53}",
        must_not_match="$1$2",
        word_start=False,
    ),
    Rule(
        "seed-phrase",
        "generic",
        ("mnemonic", "seed phrase", "seed_phrase", "recovery phrase", "seedphrase"),
        r"(?i:mnemonic|seed[ _]?phrase|recovery[ _]phrase)[\"']?\s{0,3}(?:is)?[:=]?\s{0,3}[\"']?"
        r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})",
        must_match="mnemonic: " + " ".join(["river", "amount", "zebra"] * 4),
        must_not_match="mnemonic: an easy way to remember",
    ),
    Rule(
        "card-number",
        "generic",
        (),
        r"(?:^|[^\w.])"
        r"(\d{4}(?: \d{4}){3}|\d{4}(?:-\d{4}){3}|\d{4} \d{6} \d{4,5}|\d{4}-\d{6}-\d{4,5}|\d{13,19})",
        must_match="4" + "000 1234 5678 9017",
        must_not_match="1234 5678 9012 3456",
        check=_card,
    ),
    Rule(
        "url-credentials",
        "generic",
        ("://",),
        r"://[^\s/?#:@\"'<>`\\]*:([^\s/?#@\"'<>`]+(?:@[^\s/?#@\"'<>`]+)*)@[A-Za-z0-9.\[_%$<{\xff-]",
        must_match="postgres://app:{alnum:12}@db.example.com/main",
        must_not_match="https://example.com:8080/path?mail=a@b.example",
        word_start=False,
        admits=_has_user,
        check=not_stand_in,
    ),
    Rule(
        "url-token",
        "generic",
        ("://",),
        r"://([A-Za-z0-9_\-]{16,})@[A-Za-z0-9]",
        must_match="https://{alnum:32}@git.example.com/a/b.git",
        must_not_match="https://someone@git.example.com/a/b.git",
        word_start=False,
        admits=_has_user,
        check=_opaque,
    ),
    Rule(
        "database-url",
        "generic",
        ("postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "mssql", "clickhouse", "cockroachdb"),
        r"[a-z0-9+]{3,20}://[^\s:@/\"'<>]*:([^\s\"'<>@]*[/?#][^\s\"'<>@]*)@[A-Za-z0-9.\[_-]+(?:[:/]|\s|\z)",
        must_match="postgres://app:" + "ab/cd#{alnum:6}@db.example.com/main",
        must_not_match="postgres://db.example.com:5432/main",
        requires=b"@",
        check=_database,
    ),
    Rule(
        "authorization-header",
        "generic",
        ("authorization",),
        rf"(?i:authorization)[\"']?\]?\s{{0,3}}[:=,]\s{{0,3}}[\"'`]?"
        rf"(?:(?i:{_AUTH_SCHEMES})[ :]+|[A-Za-z][A-Za-z-]{{2,23}} )?"
        rf"({_PARAMETER}(?:,[ \t]*{_PARAMETER})+|[^\s\"'`]{{4,}}(?:[ ,]+[\w-]+=[^\s\"'`]+)*)",
        must_match="Authorization: Basic {alnum:20}==",
        must_not_match='headers = {"Authorization": f"Bearer {token}"}',
        word_start=False,
        admits=_is_header,
        check=_header,
    ),
    Rule(
        "bearer-token",
        "generic",
        ("bearer",),
        r"(?i:bearer)[ :=+]+[\"']?([A-Za-z0-9._~+/\-]{12,}={0,2})",
        must_match="curl -H 'X-Auth: Bearer {alnum:32}'",
        must_not_match="the bearer authentication scheme",
        admits=_is_scheme,
        check=_opaque,
    ),
    Rule(
        "basic-auth",
        "generic",
        ("basic ",),
        r"(?i:basic) +([A-Za-z0-9+/]{12,}={0,2})",
        must_match="Basic {alnum:19}=",
        must_not_match="basic understanding",
        check=_basic,
    ),
    Rule(
        "auth-header",
        "generic",
        ("-auth:", '-auth":', "-auth':", '-auth", ', "-auth', "),
        r"-(?i:auth)[\"']?[:,] ?[\"'`]?([\w.~+/=-]{16,})",
        must_match="X-Acme-Auth: {uuid}",
        must_not_match="X-Acme-Auth: required-for-all-requests",
        word_start=False,
        check=with_digit,
    ),
    Rule(
        "cookie",
        "generic",
        ("cookie:", 'cookie":', "cookie':", "cookie=", "cookie ="),
        r"(?i:cookie)[\"']? ?[:=] ?[\"'`\[]?"
        r"([\w!#$%&*+.^|~-]+=[^\s;\"'`]+(?:; ?[^\s=;\"'`]+(?:=[^;\n\"'`]*)?)*)",
        must_match="Cookie: sid={alnum:24}; theme=dark",
        must_not_match="cookie: none",
        word_start=False,
        check=_cookie,
    ),
    Rule(
        "password-field",
        "generic",
        ("<input",),
        rf"(?i)<input\s(?:[^<>]{{0,400}}?type=[\"']?password[\"']?\s[^<>]{{0,400}}?value={_ATTRIBUTE}"
        rf"|[^<>]{{0,400}}?value={_ATTRIBUTE}[^<>]{{0,400}}?type=[\"']?password\b)",
        must_match='<input name="pw" type="password" value="{alnum:10}">',
        must_not_match='<input type="password" name="pw" value="">',
        requires=b"assword",
        word_start=False,
        check=not_placeholder,
    ),
    Rule(
        "cookie-jar",
        "generic",
        ("\ttrue\t", "\tfalse\t"),
        r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\t\n]+)",
        must_match=".example.com\tTRUE\t/\tTRUE\t1893456000\tsid\t{alnum:24}",
        must_not_match="name\tTRUE\tFALSE\t1",
        word_start=False,
    ),
    Rule(
        "netrc",
        "generic",
        ("machine ", "machine\t", "machine\n", "default login"),
        rf"(?:machine\s+\S+|default){GAP}+(?:login|user)\s+\S+{GAP}+(?:account\s+\S+{GAP}+)?"
        r"password\s+(\"[^\"\n]*\"|\S+)",
        must_match="machine api.example.com\n  login me\n  password {alnum:12}",
        must_not_match="machine learning login form",
        check=not_placeholder,
    ),
    Rule(
        "mail-login",
        "generic",
        ("auth plain ", "auth login ", "auth xoauth2 "),
        r"AUTH (?:PLAIN|LOGIN|XOAUTH2) ([A-Za-z0-9+/]{8,}={0,2})",
        must_match="AUTH PLAIN {alnum:23}=",
        must_not_match="250-AUTH PLAIN LOGIN OAUTHBEARER",
        check=_mixed,
    ),
    Rule(
        "mailbox-login",
        "generic",
        (" login ",),
        r"[A-Za-z]{1,4}\d{1,5} LOGIN [\"']?[^\s\"']+[\"']? [\"']?([^\s\"'=<]+)(?:[\"'<\r\n]|\z)",
        must_match="C: a1 LOGIN me {alnum:10}",
        must_not_match="a1 LOGIN me <password>",
        before=9,
        check=_logged_in,
    ),
    Rule(
        "session-login",
        "generic",
        ("331 ", "331-", "+ok"),
        r"(?:331[ -][^\n]{0,160}?(?i:passw|user|login)|\+OK)[^\n]{0,160}\n"
        r"[^\nA-Za-z]{0,12}(?:C: )?PASS[ \t]+([^\s\"'<]+)",
        must_match="S: 331 Please specify the password.\nC: PASS {alnum:10}",
        must_not_match="+OK\nPASS <password>",
        requires=b"PASS",
        check=_logged_in,
    ),
    Rule(
        "address-parameter",
        "generic",
        tuple(f"{sign}{name}=" for sign in "?&" for name in ("code", "auth", "sid", "session", "ticket")),
        r"[?&](?i:code|auth|sid|session|ticket)=([\w.~/%+-]{20,})",
        must_match="https://app.example.com/callback?code={alnum:40}&state=x",
        must_not_match="https://app.example.com/errors?code=missing_required_parameter_1",
        check=_parameter,
    ),
    Rule(
        "pgpass",
        "generic",
        (":5432:", ":5433:", ":6432:", ":*:*:"),
        r":(?:\d{4}|\*):[^:\s]+:[^:\s]+:([^\s:]+)",
        must_match="db.example.com:5432:main:app:{alnum:12}",
        must_not_match="db.example.com:5432:main",
        word_start=False,
        check=not_placeholder,
    ),
)


# -- key formats of providers ----------------------------------------------------------------------------

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# Between the name of a provider and the value: a word for a secret and a sign that assigns it. Digests and
# ids follow such names too, without that word.
_NEAR = (
    r"(?i:[\w.\- ]{0,24}?(?:key|token|secret|passw|auth|cred|api|pat|dsn|licen[cs]e)[\w\-]{0,16})"
    r"[\"'\])]{0,3}\s{0,4}(?:=>|:=|[=:,>]|\s)\s{0,4}(?i:bearer\s+)?[\"'`]?"
)
_SETS = re.compile(r"\[([^\]]+)\]")


def provider_rules() -> list[Rule]:
    """One rule per entry, in the order of the file."""
    sections = json.loads(Path(__file__).with_name("providers.json").read_bytes())
    return [_rule(entry) for entries in sections.values() for entry in entries]


def _rule(entry: dict[str, Any]) -> Rule:
    entry["pattern"] = entry["pattern"].replace("{uuid}", _UUID)
    if prefixes := entry.pop("prefixes", None):
        entry["pattern"] = f"(?:{_any_of(prefixes)})(?:{entry['pattern']})"
        return Rule(keywords=_lower(prefixes), check=not_sham, is_local=True, **entry)
    if names := entry.pop("near", None):
        entry["pattern"] = rf"(?i:{_any_of(names)}){_NEAR}({entry['pattern']})(?:[^\w\-]|\z)"
        # An identifier may have the alphabet of a key, but seldom a digit.
        return Rule(keywords=_lower(names), check=with_digit, is_local=True, **entry)
    entry["keywords"] = tuple(keyword for each in entry["keywords"] for keyword in _expanded(each))
    entry["requires"] = entry.get("requires", "").encode()
    return Rule(check=not_sham, is_local=True, **entry)


def _any_of(texts: list[str]) -> str:
    return "|".join(re2.escape(text) for text in texts)


def _lower(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.lower() for text in texts))


def _expanded(keyword: str) -> list[str]:
    """`sk[ab]` stands for `ska` and `skb`."""
    if "[" not in keyword:
        return [keyword]
    pieces = _SETS.split(keyword)  # text and sets in turn
    return ["".join(chosen) for chosen in product(*([p] if i % 2 == 0 else p for i, p in enumerate(pieces)))]
