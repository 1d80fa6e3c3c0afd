"""Proposals for new files: the name, the grounds for it, and the reasons for not giving one."""

from __future__ import annotations

import pytest

from fazm_memory.engines.naming import Convention, ListedFile, Rename, learn, propose, propose_all


def conventions(
    *pairs: tuple[str, str], folder: str = "/d", seen: tuple[str, ...] = ()
) -> tuple[Convention, ...]:
    renames = [
        Rename(f"{folder}/{before}", f"{folder}/{after}", seq) for seq, (before, after) in enumerate(pairs)
    ]
    return learn(renames, [ListedFile(f"{folder}/{name}") for name in seen]).conventions


PHOTOS = (
    ("IMG_20261114_093012.jpg", "2026-11-14 09.30.12.jpg"),
    ("IMG_20260102_173200.jpg", "2026-01-02 17.32.00.jpg"),
    ("IMG_20251231_000102.jpg", "2025-12-31 00.01.02.jpg"),
)
COUNTED = (("DSC0012.jpg", "rome-001.jpg"), ("DSC0017.jpg", "rome-002.jpg"), ("DSC0045.jpg", "rome-003.jpg"))


def test_a_proposal_gives_its_grounds() -> None:
    answer = propose(conventions(*PHOTOS), "IMG_20240229_120000.jpg")
    assert answer.becomes == "2024-02-29 12.00.00.jpg"
    assert answer.because == "{date:%Y-%m-%d %H.%M.%S}.{ext}, as 3 files in /d"


def test_a_path_is_answered_with_a_path_and_a_bare_name_with_a_name() -> None:
    learned = conventions(*PHOTOS)
    assert propose(learned, "/d/IMG_20240229_120000.jpg").becomes == "/d/2024-02-29 12.00.00.jpg"
    assert propose(learned, "/other/IMG_20240229_120000.jpg").becomes == "/other/2024-02-29 12.00.00.jpg"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("IMG_20240229_120000.txt", "extension .txt"),
        ("DSC_20240229_120000.jpg", '"DSC"'),
        ("IMG_20240229_120000 edited.jpg", '"edited"'),
        ("IMG_4711.jpg", "missing"),
        ("2024-02-29 12.00.00.jpg", "already"),
        ("", "not the name of a file"),
    ],
)
def test_a_file_unlike_the_examples_is_declined_with_the_reason(name: str, words: str) -> None:
    answer = propose(conventions(*PHOTOS), name)
    assert answer.becomes is None
    assert words in answer.because


def test_without_a_convention_nothing_is_proposed() -> None:
    assert "no naming convention" in propose((), "a.txt").because


def test_a_name_that_the_examples_let_read_two_ways_is_declined_with_both() -> None:
    learned = conventions(("beach.jpg", "Beach.jpg"), ("garden.jpg", "Garden.jpg"), ("lamp.jpg", "Lamp.jpg"))
    assert propose(learned, "house.jpg").becomes == "House.jpg"
    answer = propose(learned, "old house.jpg")
    assert answer.becomes is None
    assert "Old House.jpg" in answer.alternatives


def test_a_shorter_number_than_any_seen_may_want_zeros() -> None:
    answer = propose(
        conventions(("a 114.txt", "x-114.txt"), ("b 820.txt", "x-820.txt"), ("c 333.txt", "x-333.txt")),
        "d 7.txt",
    )
    assert answer.becomes is None
    assert answer.alternatives == ("x-7.txt", "x-007.txt")


def test_a_shorter_number_inside_rewritten_words_is_not_guessed_at_either() -> None:
    learned = conventions(
        ("Page12Left.tif", "page-12-left.tif"),
        ("Page44Right.tif", "page-44-right.tif"),
        ("Page61Left.tif", "page-61-left.tif"),
    )
    assert propose(learned, "Page70Right.tif").becomes == "page-70-right.tif"
    assert propose(learned, "Page7Right.tif").becomes is None


def test_a_written_out_day_below_ten_may_or_may_not_have_a_zero() -> None:
    learned = conventions(
        ("20261114.txt", "14 November 2026.txt"),
        ("20260323.txt", "23 March 2026.txt"),
        ("20250718.txt", "18 July 2025.txt"),
    )
    assert propose(learned, "20240530.txt").becomes == "30 May 2024.txt"
    assert propose(learned, "20240503.txt").alternatives == ("03 May 2024.txt", "3 May 2024.txt")


def test_a_space_is_not_let_into_names_that_lost_theirs() -> None:
    learned = conventions(
        ("Notes retro 2026-01-05.md", "2026-01-05_retro.md"),
        ("Notes launch 2026-02-07.md", "2026-02-07_launch.md"),
        ("Notes budget 2026-03-09.md", "2026-03-09_budget.md"),
    )
    assert propose(learned, "Notes hiring 2026-04-01.md").becomes == "2026-04-01_hiring.md"
    assert propose(learned, "Notes hiring plan 2026-04-01.md").becomes is None


def test_accents_that_no_example_had_are_not_guessed_at() -> None:
    learned = conventions(
        ("New York.txt", "new-york.txt"), ("Hong Kong.txt", "hong-kong.txt"), ("San Jose.txt", "san-jose.txt")
    )
    answer = propose(learned, "São Paulo.txt")
    assert (answer.becomes, answer.alternatives) == (None, ("são-paulo.txt", "sao-paulo.txt"))


