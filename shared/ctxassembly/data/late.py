"""A tuple that is made when it is first read: most callers never read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class LateTuple(Sequence[T]):
    """The items that `make` returns, asked for once. It equals the tuple of them, and is pickled as one.

    >>> numbers = LateTuple(lambda: [1, 2])
    >>> numbers == (1, 2), len(numbers), numbers[-1]
    (True, 2, 2)
    """

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make: Callable[[], Iterable[T]] | None = make
        self._items: tuple[T, ...] = ()

    def _tuple(self) -> tuple[T, ...]:
        if (make := self._make) is not None:
            self._items = tuple(make())
            self._make = None
        return self._items

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._tuple()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._tuple())

    def __len__(self) -> int:
        return len(self._tuple())

    def __eq__(self, other: object) -> bool:
        return self._tuple() == (other._tuple() if isinstance(other, LateTuple) else other)

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)
