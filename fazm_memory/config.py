"""All paths and settings, from config.toml and then FAZM_MEMORY_* variables.

Nothing else reads the environment. `config.default.toml` shows every setting with its default; a test
compares the two.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fazm_memory.errors import ConfigError, StoreUnsafe
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import exclusive_lock, private_folder, read_regular, write_private
from fazm_memory.records import dataclass, field, fields, replace

PREFIX = "FAZM_MEMORY_"
CONFIG_FILE = "config.toml"
# Settings of the one who built the app, such as the update feed. The user's own settings win.
BUILD_FILE = Path(__file__).with_name("build.toml")


@dataclass(frozen=True)
class RedactionPattern:
    """A pattern of the user. Text that it matches is not recorded."""

    name: str
    regex: str


@dataclass(frozen=True)
class Config:
    home: Path
    user_home: Path
    key: str = "auto"
    text_cap: int = 64 * 1024
    line_cap: int = 8 * 1024 * 1024
    context_tokens: int = 2000
    reminders: bool = True
    ask_for_note: bool = False
    retain_actions: int = 180
    retain_messages: int = 0
    retain_files: int = 365
    retain_apps: int = 60
    retain_prompts: int = 0
    retain_archived: int = 30
    retain_versions: int = 90
    retain_megabytes: int = 4096
    transcripts: str = "exact"
    retain_transcripts: int = 0
    transcript_megabytes: int = 2048
    quota_session_megabytes: int = 512
    quota_day_megabytes: int = 2048
    watch: tuple[str, ...] = ()
    baseline: bool = True
    exclude_apps: tuple[str, ...] = ()
    terminal: str = "auto"
    language: str = "auto"
    shortcut_search: str = ""
    shortcut_resume: str = ""
    updates: bool = True
    update_feed: str = ""
    update_key: str = ""
    otlp_endpoint: str = ""
    redact: tuple[RedactionPattern, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


CHOICES: dict[str, tuple[str, ...]] = {
    "key": ("auto", "keyring", "file"),
    "transcripts": ("exact", "redacted", "off"),
    "terminal": ("auto", "terminal", "iterm2", "warp", "ghostty", "wezterm", "kitty"),
    "language": ("auto", "en", "de"),
}
FLAGS = frozenset({"ask_for_note", "baseline", "reminders", "updates"})
KEYS = r"(?:(?:ctrl|opt|cmd|shift)\+){1,4}(?:[a-z0-9]|space|f[1-9]|f1[0-9])"
LOOPBACK = r"http://(?:127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?/"
# Settings that are text: what it must look like, unless it is empty, and an example.
TEXTS = {
    "shortcut_search": (KEYS, "ctrl+opt+space"),
    "shortcut_resume": (KEYS, "ctrl+opt+r"),
    "update_feed": (rf"(?:https://[^\s/]+/|{LOOPBACK})\S*", "https://example.org/fazm-memory.json"),
    "otlp_endpoint": (rf"(?:https://[^\s/]+/?|{LOOPBACK}?)\S*", "http://127.0.0.1:4318"),
    "update_key": (r"[A-Za-z0-9+/]{43}=", "the 32 bytes of an Ed25519 key in Base64"),
}
LIMITS: dict[str, tuple[int, int]] = {
    "text_cap": (256, 256 * 1024),
    "line_cap": (1024, 256 * 1024 * 1024),
    "context_tokens": (100, 2500),
    **dict.fromkeys(
        (
            f"retain_{what}"
            for what in (
                "actions",
                "messages",
                "files",
                "apps",
                "prompts",
                "archived",
                "versions",
                "transcripts",
            )
        ),
        (0, 36_500),
    ),
    "retain_megabytes": (0, 1 << 24),
    "transcript_megabytes": (0, 1 << 24),
    "quota_session_megabytes": (0, 1 << 24),
    "quota_day_megabytes": (0, 1 << 24),
}
SETTINGS = tuple(
    item.name for item in fields(Config) if item.name not in ("home", "user_home", "environment")
)


def default_home(env: Mapping[str, str], platform: str) -> Path:
    user = Path(env.get("HOME") or Path.home())
    if platform == "darwin":
        return user / "Library" / "Application Support" / "Fazm Memory"
    return Path(env.get("XDG_DATA_HOME") or user / ".local" / "share") / "fazm-memory"


def load(env: Mapping[str, str] | None = None, platform: str = sys.platform) -> Config:
    """The configuration of this machine and user.

    ConfigError names the setting and the file.
    """
    env = dict(os.environ) if env is None else env
    chosen = env.get(f"{PREFIX}HOME")
    home = Path(chosen).expanduser().absolute() if chosen else default_home(env, platform).absolute()
    values = _from_file(BUILD_FILE) | _from_file(home / CONFIG_FILE) | _from_env(env)
    return Config(home=home, user_home=Path(env.get("HOME") or Path.home()), environment=dict(env), **values)


def reload_retention(config: Config) -> Config:
    """Read the retention settings again, which may have changed meanwhile."""
    present = reload(config)
    ages = {name: getattr(present, name) for name in SETTINGS if name.startswith("retain_")}
    return replace(config, **ages)


def reload(config: Config) -> Config:
    """The configuration as it is now, for the same data folder."""
    return load({**config.environment, f"{PREFIX}HOME": str(config.home), "HOME": str(config.user_home)})


FIRST_TABLE = lazy_regex(r"^\s*\[", re.MULTILINE)


def save_settings(config: Config, changes: Mapping[str, Any]) -> None:
    """Set these in config.toml and leave all other lines unchanged."""
    for name in changes:
        variable = PREFIX + name.upper()
        if variable in config.environment:
            raise ConfigError(f"the variable {variable} sets this", hint="change or unset it")
    path = private_folder(config.home) / CONFIG_FILE
    checked = {name: _checked(name, value, str(path)) for name, value in changes.items()}
    with exclusive_lock(config.home):
        text = before = path.read_text(encoding="utf-8") if path.exists() else ""
        for name, value in changes.items():
            text = _with_line(text, name, _toml(value))
        if _parsed(text, str(path)) != _parsed(before, str(path)) | checked:
            raise ConfigError(
                f"{path} cannot be changed by the program", hint="change the setting there by hand"
            )
        write_private(path, text.encode())


def _parsed(text: str, where: str) -> dict[str, Any]:
    import tomllib

    try:
        return {name: _checked(name, value, where) for name, value in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} cannot be read: {error}", hint="repair or remove the file") from error


def _toml(value: Any) -> str:
    """A number, a flag, a text or a list of texts as TOML.

    Its strings are those of JSON.
    """
    return json.dumps(value, ensure_ascii=False)


def _with_line(text: str, name: str, value: str) -> str:
    line = f"{name} = {value}"
    before = re.compile(rf"^{name}[ \t]*=[ \t]*(?:\[[^\]]*\][ \t]*(?:#.*)?|[^\[\n].*)$", re.MULTILINE)
    text, found = before.subn(lambda _: line, text, count=1)
    if found:
        return text
    table = FIRST_TABLE.search(text)
    at = len(text) if table is None else table.start()
    start = text[:at] if not text[:at] or text[:at].endswith("\n") else f"{text[:at]}\n"
    return f"{start}{line}\n{text[at:]}"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        text = read_regular(path)
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        hint = "move it away, or set FAZM_MEMORY_HOME"
        raise StoreUnsafe(f"{path.parent} is not a folder", hint=hint) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="repair or remove the file") from error
    import tomllib  # only with a file of settings

    try:
        raw = tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="repair or remove the file") from error
    return {name: _checked(name, value, str(path)) for name, value in raw.items()}


def _from_env(env: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in SETTINGS:
        text = env.get(PREFIX + name.upper())
        if text is None or name == "redact":
            continue
        value: Any = int(text) if name in LIMITS and text.strip().lstrip("-").isdigit() else text
        if name in FLAGS:
            value = {"true": True, "false": False}.get(text.strip().lower(), text)
        if name == "watch":
            value = [folder for folder in text.split(os.pathsep) if folder]
        if name == "exclude_apps":
            value = [app.strip() for app in text.split(",") if app.strip()]
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
    if name in FLAGS:
        if not isinstance(value, bool):
            raise ConfigError(f"{name} in {where} must be true or false, not {value!r:.80}")
        return value
    if name in LIMITS:
        low, high = LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigError(f"{name} in {where} must be a whole number from {low} to {high}, not {value!r}")
        return value
    if name in TEXTS:
        pattern, example = TEXTS[name]
        if not isinstance(value, str) or (value and not re.fullmatch(pattern, value)):
            raise ConfigError(f"{name} in {where} must be like {example}, not {value!r:.80}")
        return value
    if name == "exclude_apps":
        return _apps(value, where)
    return _folders(value, where) if name == "watch" else _redactions(value, where)


def _apps(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(app, str) and app.strip() for app in value):
        raise ConfigError(f"exclude_apps in {where} must be a list of names of apps, not {value!r:.80}")
    return tuple(value)


def _folders(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(folder, str) for folder in value):
        raise ConfigError(f"watch in {where} must be a list of folders, not {value!r:.80}")
    for folder in value:
        if not folder.startswith(("/", "~/")):
            raise ConfigError(f"watch in {where} must name absolute paths, not {folder!r:.80}")
    return tuple(value)


def _redactions(value: Any, where: str) -> tuple[RedactionPattern, ...]:
    patterns = []
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, dict) or set(entry) != {"name", "regex"}:
            raise ConfigError(f"each [[redact]] in {where} needs just a name and a regex, not {entry!r:.80}")
        if not all(isinstance(part, str) and part for part in entry.values()):
            raise ConfigError(f"the name and regex of [[redact]] in {where} must be text")
        patterns.append(RedactionPattern(entry["name"], entry["regex"]))
    return tuple(patterns)
