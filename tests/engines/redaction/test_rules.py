"""Every rule with its example and counterexample, and the encodings in which a secret is still found."""

from __future__ import annotations

import base64
import html
import json
import textwrap
import urllib.parse
from collections.abc import Callable

import pytest

from fazm_memory.engines.redaction import Rule, all_rules, default_redactor
from fazm_memory.engines.redaction.classify import Kind, is_placeholder, kind_of
from fazm_memory.engines.redaction.formats import is_card_number

RULES = all_rules()
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def secret_of(rule: Rule) -> str:
    start, end = rule.find_all(rule.example.encode("latin-1"))[0]
    return rule.example[start:end]


def shows(text: str, secret: str) -> bool:
    """Whether as much as ten characters of the secret can be read."""
    pieces = {secret[start : start + 10] for start in range(max(1, len(secret) - 9))}
    return any(piece in text for piece in pieces)


@every_rule
def test_a_rule_finds_its_example_and_not_its_counterexample(rule: Rule) -> None:
    assert rule.find_all(rule.example.encode("latin-1")) != []
    assert rule.find_all(rule.counterexample.encode("latin-1")) == []


@every_rule
def test_nothing_of_an_example_is_left_in_a_text(rule: Rule) -> None:
    redacted = default_redactor().text(f"before it\n{rule.example}\nafter it")

    assert not shows(redacted.text, secret_of(rule))
    assert redacted.findings
    assert redacted.text.startswith("before it\n")
    assert redacted.text.endswith("\nafter it")


def test_rules_cover_many_providers_and_have_unique_names() -> None:
    providers = {rule.provider for rule in RULES} - {"generic", "command line"}

    assert len(providers) >= 120
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(keyword == keyword.lower() for rule in RULES for keyword in rule.keywords)


def in_the_middle(text: str, secret: str, what: str) -> str:
    cut = text.index(secret) + len(secret) // 2
    return text[:cut] + what + text[cut:]


def full_width(text: str, secret: str) -> str:
    return text.replace(
        secret, "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in secret)
    )


def numbered(text: str, _: str) -> str:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.split("\n"), 1))


