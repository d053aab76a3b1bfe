"""The form of a warning (a fact, its effect, and the line to write), and one that an object issues once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MAX_FACT_CHARS = 160
"""Most characters of the first sentence of a warning."""
REMEDY = " Fix: "
"""The mark before the line to write."""


def with_remedy(fact: str, effect: str, call: str) -> str:
    """Return the message of a warning: a fact, shortened to 160 characters, its effect, and the call to write.

    >>> with_remedy("There is no pg_trgm", "Misspelled words find nothing", "CREATE EXTENSION pg_trgm")
    'There is no pg_trgm. Misspelled words find nothing. Fix: CREATE EXTENSION pg_trgm'
    """
    line = " ".join(fact.split())
    short = line if len(line) < MAX_FACT_CHARS else f"{line[: MAX_FACT_CHARS - 4]}..."
    return f"{short}. {effect}.{REMEDY}{call}"


@contextmanager
def ignored_warnings(message: str) -> Iterator[None]:
    """Ignore warnings of a dependency that begin with `message`, for as long as the block lasts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message)
        yield


class WarnOnce:
    """Issues the warnings of one object, each kind once. Copies of the object share it; a pickled copy warns again.

    >>> import warnings
    >>> once = WarnOnce()
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     for key in ("length", "length", "width"):
    ...         once.warn(UserWarning(f"The {key} is unknown."), key=key)
    >>> [str(each.message) for each in given]
    ['The length is unknown.', 'The width is unknown.']
    """

    def __init__(self) -> None:
        self._issued: dict[Any, object] = {}

    def warn(self, *pending: Warning | None, key: object = None) -> None:
        """Issue each of `pending` whose category is new for this key."""
        for warning in pending:
            if warning is not None and self.is_first(type(warning), key):
                warnings.warn(warning, stacklevel=3)

    def is_first(self, *key: object) -> bool:
        """Return True the first time that it is called with `key`."""
        mark = object()
        # A single atomic operation, so that only one of several threads warns.
        return self._issued.setdefault(key, mark) is mark

    def __eq__(self, other: object) -> bool:
        """Return True for any other `WarnOnce`: earlier warnings are no part of an object's value."""
        return isinstance(other, WarnOnce)

    def __hash__(self) -> int:
        return hash(WarnOnce)

    def __copy__(self) -> WarnOnce:
        return self

    def __deepcopy__(self, memo: Any) -> WarnOnce:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return WarnOnce, ()
