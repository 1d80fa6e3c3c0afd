"""One small tree of errors a person may meet: a title, what happened and was kept, what to do next.

Every class carries its own exit code, so that scripts can tell a wrong id from a damaged store.
The codes are documented in docs/commands.md, and a test holds the two together.
"""

from __future__ import annotations

from typing import ClassVar


class FazmMemoryError(Exception):
    """Something a person can act on. Anything else that escapes is a bug of ours."""

    exit_code: ClassVar[int] = 1
    title: ClassVar[str] = "Something went wrong"

    def __init__(self, message: str, *, hint: str = "", details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}

    def to_json(self) -> dict[str, object]:
        """The error as data; `details` hold what a program would want to read, such as the head."""
        shown: dict[str, object] = {"error": self.message, "title": self.title, "code": self.exit_code}
        if self.hint:
            shown["hint"] = self.hint
        return shown | self.details


class ConfigError(FazmMemoryError):
    exit_code = 3
    title = "The configuration cannot be used"


class NotFound(FazmMemoryError):
    exit_code = 4
    title = "No such thing"


class Ambiguous(FazmMemoryError):
    exit_code = 5
    title = "More than one thing has that name"


class InvalidInput(FazmMemoryError):
    exit_code = 6
    title = "That cannot be recorded as it is"


class InvalidRequest(InvalidInput):
    """A question or an order that makes no sense as it was put; nothing was to be recorded."""

    exit_code = 2
    title = "That cannot be asked like this"


class InvalidTransition(FazmMemoryError):
    exit_code = 7
    title = "The session is not in a state for that"


class Conflict(FazmMemoryError):
    """Somebody else wrote first. Never merged silently: the caller gets the head and decides."""

    exit_code = 8
    title = "The session has moved on"


class RecordingPaused(FazmMemoryError):
    exit_code = 9
    title = "Recording is paused"


class StoreUnsafe(FazmMemoryError):
    """The folder, its owner or its key cannot be trusted with a private log."""

    exit_code = 10
    title = "The store's folder is not safe to use"


class KeyUnavailable(FazmMemoryError):
    exit_code = 11
    title = "The store's key cannot be had"


class StoreDamaged(FazmMemoryError):
    exit_code = 12
    title = "The store is damaged"


class StoreFull(FazmMemoryError):
    exit_code = 13
    title = "There is no room left to write"


class StoreReadOnly(FazmMemoryError):
    exit_code = 14
    title = "The store cannot be written"


class StoreBusy(FazmMemoryError):
    exit_code = 15
    title = "The store is busy"


class StoreNewer(FazmMemoryError):
    """A newer program wrote this: refused, never guessed at."""

    exit_code = 16
    title = "This was written by a newer version"


class IntegrityBroken(FazmMemoryError):
    exit_code = 17
    title = "The log does not verify"


class Declined(FazmMemoryError):
    """We could act but should not without being told to, as with a destructive plan."""

    exit_code = 18
    title = "Not done without your word"


class BundleRefused(FazmMemoryError):
    """What came from elsewhere is not what it should be; nothing of it was taken."""

    exit_code = 19
    title = "The bundle was refused"


def error_classes() -> list[type[FazmMemoryError]]:
    """Every class a person may meet, in order of exit code."""
    return sorted([*FazmMemoryError.__subclasses__(), InvalidRequest], key=lambda cls: cls.exit_code)
