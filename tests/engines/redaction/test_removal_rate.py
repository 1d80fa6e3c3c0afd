"""How many invented secrets are removed, and what looks like a secret and stays."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from fazm_memory.engines.redaction import default_redactor
from tests.engines.redaction.invented_secrets import Case, cases, invented

# The least share that is removed, in percent, of each family of cases.
LEAST = {
    "format": 97,
    "service, named": 94,
    "service, bare": 91,
    "assigned": 97,
    "password": 97,
    "document": 96,
    "second list, named": 98,
    "second list, bare": 94,
    "second list, assigned": 97,
    "second list, password": 84,
    "documented, keys": 99,
    "documented, examples": 97,
    "collected": 96,
    "written again": 94,
}
LOOKALIKES = json.loads(Path(__file__).with_name("lookalikes.json").read_text(encoding="utf-8"))


def redact(text: str) -> str:
    return default_redactor().text(text).text


@pytest.mark.parametrize("held_out", [False, True], ids=["seen", "held out"])
def test_most_invented_secrets_are_removed(held_out: bool) -> None:
    total: Counter[str] = Counter()
    missed: dict[str, list[Case]] = {}
    for case in cases():
        if case.is_held_out == held_out:
            total[case.family] += 1
            if not case.is_removed_from(redact(case.text)):
                missed.setdefault(case.family, []).append(case)

    assert set(total) == set(LEAST)
    for family, least in LEAST.items():
        share = 100 - 100 * len(missed.get(family, ())) / total[family]
        assert share >= least, [case.text for case in missed[family]][:5]


@pytest.mark.parametrize("template", LOOKALIKES)
def test_what_only_looks_like_a_secret_stays(template: str) -> None:
    text = invented(template, template)

    assert redact(text) == text


@pytest.mark.parametrize("text", ["", "A", "no secret here", "password"])
def test_a_case_notices_a_secret_that_is_left(text: str) -> None:
    case = Case("format", "name", "text", "k3v9x1qz7m2p8w4t")

    assert case.is_removed_from(text)
    assert not case.is_removed_from(text + case.secret)
    assert not case.is_removed_from(text + case.secret[:8])
    assert not case.is_removed_from(text + case.secret[8:])
