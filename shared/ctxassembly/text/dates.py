"""Dates in metadata, in any of the forms that loaders write."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta, timezone
from typing import Any

_ISO = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)"
    r"(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)? ?(?:(Z)|([+-])(\d\d):?(\d\d)?)?)?",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"\d{9,}(?:\.\d+)?")
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Smallest epoch number read in nano-, micro- and milliseconds, and how many of them make a second.

As seconds these numbers would lie after the year 5000, so they are no seconds.
"""


def parse_date(value: Any) -> float | None:
    """Return the seconds since 1970 of a date, datetime, ISO 8601 string or epoch number; None for anything else.

    A value without a time zone is read as UTC. Epoch numbers may count seconds, milliseconds, microseconds or
    nanoseconds, and may be strings.

    >>> parse_date("2024-03-01"), parse_date("2024-03-01T02:00+02:00"), parse_date(1709251200000)
    (1709251200.0, 1709251200.0, 1709251200.0)
    >>> parse_date("last spring") is None
    True
    """
    try:
        return _parse(value)
    except Exception:  # noqa: BLE001 - a time zone class of the caller may raise anything
        return None


def _parse(value: Any) -> float | None:
    if isinstance(value, datetime):
        return _to_timestamp(value)
    if isinstance(value, date):
        return _to_timestamp(datetime(value.year, value.month, value.day, tzinfo=timezone.utc))
    if isinstance(value, str):
        text = value.strip()
        if match := _ISO.fullmatch(text):
            return _from_iso(match)
        return _from_epoch(float(text)) if _EPOCH.fullmatch(text) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_epoch(float(value))
    return None


def _from_epoch(number: float) -> float | None:
    if not math.isfinite(number):
        return None
    return next((number / unit for least, unit in _UNITS if abs(number) >= least), number)


def _from_iso(match: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second, fraction, _, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    micro = int((fraction or "0").ljust(6, "0")[:6])
    at = timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0), microseconds=micro)
    try:
        return _to_timestamp(datetime(int(year), int(month), int(day), tzinfo=timezone(offset))) + at.total_seconds()
    except (ValueError, OverflowError):  # such as the 31st of June, or an offset of 99 hours
        return None


def _to_timestamp(when: datetime) -> float:
    aware = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    # timestamp() overflows at both ends of the calendar.
    return (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
