"""The work for one text is limited, whatever the text. Counted, not timed.

A step is a rule that is tried at a keyword, or a value that is judged. Slow steps do not show, so calls of
functions and the bytes that patterns match are counted too. The class: text that makes many rules
start, fail late, read far or find much. Looked for: repeated keywords, open quotes and brackets, nested
assignments, runs of one character, random words, secrets side by side, escapes in escapes, base64 in base64,
keys without an end, tables, statements and manifests without an end, very long lines, and parts of every rule
with every separator (`make bench ARGS=redaction` goes on from there by changing the slowest).
"""

from __future__ import annotations

import base64
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from types import FrameType
from typing import Any

import pytest

from benchmarks.redaction import NESTED, Hostile, first_texts
from fazm_memory.engines.redaction import Redactor
from fazm_memory.engines.redaction.redactor import Finder
from fazm_memory.engines.redaction.rules import Rule, Span
from fazm_memory.engines.redaction.text import View

LENGTH = 16 * 1024
# A step takes 5 to 30 microseconds, so these are about 1 ms per KB. Small texts may use more.
MOST_STEPS_PER_KB = 70
STEPS_FOR_ANY_TEXT = 1200
MOST_BYTES_PER_BYTE = 6
BYTES_FOR_ANY_TEXT = 1 << 14

_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def words(length: int, form: str = "{} ") -> str:
    chosen = random.Random(form)
    return "".join(form.format("".join(chosen.choices(_CHARACTERS, k=length))) for _ in range(2000))


def wrapped(text: str, layers: int) -> str:
    data = text.encode()
    for _ in range(layers):
        data = base64.b64encode(data)
    return data.decode()


