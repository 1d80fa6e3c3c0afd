"""Learning from renames: conventions, exceptions, other readings, progress per folder."""

from __future__ import annotations

from fazm_memory.engines.naming import Convention, FolderProgress, ListedFile, Rename, learn, propose

HOME = "/home/ada/Inbox"


def renamed(*pairs: tuple[str, str], folder: str = HOME) -> list[Rename]:
    return [
        Rename(f"{folder}/{before}", f"{folder}/{after}", seq) for seq, (before, after) in enumerate(pairs)
    ]


INVOICES = renamed(
    ("Acme - Invoice 0123 - 03.04.2026.pdf", "2026-04-03_acme_123.pdf"),
    ("Blue Sun - Invoice 0044 - 25.12.2026.pdf", "2026-12-25_blue-sun_44.pdf"),
    ("Wayne - Invoice 1000 - 01.11.2025.pdf", "2025-11-01_wayne_1000.pdf"),
)


def only(renames: list[Rename]) -> Convention:
    (convention,) = learn(renames).conventions
    return convention


def test_a_convention_reads_as_a_pattern_with_its_examples_and_support() -> None:
    convention = only(INVOICES)
    assert convention.folder == HOME
    assert convention.pattern == '{date:%Y-%m-%d}_{before " - "|slug}_{number 1|without zeros}.{ext}'
    assert convention.examples[0] == ("Acme - Invoice 0123 - 03.04.2026.pdf", "2026-04-03_acme_123.pdf")
    assert (convention.support, convention.exceptions, convention.destination) == (3, (), "")


def test_at_most_five_examples_are_kept() -> None:
    convention = only(renamed(*((f"IMG_{n}.jpg", f"trip-{n}.jpg") for n in range(100, 140))))
    assert len(convention.examples) == 5
    assert convention.support == 40


def test_a_file_that_looks_the_same_and_was_named_otherwise_is_an_exception() -> None:
    pairs = [(f"IMG_{n}.jpg", f"trip-{n}.jpg") for n in (101, 102, 104, 107)]
    convention = only(renamed(*pairs, ("IMG_103.jpg", "the best one.jpg")))
    assert (convention.support, convention.exceptions) == (4, ("IMG_103.jpg",))


def test_several_conventions_live_in_one_folder_and_are_distinguished() -> None:
    photos = [(f"IMG_{n}.jpg", f"photo {n}.jpg") for n in (1001, 1002, 1005)]
    letters = [
        (f"scan_{n}_{who}.pdf", f"{who}/{n}.pdf") for n, who in ((17, "Acme"), (18, "Hooli"), (25, "Stark"))
    ]
    learned = learn(renamed(*photos, *letters))
    assert sorted(c.support for c in learned.conventions) == [3, 3]
    assert propose(learned.conventions, "IMG_1010.jpg").becomes == "photo 1010.jpg"
    assert propose(learned.conventions, "scan_31_Wonka.pdf").becomes == "Wonka/31.pdf"


def test_conventions_that_only_a_word_tells_apart_ask_for_that_word() -> None:
    bills = [
        (f"{who} bill {n}.pdf", f"Bills/{who} {n}.pdf")
        for who, n in (("Acme", 1001), ("Hooli", 1002), ("Stark", 1003))
    ]
    offers = [
        (f"{who} offer {n}.pdf", f"Sales/{who}.pdf")
        for who, n in (("Acme", 2001), ("Wonka", 2002), ("Tyrell", 2003))
    ]
    conventions = learn(renamed(*bills, *offers)).conventions
    assert propose(conventions, "Globex bill 1009.pdf").becomes == "Bills/Globex 1009.pdf"
    assert propose(conventions, "Globex offer 2009.pdf").becomes == "Sales/Globex.pdf"
    assert propose(conventions, "Globex letter 2009.pdf").becomes is None


def test_a_date_that_reads_two_ways_is_settled_by_an_example_that_reads_only_one() -> None:
    convention = only(
        renamed(
            ("03-04-2026 a.txt", "a 3 April.txt"),
            ("25-12-2026 b.txt", "b 25 December.txt"),
            ("07-08-2026 c.txt", "c 7 August.txt"),
        )
    )
    assert propose([convention], "01-02-2026 d.txt").becomes == "d 1 February.txt"


def test_another_reading_that_explains_the_examples_as_well_is_reported() -> None:
    convention = only(
        renamed(("beach.jpg", "Beach.jpg"), ("garden.jpg", "Garden.jpg"), ("lamp.jpg", "Lamp.jpg"))
    )
    assert convention.pattern == "{name|Title}.{ext}"
    assert "{name|Sentence}.{ext}" in convention.ambiguous


def test_the_time_of_modification_is_a_source_of_dates() -> None:
    pairs = (("a", "2026-01-05T10:00:00"), ("b", "2025-12-24T11:30:00"), ("c", "2026-11-14T09:30:12+01:00"))
    renames = [Rename(f"/d/{name}.txt", f"/d/{mtime[:10]} {name}.txt", mtime=mtime) for name, mtime in pairs]
    convention = only(renames)
    assert convention.pattern == "{modified:%Y-%m-%d} {name}.{ext}"
    assert propose([convention], "x.txt", mtime="2024-02-29T00:00:00").becomes == "2024-02-29 x.txt"


