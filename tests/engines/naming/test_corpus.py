"""A corpus of conventions: a few examples are shown, the rest must be predicted, noise must be declined.

The conventions are data (corpus/*.toml); the generator here knows nothing of the program language
it tests, so that adding a convention is adding a table.
"""

from __future__ import annotations

import random
import re
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fazm_memory.engines.naming import Convention, Proposal, Rename, learn, propose

CORPUS = Path(__file__).parent / "corpus"
POOLS: dict[str, list[str]] = tomllib.loads((CORPUS / "pools.toml").read_text(encoding="utf-8"))
FOLDER = "/home/ada/Inbox"

# --- the generator ---------------------------------------------------------------------------------------

_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_GERMAN_MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
_MONTHS_DE = tuple(_GERMAN_MONTHS.split())
_ARTICLES = "a an and as at but by for from in of on or the to with"
_SMALL = frozenset(_ARTICLES.split())
_FOLDERS = {
    "pdf": "Documents",
    "docx": "Documents",
    "jpg": "Pictures",
    "png": "Pictures",
    "mp3": "Music",
    "mp4": "Movies",
    "zip": "Archives",
}


def _words(text: str) -> list[str]:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text.replace("'", ""))
    return re.findall(r"[^\W_]+", text)


def _capitals(words: list[str]) -> list[str]:
    return [word[:1].upper() + word[1:].lower() for word in words]


_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def _roman(text: str) -> str:
    number, out = int(text), ""
    for value, letters in _ROMAN:
        while number >= value:
            out, number = out + letters, number - value
    return out


FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": lambda text: " ".join(_capitals(text.split())),
    "smalltitle": lambda text: " ".join(
        word.lower() if i and word.lower() in _SMALL else word.capitalize()
        for i, word in enumerate(text.split())
    ),
    "sentence": lambda text: text[:1].upper() + text[1:].lower(),
    "slug": lambda text: "-".join(_words(text)).lower(),
    "kebab": lambda text: "-".join(_words(text)).lower(),
    "snake": lambda text: "_".join(_words(text)).lower(),
    "screaming": lambda text: "_".join(_words(text)).upper(),
    "camel": lambda text: _words(text)[0].lower() + "".join(_capitals(_words(text)[1:])),
    "pascal": lambda text: "".join(_capitals(_words(text))),
    "train": lambda text: "-".join(_capitals(_words(text))),
    "dots": lambda text: text.replace(" ", "."),
    "under": lambda text: text.replace(" ", "_"),
    "dash": lambda text: text.replace(" ", "-"),
    "plusses": lambda text: text.replace(" ", "+"),
    "joined": lambda text: text.replace(" ", ""),
    "percent": lambda text: quote(text),
    "ascii": lambda text: "".join(
        c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
    ),
    "german": lambda text: text.translate(_GERMAN),
    "int": lambda text: str(int(text)),
    "roman": _roman,
    "initials": lambda text: "".join(word[0] for word in _words(text)).upper(),
    "usual": lambda text: {"jpeg": "jpg", "tiff": "tif"}.get(text.lower(), text.lower()),
    "folder": lambda text: _FOLDERS[text.lower()],
    "firstword": lambda text: text.split()[0],
    "lastword": lambda text: text.split()[-1],
}


