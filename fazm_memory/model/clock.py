"""Moments as integers: microseconds since 1970 in UTC inside, ISO 8601 with offset outside.

Nothing here asks what time it is: whoever calls says so. Integers compare, hash and store the same on every
machine; the offset people read is that of their own time zone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Within these every local rendering stays inside the years 1 to 9999.
EARLIEST = (datetime(1, 1, 3, tzinfo=UTC) - EPOCH) // MICROSECOND
LATEST = (datetime(9999, 12, 30, tzinfo=UTC) - EPOCH) // MICROSECOND

DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s)?")


class TimeError(ValueError):
    """A moment or a span that cannot be read."""


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def moment(at: int, zone: tzinfo | None = None) -> datetime:
    """The moment as a datetime in the given zone, or in the machine's."""
    return (EPOCH + timedelta(microseconds=at)).astimezone(zone)


def iso(at: int, zone: tzinfo | None = None) -> str:
    """ISO 8601 with offset, with as many digits as the moment has."""
    shown = moment(at, zone)
    return shown.isoformat(timespec="milliseconds" if at % 1000 == 0 else "microseconds")


def parse(text: object, *, zone: tzinfo | None = None) -> int:
    """A moment from ISO 8601 text; without an offset it is local time. TimeError says what is wrong."""
    if isinstance(text, bool) or not isinstance(text, str):
        raise TimeError(f"a time must be ISO 8601 text such as 2026-11-14T09:30:00+01:00, not {text!r:.60}")
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError as error:
        said = "the offset is a day or more" if "timedelta" in str(error) else str(error)
        why = "" if said.startswith("Invalid isoformat") else f" ({said})"
        raise TimeError(f"not a time we can read: {text[:40]!r}{why}; write 2026-11-14T09:30") from None
    try:
        aware = read if read.tzinfo is not None else read.replace(tzinfo=zone).astimezone(zone)
        at = micros(aware)
    except (OverflowError, ValueError, OSError) as error:
        raise TimeError(f"the time {text[:40]!r} is outside the years 1 to 9999 ({error})") from None
    if not EARLIEST <= at <= LATEST:
        raise TimeError(f"the time {text[:40]!r} is outside the years 1 to 9999")
    return at


def span(text: str) -> int:
    """A duration such as 15m, 1h30m or 2d, in microseconds."""
    found = DURATION.fullmatch(text.strip().lower())
    if not found or not any(found.groups()):
        raise TimeError(f"not a duration we can read: {text[:40]!r}; write 15m, 1h30m or 2d")
    try:
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds) // MICROSECOND
    except (OverflowError, ValueError):  # int() refuses to read thousands of digits
        raise TimeError(f"the duration {text[:40]!r} is too long") from None
