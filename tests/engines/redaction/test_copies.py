"""Every copy of a value that was redacted once.

The class: a secret that its name gives away in one place and that stands alone in another. Looked for: the
same text, other fields, keys, lists, later and earlier events, parts of a cookie, and words that must stay.
"""

from __future__ import annotations

from fazm_memory.engines.redaction import KnownSecrets, default_redactor

SECRET = "Kq29x_Pw81mm"


def test_a_bare_copy_in_the_same_text_is_redacted() -> None:
    text = default_redactor().text(f"export DB_PASSWORD={SECRET}\nI typed {SECRET} again").text

    assert text == "export DB_PASSWORD=[REDACTED:named-secret]\nI typed [REDACTED:named-secret] again"


def test_copies_in_other_fields_and_keys_are_redacted() -> None:
    value, found = default_redactor().value(
        {"env": {"password": SECRET}, "log": [f"used {SECRET}"], f"about {SECRET}": 1}
    )

    assert SECRET not in repr(value)
    assert found == ("named-secret",)


def test_a_copy_in_a_later_value_of_the_session_is_redacted() -> None:
    secrets = KnownSecrets()
    default_redactor().value({"password": SECRET}, secrets)

    assert default_redactor().value({"text": f"got {SECRET}"}, secrets)[0] == {
        "text": "got [REDACTED:named-secret]"
    }
    assert default_redactor().value({"text": f"got {SECRET}"})[0] == {"text": f"got {SECRET}"}


def test_a_copy_of_one_value_of_a_cookie_is_redacted() -> None:
    text = (
        default_redactor()
        .text("Cookie: theme=dark; sid=a7Kq2ZmX9bR4tVw8Ec3n\nsent a7Kq2ZmX9bR4tVw8Ec3n")
        .text
    )

    assert "a7Kq2ZmX9bR4" not in text
    assert "sent [REDACTED:cookie]" in text


def test_a_word_and_a_part_of_a_longer_word_are_no_copies() -> None:
    redact = default_redactor().text

    assert redact("password: letmein\nthen letmein again").text.endswith("then letmein again")
    assert redact("password: hunter22\nhunter2244 is a file").text.endswith("hunter2244 is a file")


def test_redacting_copies_twice_changes_nothing() -> None:
    once = default_redactor().text(f"token: {SECRET}\n{SECRET}").text

    assert default_redactor().text(once).text == once


def test_old_secrets_are_dropped_at_the_limit() -> None:
    secrets = KnownSecrets()
    for number in range(2000):
        secrets.add(f"Kq29x_{number:06}", "named-secret")

    assert len(secrets) == 512
    assert secrets.copies("Kq29x_001999")
    assert not secrets.copies("Kq29x_000001")
