"""Several sources become one, in the order of happening, whatever comes in whichever chunk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events.event import Draft
from fazm_memory.ingest.importer import DraftStream, take_ordered

TIMES = st.lists(st.integers(1, 50), max_size=30)


def drafts(source: int, times: list[int]) -> list[Draft]:
    return [Draft("s", "seen", key=f"{source}:{number}", at=at) for number, at in enumerate(times)]


@given(sources=st.lists(TIMES, min_size=1, max_size=4), chunk=st.integers(1, 7))
def test_all_is_reported_once_in_each_sources_order_and_by_time_across_them(
    sources: list[list[int]], chunk: int
) -> None:
    results = [drafts(number, sorted(times)) for number, times in enumerate(sources)]
    left = [list(one) for one in results]
    streams = [DraftStream() for _ in results]
    merged: list[Draft] = []
    while not all(stream.ended and not stream.waiting for stream in streams):
        for stream, rest in zip(streams, left, strict=True):
            if not stream.waiting and not stream.ended:
                stream.add(rest[:chunk])
                del rest[:chunk]
                stream.ended = not rest
        merged += [draft for _, draft in take_ordered(streams)]

    assert sorted(str(draft.key) for draft in merged) == sorted(
        str(one.key) for all_ in results for one in all_
    )
    assert [draft.at for draft in merged] == sorted(draft.at or 0 for draft in merged)
    for number, one in enumerate(results):
        assert [draft for draft in merged if str(draft.key).startswith(f"{number}:")] == one


def test_nothing_is_reported_that_an_unread_source_may_still_precede() -> None:
    early, late = DraftStream(), DraftStream(ended=True)
    early.add(drafts(0, [1, 5]))
    late.add(drafts(1, [3, 5, 6]))

    assert [draft.at for _, draft in take_ordered([early, late])] == [1, 3, 5, 5]
    early.ended = True
    assert [draft.at for _, draft in take_ordered([early, late])] == [6]


def test_a_source_whose_clock_goes_back_keeps_its_order() -> None:
    stream = DraftStream(ended=True)
    stream.add(drafts(0, [5, 2, 9]))

    assert [draft.at for _, draft in take_ordered([stream])] == [5, 2, 9]


def test_what_has_no_time_comes_after_what_stands_before_it() -> None:
    first, second = DraftStream(ended=True), DraftStream(ended=True)
    first.add([Draft("s", "seen", at=4), Draft("s", "seen", key="untimed")])
    second.add(drafts(1, [3, 5]))

    assert [draft.at for _, draft in take_ordered([first, second])] == [3, 4, None, 5]
