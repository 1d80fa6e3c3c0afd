"""Apps the user does not want recorded: a short list in the home folder that holds from the next look on.

The settings name apps for good; this list is what a click adds. Both only add to what is never looked at:
nothing takes a password manager off the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from fazm_memory.capture.exclusions import Exclusions
from fazm_memory.errors import ConfigError, InvalidInput
from fazm_memory.private import alone, private_folder, write_private

FILE = "excluded-apps.json"
MOST = 1000
LONGEST = 200


def read(home: Path) -> tuple[str, ...]:
    """The names and bundle identifiers on the list, as they were added."""
    try:
        listed = json.loads((home / FILE).read_text(encoding="utf-8"))
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise ValueError("not a list of names")
    except FileNotFoundError:
        return ()
    except ValueError as error:
        # To go on without it would be to look at what somebody asked us not to.
        raise ConfigError(
            f"{home / FILE} cannot be read ({error}), so no app is looked at",
            hint="mend it, or remove it and choose again which apps are not recorded",
        ) from None
    return tuple(listed)


def add(home: Path, apps: Iterable[str]) -> tuple[str, ...]:
    """Leave these alone from now on; the list as it is then."""
    named = [checked(app) for app in apps]
    with alone(private_folder(home)):
        listed = tuple(dict.fromkeys((*read(home), *named)))
        if len(listed) > MOST:
            raise InvalidInput(f"more than {MOST} apps cannot be excluded one by one", hint="use a pattern")
        _write(home, listed)
    return listed


def remove(home: Path, app: str) -> tuple[str, ...]:
    """Take one off the list; the list as it is then."""
    with alone(private_folder(home)):
        listed = tuple(one for one in read(home) if one.casefold() != app.strip().casefold())
        _write(home, listed)
    return listed


def exclusions(configured: Iterable[str], home: Path) -> Exclusions:
    """What is left alone here: the seeded apps, those of the settings and those of the list."""
    own = (*configured, *read(home))
    # A person says "Signal" or "org.whispersystems.*": either may be meant.
    return Exclusions().also(bundles=own, names=own)


def checked(app: str) -> str:
    name = " ".join(app.split())
    if not name or len(name) > LONGEST or not name.isprintable():
        raise InvalidInput(
            f"{app[:40]!r} is not the name of an app", hint="give its name or bundle identifier"
        )
    if set(name) <= set("*?"):
        raise InvalidInput(
            "that would exclude every app", hint="`fazm-memory recording pause` stops recording"
        )
    return name


def literally(name: str) -> str:
    """A name as a pattern that matches only itself."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def _write(home: Path, listed: Iterable[str]) -> None:
    write_private(home / FILE, json.dumps(list(listed), ensure_ascii=False, indent=1).encode())
