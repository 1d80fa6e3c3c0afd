"""Random values near a word for a secret or near the name of a service.

In whatever language the text is.

Other rules start at a name and read on. This one starts at the value: a long run of disordered characters.
Then it looks back for the word that says what the run is. So it needs no list of ways to assign a value.
"""

from __future__ import annotations

import json
import re
from enum import IntEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import ahocorasick_rs

from fazm_memory.engines.redaction.classify import disorder, is_sham, words
from fazm_memory.engines.redaction.rules import NAME, Rule, Span, text_at

_RUN = r"[A-Za-z0-9_+/~-]"
# A run with a letter and a digit, or with letters of changing case. Its disorder is tested below.
CANDIDATE = (
    rf"(?:(?:[A-Za-z_+/~-]+[0-9]|[0-9]+[A-Za-z_+/~-]){_RUN}{{6,}}|[A-Za-z_+/~-]{{7,}}[0-9]{_RUN}*"
    r"|[A-Za-z]{3,}[A-Z][a-z][A-Z][A-Za-z]{8,})={0,2}"
)
# How far back the word may be, and how much may be between the two.
_BACK = 112
_GAP = 56
_SHORTEST = 8
_LEAST_DISORDER = 0.8
_SHORTEST_BARE = 14
_SHORTEST_HEX = 20
_SHORTEST_LETTERS = 16


class _Hint(IntEnum):
    """What a word before a value says about it."""

    NONE = 0
    SERVICE = 1
    """The name of a service."""
    MAYBE_SERVICE = 2
    """The name of a service that is also a common word, or a place of commits and ids."""
    WEAK = 3
    """It may name a secret. The value must be no digest."""
    STRONG = 4
    """It names a secret."""


# A key is a secret after one of these, and may be one after another word.
_QUALIFIERS = tuple(
    words(
        """api access account admin app application auth client consumer customer decrypt decryption deploy
        encrypt encryption enc hmac integration jwt license licence live master private preshared
        pre-shared project publish publishable read recovery rest root secret server service session
        shared signature signing storage subscription unseal user webhook write sandbox test prod"""
    )
)
_STRONG = words(
    """token secret passw passphrase passcode pwd credential bearer authorization cookie
    connectionstring"""
)
_WEAK = words("key auth login cred api psk")
# Too short to count inside a word.
_STRONG_PARTS = words("pat pepper")
_WEAK_PARTS = words("sid pass pw salt otp sig access session")
_KEY_ID = "[redacted:aws-access-key]"
# The ids of AWS and Twilio stand beside their secret, often without a word for it.
_KEY_IDS = ("akia", "asia", "'ac", '"ac')
_RAW_KEY_ID = re.compile(rb"(?<![A-Z0-9])A[KS]IA[A-Z2-7]{16}(?![A-Z0-9])|[\"']AC[0-9a-f]{32}[\"']")


@cache
def _hints() -> tuple[Any, list[tuple[str, _Hint]]]:
    """The search for all words, and for each of them what it says."""
    names = json.loads(Path(__file__).with_name("services.json").read_bytes())
    meanings = {
        **{name: _Hint.SERVICE for line in names["services"] for name in line.split()},
        **{name: _Hint.MAYBE_SERVICE for line in names["services_named_by_a_word"] for name in line.split()},
        **dict.fromkeys(_WEAK | _WEAK_PARTS, _Hint.WEAK),
        **dict.fromkeys(_STRONG | _STRONG_PARTS | {_KEY_ID, *_KEY_IDS}, _Hint.STRONG),
    }
    search = ahocorasick_rs.BytesAhoCorasick(
        [word.encode() for word in meanings], implementation=ahocorasick_rs.Implementation.DFA
    )
    return search, list(meanings.items())


