"""The user's language, and times as their Mac writes them."""

from __future__ import annotations

from datetime import datetime

from Foundation import NSDateFormatter, NSLocale

from fazm_memory.translation import first_supported

WEEKDAY_TIME = "EEEE jmm"  # the order and the 12 or 24 hours are the system's choice


def preferred_language(chosen: str) -> str:
    """The language of the settings or, with "auto", the first of the user's that we have."""
    if chosen != "auto":
        return chosen
    return first_supported([str(name) for name in NSLocale.preferredLanguages()])


def format_weekday_time(moment: datetime) -> str:
    formatter = NSDateFormatter.alloc().init()
    formatter.setLocalizedDateFormatFromTemplate_(WEEKDAY_TIME)
    return str(formatter.stringFromDate_(moment.astimezone()))  # pyobjc reads a datetime as local time
