"""Values that nobody expects, each made afresh: by themselves they must never lose the context that they came with."""

from __future__ import annotations

import datetime as dt
import enum
import threading
import types
import uuid
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np


class Raising:
    """Raises whatever is done with it."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("not to be touched")

    __str__ = __repr__ = __eq__ = __ne__ = __lt__ = __bool__ = __len__ = __iter__ = __float__ = __int__ = _raise  # type: ignore[assignment]
    __hash__ = __index__ = __reduce_ex__ = __deepcopy__ = __copy__ = __contains__ = __getitem__ = _raise  # type: ignore[assignment]


class RaisingMapping(Mapping[str, Any]):
    """Metadata that break off."""

    def __getitem__(self, key: str) -> Any:
        if key == "source":
            return "breaks-off.pdf"
        raise OSError("connection lost")

    def __iter__(self) -> Iterator[str]:
        return iter(("source", "page"))

    def __len__(self) -> int:
        return 2


class Color(enum.Enum):
    RED = "red"


class UnprintableError(Exception):
    """An error that can't be reported."""

    def __str__(self) -> str:
        raise RuntimeError("no message")

    __repr__ = __str__


def circular_list() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


def circular_dict() -> dict[str, Any]:
    found: dict[str, Any] = {"a": 1}
    found["self"] = {"again": found}
    return found


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(5_000):
        found = [found]
    return found


def numbers() -> Iterator[int]:
    yield from range(3)


ODD: dict[str, Callable[[], Any]] = {
    "lock": threading.Lock,
    "generator": numbers,
    "object": object,
    "circular list": circular_list,
    "circular dict": circular_dict,
    "deep list": deep,
    "raising": Raising,
    "raising mapping": RaisingMapping,
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
    "proxy": lambda: types.MappingProxyType({"source": "proxy.pdf"}),
    "Decimal": lambda: Decimal("3.5"),
    "signalling NaN": lambda: Decimal("sNaN"),
    "UUID": lambda: uuid.UUID(int=5),
    "date": lambda: dt.date(2024, 5, 1),
    "datetime": lambda: dt.datetime(2024, 5, 1, tzinfo=dt.timezone.utc),
    "enum": lambda: Color.RED,
    "int64": lambda: np.int64(3),
    "array": lambda: np.array([0.5, 1.0]),
    "complex": lambda: 1 + 2j,
    "error": UnprintableError,
}
"""By name; a value is made by calling."""