REPEATED = (
    *(
        f"{word}{joint}{escapes}"
        for word in ("mnemonic", "api_key")
        for joint in ('="', '\\": \\"')
        for escapes in NESTED
    ),
    *('"', "'", "`", "=", "{", "[", "(", "\\", "-", "4", " ", "\n", "\x1b[", "a\u0301"),
    *(
        "password=",
        "password: ",
        'password="',
        "password\n",
        "password | ",
        "password,",
        "password.",
        "PASS: ",
    ),
    *(
        "token ",
        "secret",
        "api_key=",
        "bearer ",
        "authorization: ",
        "cookie: a=b; ",
        "--password ",
        "://a:b@c",
    ),
    *(
        '\\"',
        "\\u0041",
        "%70assword%3d",
        "password&#61;&quot;",
        "\\\\\\\\n",
        "eyJabcdefghijk.",
        "AKIA",
        "sk-",
    ),
    *("-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n", "ghp_", "MII", "curl -u ", "mysql -"),
    *(
        "insert into t (password) values (",
        "copy t (password) from stdin\n",
        "| password | a |\n| --- | --- |\n",
    ),
    *(
        "kind: Secret\ndata:\n  a: b\n",
        '{"kind": "Secret", "data": {',
        '"stringData": {"a":"b"},',
        "<password>",
    ),
    *('a={"password":{"token":{"secret":[', 'variable "password" {', "<input type=password ", "mnemonic "),
    *("[REDACTED:jwt]", "[REDACTED:", "stripe twilio slack ", "password=Abc12345! Abc12345! ", "echo a | "),
    *("password" + " " * 300, "4000 1234 5678 9017 ", "password the one of us is ", "password: Foo[Bar] "),
)
HOSTILE = {
    **{text[:24]: text * (LENGTH // len(text) + 1) for text in REPEATED},
    "random words": words(20),
    "short random words": words(9),
    "one run": words(8, "{}"),
    "values of tokens": words(24, "token={} "),
    "values of passwords": words(12, "password={}\n"),
    "members": words(12, '{{"password":"{}"}},'),
    "values near services": words(20, "stripe x {} "),
    "ends of keys": words(64, "{}\n-----END PRIVATE KEY-----\n"),
    "begins of keys": words(64, "-----BEGIN PRIVATE KEY-----\n{}\n"),
    "wrapped lines": words(44, "{}\n"),
    "open strings after keys": words(9, 'stripe key {}="'),
    "long values after keys": "Endpoint=https://a.azconfig.io;Id=x;Secret=.azconfig.io;Id=x;Secret=." * 300,
    "commands and escapes": "sm_pat_7fKII\\nsmbclient //h/s -U me%a7Kq2Zm\n\\nDB_PASSWORD=a\\nOhW1mEAz\\n"
    * 400,
    # The value has no end, and is rejected because it has the word "example".
    "stand-ins without an end": "//registry.example.com/:_authToken=3f9a1c7e-packet_auth=/" * 400,
    "changed values after long runs": '~ password = "_old" -> ": 7Kq2ZmX9b"-BQtMQdLgza67VmQWdALhjRRhn3NKURps-'
    * 300,
    # A value goes on in many parts, and each part may begin a value.
    "values in many parts": "twitch=%20DB_P=ASSWORD==a7Kq2ZmX9bR4tV%20" * 600,
    "schemes without a value": "authorization=" * 1200,
    "base64 in base64": wrapped("token: abcdef12345 " * 400, 2),
    "base64 in base64 in base64": wrapped("password=x " * 400, 3),
}


class Counter:
    steps = 0
    bytes = 0


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Counts the steps of all searches."""
    counter = Counter()

    def counted(name: str) -> None:
        original: Callable[..., object] = getattr(Rule, name)

        def call(self: Rule, *arguments: object) -> object:
            counter.steps += 1
            return original(self, *arguments)

        monkeypatch.setattr(Rule, name, call)

    counted("find_at")
    counted("collect_at")
    candidates = Rule.candidates

    def judged(self: Rule, *arguments: object) -> Iterator[tuple[int, Span | None]]:
        for found in candidates(self, *arguments):  # type: ignore[arg-type]
            counter.steps += 1
            yield found

    monkeypatch.setattr(Rule, "candidates", judged)
    search = Finder._search

    def searched(self: Finder, view: View, *arguments: object) -> object:
        counter.bytes += len(view.data)
        return search(self, view, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Finder, "_search", searched)
    return counter


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_for_a_hostile_text_is_limited(name: str, counter: Counter) -> None:
    text = HOSTILE[name][:LENGTH]

    Redactor(text_cap=1 << 30).text(text)

    assert counter.steps <= STEPS_FOR_ANY_TEXT + MOST_STEPS_PER_KB * len(text) // 1024
    assert counter.bytes <= BYTES_FOR_ANY_TEXT + MOST_BYTES_PER_BYTE * len(text)


def test_the_work_for_a_long_line_grows_with_its_length(counter: Counter) -> None:
    redactor = Redactor(text_cap=1 << 30)
    counts = []
    for times in (4, 8):
        counter.steps = 0
        redactor.text('{"password":"token: secret=' * (1024 * times // 27))
        counts.append(counter.steps)

    assert counts[1] <= 2 * counts[0] + 8


def test_ordinary_text_takes_few_steps(counter: Counter) -> None:
    source = random.__file__
    with open(source, encoding="utf-8") as file:
        text = file.read()

    Redactor().text(text, cap=1 << 30)

    assert counter.steps <= 3 * len(text) // 1024
    assert counter.bytes <= 2 * len(text)


def test_a_text_that_is_too_dense_loses_every_word_with_a_digit() -> None:
    text = "password= " * 20_000 + "a value abc123def and hunter2xy"

    redacted = Redactor(text_cap=1 << 30).text(text)

    assert "abc123def" not in redacted.text
    assert "hunter2xy" not in redacted.text


# Before text that is too dense was handled in one pass, it needed up to 20,000 calls. A long value that was
# read to its end at every name made patterns match 180 times the length of the text; now at most 8 times.
MOST_CALLS_PER_KB = 9_000
MOST_MATCHED = 16


class MeteredPattern:
    """A pattern that counts the bytes it may read."""

    def __init__(self, pattern: Any, counter: Counter) -> None:
        self._pattern, self._counter = pattern, counter

    def match(self, data: bytes, start: int, end: int = 1 << 62) -> Any:
        found = self._pattern.match(data, start, end)
        self._counter.bytes += (found.end() if found else start) - start
        return found

    def finditer(self, data: bytes, *limits: int) -> Any:
        return self._pattern.finditer(data, *limits)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called meanwhile, those of C included."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


PARTS = [text for number, text in enumerate(first_texts(random.Random(5))) if number % 25 == 0]


@pytest.mark.parametrize("first", range(0, len(PARTS), 30))
def test_no_part_of_a_rule_that_is_repeated_calls_too_many_functions(first: int) -> None:
    redactor = Redactor(text_cap=1 << 30)
    redactor.text("warm up")
    size = LENGTH // 2
    counts: dict[Hostile, int] = {}
    for hostile in islice(PARTS, first, first + 30):
        text = hostile.text(size)
        counts[hostile] = calls_of(lambda text=text: redactor.text(text)) // (size // 1024)

    slowest = max(counts, key=counts.__getitem__)
    assert counts[slowest] <= MOST_CALLS_PER_KB, slowest


@pytest.mark.parametrize("name", HOSTILE)
def test_the_calls_and_matched_bytes_of_a_hostile_text_are_limited(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HOSTILE[name][:LENGTH]
    redactor = Redactor(text_cap=1 << 30)
    redactor.text("warm up")
    calls = calls_of(lambda: redactor.text(text))
    counter = Counter()
    pattern = cache(Rule.__dict__["_regex"].func)
    monkeypatch.setattr(Rule, "_regex", property(lambda rule: MeteredPattern(pattern(rule), counter)))
    redactor.text(text)

    assert calls <= MOST_CALLS_PER_KB * len(text) // 1024
    assert counter.bytes <= MOST_MATCHED * len(text)


DENSE = "password= token " * 4000


@pytest.mark.parametrize(
    "line",
    [
        "password: correct horse battery",
        "Passwort = weisse Rosen bluehen",
        '"passphrase": "correct horse battery"',
        "the seed phrase is river amount zebra river amount zebra",
        "пароль: белые розы цветут",
        "password=hunter" + "2xyz",
    ],
)
def test_a_text_that_is_too_dense_loses_what_is_assigned_to_a_word_for_a_password(line: str) -> None:
    redacted = Redactor(text_cap=1 << 30).text(f"{DENSE}\n{line}\nthe next line stays")

    for word in ("horse", "Rosen", "amount", "розы", "hunter"):
        assert word not in redacted.text
    assert redacted.text.endswith("\nthe next line stays")


def test_a_long_text_with_one_secret_is_searched_once_and_around_the_secret_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole text twice would use the work of a dense schema up, and its words would be lost."""
    searched: list[int] = []
    find = Finder.find

    def counted(finder: Finder, text: str, *more: Any) -> Any:
        searched.append(len(text))
        return find(finder, text, *more)

    monkeypatch.setattr(Finder, "find", counted)
    password = "Vk9_mQ2x" + "T7pLz4Rb"
    text = "plain words\n" * 8000 + f"password: {password}\n" + "plain words\n" * 8000

    redacted = Redactor().text(text, cap=1 << 30)

    assert password not in redacted.text
    assert searched[0] == len(text)
    assert sum(searched[1:]) < 30_000