# Words of a name, or between a name and a value, that say that the value is no secret.
_OTHER = words(
    """account_id addr address alt arn artifact asset assets audience blob block branch bucket build bundle
    cache cached checksum chunk cid class col commit container continuation contract conversation correlation
    count css cursor date dedupe dict digest digest256 dir domain email entity etag file filename
    fingerprint fixture field group item lookup map memo metric object record routing s3 shard store topic
    unique folder font foreign gid guid hash hashes hostname href icon id idempotency ids image img index
    integrity ip issuer iv job keyid kid layer length limit line link mail md5 message module msg name
    names next nonce offset oid order package page partition path pid pod port primary pub pubkey public
    ref refs region release rev request resolved revision row run salt_rounds serial session_id sha sha1
    sha224 sha256 sha384 sha512 size snapshot socket sort span src style subject tag test tests thread
    thumbprint time timestamp title tool toolu trace transaction tree tx txhash txid type uid uri url user
    username uuid version wallet width zone"""
)
# Of these, what says nothing about a value that is clearly random.
_VAGUE = words("file line mail message name names page path test tests time title type url user username")
_CLEARLY_RANDOM = 2.0
_LONG = 20
# The hash of a password is as good as the password to whoever has time.
_PASSWORD_HASH = re.compile(r"(?i)(?:passw(?:or)?d|pwd)_?(?:hash|md5|sha1|sha256|sha512|digest)")
# A marker says nothing about the value beside it, except a key id beside its secret.
_MARKERS = re.compile(rb"\[REDACTED:(?!aws-access-key\])[\w.-]+\]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Hex digits, perhaps in groups and after a short prefix: `sk_3f9a…`, `3f9a…-1c7e…`.
_HEX = re.compile(
    r"(?:0x|[a-z]\d{6,8}-|[A-Za-z]{2,4}[_-](?:[a-z]{1,4}[_-])?|[a-z]{5,12}_|(?:[A-Z]_){1,3}|[A-Z]{2,3}(?=[0-9a-f]{24}))?"
    r"([0-9a-f]+(?:-[0-9a-f]+)*|[0-9A-F]+(?:-[0-9A-F]+)*)"
)
_QUALIFIED = re.compile(r"(?i)(?:pass(?:w(?:or)?d|phrase|code)?|pwd|secret|credential|api_?key)(?![a-rt-z])")
_NAME = NAME.decode()
# AES256_GCM, RSASSA-PKCS1-v1_5
_ALGORITHM = re.compile(
    r"[A-Z]{2,10}\d{1,4}(?:[_-][A-Z\d]{2,8})*|(?:RSA|RSASSA|RSAES|ECDSA|HMAC)-[A-Z]{2,5}\d?[\w-]{0,8}"
)
# Between a name and its value. `;` ends a statement, and so does a closed call.
_ENDED = re.compile(r"-----|\b(?:h1|zh):|[)}\]][ \t]*,|\)\s*\{|//|\.\w{2,5}/|[!=]==|[;\n]")
_ASSIGNED = re.compile(r"[=:;>\xff|(,\[{`\"'<]|\s-\s|\bis\b")
_SIGN = re.compile(r"[=:|(]|->|\s-\s")
# The key of something, `acme_key`. Other words for keys of maps and tables are in `_OTHER`.
_OWN_KEY = re.compile(r"[A-Za-z]{3}(?:[_-](?i:key)|Key)\Z")
# The first part of a value with a dot: `pk.3f9a…`.
_PREFIX = re.compile(
    rb"(?:^|[\s\"'=:>(])(?:[a-z]{1,2}|\d{1,12}(?:\.[a-z]{2})?|(?=[A-Za-z]*\d)[A-Za-z0-9]{2,24})\.\Z"
)
# Only quotes and signs between a name and a value.
# The characters of base64, which may stand around the letters of a name.
_BASE64 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-"
# The gap over one value that was redacted.
_SIBLING = re.compile(
    r"[\"'`]?(?::[ \t]*\n[ \t]*-[ \t]|[=:( ]{0,3}[(\[])[\"'`]?;[\"'`]?(?:,[ \t]?|\n[ \t]*-[ \t])[\"'`]?"
)
_BESIDE = re.compile(r"[\s\"'`:=()#,>|\[]{1,12}")
# A value on the line below its name: alone, or after the word "value".
_BELOW = re.compile(
    r"\n(?:[ \t]{0,8}\n)?[ \t]{0,40}(?:(?:-|//|#|\*)[ \t])?"
    r"(?:[\"']?(?i:value|default|string|data|plaintext|password|secret)[\"']?"
    r"[ \t]{0,8}[:=][ \t]{0,8}"
    r"|<string>|<value>)?[\"'`\[\\>]{0,4}\Z"
)


def _has_hint(data: bytes, position: int) -> bool:
    """Whether a word that may make the value a secret is close before it.

    It seldom is.
    """
    back = data[max(0, position - _BACK) : position]
    # After a result of a test, `--- PASS: TestReader`, is a name. `assignments.py` looks at it.
    return not back.endswith(b"- PASS: ") and bool(_hints()[0].find_matches_as_indexes(back.lower()))


def _is_likely(data: bytes, found: Any) -> bool:
    """Whether the value is long and random enough, and no name of something else."""
    start, end = _trimmed(data, *found.span())
    if end - start < _SHORTEST or not _stands_alone(data, found.start(), end):
        return False
    value = text_at(data, (start, end))
    if not _HEX.fullmatch(value) and disorder(value.rstrip("=")) < _LEAST_DISORDER:
        return False
    return len(value) >= _LONG or _ALGORITHM.fullmatch(value) is None


def _check(data: bytes, found: Any) -> Span | None:
    if not _is_likely(data, found):
        return None
    start, end = _trimmed(data, *found.span())
    value = text_at(data, (start, end))
    back = data[max(0, start - _BACK) : start]
    search, meanings = _hints()
    if b"[REDACTED:" in back:
        back = _MARKERS.sub(b";", data[max(0, start - _BACK - 80) : start])[-_BACK:]
    spans: dict[_Hint, Span] = {}
    for word, first, last in search.find_matches_as_indexes(back.lower(), overlapping=True):
        spans[_hint(back, meanings[word], (first, last))] = first, last
    before = back.decode("latin-1")
    return (start, _whole(data, start, end)) if _is_secret(value, before, spans) else None


def _hint(back: bytes, meaning: tuple[str, _Hint], span: Span) -> _Hint:
    """What the word at this place says about a value after it.

    `key` says more in `api_key` than elsewhere, `pat` in `path` says nothing.
    """
    (word, hint), (start, end) = meaning, span
    if word == "key":
        before = back[max(0, start - 16) : start].lower().decode("latin-1")
        return (
            _Hint.STRONG if (before[:-1] if before[-1:] in "_-. " else before).endswith(_QUALIFIERS) else hint
        )
    if word in _KEY_IDS:
        return hint if _RAW_KEY_ID.match(back, start) else _Hint.NONE
    if word in _STRONG_PARTS or word in _WEAK_PARTS:
        inside = back[max(0, start - 1) : start].isalnum() or back[end : end + 1].isalnum()
        return _Hint.NONE if inside else hint
    if hint in (_Hint.SERVICE, _Hint.MAYBE_SERVICE):
        # A whole word or, if it is long, the beginning of one: `datadogKey`, `discordtoken`.
        after = back[end : end + 1]
        longer = after.isalpha() and after.islower() and len(word) < 6
        return _Hint.NONE if longer or back[max(0, start - 1) : start].isalpha() else hint
    return hint


def _is_secret(value: str, before: str, hints: dict[_Hint, Span]) -> bool:
    """Whether one of the words before a value makes it a secret."""
    service = hints.get(_Hint.SERVICE) or hints.get(_Hint.MAYBE_SERVICE)
    strong, weak = hints.get(_Hint.STRONG), hints.get(_Hint.WEAK)
    if strong and _is_named(before, strong, value, shortest=10, least=_LEAST_DISORDER, digests=True):
        return True
    if weak:
        digests = service is not None or _OWN_KEY.search(before, *_name(before, weak)) is not None
        if _is_named(before, weak, value, shortest=_SHORTEST_BARE, least=1.2, digests=digests):
            return True
    return service is not None and _is_near(before, service, value, maybe=_Hint.SERVICE not in hints)


def _trimmed(data: bytes, start: int, end: int) -> Span:
    while start < end and data[start] in b"=/~-+":
        start += 1
    while end > start and data[end - 1] in b"/~-_":
        end -= 1
    return start, end


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    """Not the name of a file or a function, an address or a part of a longer word."""
    after = data[end : end + 6]
    if after.lstrip(b" \t")[:2].strip() == b"=" and data[max(0, start - 80) : start].rstrip(b" \t")[-1:] in (
        b"",
        b"\n",
    ):
        return False  # the name in an assignment
    if after[:1] in (b"(", b"@", b"[") or (
        after[:1] == b"." and after[1:5].isalpha() and after[1:5].islower()
    ):
        return False
    before = data[max(0, start - 18) : start]
    if before[-1:] == b".":
        return _PREFIX.search(before) is not None
    return before[-1:] not in (b"/", b"#", b"@", b"$", b"%") or before[-2:-1] in (b"'", b'"')


def _is_named(before: str, word: Span, value: str, *, shortest: int, least: float, digests: bool) -> bool:
    """Whether the word names this value.

    Between them there is then only the rest of the name and a sign.
    """
    name_start, name_end = _name(before, word)
    gap = before[name_end:]
    if not _is_gap(gap) or (gap.strip() and not _ASSIGNED.search(gap)):
        return False
    if not _is_written(before, name_start, name_end) or _is_other(gap, _excused(value)):
        return False
    return len(value) >= shortest and _is_random(value, least, digests=digests)


def _is_near(before: str, service: Span, value: str, *, maybe: bool) -> bool:
    """Whether the name of a service is close before this value."""
    name_start, name_end = _name(before, service)
    gap = before[name_end:]
    if not _is_gap(gap) or "/" in _BELOW.sub("", gap) or not _is_written(before, name_start, name_end):
        return False
    if _is_other(gap, _excused(value)):
        return False
    if gap.endswith(":") and gap != ":" and not gap[-2:-1].isdigit():
        return False  # `spotify:track:…`
    digests = _SIGN.search(gap) is not None or (not maybe and _BESIDE.fullmatch(gap) is not None)
    return len(value) >= _SHORTEST_BARE and _is_random(value, 1.6, digests=digests)


def _name(before: str, word: Span) -> Span:
    """The identifier that contains the word."""
    start, end = word
    return len(before[:start].rstrip(_NAME)), len(before) - len(before[end:].lstrip(_NAME))


def _is_gap(gap: str) -> bool:
    if len(gap) > _GAP:
        return False
    if gap == ";" or _SIBLING.fullmatch(gap):
        return True  # the next cell of a table, item of a list or argument of a call
    if "\n" in gap and (below := _BELOW.search(gap)):
        gap = gap[: below.start()]
    return _ENDED.search(gap) is None


def _is_written(before: str, start: int, end: int) -> bool:
    """Whether this is a name, and not a random run with the letters of a word."""
    name = before[start:end]
    if "--" in name.lstrip("-") or (len(name) >= 12 and disorder(name) >= 0.5):
        return False
    if _is_other(_named_part(_PASSWORD_HASH.sub("", name))):
        return False
    if before[start - 1 : start] not in ("+", "/") and before[end : end + 1] not in ("+", "/", "="):
        return True
    first, last = len(before[:start].rstrip(_BASE64)), len(before) - len(before[end:].lstrip(_BASE64))
    return last - first < 20 or disorder(before[first:last]) < 0.5


def _named_part(name: str) -> str:
    """The part of a name that says what the value is: `password` in `mail_password`."""
    found = _QUALIFIED.search(name)
    return name[found.start() :] if found else name


def _is_other(text: str, except_for: frozenset[str] = frozenset()) -> bool:
    return not _other_words(text) <= except_for


@lru_cache(maxsize=1024)
def _other_words(text: str) -> frozenset[str]:
    return _OTHER.intersection(part.lower() for part in _PARTS.findall(text))


def _excused(value: str) -> frozenset[str]:
    """The words between a name and this value that do not matter."""
    if len(value) < _LONG or _HEX.fullmatch(value) or disorder(value) < _CLEARLY_RANDOM:
        return frozenset()
    return _VAGUE


def _is_random(value: str, least: float, *, digests: bool) -> bool:
    if found := _HEX.fullmatch(value):
        digits = found[1].replace("-", "")
        return digests and len(digits) >= _SHORTEST_HEX and not digits.isdigit() and not is_sham(digits)
    if is_sham(value) or value.count("/") > 1 + len(value) // 16:
        return False
    if value.isalpha() and len(value) < _SHORTEST_LETTERS:
        return False
    return disorder(value.rstrip("=")) >= least


# Further parts of a value: `{part}.{part}`, `{part}:{part}`.
_MORE_PARTS = re.compile(rb"(?:[.~:!*%][A-Za-z0-9]{4}[\w+/=~-]*+){0,8}")
# A password in quotes may have other signs.
_REST_OF_QUOTED = re.compile(rb"[!@#$%^&*?+~-][^\s\"'`<>{}()\[\];,=]{1,120}")
_LONGEST_WHOLE, _NEAR = 4096, 128


def _whole(data: bytes, start: int, end: int) -> int:
    """The end of the value with its further parts."""
    end = _MORE_PARTS.match(data, end, end + _LONGEST_WHOLE).end()  # type: ignore[union-attr]  # it always matches
    if data[start - 1 : start] in (b'"', b"'") and (rest := _REST_OF_QUOTED.match(data, end, end + _NEAR)):
        return end if data[rest.end() : rest.end() + 1] != data[start - 1 : start] else rest.end()
    return end


RULES: tuple[Rule, ...] = (
    Rule(
        "opaque-secret",
        "generic",
        (),
        CANDIDATE,
        must_match='var adafruitToken string = "{alnum:32}"',
        must_not_match="commit {hex:40}",
        is_common=True,
        admits=_has_hint,
        is_likely=_is_likely,
        check=_check,
    ),
)
