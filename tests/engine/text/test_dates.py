from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from ctxassembly.text.dates import parse_date

MAY = 1_714_557_600.0
"""2024-05-01 10:00 UTC."""


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-01T10:00:00Z",
        "2024-05-01 10:00",
        " 2024-05-01t10:00:00.000000z ",
        "20240501T100000Z",
        "2024-05-01T12:00+02:00",
        "2024-05-01T07:30-02:30",
        datetime(2024, 5, 1, 10, tzinfo=timezone.utc),
        datetime(2024, 5, 1, 10),  # noqa: DTZ001 - what many metadata hold
        int(MAY),
        int(MAY) * 1_000,
        int(MAY) * 10**9,
        "1714557600",
        "1714557600000",
    ],
    ids=repr,
)
def test_one_moment_in_many_forms(value: Any):
    assert parse_date(value) == MAY


@pytest.mark.parametrize("value", ["2024-05-01", "20240501", date(2024, 5, 1), datetime(2024, 5, 1)], ids=repr)  # noqa: DTZ001
def test_a_day_is_its_midnight(value: Any):
    assert parse_date(value) == MAY - 10 * 3600


@pytest.mark.parametrize(
    "value",
    [
        *("", "soon", "2024", "05/01/2024", "2024-13-01", "2024-06-31", "2024-05-01T99:00+99:99", "12", "-5 days"),
        *(None, True, float("nan"), float("inf"), 10**400, [2024], {"year": 2024}, b"2024-05-01"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_date(value: Any):
    assert parse_date(value) is None


def test_fractions_and_the_ends_of_the_calendar():
    assert parse_date("2024-05-01T10:00:00.25Z") == MAY + 0.25
    assert parse_date(0) == 0
    assert parse_date(-86_400) == parse_date("1969-12-31")
    first, last = parse_date("0001-01-01T00:00+14:00"), parse_date("9999-12-31T23:59:59-12:00")
    assert first is not None
    assert last is not None
    assert first < 0 < last
