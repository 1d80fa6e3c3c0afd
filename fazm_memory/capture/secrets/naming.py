"""What a name says about its value: whether `DB_PASSWORD`, `apiKey` or `Set-Cookie` holds a secret, and
whether what stands beside it is one, or only a reference, a placeholder, a type or a piece of a program.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache


class Kind(IntEnum):
    """How much a name proves. A token may also be a word that a parser read; a password is a password."""

    NONE = 0
    TOKEN = 1
    KEY = 2
    PASSWORD = 3


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# How the mark of a redaction begins: what it names is the rule, not what stands beside it.
MARKER = "[REDACTED:"

# Expressions here see names and values, which are short; none of them can backtrack over more than that.
_LONGEST_NAME = 128
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_PASSWORDS = words("pwd pw pass mdp psk cvv cvc cvv2 otp mnemonic kennwort contrasena bindpw rootpw")
_PASSWORD_ENDINGS = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "passw"),
    *("userpass", "dbpass", "storepass", "keypass", "requirepass", "motdepasse"),
)
_HEADERS = words("authorization cookie cookies credential")
_SECRET_ENDINGS = ("secret", "secrets")
_TOKEN_ENDINGS = ("token", "jwt")
_KEY_ENDINGS = (
    *("apikey", "secretkey", "privatekey", "accesskey", "authkey"),
    *("accountkey", "signingkey", "encryptionkey", "presharedkey"),
)
KEY_QUALIFIERS = words(
    """access account admin api app application auth client consumer decryption deploy encryption hmac jwt
    license licence master preshared private secret service shared signature signing subscription webhook"""
)
# Words after the name of a secret that do not change what it is.
_TRAILING = words(
    """prod production dev development stage staging test live old new current default value plain
    plaintext text raw string str base b64 base64 hex enc encoded primary secondary backup root v sandbox
    bytes data env confirmation confirm"""
)
# Words before "token" that make it a thing of parsing or paging: it opens no door.
_HARMLESS_TOKENS = words(
    """next page continuation sync cursor cancel cancellation bos eos pad unk sep cls mask stop start end
    first last current prev previous special max min per the input output prompt completion this each no
    one parse lexer peek lookahead image field design unexpected expected invalid begin open close string
    word"""
)


@lru_cache(maxsize=4096)
def kind_of(name: str) -> Kind:
    """What a variable, field, header or flag of this name holds."""
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
    if last.endswith(_PASSWORD_ENDINGS) or last in _PASSWORDS:
        return Kind.NONE if before in ("no", "reset", "forgot", "without") else Kind.PASSWORD
    if last == "phrase" and before in ("pass", "seed", "recovery"):
        return Kind.PASSWORD
    if (last in ("word", "code") and before == "pass") or parts[-3:] == ["mot", "de", "passe"]:
        return Kind.PASSWORD  # passWord, mot_de_passe
    if last in _HEADERS or last.endswith((*_SECRET_ENDINGS, *_KEY_ENDINGS)):
        return Kind.KEY
    if last.endswith(_TOKEN_ENDINGS):
        if before in _HARMLESS_TOKENS:
            return Kind.NONE
        return Kind.TOKEN if last == "token" and not before else Kind.KEY
    return Kind.KEY if last == "key" and before in KEY_QUALIFIERS else Kind.NONE


_REFERENCE = re.compile(
    r"\$\{.*|\$\(.*|\$[A-Za-z_]\w*|%\w+%|\{\{.*|\{[^{}]*\}|#\{.*|<[^<>]*>|\[[\w .-]*\]|@\w+|:\w+|\?+"
    r"|(?:secrets|env|vars|process\.env|os\.environ|os\.getenv|import\.meta\.env|ENV|System\.getenv)[.(\[].*"
    r"|(?:op|vault|sm|ssm|keyring|keychain|secretref)://?.*|arn:aws:.*"
    r"|[*xX.•_\-+=#~\xff …]+",
    re.DOTALL,
)
_SLOT = re.compile(r"%[sdr]|%\(\w+\)s|\$?\{[\w.!:]*\}|\$\w+|<\w+>")
_NOTHING = words("none null nil true false undefined n/a")


def is_placeholder(value: str) -> bool:
    """Whether this points to a secret, or stands where one would: `${TOKEN}`, `<password>`, `****`,
    `%s:%s`.
    """
    value = value.strip()
    if not value or value.lower() in _NOTHING or _REFERENCE.fullmatch(value):
        return True
    return _SLOT.search(value) is not None and not any(
        character.isalnum() for character in _SLOT.sub("", value)
    )


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://.*|(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w .@+-]+(?:[/\\][\w .@+-]+)+")


def is_address(value: str) -> bool:
    """Whether this says where something is. If there is a password in the address, another rule finds it."""
    return _ADDRESS.fullmatch(value) is not None


# What stands after such a name in programs, schemas and messages.
_NOT_VALUES = words(
    """yes no on off str string int integer number float bool boolean bytes object any unknown required
    optional default disabled enabled self this value values todo tbd na empty missing invalid incorrect
    expired hidden redacted masked found set unset ok valid wrong accepted prompt char varchar text
    pass password passwd secret token key username user your example changeme placeholder type types array
    &mut &str &dyn &self list dict map basic bearer oauth oauth2 jwt header query cookie http https apikey
    api_key credentials include omit same-origin ask read write admin always never auto manual generated
    random dynamic function async await new return lambda not and or is in if else for with from import"""
)


def is_word(value: str) -> bool:
    """Whether programs, schemas and messages say this of a secret: `string`, `required`, `expired`."""
    return value.lower() in _NOT_VALUES


_SENSITIVE_WORD = re.compile(r"pass|pwd|secret|token|key|auth|cred|cookie", re.IGNORECASE)
_LABEL = re.compile(
    r"(?i)(?:(?:enter|your|current|new|confirm|old|repeat|the|my)[ _-]?)*"
    r"pass(?:word|wd|code|phrase|wort)s?[:?*]?"
)
_WORDY = re.compile(r"[A-Za-z_ .:*?-]+")
_SAMPLE = re.compile(
    r"(?i)(?:^|[-_ ])(?:your|my|the|some|example|sample|dummy|insert|replace|placeholder)(?:[-_ ]|$)"
)
_NO_TOKEN = re.compile(r"[\\\[\]{}<>?]")
_PROSE_WORD = re.compile(r"[A-Za-z][a-z'-]*[.,:;!?]?")


def is_literal_secret(value: str, kind: Kind) -> bool:
    """For a value in quotes, somewhere in a text."""
    if is_placeholder(value) or is_address(value) or _LABEL.fullmatch(value) or len(value) < 3:
        return False
    if len(value.split()) > 1:
        return kind is Kind.PASSWORD and is_passphrase(value)
    if kind is Kind.PASSWORD:
        return not (_SAMPLE.search(value) and not _has_digit(value))
    if value.lower() in _NOT_VALUES or _NO_TOKEN.search(value):
        return False  # a word, or an expression with signs that no token has
    if _WORDY.fullmatch(value) and (_SENSITIVE_WORD.search(value) or _SAMPLE.search(value)):
        return False  # the name of a field: "access_token"
    return kind is Kind.KEY or (len(value) >= 8 and (_has_digit(value) or len(value) >= 20))


def is_field_secret(value: str, kind: Kind) -> bool:
    """For the value of a JSON field: there is no program around it, so it is a secret unless it plainly is
    not.
    """
    if is_placeholder(value) or is_address(value):
        return False
    parts = value.split()
    if len(parts) > 2 and all(_PROSE_WORD.fullmatch(part) for part in parts):
        return kind is Kind.PASSWORD and is_passphrase(value)
    if kind is Kind.PASSWORD:
        return value.lower() not in ("string", "required", "optional") and not (
            len(parts) > 1 and _LABEL.fullmatch(value)
        )
    if value.lower() in _NOT_VALUES:
        return False
    return kind is Kind.KEY or (len(parts) == 1 and not (value.isalpha() and len(value) < 8))


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_PARTS = re.compile(r"[A-Za-z0-9]+")
_DOTTED = re.compile(r"[\w.]+")
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[{].*|[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+|.*=>.*|.*[({\[]", re.DOTALL)


def is_bare_secret(value: str, kind: Kind, *, own_line: bool) -> bool:
    """For a value without quotes, which may as well be a name in a program."""
    if value.lower() in _NOT_VALUES or not is_literal_secret(value, kind):
        return False
    if kind is Kind.PASSWORD and is_made_up(value, own_line=own_line):
        return True
    if _CODE.fullmatch(value) and not (_DOTTED.fullmatch(value) and is_disordered(value)):
        return False
    if value.isdigit():
        return len(value) >= 6
    if not _IDENTIFIER.fullmatch(value):
        return len(value) >= 4
    if _SENSITIVE_WORD.search(value) and not (own_line and _has_digit(value)):
        return False
    if value.isalpha() or "_" in value:
        # A word is a value only where a whole line says so, as in a settings file. Many letters in disorder
        # are one.
        disordered = "_" not in value and (
            is_disordered(value) if len(value) < 16 else value != value.lower()
        )
        settled = own_line and kind is not Kind.TOKEN and value == value.lower() and "_" not in value
        return disordered or settled
    return kind is Kind.PASSWORD or len(value) >= 8


_NUMBERED = re.compile(
    r"(?i)(?:sha|md|utf|base|u?int|float|(?:var)?char|v|x|aes|rsa|hs|rs|es|tls|ssl|ipv|win|amd|arm)[._-]?[\d.]+"
)
_LONGEST_MADE_UP = 64


def is_made_up(value: str, *, own_line: bool) -> bool:
    """Words joined by a dot or a line with a number behind them, `Maple_otter4711`, as people make up
    passwords. A name in a program has small letters, `row_10`, or is that of a format.
    """
    stem = value.rstrip("0123456789")
    if len(value) - len(stem) < (2 if own_line else 3) or len(value) > _LONGEST_MADE_UP:
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
    """For a value that stands beside its name in a list, where versions, types and paths stand too."""
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
    """Whether letters and digits change too often to be words, `fsOssBQocBDs`: names in programs do not."""
    return any(
        len(part) >= 8 and len(part) <= 3 * len(_WORDS.findall(part)) for part in _PARTS.findall(value)
    )


def is_odd(value: str) -> bool:
    """Whether this has what words do not have."""
    return any(character.isdigit() or character in "!@#$%^&*" for character in value)


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


_ABOUT = words("enter please must is are the your a to for not required invalid of and or")


def is_passphrase(value: str) -> bool:
    """Several plain words are a passphrase, unless they speak about passwords as people do to people."""
    parts = value.split()
    if (
        not 3 <= len(parts) <= 24
        or _SENSITIVE_WORD.search(value)
        or _ABOUT & {part.lower() for part in parts}
    ):
        return False
    return all(re.fullmatch(r"[\w!@#$%^&*-]+", part) for part in parts)