def test_files_sorted_by_extension_are_one_convention_with_a_table() -> None:
    moves = (("a.pdf", "Documents"), ("b.jpg", "Pictures"), ("c.png", "Pictures"), ("d.pdf", "Documents"))
    convention = only(renamed(*((name, f"{folder}/{name}") for name, folder in moves)))
    assert convention.destination == "{by extension: jpg → Pictures, pdf → Documents, png → Pictures}"
    assert propose([convention], "e.png").becomes == "Pictures/e.png"
    assert propose([convention], "e.zip").becomes is None


def test_a_folder_elsewhere_is_a_path() -> None:
    bills = "/home/ada/Documents/Bills"
    renames = [Rename(f"{HOME}/bill {n}.pdf", f"{bills}/{n}.pdf", n) for n in (1011, 1012, 1015)]
    convention = only(renames)
    assert convention.destination == bills
    assert propose([convention], "bill 1020.pdf").becomes == f"{bills}/1020.pdf"


def test_the_folders_own_name_can_be_part_of_a_convention() -> None:
    renames = [
        Rename(f"/photos/{place}/IMG_{n}.jpg", f"/photos/{place}/{place}_{n}.jpg")
        for place, n in (("Rome", 1201), ("Paris", 1207), ("Oslo", 1310))
    ]
    convention = only(renames)
    assert (convention.folder, convention.from_subfolders) == ("/photos", True)
    assert propose([convention], "/photos/Lima/IMG_1405.jpg").becomes == "/photos/Lima/Lima_1405.jpg"
    assert propose([convention], "IMG_1405.jpg").becomes is None


def test_a_chain_of_renames_counts_once_and_what_was_taken_back_not_at_all() -> None:
    steps = [
        Rename("/d/IMG_101.jpg", "/d/tmp1", 1),
        Rename("/d/IMG_102.jpg", "/d/trip-102.jpg", 2),
        Rename("/d/tmp1", "/d/trip-101.jpg", 3),
        Rename("/d/IMG_105.jpg", "/d/trip-105.jpg", 4),
        Rename("/d/IMG_109.jpg", "/d/oops.jpg", 5),
        Rename("/d/oops.jpg", "/d/IMG_109.jpg", 6),
    ]
    learned = learn(steps)
    assert [c.support for c in learned.conventions] == [3]
    assert learned.folders == (FolderProgress("/d", 3, 3),)


def test_two_files_that_swap_their_names_are_no_convention() -> None:
    swap = [
        Rename("/d/a.txt", "/d/t", 1),
        Rename("/d/b.txt", "/d/a.txt", 2),
        Rename("/d/t", "/d/b.txt", 3),
    ]
    assert learn(swap).conventions == ()
    assert learn(swap).folders == (FolderProgress("/d", 2, 2),)


def test_a_folder_renamed_afterwards_takes_its_files_along() -> None:
    steps = [
        *(Rename(f"/d/IMG_{n}.jpg", f"/d/new/trip-{n}.jpg", seq) for seq, n in enumerate((101, 102, 105))),
        Rename("/d/new", "/d/Rome", 9),
    ]
    assert propose(learn(steps).conventions, "IMG_110.jpg").becomes == "Rome/trip-110.jpg"


def test_two_examples_suffice_when_they_say_something_plain() -> None:
    conventions = learn(renamed(("foo.txt", "foo_old.txt"), ("bar.txt", "bar_old.txt"))).conventions
    assert propose(conventions, "baz.txt").becomes == "baz_old.txt"


def test_one_example_is_no_convention() -> None:
    assert learn(INVOICES[:1]).conventions == ()


def test_names_that_differ_only_in_how_accents_are_stored_are_the_same() -> None:
    stored = [
        Rename("/d/Cafe\u0301 101.jpg", "/d/Café-101.jpg"),
        Rename("/d/Bar 102.jpg", "/d/Bar-102.jpg"),
        Rename("/d/Kiosk 109.jpg", "/d/Kiosk-109.jpg"),
    ]
    assert propose(learn(stored).conventions, "Cafe\u0301 111.jpg").becomes == "Café-111.jpg"


def test_a_folder_says_how_many_of_its_files_were_processed() -> None:
    renames = renamed(*((f"IMG_{n}.jpg", f"trip-{n}.jpg") for n in range(101, 113)))
    listing = [ListedFile(rename.before) for rename in renames]
    learned = learn(
        renames,
        [
            *listing,
            ListedFile(f"{HOME}/notes.txt"),
            ListedFile(f"{HOME}/todo.txt"),
            ListedFile("/elsewhere/x.txt"),
        ],
    )
    assert learned.folders == (FolderProgress(HOME, 12, 14),)


def test_a_listing_made_after_the_renames_counts_no_file_twice() -> None:
    after = [ListedFile(rename.after) for rename in INVOICES]
    assert learn(INVOICES, after).folders == (FolderProgress(HOME, 3, 3),)


def test_two_thousand_files_are_learned_as_well_as_ten() -> None:
    pairs = [(f"IMG_2026{1 + n // 28 % 12:02}{1 + n % 28:02}_{100000 + n}.jpg", n) for n in range(2000)]
    renames = renamed(
        *((before, f"2026-{before[8:10]}-{before[10:12]} {n + 1:04}.jpg") for before, n in pairs)
    )
    convention = only(renames)
    assert (convention.support, convention.exceptions) == (2000, ())
    assert convention.pattern == "{date:%Y-%m-%d} {counter:0001}.{ext}"
