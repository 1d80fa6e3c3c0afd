"""Private keys and other secrets with a form of their own: PEM, JWK, JWT, seeds, hashes, card numbers."""

from __future__ import annotations

from typing import Any

from fazm_memory.capture.secrets.rule import Rule, Span, alnum

# Between two lines of a key: ends of lines, quotes and signs of string literals, and the marks that viewers
# and diffs put before each line (`12→`, `12\t`, `> `, `+`).
GAP = r"""(?:[\s"'+,>|#*\\]|\\[nrt]|\d{1,6}(?:\xff|\t|:|\|)|\.\.\.|\xff)"""
# A search names the file before each line of it: `id_rsa:…`, `id_rsa:12:…`, `id_rsa-13-…`.
_FOUND_IN = r"(?:\n[\w./~-]{1,120}[:-](?:\d{1,6}[:-])?)?"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Key-Derivation|Subject):[^\n\\]*"
_CHUNK = r"[A-Za-z0-9+/=]{16,}"
# The last line may be short: then it ends like base64, or has the line to itself.
_LAST = rf"(?:{GAP}*[A-Za-z0-9+/]{{1,15}}(?:={{1,2}}|(?m:$)))?"
_REST = rf"(?:{GAP}*{_CHUNK})*{_LAST}"
_BODY = (
    rf"(?:{GAP}*?{_FOUND_IN}(?:{_HEADER}{GAP}+)*{_CHUNK})(?:{GAP}*?{_FOUND_IN}(?:{_HEADER}|{_CHUNK}))*{_LAST}"
)
# How the base64 of a private key in DER begins (RSA in PKCS#1 and PKCS#8, EC, Ed25519), and that of OpenSSH.
_DER = (
    r"(?:MII[A-Za-z0-9+/]{2,3}[AQgw]?IBA(?:D|AK)"
    r"|MHcCAQEE|MC4CAQAwBQYD|MFECAQE|MIG[TH]AgEAMBMG|b3BlbnNzaC1rZXktdj)"
)

# The first digits and the lengths that the card schemes use.
_SCHEMES = (
    (("4",), (13, 16, 19)),
    (tuple(str(start) for start in (*range(51, 56), *range(2221, 2721), *range(3528, 3590))), (16,)),
    (("34", "37"), (15,)),
    (("6011", "65", *(str(start) for start in range(644, 650))), (16, 19)),
    (("36", "38", "39", *(str(start) for start in range(300, 306))), (14,)),
    (("62",), (16, 17, 18, 19)),
)


def is_card_number(number: str) -> bool:
    """Whether these digits are a card number: a scheme's first digits and length, and the Luhn check."""
    if not any(len(number) in lengths and number.startswith(starts) for starts, lengths in _SCHEMES):
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


RULES: tuple[Rule, ...] = (
    Rule(
        "pem-private-key",
        "generic",
        ("-----begin", "---- begin"),
        rf"-----? ?BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)? ?-----?"
        rf"{_BODY}(?:{GAP}*-----? ?END[A-Z0-9 ]{{0,48}}-----?)?",
        match="-----BEGIN RSA PRIVATE " + "KEY-----\n" + alnum(64) + "\n" + alnum(40) + "=\n",
        miss="-----BEGIN CERTIFICATE-----\n" + alnum(64) + "\n-----END CERTIFICATE-----",
        alone=False,
    ),
    Rule(
        "pem-private-key-end",
        "generic",
        ("-----end", "---- end"),
        rf"({_CHUNK}(?:{GAP}*[A-Za-z0-9+/=]+)*){GAP}*-----? ?END [A-Z0-9 ]{{0,40}}PRIVATE KEY",
        match=alnum(64) + "\n" + alnum(40) + "=\n-----END PRIVATE " + "KEY-----",
        miss=alnum(64) + "\n-----END CERTIFICATE-----",
        back=16_384,
        alone=False,
    ),
    Rule(
        "private-key-body",
        "generic",
        ("mii", "mhccaqee", "mc4caqawbqyd", "mfecaqe", "migtageambmg", "mighageambmg", "b3blbnnzac1rzxktdj"),
        rf"{_DER}[A-Za-z0-9+/]{{16,}}{_REST}",
        match="MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC" + alnum(64) + "\n" + alnum(64),
        miss="MIIDXTCCAkWgAwIBAgIJAJC1HiIAZAiIMA0GCSqGSIb3DQEBCwUAMEUx",
    ),
    Rule(
        "putty-private-key",
        "generic",
        ("private-lines:",),
        rf"(?i:Private-Lines: *\d+){GAP}+({_CHUNK}{_REST})",
        match="Private-Lines: 2\n" + alnum(64) + "\n" + alnum(44),
        miss="Private-Lines: 2\n",
    ),
    Rule(
        "jwk-private-key",
        "generic",
        ('"d"',),
        r"\"d\"\s{0,4}:\s{0,4}\"([\w-]{40,})\"",
        match='{"kty": "EC", "d": "' + alnum(43) + '"}',
        miss='{"d": "2024-01-01"}',
        alone=False,
    ),
    Rule(
        "jwt",
        "generic",
        ("eyj",),
        r"eyJ[\w-]{10,}(?:\.[\w-]{4,}){1,4}",
        match="eyJ" + alnum(33) + ".eyJ" + alnum(60) + "." + alnum(43),
        miss="eyJust.a.word",
        judge=_jwt,
    ),
    Rule(
        "password-hash",
        "generic",
        (
            *("$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$7$"),
            *("$argon2", "$scrypt$", "$apr1$", "pbkdf2_sha", "pbkdf2-sha"),
        ),
        r"(?:\$(?:2[aby]|1|5|6|y|7|apr1|scrypt|argon2(?:id?|d))\$|pbkdf2[_-]sha\d+\$)[\w./$=,+-]{20,}",
        match="$2b$12$" + alnum(53),
        miss="$1$2",
        alone=False,
    ),
    Rule(
        "seed-phrase",
        "generic",
        ("mnemonic", "seed phrase", "seed_phrase", "recovery phrase", "seedphrase"),
        r"(?i:mnemonic|seed[ _]?phrase|recovery[ _]phrase)[\"']?\s{0,3}(?:is)?[:=]?\s{0,3}[\"']?"
        r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})",
        match="mnemonic: " + " ".join(["river", "amount", "zebra"] * 4),
        miss="mnemonic: an easy way to remember",
    ),
    Rule(
        "card-number",
        "generic",
        (),
        r"(?:^|[^\w.])"
        r"(\d{4}(?: \d{4}){3}|\d{4}(?:-\d{4}){3}|\d{4} \d{6} \d{4,5}|\d{4}-\d{6}-\d{4,5}|\d{13,19})",
        match="4" + "000 1234 5678 9017",
        miss="1234 5678 9012 3456",
        judge=_card,
    ),
)
