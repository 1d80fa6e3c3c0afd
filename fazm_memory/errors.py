"""Errors with a title, a message and a hint on what to do next.

Every class has its own exit code. docs/commands.md lists them, and a test compares the two.
"""

from __future__ import annotations

from typing import ClassVar


class FazmMemoryError(Exception):
    """Base class. Any other exception that reaches the user is a bug."""

    exit_code: ClassVar[int] = 1
    title: ClassVar[str] = "Something went wrong"

    def __init__(self, message: str, *, hint: str = "", details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}

    def to_json(self) -> dict[str, object]:
        """The error as data, with its details for programs, such as the current head."""
        shown: dict[str, object] = {"error": self.message, "title": self.title, "code": self.exit_code}
        if self.hint:
            shown["hint"] = self.hint
        return shown | self.details


class ConfigError(FazmMemoryError):
    exit_code = 3
    title = "Invalid configuration"


class NotFound(FazmMemoryError):
    exit_code = 4
    title = "Not found"


class Ambiguous(FazmMemoryError):
    exit_code = 5
    title = "Ambiguous name"


class InvalidInput(FazmMemoryError):
    exit_code = 6
    title = "Invalid input"


class InvalidRequest(InvalidInput):
    """Wrong arguments. Nothing was to be recorded."""

    exit_code = 2
    title = "Invalid request"


class InvalidTransition(FazmMemoryError):
    exit_code = 7
    title = "Not possible in this state"


class Conflict(FazmMemoryError):
    """Another writer was first. The caller gets the current head and decides."""

    exit_code = 8
    title = "The session has changed"


class RecordingPaused(FazmMemoryError):
    exit_code = 9
    title = "Recording is paused"


class StoreUnsafe(FazmMemoryError):
    """The folder, its owner or its key does not protect a private log."""

    exit_code = 10
    title = "The data folder is not safe"


class KeyUnavailable(FazmMemoryError):
    exit_code = 11
    title = "The key is not available"


class StoreDamaged(FazmMemoryError):
    exit_code = 12
    title = "The store is damaged"


class StoreFull(FazmMemoryError):
    exit_code = 13
    title = "No space left on the disk"


class StoreReadOnly(FazmMemoryError):
    exit_code = 14
    title = "The store is read-only"


class StoreBusy(FazmMemoryError):
    exit_code = 15
    title = "The store is busy"


class StoreNewer(FazmMemoryError):
    """A newer version of the program wrote this data."""

    exit_code = 16
    title = "Written by a newer version"


class IntegrityBroken(FazmMemoryError):
    exit_code = 17
    title = "Verification failed"


class Declined(FazmMemoryError):
    """Not done without confirmation, such as a destructive plan."""

    exit_code = 18
    title = "Confirmation needed"


class BundleRefused(FazmMemoryError):
    """The bundle is damaged or not valid. Nothing of it was imported."""

    exit_code = 19
    title = "The bundle was refused"


class SyncUnavailable(FazmMemoryError):
    """The vault's folder or object store cannot be used now.

    Nothing is lost; the next round continues.
    """

    exit_code = 20
    title = "The vault cannot be reached"


class SyncRefused(FazmMemoryError):
    """The vault was changed by others, or this device may not use it."""

    exit_code = 21
    title = "The vault was refused"


class AgentUnavailable(FazmMemoryError):
    """An agent or a configured address did not answer as it should."""

    exit_code = 22
    title = "The other side did not answer"


def error_classes() -> list[type[FazmMemoryError]]:
    """All error classes by exit code."""
    return sorted([*FazmMemoryError.__subclasses__(), InvalidRequest], key=lambda cls: cls.exit_code)
