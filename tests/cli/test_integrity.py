"""verify, recover and doctor, as a person meets them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fazm_memory.app import doctor
from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.errors import StoreFull
from fazm_memory.store import keys
from fazm_memory.store.file_versions import FileVersions
from fazm_memory.store.framework_store import FrameworkStore
from fazm_memory.store.recovery.journal import JOURNAL, RecoveryFolder
from fazm_memory.store.recovery.recover import recover
from tests.store.schemas.make import old_store

from .conftest import Run


def damage(home: Path, page: int) -> None:
    path = home / "store.noindex" / "memory.db"
    data = bytearray(path.read_bytes())
    data[page * 4096 + 100] ^= 1
    path.write_bytes(bytes(data))


def test_a_clean_log_verifies(run: Run, session: str) -> None:
    assert "Clean: 4 events in 1 session" in run("verify").out


def test_recover_leaves_a_good_store_alone(run: Run, session: str) -> None:
    result = run("recover", "--json").json
    assert (result["needed"], result["quarantine"]) == (False, None)


def test_a_damaged_store_is_reported_and_saved(run: Run, session: str, home: Path) -> None:
    damage(home, 0)
    results = run("sessions")
    assert results.code == 12
    assert "no new store was made" in results.err
    assert "fazm-memory recover" in results.err
    saved = run("recover", "--json").json
    assert (saved["kept"], saved["lost"]) == (4, 0)
    assert (Path(saved["quarantine"]) / "memory.db").exists()
    assert run("verify").code == 0
    assert run("sessions", "--json").json[0]["id"] == session


def test_damage_beside_the_log_is_mended_and_the_log_left_alone(run: Run, session: str, home: Path) -> None:
    store = home / "store.noindex"
    key = keys.load(home / "keys", prefer="file", store_exists=True).database
    versions = FileVersions(home, key)
    versions.keep("/w", "a.txt", 1, b"one")
    versions.close()
    data = bytearray((store / "versions.db").read_bytes())
    data[300:400] = b"\0" * 100
    (store / "versions.db").write_bytes(data)
    log = run("events", session, "--json").json
    results = run("recover").out
    assert results.startswith("The log opens and verifies.\nversions.db: 1 of ")
    assert "1 version of files saved\nThe damaged files are in " in results
    assert run("events", session, "--json").json == log
    kept = run("recover", "--json").json
    assert (kept["needed"], kept["beside"], kept["quarantine"]) == (False, [], None)
    versions = FileVersions(home, key)
    assert versions.read(str(versions.history("/w")[0].digest)) == b"one"
    versions.close()


def test_every_damaged_page_is_survived(run: Run, session: str, home: Path) -> None:
    """One page at a time: never a traceback, never a silent new store, and recovery always verifies."""
    path = home / "store.noindex" / "memory.db"
    original, heads = path.read_bytes(), (home / "keys" / "heads").read_bytes()
    for page in range(len(original) // 4096):
        for side in path.parent.iterdir():
            side.unlink()
        path.write_bytes(original)
        (home / "keys" / "heads").write_bytes(heads)
        damage(home, page)
        result = run("recover", "--json", now=f"2026-11-15T09:00:{page:02d}+00:00")
        assert result.code == 0, result
        kept = result.json
        assert not kept["needed"] or kept["kept"] + kept["lost"] == 4
        assert run("verify").code == 0


def test_what_is_left_of_a_file_that_was_cut_off_is_saved(run: Run, home: Path) -> None:
    run("record", stdin=[{"type": "prompt", "session": "s", "text": f"{n} " * 99} for n in range(900)])
    path = home / "store.noindex" / "memory.db"
    os.truncate(path, path.stat().st_size * 8 // 10)
    assert run("verify").code == 12
    saved = run("recover", "--json").json
    assert saved["kept"] > 300
    assert saved["kept"] + saved["lost"] == 901
    assert "its end was cut off" in saved["notes"]
    assert run("verify").code == 0


def test_a_recovery_that_finds_no_room_leaves_the_store_as_it_was(run: Run, session: str, home: Path) -> None:
    damage(home, 0)
    before = {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}

    def full(done: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoreFull, match="it is as it was"):
        recover(home, key="file", now=0, aside=RecoveryFolder(home / "quarantine" / "now"), progress=full)
    assert {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()} == before
    assert run("recover", "--json").json["kept"] == 4
    assert run("sessions", "--json").json[0]["id"] == session


def test_the_key_of_another_store_recovers_nothing_and_sets_nothing_aside(
    run: Run, session: str, home: Path
) -> None:
    master, check = home / "keys" / "master.key", home / "keys" / "key.check"
    kept = master.read_bytes(), check.read_bytes()
    master.write_text("ab" * 32)
    check.unlink()
    results = run("recover")
    assert results.code == 11
    assert "the key of another store" in results.err
    assert list((home / "quarantine").iterdir()) == []
    master.write_bytes(kept[0])
    check.write_bytes(kept[1])
    assert run("verify").code == 0
    assert run("sessions", "--json").json[0]["id"] == session


def test_what_was_lost_long_ago_makes_no_session_the_latest(run: Run, session: str, home: Path) -> None:
    before = run("sessions", "--json").json[0]["last_at"]
    damage(home, 0)
    path = home / "store.noindex" / "memory.db"
    os.truncate(path, path.stat().st_size - 4096)
    assert run("recover", "--json", now="2030-01-01T00:00:00+00:00").json["needed"]
    assert run("sessions", "--json").json[0]["last_at"] <= before


def test_the_doctor_proves_it(run: Run, session: str) -> None:
    results = run("doctor", "--json")
    verdicts = {check["name"]: check["verdict"] for check in results.json["checks"]}
    assert results.code == 0
    assert verdicts["round trip"] == verdicts["encryption"] == verdicts["watching files"] == "ok"
    assert verdicts["key"] == "warning"
    assert "No errors" in run("doctor").out


def beside(home: Path) -> dict[str, str]:
    """What the doctor says of what lies other databases."""
    with closing(Memory(Config(home=home, user_home=home.parent, key="file"), lambda: 1)) as memory:
        return doctor._other_databases(memory).to_json()


@pytest.mark.parametrize("page", [0, 3])
def test_the_doctor_sees_damage_beside_the_log(
    run: Run, session: str, home: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    assert beside(home)["detail"] == "no file versions and no framework data yet"
    key = keys.load(home / "keys", prefer="file", store_exists=True).database
    versions = FileVersions(home, key)
    versions.keep("/w", "a.txt", 1, b"one")
    versions.close()
    drawer = FrameworkStore(home, key, lambda: 1)
    drawer.close()
    assert beside(home)["detail"] == "versions.db is intact; drawer.db is intact"
    path = home / "store.noindex" / "versions.db"
    data = bytearray(path.read_bytes())
    data[page * 4096 + 300 : page * 4096 + 400] = b"\0" * 100
    path.write_bytes(data)
    results = beside(home)
    assert results["verdict"] == "broken"
    assert f"other databases: {results['detail']}" in (whole := run("doctor")).out
    assert whole.code == 1
    assert results["detail"].startswith("versions.db: 1 of ")
    assert "`fazm-memory recover`" in results["hint"]
    monkeypatch.setattr(
        "fazm_memory.app.doctor.READ_WHOLE", 0
    )  # too large: what keeps it from opening is seen
    results = beside(home)
    assert results["verdict"] == ("ok" if page else "broken")
    assert ("too large to read whole" in results["detail"]) == bool(page)


def test_after_a_recovery_the_doctor_has_nothing_to_say_of_it(run: Run, session: str, home: Path) -> None:
    versions = FileVersions(home, keys.load(home / "keys", prefer="file", store_exists=True).database)
    versions.keep("/w", "a.txt", 1, b"one")
    versions.close()
    damaged = home / "store.noindex" / "versions.db"
    damaged.write_bytes(b"\1" * damaged.stat().st_size)
    assert beside(home)["verdict"] == "broken"
    run("recover")
    assert (beside(home)["verdict"], beside(home)["detail"]) == ("ok", "versions.db is intact")


def test_of_a_recovery_that_has_not_ended_the_doctor_speaks_once(run: Run, session: str, home: Path) -> None:
    (home / JOURNAL).write_text('{"aside": "quarantine/then", "found": {}}')
    results = run("doctor")
    assert (results.code, results.err) == (1, "")
    assert results.out.count("recovery is unfinished") == 1
    assert "key: same reason as 'folder'" in results.out
    assert "round trip: recorded, found" in results.out


def test_two_recoveries_of_one_second_keep_what_each_found(run: Run, session: str, home: Path) -> None:
    damage(home, 0)
    now = "2030-01-01T00:00:00+00:00"
    first = Path(run("recover", "--json", now=now).json["quarantine"]) / "memory.db"
    kept = first.read_bytes()
    damage(home, 0)
    second = Path(run("recover", "--json", now=now).json["quarantine"]) / "memory.db"
    assert first.parent.name == "2030-01-01T000000"
    assert second.parent.name == "2030-01-01T000000-2"
    assert first.read_bytes() == kept != second.read_bytes()


def test_recover_where_nothing_was_recorded_makes_nothing(run: Run, home: Path) -> None:
    assert not home.exists()
    results = run("recover")
    assert results.code == 12
    assert "no store at" in results.err
    assert not home.exists()


def test_the_doctor_sees_a_file_others_can_read(run: Run, session: str, home: Path) -> None:
    (home / "store.noindex" / "note").write_text("x")
    (home / "store.noindex" / "note").chmod(0o644)
    results = run("doctor", "--json")
    assert results.code == 1
    folder = next(check for check in results.json["checks"] if check["name"] == "folder")
    assert "others can read store.noindex/note" in folder["detail"]


def test_a_long_migration_is_reported_on_stderr_alone(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_store(home, 3)
    monkeypatch.setattr("fazm_memory.store.database.MANY", 2)
    results = run("sessions", "--json")
    assert results.code == 0
    assert len(results.json) == 1  # data, and nothing else
    assert results.err.startswith("note: updating the store")
    assert "step 4 of" in results.err
    assert run("sessions", "--json").err == ""


def test_the_doctor_keeps_the_noise_of_its_library_off_the_terminal() -> None:
    look = "import logging; from fazm_memory.app import doctor; print(doctor._watching(None).verdict)"
    noise = "logging.getLogger('watchdog.observers').error('called when the thread is inactive')"
    done = subprocess.run(
        [sys.executable, "-c", f"{look}; {noise}"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("ok\n", "")