def test_a_counter_goes_on_after_the_highest_number_used() -> None:
    learned = conventions(*COUNTED)
    assert propose(learned, "DSC0050.jpg").becomes == "rome-004.jpg"
    assert propose(learned, "DSC0050.jpg", taken=["rome-004.jpg", "rome-009.jpg"]).becomes == "rome-010.jpg"


def test_several_names_get_numbers_in_their_order() -> None:
    answers = propose_all(conventions(*COUNTED), ["DSC0050.jpg", "DSC0051.jpg", "notes.txt", "DSC0052.jpg"])
    assert [answer.becomes for answer in answers] == ["rome-004.jpg", "rome-005.jpg", None, "rome-006.jpg"]


def test_a_counter_may_start_anew_for_every_day() -> None:
    days = ("2026-01-05", "2026-01-05", "2026-01-05", "2026-02-07", "2026-02-07")
    counts = (1, 2, 3, 1, 2)
    renames = [
        Rename(f"/d/P{1000 + 7 * seq}.jpg", f"/d/{day} {count:02}.jpg", seq, f"{day}T10:00:00")
        for seq, (day, count) in enumerate(zip(days, counts, strict=True))
    ]
    learned = learn(renames).conventions
    assert propose(learned, "P1100.jpg", mtime="2026-02-07T20:00:00").becomes == "2026-02-07 03.jpg"
    assert propose(learned, "P1100.jpg", mtime="2026-03-01T20:00:00").becomes == "2026-03-01 01.jpg"


def test_a_counter_may_start_anew_in_every_folder() -> None:
    pairs = [
        ("ab12.png", "A/1.png"),
        ("ac77.png", "A/2.png"),
        ("bd03.png", "B/1.png"),
        ("be44.png", "B/2.png"),
        ("bf18.png", "B/3.png"),
    ]
    learned = conventions(*pairs)
    assert propose(learned, "ax90.png").becomes == "A/3.png"
    assert propose(learned, "bx91.png").becomes == "B/4.png"


def test_letters_count_too() -> None:
    learned = conventions(("x 1.txt", "fig-a.txt"), ("y 2.txt", "fig-b.txt"), ("z 9.txt", "fig-c.txt"))
    assert propose(learned, "w 4.txt").becomes == "fig-d.txt"


@pytest.mark.parametrize("taken", ["trip-110.jpg", "/d/trip-110.jpg", "TRIP-110.JPG"])
def test_a_taken_name_is_never_proposed_and_the_answer_says_so(taken: str) -> None:
    learned = conventions(*((f"IMG_{n}.jpg", f"trip-{n}.jpg") for n in (101, 102, 105)))
    answer = propose(learned, "/d/IMG_110.jpg", taken=[taken])
    assert answer.becomes is None
    assert "/d/trip-110.jpg" in answer.because
    assert "taken" in answer.because


def test_a_file_does_not_stand_in_its_own_way() -> None:
    learned = conventions(("A1.TXT", "a1.txt"), ("B2.TXT", "b2.txt"), ("C3.TXT", "c3.txt"))
    assert propose(learned, "D4.TXT", taken=["D4.TXT"]).becomes == "d4.txt"


def test_the_modification_time_is_asked_for_when_the_name_depends_on_it() -> None:
    renames = [
        Rename(f"/d/{name}.txt", f"/d/{mtime[:10]} {name}.txt", mtime=mtime)
        for name, mtime in (
            ("a", "2026-01-05T10:00:00"),
            ("b", "2025-12-24T11:30:00"),
            ("c", "2026-11-14T09:30:12"),
        )
    ]
    answer = propose(learn(renames).conventions, "x.txt")
    assert "modification time" in answer.because


def test_files_of_a_kind_that_was_skipped_are_declined() -> None:
    pairs = [(f"report {n}.pdf", f"R{n}.pdf") for n in (101, 102, 105, 110)]
    learned = conventions(*pairs, seen=("draft 4.pdf", "draft 5.pdf", "report 200 draft.pdf"))
    assert propose(learned, "report 120.pdf").becomes == "R120.pdf"
    assert propose(learned, "draft 9.pdf").because.startswith("such files were skipped")


def test_two_folders_with_two_ways_make_a_bare_name_ambiguous_and_a_path_not() -> None:
    one = [Rename(f"/a/IMG_{n}.jpg", f"/a/trip-{n}.jpg") for n in (101, 102, 105)]
    two = [Rename(f"/b/IMG_{n}.jpg", f"/b/{n}_home.jpg") for n in (201, 202, 205)]
    learned = learn([*one, *two]).conventions
    assert propose(learned, "/b/IMG_300.jpg").becomes == "/b/300_home.jpg"
    answer = propose(learned, "IMG_300.jpg")
    assert (answer.becomes, sorted(answer.alternatives)) == (None, ["300_home.jpg", "trip-300.jpg"])


def test_a_related_extension_is_welcome_and_a_foreign_one_is_not() -> None:
    learned = conventions(*((f"IMG_{n}.jpg", f"trip-{n}.jpg") for n in (101, 102, 105)))
    assert propose(learned, "IMG_110.png").becomes == "trip-110.png"
    assert propose(learned, "IMG_110.mov").becomes is None


def test_nothing_is_proposed_for_a_name_of_which_nothing_would_be_left() -> None:
    learned = conventions(
        ("report (a).txt", "report.txt"), ("notes (b).txt", "notes.txt"), ("plan (c).txt", "plan.txt")
    )
    assert propose(learned, "(d).txt").becomes is None
