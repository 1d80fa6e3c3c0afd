"""Classify names and values.

Does a name such as `DB_PASSWORD`, `apiKey` or `Set-Cookie` hold a secret? Is the value beside it a secret, or
a reference, a placeholder, a type or a piece of a program? Is a value random, or made of words and numbers?
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import Any

import ahocorasick_rs

from fazm_memory.engines.redaction.rules import Span, first_group, has_digit, text_at


class Kind(IntEnum):
    """What a name holds, by rising certainty.

    A token may also be a word that a parser read.
    """

    NONE = 0
    TOKEN = 1
    KEY = 2
    PASSWORD = 3


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The start of a redaction marker. The name in it is that of a rule, not of a value.
MARKER = "[REDACTED:"

# The patterns here match only names and values, which are short. So backtracking is bounded.
_LONGEST_NAME = 128
# The beginning of a value is enough to judge it.
_LONGEST_VALUE = 512
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_PASSWORDS = words(
    """pwd pw pass mdp psk cvv cvc cvv2 otp mnemonic kennwort contrasena senha wachtwoord losenord salasana
    adgangskode passord jelszo bindpw rootpw"""
)
# Words before "pass" that make it a round of work: `two-pass`, `re-pass`.
_OTHER_PASSES = words(
    "re by first second next last final single one two three multi render optimizer compiler"
)
_PASSWORD_ENDINGS = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "passw"),
    *("userpass", "dbpass", "storepass", "keypass", "requirepass", "motdepasse"),
)
_HEADERS = words("authorization cookie cookies credential")
_SECRET_ENDINGS = ("secret", "secrets")
_TOKEN_ENDINGS = ("token", "jwt")
_KEY_ENDINGS = (
    *("apikey", "secretkey", "privatekey", "accesskey", "authkey"),
    *("accountkey", "signingkey", "encryptionkey", "presharedkey", "validationkey"),
)
KEY_QUALIFIERS = words(
    """access account admin api app application auth client consumer decryption deploy encryption hmac jwt
    license licence master preshared private secret service shared signature signing subscription validation
    webhook"""
)
# Words that may follow the name of a secret.
_TRAILING = words(
    """prod production dev development stage staging test live old new current default value plain
    plaintext text raw string str base b64 base64 hex enc encoded primary secondary backup root v sandbox
    bytes data env confirmation confirm result"""
)
# Words before "token" that make it a token of parsing or paging.
_HARMLESS_TOKENS = words(
    """next page continuation sync cursor cancel cancellation bos eos pad unk sep cls mask stop start end
    first last current prev previous special max min per the input output prompt completion this each no
    one parse lexer peek lookahead image field design unexpected expected invalid begin open close string
    word"""
)


# PGPASS, smtppass. `bypass` and `compass` are words.
_ABBREVIATED = re.compile(
    "(?:(?:my|ms)?sql|pg|ftp|smtp|imap|pop3?|mail|email|redis|mongo|ldap|admin|root|auth|login|ssh|vpn|wifi|proxy"
    "|http|svn|git|jdbc|ora|rds|app|usr|mq|amqp|smb|cert|p12|pfx|zip)pass"
)


@lru_cache(maxsize=4096)
def kind_of(name: str) -> Kind:
    """The kind of secret that a variable, field, header or flag of this name holds."""
    if len(name) > _LONGEST_NAME or MARKER in name:
        return Kind.NONE
    parts = [word.lower() for word in _WORDS.findall(name)]
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _TRAILING):
        parts.pop()
    if not parts:
        return Kind.NONE
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last in ("passwords", "passphrases", "credentials", "apikeys"):
        last = last[:-1]
    if last == "pass" and before in _OTHER_PASSES:
        return Kind.NONE
    if last.endswith(_PASSWORD_ENDINGS) or last in _PASSWORDS or _ABBREVIATED.fullmatch(last):
        return Kind.NONE if before in ("no", "reset", "forgot", "without") else Kind.PASSWORD
    if last == "phrase" and before in ("pass", "seed", "recovery"):
        return Kind.PASSWORD
    if (last in ("word", "code") and before == "pass") or parts[-3:] == ["mot", "de", "passe"]:
        return Kind.PASSWORD  # passWord, mot_de_passe
    if last in _HEADERS or last.endswith((*_SECRET_ENDINGS, *_KEY_ENDINGS)):
        return Kind.NONE if before == "existing" else Kind.KEY  # `existingSecret` names another object
    if last.endswith(_TOKEN_ENDINGS):
        if before in _HARMLESS_TOKENS:
            return Kind.NONE
        return Kind.TOKEN if last == "token" and not before else Kind.KEY
    return Kind.KEY if last == "key" and before in KEY_QUALIFIERS else Kind.NONE


_REFERENCE = re.compile(
    r"\$\{.*|\$\(.*|!\w+|\$[A-Za-z_]\w*|%\w+%|\{\{.*|\{[^{}]*\}|#\{.*|<[^<>]*>|\[[\w .-]*\]|@\w+|:\w+|\?+"
    r"|(?:secrets|env|vars|process\.env|os\.environ|os\.getenv|import\.meta\.env|ENV|System\.getenv)[.(\[].*"
    r"|(?:op|vault|sm|ssm|keyring|keychain|secretref)://?.*|arn:aws:.*"
    r"|[*xX.:•_\-+=#~\xff …]+"
    # Only the form: `sk-...`, `sk-...c3d4`, `sk-ant-...`, `AIza...`.
    r"|(?:[A-Za-z0-9]{1,10}[-_]){1,3}(?:\.{2,}\w{0,8}|\*+|\xff+)|[A-Za-z]{2,4}(?:\.{3}\w{0,8}|\xff)"
    r"|(?:required|nullable|sometimes|string|bail)(?:\|[a-z_]+(?::[\w,.]+)?)+",  # how a form is validated
    re.DOTALL,
)
_SLOT = re.compile(r"%[sdr]|%\(\w+\)s|\$?\{[\w.!:]*\}|\$\w+|<\w+>")
_NOTHING = words("none null nil true false undefined n/a")


def is_placeholder(value: str) -> bool:
    """Whether this is a reference or a placeholder.

    For example `${TOKEN}`, `<password>`, `****` or `%s:%s`.
    """
    value = value[:_LONGEST_VALUE].strip()
    if value.isalnum() and value.isascii():
        return value.lower() in _NOTHING or not value.strip("xX")
    if not value or value.lower() in _NOTHING or _REFERENCE.fullmatch(value):
        return True
    return _SLOT.search(value) is not None and not any(
        character.isalnum() for character in _SLOT.sub("", value)
    )


_ASCENDING = "0123456789abcdefghijklmnopqrstuvwxyz0123456789"
_RUNS = ahocorasick_rs.AhoCorasick(
    list(dict.fromkeys(_ASCENDING[start : start + 8] for start in range(len(_ASCENDING) - 7)))
)
_SHAM_WORDS = ahocorasick_rs.AhoCorasick(
    sorted(
        words(
            """example placeholder your- your_ dummy changeme change-me change_me redacted replace- replace_
            deadbeef xxxx ****"""
        )
    )
)
_SHAM_PARTS = re.compile(r"(?:^|[-_])(?:fake|todo|insert|sample)(?:[-_]|$)")
_REPEATED = re.compile(r"([^Aa])\1{5,}")
_LONGEST_SHAM = 128
_SHORTEST_REST = 16


def is_sham(value: str) -> bool:
    """Whether a value only shows the form of a key: `xxxx`, `123456789`, EXAMPLE."""
    value = value[:_LONGEST_SHAM]
    lower = value.lower()
    if len(set(lower)) < min(8, len(lower) // 2):
        return True
    if _SHAM_WORDS.find_matches_as_indexes(lower) or _SHAM_PARTS.search(lower):
        return True
    if not (runs := _RUNS.find_matches_as_indexes(lower, overlapping=True)) and not _REPEATED.search(value):
        return False
    # Digits in order may be the id in a key: `xoxb-123456789012-…`. The rest decides.
    for _, start, end in reversed(runs):
        value = value[:start] + value[end:] if end <= len(value) else value[:start]
    rest = _REPEATED.sub("", value)
    return len(rest) < _SHORTEST_REST or disorder(rest) < 1


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://.*|(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w .@+-]+(?:[/\\][\w .@+-]+)+")


def is_address(value: str) -> bool:
    """Whether this is a URL or a path. Another rule finds a password inside a URL."""
    value = value[:_LONGEST_VALUE]
    return not value.isalnum() and _ADDRESS.fullmatch(value) is not None


# Values that follow such names in programs, schemas and messages.
_NOT_VALUES = words(
    """yes no on off str string int integer number float bool boolean bytes object any unknown required
    optional default disabled enabled self this value values todo tbd na empty missing invalid incorrect
    expired hidden redacted masked found set unset ok valid wrong accepted prompt char varchar text
    pass password passwd secret token key username user your example changeme placeholder type types array
    &mut &str &dyn &self list dict map basic bearer oauth oauth2 jwt header query cookie http https apikey
    api_key credentials include omit same-origin ask read write always never auto manual generated
    inherit random dynamic function async await new return lambda not and or is in if else for with from
    import"""
)


def is_word(value: str) -> bool:
    """Whether this is a word that programs and schemas use in place of a value.

    For example `string`, `string?` or `REQUIRED.`
    """
    return value.lower().rstrip("?.!") in _NOT_VALUES


_SCHEMA = re.compile(
    r"(?i:str|string|text|int|integer|number|bytes|binary|bool|boolean|any|object|required)[?!.]"
)
_SENSITIVE_WORD = re.compile(r"pass|pwd|secret|token|key|auth|cred|cookie", re.IGNORECASE)
_LABEL = re.compile(
    r"(?i)(?:(?:enter|your|current|new|confirm|old|repeat|the|my)[ _-]?)*"
    r"pass(?:word|wd|code|phrase|wort)s?[:?*]?"
)
_WORDY = re.compile(r"[A-Za-z_ .:*?-]+")
_SAMPLE = re.compile(
    r"(?i)(?:^|[-_ ])(?:your|my|the|some|example|sample|dummy|insert|replace|placeholder)(?:[-_ ]|$)"
)
_SHORT_NUMBER = re.compile(
    r"0x[0-9A-Fa-f]{1,4}|[\^~<>=v]{0,2}\d+(?:\.\d+){1,3}(?:-[a-z]+[.\d]*)?"
)  # or a version
_PATTERN = re.compile(r"\.[*+]|\\[dDsSwW]|\[\^[^\]]*\][*+]|\(\?:")  # an expression that finds passwords
_NO_TOKEN = re.compile(r"[\\\[\]{}<>?]")
_PROSE_WORD = re.compile(r"[A-Za-z][a-z'-]*[.,:;!?]?")


_SIGNS = re.compile(r"[^\w\s]")
_EXPRESSION = re.compile(r"\\|\w-\w\]|\(\?|[)\]][*+?]|\{\d|\w\(\)|<\w+>")
_BYTE = re.compile(r"\\x[0-9a-f]{2}")
_FILLED = re.compile(r"\{\w*\}")
_LEAST_SIGNS, _SIGNS_OF_TEMPLATES = 6, 8


def _is_generated(value: str) -> bool:
    """Whether a generator of passwords made this, `k}|3Xm~qT9z(Lp&v`.

    No regular expression or template.
    """
    signs = set(_SIGNS.findall(value))
    least = _SIGNS_OF_TEMPLATES if _FILLED.search(value) else _LEAST_SIGNS
    if len(value) >= 10 and _BYTE.search(value) and "[" not in value:
        return True
    return len(value) >= 16 and len(signs) >= least and not _EXPRESSION.search(value)


def is_literal_secret(value: str, kind: Kind) -> bool:
    """Whether a value in quotes is a secret."""
    value = value[:_LONGEST_VALUE]
    if is_placeholder(value) or is_address(value) or _LABEL.fullmatch(value) or len(value) < 3:
        return False
    if _PATTERN.search(value):
        return False
    if len(value.split()) > 1:
        return kind is Kind.PASSWORD and (is_passphrase(value) or _is_two_words(value))
    if kind is Kind.PASSWORD:
        return not is_stand_in(value) and not _SCHEMA.fullmatch(value)
    if is_word(value) or is_sham(value) or is_stand_in(value):
        return False
    if _NO_TOKEN.search(value):
        return _is_generated(value)  # else an expression with signs that tokens do not have
    if _SHORT_NUMBER.fullmatch(value):
        return False
    if _WORDY.fullmatch(value) and (_SENSITIVE_WORD.search(value) or _SAMPLE.search(value)):
        return False  # the name of a field: "access_token"
    if kind is Kind.KEY or (len(value) >= 8 and (_has_digit(value) or len(value) >= 20)):
        return True
    return len(value) >= 12 and disorder(value) >= 0.8


_STAND_INS = words(
    """test tests testing example sample dummy fake foo bar baz foobar changeme changeit change-me change_me
    placeholder password passwd pass pwd secret mysecret mypassword my-password my_password yourpassword
    your-password string text value none null todo tbd xxx abc guest anonymous key apikey token hidden
    testpass anonymous@ db-secret not-needed not_needed notneeded unused"""
)


def is_stand_in(value: str) -> bool:
    """Whether this stands for a password in a manual or a test.

    For example `changeme` or `password123`.
    """
    return value.lower().strip("!0123456789") in _STAND_INS or (
        _SAMPLE.search(value) is not None and not _has_digit(value)
    )


def _is_two_words(value: str) -> bool:
    """Whether this is a password of two random words, `Xk29f bQ81m`, and not a label."""
    parts = value.split()
    return len(parts) <= 3 and all(is_odd(part) and len(part) >= 4 and part.isascii() for part in parts)


def is_field_secret(value: str, kind: Kind) -> bool:
    """Whether the value of a JSON field is a secret.

    Not code, so a secret unless clearly something else.
    """
    value = value[:_LONGEST_VALUE]
    if is_placeholder(value) or is_address(value):
        return False
    parts = value.split()
    if len(parts) > 2 and all(_PROSE_WORD.fullmatch(part) for part in parts):
        return kind is Kind.PASSWORD and is_passphrase(value)
    if kind is Kind.PASSWORD:
        return value.lower().rstrip("?!.") not in ("string", "required", "optional") and not (
            len(parts) > 1 and _LABEL.fullmatch(value)
        )
    if is_word(value):
        return False
    return kind is Kind.KEY or (len(parts) == 1 and not (value.isalpha() and len(value) < 8))


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_PARTS = re.compile(r"[A-Za-z0-9]+")
_DOTTED = re.compile(r"[\w.]+")
_CODE = re.compile(
    r"!{0,2}[A-Za-z_$][\w.$]*[(\[{].*|!{0,2}[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+|!!\w+|.*=>.*|.*[({\[]",
    re.DOTALL,
)


def is_bare_secret(value: str, kind: Kind, *, own_line: bool) -> bool:
    """Whether a value without quotes is a secret.

    It may also be an identifier in a program.
    """
    value = value[:_LONGEST_VALUE]
    if is_word(value) or not is_literal_secret(value, kind):
        return False
    if kind is not Kind.PASSWORD and _NO_TOKEN.search(value):
        return False
    if kind is Kind.PASSWORD and _is_invented(value, own_line=own_line):
        return True
    if _CODE.fullmatch(value) and not (_DOTTED.fullmatch(value) and is_disordered(value)):
        return False
    if value.isdigit():
        return len(value) >= 6
    if not _IDENTIFIER.fullmatch(value):
        # Two joined words, and more words on the line: `api_key: User-provided key`.
        is_prose = not own_line and kind is not Kind.PASSWORD and value.replace("-", "").isalpha()
        return len(value) >= 4 and not (is_prose and disorder(value) < 0)
    if _SENSITIVE_WORD.search(value) and not (own_line and _has_digit(value)):
        return False
    if value.isalpha() or "_" in value:
        # A word counts only where name and value have a line to themselves, as in a settings file.
        disordered = len(value) >= 8 and (
            disorder(value) >= 0.8 or (is_disordered(value) and "_" not in value)
        )
        is_setting = own_line and kind is not Kind.TOKEN and value == value.lower() and "_" not in value
        return disordered or is_setting
    if not own_line and kind is not Kind.PASSWORD and disorder(value) < -2 and not is_disordered(value):
        return False  # a name in a program: `withCredentials: defaultToConfig2,`
    return kind is Kind.PASSWORD or len(value) >= 8


_NUMBERED = re.compile(
    r"(?i)(?:sha|md|utf|base|u?int|float|(?:var)?char|v|x|aes|rsa|hs|rs|es|tls|ssl|ipv|win|amd|arm)[._-]?[\d.]+"
)
_LONGEST_INVENTED = 64


def _is_invented(value: str, *, own_line: bool) -> bool:
    """Whether this looks like a password that a person invented.

    Two joined words and a number, such as `Maple_otter4711`.

    Identifiers are in lower case, `row_10`, or name a format.
    """
    stem = value.rstrip("0123456789")
    if len(value) - len(stem) < (2 if own_line else 3) or len(value) > _LONGEST_INVENTED:
        return False
    if len(stem) < 8 or value == value.lower() or value == value.upper():
        return False
    joined = len(re.findall("[._]", stem)) == 1 and stem[0].isalpha() and _DOTTED.fullmatch(stem) is not None
    return (
        joined and not _SENSITIVE_WORD.search(stem) and not _NUMBERED.fullmatch(re.split("[._]", value)[-1])
    )


_LISTED = re.compile(r"[A-Za-z0-9][\w.!@#$%^&*+~?/=-]{6,}")
_VERSION = re.compile(r"[vr]?\d+(?:\.\d|[-~]\d+\b)")


def is_listed_secret(value: str, kind: Kind) -> bool:
    """Whether a value beside its name in a list is a secret.

    It may be a version, a type or a path.
    """
    if (
        _VERSION.match(value)
        or kind is Kind.TOKEN
        or not _LISTED.fullmatch(value)
        or is_placeholder(value)
        or is_address(value)
    ):
        return False
    if is_disordered(value):
        return True
    odd = kind is Kind.PASSWORD and value[0].isalpha() and _has_digit(value)
    return odd and not _SENSITIVE_WORD.search(value) and not _NUMBERED.fullmatch(value)


def is_disordered(value: str) -> bool:
    """Whether case and digits change more often than in words and identifiers.

    They do in `fsOssBQocBDs`.
    """
    value = value[:_LONGEST_VALUE]
    return any(
        len(part) >= 8 and len(part) <= 3 * len(_WORDS.findall(part)) for part in _PARTS.findall(value)
    )


def is_odd(value: str) -> bool:
    """Whether this has a digit or a sign, which words do not have."""
    return any(character.isdigit() or character in "!@#$%^&*" for character in value)


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


_ABOUT = words("enter please must is are the your a to for not required invalid of and or")


def is_passphrase(value: str) -> bool:
    """Whether these are several plain words and not a sentence about passwords."""
    value = value[:_LONGEST_VALUE]
    parts = value.split()
    if (
        not 3 <= len(parts) <= 24
        or _SENSITIVE_WORD.search(value)
        or _ABOUT & {part.lower() for part in parts}
    ):
        return False
    return all(re.fullmatch(r"[!@#$%^&*-]*\w[\w!@#$%^&*-]*", part) for part in parts)


# Checks that several rules share. Each returns the span of the secret, or None.


def not_placeholder(data: bytes, found: Any) -> Span | None:
    span = first_group(data, found)
    return None if is_placeholder(text_at(data, span)) else span


def not_stand_in(data: bytes, found: Any) -> Span | None:
    span = not_placeholder(data, found)
    return None if span and is_stand_in(text_at(data, span)) else span


def not_sham(data: bytes, found: Any) -> Span | None:
    span = first_group(data, found)
    return None if is_sham(text_at(data, span)) else span


def not_placeholder_or_word(data: bytes, found: Any) -> Span | None:
    span = first_group(data, found)
    value = text_at(data, span)
    return None if is_placeholder(value) or is_word(value) else span


def with_digit(data: bytes, found: Any) -> Span | None:
    """The first group, if it has a digit."""
    start, end = found.span(1)
    return (start, end) if has_digit(data[start:end]) else None


# -- disorder --------------------------------------------------------------------------------------------

# Rows: the first character. Columns: the second. Both a to z, a digit, any other sign. `a` is 0, `b` is 1.
_PAIRS = (
    "okiiqoktktngihvksgifmmpnmsnm",
    "gmkohoorhjpfoohosjjohqstjqkj",
    "hqmnhpshkxijopfotjmgkrtoowmj",
    "hnmjelpqgsrkooinskjmkqqtovlg",
    "joiimlmrourjkgolmfhhrmnjmvnh",
    "iommihqsexuiongnuilkjtqtmzjj",
    "knkpdpmjiuriliknvhilkrrurqoh",
    "eqooeprrhwpnlogosjmiltrumxoh",
    "klijklkwrwrijehlrkhhslwnylto",
    "hnnleorqksnpmphjopfoholuqwnj",
    "jolmdnlphsrlnlmmrnimkpmvpwog",
    "honkenpsfvqhqqgmvqkjjpswluqi",
    "fkoneqrthwpkkohgtqknlruroyqh",
    "iqihhlgqjtnmpminuphfkmrvqupi",
    "mljiqmmtmrmiiflixfjkimkpsusk",
    "fronfppljyoipmhjsglhkqrtlroi",
    "kononopqnqrgootrllmobppustoj",
    "gqkleolshxnnkmhovjiimnqwkzpi",
    "kqjpfnpjhvnmonjjnoiejqotlvph",
    "hqlnfnqigurmnphmvhjkmrpsjung",
    "kkklilnuizuhigoiyhhhtuyqxwhp",
    "eomqcopsgxvqookmwpnnssotqtml",
    "folmhopjfsoloihothjnrqpqusqh",
    "loiogmsqjwtnkqmgspnfrrrjlthf",
    "jmlnknnqlrrjjimetmhipqlrpqoe",
    "ippqcpsoiwsnlrkpuqonrtrulofh",
    "lllklluusxsqrutrwrrsstvlxybh",
    "jkhjjjllirnjijkiqjhillmrtrlh",
)
_SYMBOLS = "abcdefghijklmnopqrstuvwxyz0_"
# The cost of a change of case in programs, and in random letters of both cases.
_SAME, _CHANGE, _RANDOM = 0.7, 8.8, 4.0
_CAPITALS = 6.0
_HEX = re.compile(r"[0-9a-f]*|[0-9A-F]*")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_LONGEST = 96

_CODES = {chr(code): chr(code) if chr(code).isascii() and chr(code).isalpha() else "_" for code in range(256)}
_SYMBOL = str.maketrans({**_CODES, **dict.fromkeys("0123456789", "0")})


def _table(letter: float, digit: float, sign: float, *, mixed: bool) -> dict[tuple[str, str], float]:
    """What each pair adds, if a random letter, digit or sign costs so much."""
    return {
        (first, second): float(ord(cost) - 97)
        - (digit if second == "0" else sign if second == "_" else letter)
        + (_case(first, second) if mixed and first.isalpha() and second.isalpha() else 0.0)
        for low, row in zip(_SYMBOLS, _PAIRS, strict=True)
        for high, cost in zip(_SYMBOLS, row, strict=True)
        for first in {low, low.upper()}
        for second in {high, high.upper()}
    }


def _case(first: str, second: str) -> float:
    same = first.isupper() == second.isupper()
    return (_CAPITALS if first.isupper() else _SAME) - _RANDOM if same else _CHANGE - _RANDOM


_OF_HEX = _table(8.0, 1.4, 8.0, mixed=False)
_OF_BOTH_CASES = _table(9.9, 5.3, 10.0, mixed=True)
_OF_ONE_CASE = _table(10.3, 3.7, 10.0, mixed=False)


@lru_cache(maxsize=2048)
def disorder(value: str) -> float:
    """How much more likely the value is random than written.

    In half bits per character. Above 0 it is random, below 0 written.
    """
    value = value[:_LONGEST]
    if len(value) < 2:
        return -9.0
    if _HEX.fullmatch(value):
        table = _OF_HEX
    else:
        table = _OF_BOTH_CASES if value != value.lower() and value != value.upper() else _OF_ONE_CASE
    symbols = value.translate(_SYMBOL)
    if not symbols.isascii():
        symbols = _NOT_ASCII.sub("_", symbols)
    return sum(map(table.__getitem__, pairwise(symbols))) / (len(symbols) - 1)
