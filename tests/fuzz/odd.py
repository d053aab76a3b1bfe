"""Values that nobody expects, each made afresh: by themselves they must never lose the context that they came with."""

from __future__ import annotations

import datetime as dt
import enum
import threading
import types
import uuid
from collections import OrderedDict, defaultdict
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


class RaisingText(str):
    """A text that can't be used as one."""

    __slots__ = ()

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("no text")

    __str__ = __repr__ = __eq__ = __hash__ = __len__ = __iter__ = strip = split = encode = lower = _raise  # type: ignore[assignment]
    __bool__ = __add__ = __getitem__ = __contains__ = __format__ = __reduce_ex__ = startswith = _raise  # type: ignore[assignment]


class Shouted(str):
    """A text that is not what it says."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()

    def strip(self, *_: Any) -> str:
        return "stripped"

    def __len__(self) -> int:
        return 1


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


class RaisingGet(dict):  # type: ignore[type-arg]
    """A dict whose look-up fails."""

    def get(self, *_: Any) -> Any:
        raise ValueError("no get")


class Changing(Mapping[str, Any]):
    """Metadata that somebody else is writing."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {"source": "changing.pdf", "page": 1}

    def __getitem__(self, key: str) -> Any:
        return self._held[key]

    def __iter__(self) -> Iterator[str]:
        for key in self._held:
            self._held[f"{key}+"] = 1
            yield key

    def __len__(self) -> int:
        return len(self._held)


class Color(enum.Enum):
    RED = "red"


class Named(str, enum.Enum):
    A = "A"


class Zone(dt.tzinfo):
    def utcoffset(self, _: Any) -> Any:
        raise RuntimeError("no offset")


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
    "lambda": lambda: lambda: 0,
    "module": lambda: types,
    "object": object,
    "a class": lambda: Color,
    "circular list": circular_list,
    "circular dict": circular_dict,
    "deep list": deep,
    "raising": Raising,
    "shouted text": lambda: Shouted("shouted"),
    "raising mapping": RaisingMapping,
    "raising get": lambda: RaisingGet(source="got.pdf"),
    "changing": Changing,
    "long int": lambda: 10**5_000,
    "negative long int": lambda: -(10**5_000),
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
    "bytearray": lambda: bytearray(b"text"),
    "None": lambda: None,
    "list": lambda: ["x"],
    "dict": lambda: {"a": [1, {"b": (2, 3)}]},
    "odd keys": lambda: {1: 2, None: 3, (1, 2): 4, "1": 5, b"k": 6, Color.RED: 7},
    "set": lambda: {"b", "a", 1},
    "set of odd": lambda: {Color.RED, (1, "a"), frozenset({2})},
    "tuple": lambda: (1, "a", None),
    "ordered": lambda: OrderedDict(a=1),
    "default dict": lambda: defaultdict(list, a=[1]),
    "proxy": lambda: types.MappingProxyType({"source": "proxy.pdf"}),
    "Decimal": lambda: Decimal("3.5"),
    "signalling NaN": lambda: Decimal("sNaN"),
    "UUID": lambda: uuid.UUID(int=5),
    "date": lambda: dt.date(2024, 5, 1),
    "datetime": lambda: dt.datetime(2024, 5, 1, tzinfo=dt.timezone.utc),
    "odd zone": lambda: dt.datetime(2024, 5, 1, tzinfo=Zone()),
    "enum": lambda: Color.RED,
    "text enum": lambda: Named.A,
    "float32": lambda: np.float32(0.5),
    "int64": lambda: np.int64(3),
    "numpy text": lambda: np.str_("numpy"),
    "numpy bool": lambda: np.bool_(True),
    "array": lambda: np.array([0.5, 1.0]),
    "array of objects": lambda: np.array([threading.Lock(), 1], dtype=object),
    "list of float32": lambda: [np.float32(0.5), np.float32(1)],
    "complex": lambda: 1 + 2j,
    "range": lambda: range(3),
    "error": UnprintableError,
    "ellipsis": lambda: ...,
}
"""By name; a value is made by calling."""
