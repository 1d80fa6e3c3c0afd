"""Times: microseconds since 1970 (UTC) inside, ISO 8601 with offset outside.

Nothing here reads the current time: callers pass it in.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo

from fazm_memory.lazy import lazy_regex

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Between these, local time stays within the years 1 to 9999 in every time zone.
EARLIEST = (datetime(1, 1, 3, tzinfo=UTC) - EPOCH) // MICROSECOND
LATEST = (datetime(9999, 12, 30, tzinfo=UTC) - EPOCH) // MICROSECOND

DURATION = lazy_regex(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s)?")


class TimeError(ValueError):
    """Text that is not a time or a duration."""


def to_micros(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def to_datetime(at: int, zone: tzinfo | None = None) -> datetime:
    """The time in a zone, by default the local one."""
    return (EPOCH + timedelta(microseconds=at)).astimezone(zone)


def iso(at: int, zone: tzinfo | None = None) -> str:
    """ISO 8601 with offset."""
    return to_datetime(at, zone).isoformat(timespec="milliseconds" if at % 1000 == 0 else "microseconds")


def parse_time(text: object, *, zone: tzinfo | None = None) -> int:
    """A time from ISO 8601 text. Without an offset it is local time."""
    if isinstance(text, bool) or not isinstance(text, str):
        raise TimeError(f"Invalid time {text!r:.60}. Use text such as 2026-11-14T09:30:00+01:00.")
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError as error:
        reason = "the offset is a day or more" if "timedelta" in str(error) else str(error)
        why = "" if reason.startswith("Invalid isoformat") else f" ({reason})"
        raise TimeError(f'Invalid time "{text[:40]}"{why}. Use for example 2026-11-14T09:30.') from None
    try:
        aware = read if read.tzinfo is not None else read.replace(tzinfo=zone).astimezone(zone)
        at = to_micros(aware)
    except (OverflowError, ValueError, OSError) as error:
        raise TimeError(f'The time "{text[:40]}" is outside the years 1 to 9999 ({error}).') from None
    if not EARLIEST <= at <= LATEST:
        raise TimeError(f'The time "{text[:40]}" is outside the years 1 to 9999.')
    return at


def parse_duration(text: str) -> int:
    """A duration such as 15m, 1h30m or 2d, in microseconds."""
    found = DURATION.fullmatch(text.strip().lower())
    if not found or not any(found.groups()):
        raise TimeError(f'Invalid duration "{text[:40]}". Use for example 15m, 1h30m or 2d.')
    try:
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds) // MICROSECOND
    except (OverflowError, ValueError):  # int() refuses thousands of digits
        raise TimeError(f'The duration "{text[:40]}" is too long.') from None


def modification_time(path: str) -> str | None:
    """When a file was last written as ISO 8601, or None. Links are not followed."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):  # missing, not accessible, or not a path
        return None
    return iso(found.st_mtime_ns // 1000)
