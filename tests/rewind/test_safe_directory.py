"""Writing inside a folder and never outside of it: a table of attacks, and races in which nothing is lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fazm_memory.rewind import safe_directory
from fazm_memory.rewind.plan import ABSENT, FileContent
from fazm_memory.rewind.safe_directory import SafeDirectory, WriteRefused
from fazm_memory.store.file_versions import digest_of

SPARE = ".fazm-rewind-1-0"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "f").write_text("theirs")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SafeDirectory]:
    (tmp_path / "work" / "sub").mkdir(parents=True)
    with SafeDirectory(str(tmp_path / "work")) as made:
        yield made


@pytest.fixture(params=["system", "steps"])
def renames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's own exchange of names, and as on a file system that has none."""
    if request.param == "steps":
        monkeypatch.setattr(safe_directory, "_system_rename", lambda: None)


def root(place: SafeDirectory) -> Path:
    return Path(place.root)


def tree(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.usefixtures("renames")
def test_a_file_is_replaced_made_moved_and_removed(place: SafeDirectory) -> None:
    (root(place) / "sub" / "a").write_text("old")
    old = place.look("sub/a").held
    place.put("sub/a", b"new", FileContent(mode=0o100755, mtime_ns=5_000_000_000), old, SPARE)
    made = (root(place) / "sub" / "a").stat()
    assert (stat.S_IMODE(made.st_mode), made.st_mtime_ns) == (0o755, 5_000_000_000)
    place.put("deep/er/b", b"b", ABSENT, ABSENT, SPARE)
    place.move("sub/a", "other/a", place.look("sub/a").held)
    place.take_away("deep/er/b", place.look("deep/er/b").held, SPARE)
    assert tree(root(place)) == {"other/a": "new"}


def test_rights_beyond_those_of_a_file_are_not_brought_back(place: SafeDirectory) -> None:
    place.put("a", b"x", FileContent(mode=0o104755), ABSENT, SPARE)
    assert stat.S_IMODE((root(place) / "a").stat().st_mode) == 0o755


ATTACKS: dict[str, Callable[[Path, Path], str]] = {
    "climbing out": lambda work, out: "../outside/f",
    "climbing out from below": lambda work, out: "sub/../../outside/f",
    "an absolute path": lambda work, out: str(out / "f"),
    "a folder that is a link": lambda work, out: _linked(work / "link", out, "link/f"),
    "a link below": lambda work, out: _linked(work / "sub" / "link", out, "sub/link/f"),
    "a link to a link": lambda work, out: _linked(work / "one", _as_path(work / "two", out), "one/f"),
    "a relative link": lambda work, out: _linked(work / "rel", Path("../outside"), "rel/f"),
    "Git's own": lambda work, out: _file(work, ".git/config"),
    "Git's own in capitals": lambda work, out: _file(work, ".GIT/config"),
    "a submodule's": lambda work, out: _file(work, "sub/.git"),
    "Git's own with an invisible letter": lambda work, out: _file(work, ".g\u200cit/config"),
}


def _linked(link: Path, to: Path, path: str) -> str:
    link.symlink_to(to)
    return path


def _as_path(link: Path, to: Path) -> Path:
    link.symlink_to(to)
    return link


def _file(work: Path, path: str) -> str:
    (work / path).parent.mkdir(parents=True, exist_ok=True)
    (work / path).write_text("theirs")
    return path


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_an_attack_by_a_path_writes_nothing(
    attack: Callable[[Path, Path], str], place: SafeDirectory, outside: Path
) -> None:
    path = attack(root(place), outside)
    (root(place) / "mine").write_text("mine")
    before = tree(root(place)), tree(outside)
    expected = FileContent(digest_of(b"theirs"))
    mine = place.look("mine").held
    for act in (
        lambda: place.look(path),
        lambda: place.put(path, b"x", ABSENT, ABSENT, SPARE),
        lambda: place.put(path, b"x", ABSENT, expected, SPARE),
        lambda: place.take_away(path, expected, SPARE),
        lambda: place.move("mine", path, mine),
        lambda: place.move(path, "stolen", expected),
        lambda: place.set_bits(path, 0o777, expected),
    ):
        with pytest.raises(WriteRefused):
            act()
    assert (tree(root(place)), tree(outside)) == before
    assert stat.S_IMODE((outside / "f").stat().st_mode) != 0o777


def test_a_file_that_is_a_link_is_never_written_through(place: SafeDirectory, outside: Path) -> None:
    (root(place) / "a").symlink_to(outside / "f")
    found = place.look("a").held
    assert (found.digest, found.reason) == (None, "it is a link")
    with pytest.raises(WriteRefused):
        place.put("a", b"x", ABSENT, FileContent(digest_of(b"theirs")), SPARE)
    with pytest.raises(WriteRefused):
        place.set_bits("a", 0o777, found)
    assert tree(outside) == {"f": "theirs"}
    assert stat.S_IMODE((outside / "f").stat().st_mode) != 0o777
    assert (root(place) / "a").is_symlink()


def test_a_folder_raced_into_a_link_is_noticed(
    place: SafeDirectory, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root(place) / "sub" / "f").write_text("old")
    expected = place.look("sub/f").held
    write = safe_directory._write

    def raced(*given: object) -> None:
        write(*given)  # type: ignore[arg-type]
        (root(place) / "sub").rename(root(place).parent / "carried-away")
        (root(place) / "sub").symlink_to(outside)

    monkeypatch.setattr(safe_directory, "_write", raced)
    with pytest.raises(WriteRefused):
        place.put("sub/f", b"new", ABSENT, expected, SPARE)
    assert tree(outside) == {"f": "theirs"}
    assert (root(place).parent / "carried-away" / "f").read_text() == "old"


def test_rights_go_to_the_file_that_was_planned_for_and_no_other(place: SafeDirectory) -> None:
    file = root(place) / "sub" / "f"
    file.write_text("old")
    file.chmod(0o640)
    expected = place.look("sub/f").held
    place.set_bits("sub/f", 0o6755, expected)
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    with pytest.raises(WriteRefused):  # it has other rights by now
        place.set_bits("sub/f", 0o600, expected)
    expected = place.look("sub/f").held
    file.write_text("somebody else's")
    with pytest.raises(WriteRefused):
        place.set_bits("sub/f", 0o600, expected)
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


def test_another_folder_in_the_place_of_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with SafeDirectory(str(tmp_path / "w")) as first:
        identity = first.identity
    (tmp_path / "w").rename(tmp_path / "v")
    (tmp_path / "w").mkdir()
    with pytest.raises(WriteRefused, match="another folder"):
        SafeDirectory(str(tmp_path / "w"), identity)
    (tmp_path / "link").symlink_to(tmp_path / "v")
    with pytest.raises(WriteRefused):
        SafeDirectory(str(tmp_path / "link"))


def test_a_name_that_the_file_system_takes_for_another_is_refused(
    place: SafeDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root(place) / "readme").write_text("as a system without case would find it")
    (root(place) / "README").write_text("theirs")
    monkeypatch.setattr(os, "listdir", lambda folder: ["README"])
    with pytest.raises(WriteRefused, match="another name"):
        place.put("readme", b"x", ABSENT, place.look("readme").held, SPARE)
    assert (root(place) / "README").read_text() == "theirs"


@pytest.mark.usefixtures("renames")
def test_what_a_person_saves_at_the_last_moment_is_not_lost(
    place: SafeDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root(place) / "a"
    path.write_text("planned for")
    expected = place.look("a").held
    still = place._still

    def saves(parts: list[str], folder: int) -> None:
        still(parts, folder)
        path.write_text("saved this instant")

    monkeypatch.setattr(place, "_still", saves)
    with pytest.raises(WriteRefused, match="this very moment"):
        place.put("a", b"new", ABSENT, expected, SPARE)
    assert tree(root(place)) == {"a": "saved this instant"}
    with pytest.raises(WriteRefused, match="this very moment"):
        place.take_away("a", expected, SPARE)
    with pytest.raises(WriteRefused, match="this very moment"):
        place.move("a", "b", expected)
    assert tree(root(place)) == {"a": "saved this instant"}


@pytest.mark.usefixtures("renames")
def test_a_name_that_somebody_took_meanwhile_stays_theirs(place: SafeDirectory) -> None:
    (root(place) / "a").write_text("theirs")
    (root(place) / "b").write_text("mine")
    with pytest.raises(WriteRefused, match="made a file of that name"):
        place.put("a", b"new", ABSENT, ABSENT, SPARE)
    with pytest.raises(WriteRefused, match="made a file of that name"):
        place.move("b", "a", place.look("b").held)
    assert tree(root(place)) == {"a": "theirs", "b": "mine"}


def test_what_an_interrupted_write_left_is_dropped_when_it_is_ours_and_shown_when_not(
    place: SafeDirectory,
) -> None:
    (root(place) / SPARE).write_text("ours")
    (root(place) / f"{SPARE}-old").write_text("whose?")
    place.settle("a", SPARE, lambda found: found == b"ours")
    assert list(tree(root(place)).values()) == ["whose?"]
    assert next(iter(tree(root(place)))).startswith("a.kept")


def test_pipes_and_folders_are_not_read_as_files(place: SafeDirectory) -> None:
    os.mkfifo(root(place) / "pipe")
    assert place.look("pipe").held.reason == "it is not a plain file"
    assert place.look("sub").held.reason == "it is not a plain file"


def test_a_spare_name_that_somebody_has_is_refused_and_theirs_stays(tmp_path: Path) -> None:
    (tmp_path / "spare").write_text("a person's")
    with SafeDirectory(str(tmp_path)) as inside, pytest.raises(WriteRefused):
        inside.put("new", b"x", ABSENT, ABSENT, "spare")
    assert (tmp_path / "spare").read_text() == "a person's"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("how", ["put", "copy_out"])
def test_what_others_may_not_read_they_may_not_read_on_the_way(
    place: SafeDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    seen: list[int] = []
    given = os.fchmod

    def watched(descriptor: int, mode: int) -> None:
        assert os.fstat(descriptor).st_size
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        given(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", watched)
    (tmp_path / "to").mkdir()
    with SafeDirectory(str(tmp_path / "to")) as target:
        if how == "put":
            target.put("a", b"ours", FileContent(mode=0o100640), ABSENT, SPARE)
        else:
            (root(place) / "a").write_bytes(b"ours")
            (root(place) / "a").chmod(0o640)
            place.copy_out("a", target, SPARE)
    assert seen == [0o600]
    assert stat.S_IMODE((tmp_path / "to" / "a").stat().st_mode) == 0o640