def _date(at: datetime, form: str) -> str:
    if form == "epoch":
        return str(int(at.replace(tzinfo=UTC).timestamp()))
    form = form.replace("%B@de", _MONTHS_DE[at.month - 1]).replace("%q", str((at.month + 2) // 3))
    tail = "th" if 10 <= at.day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(at.day % 10, "th")
    return at.strftime(form.replace("%o", f"{at.day}{tail}"))


def _filtered(value: Any, filters: list[str]) -> str:
    if isinstance(value, datetime):
        text, filters = _date(value, filters[0]), filters[1:]
    else:
        text = str(value)
    for name in filters:
        sized = re.fullmatch(r"(pad|first|last|max|plus)(-?\d+)", name)
        if sized is None:
            text = FILTERS[name](text)
            continue
        kind, size = sized.group(1), int(sized.group(2))
        if kind == "pad":
            text = text.zfill(size)
        elif kind == "plus":
            text = str(int(text) + size)
        else:
            text = text[-size:] if kind == "last" else text[:size]
            text = text.rstrip("-_ ") if kind == "max" else text
    return text


def render(template: str, values: dict[str, Any]) -> str:
    def one(match: re.Match[str]) -> str:
        name, *filters = match.group(1).split("|")
        return _filtered(values[name], filters)

    return re.sub(r"\{([^{}]+)\}", one, template)


def _moment(rng: random.Random) -> datetime:
    return datetime(2015, 1, 1) + timedelta(seconds=rng.randrange(11 * 365 * 86400))


def draw(spec: Any, name: str, index: int, rng: random.Random) -> Any:
    if isinstance(spec, list):
        return rng.choice(spec)
    kind, *rest = (spec or ("date" if name in ("date", "mtime") else f"pool {name}")).split()
    if kind == "date":
        return _moment(rng)
    if kind == "pool":
        return rng.choice(POOLS[rest[0]])
    if kind == "int":
        return rng.randint(int(rest[0]), int(rest[1]))
    if kind == "seq":
        return int(rest[0]) + 3 * index + rng.randrange(3)
    if kind == "count":
        return int(rest[0]) + index * int(rest[1] if len(rest) > 1 else 1)
    if kind == "hex":
        return "".join(rng.choice("0123456789abcdef") for _ in range(int(rest[0])))
    raise ValueError(spec)


@dataclass(frozen=True)
class Pair:
    before: str
    after: str
    mtime: str
    case: int


def generate(convention: dict[str, Any], count: int, seed: int) -> list[Pair]:
    """Distinct renames under a convention, in the order a session would make them."""
    rng = random.Random(f"{convention['name']}/{seed}")
    fields: dict[str, Any] = convention.get("fields", {})
    cases = convention.get("cases") or [{"before": convention["before"], "after": convention["after"]}]
    pairs: list[Pair] = []
    seen: set[str] = set()
    for attempt in range(count * 20):
        if len(pairs) == count:
            break
        case = attempt % len(cases)
        before = cases[case]["before"]
        before = before[attempt % len(before)] if isinstance(before, list) else before
        names = {name.split("|")[0] for name in re.findall(r"\{([^{}]+)\}", before + cases[case]["after"])}
        values = {name: draw(fields.get(name), name, len(pairs), rng) for name in sorted(names | {"mtime"})}
        pair = Pair(
            render(before, values), render(cases[case]["after"], values), values["mtime"].isoformat(), case
        )
        if pair.before != pair.after and pair.before not in seen and pair.after not in seen:
            seen |= {pair.before, pair.after}
            pairs.append(pair)
    return pairs


@dataclass
class Tally:
    right: int = 0
    wrong: int = 0
    declined: int = 0

    @property
    def total(self) -> int:
        return self.right + self.wrong + self.declined


@dataclass(frozen=True)
class Trial:
    """A convention shown with a few examples, and what was said about the rest."""

    name: str
    shown: list[Pair]
    learned: tuple[Convention, ...]
    answers: list[tuple[Pair, Proposal]]

    def tally(self) -> Tally:
        tally = Tally()
        for pair, proposal in self.answers:
            if proposal.becomes is None:
                tally.declined += 1
            elif proposal.becomes == pair.after:
                tally.right += 1
            else:
                tally.wrong += 1
        return tally


def trial(convention: dict[str, Any], seed: int) -> Trial:
    pairs = generate(convention, 24, seed)
    cases = len(convention.get("cases", "1"))
    shown = random.Random(f"{seed}/{convention['name']}").randint(3, 8) * cases
    renames = [
        Rename(f"{FOLDER}/{pair.before}", f"{FOLDER}/{pair.after}", seq, pair.mtime)
        for seq, pair in enumerate(pairs[:shown])
    ]
    conventions = learn(renames).conventions
    taken = {pair.after for pair in pairs[:shown]}
    answers = []
    for pair in pairs[shown:]:
        answers.append((pair, propose(conventions, pair.before, mtime=pair.mtime, taken=taken)))
        taken.add(pair.after)
    return Trial(convention["name"], pairs[:shown], conventions, answers)


def corpus(name: str) -> list[dict[str, Any]]:
    data = tomllib.loads((CORPUS / f"{name}.toml").read_text(encoding="utf-8"))
    return list(data["convention"])


# --- what is held out is predicted -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["conventions", "fresh", "later", "last", "newest"])
def test_of_conventions_shown_by_three_to_eight_examples_95_percent_of_the_rest_is_exactly_right(
    name: str,
) -> None:
    total = Tally()
    missed = []
    for convention in corpus(name):
        tally = trial(convention, seed=0).tally()
        total.right += tally.right
        total.wrong += tally.wrong
        total.declined += tally.declined
        if tally.wrong or tally.declined:
            missed.append(f"{convention['name']}: {tally}")
    print(f"{name}: {len(corpus(name))} conventions, {total}, {total.right / total.total:.1%} right")
    assert total.right >= 0.95 * total.total, missed
    assert total.wrong <= 0.01 * total.total, missed


def test_there_are_enough_conventions_and_each_generates_enough_names_to_hold_some_out() -> None:
    sets = ("conventions", "fresh", "later", "last", "newest")
    conventions = [convention for name in sets for convention in corpus(name)]
    assert len(conventions) >= 200
    assert len({convention["name"] for convention in conventions}) == len(conventions)
    assert [c["name"] for c in conventions if len(generate(c, 12, seed=0)) < 10] == []


# --- where there is nothing to learn, nothing is proposed ------------------------------------------------


def _proposed(renames: list[Rename], names: list[str]) -> list[tuple[str, str]]:
    conventions = learn(renames).conventions
    answers = (propose(conventions, name, mtime="2026-01-02T03:04:05") for name in names)
    return [(answer.name, answer.becomes) for answer in answers if answer.becomes is not None]


_NOISE = tomllib.loads((CORPUS / "noise.toml").read_text(encoding="utf-8"))["noise"]


@pytest.mark.parametrize("noise", _NOISE, ids=lambda noise: noise["name"])
def test_one_file_at_a_time_is_no_convention(noise: dict[str, Any]) -> None:
    pairs = [(f"{FOLDER}/{before}", f"{FOLDER}/{after}") for before, after in noise["renames"]]
    renames = [Rename(before, after, seq) for seq, (before, after) in enumerate(pairs)]
    assert _proposed(renames, noise["names"]) == []
    assert all(propose(learn(renames).conventions, name).because for name in noise["names"])


def _any_name(rng: random.Random) -> str:
    words = [rng.choice(POOLS["thing"]).lower() for _ in range(rng.randint(1, 2))]
    return rng.choice(
        [
            rng.choice([" ", "_", "-"]).join(words),
            words[0] + str(rng.randint(1, 9999)),
            f"IMG_{rng.randint(1, 9999):04}",
            f"{rng.getrandbits(32):08x}",
            _moment(rng).strftime("%Y-%m-%d ") + words[0],
        ]
    )


@pytest.mark.parametrize("seed", range(16))
def test_random_renames_are_declined(seed: int) -> None:
    rng = random.Random(seed)
    ext = rng.choice(["pdf", "jpg", "txt"])
    count = rng.randint(3, 12)
    renames = [
        Rename(f"/d/{_any_name(rng)}.{ext}", f"/d/{_any_name(rng)}.{ext}", seq, _moment(rng).isoformat())
        for seq in range(count)
    ]
    assert _proposed(renames, [f"{_any_name(rng)}.{ext}" for _ in range(10)]) == []


@pytest.mark.parametrize("convention", corpus("conventions")[::6], ids=lambda convention: convention["name"])
def test_a_convention_with_its_results_dealt_to_the_wrong_files_is_declined(
    convention: dict[str, Any],
) -> None:
    pairs = generate({"cases": (convention.get("cases") or [convention])[:1], **convention}, 16, seed=5)
    shown = pairs[:8]
    dealt = [*(pair.after for pair in shown[1:]), shown[0].after]
    if "{i" in str(convention) or any(pair.after == after for pair, after in zip(shown, dealt, strict=True)):
        pytest.skip("a counter does not care which file it counts")
    renames = [
        Rename(f"/d/{pair.before}", f"/d/{after}", seq, pair.mtime)
        for seq, (pair, after) in enumerate(zip(shown, dealt, strict=True))
    ]
    assert _proposed(renames, [pair.before for pair in pairs[8:]]) == []


@pytest.mark.parametrize("convention", corpus("fresh")[::4], ids=lambda convention: convention["name"])
def test_a_convention_followed_by_half_of_the_files_is_declined(convention: dict[str, Any]) -> None:
    rng = random.Random(convention["name"])
    pairs = generate(convention, 16, seed=7)
    own = [f"{rng.choice(POOLS['item'])} {rng.choice(POOLS['first'])}" for _ in range(8)]
    renames = [
        Rename(
            f"/d/{pair.before}",
            f"/d/{own[seq]}.{pair.before.rpartition('.')[2]}" if seq % 2 else f"/d/{pair.after}",
            seq,
            pair.mtime,
        )
        for seq, pair in enumerate(pairs[:8])
    ]
    assert _proposed(renames, [pair.before for pair in pairs[8:]]) == []