ENCODINGS: dict[str, Callable[[str, str], str]] = {
    "in JSON": lambda text, _: json.dumps({"out": f"one\n{text}\ntwo"}),
    "in JSON in JSON": lambda text, _: json.dumps(json.dumps({"out": f"one\n{text}\ntwo"})),
    "in an address": lambda text, _: "https://example.com/?q=" + urllib.parse.quote(text, safe=""),
    "in a page": lambda text, _: f"<pre>{html.escape(text)}</pre>",
    "in a literal": lambda text, _: repr({"command": text}),
    "in a numbered listing": numbered,
    "over a continued line": lambda text, secret: in_the_middle(text, secret, "\\\n"),
    "around a zero-width space": lambda text, secret: in_the_middle(text, secret, "\u200b"),
    "around an escape sequence": lambda text, secret: in_the_middle(text, secret, "\x1b[1m"),
    "around a null": lambda text, secret: in_the_middle(text, secret, "\0"),
    "with other ends of lines": lambda text, _: f"one\n{text}\ntwo".replace("\n", "\r\n"),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_escaped_or_split_secret_is_found(encoding: str) -> None:
    left = []
    for rule in RULES:
        text = default_redactor().text(ENCODINGS[encoding](rule.example, secret_of(rule))).text
        if shows(text.replace("\\", ""), secret_of(rule)):
            left.append(rule.name)

    assert left == []


def test_a_secret_in_full_width_letters_is_found() -> None:
    for rule in RULES:
        written = full_width(rule.example, secret_of(rule))
        assert not shows(
            default_redactor().text(written).text, full_width(secret_of(rule), secret_of(rule))
        ), rule.name


def encoded(text: str) -> str:
    return base64.b64encode(text.encode("latin-1")).decode()


HIDDEN: dict[str, Callable[[str], str]] = {
    "base64": lambda text: encoded(f"some text before it\n{text}\nmore"),
    "base64 for addresses": lambda text: (
        base64.urlsafe_b64encode(f"config: {text}".encode("latin-1")).decode().rstrip("=")
    ),
    "base64 of JSON": lambda text: encoded(json.dumps({"out": f"one\n{text}\ntwo"})),
    "base64 in lines": lambda text: "\n".join(
        textwrap.wrap(encoded(f"some text before it\n{text}\nmore"), 76)
    ),
    "base64 in base64": lambda text: encoded(encoded(f"config: {text}\n")),
    "base64 of UTF-16": lambda text: base64.b64encode(f"config: {text}".encode("utf-16-le")).decode(),
}


@pytest.mark.parametrize("wrapping", HIDDEN)
def test_a_wrapped_secret_is_found(wrapping: str) -> None:
    left = []
    for rule in RULES:
        wrapped = HIDDEN[wrapping](rule.example)
        if shows(default_redactor().text(f"data: {wrapped}\n").text, wrapped.replace("\n", "")):
            left.append(rule.name)

    assert left == []


def test_a_token_broken_over_two_lines_is_found_whole() -> None:
    tokens = [
        rule
        for rule in RULES
        if rule.example == secret_of(rule) and rule.keywords and rule.provider != "generic"
    ]
    left = []
    for rule in tokens:
        middle = len(rule.example) // 2
        text = (
            default_redactor()
            .text(f"export X={rule.example[:middle]}\n{rule.example[middle:]}\nnext line")
            .text
        )
        if shows(text, rule.example[middle:]):
            left.append(rule.name)

    assert len(tokens) > 100
    # These contain signs that end a word, so their second line is not taken for the rest of a key.
    assert sorted(left) == ["asana-token", "braintree-token", "kerberos-hash"]


@pytest.mark.parametrize(
    ("number", "valid"),
    [
        ("4" + "111111111111111", True),
        ("5" + "555555555554444", True),
        ("2" + "223003122003222", True),
        ("3" + "78282246310005", True),
        ("6" + "011111111111117", True),
        ("3" + "0569309025904", True),
        ("3" + "530111333300000", True),
        ("4" + "111111111111112", False),
        ("1" + "700000000000000", False),
        ("9" + "111111111111111", False),
    ],
)
def test_a_card_number_matches_a_scheme_and_the_luhn_check(number: str, valid: bool) -> None:
    assert is_card_number(number) is valid


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password", Kind.PASSWORD),
        ("DB_PASSWORD", Kind.PASSWORD),
        ("userPassword2", Kind.PASSWORD),
        ("PGPASSWORD", Kind.PASSWORD),
        ("SMTP_PASS", Kind.PASSWORD),
        ("apiKey", Kind.KEY),
        ("X-Api-Key", Kind.KEY),
        ("clientSecret", Kind.KEY),
        ("ACCESS_TOKEN_PROD", Kind.KEY),
        ("Set-Cookie", Kind.KEY),
        ("token", Kind.TOKEN),
        ("key", Kind.NONE),
        ("public_key", Kind.NONE),
        ("cache_key", Kind.NONE),
        ("session_id", Kind.NONE),
        ("next_page_token", Kind.NONE),
        ("max_tokens", Kind.NONE),
        ("tokenizer", Kind.NONE),
        ("secretName", Kind.NONE),
        ("password_field", Kind.NONE),
        ("compass", Kind.NONE),
        ("digest", Kind.NONE),
        ("input_hash", Kind.NONE),
    ],
)
def test_a_name_is_classified_by_what_it_holds(name: str, kind: Kind) -> None:
    assert kind_of(name) is kind


@pytest.mark.parametrize(
    "value",
    [
        "",
        "None",
        "${TOKEN}",
        "$TOKEN",
        "{{ token }}",
        "<your token>",
        "****",
        "%s:%s",
        "process.env.X",
        "op://vault/x",
        "…",
    ],
)
def test_a_placeholder_is_not_a_secret(value: str) -> None:
    assert is_placeholder(value)
