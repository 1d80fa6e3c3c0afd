"""The desktop without a desktop: what is left alone, and what observations come to."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.clock import parse_time
from fazm_memory.engines.redaction import Redactor, default_redactor
from fazm_memory.events.event import Draft
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.store.store import Store
from fazm_memory.watch.foreground_app import (
    LONGEST,
    SECOND,
    SILENCE,
    TITLE,
    Available,
    ForegroundWindow,
    HiddenWindow,
    Observation,
    SpanMerger,
    Unavailable,
    document_of,
    title_of,
)
from fazm_memory.watch.scope import Exclusions

T0 = 1_790_000_000_000_000
EDITOR = "com.example.editor"


def at(seconds: float) -> int:
    return T0 + round(seconds * SECOND)


def seen(
    seconds: float, title: str | None = None, app: str = "Editor", document: str | None = None
) -> ForegroundWindow:
    return ForegroundWindow(at(seconds), app, EDITOR if app == "Editor" else None, title, document)


def watched(
    *results: Observation, close: float | None = None, redactor: Redactor | None = None
) -> list[Draft]:
    merger = SpanMerger(redactor or default_redactor())
    drafts = [draft for one in results for draft in merger.take(one)]
    return drafts + (merger.close(at(close)) if close is not None else [])


def spans(drafts: list[Draft]) -> list[tuple[float, float, str, Any]]:
    return [
        (
            ((draft.at or 0) - T0) / SECOND,
            (parse_time(draft.payload["until"]) - T0) / SECOND,
            draft.payload["app"],
            draft.payload.get("title"),
        )
        for draft in drafts
        if draft.kind == "app"
    ]


def gaps(drafts: list[Draft]) -> list[tuple[str, float, float]]:
    return [
        (
            draft.payload["what"],
            (parse_time(draft.payload["since"]) - T0) / SECOND,
            (parse_time(draft.payload["until"]) - T0) / SECOND,
        )
        for draft in drafts
        if draft.kind == "gap"
    ]


# -- exclusions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bundle"),
    [
        ("1Password 7", "com.agilebits.onepassword7"),
        ("1Password", "com.1password.1password"),
        ("Bitwarden", "com.bitwarden.desktop"),
        ("KeePassXC", "org.keepassxc.keepassxc"),
        ("Keychain Access", "com.apple.keychainaccess"),
        ("Schlüsselbundverwaltung", None),
        ("Passwords", "com.apple.Passwords"),
        ("Renamed by its user", "com.apple.keychainaccess"),
        ("\u200eLastPass", None),
        ("SecurityAgent", "com.apple.SecurityAgent"),
        ("loginwindow", "com.apple.loginwindow"),
        ("Tor Browser", "org.torproject.torbrowser"),
        (None, "com.example.nameless"),
        ("", None),
    ],
)
def test_what_keeps_secrets_is_left_alone(name: str | None, bundle: str | None) -> None:
    assert Exclusions().app(name, bundle)


@pytest.mark.parametrize(
    ("name", "bundle"),
    [("Safari", "com.apple.Safari"), ("Terminal", "com.apple.Terminal"), ("Xcode", None), ("Notes", None)],
)
def test_other_apps_are_seen(name: str, bundle: str | None) -> None:
    assert not Exclusions().app(name, bundle)


@pytest.mark.parametrize(
    "title",
    [
        "News - Google Chrome (Incognito)",
        "News — Private Browsing",
        "Microsoft Edge - [InPrivate]",
        "Nachrichten – Google Chrome (Inkognito)",
        "Actualités — Navigation privée",
        "ニュース - シークレット",
        "In\u200bcognito",
    ],
)
def test_a_private_window_is_known_by_its_title(title: str) -> None:
    assert Exclusions().window(title)
    assert not Exclusions().window("notes.md — Edited")
    assert not Exclusions().window(None)


def test_the_user_adds_to_what_is_left_alone_and_takes_nothing_away() -> None:
    own = Exclusions().also(bundles=["com.bank.*"], names=["Diary"])
    assert own.app("Bank", "com.bank.app")
    assert own.app("diary", None)
    assert own.app("Bitwarden", "com.bitwarden.desktop")
    assert not Exclusions().app("Diary", None)


# -- what windows say ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "document"),
    [
        ("file:///Users/x/My%20notes.md", "/Users/x/My notes.md"),
        ("file://localhost/tmp/a", "/tmp/a"),
        ("/plain/path", "/plain/path"),
        ("https://user:pass@example.com:8080/a?token=s3cret#frag", "https://example.com:8080/a"),
        ("about:blank", None),
        ("file:relative", None),
        ("file:///a%00b", None),
        ("http://[broken", None),
        ("https://example.com:port/", None),
        ("x" * 5000, None),
        ("", None),
        (None, None),
    ],
)
def test_a_document_is_a_path_or_a_page_without_its_query(address: str | None, document: str | None) -> None:
    assert document_of(address) == document


def test_a_title_is_one_line_and_an_endless_one_is_none() -> None:
    assert title_of(" a\n b ") == "a b"
    assert title_of("   ") is None
    assert title_of("x" * 10_001) is None


# -- spans ---------------------------------------------------------------------------------------------------


def test_equal_neighbours_are_one_span() -> None:
    drafts = watched(*(seen(n * 10, "a") for n in range(4)), seen(40, "b"), seen(50, "b"), close=60)
    assert spans(drafts) == [(0, 40, "Editor", "a"), (40, 60, "Editor", "b")]


def test_a_flicker_belongs_to_the_span_around_it() -> None:
    drafts = watched(seen(0, "a"), seen(10, None, "Finder"), seen(10.5, "a"), close=20)
    assert spans(drafts) == [(0, 20, "Editor", "a")]


def test_what_was_only_ever_a_flicker_leaves_nothing() -> None:
    assert watched(seen(0, "a"), close=0.5) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("⠋ building", "⠙ building"),
        ("notes.md", "● notes.md"),
        ("notes.md", "notes.md — Edited"),
        ("Inbox", "(3) Inbox"),
        ("✳ Claude", "✶ Claude"),
    ],
)
def test_a_title_that_only_changes_its_decoration_is_the_same(first: str, second: str) -> None:
    assert spans(watched(seen(0, first), seen(5, second), seen(10, first), close=15)) == [
        (0, 15, "Editor", first)
    ]


def test_the_same_title_of_another_document_is_another_span() -> None:
    drafts = watched(
        seen(0, "README", document="/a/README"), seen(5, "README", document="/b/README"), close=9
    )
    assert [draft.payload["document"] for draft in drafts] == ["/a/README", "/b/README"]


def test_titles_that_change_faster_than_they_settle_are_still_a_span_of_their_app() -> None:
    results = [seen(0, "a"), *(seen(10 + n / 5, f"line {n}", "Terminal") for n in range(20))]
    drafts = watched(*results, close=14)
    assert spans(drafts)[0] == (0, 10, "Editor", "a")
    assert {app for _, _, app, _ in spans(drafts)[1:]} == {"Terminal"}
    assert spans(drafts)[-1][1] == 14


def test_an_app_whose_title_never_rests_does_not_fill_the_log() -> None:
    drafts = watched(*(seen(n * 1.5, f"{n} frames", "Player") for n in range(2400)), close=3600)
    assert len(drafts) < 3600 / 60 * 16
    assert spans(drafts)[-1][1] == 3600


def test_a_long_span_is_reported_in_pieces() -> None:
    end = 2.5 * LONGEST / SECOND
    drafts = watched(*(seen(n * 10, "a") for n in range(round(end / 10))), close=end)
    assert [(since, until) for since, until, _, _ in spans(drafts)] == [(0, 900), (900, 1800), (1800, 2250)]
    assert len({draft.key for draft in drafts}) == 3


def test_what_is_hidden_ends_the_span_and_is_not_reported() -> None:
    drafts = watched(seen(0, "a"), HiddenWindow(at(10)), seen(20, "b"), close=30)
    assert spans(drafts) == [(0, 10, "Editor", "a"), (20, 30, "Editor", "b")]
    assert gaps(drafts) == []


def test_sleep_and_lock_are_gaps_with_their_reason() -> None:
    drafts = watched(
        seen(0, "a"),
        Unavailable(at(10), "locked"),
        Unavailable(at(20), "asleep"),
        Available(at(5000), "asleep"),
        Available(at(5010), "locked"),
        seen(5011, "a"),
        close=5020,
    )
    assert spans(drafts) == [(0, 10, "Editor", "a"), (5011, 5020, "Editor", "a")]
    assert gaps(drafts) == [("asleep", 20, 5000), ("locked", 10, 5010)]


def test_a_waking_that_nobody_reported_ends_the_gap_with_the_first_thing_seen() -> None:
    drafts = watched(Unavailable(at(0), "asleep"), seen(100, "a"), close=110)
    assert gaps(drafts) == [("asleep", 0, 100)]


def test_without_permission_apps_are_still_reported_and_the_gap_says_what_is_missing() -> None:
    drafts = watched(
        Unavailable(at(0), "permission missing"),
        seen(1),
        seen(10),
        Available(at(20), "permission missing"),
        seen(21, "a"),
        close=30,
    )
    assert spans(drafts) == [(1, 21, "Editor", None), (21, 30, "Editor", "a")]
    assert gaps(drafts) == [("permission missing", 0, 20)]
    assert [draft.payload["note"] for draft in drafts if draft.kind == "gap"] == [
        "apps were seen, their windows and documents were not"
    ]


def test_a_permission_that_never_came_is_reported_at_the_end() -> None:
    assert gaps(watched(Unavailable(at(0), "permission missing"), close=50)) == [
        ("permission missing", 0, 50)
    ]


def test_a_silence_is_a_gap_and_no_span_covers_it() -> None:
    silent = 10 + SILENCE / SECOND + 100
    drafts = watched(seen(0, "a"), seen(10, "a"), seen(silent, "a"), close=silent + 5)
    assert spans(drafts) == [(0, 10, "Editor", "a"), (silent, silent + 5, "Editor", "a")]
    assert gaps(drafts) == [("unobserved", 10, silent)]


def test_a_clock_that_is_set_back_makes_no_span_of_negative_length() -> None:
    drafts = watched(seen(100, "a"), seen(110, "a"), seen(50, "a"), seen(60, "a"), close=70)
    assert spans(drafts) == [(100, 110, "Editor", "a"), (50, 70, "Editor", "a")]


def test_a_long_title_is_cut_only_after_its_secret_is_gone() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    title = "x" * (TITLE - 20) + " " + secret + " " + "y" * TITLE
    (draft,) = watched(seen(0, title), close=5)
    assert len(draft.payload["title"]) <= TITLE
    assert "ghp_" not in draft.payload["title"]


def test_spans_and_gaps_are_recorded_once_however_often_they_are_reported(store: Store) -> None:
    drafts = watched(
        seen(0, "a", document="/w/a"), Unavailable(at(10), "asleep"), Available(at(20), "asleep"), close=30
    )
    recorder = Recorder(store, default_redactor(), lambda: at(100))
    first, again = recorder.record(drafts), recorder.record(drafts)
    assert [one.error for one in (*first, *again)] == [None] * 4
    assert [one.appended is not None and one.appended.duplicate for one in (*first, *again)] == [
        False,
        False,
        True,
        True,
    ]


OBSERVATIONS = st.one_of(
    st.builds(
        ForegroundWindow,
        st.just(0),
        st.sampled_from(["Mail", "Editor"]),
        st.none(),
        st.sampled_from([None, "a", "b"]),
    ),
    st.builds(HiddenWindow, st.just(0)),
    st.builds(Unavailable, st.just(0), st.sampled_from(["asleep", "locked", "permission missing"])),
    st.builds(Available, st.just(0), st.sampled_from(["asleep", "locked", "permission missing"])),
)


@given(st.lists(st.tuples(OBSERVATIONS, st.integers(0, 90 * SECOND)), max_size=40))
def test_spans_never_overlap_each_other_or_a_time_nobody_looked(
    results: list[tuple[Observation, int]],
) -> None:
    merger = SpanMerger(default_redactor())
    moment = T0
    drafts: list[Draft] = []
    for one, wait in results:
        moment += wait
        values = {name: getattr(one, name) for name in type(one).__slots__} | {"at": moment}
        drafts += merger.take(type(one)(**values))
    drafts += merger.close(moment + SECOND)
    times = [(draft.at or 0, parse_time(draft.payload["until"])) for draft in drafts if draft.kind == "app"]
    assert times == sorted(times)
    assert all(since < until for since, until in times)
    assert all(until <= since for (_, until), (since, _) in itertools.pairwise(times))
    blind = [
        (parse_time(draft.payload["since"]), parse_time(draft.payload["until"]))
        for draft in drafts
        if draft.kind == "gap" and draft.payload["what"] != "permission missing"
    ]
    assert not [1 for since, until in times for start, end in blind if since < end and start < until]
    assert len({draft.key for draft in drafts}) == len(drafts)
