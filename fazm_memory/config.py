"""Every path and setting, read once at the edge and handed down: TOML, then FAZM_MEMORY_* variables.

Nothing else reads the environment. `config.default.toml` shows every setting with its default, and a test
holds the two together.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fazm_memory.errors import ConfigError, StoreUnsafe

PREFIX = "FAZM_MEMORY_"
CONFIG_FILE = "config.toml"


@dataclass(frozen=True)
class Redaction:
    """A pattern of the user's own: what it matches never gets into the log."""

    name: str
    regex: str


@dataclass(frozen=True)
class Config:
    """What this run goes by."""

    home: Path
    user_home: Path
    key: str = "auto"
    text_cap: int = 64 * 1024
    line_cap: int = 8 * 1024 * 1024
    context_tokens: int = 2000
    retain_actions: int = 180
    retain_files: int = 365
    retain_apps: int = 60
    retain_prompts: int = 0
    retain_archived: int = 30
    retain_versions: int = 90
    retain_megabytes: int = 4096
    watch: tuple[str, ...] = ()
    exclude_apps: tuple[str, ...] = ()
    redact: tuple[Redaction, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


CHOICES: dict[str, tuple[str, ...]] = {"key": ("auto", "keyring", "file")}
LIMITS: dict[str, tuple[int, int]] = {
    "text_cap": (256, 256 * 1024),
    "line_cap": (1024, 256 * 1024 * 1024),
    "context_tokens": (100, 2500),
    **dict.fromkeys(
        (f"retain_{what}" for what in ("actions", "files", "apps", "prompts", "archived", "versions")),
        (0, 36_500),
    ),
    "retain_megabytes": (0, 1 << 24),
}
SETTINGS = tuple(one.name for one in fields(Config) if one.name not in ("home", "user_home", "environment"))


def default_home(env: Mapping[str, str], platform: str) -> Path:
    user = Path(env.get("HOME") or Path.home())
    if platform == "darwin":
        return user / "Library" / "Application Support" / "Fazm Memory"
    return Path(env.get("XDG_DATA_HOME") or user / ".local" / "share") / "fazm-memory"


def load(env: Mapping[str, str] | None = None, platform: str = sys.platform) -> Config:
    """The configuration of this machine and user. ConfigError names the setting and the file."""
    env = dict(os.environ) if env is None else env
    given = env.get(f"{PREFIX}HOME")
    home = Path(given).expanduser().absolute() if given else default_home(env, platform).absolute()
    values = _from_file(home / CONFIG_FILE) | _from_env(env)
    return Config(home=home, user_home=Path(env.get("HOME") or Path.home()), environment=dict(env), **values)


def with_present_retention(config: Config) -> Config:
    """The same run by the ages and the size that its file says now: they are changed while others run."""
    present = load({**config.environment, f"{PREFIX}HOME": str(config.home)})
    ages = {name: getattr(present, name) for name in SETTINGS if name.startswith("retain_")}
    return replace(config, **ages)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        hint = "move it away, or set FAZM_MEMORY_HOME"
        raise StoreUnsafe(f"{path.parent} is not a folder", hint=hint) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="mend or remove the file") from error
    return {name: _checked(name, value, str(path)) for name, value in raw.items()}


def _from_env(env: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in SETTINGS:
        text = env.get(PREFIX + name.upper())
        if text is None or name == "redact":
            continue
        value: Any = int(text) if name in LIMITS and text.strip().lstrip("-").isdigit() else text
        if name == "watch":
            value = [one for one in text.split(os.pathsep) if one]
        if name == "exclude_apps":
            value = [one.strip() for one in text.split(",") if one.strip()]
        values[name] = _checked(name, value, f"the variable {PREFIX}{name.upper()}")
    return values


def _checked(name: str, value: Any, where: str) -> Any:
    if name not in SETTINGS:
        known = ", ".join(SETTINGS)
        raise ConfigError(f"{where} has a setting named {name!r}", hint=f"the settings are: {known}")
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise ConfigError(f"{name} in {where} must be one of {', '.join(CHOICES[name])}, not {value!r}")
        return value
    if name in LIMITS:
        low, high = LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigError(f"{name} in {where} must be a whole number from {low} to {high}, not {value!r}")
        return value
    if name == "exclude_apps":
        return _apps(value, where)
    return _folders(value, where) if name == "watch" else _redactions(value, where)


def _apps(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise ConfigError(f"exclude_apps in {where} must be a list of names of apps, not {value!r:.80}")
    return tuple(value)


def _folders(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"watch in {where} must be a list of folders, not {value!r:.80}")
    for one in value:
        if not one.startswith(("/", "~/")):
            raise ConfigError(f"watch in {where} must name whole paths, not {one!r:.80}")
    return tuple(value)


def _redactions(value: Any, where: str) -> tuple[Redaction, ...]:
    made = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict) or set(one) != {"name", "regex"}:
            raise ConfigError(f"each [[redact]] in {where} needs just a name and a regex, not {one!r:.80}")
        if not all(isinstance(part, str) and part for part in one.values()):
            raise ConfigError(f"the name and regex of [[redact]] in {where} must be text")
        made.append(Redaction(one["name"], one["regex"]))
    return tuple(made)
