"""The desktop: which app was in front, with which window and document, as any system may tell it.

This is the contract between what watches (accessibility on macOS) and what records. It says what was seen,
that there was something we do not look at, and when we could not look at all. Nothing here knows a system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import unquote, urlsplit

from fazm_memory.capture.exclusions import Exclusions

Why = Literal["asleep", "locked", "permission missing"]

# Without permission the app is still known, only its windows are not; asleep or locked, nothing is.
BLIND: frozenset[str] = frozenset({"asleep", "locked"})

LONGEST_TITLE = 10_000  # what a page calls its title may be anything; beyond this it is none
LONGEST_DOCUMENT = 4096


@dataclass(frozen=True, slots=True)
class Seen:
    """This was in front at this moment (microseconds). Told again as often as it is looked at."""

    at: int
    app: str
    bundle: str | None = None
    title: str | None = None
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Hidden:
    """Something is in front that is not to be recorded, or nothing is. What it was is not said."""

    at: int


@dataclass(frozen=True, slots=True)
class Away:
    """From now on we cannot look, and why."""

    at: int
    why: Why


@dataclass(frozen=True, slots=True)
class Back:
    """What kept us from looking is over."""

    at: int
    why: Why


Observation = Seen | Hidden | Away | Back
Told = Callable[[Observation], None]


class DesktopSource(Protocol):
    """What watches the desktop of one system. It starts whether or not it is permitted to read windows."""

    def start(self, told: Told) -> None:
        """Tell what is in front now, and from then on every change, until stopped."""

    def stop(self) -> None:
        """Let go of everything. Nothing is told after."""

    def leave_alone(self, exclusions: Exclusions) -> None:
        """From now on look at none of these; what is in front and among them is let go of at once."""

    def permitted(self) -> bool:
        """Whether titles and documents can be read; apps can be told in any case."""


def title_of(text: str | None) -> str | None:
    """A window's title as it is told: whole, because text is cut only after it is scrubbed."""
    if text is None or len(text) > LONGEST_TITLE:
        return None
    return " ".join(text.split()) or None


def document_of(address: str | None) -> str | None:
    """What a window says it shows: a path, or a page without its query, where tokens travel."""
    if not address or len(address) > LONGEST_DOCUMENT:
        return None
    if address.startswith("/"):
        return address
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    if parts.scheme == "file":
        path = unquote(parts.path)
        return path if path.startswith("/") and "\0" not in path else None
    if parts.scheme in ("http", "https") and parts.hostname:
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    return None
