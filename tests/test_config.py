"""Settings: the file, then the environment, each wrong one named."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fazm_memory import config
from fazm_memory.config import SETTINGS, Config, RedactionPattern, load
from fazm_memory.errors import ConfigError


def env(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), "FAZM_MEMORY_HOME": str(tmp_path / "home"), **more}


def write(tmp_path: Path, text: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(text)


def test_the_default_homes() -> None:
    assert load({"HOME": "/u"}, "darwin").home == Path("/u/Library/Application Support/Fazm Memory")
    assert load({"HOME": "/u"}, "linux").home == Path("/u/.local/share/fazm-memory")
    assert load({"HOME": "/u", "XDG_DATA_HOME": "/d"}, "linux").home == Path("/d/fazm-memory")
    assert load({"HOME": "/u", "FAZM_MEMORY_HOME": "/h"}, "darwin").home == Path("/h")


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'key = "keyring"\ntext_cap = 1000\n')
    made = load(env(tmp_path, FAZM_MEMORY_KEY="file"))
    assert (made.key, made.text_cap) == ("file", 1000)


def test_patterns_of_the_user(tmp_path: Path) -> None:
    write(tmp_path, '[[redact]]\nname = "emp"\nregex = "EMP-[0-9]+"\n')
    assert load(env(tmp_path)).redact == (RedactionPattern("emp", "EMP-[0-9]+"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key = 'cloud'", "one of auto, keyring, file"),
        ("text_cap = 1", "whole number from 256"),
        ("text_cap = true", "whole number"),
        ("colour = 1", "a setting named 'colour'"),
        ("key = ", "cannot be read"),
        ("[[redact]]\nname = 'x'", "a name and a regex"),
        ("[[redact]]\nname = 'x'\nregex = 5", "must be text"),
        ("watch = '~/x'", "must be a list of folders"),
        ("watch = ['x']", "must name absolute paths"),
        ("baseline = 'no'", "must be true or false"),
        ("exclude_apps = 'Signal'", "must be a list of names of apps"),
        ("exclude_apps = ['']", "must be a list of names of apps"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, expected: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=expected):
        load(env(tmp_path))


def test_folders_to_watch_from_the_file_and_from_the_environment(tmp_path: Path) -> None:
    write(tmp_path, 'watch = ["~/invoices"]\n')
    assert load(env(tmp_path)).watch == ("~/invoices",)
    assert load(env(tmp_path, FAZM_MEMORY_WATCH="/a:/b")).watch == ("/a", "/b")


def test_the_baseline_is_switched_off_in_the_file_or_the_environment(tmp_path: Path) -> None:
    assert load(env(tmp_path)).baseline
    write(tmp_path, "baseline = false\n")
    assert not load(env(tmp_path)).baseline
    assert load(env(tmp_path, FAZM_MEMORY_BASELINE="true")).baseline
    with pytest.raises(ConfigError, match="FAZM_MEMORY_BASELINE"):
        load(env(tmp_path, FAZM_MEMORY_BASELINE="maybe"))


def test_apps_to_leave_alone_from_the_file_and_from_the_environment(tmp_path: Path) -> None:
    write(tmp_path, 'exclude_apps = ["Signal"]\n')
    assert load(env(tmp_path)).exclude_apps == ("Signal",)
    assert load(env(tmp_path, FAZM_MEMORY_EXCLUDE_APPS="Signal, com.x.*")).exclude_apps == (
        "Signal",
        "com.x.*",
    )


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="FAZM_MEMORY_TEXT_CAP"):
        load(env(tmp_path, FAZM_MEMORY_TEXT_CAP="lots"))


def test_the_shipped_file_shows_every_setting_with_its_default() -> None:
    text = (Path(config.__file__).parent / "config.default.toml").read_text()
    shown = tomllib.loads("\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line
                                    or line.startswith("# [[")))  # fmt: skip
    made = Config(home=Path(), user_home=Path())
    assert set(shown) == set(SETTINGS)
    for name in ("watch", "exclude_apps"):
        shown[name] = tuple(shown[name])
    assert {name: value for name, value in shown.items() if name != "redact"} == {
        name: getattr(made, name) for name in SETTINGS if name != "redact"
    }
