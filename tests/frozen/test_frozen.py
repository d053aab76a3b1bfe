"""Contexts stay as they are, byte for byte. `make frozen ARGS=--renew` writes the record after an intended change."""

from __future__ import annotations

import pytest

from frozen.__main__ import differing, recorded
from frozen.cases import CASES

SHARE = 100


def test_each_case_is_on_record() -> None:
    assert list(recorded()) == list(range(CASES))


@pytest.mark.parametrize("start", range(0, CASES, SHARE))
def test_contexts_are_as_on_record(start: int) -> None:
    assert differing(range(start, start + SHARE)) == {}
