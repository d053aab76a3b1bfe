"""Values that nobody expects, each made afresh: by themselves they must never lose the context that they came with."""

from __future__ import annotations

import datetime as dt
import enum
import types
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np


class Color(enum.Enum):
    RED = "red"


class UnprintableError(Exception):
    """An error that can't be reported."""

    def __str__(self) -> str:
        raise RuntimeError("no message")

    __repr__ = __str__


ODD: dict[str, Callable[[], Any]] = {
    "long int": lambda: 10**5_000,
    "huge": lambda: 10**30,
    "negative": lambda: -1,
    "true": lambda: True,
    "a digit": lambda: "7",
    "seven": lambda: 7.0,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "largest float": lambda: 1.7e308,
    "text": lambda: "x",
    "blank": lambda: " ",
    "empty": lambda: "",
    "NUL": lambda: "a\x00b",
    "surrogates": lambda: "\ud83d and \udc00",
    "bytes": lambda: b"caf\xc3\xa9 \xff",
    "None": lambda: None,
    "list": lambda: ["x"],
    "dict": lambda: {"a": [1, {"b": (2, 3)}]},
    "odd keys": lambda: {1: 2, None: 3, (1, 2): 4, "1": 5, b"k": 6, Color.RED: 7},
    "set": lambda: {"b", "a", 1},
    "Decimal": lambda: Decimal("3.5"),
    "signalling NaN": lambda: Decimal("sNaN"),
    "UUID": lambda: uuid.UUID(int=5),
    "date": lambda: dt.date(2024, 5, 1),
    "datetime": lambda: dt.datetime(2024, 5, 1, tzinfo=dt.timezone.utc),
    "enum": lambda: Color.RED,
    "int64": lambda: np.int64(3),
    "array": lambda: np.array([0.5, 1.0]),
    "complex": lambda: 1 + 2j,
    "class": lambda: types.SimpleNamespace,
}
"""By name; a value is made by calling."""
