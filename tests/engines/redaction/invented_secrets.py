"""Invented secrets in the places where people write them.

`invented_secrets.json` describes formats of values and texts around them, from the documentation of
providers. A value is made up when a test runs, so no file contains a secret. The names of half of the cases
are held out: rules are written by looking at the other half.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DATA: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_MORE: dict[str, Any] = json.loads(Path(__file__).with_name("more_forms.json").read_text(encoding="utf-8"))
_DOCUMENTED: dict[str, Any] = json.loads(
    Path(__file__).with_name("provider_documents.json").read_text(encoding="utf-8")
)
_SLOT = re.compile(r"\{(\w+):(\d+)\}|\{uuid\}")
_UUID = "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"


@dataclass(frozen=True)
class Case:
    """A text, the secret in it, and what kind of case it is. `name` decides which half it belongs to."""

    family: str
    name: str
    text: str
    secret: str

    @property
    def is_held_out(self) -> bool:
        return zlib.crc32(self.name.encode()) % 2 == 1

    def is_removed_from(self, redacted: str) -> bool:
        """Whether neither the secret nor one of its halves is left."""
        half = len(self.secret) // 2
        halves = (self.secret[:half], self.secret[half:]) if half >= 8 else ()
        return not any(part in redacted for part in (self.secret, *halves))


def invented(template: str, seed: str) -> str:
    """Fill in the slots of a template, the same for the same seed: `{hex:8}` is 8 hex digits."""
    chosen = random.Random(seed)
    return _SLOT.sub(lambda slot: _filled(slot, chosen), template)


def _filled(slot: re.Match[str], chosen: random.Random) -> str:
    if slot[1] is None:
        return _SLOT.sub(lambda inner: _filled(inner, chosen), _UUID)
    return "".join(chosen.choice(_DATA["alphabets"][slot[1]]) for _ in range(int(slot[2])))


def _placed(form: str, **parts: str) -> str:
    for name, part in parts.items():
        form = form.replace("{" + name + "}", part)
    return form


def cases() -> Iterator[Case]:
    yield from _formats()
    yield from _near_services()
    yield from _assigned()
    yield from _documents()
    yield from _more_near_services()
    yield from _more_assigned()
    yield from _documented()


def _formats() -> Iterator[Case]:
    for template in _DATA["formats"]:
        for form in ("{v}", "token: {v}", "curl -H 'X: {v}' https://h", 'x("{v}")'):
            secret = invented(template, template + form)
            yield Case("format", template, _placed(form, v=secret), secret)


def _near_services() -> Iterator[Case]:
    for service, template in _DATA["services"].items():
        for family, forms in _DATA["near_a_service"].items():
            for form in forms:
                secret = invented(template, service + form)
                text = _placed(form, v=secret, s=service, S=service.upper(), C=service.capitalize())
                yield Case(f"service, {family}", service, text, secret)


def _assigned() -> Iterator[Case]:
    assigned, passwords = _DATA["assigned"], _DATA["passwords"]
    for form in assigned["forms"]:
        for template in assigned["values"]:
            name = random.Random(form + template).choice(assigned["names"])
            secret = invented(template, form)
            yield Case("assigned", form + template, _placed(form, v=secret, n=name, N=name.upper()), secret)
    for form in passwords["forms"]:
        for secret in passwords["values"]:
            yield Case("password", form + secret, _placed(form, v=secret), secret)


def _documents() -> Iterator[Case]:
    for template in _DATA["documents"]:
        *_, last = _SLOT.finditer(template)
        before, after = template[: last.start()], template[last.end() :]
        for seed in ("1", "2", "3"):
            secret = invented(last[0], seed + template)
            yield Case("document", template, invented(before, seed) + secret + invented(after, seed), secret)


def _more_near_services() -> Iterator[Case]:
    """A second list, of other services and forms. Of each form 20 services."""
    services = [name for line in _MORE["services"] for name in line.split()]
    for family, forms in _MORE["near_a_service"].items():
        for form in forms:
            chosen = random.Random(form)
            for service in chosen.sample(services, 20):
                secret = invented(chosen.choice(_MORE["values"]), service + form)
                text = _placed(form, v=secret, s=service, S=service.upper(), C=service.capitalize())
                yield Case(f"second list, {family}", form + service, text, secret)


def _more_assigned() -> Iterator[Case]:
    """A second list of ways to assign a value: 130 forms of languages, configurations and command lines."""
    names = _MORE["names"].split()
    passwords = [name for name in names if "pass" in name.lower()]
    for form in _MORE["assigned"]:
        chosen = random.Random(form)
        for name in chosen.sample(names, 8):
            secret = invented(chosen.choice(_MORE["values"]), name + form)
            text = _placed(form, v=secret, n=name, N=name.upper())
            yield Case("second list, assigned", form, text, secret)
        for name in chosen.sample(passwords, 3):
            secret = invented(chosen.choice(_MORE["passwords"]), name + form)
            text = _placed(form, v=secret, n=name, N=name.upper())
            yield Case("second list, password", form, text, secret)


def _documented() -> Iterator[Case]:
    """A fourth list: keys of 320 providers under the names of their documentation, each in 9 of 196 contexts,
    and the examples of their documents. A secret in a document is marked: `«{hex:32}»`. A fifth list was
    collected from documents of providers and programs later. A sixth was written without a look at the rules.
    """
    contexts = _DOCUMENTED["contexts"]
    for number, (service, name, template) in enumerate(_DOCUMENTED["keys"]):
        first, *others = name.lower().split("_")
        camel = first + "".join(part.title() for part in others)
        parts = {"N": name, "n": name.lower(), "k": name.lower().replace("_", "-"), "c": camel}
        parts |= {"P": camel[0].upper() + camel[1:], "S": service, "s": re.sub(r"\W+", "", service.lower())}
        for step in range(9):
            form = contexts[(number * 9 + step * 37 + number // 7) % len(contexts)]
            secret = invented(template, service + name + form)
            text = _placed(_unescaped(form), **parts, v=secret)
            yield Case("documented, keys", form + service, text, secret)
    for family, templates in (
        ("documented, examples", "documents"),
        ("collected", "collected"),
        ("written again", "written again"),
    ):
        for template in _DOCUMENTED[templates]:
            for seed in ("1", "2"):
                text = _unescaped(invented(template, template + seed))
                for secret in re.findall("«(.*?)»", text, re.DOTALL):
                    yield Case(family, template, re.sub("[«»]", "", text), secret)


def _unescaped(form: str) -> str:
    return form.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
