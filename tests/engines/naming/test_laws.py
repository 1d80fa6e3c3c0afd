"""Properties of learning and proposing that hold for any names in any order."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fazm_memory.engines.naming import Convention, ListedFile, Rename, learn, propose

WORDS = st.sampled_from(
    ["Acme", "blue sun", "IMG", "Ñandú", "re-port", "S01E02", "v2", "2026-11-14", "14.11.2026", "(1)", "007"]
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).flatmap(
    lambda words: st.sampled_from([" ", "_", "-", " - ", "."]).map(lambda joiner: joiner.join(words))
)
ANY_NAME = st.text(max_size=40)
PAIRS = st.lists(st.tuples(NAMES | ANY_NAME, NAMES | ANY_NAME), max_size=6)
LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

LEARNED = learn(
    [
        *(
            Rename(f"/d/IMG_2026{m:02}14_{n}.jpg", f"/d/2026-{m:02}-14 trip {n}.jpg", n)
            for m, n in ((1, 11), (7, 23), (12, 5))
        ),
        *(
            Rename(f"/d/{name}.pdf", f"/d/Docs/{name.lower().replace(' ', '-')}.pdf", 50)
            for name in ("A B", "Tax Form", "Lease")
        ),
        *(Rename(f"/d/x{n * 7}.png", f"/d/pic-{n:03}.png", 60 + n) for n in range(1, 5)),
    ]
).conventions


def renames_of(pairs: list[tuple[str, str]]) -> list[Rename]:
    return [Rename(f"/d/{before}.pdf", f"/d/{after}.pdf", seq) for seq, (before, after) in enumerate(pairs)]


@LAW
@given(PAIRS)
def test_learning_is_the_same_every_time(pairs: list[tuple[str, str]]) -> None:
    assert learn(renames_of(pairs)) == learn(renames_of(pairs))


@LAW
@given(
    st.lists(NAMES, min_size=3, max_size=6, unique=True).flatmap(
        lambda names: st.tuples(st.just(names), st.permutations(names))
    )
)
def test_the_order_of_renames_does_not_matter(both: tuple[list[str], list[str]]) -> None:
    ordered, shuffled = (
        [Rename(f"/d/{name}.pdf", f"/d/new_{name.lower()}.pdf") for name in names] for names in both
    )
    assert learn(ordered) == learn(shuffled)


@LAW
@given(PAIRS, st.lists(NAMES, max_size=4))
def test_a_convention_survives_json(pairs: list[tuple[str, str]], seen: list[str]) -> None:
    more = [*LEARNED, *learn(renames_of(pairs), [ListedFile(f"/d/{name}.txt") for name in seen]).conventions]
    assert [Convention.from_json(json.loads(json.dumps(c.to_json()))) for c in more] == more


@LAW
@given(
    ANY_NAME | NAMES,
    st.none() | st.text(max_size=12) | st.just("2026-01-02T03:04:05"),
    st.lists(ANY_NAME, max_size=3),
)
@example("IMG_20260714_1.jpg", None, [])
@example("/" * 300, None, ["/"])
@example("pic-" + "9" * 200 + ".png", None, ["pic-" + "9" * 100 + ".png"])
@example("a\0b\nc.jpg", "not a time", ["\ud800"])
def test_proposing_never_fails_whatever_the_name(name: str, mtime: str | None, taken: list[str]) -> None:
    for suffix in ("", ".jpg", ".pdf", ".png"):
        answer = propose(LEARNED, name + suffix, mtime=mtime, taken=taken)
        assert answer.because
        assert answer.becomes is None or answer.becomes not in taken


@LAW
@given(PAIRS)
def test_a_convention_explains_every_example_it_shows(pairs: list[tuple[str, str]]) -> None:
    for convention in learn(renames_of(pairs)).conventions:
        assert convention.support >= max(2, len(convention.examples))
        for before, after in convention.examples:
            answer = propose([convention], before)
            # A counter goes on; anything else comes out again, unless the name already has the new form.
            assert convention.program.counter or answer.becomes in (after, None)


@LAW
@given(PAIRS, st.lists(NAMES, max_size=6))
def test_every_file_of_a_processed_folder_is_processed_or_skipped_once(
    pairs: list[tuple[str, str]], seen: list[str]
) -> None:
    learned = learn(renames_of(pairs), [ListedFile(f"/d/{name}.txt") for name in seen])
    for folder in learned.folders:
        left = sum(one.count for one in learned.skipped if one.folder == folder.path)
        assert folder.processed + left == folder.total
